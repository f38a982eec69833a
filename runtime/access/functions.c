// SPDX-License-Identifier: GPL-2.0-or-later
// The language's functions that read memory: kernel_*() and user_*().
#include "control/runtime.h"
#include "context/functions.h"

static DJS_HANDLER_CODE void string_or_fail(struct djs_ctx *ctx, char *out, s64 address, s64 size,
					    bool user)
{
	long length;

	size = clamp_t(s64, size, 0, djs_script.string_bytes - 1) + 1;
	length = user ? djs_read_user_string(out, address, size)
		      : djs_read_kernel_string(out, address, size);
	if (length >= 0)
		return;
	*out = 0;
	djs_fail_access(ctx, "read a string", address, user, DJS_NO_PLACE);
}

DJS_HANDLER_CODE void djs_fn_kernel_string(struct djs_ctx *ctx, char *out, s64 address)
{
	string_or_fail(ctx, out, address, S32_MAX, false);
}

DJS_HANDLER_CODE void djs_fn_kernel_string_n(struct djs_ctx *ctx, char *out, s64 address, s64 size)
{
	string_or_fail(ctx, out, address, size, false);
}

DJS_HANDLER_CODE void djs_fn_user_string(struct djs_ctx *ctx, char *out, s64 address)
{
	string_or_fail(ctx, out, address, S32_MAX, true);
}

DJS_HANDLER_CODE void djs_fn_user_string_n(struct djs_ctx *ctx, char *out, s64 address, s64 size)
{
	string_or_fail(ctx, out, address, size, true);
}

/* With a text that stands in for what cannot be read. */
DJS_HANDLER_CODE void djs_fn_kernel_string2(struct djs_ctx *ctx, char *out, s64 address,
					    const char *instead)
{
	if (djs_read_kernel_string(out, address, djs_script.string_bytes) < 0)
		strscpy(out, instead, djs_script.string_bytes);
}

DJS_HANDLER_CODE void djs_fn_user_string2(struct djs_ctx *ctx, char *out, s64 address,
					  const char *instead)
{
	if (djs_read_user_string(out, address, djs_script.string_bytes) < 0)
		strscpy(out, instead, djs_script.string_bytes);
}

static DJS_HANDLER_CODE u64 word_or_fail(struct djs_ctx *ctx, s64 address, u32 size, bool user)
{
	u64 value;

	if (likely(user == (address >= 0) && djs_read_word(address, size, &value)))
		return value;
	djs_fail_word(ctx, "read", address, size, user, DJS_NO_PLACE);
	return 0;
}

#define READER(name, type, user)                                                                   \
	DJS_HANDLER_CODE s64 djs_fn_##name(struct djs_ctx *ctx, s64 address)                       \
	{                                                                                          \
		return (type)word_or_fail(ctx, address, sizeof(type), user);                       \
	}

READER(kernel_char, s8, false)
READER(kernel_short, s16, false)
READER(kernel_int, s32, false)
READER(kernel_long, s64, false)
READER(kernel_pointer, s64, false)
READER(user_char, s8, true)
READER(user_short, s16, true)
READER(user_int, s32, true)
READER(user_long, s64, true)
READER(user_int8, s8, true)
READER(user_uint8, u8, true)
READER(user_int16, s16, true)
READER(user_uint16, u16, true)
READER(user_int32, s32, true)
READER(user_uint32, u32, true)
READER(user_int64, s64, true)
READER(user_uint64, u64, true)
READER(user_ushort, u16, true)
READER(user_uint, u32, true)
READER(user_ulong, u64, true)
READER(user_uchar, u8, true)
