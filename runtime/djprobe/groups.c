// SPDX-License-Identifier: GPL-2.0-or-later
#include <linux/slab.h>
#include <linux/mm.h>
#include <linux/uaccess.h>

#include "arch/runtime.h"
#include "sites/drain.h"
#include "djprobe/groups.h"

/* True if nothing is attached to this fentry site. */
static bool site_is_free(unsigned long address)
{
	u8 text[DJS_CALL_BYTES];

	return !copy_from_kernel_nofault(text, (void *)address, sizeof(text)) && djs_is_no_op(text);
}

/* Returns the next site that shares the ops of `kind` with this one: a call to a trampoline runs
 * all its handlers. */
static struct djs_site_run *next_run(const struct djs_group_kind *kind,
				     const struct djs_site_run *run)
{
	return kind->by_trampoline ? run->next : NULL;
}

static int attach_once(const struct djs_group_kind *kind, u32 number, struct djs_site_run **runs,
		       u32 count)
{
	struct djs_group *group = kzalloc(sizeof(*group), GFP_KERNEL);
	unsigned long *addresses = kvmalloc_array(count, sizeof(*addresses), GFP_KERNEL);
	struct djs_site_run *run;
	int error = -ENOMEM;
	u32 i;

	if (!group || !addresses)
		goto out;
	group->number = number;
	group->count = count;
	for (i = 0; i < count; i++)
		addresses[i] = runs[i]->address;
	group->first = addresses[0];
	kind->prepare(group);
	error = ftrace_set_filter_ips(&group->ops, addresses, count, 0, 0);
	if (!error)
		error = kind->attach(group);
	if (error) {
		ftrace_free_filter(&group->ops);
		goto out;
	}
	/* Set only now, because registering a direct call resets the flags: kernel.ftrace_enabled
	 * cannot be set to 0 from here on. */
	group->ops.flags |= FTRACE_OPS_FL_PERMANENT;
	list_add_tail(&group->list, kind->groups);
	for (i = 0; i < count; i++)
		for (run = runs[i]; run; run = next_run(kind, run)) {
			run->armed = 1;
			run->data = group;
		}
	group = NULL;
out:
	kvfree(addresses);
	kfree(group);
	return error;
}

static void refuse(const struct djs_group_kind *kind, struct djs_site_run *run, int error)
{
	for (; run; run = next_run(kind, run))
		kind->refused(run, error);
}

/* Recursion depth: log2 of the number of sites. A refusal is cheap: the kernel checks before it
 * changes anything. */
static int attach_range(const struct djs_group_kind *kind, u32 number, struct djs_site_run **runs,
			u32 count)
{
	int error = attach_once(kind, number, runs, count);

	if (!error || error == -ENOMEM)
		return error;
	if (count == 1) {
		refuse(kind, runs[0], error);
		return 0;
	}
	error = attach_range(kind, number, runs, count / 2);
	return error ?: attach_range(kind, number, runs + count / 2, count - count / 2);
}

static int attach_all(const struct djs_group_kind *kind, u32 number, struct djs_site_run **runs,
		      u32 count)
{
	u32 i, free = 0;
	int error;

	if (!count)
		return 0;
	error = attach_once(kind, number, runs, count);
	if (!error || error == -ENOMEM)
		return error;
	/* Another user has some of them: attach all free ones at once. */
	for (i = 0; i < count; i++)
		if (site_is_free(runs[i]->address)) {
			swap(runs[free], runs[i]);
			free++;
		}
	error = free ? attach_range(kind, number, runs, free) : 0;
	if (!error && free < count)
		error = attach_range(kind, number, runs + free, count - free);
	return error;
}

static bool to_attach(const struct djs_group_kind *kind, const struct djs_site_run *run)
{
	return kind->takes(run) && run->wanted && !run->armed && !run->error;
}

static bool group_is_wanted(const struct djs_group *group)
{
	u32 i;

	for (i = 0; i < djs_script.site_count; i++)
		if (djs_sites[i].armed && djs_sites[i].data == group)
			return djs_sites[i].wanted;
	return false;
}

