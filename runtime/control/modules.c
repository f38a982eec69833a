// SPDX-License-Identifier: GPL-2.0-or-later
// Other modules whose functions are probed: handles their loading and unloading.
#include <linux/module.h>
#include <linux/notifier.h>

#include "control/arming.h"

static bool watching;

/* Runs before other notifiers: kprobes and ftrace forget the module's text when it is unloaded. */
static int module_goes(struct notifier_block *block, unsigned long state, void *data)
{
	struct module *module = data;
	u32 image = state == MODULE_STATE_GOING ? djs_image_of_module(module->name) : DJS_NO_INDEX;

	if (image != DJS_NO_INDEX)
		djs_sites_module_went(image);
	return NOTIFY_DONE;
}

/*
 * Runs after other notifiers, which prepare the module's text, and before its init function, so
 * that this can be probed.
 */
static int module_comes(struct notifier_block *block, unsigned long state, void *data)
{
	struct module *module = data;
	u32 image = state == MODULE_STATE_COMING || state == MODULE_STATE_LIVE
			? djs_image_of_module(module->name)
			: DJS_NO_INDEX;

	if (image != DJS_NO_INDEX)
		djs_sites_module_came(image, module);
	return NOTIFY_DONE;
}

static struct notifier_block going_block = {.notifier_call = module_goes, .priority = INT_MAX};
static struct notifier_block coming_block = {.notifier_call = module_comes, .priority = INT_MIN};

int djs_modules_init(void)
{
	int error;

	if (!djs_has_modules())
		return 0;
	error = register_module_notifier(&going_block);
	if (error)
		return error;
	error = register_module_notifier(&coming_block);
	if (error)
		unregister_module_notifier(&going_block);
	watching = !error;
	return error;
}

void djs_modules_exit(void)
{
	if (watching) {
		unregister_module_notifier(&coming_block);
		unregister_module_notifier(&going_block);
	}
	watching = false;
}
