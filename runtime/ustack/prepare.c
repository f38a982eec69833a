// SPDX-License-Identifier: GPL-2.0-or-later
// Who fills the tables that handlers look up, and when: each task itself, on its way to user mode,
// after it has executed a program, was created, or has mapped code. So whatever a process runs is
// known before it runs it. Processes that exist already are looked at when the module is loaded.
#include <linux/delay.h>
#include <linux/file.h>
#include <linux/kprobes.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>

#include "arch/runtime.h"
#include "include/record.h"
#include "sites/sites.h"
#include "state/state.h"
#include "tasks/tasks.h"
#include "ustack/ustack.h"

#define MAPPINGS_MAX 16384
#define LOCK_ROUNDS  5 /* looks at processes whose mappings are locked, a millisecond apart */

/* ---- the mappings of a process --------------------------------------------------------------- */

struct found {
	unsigned long begin, end;
	u64 offset;
	struct file *file; /* NULL: none */
};

/* Two threads of a process may look at the same time. While one of them does, nothing changes. */
static atomic64_t looks = ATOMIC64_INIT(0);

/* A task may wait for its own process until it is killed. Another process may hold its lock for
 * ever: a thread of it that waits for a page of a file system that never answers holds it, and one
 * that waits to change the mappings keeps everybody else out. */
static int lock_mappings(struct mm_struct *mm)
{
	if (mm == current->mm)
		return mmap_read_lock_killable(mm);
	return mmap_read_trylock(mm) ? 0 : -EBUSY;
}

/* Returns how many executable mappings there are, and stores the first `room` of them, and the
 * order of this look; or an error: they are locked. */
static s32 find_mappings(struct mm_struct *mm, struct found *found, s32 room, u64 *order)
{
	struct vm_area_struct *vma;
	s32 count = 0, error;
	VMA_ITERATOR(mappings, mm, 0);

	error = lock_mappings(mm);
	if (error)
		return error;
	*order = atomic64_inc_return(&looks);
	for_each_vma(mappings, vma)
	{
		if (!(vma->vm_flags & VM_EXEC))
			continue;
		if (count < room) {
			found[count].begin = vma->vm_start;
			found[count].end = vma->vm_end;
			found[count].offset = (u64)vma->vm_pgoff << PAGE_SHIFT;
			found[count].file = vma->vm_file ? get_file(vma->vm_file) : NULL;
		}
		count++;
	}
	mmap_read_unlock(mm);
	return count;
}

static void put_mappings(struct found *found, u32 count)
{
	u32 i;

	for (i = 0; i < count; i++)
		if (found[i].file)
			fput(found[i].file);
	kvfree(found);
}

/* Returns all of them, or an error. */
static struct found *all_mappings(struct mm_struct *mm, u32 *count, u64 *order)
{
	s32 room = 32, all;

	for (;;) {
		struct found *found = kvmalloc_array(room, sizeof(*found), GFP_KERNEL);

		if (!found)
			return ERR_PTR(-ENOMEM);
		all = find_mappings(mm, found, room, order);
		*count = max(all, 0);
		if (all >= 0 && all <= room)
			return found;
		put_mappings(found, min_t(u32, *count, room));
		if (all < 0)
			return ERR_PTR(all);
		if (all > MAPPINGS_MAX)
			return ERR_PTR(-E2BIG);
		room = all + 16;
	}
}

/* Finds where the code of an image is that is mapped with this offset in the file. */
static void place_mapping(struct djs_user_mapping *mapping, const struct djs_user_image *image,
			  u64 offset)
{
	u64 end = offset + (mapping->end - mapping->begin);
	u32 i;

	for (i = 0; i < image->load_count; i++) {
		const struct djs_user_load *load = &image->loads[i];
		u64 bias = mapping->begin + (load->offset - offset) - load->address;

		if (offset >= load->offset + load->bytes || end <= load->offset ||
		    bias & ~PAGE_MASK || bias >> DJS_WORD_ADDRESS_BITS)
			continue;
		mapping->bias = bias;
		mapping->image = image->number;
		return;
	}
}

static struct djs_user_map *make_map(struct mm_struct *mm, const struct found *found, u32 count)
{
	struct djs_user_map *map = kvmalloc(struct_size(map, mappings, count), GFP_KERNEL);
	u32 i;

	if (!map)
		return NULL;
	map->count = count;
	map->places = 0;
	for (i = 0; i < count; i++) {
		struct djs_user_mapping *mapping = &map->mappings[i];
		const struct djs_user_image *image = NULL;
		u64 offset = found[i].offset;

		mapping->begin = found[i].begin;
		mapping->end = found[i].end;
		mapping->bias = 0;
		mapping->image = DJS_NO_USER_IMAGE;
		mapping->place = 0;
		if (found[i].file) {
			image = djs_user_image_of(found[i].file);
		} else if (mapping->begin == djs_vdso_address(mm)) {
			image = djs_user_image_of_kernel();
			offset = 0;
		}
		if (image)
			place_mapping(mapping, image, offset);
	}
	return map;
}

static int prepare_space(struct mm_struct *mm)
{
	struct djs_user_map *map = NULL;
	struct found *found;
	u64 order;
	u32 count;

	found = all_mappings(mm, &count, &order);
	if (IS_ERR(found))
		return PTR_ERR(found);
	map = make_map(mm, found, count);
	put_mappings(found, count);
	/* What a killed task could not read, others that share its memory may need. */
	if (fatal_signal_pending(current)) {
		kvfree(map);
		return -EINTR;
	}
	if (!map)
		return -ENOMEM;
	map->order = order;
	return djs_user_space_set(mm, map);
}

/* ---- what a task is to do on its way to user mode -------------------------------------------- */

