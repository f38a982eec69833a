// SPDX-License-Identifier: GPL-2.0-or-later
// The kernel's table of direct calls. Kernels with the _multi interface (before "ftrace: Fix
// modification of direct_function hash while in use", d05cb470663a) give it at most 4,096 buckets,
// and copy it for each entry beyond two per bucket; each of these copies leaks 32 KB. Entries of
// all users count. Later kernels have no such limit.
#include <linux/fs.h>
#include <linux/kprobes.h>
#include <linux/uaccess.h>

#include "cpu/queue.h"
#include "djprobe/table.h"
#include "sites/ftrace_switch.h"

#ifdef DJS_HAVE_FTRACE_DIRECT_MULTI

#define MAX_ENTRIES 7168u /* leaves room for other users, which come later and do not check */
#define MAX_BITS    12

/* The beginning of the kernel's struct ftrace_hash, which no header declares. */
struct table {
	unsigned long size_bits;
	unsigned long buckets;
	unsigned long count;
};

/* djstap's modules share no symbol, but they can all find the file of kernel.ftrace_enabled, and a
 * file has a lock. A work item opens it, because the calling task may have another root directory.
 */
struct lock_work {
	struct work_struct work;
	struct file *file;
};

/* register_kprobe resolves the symbol before it refuses the address. */
static unsigned long find_table(void)
{
	struct kprobe kprobe = {.symbol_name = "direct_functions", .flags = KPROBE_FLAG_DISABLED};

	if (!register_kprobe(&kprobe))
		unregister_kprobe(&kprobe);
	return (unsigned long)kprobe.addr;
}

/* Negative: not a valid table. It may be replaced while it is read: nofault reads. */
static long count_entries(unsigned long symbol, u32 own)
{
	struct table table;
	unsigned long at;

	if (!symbol || copy_from_kernel_nofault(&at, (void *)symbol, sizeof(at)) ||
	    copy_from_kernel_nofault(&table, (void *)at, sizeof(table)))
		return -EFAULT;
	if (table.size_bits > MAX_BITS || table.buckets < TASK_SIZE_MAX || table.count < own ||
	    table.count > INT_MAX)
		return -EINVAL;
	return table.count;
}

/* 0: not found yet. */
static unsigned long found_table;

u32 djs_direct_room(unsigned long symbol, u32 own)
{
	u32 tries = 10;
	long count;

	if (!symbol && !found_table)
		found_table = find_table();
	do
		count = count_entries(symbol ?: found_table, own);
	while (count < 0 && --tries);
	if (count < 0) {
		pr_warn_once("%s: the kernel's table of direct calls cannot be read: direct calls "
			     "of other users are not counted\n",
			     THIS_MODULE->name);
		count = own;
	}
	return count < MAX_ENTRIES ? MAX_ENTRIES - count : 0;
}

static void lock_work_run(struct work_struct *work)
{
	struct lock_work *request = container_of(work, struct lock_work, work);
	struct file *file = djs_ftrace_switch_open(O_RDONLY);

	request->file = IS_ERR(file) ? NULL : file;
}

struct file *djs_direct_lock(void)
{
	struct lock_work request = {};

	INIT_WORK_ONSTACK(&request.work, lock_work_run);
	queue_work(DJS_QUEUE, &request.work);
	flush_work(&request.work);
	destroy_work_on_stack(&request.work);
	if (request.file)
		inode_lock(file_inode(request.file));
	return request.file;
}

void djs_direct_unlock(struct file *lock)
{
	if (!lock)
		return;
	inode_unlock(file_inode(lock));
	filp_close(lock, NULL);
}

#else

u32 djs_direct_room(unsigned long symbol, u32 own)
{
	return U32_MAX;
}

struct file *djs_direct_lock(void)
{
	return NULL;
}

void djs_direct_unlock(struct file *lock)
{
}

#endif
