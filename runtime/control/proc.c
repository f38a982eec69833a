// SPDX-License-Identifier: GPL-2.0-or-later
// Implements /proc/djstap-NAME, which include/control.h describes.
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/poll.h>
#include <linux/proc_fs.h>
#include <linux/uaccess.h>
#include <linux/wait.h>

#include "control/arming.h"
#include "djprobe/djprobe.h"
#include "kprobe/kprobe.h"
#include "perf/perf.h"
#include "process/members.h"
#include "procfs/procfs.h"
#include "programs/programs.h"
#include "record/symbols.h"
#include "ustack/ustack.h"

static struct proc_dir_entry *file_entry;

/*
 * An open file holds a reference to the module: waiters (poll, epoll, io_uring) are in one of the
 * module's lists, and leave it when the file is released. The file outlives its mappings.
 */
static int file_open(struct inode *inode, struct file *file)
{
	bool owns = file->f_mode & FMODE_WRITE;

	if (!djs_may_open(owns))
		return -EPERM;
	if (!try_module_get(THIS_MODULE))
		return -ENODEV;
	if (owns && !djs_reader_comes()) {
		module_put(THIS_MODULE);
		return -EBUSY;
	}
	return 0;
}

static int file_release(struct inode *inode, struct file *file)
{
	if (file->f_mode & FMODE_WRITE) {
		djs_reader_goes();
		djs_session_abandoned();
	}
	module_put(THIS_MODULE); /* proc_remove waits for this call */
	return 0;
}

static ssize_t file_read(struct file *file, char __user *to, size_t size, loff_t *position)
{
	return simple_read_from_buffer(to, size, position, djs_script.meta, djs_script.meta_bytes);
}

static __poll_t file_poll(struct file *file, poll_table *table)
{
	poll_wait(file, &djs_reader_queue, table);
	if (READ_ONCE(djs_control->exit_requested) ||
	    READ_ONCE(djs_control->state) == DJS_STATE_STOPPED)
		return EPOLLIN | EPOLLPRI;
	return 0;
}

static void set_vma_flags(struct vm_area_struct *vma, unsigned long set, unsigned long clear)
{
#ifdef DJS_HAVE_VM_FLAGS_SET
	vm_flags_mod(vma, set, clear);
#else
	vma->vm_flags = (vma->vm_flags | set) & ~clear;
#endif
}

/* Readers never write to it: not even the owner may make the mapping writable. */
static int map_symbols(struct vm_area_struct *vma, unsigned long at)
{
	unsigned long pages = vma_pages(vma), i;
	int error;

	if (at >= djs_symbol_pages() || pages > djs_symbol_pages() - at ||
	    (vma->vm_flags & (VM_WRITE | VM_EXEC)))
		return -EINVAL;
	set_vma_flags(vma, VM_DONTCOPY | VM_DONTEXPAND | VM_DONTDUMP, VM_MAYWRITE);
	for (i = 0; i < pages; i++) {
		error = vm_insert_page(vma, vma->vm_start + i * PAGE_SIZE, djs_symbol_page(at + i));
		if (error)
			return error;
	}
	return 0;
}

static int file_mmap(struct file *file, struct vm_area_struct *vma)
{
	unsigned long pages = vma_pages(vma), per_cpu_pages = djs_ring_pages(), at, i;
	unsigned int cpu;
	int error;

	/* VM_SHARED is not set if the file is open for reading only. */
	if (!(vma->vm_flags & VM_MAYSHARE))
		return -EINVAL;
	if (vma->vm_pgoff == 0) {
		if (pages != 1 || (vma->vm_flags & (VM_WRITE | VM_EXEC)))
			return -EINVAL;
		set_vma_flags(vma, VM_DONTCOPY | VM_DONTEXPAND | VM_DONTDUMP, VM_MAYWRITE);
		return vm_insert_page(vma, vma->vm_start, virt_to_page(djs_control));
	}
	if (!(file->f_mode & FMODE_WRITE))
		return -EACCES; /* only the owner may map and move it */
	if (vma->vm_pgoff - 1 >= nr_cpu_ids * per_cpu_pages)
		return map_symbols(vma, vma->vm_pgoff - 1 - nr_cpu_ids * per_cpu_pages);
	cpu = (vma->vm_pgoff - 1) / per_cpu_pages;
	at = (vma->vm_pgoff - 1) % per_cpu_pages;
	if (!djs_ring_page(cpu, at) || pages > per_cpu_pages - at || (vma->vm_flags & VM_EXEC))
		return -EINVAL;
	set_vma_flags(vma, VM_DONTCOPY | VM_DONTEXPAND | VM_DONTDUMP, 0);
	for (i = 0; i < pages; i++) {
		error =
		    vm_insert_page(vma, vma->vm_start + i * PAGE_SIZE, djs_ring_page(cpu, at + i));
		if (error)
			return error;
	}
	return 0;
}

