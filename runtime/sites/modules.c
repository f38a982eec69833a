// SPDX-License-Identifier: GPL-2.0-or-later
// Other modules whose functions are probed: where they lie.
#include <linux/kallsyms.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "sites/sites.h"

unsigned long *djs_anchor_slides;

const char *djs_domain_name(u32 domain)
{
	return djs_script.anchors[domain - 1].module;
}

/* The number of a module's first anchor + 1; 0 is the kernel. */
u32 djs_site_domain(const struct djs_site *site)
{
	u32 i = site->anchor;

	if (i == DJS_NO_INDEX)
		return 0;
	while (i > 0 && !strcmp(djs_script.anchors[i - 1].module, djs_script.anchors[i].module))
		i--;
	return i + 1;
}

u32 djs_domain_of(const char *name)
{
	u32 i;

	for (i = 0; i < djs_script.anchor_count; i++)
		if (!strcmp(djs_script.anchors[i].module, name))
			return i + 1;
	return 0;
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

/* Two symbols of each section must lie as far from each other as when the script was made. */
static int place_anchors(u32 domain, const struct mod_kallsyms *symbols)
{
	u32 i;

	for (i = domain - 1; i < djs_script.anchor_count &&
			     !strcmp(djs_script.anchors[i].module, djs_domain_name(domain));
	     i++) {
		const struct djs_anchor *anchor = &djs_script.anchors[i];
		unsigned long address = value_of(symbols, anchor->symbol);

		if (!address || value_of(symbols, anchor->check_symbol) - address !=
				    anchor->check_address - anchor->address)
			return -ENOEXEC;
		djs_anchor_slides[i] = address - anchor->address;
	}
	return 0;
}

int djs_module_place(u32 domain, struct module *module)
{
	int error;

	preempt_disable();
	error = place_anchors(domain, rcu_dereference_sched(module->kallsyms));
	preempt_enable();
	return error;
}
#else
int djs_module_place(u32 domain, struct module *module)
{
	return -EOPNOTSUPP;
}
#endif

/*
 * The kernel's list of modules is not exported, but this module is in it. The list's head lies in
 * the kernel's own data, where no module does.
 */
struct module *djs_module_get(u32 domain)
{
	const struct list_head *own = &THIS_MODULE->list, *at;
	struct module *found = NULL;

	preempt_disable();
	for (at = READ_ONCE(own->next); at != own && !found; at = READ_ONCE(at->next)) {
		struct module *module = list_entry(at, struct module, list);

		if ((unsigned long)at < MODULES_VADDR || (unsigned long)at >= MODULES_END)
			continue;
		/* One that is coming is announced again when it is there. */
		if (module->state == MODULE_STATE_LIVE &&
		    !strcmp(module->name, djs_domain_name(domain)) && try_module_get(module))
			found = module;
	}
	preempt_enable();
	return found;
}
