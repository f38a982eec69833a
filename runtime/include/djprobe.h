/* SPDX-License-Identifier: GPL-2.0-or-later
 * djprobes for a module that is written by hand: a function's entry calls a handler directly, with
 * the general registers. No script, and nothing of djstap's runtime, is needed; see
 *runtime/capi/Kbuild.include for how a module is built with it, and examples/c-module for one.
 *
 *	static void hit(struct djprobe *probe, struct pt_regs *regs) { … }
 *	static struct djprobe probe = { .symbol = "vfs_open", .handler = hit };
 *	error = register_djprobe(&probe);
 */
#ifndef DJPROBE_H
#define DJPROBE_H

#include <linux/ptrace.h>
#include <linux/types.h>

struct djprobe {
	const char *symbol;    /* the function's name; NULL: `address` says where it is */
	unsigned long address; /* of the function or its fentry site; filled in for `symbol` */
	/*
	 * Runs in whatever context the function was called in, with interrupts as they were and
	 * preemption off. It must not sleep. In ip it finds the function's fentry site, in sp the
	 * stack as the function finds it; what it changes in the general registers, the function
	 * gets.
	 */
	void (*handler)(struct djprobe *probe, struct pt_regs *regs);
	void *data; /* the user's */
	unsigned long __percpu
	    *missed; /* hits inside a handler of the same context; see djprobe_missed() */

	struct djprobe_set *set; /* private: those registered together */
};

/*
 * Puts the probes in place, all or none. May sleep. -ENOENT: no such function; -EINVAL or -ENODEV:
 * it has no fentry site; -EBUSY: another direct call (a script's djprobe, a BPF trampoline) is
 * there, or one probe is registered already; -EPERM: kernel.ftrace_enabled is 0 or kprobes are off;
 * -ENOSPC: the kernel's table of direct calls is full (kernels before 6.4).
 */
int register_djprobes(struct djprobe **probes, int count);
int register_djprobe(struct djprobe *probe);

/*
 * Takes out all probes that were registered together with this one. When it returns no handler of
 * theirs runs, and none can start. May sleep. Where ftrace has shut itself down the functions go on
 * calling this module: then it holds a reference to itself for ever, and called from the module's
 * init or exit function this does not return. The kernel's log tells so.
 */
void unregister_djprobes(struct djprobe *one_of_them);
#define unregister_djprobe(probe) unregister_djprobes(probe)

/* Hits that were not handled because they came from within a handler of the same context (task,
 * softirq, interrupt, NMI) on the same CPU. */
unsigned long djprobe_missed(const struct djprobe *probe);

#endif
