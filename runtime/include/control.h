/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The interface between a loaded module and its reader: /proc/djstap-NAME.
 *
 * read() yields the module's description (JSON: formats, probes, limits; the section .djstap.meta).
 * mmap() yields the control page at offset 0, and the ring of a CPU at DJS_MMAP_RING(cpu, info):
 * one page whose first u64 is the tail (written by the reader), then the data, `ring_bytes` long. A
 * reader maps the data twice in a row so that no record is ever split. The table of symbols
 * (symbols.h), which readers only read, is at DJS_MMAP_SYMBOLS(cpus, ring_bytes). One reader at a
 * time may open the file for writing (the owner). When the owner closes it without DJS_IOC_STOP,
 * the module detaches its probes on its own, unless it is a flight recorder. Opening it for writing
 * requires CAP_SYS_ADMIN in the initial user namespace, for reading CAP_PERFMON. The module is in
 * use while the file is open. */
#ifndef DJSTAP_CONTROL_H
#define DJSTAP_CONTROL_H

#include "include/platform.h"
#include "include/record.h"
#ifndef __KERNEL__
#include <sys/ioctl.h>
#else
#include <linux/ioctl.h>
#endif

#define DJS_ABI_VERSION 20u

enum djs_state {
	DJS_STATE_LOADED = 0, /* nothing has run yet */
	DJS_STATE_STARTING,   /* begin probes are running */
	DJS_STATE_RUNNING,    /* probes are armed */
	DJS_STATE_STOPPING,   /* probes are being detached, end probes run */
	DJS_STATE_STOPPED,    /* all records are written; the module can be removed */
};

/* The control page, read-only to the reader. */
struct djs_control_page {
	u32 abi_version;
	u32 state;		/* enum djs_state */
	u32 exit_requested;	/* exit() or an error: the reader should stop the session */
	u32 error;		/* MAXERRORS was exceeded, or probes could not be attached */
	u32 cpus;		/* rings 0 … cpus-1 (possible CPUs) */
	u32 errors;		/* run-time errors so far */
	u64 ring_bytes;		/* a power of two */
	u32 overwrite;		/* a flight recorder: include/recorder.h */
	u32 symbol_pages;	/* of the table of symbols; 0: the script needs none */
	struct djs_clock clock; /* when the module was loaded */
};

#define DJS_PAGE			   4096u
#define DJS_MMAP_RING(cpu, ring_bytes)	   (DJS_PAGE + (u64)(cpu) * (DJS_PAGE + (ring_bytes)))
#define DJS_MMAP_SYMBOLS(cpus, ring_bytes) DJS_MMAP_RING(cpus, ring_bytes)

/* The argument of DJS_IOC_START. */
struct djs_start {
	s32 traced_pid; /* target(), from -c or -x; 0: none */
	u32 flags;	/* DJS_START_EXECUTES */
};
#define DJS_START_EXECUTES 1u /* the process has not executed its program yet */

/* Counts of hits that were not handled and records that were not kept. */
struct djs_counts {
	u64 lost_records; /* no room in a ring */
	/* records longer than a ring, or than a part of a flight recorder's ring */
	u64 oversized;
	u64 overwritten;       /* flight recorder: records that newer ones replaced */
	u64 skipped_busy;      /* a handler of the same level was active on that CPU */
	u64 skipped_locked;    /* a global's lock could not be taken in MAXTRYLOCK tries */
	u64 skipped_stack;     /* too little of the kernel's stack was left (MINSTACKSPACE) */
	u64 skipped_kretprobe; /* no free kretprobe instance (nmissed) */
	u64 skipped_kprobe;    /* nmissed of kprobes, of kretprobes too: hit inside another */
	u64 not_followed;      /* threads to which an event of their program was not attached */
	u64 deep_hits;	     /* in processes that may descend from that of -c or -x, too far away */
	u64 short_stacks;    /* stacks of programs that end before their outermost caller */
	u64 unread_programs; /* files of programs whose unwind information is not known */
	u64 errors;
	u64 failed_sites; /* probes that could not be attached */
	/* calls of functions with a return djprobe, and of readers and writers of procfs files,
	 * that have not returned yet: until they have, the module stays loaded, although it is
	 * detached */
	u64 inside;
	u64 pinned; /* 1: probes could not be detached, and the module stays loaded for ever */
	/* What is new stands at the end: recordings have counts by their places. */
	u64 missed_calls; /* returns whose values of the entry had to make room for others */
};

/* The state of one site, for -v and JSON: DJS_IOC_SITE fills it in for the given index. */
struct djs_site_state {
	u32 index;     /* in */
	u32 mechanism; /* out: enum djs_mechanism in use now */
	s32 error;     /* out: errno of a failed attach */
	u32 fallback;  /* out: why the planned mechanism is not used: enum djs_fallback */
	u64 missed;    /* out */
};

/* The argument of DJS_IOC_SWITCH. */
struct djs_switch {
	u32 probe; /* index of a probe that has a switch: --monitor */
	u32 on;
};

#define DJS_IOC_START  _IOW('j', 1, struct djs_start)
#define DJS_IOC_STOP   _IO('j', 2) /* returns when all is detached and the end probes have run */
#define DJS_IOC_COUNTS _IOR('j', 3, struct djs_counts)
#define DJS_IOC_SITE   _IOWR('j', 4, struct djs_site_state)
/* Looks up the symbols of all addresses that records mention. */
#define DJS_IOC_SYMBOLS _IO('j', 5)
/* Switches a probe off or on: its handlers return at once from here on, except those that are
 * running, and sites that no other probe needs are disarmed when it returns. */
#define DJS_IOC_SWITCH _IOW('j', 6, struct djs_switch)

#endif
