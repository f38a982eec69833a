// SPDX-License-Identifier: GPL-2.0-or-later
// A livepatch sends the callers of a function elsewhere from its fentry site. A kprobe that stands
// behind the site, because somebody else had the direct call, is not reached any more then. It
// cannot be moved while it is armed, so the user is told.
#include <linux/module.h>
#include <linux/notifier.h>

#include "control/arming.h"

static bool livepatch_matters;

static int module_changed(struct notifier_block *block, unsigned long state, void *data)
{
	if (READ_ONCE(livepatch_matters) && state == MODULE_STATE_LIVE && is_livepatch_module(data))
		djs_message_alone("a livepatch came: hits of functions that it replaces are missed "
				  "where a probe is a kprobe instead of a djprobe");
	return NOTIFY_DONE;
}

static struct notifier_block module_changes = {.notifier_call = module_changed};

/* Not while sites are attached or detached: who is told of modules waits for that. */
int djs_livepatch_init(void)
{
	return register_module_notifier(&module_changes);
}

void djs_livepatch_exit(void)
{
	unregister_module_notifier(&module_changes);
}

/* Once kprobes are attached. */
void djs_livepatch_watch(void)
{
	u32 i;

	for (i = 0; i < djs_script.site_count && !livepatch_matters; i++)
		if (djs_sites[i].armed && djs_sites[i].fallback &&
		    djs_mechanism_can(djs_sites[i].mechanism, DJS_IS_KPROBE))
			WRITE_ONCE(livepatch_matters, true);
}

void djs_livepatch_ignore(void)
{
	WRITE_ONCE(livepatch_matters, false);
}