/* The tasks whose visit is due, as far as there is room: one visit is enough for several reasons.
 */
#define DUE_BITS 8
static struct task_struct *due[1 << DUE_BITS];

static DJS_HANDLER_CODE struct task_struct **due_of(const struct task_struct *task)
{
	return &due[hash_64((unsigned long)task, DUE_BITS)];
}

static void prepare_current(void)
{
	cmpxchg(due_of(current), current, NULL);
	if (current->mm) /* it may be exiting */
		prepare_space(current->mm);
}

static DJS_WORKS(prepare_current, preparations);

static DJS_HANDLER_CODE bool note_due(struct task_struct *task)
{
	return READ_ONCE(*due_of(task)) != task && xchg(due_of(task), task) != task;
}

static DJS_HANDLER_CODE void prepare_soon(struct task_struct *task)
{
	if (note_due(task) && djs_works_add(&preparations, task, GFP_NOWAIT | __GFP_NOWARN))
		cmpxchg(due_of(task), task, NULL);
}

static DJS_HANDLER_CODE bool returns_to_user(const struct task_struct *task)
{
	return task->mm && !(task->flags & PF_KTHREAD);
}

DJS_HANDLER_CODE void djs_user_prepare_soon(void)
{
	if (returns_to_user(current) && note_due(current) && djs_works_try(&preparations))
		cmpxchg(due_of(current), current, NULL);
}

/* ---- execs, forks and mappings --------------------------------------------------------------- */

static DJS_HANDLER_CODE void on_exec(void *unused, struct task_struct *task, pid_t old_pid,
				     struct linux_binprm *binary)
{
	prepare_soon(task);
}

static DJS_HANDLER_CODE void on_fork(void *unused, struct task_struct *parent,
				     struct task_struct *child)
{
	if (returns_to_user(child) && child->mm != parent->mm)
		prepare_soon(child);
}

/* The kernel announces each new mapping to profilers while the process cannot change it. */
static int on_mmap(struct kprobe *kprobe, struct pt_regs *regs)
{
	const struct vm_area_struct *vma = (const void *)djs_register_argument(regs, 1);

	if (vma->vm_flags & VM_EXEC && vma->vm_mm == current->mm && returns_to_user(current))
		prepare_soon(current);
	return 0;
}
NOKPROBE_SYMBOL(on_mmap);

static struct kprobe mmap_probe = {.symbol_name = "perf_event_mmap", .pre_handler = on_mmap};
static bool mmap_is_probed;

static struct djs_task_event followed_events[] = {
    {.name = "sched_process_exec", .callback = on_exec},
    {.name = "sched_process_fork", .callback = on_fork},
};

static int start_events(void)
{
	int error = djs_task_events_start(followed_events, ARRAY_SIZE(followed_events));

	if (!error)
		error = register_kprobe(&mmap_probe);
	mmap_is_probed = !error;
	return error;
}

static void stop_events(void)
{
	if (mmap_is_probed)
		unregister_kprobe(&mmap_probe);
	mmap_is_probed = false;
	djs_task_events_stop(followed_events, ARRAY_SIZE(followed_events));
}

/* ---- the processes that exist ---------------------------------------------------------------- */

/* Returns how many there are, with references to the first `room` of them. */
static u32 find_processes(struct task_struct **found, u32 room)
{
	struct task_struct *process;
	u32 count = 0;

	rcu_read_lock();
	for_each_process(process)
	{
		if (process->flags & PF_KTHREAD)
			continue;
		if (count < room)
			found[count] = get_task_struct(process);
		count++;
	}
	rcu_read_unlock();
	return count;
}

/* Returns how many of them had their mappings locked, and moves them to the front. */
static u32 prepare_processes(struct task_struct **processes, u32 count)
{
	u32 i, locked = 0;

	for (i = 0; i < count; i++) {
		struct mm_struct *mm =
		    fatal_signal_pending(current) ? NULL : get_task_mm(processes[i]);
		int error = mm ? prepare_space(mm) : 0;

		if (mm)
			mmput(mm);
		if (error == -EBUSY)
			processes[locked++] = processes[i];
		else
			put_task_struct(processes[i]);
		cond_resched();
	}
	return locked;
}

static int prepare_all(void)
{
	u32 room = find_processes(NULL, 0) + 64, count, i, round;
	struct task_struct **found = kvmalloc_array(room, sizeof(*found), GFP_KERNEL);

	if (!found)
		return -ENOMEM;
	/* Those that are created meanwhile prepare themselves. */
	count = min(find_processes(found, room), room);
	for (round = 0; count && round < LOCK_ROUNDS; round++) {
		if (round)
			usleep_range(1000, 2000);
		count = prepare_processes(found, count);
	}
	/* What remains locked does it itself when it goes on. */
	for (i = 0; i < count; i++) {
		prepare_soon(found[i]);
		put_task_struct(found[i]);
	}
	kvfree(found);
	return fatal_signal_pending(current) ? -EINTR : 0;
}

int djs_user_prepare_init(void)
{
	int error = djs_works_open(&preparations);

	if (!error)
		error = start_events();
	if (!error)
		error = prepare_all();
	if (error)
		djs_user_prepare_exit();
	return error;
}

void djs_user_prepare_exit(void)
{
	stop_events();
	djs_works_free(&preparations);
}

void djs_user_places_report(void)
{
	u64 count = djs_user_places_missed();

	if (count)
		djs_session_message(
		    DJS_RECORD_WARNING,
		    count == 1 ? "%llu address of a program got no symbol: stacks contained too "
				 "many files, or one at too many addresses"
			       : "%llu addresses of programs got no symbols: stacks contained too "
				 "many files, or some at too many addresses",
		    count);
}
