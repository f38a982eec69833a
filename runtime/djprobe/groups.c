// SPDX-License-Identifier: GPL-2.0-or-later
#include <linux/slab.h>
#include <linux/mm.h>
#include <linux/uaccess.h>

#include "djprobe/groups.h"

/* True when nobody at all is attached to this fentry site. */
static bool site_is_free(unsigned long address)
{
	static const u8 nop5[5] = {0x0f, 0x1f, 0x44, 0x00, 0x00};
	u8 text[5];

	return !copy_from_kernel_nofault(text, (void *)address, 5) && !memcmp(text, nop5, 5);
}

static int attach_once(const struct djs_group_kind *kind, const struct djs_handler *handler,
		       struct djs_site_run **runs, u32 count)
{
	struct djs_group *group = kzalloc(sizeof(*group), GFP_KERNEL);
	unsigned long *addresses = kvmalloc_array(count, sizeof(*addresses), GFP_KERNEL);
	int error = -ENOMEM;
	u32 i;

	if (!group || !addresses)
		goto out;
	group->handler = handler;
	group->count = count;
	for (i = 0; i < count; i++)
		addresses[i] = runs[i]->address;
	kind->prepare(group);
	error = ftrace_set_filter_ips(&group->ops, addresses, count, 0, 0);
	if (!error)
		error = kind->attach(group);
	if (error) {
		ftrace_free_filter(&group->ops);
		goto out;
	}
	list_add_tail(&group->list, kind->groups);
	for (i = 0; i < count; i++) {
		runs[i]->armed = 1;
		runs[i]->data = group;
	}
	group = NULL;
out:
	kvfree(addresses);
	kfree(group);
	return error;
}

/* Depth: log2 of the number of sites. A refusal costs little: the kernel looks before it touches
 * anything. */
static int attach_range(const struct djs_group_kind *kind, const struct djs_handler *handler,
			struct djs_site_run **runs, u32 count)
{
	int error = attach_once(kind, handler, runs, count);

	if (!error || error == -ENOMEM)
		return error;
	if (count == 1) {
		kind->refused(runs[0], error);
		return 0;
	}
	error = attach_range(kind, handler, runs, count / 2);
	return error ?: attach_range(kind, handler, runs + count / 2, count - count / 2);
}

static int attach_handler(const struct djs_group_kind *kind, const struct djs_handler *handler,
			  struct djs_site_run **runs, u32 count)
{
	u32 i, free = 0;
	int error;

	if (!count)
		return 0;
	error = attach_once(kind, handler, runs, count);
	if (!error || error == -ENOMEM)
		return error;
	/* Somebody else has some of them: take the ones that nobody has in one go. */
	for (i = 0; i < count; i++)
		if (site_is_free(runs[i]->address)) {
			swap(runs[free], runs[i]);
			free++;
		}
	error = free ? attach_range(kind, handler, runs, free) : 0;
	if (!error && free < count)
		error = attach_range(kind, handler, runs + free, count - free);
	return error;
}

int djs_groups_attach(const struct djs_group_kind *kind, u8 mechanism)
{
	struct djs_site_run **runs;
	u32 handler, i, count, start = 0;
	int error = 0;

	for (i = 0, count = 0; i < djs_script.site_count; i++)
		count += djs_sites[i].mechanism == mechanism;
	if (!count)
		return 0;
	runs = kvmalloc_array(count, sizeof(*runs), GFP_KERNEL);
	if (!runs)
		return -ENOMEM;
	for (handler = 0; handler < djs_script.handler_count && !error; handler++) {
		for (i = 0, count = 0; i < djs_script.site_count; i++)
			if (djs_sites[i].mechanism == mechanism &&
			    djs_sites[i].site->handler == handler)
				runs[start + count++] = &djs_sites[i];
		error = attach_handler(kind, &djs_script.handlers[handler], runs + start, count);
		start += count;
	}
	kvfree(runs);
	return error;
}
