/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * djprobes for hand-written modules: the entry of a function calls a handler directly, with the
 * general registers. This needs neither a script nor djstap's runtime. runtime/capi/Kbuild.include
 * shows how a module is built with it; examples/c-module is an example.
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
	const char *symbol; /* The function's name; NULL: `address` gives its address. */
	/* The address of the function or of its fentry site; filled in when `symbol` is given. */
	unsigned long address;
	/*
	 * Runs in the context of the function's caller, with interrupts unchanged and preemption
	 * disabled. It must not sleep. In regs, ip is the function's fentry site and sp the stack
	 * pointer at function entry. Changes to the general registers take effect in the function.
	 */
	void (*handler)(struct djprobe *probe, struct pt_regs *regs);
	void *data; /* not used by djstap */
	/* Hits inside a handler of the same context; see djprobe_missed(). */
	unsigned long __percpu *missed;

	struct djprobe_set *set; /* private: the probes that were registered together */
};

/*
 * Attaches the probes, all or none. May sleep. Errors: -ENOENT: no such function; -EINVAL or
 * -ENODEV: it has no fentry site; -EBUSY: it already has another direct call (a script's djprobe, a
 * BPF trampoline), or one of the probes is already registered; -EPERM: kernel.ftrace_enabled is 0
 * or kprobes are disabled; -ENOSPC: the kernel's table of direct calls is full (kernels before
 * 6.4).
 */
int register_djprobes(struct djprobe **probes, int count);
int register_djprobe(struct djprobe *probe);

/*
 * Detaches all probes that were registered together with this one. When it returns, none of their
 * handlers is running or can start. May sleep. If ftrace has shut itself down, the functions keep
 * calling this module: the module then holds a reference to itself for ever, and a call from the
 * module's init or exit function does not return. The kernel log reports this.
 */
void unregister_djprobes(struct djprobe *one_of_them);
#define unregister_djprobe(probe) unregister_djprobes(probe)

/* Returns the number of hits that were not handled because they occurred inside a handler of the
 * same context (task, softirq, interrupt, NMI) on the same CPU. */
unsigned long djprobe_missed(const struct djprobe *probe);

#endif
