// SPDX-License-Identifier: GPL-2.0-or-later
// Which program a task runs: the file that it executed, or the process that the script is about.
#include <linux/fs.h>
#include <linux/mm_types.h>
#include <linux/namei.h>
#include <linux/sched.h>
#include <linux/sched/task.h>

#include "programs/programs.h"
#include "sites/sites.h"

/* A file is known by its inode: a hard link is the same program, and a file that replaces it under
 * its name is another one. */
int djs_program_find(struct djs_program *program)
{
	const struct inode *inode;
	struct path path;
	int error;

	if (!program->path)
		return djs_traced_pid ? 0 : -ESRCH;
	error = kern_path(program->path, LOOKUP_FOLLOW, &path);
	if (error)
		return error;
	inode = d_inode(path.dentry);
	if (S_ISREG(inode->i_mode)) {
		program->inode = inode->i_ino;
		program->device = inode->i_sb->s_dev;
		program->generation = inode->i_generation;
	} else {
		error = -EACCES;
	}
	path_put(&path);
	return error;
}

/* The kernel may replace the mm's file meanwhile, and use the structure of the file again; RCU
 * keeps the memory of both the file and its inode. */
DJS_HANDLER_CODE bool djs_program_executed(struct djs_program *program,
					   const struct task_struct *task)
{
	const struct mm_struct *mm = task->mm;
	const struct inode *inode;
	const struct file *file;

	if (!mm)
		return false;
	rcu_read_lock();
	file = rcu_dereference(mm->exe_file);
	inode = file ? READ_ONCE(file->f_inode) : NULL;
	if (inode) {
		program->inode = inode->i_ino;
		program->device = inode->i_sb->s_dev;
		program->generation = inode->i_generation;
	}
	rcu_read_unlock();
	return inode;
}

static DJS_HANDLER_CODE bool is_target_process(const struct task_struct *task)
{
	return task->tgid == djs_traced_pid && !READ_ONCE(djs_traced_executes);
}

DJS_HANDLER_CODE bool djs_program_of_still(const struct djs_program *program,
					   struct task_struct *task)
{
	struct djs_program executed;

	if (task->flags & (PF_KTHREAD | PF_EXITING) || !task->mm)
		return false;
	if (!program->path)
		return is_target_process(task);
	return djs_program_executed(&executed, task) && djs_program_is_same(program, &executed);
}

bool djs_program_of(const struct djs_program *program, struct task_struct *task)
{
	bool is;

	task_lock(task); /* it keeps its mm meanwhile */
	is = djs_program_of_still(program, task);
	task_unlock(task);
	return is;
}
