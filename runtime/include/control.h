/* SPDX-License-Identifier: GPL-2.0-or-later
 * Between a loaded module and its reader: /proc/djstap-NAME.
 *
 * read() yields the module's description (JSON: formats, probes, limits; the section .djstap.meta).
 * mmap() at offset 0 yields the control page; at DJS_MMAP_RING(cpu, info) the ring of a CPU: one
 * page whose first u64 is the tail (written by the reader), then the data, `ring_bytes` long. A
 * reader maps the data twice in a row so that no record is ever split. One reader at a time may
 * open it for writing (the owner); when the owner closes it without DJS_IOC_STOP, the module
 * detaches its probes by itself, unless it is a flight recorder. To open it for writing takes
 * CAP_SYS_ADMIN in the initial user namespace, for reading CAP_PERFMON is enough. The module is in
 * use while it is open.
 */
#ifndef DJSTAP_CONTROL_H
#define DJSTAP_CONTROL_H

#include "include/platform.h"
#include "include/record.h"
#ifndef __KERNEL__
#include <sys/ioctl.h>
#else
#include <linux/ioctl.h>
#endif

#define DJS_ABI_VERSION 8u

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
	u32 state;	    /* enum djs_state */
	u32 exit_requested; /* exit() or an error: the reader should stop the session */
	u32 error;	    /* more errors than MAXERRORS, or probes could not be attached */
	u32 cpus;	    /* rings 0 … cpus-1 (possible CPUs) */
	u32 errors;	    /* run-time errors so far */
	u64 ring_bytes;	    /* a power of two */
	u32 overwrite;	    /* a flight recorder: include/recorder.h */
	u32 pad;
	struct djs_clock clock; /* when the module was loaded */
};

#define DJS_PAGE		       4096u
#define DJS_MMAP_RING(cpu, ring_bytes) (DJS_PAGE + (u64)(cpu) * (DJS_PAGE + (ring_bytes)))

/* What DJS_IOC_START takes. */
struct djs_start {
	s32 target_pid; /* target(): of -c or -x; 0: none */
	u32 flags;
};

/* Hits that were not handled and records that were not kept, each counted. */
struct djs_counts {
	u64 lost_records;      /* no room in a ring */
	u64 oversized;	       /* records longer than a ring, or a part of a flight recorder's */
	u64 overwritten;       /* flight recorder: records that gave way to newer ones */
	u64 skipped_busy;      /* a handler of the same level was active on that CPU */
	u64 skipped_locked;    /* a global's lock was not to be had in MAXTRYLOCK tries */
	u64 skipped_stack;     /* too little was left of the kernel's stack (MINSTACKSPACE) */
	u64 skipped_kretprobe; /* no free kretprobe instance (nmissed) */
	u64 skipped_kprobe;    /* kprobe nmissed: hit inside another kprobe */
	u64 errors;
	u64 failed_sites; /* probes that could not be attached */
	u64 inside; /* calls of functions with a return djprobe, and of procfs files' readers and
		       writers, that have not returned: until they have, the module stays, even
		       though it is detached */
	u64 pinned; /* 1: probes could not be taken out, and the module stays for ever */
};

/* One site's state, for -v and JSON: DJS_IOC_SITE fills it for the index given. */
struct djs_site_state {
	u32 index;     /* in */
	u32 mechanism; /* out: enum djs_mechanism in use now */
	s32 error;     /* out: errno of the attach where it failed */
	u32 fallback;  /* out: why it is not the planned one: enum djs_fallback */
	u64 missed;    /* out */
};

#define DJS_IOC_START  _IOW('j', 1, struct djs_start)
#define DJS_IOC_STOP   _IO('j', 2) /* returns when all is detached and the end probes have run */
#define DJS_IOC_COUNTS _IOR('j', 3, struct djs_counts)
#define DJS_IOC_SITE   _IOWR('j', 4, struct djs_site_state)

#endif
