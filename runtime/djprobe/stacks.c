// SPDX-License-Identifier: GPL-2.0-or-later
// Finds the tasks that are inside a function with a return djprobe by scanning their stacks: from
// the call until the function returns, one word there is the return address in the trampoline, or
// what a kretprobe or the function_graph tracer has put in its place. The latter happens where the
// probed function jumps to one whose return is hooked.
#include <linux/module.h>
#include <linux/pid.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/sched/task_stack.h>
#include <linux/uaccess.h>

#include <asm/unwind.h>

#include "arch/runtime.h"
#include "djprobe/inside.h"
#include "sites/sites.h"

#define CHUNK_WORDS	 32
#define TASKS_UNTIL_REST 64

enum presence {
	OUTSIDE,
	PERHAPS_INSIDE, /* its stack has such a word, which may be stale, or stand for another */
	INSIDE,
};

/* True if a trampoline calls this address to continue in the probed function. */
static bool is_continuation(unsigned long callee)
{
	u32 i;

	if (within_module(callee, THIS_MODULE)) {
		if (callee == (unsigned long)djs_script.elsewhere)
			return true;
		for (i = 0; i < djs_script.trampoline_count; i++)
			if ((unsigned long)djs_script.trampolines[i].dispatch == callee)
				return true;
		return false;
	}
	for (i = 0; i < djs_script.site_count; i++)
		if (djs_script.sites[i].mechanism == DJS_MECHANISM_RETURN_DJPROBE &&
		    djs_sites[i].address + DJS_CALL_BYTES == callee)
			return true;
	return false;
}

static bool is_return_to_trampoline(unsigned long address)
{
	u8 text[DJS_CALL_BYTES];

	return address >= MODULES_VADDR && address < MODULES_END &&
	       within_module(address, THIS_MODULE) &&
	       !copy_from_kernel_nofault(text, (void *)(address - DJS_CALL_BYTES),
					 DJS_CALL_BYTES) &&
	       djs_is_call(text) && is_continuation(djs_callee(text, address - DJS_CALL_BYTES));
}

/* True if the address is that of a hook, which knows where the function returns to. Hooks keep that
 * in lists that change with each call of a running task, but the word on the stack is always
 * either the one or the other. */
static bool is_return_to_hook(unsigned long address)
{
	return address &&
	       ((djs_script.rethook && address == djs_script.rethook + djs_biases[0]) ||
		(djs_script.graph_return && address == djs_script.graph_return + djs_biases[0]));
}

/* Scans the whole stack: the stack pointer of a running task may be anywhere in it. Stacks may be
 * freed while they are read: nofault reads. */
static bool stack_may_return_to_trampoline(struct task_struct *task)
{
	unsigned long words[CHUNK_WORDS], stack = (unsigned long)task_stack_page(task), at;
	u32 i;

	if (!stack)
		return false;
	for (at = stack; at < stack + THREAD_SIZE; at += sizeof(words)) {
		if (copy_from_kernel_nofault(words, (void *)at, sizeof(words)))
			continue;
		for (i = 0; i < CHUNK_WORDS; i++)
			if (is_return_to_trampoline(words[i]) || is_return_to_hook(words[i]))
				return true;
	}
	return false;
}

/* A waker takes the task's pi_lock first, which the caller holds: the task stays blocked. */
static bool is_blocked(struct task_struct *task)
{
	const unsigned int state = READ_ONCE(task->__state);

#ifdef CONFIG_SMP
	if (smp_load_acquire(&task->on_cpu))
		return false;
#endif
	return state != TASK_RUNNING && !(state & (TASK_WAKING | TASK_NEW | TASK_DEAD)) &&
	       !READ_ONCE(task->on_rq);
}

/*
 * The unwinder is exact unless it reports an error. It asks the hooks for the addresses that they
 * have replaced, but finds only one of two hooks of the same word.
 */
static enum presence unwind_blocked(struct task_struct *task)
{
#ifdef CONFIG_UNWINDER_ORC
	struct unwind_state frames;

