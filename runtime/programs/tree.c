// SPDX-License-Identifier: GPL-2.0-or-later
// The processes in which a hit concerns the script: with -c or -x, one process and its descendants.
#include <linux/rcupdate.h>
#include <linux/sched.h>

#include "programs/programs.h"
#include "sites/sites.h"

/* Ancestors of a process that are looked at. */
#define DEEPEST_TREE 256

static atomic64_t deep_hits = ATOMIC64_INIT(0);

u64 djs_deep_hits(void)
{
	return atomic64_read(&deep_hits);
}

DJS_HANDLER_CODE bool djs_is_in_tree(const struct task_struct *task)
{
	bool found = false;
	u32 i;

	if (!djs_traced_pid)
		return true;
	/* The process of -c begins as a copy of the program that loads the module. */
	if (task->tgid == djs_traced_pid)
		return !djs_traced_executes || !(task->group_leader->flags & PF_FORKNOEXEC);
	rcu_read_lock();
	for (i = 0; i < DEEPEST_TREE && task->pid && !found; i++) {
		task = rcu_dereference(task->real_parent);
		found = task->tgid == djs_traced_pid;
	}
	if (i == DEEPEST_TREE && !found && task->pid)
		atomic64_inc(&deep_hits);
	rcu_read_unlock();
	return found;
}

DJS_HANDLER_CODE bool djs_concerns_process(u64 only)
{
	return (!only || current->tgid == only) && djs_is_in_tree(current);
}
