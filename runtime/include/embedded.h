/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Declarations for a script's embedded C code, which follows this header. CONTEXT is the handler's
 * context; each function defines STAP_RETVALUE and STAP_RETURN itself. */
#ifndef DJSTAP_EMBEDDED_H
#define DJSTAP_EMBEDDED_H

#include <linux/ctype.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/version.h>

#include "include/script.h"

/* Code that handlers call: no probe may be placed in it. */
#define DJS_EMBEDDED __attribute__((__section__(".kprobes.text"), __noinline__, __used__))
/*
 * The body of a function, which is inlined into one that returns its value, so that it may use a
 * plain `return;`.
 */
#define DJS_EMBEDDED_BODY static __always_inline

#define CONTEXT djs_context

/* The version of SystemTap whose language the script is written in, STAP_COMPAT_VERSION, which
 * djstap defines, is compared with these. */
#define STAP_VERSION(major, minor) (((major) << 8) + (minor))

/* Ends the function, and the handler unless the error is caught. */
#define STAP_ERROR(...)                                                                            \
	do {                                                                                       \
		djs_embedded_error(CONTEXT, __VA_ARGS__);                                          \
		goto djs_done;                                                                     \
	} while (0)
/* Passes the call on to the function's next overload. */
#define STAP_NEXT                                                                                  \
	do {                                                                                       \
		CONTEXT->next_overload = 1;                                                        \
		goto djs_done;                                                                     \
	} while (0)
#define STAP_PRINTF(...) djs_embedded_print(CONTEXT, __VA_ARGS__)

/* Reads memory that may be unmapped: *(p), or 0 with an error. */
#define kread(p)                                                                                   \
	((typeof(*(p)))djs_load(CONTEXT, (u64)(unsigned long)(p), sizeof(*(p)), djs_embedded_place))
#define kderef(size, p)                                                                            \
	((int64_t)djs_load(CONTEXT, (u64)(unsigned long)(p), (size), djs_embedded_place))
#define djs_embedded_place ((u32) - 1)
/* Copies memory that may be unmapped, or only reads it if there is no place for it. Ends the
 * function with an error if it cannot be read, so that what follows may access it. */
#define kderef_buffer(to, from, size)                                                              \
	({                                                                                         \
		char *djs_to = (char *)(to);                                                       \
		if (!djs_embedded_read(CONTEXT, djs_to, (u64)(unsigned long)(from), (size)))       \
			goto djs_done;                                                             \
		djs_to;                                                                            \
	})
/* A read that fails has set the error. */
#define CATCH_DEREF_FAULT()                                                                        \
	do {                                                                                       \
	} while (0)

/* Newer kernels have no strlcpy(), but C code written for SystemTap uses it widely. */
static inline size_t djs_strlcpy(char *out, const char *text, size_t size)
{
	size_t length = strlen(text);

	if (size)
		strscpy(out, text, size);
	return length;
}
#define strlcpy djs_strlcpy

bool djs_embedded_read(struct djs_ctx *ctx, char *to, u64 address, size_t size);
__printf(2, 3) void djs_embedded_error(struct djs_ctx *ctx, const char *format, ...);
__printf(2, 3) void djs_embedded_print(struct djs_ctx *ctx, const char *format, ...);

#endif
