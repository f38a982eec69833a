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

/* What djs_handler.arguments mean to a mechanism. */
#define DJS_ARGUMENT_COUNT 4
enum djs_argument {
	/* begin, end and error: the order of running, signed, lowest first; ties as in the table */
	DJS_SESSION_PRIORITY = 0,
	/* A timer's period, plus or minus so much. */
	DJS_TIMER_PERIOD_NS = 0,
	DJS_TIMER_RANDOM_NS,
	/* A perf event fires after so many units, or so many times a second. */
	DJS_PERF_TYPE = 0,
	DJS_PERF_CONFIG,
	DJS_PERF_HOW, /* enum djs_perf_how, or DJS_PERF_COUNTER + a number */
	DJS_PERF_RATE,
	/* A file's name is its site's function. */
	DJS_PROCFS_WRITES = 0,
	DJS_PROCFS_UMASK,
	DJS_PROCFS_BYTES, /* of its text; 0: as any string */
	DJS_NETFILTER_FAMILY = 0,
	DJS_NETFILTER_HOOK,
	DJS_NETFILTER_PRIORITY, /* signed */
};

/* Of djs_image. */
enum djs_image_kind {
	DJS_IMAGE_KERNEL,
	DJS_IMAGE_MODULE, /* comes and goes */
};

typedef void djs_body_function(struct djs_ctx *ctx);
typedef int djs_regs_function(void *unused, struct pt_regs *regs);
/* Code that C does not call as a function of this type. */
typedef void djs_code(void);

#define DJS_STRUCT(name)	     struct name {
#define DJS_FIELD(type, name)	     type name;
#define DJS_ARRAY(type, name, count) type name[count];
#define DJS_STRUCT_END(name)                                                                       \
	}                                                                                          \
	;
#include "include/contract.def"

#endif
