/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checked reads and writes of memory. */
#ifndef DJSTAP_ACCESS_H
#define DJSTAP_ACCESS_H

#include "state/state.h"

/* Target variables do not say whose memory they point to; the address does. */
static __always_inline bool djs_is_user(u64 address)
{
	return (s64)address >= 0;
}

/* Returns whether it is a canonical address of the kernel's half. */
bool djs_is_kernel(u64 address);

void djs_access_init(void);
void djs_process_memory_init(void);
/* Reads one word of 1, 2, 4 or 8 bytes. False on a fault. Never sleeps. */
bool djs_read_number(u64 address, u32 size, u64 *value);
bool djs_write_number(u64 address, u32 size, u64 value);
/* Sets ctx->error: "cannot read a string of kernel memory at 0x…", or "… at NULL + 0x10". `user`:
 * the script means user memory. djs_fail_number reports an access of `size` bytes. */
void djs_fail_access(struct djs_ctx *ctx, const char *what, u64 address, bool user, u32 place);
void djs_fail_number(struct djs_ctx *ctx, const char *verb, u64 address, u32 size, bool user,
		     u32 place);
/* djs_load (script.h) without a call, for sources that may be compiled apart from its own. */
static __always_inline u64 djs_load_here(struct djs_ctx *ctx, u64 address, u32 size, u32 place)
{
	u64 value;

	if (unlikely(!djs_read_number(address, size, &value))) {
		djs_fail_number(ctx, "read", address, size, djs_is_user(address), place);
		return 0;
	}
	return value;
}

/* The messages of both. */
#define DJS_ACCESS_MESSAGE 128 /* bytes that are enough for `out` */
void djs_describe_access(char *out, const char *what, u64 address, bool user);
void djs_describe_number(char *out, const char *verb, u64 address, u32 size, bool user);
/* Copies a string of at most `size` bytes, including the NUL it always writes. Returns its
 * length, or -EFAULT when its first byte cannot be read. A fault further on ends the string.
 * Never sleeps. */
long djs_read_kernel_string(char *out, u64 address, size_t size);
long djs_read_user_string(char *out, u64 address, size_t size);
/* Copies `size` bytes, at most DJS_WORK_BYTES; false, after a part of them, on a fault. Never
 * sleeps. */
bool djs_read_bytes(char *out, u64 address, size_t size, bool user);
/* Sets ctx->error to a message formatted at run time. */
void djs_fail_text(struct djs_ctx *ctx, u32 place, const char *format, ...) __printf(3, 4);
void djs_vfail_text(struct djs_ctx *ctx, u32 place, const char *format, va_list arguments)
    __printf(3, 0);

#endif