	for (unwind_start(&frames, task, NULL, NULL); !unwind_done(&frames);
	     unwind_next_frame(&frames)) {
		struct pt_regs *regs = unwind_get_entry_regs(&frames, NULL);
		unsigned long address = unwind_get_return_address(&frames);

		if (regs && user_mode(regs))
			break; /* the bottom of its kernel stack */
		if (!address || is_return_to_hook(address))
			return PERHAPS_INSIDE;
		if (is_return_to_trampoline(address))
			return INSIDE;
	}
	if (!unwind_error(&frames))
		return OUTSIDE;
#endif
	return PERHAPS_INSIDE;
}

static enum presence presence_of(struct task_struct *task)
{
	enum presence presence = PERHAPS_INSIDE;
	unsigned long irq_flags;

	if (!stack_may_return_to_trampoline(task))
		return OUTSIDE;
	raw_spin_lock_irqsave(&task->pi_lock, irq_flags);
	if (is_blocked(task))
		presence = unwind_blocked(task);
	raw_spin_unlock_irqrestore(&task->pi_lock, irq_flags);
	return presence;
}

s64 djs_calls_of_current(void)
{
	s64 count = 0;
#ifdef CONFIG_UNWINDER_ORC
	struct unwind_state frames;

	for (unwind_start(&frames, current, NULL, NULL); !unwind_done(&frames);
	     unwind_next_frame(&frames)) {
		struct pt_regs *regs = unwind_get_entry_regs(&frames, NULL);
		unsigned long address = unwind_get_return_address(&frames);

		if (regs && user_mode(regs))
			return count;
		if (is_return_to_hook(address))
			return S32_MAX;
		count += is_return_to_trampoline(address);
	}
	if (!unwind_error(&frames))
		return count;
#endif
	return count || stack_may_return_to_trampoline(current) ? S32_MAX : 0;
}

/* ---- all tasks ------------------------------------------------------------------------------- */

/*
 * Releases RCU for a while. False if the walk cannot continue at these tasks: one of them exited.
 */
static bool rest_at(struct task_struct *process, struct task_struct *task)
{
	bool alive;

	get_task_struct(process);
	get_task_struct(task);
	rcu_read_unlock();
	cond_resched();
	rcu_read_lock();
	alive = pid_alive(process) && pid_alive(task);
	put_task_struct(task);
	put_task_struct(process);
	return alive;
}

/* Visits all tasks but the current one, until `sees` returns true for one. Holds RCU's lock, which
 * delays forks and exits by no more than TASKS_UNTIL_REST stacks take. Returns true if `sees` did,
 * or if the walk was cut short. */
static bool look_at_others(bool (*sees)(struct task_struct *task, void *data), void *data)
{
	struct task_struct *process, *task;
	u32 looked_at = 0;
	bool ended = false;

	rcu_read_lock();
	for_each_process_thread(process, task)
	{
		ended = (task != current && sees(task, data)) ||
			(++looked_at % TASKS_UNTIL_REST == 0 && !rest_at(process, task));
		if (ended)
			goto out;
	}
out:
	rcu_read_unlock();
	return ended;
}

static struct pid *last_found; /* PID of a task that was not outside; NULL: none */

void djs_forget_last_found(void)
{
	put_pid(last_found);
	last_found = NULL;
}

bool djs_last_found_inside(void)
{
	struct task_struct *task;
	bool inside;

	rcu_read_lock();
	task = pid_task(last_found, PIDTYPE_PID);
	inside = task && task != current && presence_of(task) != OUTSIDE;
	rcu_read_unlock();
	return inside;
}

static bool find_inside(struct task_struct *task, void *data)
{
	if (presence_of(task) == OUTSIDE)
		return false;
	last_found = get_pid(task_pid(task)); /* NULL: it is exiting */
	return true;
}

bool djs_anybody_inside(void)
{
	djs_forget_last_found();
	return look_at_others(find_inside, NULL);
}

struct names {
	char *text;
	size_t size, used;
};

static bool add_name(struct task_struct *task, void *data)
{
	struct names *names = data;

	if (names->used + TASK_COMM_LEN + 16 > names->size)
		return true;
	if (presence_of(task) == INSIDE)
		names->used +=
		    scnprintf(names->text + names->used, names->size - names->used, "%s%s (%d)",
			      names->used ? ", " : ": ", task->comm, task_pid_nr(task));
	return false;
}

void djs_name_inside(char *text, size_t size)
{
	struct names names = {.text = text, .size = size};

	text[0] = 0;
	look_at_others(add_name, &names);
}
