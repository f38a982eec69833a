/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The structures of contract.def in C. */
#ifndef DJSTAP_CONTRACT_H
#define DJSTAP_CONTRACT_H

#include "include/platform.h"

struct pt_regs;
struct djs_ctx;
struct djs_map;
struct djs_iterator;

#define DJS_MAX_KEYS 9

/* Indexes of djs_handler.arguments, for each mechanism. */
#define DJS_ARGUMENT_COUNT 4
enum djs_argument {
	/*
	 * begin, end and error: the order in which they run: signed, lowest first; ties run in
	 * table order
	 */
	DJS_SESSION_PRIORITY = 0,
	/* A timer's period, plus or minus a random amount up to RANDOM. */
	DJS_TIMER_PERIOD_NS = 0,
	DJS_TIMER_RANDOM_NS,
	/* A perf event fires after a number of units, or a number of times per second. */
	DJS_PERF_TYPE = 0,
	DJS_PERF_CONFIG,
	DJS_PERF_HOW, /* enum djs_perf_how, or DJS_PERF_COUNTER + a number; | DJS_PERF_OF_… */
	DJS_PERF_RATE,
	/* The watched bytes: address, number, and enum djs_breakpoint_how. */
	DJS_BREAKPOINT_ADDRESS = 0,
	DJS_BREAKPOINT_BYTES,
	DJS_BREAKPOINT_HOW,
	/* The site's function holds the file's name. */
	DJS_PROCFS_WRITES = 0,
	DJS_PROCFS_UMASK,
	DJS_PROCFS_BYTES, /* size of the file's content; 0: that of any string */
	DJS_NETFILTER_FAMILY = 0,
	DJS_NETFILTER_HOOK,
	DJS_NETFILTER_PRIORITY, /* signed */
	/* djs_hash_bytes() of the marker's format. The site's function holds its name. */
	DJS_MARKER_FORMAT = 0,
	/* Only hits in this process count (its number in the initial namespace); 0: in all. */
	DJS_UPROBE_PROCESS = 0,
	/* Offset in the file of the semaphore that tells the program that a mark is probed; 0:
	   none. */
	DJS_UPROBE_SEMAPHORE,
	/* Likewise, and enum djs_process_moment. */
	DJS_PROCESS_ID = 0,
	DJS_PROCESS_MOMENT,
};

enum djs_process_moment {
	DJS_PROCESS_BEGIN,
	DJS_PROCESS_END,
	DJS_PROCESS_THREAD_BEGIN,
	DJS_PROCESS_THREAD_END,
	/* From here on, system calls. */
	DJS_PROCESS_SYSCALL,
	DJS_PROCESS_SYSCALL_RETURN,
};

/* Values of djs_image.kind. */
enum djs_image_kind {
	DJS_IMAGE_KERNEL,
	DJS_IMAGE_MODULE, /* may be loaded and unloaded */
	/* A file that processes map, each at an address of its own. Its name is the path. */
	DJS_IMAGE_PROGRAM,
};

/* Values of djs_site.fentry: whether the file has an fentry site at an address. */
enum djs_fentry {
	DJS_FENTRY_UNKNOWN,
	DJS_FENTRY_NO,
	DJS_FENTRY_YES,
	DJS_FENTRY_PAD, /* a landing pad, and the site behind it */
};

typedef void djs_body_function(struct djs_ctx *ctx);
typedef int djs_regs_function(void *unused, struct pt_regs *regs);
/* A code address that C does not call through this type. */
typedef void djs_code(void);

#define DJS_STRUCT(name)	     struct name {
#define DJS_FIELD(type, name)	     type name;
#define DJS_ARRAY(type, name, count) type name[count];
#define DJS_STRUCT_END(name)                                                                       \
	}                                                                                          \
	;
#include "include/contract.def"

#endif
