// SPDX-License-Identifier: GPL-2.0-or-later
// Probes that cannot be detached. ftrace shuts itself down for good when it finds unexpected text,
// and from then on attaches and detaches nothing: what the kernel keeps calling must never be
// freed.
#include <linux/module.h>
#include <linux/sched.h>

#include "sites/sites.h"

static u32 pinned_probes, reported_probes;
static int last_error;
static bool holds_module;

void djs_pin(u32 count, int error)
{
	pinned_probes += count;
	last_error = error;
	/*
	 * The reference cannot be taken while the module is being unloaded: djs_pin_wait does not
	 * return then.
	 */
	if (!holds_module)
		holds_module = try_module_get(THIS_MODULE);
}

bool djs_pinned(void)
{
	return pinned_probes > 0;
}

void djs_pin_report(void)
{
	if (pinned_probes == reported_probes)
		return;
	reported_probes = pinned_probes;
	djs_error("%u of its probes cannot be detached (error %d%s): it stays loaded until the "
		  "machine is restarted",
		  pinned_probes, last_error, djs_ftrace_dead ? ", ftrace has disabled itself" : "");
}

void djs_pin_wait(void)
{
	if (!pinned_probes)
		return;
	djs_error("its removal will never finish");
	for (;;)
		schedule_timeout_idle(MAX_SCHEDULE_TIMEOUT);
}
