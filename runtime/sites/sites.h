/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sites of a script at run time: where they lie in this kernel, and what became of them. */
#ifndef DJSTAP_SITES_H
#define DJSTAP_SITES_H

#include "state/state.h"

/* Run-time address = link-time address + this. Callable before djs_sites_init. */
unsigned long djs_kernel_bias(void);
static inline unsigned long djs_site_bias(const struct djs_site *site)
{
	return site->segment == DJS_NO_INDEX ? 0 : djs_biases[site->segment];
}

/* A site at run time. */
struct djs_site_run {
	const struct djs_site *site;
	u32 image;	       /* that it lies in; DJS_NO_INDEX: in none */
	unsigned long address; /* of the fentry site or the instruction */
	unsigned long probe;   /* where the probe stands: `address`, or the fallback's */
	u8 mechanism;	       /* enum djs_mechanism */
	u8 fallback;	       /* enum djs_fallback */
	u8 armed;
	u8 follows; /* it is some other site's `next` */
	u8 wanted;  /* by its condition: to be armed */
	u8 was_armed;
	u8 absent;   /* its module is not loaded: not wanted */
	u8 disarmed; /* it took too much time: not wanted */
	int error;
	struct djs_site_run *next; /* the next one at the same direct call */
	void *data;		   /* the mechanism's own */
	u64 missed;		   /* by kprobes that are gone */
};
extern struct djs_site_run *djs_sites;

static inline bool djs_is_direct(const struct djs_site_run *run)
{
	return djs_mechanism_can(run->mechanism, DJS_IS_DIRECT);
}

/* Makes djs_find_site know the sites whose addresses are known now. */
int djs_lookup_update(void);
void djs_lookup_exit(void);

static inline bool djs_image_is_module(u32 image)
{
	return image != DJS_NO_INDEX && djs_script.images[image].kind == DJS_IMAGE_MODULE;
}
/* Whether the script has to do with other modules than the kernel's own text. */
static inline bool djs_has_modules(void)
{
	return djs_script.image_count > 1;
}
/* DJS_NO_INDEX: the script has nothing to do with it. */
u32 djs_image_of_module(const char *name);
/* A module that is loaded and initialized, with a reference to it; NULL: it is not there. */
struct module *djs_module_get(u32 image);
/* Sets the biases of a module's segments. -ENOEXEC: another one of the same name. */
int djs_module_place(u32 image, struct module *module);
/* The module is gone, or not the right one: its variables cannot be read. */
void djs_module_forget(u32 image);

int djs_sites_init(void);
void djs_sites_exit(void);
/* Where it lies and what is planned for it, once that can be told. */
void djs_site_place(struct djs_site_run *run);
void djs_site_failed(struct djs_site_run *run, int error, const char *why);
u32 djs_sites_failed_count(void);
/* While it is held no site is attached or detached. */
void djs_sites_lock(void);
void djs_sites_unlock(void);

/* kernel.ftrace_enabled: 1, 0, or negative when it cannot be read; -ENODEV: ftrace has shut itself
 * down. May sleep. */
int djs_ftrace_enabled(void);
/* Sets it; 0 or an error. May sleep. */
int djs_ftrace_enable(bool on);
/* Has the kernel refuse to set it to 0 until djs_ftrace_let_go; -EBUSY: it is 0. May sleep. */
int djs_ftrace_keep(void);
int djs_ftrace_let_go(void);

/* `count` probes could not be taken out: what they call stays as long as the kernel runs. Holds the
 * module. Task context. */
void djs_pin(u32 count, int error);
bool djs_pinned(void);
/* Says so in the kernel's log: once, when all have been tried. */
void djs_pin_report(void);
/* Before anything is freed: does not return where the kernel may still call something. */
void djs_pin_wait(void);

/* ftrace has shut itself down: what depends on it stays where it is. */
extern bool djs_ftrace_dead;

#endif
