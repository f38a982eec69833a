/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Declarations for a script's embedded C code, which follows this header. Each function has the
 * handler's context as djs_context, and defines STAP_RETVALUE and STAP_RETURN itself. What
 * SystemTap's runtime gives besides is in include/embedded_context.h. */
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
/* Begins each function: what the code leaves in CONTEXT takes effect however it returns. */
#define DJS_EMBEDDED_CALL                                                                          \
	struct djs_ctx *djs_called __attribute__((__cleanup__(djs_embedded_end), __unused__)) =    \
	    djs_context
/*
 * The body of a function, which is inlined into one that returns its value, so that it may use a
 * plain `return;`.
 */
#define DJS_EMBEDDED_BODY static __always_inline

/* The version of SystemTap whose language the script is written in, STAP_COMPAT_VERSION, which
 * djstap defines, is compared with these. */
#define STAP_VERSION(major, minor) (((major) << 8) + (minor))

/* Ends the function, and the handler unless the error is caught. */
#define STAP_ERROR(...)                                                                            \
	do {                                                                                       \
		djs_embedded_error(djs_context, __VA_ARGS__);                                      \
		goto djs_done;                                                                     \
	} while (0)
/* Passes the call on to the function's next overload. */
#define STAP_NEXT                                                                                  \
	do {                                                                                       \
		djs_context->next_overload = 1;                                                    \
		goto djs_done;                                                                     \
	} while (0)
#define STAP_PRINTF(...) djs_embedded_print(djs_context, __VA_ARGS__)

/* What follows an access that fails: an error, or the function's own code behind the label
 * deref_fault, if it has that. */
#define DJS_EMBEDDED_FAILED(verb, p, size)                                                         \
	djs_embedded_fail_access(djs_context, (verb), (u64)(unsigned long)(p), (size))
#define DJS_EMBEDDED_FAULT DJS_EMBEDDED_FAILED
/* Reads memory that may be unmapped: *(p), or 0 if it is. */
#define djs_embedded_load(space, p, size)                                                          \
	({                                                                                         \
		u64 djs_loaded = 0;                                                                \
		if (!djs_embedded_read_number((space), (u64)(unsigned long)(p), (size),            \
					      &djs_loaded))                                        \
			DJS_EMBEDDED_FAULT("read", (p), (size));                                   \
		djs_loaded;                                                                        \
	})
#define djs_embedded_store(space, p, size, value)                                                  \
	do {                                                                                       \
		if (!djs_embedded_write_number((space), (u64)(unsigned long)(p), (size), (value))) \
			DJS_EMBEDDED_FAULT("write", (p), (size));                                  \
	} while (0)
#define djs_embedded_store_text(space, text, p, bytes)                                             \
	do {                                                                                       \
		if (!djs_embedded_write_text((space), (text), (u64)(unsigned long)(p), (bytes)))   \
			DJS_EMBEDDED_FAULT("write", (p), 1);                                       \
	} while (0)
#define kread(p)	((typeof(*(p)))djs_embedded_load(DJS_EMBEDDED_ANYWHERE, (p), sizeof(*(p))))
#define kderef(size, p) ((int64_t)djs_embedded_load(DJS_EMBEDDED_ANYWHERE, (p), (size)))
#define uread(p)	((typeof(*(p)))djs_embedded_load(DJS_EMBEDDED_USER, (p), sizeof(*(p))))
#define uderef(size, p) ((int64_t)djs_embedded_load(DJS_EMBEDDED_USER, (p), (size)))
#define kwrite(p, value)                                                                           \
	djs_embedded_store(DJS_EMBEDDED_KERNEL, (p), sizeof(*(p)), (u64)(unsigned long)(value))
#define uwrite(p, value)                                                                           \
	djs_embedded_store(DJS_EMBEDDED_USER, (p), sizeof(*(p)), (u64)(unsigned long)(value))
/* Writes a string, cut to `bytes` including its NUL. */
#define store_kderef_string(text, p, bytes)                                                        \
	djs_embedded_store_text(DJS_EMBEDDED_KERNEL, (text), (p), (bytes))
#define store_uderef_string(text, p, bytes)                                                        \
	djs_embedded_store_text(DJS_EMBEDDED_USER, (text), (p), (bytes))
/* Reads a string of the kernel, cut to `bytes` including its NUL. */
#define kderef_string(to, p, bytes)                                                                \
	do {                                                                                       \
		if (!djs_embedded_read_text((to), (u64)(unsigned long)(p), (bytes)))               \
			DJS_EMBEDDED_FAULT("read", (p), 1);                                        \
	} while (0)
/* Copies memory that may be unmapped, or only reads it if there is no place for it. Ends the
 * function with an error if it cannot be read, so that what follows may access it. */
#define kderef_buffer(to, from, size)                                                              \
	({                                                                                         \
		char *djs_to = (char *)(to);                                                       \
		u64 djs_failed = djs_embedded_read(djs_to, (u64)(unsigned long)(from), (size));    \
		if (djs_failed) {                                                                  \
			DJS_EMBEDDED_FAULT("read",                                                 \
					   (u64)(unsigned long)(from) + (size) - djs_failed,       \
					   djs_failed < sizeof(u64) ? 1 : sizeof(u64));            \
			goto djs_done;                                                             \
		}                                                                                  \
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

/* Whose memory C code means. */
enum djs_embedded_space {
	DJS_EMBEDDED_ANYWHERE,
	DJS_EMBEDDED_KERNEL,
	DJS_EMBEDDED_USER,
};
bool djs_embedded_read_number(enum djs_embedded_space space, u64 address, u32 size, u64 *value);
bool djs_embedded_write_number(enum djs_embedded_space space, u64 address, u32 size, u64 value);
bool djs_embedded_write_text(enum djs_embedded_space space, const char *text, u64 address,
			     size_t bytes);
/* Fills `to`; it is empty if the string cannot be read. */
bool djs_embedded_read_text(char *to, u64 address, size_t bytes);
void djs_embedded_fail_access(struct djs_ctx *ctx, const char *verb, u64 address, u32 size);
/* Copies memory, or only reads it; returns how many bytes are left at the first failure. */
size_t djs_embedded_read(char *to, u64 address, size_t size);
__printf(2, 3) void djs_embedded_error(struct djs_ctx *ctx, const char *format, ...);
__printf(2, 3) void djs_embedded_print(struct djs_ctx *ctx, const char *format, ...);

#include "include/embedded_context.h"

#endif
