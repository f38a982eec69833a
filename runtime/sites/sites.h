/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sites of a script at run time: their addresses in this kernel, and their state. */
#ifndef DJSTAP_SITES_H
#define DJSTAP_SITES_H

#include "state/state.h"

/* Returns run-time address - link-time address. May be called before djs_sites_init. */
unsigned long djs_kernel_bias(void);
static inline unsigned long djs_site_bias(const struct djs_site *site)
{
	return site->segment == DJS_NO_INDEX ? 0 : djs_biases[site->segment];
}

/* A site at run time. */
struct djs_site_run {
	const struct djs_site *site;
	u32 image; /* the image that contains it; DJS_NO_INDEX: none */
	int error;
	unsigned long address; /* of the fentry site or the instruction */
	unsigned long probe;   /* address of the probe: `address`, or that of the fallback */
	u8 mechanism;	       /* enum djs_mechanism */
	u8 fallback;	       /* enum djs_fallback */
	u8 armed;
	u8 follows; /* it is the `next` of another site */
	u8 wanted;  /* its condition wants it armed */
	u8 was_armed;
	u8 absent;		   /* its module is not loaded: not wanted */
	u8 disarmed;		   /* it took too much time: not wanted */
	struct djs_site_run *next; /* the next site at the same direct call */
	void *data;		   /* private to the mechanism */
	u64 missed;		   /* by kprobes that no longer exist */
};
extern struct djs_site_run *djs_sites;
/* The rows of mechanisms.def that sites have, or had before they became another's, as bits. */
extern u32 djs_mechanisms_used;
extern bool djs_mechanisms_unknown; /* a site has one that mechanisms.def lacks */
/* Makes a site another mechanism's, which attaches it. */
void djs_site_use(struct djs_site_run *run, u32 mechanism);

static inline bool djs_is_direct(const struct djs_site_run *run)
{
	return djs_mechanism_can(run->mechanism, DJS_IS_DIRECT);
}

/* Updates djs_find_site to the sites whose addresses are known now. */
int djs_lookup_update(void);
void djs_lookup_exit(void);

static inline bool djs_image_is_module(u32 image)
{
	return image != DJS_NO_INDEX && djs_script.images[image].kind == DJS_IMAGE_MODULE;
}
/* Returns whether the script concerns modules in addition to the kernel's own text. */
static inline bool djs_has_modules(void)
{
	u32 i;

	for (i = 0; i < djs_script.image_count; i++)
		if (djs_image_is_module(i))
			return true;
	return false;
}
/* Returns whether sites may be attached again after they were detached: by a condition, a switch,
 * or because their module is loaded again. */
static inline bool djs_sites_come_back(void)
{
	return djs_script.condition_count || djs_script.switch_count || djs_has_modules();
}
/* DJS_NO_INDEX: the script does not concern it. */
u32 djs_image_of_module(const char *name);
/*
 * Returns a module that is loaded and initialized, with a reference to it; NULL: it is not loaded.
 */
struct module *djs_module_get(u32 image);
/* Sets the biases of a module's segments. -ENOEXEC: a different module has the same name. */
int djs_module_place(u32 image, struct module *module);
/* By image; for djs_module_placed. */
int djs_placed_init(void);
void djs_placed_exit(void);
/* Returns the module that djs_module_place found right, until djs_module_forget; else NULL. Call it
 * with the sites locked. */
struct module *djs_module_placed(u32 image);
/* The module is unloaded, or not the right one: its variables cannot be read. */
void djs_module_forget(u32 image);

int djs_sites_init(void);
void djs_sites_exit(void);
/* Sets the address and the planned mechanism of a site, once they are known. */
void djs_site_place(struct djs_site_run *run);
/* Returns the site's probe point, for messages: until the next call, with the sites locked. */
#define DJS_SHOWN_BYTES 256
const char *djs_site_shown(const struct djs_site *site);
void djs_site_failed(struct djs_site_run *run, int error, const char *why);
u32 djs_sites_failed_count(void);
/* While the lock is held, no site is attached or detached. */
void djs_sites_lock(void);
void djs_sites_unlock(void);

/* Returns kernel.ftrace_enabled: 1, 0, or negative if it cannot be read; -ENODEV: ftrace has shut
 * itself down. May sleep. */
int djs_ftrace_enabled(void);
/* Sets it; returns 0 or an error. May sleep. */
int djs_ftrace_enable(bool on);
/* Makes the kernel refuse to set it to 0 until djs_ftrace_let_go; -EBUSY: it is 0. May sleep. */
int djs_ftrace_keep(void);
int djs_ftrace_let_go(void);

/* Reports that `count` probes could not be detached: the code that they call stays as long as the
 * kernel runs. Pins the module. Task context. */
void djs_pin(u32 count, int error);
bool djs_pinned(void);
/* Reports this in the kernel log: once, after detaching all probes has been tried. */
void djs_pin_report(void);
/*
 * Call it before anything is freed: does not return if the kernel may still call the module's code.
 */
void djs_pin_wait(void);

/* ftrace has shut itself down: whatever depends on it stays attached. */
extern bool djs_ftrace_dead;

#endif
