// SPDX-License-Identifier: GPL-2.0-or-later
// Tracepoints: a handler is the tracepoint's own callback, and its site is the callback's data.
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/tracepoint.h>

#include "sites/mechanism.h"

#ifdef DJS_HAVE_TRACEPOINTS
static struct djs_site_run **traced; /* sorted by the tracepoint's name */
static u32 traced_count;

static bool is_tracepoint(const struct djs_site_run *run)
{
	return run->mechanism == DJS_MECHANISM_TRACEPOINT && !run->error;
}

static const char *traced_name(const struct djs_site_run *run)
{
	return djs_site_text(run->site->function);
}

static int compare_names(const void *a, const void *b)
{
	struct djs_site_run *const *left = a, *const *right = b;
	int order = strcmp(traced_name(*left), traced_name(*right));

	/* The kernel's sort does not keep the script's order. */
	return order ?: *left < *right ? -1 : 1;
}

/* Those of modules are there as soon as the module is loaded. */
static bool is_in_module(const struct djs_site_run *run)
{
	return djs_image_is_module(run->image);
}

static void register_tracepoint(struct djs_site_run *run)
{
	const struct djs_handler *handler = &djs_script.handlers[run->site->handler];

	run->error = tracepoint_probe_register(run->data, handler->tracepoint, (void *)run->site);
	run->armed = !run->error;
}

/* Attaches all sites of this tracepoint: several probes may use it. */
static void attach_tracepoint(struct tracepoint *tracepoint, void *unused)
{
	u32 low = 0, high = traced_count;

	while (low < high) {
		u32 middle = low + (high - low) / 2;

		if (strcmp(traced_name(traced[middle]), tracepoint->name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < traced_count; low++) {
		struct djs_site_run *run = traced[low];

		if (strcmp(traced_name(run), tracepoint->name))
			return;
		if (is_in_module(run))
			continue;
		run->data = tracepoint;
		if (run->wanted)
			register_tracepoint(run);
	}
}

static void report_failures(void)
{
	u32 i;

	for (i = 0; i < traced_count; i++) {
		struct djs_site_run *run = traced[i];

		if (is_in_module(run))
			continue;
		if (!run->data)
			djs_site_failed(run, -ENOENT, "the kernel has no such tracepoint");
		else if (run->error)
			djs_site_failed(run, run->error, "the tracepoint rejects a callback");
	}
}

/* By its name: a kernel without KALLSYMS_ALL does not tell where a module's variables are. */
static struct tracepoint *tracepoint_of_module(const struct djs_site_run *run)
{
	struct module *module = djs_module_placed(run->image);
	unsigned int i;

	for (i = 0; module && i < module->num_tracepoints; i++) {
		struct tracepoint *tracepoint = tracepoint_ptr_deref(&module->tracepoints_ptrs[i]);

		if (!strcmp(tracepoint->name, traced_name(run)))
			return tracepoint;
	}
	return NULL;
}

static void find_in_module(struct djs_site_run *run)
{
	run->data = run->absent ? NULL : tracepoint_of_module(run);
	if (!run->data && !run->absent && !run->error)
		djs_site_failed(run, -ENOENT, "the module has no such tracepoint");
}

static void attach_tracepoints_again(void)
{
	u32 i;

	for (i = 0; i < traced_count; i++) {
		struct djs_site_run *run = traced[i];

		if (is_in_module(run))
			find_in_module(run);
		if (!run->data || run->error || run->armed || !run->wanted)
			continue;
		register_tracepoint(run);
		if (run->error)
			djs_site_failed(run, run->error, "the tracepoint rejects a callback");
	}
}

static int tracepoints_attach(void)
{
	u32 i, planned = 0;

	if (traced) {
		attach_tracepoints_again();
		return 0;
	}
	for (i = 0; i < djs_script.site_count; i++)
		planned += is_tracepoint(&djs_sites[i]);
	if (!planned)
		return 0;
	traced = kvcalloc(planned, sizeof(*traced), GFP_KERNEL);
	if (!traced)
		return -ENOMEM;
	for (i = 0, traced_count = 0; i < djs_script.site_count; i++)
		if (is_tracepoint(&djs_sites[i]))
			traced[traced_count++] = &djs_sites[i];
	sort(traced, traced_count, sizeof(*traced), compare_names, NULL);
	for_each_kernel_tracepoint(attach_tracepoint, NULL);
	report_failures();
	attach_tracepoints_again(); /* of modules that are loaded already */
	return 0;
}

static void tracepoints_disarm(void)
{
	bool any = false;
	u32 i;

	for (i = 0; i < traced_count; i++) {
		struct djs_site_run *run = traced[i];
		const struct djs_handler *handler = &djs_script.handlers[run->site->handler];

		if (!run->armed || run->wanted)
			continue;
		tracepoint_probe_unregister(run->data, handler->tracepoint, (void *)run->site);
		run->armed = 0;
		any = true;
	}
	if (any)
		tracepoint_synchronize_unregister();
}

static void tracepoints_free(void)
{
	kvfree(traced);
	traced = NULL;
	traced_count = 0;
}
#else
static int tracepoints_attach(void)
{
	u32 i;

	for (i = 0; i < djs_script.site_count; i++)
		if (djs_sites[i].mechanism == DJS_MECHANISM_TRACEPOINT)
			djs_site_failed(&djs_sites[i], -EOPNOTSUPP,
					"this kernel has no tracepoints");
	return 0;
}

static void tracepoints_disarm(void)
{
}

static void tracepoints_free(void)
{
}
#endif

const struct djs_mechanism_ops djs_ops_tracepoint = {
    .attach = tracepoints_attach,
    .disarm = tracepoints_disarm,
    .free = tracepoints_free,
};
