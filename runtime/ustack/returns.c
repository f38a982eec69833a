// SPDX-License-Identifier: GPL-2.0-or-later
// The return addresses that the kernel has replaced for return probes, of whatever tracer: it keeps
// them in a list for each task.
#include <linux/sched.h>
#include <linux/uaccess.h>
#include <linux/uprobes.h>

#include "access/access.h"
#include "ustack/ustack.h"

#ifdef DJS_HAVE_RETURN_INSTANCES
/* The kernel keeps 64, and some more for functions that end in calls of probed ones. */
#define REPLACED_MAX 128

/* The kernel, which this may interrupt, frees an entry before it takes it off the list: each is
 * read without faults, and what does not fit is not used. */
DJS_HANDLER_CODE u64 djs_user_replaced_return(u64 slot)
{
	const struct uprobe_task *task = READ_ONCE(current->utask);
	struct return_instance *instance = NULL;
	u32 i;

	if (!task || get_kernel_nofault(instance, &task->return_instances))
		return 0;
	for (i = 0; i < REPLACED_MAX && instance; i++) {
		unsigned long stack, original;

		if (get_kernel_nofault(stack, &instance->stack) ||
		    get_kernel_nofault(original, &instance->orig_ret_vaddr))
			return 0;
		if (stack == slot)
			return original;
		if (get_kernel_nofault(instance, &instance->next))
			return 0;
	}
	return 0;
}
#else
DJS_HANDLER_CODE u64 djs_user_replaced_return(u64 slot)
{
	return 0;
}
#endif

DJS_HANDLER_CODE u64 djs_user_stack_word(u64 slot)
{
	u64 word;

	return djs_is_user(slot) && djs_read_number(slot, sizeof(word), &word) ? word : 0;
}

DJS_HANDLER_CODE u64 djs_user_return_address(u64 slot)
{
	return djs_user_replaced_return(slot) ?: djs_user_stack_word(slot);
}
