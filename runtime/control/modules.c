// SPDX-License-Identifier: GPL-2.0-or-later
// Other modules whose functions are probed: their sites when they are loaded and unloaded.
#include <linux/module.h>
#include <linux/notifier.h>

#include "control/arming.h"

static bool watching;
static bool open_to_modules; /* the sites of modules that are loaded from now on are armed */

static u32 sites_of(u32 image, bool armed_only)
{
	u32 i, count = 0;

	for (i = 0; i < djs_script.site_count; i++)
		count += djs_sites[i].image == image && (djs_sites[i].armed || !armed_only);
	return count;
}

/* Resets the sites of a module that is loaded now, as if they had never been tried. */
static int place_module(u32 image, struct module *module)
{
	int error = djs_module_place(image, module);
	u32 i, sites;

	for (i = 0; i < djs_script.site_count; i++) {
		struct djs_site_run *run = &djs_sites[i];

		if (run->image != image)
			continue;
		run->error = error;
		run->absent = error != 0;
		if (!error)
			djs_site_place(run);
	}
	if (!error)
		return djs_lookup_update();
	sites = sites_of(image, false);
	djs_session_message(DJS_RECORD_WARNING,
			    "the loaded module '%s' is not the one that this script was compiled "
			    "for: %u of its functions %s not probed",
			    djs_script.images[image].name, sites, sites == 1 ? "is" : "are");
	return 0;
}

int djs_modules_follow(void)
{
	u32 image;
	int error = 0;

	for (image = 0; image < djs_script.image_count && !error; image++) {
		struct module *module;
		u32 sites;

		if (!djs_image_is_module(image))
			continue;
		sites = sites_of(image, false);
		module = djs_module_get(image);
		if (module) {
			error = place_module(image, module);
			module_put(module); /* the notifier runs before its text is freed */
		} else if (sites) {
			djs_session_message(DJS_RECORD_WARNING,
					    "the module '%s' is not loaded: %u of its functions "
					    "will be probed when it is loaded",
					    djs_script.images[image].name, sites);
		}
	}
	open_to_modules = !error;
	return error;
}

void djs_modules_ignore(void)
{
	open_to_modules = false;
}

bool djs_modules_followed(void)
{
	return open_to_modules;
}

static void module_came(u32 image, struct module *module)
{
	u32 i, absent = 0;
	int error;

	djs_sites_lock();
	for (i = 0; i < djs_script.site_count; i++)
		absent += djs_sites[i].image == image && djs_sites[i].absent && !djs_sites[i].error;
	if (open_to_modules && (absent || !sites_of(image, false))) {
		error = place_module(image, module);
		if (error)
			djs_session_message(
			    DJS_RECORD_WARNING,
			    "the module '%s' was loaded and cannot be probed (error %d)",
			    djs_script.images[image].name, error);
		else
			djs_sites_rearm_locked();
	}
	djs_sites_unlock();
}

/* Called before the module's text is freed. */
static void module_went(u32 image)
{
	u32 i, armed;

	djs_sites_lock();
	armed = sites_of(image, true);
	for (i = 0; i < djs_script.site_count; i++) {
		struct djs_site_run *run = &djs_sites[i];

		if (run->image != image)
			continue;
		run->error = 0;
		run->absent = 1;
		run->wanted = 0;
	}
	if (armed)
		djs_sites_forget(image);
	djs_module_forget(image);
	if (armed && open_to_modules)
		djs_session_message(
		    DJS_RECORD_WARNING,
		    "the module '%s' was unloaded: %u of its functions %s no longer probed",
		    djs_script.images[image].name, armed, armed == 1 ? "is" : "are");
	djs_sites_unlock();
}

/* Runs before other notifiers: kprobes and ftrace forget the module's text when it is unloaded. */
static int module_goes(struct notifier_block *block, unsigned long state, void *data)
{
	struct module *module = data;
	u32 image = state == MODULE_STATE_GOING ? djs_image_of_module(module->name) : DJS_NO_INDEX;

	if (image != DJS_NO_INDEX)
		module_went(image);
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
		module_came(image, module);
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