static void fill_counts(struct djs_counts *counts)
{
	*counts = (struct djs_counts){
	    .lost_records = djs_rings_lost(),
	    .overwritten = djs_rings_overwritten(),
	    .oversized = djs_rings_oversized(),
	    .skipped_busy = DJS_CPU_SUM(skipped_busy),
	    .skipped_locked = DJS_CPU_SUM(skipped_locked),
	    .skipped_stack = DJS_CPU_SUM(skipped_stack),
	    .skipped_kprobe = djs_kprobes_missed().nested + djs_kretprobes_missed().nested,
	    .skipped_kretprobe = djs_kretprobes_missed().without_instance,
	    .missed_calls = djs_calls_missed(),
	    .not_followed = djs_perf_not_followed() + djs_members_missed(),
	    .deep_hits = djs_deep_hits(),
	    .short_stacks = djs_user_stacks_incomplete(),
	    .unread_programs = djs_user_images_refused(),
	    .errors = djs_error_count(),
	    .failed_sites = djs_sites_failed_count(),
	    .inside = djs_inside_count() + djs_procfs_calls(),
	    .pinned = djs_pinned(),
	};
}

static int fill_site(struct djs_site_state *state)
{
	const struct djs_site_run *run;

	if (state->index >= djs_script.site_count)
		return -ENOENT;
	run = &djs_sites[state->index];
	state->mechanism = run->mechanism;
	state->error = run->error;
	state->fallback = run->fallback;
	state->missed = djs_site_missed(run);
	return 0;
}

/* The process of -c or -x has the number that the reader knows, who may be in a PID namespace;
 * handlers compare those of the initial one. */
static int trace_process(s32 number)
{
	s32 found;

	if (!number)
		return 0;
	rcu_read_lock();
	found = pid_nr(find_vpid(number));
	rcu_read_unlock();
	if (!found && task_active_pid_ns(current) != &init_pid_ns)
		return -ESRCH;
	djs_traced_pid = found ?: number;
	return 0;
}

static long file_ioctl(struct file *file, unsigned int command, unsigned long argument)
{
	void __user *user = (void __user *)argument;
	struct djs_site_state state;
	struct djs_switch switched;
	struct djs_counts counts;
	struct djs_start start;
	int error;

	switch (command) {
	case DJS_IOC_COUNTS:
		djs_sites_lock();
		fill_counts(&counts);
		djs_sites_unlock();
		return copy_to_user(user, &counts, sizeof(counts)) ? -EFAULT : 0;
	case DJS_IOC_SITE:
		if (copy_from_user(&state, user, sizeof(state)))
			return -EFAULT;
		djs_sites_lock();
		error = fill_site(&state);
		djs_sites_unlock();
		if (error)
			return error;
		return copy_to_user(user, &state, sizeof(state)) ? -EFAULT : 0;
	}
	if (!(file->f_mode & FMODE_WRITE))
		return -EACCES;
	switch (command) {
	case DJS_IOC_START:
		if (copy_from_user(&start, user, sizeof(start)))
			return -EFAULT;
		error = trace_process(start.traced_pid);
		if (error)
			return error;
		djs_traced_executes = start.flags & DJS_START_EXECUTES;
		return djs_session_start();
	case DJS_IOC_STOP:
		djs_session_stop();
		return 0;
	case DJS_IOC_SWITCH:
		if (copy_from_user(&switched, user, sizeof(switched)))
			return -EFAULT;
		return djs_probe_switch(switched.probe, switched.on);
	case DJS_IOC_SYMBOLS:
		djs_symbols_fill();
		return 0;
	}
	return -ENOTTY;
}

static const struct proc_ops file_operations_of_module = {
    .proc_open = file_open,
    .proc_release = file_release,
    .proc_read = file_read,
    .proc_lseek = default_llseek,
    .proc_poll = file_poll,
    .proc_mmap = file_mmap,
    .proc_ioctl = file_ioctl,
};

int djs_proc_init(void)
{
	char name[8 + MODULE_NAME_LEN];

	snprintf(name, sizeof(name), "djstap-%s", THIS_MODULE->name);
	file_entry = proc_create(name, 0600, NULL, &file_operations_of_module);
	if (!file_entry) {
		djs_error("cannot create /proc/%s", name);
		return -ENOMEM;
	}
	return 0;
}

void djs_proc_exit(void)
{
	proc_remove(file_entry); /* waits for calls in progress; the file is not open */
	file_entry = NULL;
}
