// SPDX-License-Identifier: GPL-2.0-or-later
// Other modules whose functions are probed: their addresses.
#include <linux/kallsyms.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "sites/sites.h"

u32 djs_image_of_module(const char *name)
{
	u32 i;

	for (i = 0; i < djs_script.image_count; i++)
		if (djs_image_is_module(i) && !strcmp(djs_script.images[i].name, name))
			return i;
	return DJS_NO_INDEX;
}

static struct module **placed_modules;

int djs_placed_init(void)
{
	placed_modules =
	    kcalloc(max(djs_script.image_count, 1u), sizeof(*placed_modules), GFP_KERNEL);
	return placed_modules ? 0 : -ENOMEM;
}

void djs_placed_exit(void)
{
	kfree(placed_modules);
	placed_modules = NULL;
}

struct module *djs_module_placed(u32 image)
{
	return placed_modules[image];
}

void djs_module_forget(u32 image)
{
	u32 i;

	placed_modules[image] = NULL;
	for (i = 0; i < djs_script.segment_count; i++)
		if (djs_script.segments[i].image == image)
			djs_biases[i] = 0;
}

#ifdef CONFIG_KALLSYMS
static unsigned long value_of(const struct mod_kallsyms *symbols, const char *name)
{
	u32 i;

	for (i = 0; i < symbols->num_symtab; i++)
		if (!strcmp(symbols->strtab + symbols->symtab[i].st_name, name))
			return symbols->symtab[i].st_value;
	return 0;
}

/*
 * The distance of the two symbols of each segment must be that of the module the script was
 * compiled for.
 */
static int place_segments(u32 image, const struct mod_kallsyms *symbols)
{
	u32 i;

	for (i = 0; i < djs_script.segment_count; i++) {
		const struct djs_segment *segment = &djs_script.segments[i];
		unsigned long address;

		if (segment->image != image)
			continue;
		address = value_of(symbols, segment->symbol);
		/* Without KALLSYMS_ALL the kernel forgets the names of variables. */
		if (!address && !segment->executable)
			continue;
		if (!address || value_of(symbols, segment->check_symbol) - address !=
				    segment->check_address - segment->address)
			return -ENOEXEC;
		djs_biases[i] = address - segment->address;
	}
	return 0;
}

int djs_module_place(u32 image, struct module *module)
{
	int error;

	preempt_disable();
	error = place_segments(image, rcu_dereference_sched(module->kallsyms));
	preempt_enable();
	if (error)
		djs_module_forget(image);
	else
		placed_modules[image] = module;
	return error;
}
#else
int djs_module_place(u32 image, struct module *module)
{
	return -EOPNOTSUPP;
}
#endif

/*
 * The kernel's list of modules is not exported, but this module is in it. The list's head is in the
 * kernel's own data, where no module is.
 */
struct module *djs_module_get(u32 image)
{
	const struct list_head *own = &THIS_MODULE->list, *at;
	struct module *found = NULL;

	preempt_disable();
	for (at = READ_ONCE(own->next); at != own && !found; at = READ_ONCE(at->next)) {
		struct module *module = list_entry(at, struct module, list);

		if ((unsigned long)at < MODULES_VADDR || (unsigned long)at >= MODULES_END)
			continue;
		/* The notifier announces a module that is being loaded when it is ready. */
		if (module->state == MODULE_STATE_LIVE &&
		    !strcmp(module->name, djs_script.images[image].name) && try_module_get(module))
			found = module;
	}
	preempt_enable();
	return found;
}
