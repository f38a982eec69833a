// SPDX-License-Identifier: GPL-2.0-or-later
// Static markers (include/djstap/marker.h): a marker is a tracepoint of the module that contains
// it, once for each place where it stands; all of them get the handler, with its site as their
// data.
#include <linux/module.h>
#include <linux/tracepoint.h>

#include "include/recorder.h"
#include "sites/mechanism.h"

#ifdef DJS_HAVE_TRACEPOINTS
#define TEXT_PREFIX "mark:" /* the format follows the name's terminating 0 */

struct search {
	const struct djs_site_run *run;
	bool attach;
	u32 limit; /* the places that are still wanted */
	u32 done;
	int error;
};

static bool is_marker(const struct djs_site_run *run)
{
	return run->mechanism == DJS_MECHANISM_MARKER && !run->error;
}

static bool is_right(const struct tracepoint *point, const struct djs_site *site)
{
	const struct djs_handler *handler = &djs_script.handlers[site->handler];
	const char *name = point->name + strlen(TEXT_PREFIX), *format;

	if (strncmp(point->name, TEXT_PREFIX, strlen(TEXT_PREFIX)) ||
	    strcmp(name, djs_site_text(site->function)))
		return false;
	format = name + strlen(name) + 1;
	return djs_hash_bytes(format, strlen(format)) == handler->arguments[DJS_MARKER_FORMAT];
}

static void visit(struct tracepoint *point, void *data)
{
	struct search *search = data;
	const struct djs_site *site = search->run->site;
	void *callback = djs_script.handlers[site->handler].tracepoint;

	if (search->error || !search->limit || !is_right(point, site))
		return;
	if (search->attach)
		search->error = tracepoint_probe_register(point, callback, (void *)site);
	else
		tracepoint_probe_unregister(point, callback, (void *)site);
	search->done += !search->error;
	search->limit--;
}

/* Attaches or detaches the handler at the marker's places, in the kernel's order. */
static void visit_places(struct search *search)
{
	u32 image = search->run->image;
	struct module *module;
	unsigned int i;

	if (!djs_image_is_module(image)) {
		for_each_kernel_tracepoint(visit, search);
		return;
	}
	module = djs_module_placed(image);
	for (i = 0; module && i < module->num_tracepoints; i++)
		visit(tracepoint_ptr_deref(&module->tracepoints_ptrs[i]), search);
}

static void detach_places(const struct djs_site_run *run, u32 count)
{
	struct search search = {.run = run, .limit = count};

	visit_places(&search);
}

static void attach_marker(struct djs_site_run *run)
{
	struct search search = {.run = run, .attach = true, .limit = U32_MAX};

	visit_places(&search);
	if (search.error) {
		detach_places(run, search.done);
		tracepoint_synchronize_unregister();
		djs_site_failed(run, search.error, "the marker rejects a callback");
	} else if (!search.done) {
		djs_site_failed(run, -ENOENT, "there is no such marker, or its format differs");
	} else {
		run->armed = 1;
	}
}

static int markers_attach(void)
{
	u32 i;

	for (i = 0; i < djs_script.site_count; i++) {
		struct djs_site_run *run = &djs_sites[i];

		if (is_marker(run) && run->wanted && !run->armed)
			attach_marker(run);
	}
	return 0;
}

static void markers_disarm(void)
{
	bool any = false;
	u32 i;

	for (i = 0; i < djs_script.site_count; i++) {
		struct djs_site_run *run = &djs_sites[i];

		if (run->mechanism != DJS_MECHANISM_MARKER || !run->armed || run->wanted)
			continue;
		detach_places(run, U32_MAX);
		run->armed = 0;
		any = true;
	}
	if (any)
		tracepoint_synchronize_unregister();
}
#else
static int markers_attach(void)
{
	u32 i;

	for (i = 0; i < djs_script.site_count; i++)
		if (djs_sites[i].mechanism == DJS_MECHANISM_MARKER)
			djs_site_failed(&djs_sites[i], -EOPNOTSUPP,
					"this kernel has no tracepoints");
	return 0;
}

static void markers_disarm(void)
{
}
#endif

const struct djs_mechanism_ops djs_ops_marker = {
    .attach = markers_attach,
    .disarm = markers_disarm,
};
