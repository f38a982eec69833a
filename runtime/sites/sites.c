// SPDX-License-Identifier: GPL-2.0-or-later
// The sites of a script at run time: their addresses in this kernel, the mechanism of each, and its
// state. control/ arms them.
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include "sites/sites.h"

struct djs_site_run *djs_sites;
u32 djs_mechanisms_used;
bool djs_mechanisms_unknown;
unsigned long *djs_biases;

/* Protects attaching, detaching and the state of sites. Nests inside session_life, and inside the
 * kernel's lock for module notifiers. */
static DEFINE_MUTEX(sites_mutex);

static bool is_direct(const struct djs_site *site)
{
	return djs_mechanism_can(site->mechanism, DJS_IS_DIRECT);
}

/* Sites of one direct call are linked in ascending order. */
static bool next_is_valid(const struct djs_site *site)
{
	const struct djs_site *next;

	if (site->next == DJS_NO_INDEX)
		return true;
	if (site->next >= djs_script.site_count || site->next <= site - djs_script.sites)
		return false;
	next = &djs_script.sites[site->next];
	return is_direct(next) && next->trampoline == site->trampoline &&
	       next->address == site->address && next->segment == site->segment;
}

const char *djs_site_shown(const struct djs_site *site)
{
	static char shown[DJS_SHOWN_BYTES];

	lockdep_assert_held(&sites_mutex);
	if (!site->point)
		return "a probe";
	djs_site_point(site, shown, sizeof(shown));
	return shown;
}

static bool site_is_valid(const struct djs_site *site)
{
	const struct djs_handler *handler;

	if (site->handler >= djs_script.handler_count ||
	    max3(site->point, site->function, site->file) >= djs_script.site_text_bytes ||
	    site->code_bytes > djs_script.site_text_bytes ||
	    site->code > djs_script.site_text_bytes - site->code_bytes ||
	    (site->name != DJS_NO_INDEX && site->name >= djs_script.site_text_bytes) ||
	    (site->segment != DJS_NO_INDEX && site->segment >= djs_script.segment_count))
		return false;
	handler = &djs_script.handlers[site->handler];
	if (is_direct(site))
		return site->trampoline < djs_script.trampoline_count &&
		       djs_script.trampolines[site->trampoline].direct && next_is_valid(site) &&
		       (handler->body || !djs_site_has_fallback(site));
	if (djs_mechanism_can(site->mechanism, DJS_HAS_CALLBACK))
		return handler->tracepoint && site->function;
	return handler->body;
}

void djs_site_use(struct djs_site_run *run, u32 mechanism)
{
	BUILD_BUG_ON(DJS_MECHANISM_COUNT > 32);
	if (mechanism < DJS_MECHANISM_COUNT)
		djs_mechanisms_used |= 1u << mechanism;
	else
		djs_mechanisms_unknown = true;
	run->mechanism = mechanism;
}

void djs_site_place(struct djs_site_run *run)
{
	run->address = run->site->address + djs_site_bias(run->site);
	run->probe = run->address;
	run->mechanism = run->site->mechanism;
	run->fallback = DJS_FALLBACK_NONE;
}

unsigned long djs_kernel_bias(void)
{
	return (unsigned long)_printk - djs_script.segments[0].address;
}

static int segments_init(void)
{
	u32 i;

	for (i = 0; i < djs_script.segment_count; i++)
		if (djs_script.segments[i].image >= djs_script.image_count) {
			djs_error("the script is damaged: segment %u belongs to no image", i);
			return -ENOEXEC;
		}
	djs_biases = kcalloc(max(djs_script.segment_count, 1u), sizeof(*djs_biases), GFP_KERNEL);
	if (!djs_biases || djs_placed_init())
		return -ENOMEM;
	djs_biases[0] = djs_kernel_bias();
	return 0;
}

int djs_sites_init(void)
{
	u32 i, count = djs_script.site_count;
	int error = 0;

	for (i = 0; i < djs_script.handler_count; i++)
		if (djs_script.handlers[i].lock_count &&
		    !(djs_script.handlers[i].flags & DJS_HANDLER_IRQS_OFF)) {
			djs_error("the script is damaged: handler %u uses locks without the flag "
				  "for disabled interrupts",
				  i);
			return -ENOEXEC;
		}
	for (i = 0; i < count; i++)
		if (!site_is_valid(&djs_script.sites[i])) {
			djs_error("the script is damaged: site %u has no valid handler", i);
			return -ENOEXEC;
		}
	error = segments_init();
	if (error) {
		djs_sites_exit();
		return error;
	}
	djs_sites = kvcalloc(max(count, 1u), sizeof(*djs_sites), GFP_KERNEL);
	if (!djs_sites) {
		djs_sites_exit();
		return -ENOMEM;
	}
	for (i = 0; i < count; i++) {
		const struct djs_site *site = &djs_script.sites[i];
		struct djs_site_run *run = &djs_sites[i];

		run->site = site;
		run->image = site->segment == DJS_NO_INDEX
				 ? DJS_NO_INDEX
				 : djs_script.segments[site->segment].image;
		run->absent = djs_image_is_module(run->image);
		djs_site_use(run, site->mechanism);
		if (is_direct(site) && site->next != DJS_NO_INDEX) {
			run->next = &djs_sites[site->next];
			run->next->follows = 1;
		}
		if (!run->absent)
			djs_site_place(run);
	}
	error = djs_lookup_update();
	if (error)
		djs_sites_exit();
	return error;
}

void djs_sites_exit(void)
{
	djs_lookup_exit();
	kfree(djs_biases);
	djs_biases = NULL;
	djs_placed_exit();
	kvfree(djs_sites);
	djs_sites = NULL;
}

void djs_sites_lock(void)
{
	mutex_lock(&sites_mutex);
}

void djs_sites_unlock(void)
{
	djs_pin_report();
	mutex_unlock(&sites_mutex);
}

void djs_site_failed(struct djs_site_run *run, int error, const char *why)
{
	run->error = error;
	djs_session_message(DJS_RECORD_WARNING, "cannot attach %s: %s (error %d)",
			    djs_site_shown(run->site), why, error);
}

u32 djs_sites_failed_count(void)
{
	u32 i, count = 0;

	for (i = 0; i < djs_script.site_count; i++)
		count += djs_sites[i].error != 0;
	return count;
}
