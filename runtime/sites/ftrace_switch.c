// SPDX-License-Identifier: GPL-2.0-or-later
// kernel.ftrace_enabled. While it is 0, nothing may be attached to fentry sites or detached from
// them: ftrace's records and the text would no longer agree. The variable is not exported, so its
// file is read; by a work item, because the caller may be a task that is exiting, or one with
// another root directory.
//
// Setting the variable to 0 while probes are attached would lose their hits silently. The kernel
// refuses that (EBUSY) as long as a permanent ftrace_ops is registered: those of djprobes are
// permanent (djprobe/groups.c); for kprobes, whose ops belongs to the kernel, there is one here
// that does nothing else.
#include <linux/fs.h>
#include <linux/fs_struct.h>
#include <linux/ftrace.h>
#include <linux/pid.h>
#include <linux/reboot.h>
#include <linux/sched/task.h>

#include "cpu/queue.h"
#include "sites/ftrace_switch.h"
#include "sites/sites.h"

bool djs_ftrace_dead;

#define SWITCH_FILE "proc/sys/kernel/ftrace_enabled"

struct switch_work {
	struct work_struct work;
	int write; /* -1: read */
	int result;
};

static bool root_of_first_process(struct path *root)
{
	struct task_struct *task;
	bool found = false;

	rcu_read_lock();
	task = pid_task(find_pid_ns(1, &init_pid_ns), PIDTYPE_PID);
	if (task)
		get_task_struct(task);
	rcu_read_unlock();
	if (!task)
		return false;
	task_lock(task);
	if (task->fs) {
		get_fs_root(task->fs, root);
		found = true;
	}
	task_unlock(task);
	put_task_struct(task);
	return found;
}

struct file *djs_ftrace_switch_open(int flags)
{
	struct file *file;
	struct path root;

	/* The root of the kernel's own threads may be empty. */
	if (!root_of_first_process(&root))
		return ERR_PTR(-ENOENT);
	file = file_open_root(&root, SWITCH_FILE, flags, 0);
	path_put(&root);
	return file;
}

static void switch_work(struct work_struct *work)
{
	struct switch_work *request = container_of(work, struct switch_work, work);
	struct file *file = djs_ftrace_switch_open(request->write < 0 ? O_RDONLY : O_WRONLY);
	char text[4] = "";
	loff_t position = 0;
	ssize_t done;

	if (IS_ERR(file)) {
		request->result = PTR_ERR(file);
		return;
	}
	if (request->write < 0) {
		done = kernel_read(file, text, sizeof(text) - 1, &position);
		request->result = done > 0 ? text[0] != '0' : done < 0 ? done : -EIO;
	} else {
		done = kernel_write(file, request->write ? "1\n" : "0\n", 2, &position);
		request->result = done == 2 ? 0 : done < 0 ? done : -EIO;
	}
	filp_close(file, NULL);
}

static int ask_switch(int write)
{
	struct switch_work request = {.write = write};

	INIT_WORK_ONSTACK(&request.work, switch_work);
	queue_work(DJS_QUEUE, &request.work);
	flush_work(&request.work);
	destroy_work_on_stack(&request.work);
	return request.result;
}

int djs_ftrace_enabled(void)
{
	return ask_switch(-1);
}

int djs_ftrace_enable(bool on)
{
	return ask_switch(on);
}

static void keeper_hit(unsigned long ip, unsigned long parent_ip, struct ftrace_ops *ops,
		       struct ftrace_regs *regs)
{
}

static struct ftrace_ops keeper = {.func = keeper_hit, .flags = FTRACE_OPS_FL_PERMANENT};
static bool keeping;

int djs_ftrace_keep(void)
{
	int error;

	if (keeping)
		return 0;
	/*
	 * An ops must be attached to some function: this one is never called on a running machine.
	 */
	error = ftrace_set_filter_ip(&keeper, (unsigned long)kernel_halt, 0, 0);
	if (!error)
		error = register_ftrace_function(&keeper);
	if (error)
		ftrace_free_filter(&keeper);
	keeping = !error;
	return error;
}

int djs_ftrace_let_go(void)
{
	int error;

	if (!keeping)
		return 0;
	keeping = false;
	error = unregister_ftrace_function(&keeper);
	if (!error)
		ftrace_free_filter(&keeper);
	return error;
}