void djs_groups_detach(const struct djs_group_kind *kind)
{
	struct djs_group *group, *next;
	bool any = false;
	u32 i;

	list_for_each_entry (group, kind->groups, list) {
		int error;

		if (group->stuck || group_is_wanted(group))
			continue;
		error = djs_ftrace_dead ? -ENODEV : kind->disconnect(group);
		if (error)
			djs_pin(group->count, error);
		group->stuck = error != 0;
		any |= !error;
	}
	if (any && kind->undrained)
		djs_drain_handlers();
	list_for_each_entry_safe(group, next, kind->groups, list)
	{
		if (group->stuck || group_is_wanted(group))
			continue;
		kind->release(group);
		for (i = 0; i < djs_script.site_count; i++)
			if (djs_sites[i].data == group) {
				djs_sites[i].armed = 0;
				djs_sites[i].data = NULL;
			}
		list_del(&group->list);
		kfree(group);
	}
}

bool djs_groups_any_to_attach(const struct djs_group_kind *kind)
{
	u32 i;

	for (i = 0; i < djs_script.site_count; i++)
		if (to_attach(kind, &djs_sites[i]))
			return true;
	return false;
}

static u32 number_of(const struct djs_group_kind *kind, const struct djs_site_run *run)
{
	return kind->by_trampoline ? run->site->trampoline : run->site->handler;
}

/* What is to be attached, and the sites of an image in it by their numbers. */
struct groups_work {
	struct djs_site_run **runs;
	u32 count;
	struct djs_site_run **sorted;
	u32 *ends; /* in `sorted`, by number */
	u32 numbers;
};

static void gather_runs(const struct djs_group_kind *kind, struct groups_work *work)
{
	u32 i;

	for (i = 0; i < djs_script.site_count; i++)
		if (to_attach(kind, &djs_sites[i]) &&
		    !(kind->by_trampoline && djs_sites[i].follows))
			work->runs[work->count++] = &djs_sites[i];
}

/* Returns how many there are of the image. */
static u32 sort_by_number(const struct djs_group_kind *kind, struct groups_work *work, u32 image)
{
	u32 i, count = 0;

	if (work->numbers == 1 && djs_script.image_count == 1) {
		/* All functions of a kernel by one handler: they are in order. */
		swap(work->runs, work->sorted);
		work->ends[0] = work->count;
		return work->count;
	}
	memset(work->ends, 0, work->numbers * sizeof(*work->ends));
	for (i = 0; i < work->count; i++)
		if (work->runs[i]->image == image)
			work->ends[number_of(kind, work->runs[i])]++;
	/* Each becomes the start of its own number, and filling moves it to the end. */
	for (i = 0; i < work->numbers; i++) {
		u32 of_number = work->ends[i];

		work->ends[i] = count;
		count += of_number;
	}
	for (i = 0; i < work->count; i++)
		if (work->runs[i]->image == image)
			work->sorted[work->ends[number_of(kind, work->runs[i])]++] = work->runs[i];
	return count;
}

static int attach_image(const struct djs_group_kind *kind, struct groups_work *work, u32 image)
{
	u32 number;
	int error = 0;

	if (!sort_by_number(kind, work, image))
		return 0;
	/*
	 * Starts with the last one: of several ops at a function, ftrace calls the latest first.
	 */
	for (number = work->numbers; number-- > 0 && !error;) {
		u32 start = number ? work->ends[number - 1] : 0;

		error = attach_all(kind, number, work->sorted + start, work->ends[number] - start);
	}
	return error;
}

int djs_groups_attach(const struct djs_group_kind *kind)
{
	struct groups_work work = {
	    .numbers = kind->by_trampoline ? djs_script.trampoline_count : djs_script.handler_count,
	};
	u32 image;
	int error = -ENOMEM;

	if (!djs_groups_any_to_attach(kind))
		return 0;
	work.runs = kvmalloc_array(djs_script.site_count, sizeof(*work.runs), GFP_KERNEL);
	work.sorted = kvmalloc_array(djs_script.site_count, sizeof(*work.sorted), GFP_KERNEL);
	work.ends = kvmalloc_array(work.numbers, sizeof(*work.ends), GFP_KERNEL);
	if (work.runs && work.sorted && work.ends) {
		gather_runs(kind, &work);
		error = 0;
		for (image = 0; image < djs_script.image_count && !error; image++)
			error = attach_image(kind, &work, image);
	}
	kvfree(work.runs);
	kvfree(work.sorted);
	kvfree(work.ends);
	return error;
}
