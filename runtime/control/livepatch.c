// SPDX-License-Identifier: GPL-2.0-or-later
// A livepatch redirects the callers of a function at its fentry site. A kprobe that is placed
// behind the site, because another user had the direct call, is then not reached any more. It
// cannot be moved while it is armed, so the user is informed.
#include <linux/module.h>
#include <linux/notifier.h>

#include "control/arming.h"

static bool livepatch_matters;

static int module_changed(struct notifier_block *block, unsigned long state, void *data)
{
	if (READ_ONCE(livepatch_matters) && state == MODULE_STATE_LIVE && is_livepatch_module(data))
		djs_message_alone("a livepatch was applied: where a kprobe stands in for a "
				  "djprobe, hits of the functions that it replaces are missed");
	return NOTIFY_DONE;
}

static struct notifier_block module_changes = {.notifier_call = module_changed};

/* Must not be called while sites are attached or detached: module notifiers wait for that. */
int djs_livepatch_init(void)
{
	return register_module_notifier(&module_changes);
}

void djs_livepatch_exit(void)
{
	unregister_module_notifier(&module_changes);
}

/* Called once kprobes are attached. */
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
