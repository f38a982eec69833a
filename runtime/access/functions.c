// SPDX-License-Identifier: GPL-2.0-or-later
// The functions of the language that read strings from memory; the tapset defines the others.
#include "access/access.h"
#include "include/functions.h"
#include "include/text.h"
#include "state/state.h"

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

DJS_HANDLER_CODE void djs_shown_string(struct djs_ctx *ctx, char *out, s64 address, s64 size,
				       u32 user)
{
	string_or_fail(ctx, out, address, size, user || djs_is_user(address));
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

/* Quotes and escapes `size` bytes of memory, NUL bytes included. What follows the first
 * DJS_WORK_BYTES is left out. */
DJS_HANDLER_CODE void djs_fn___buffer_quoted(struct djs_ctx *ctx, char *out, s64 address, s64 size,
					     s64 most, s64 in_user_space)
{
	u32 bytes = clamp_t(s64, size, 0, DJS_WORK_BYTES);

	*out = 0;
	if (most <= 0 || !djs_read_bytes(ctx->work, address, bytes, in_user_space)) {
		djs_fail_access(ctx, "read a buffer", address, in_user_space, DJS_NO_PLACE);
		return;
	}
	most = clamp_t(s64, most, 0, djs_script.string_bytes - 1);
	djs_text_escape_buffer(out, ctx->work, bytes, most, djs_script.string_bytes);
}

/* One unit of a UTF-16 or UTF-32 string. */
static DJS_HANDLER_CODE bool read_unit(u64 address, u32 bytes, bool user, u32 *unit)
{
	u64 value;

	if (djs_is_user(address) != user || !djs_read_number(address, bytes, &value))
		return false;
	*unit = value;
	return true;
}

/* Returns the bytes of a character in UTF-8; 0: there is no such character. */
static DJS_HANDLER_CODE u32 encode_utf8(char *out, u32 character)
{
	u32 more = character < 0x80 ? 0 : character < 0x800 ? 1 : character < 0x10000 ? 2 : 3, i;

	if (character > 0x10ffff || (character & ~0x7ffU) == 0xd800)
		return 0;
	for (i = more; i > 0; i--, character >>= 6)
		out[i] = 0x80 | (character & 0x3f);
	out[0] = more ? (0xff00U >> (more + 1) & 0xff) | character : character;
	return more + 1;
}

/* The string of units of 2 or 4 bytes, up to its NUL, as UTF-8; as many characters as fit. */
DJS_HANDLER_CODE void djs_fn___string_utf(struct djs_ctx *ctx, char *out, s64 address, s64 bytes,
					  s64 in_user_space)
{
	u32 room = djs_script.string_bytes - 1, length = 0, unit, low, used;
	char encoded[4];

	for (;; address += bytes) {
		if (!read_unit(address, bytes, in_user_space, &unit)) {
			djs_fail_access(ctx, "read a string", address, in_user_space, DJS_NO_PLACE);
			break;
		}
		if (!unit)
			break;
		if (bytes == 2 && (unit & ~0x3ffU) == 0xd800 &&
		    read_unit(address + 2, 2, in_user_space, &low) && (low & ~0x3ffU) == 0xdc00) {
			unit = 0x10000 + ((unit & 0x3ff) << 10 | (low & 0x3ff));
			address += 2;
		}
		used = encode_utf8(encoded, unit);
		if (!used) {
			djs_fail_text(ctx, DJS_NO_PLACE, "there is no character 0x%x in UTF-%u",
				      unit, (u32)bytes * 8);
			break;
		}
		if (used > room - length)
			break;
		memcpy(out + length, encoded, used);
		length += used;
	}
	out[ctx->error ? 0 : length] = 0;
}

static DJS_HANDLER_CODE void write_or_fail(struct djs_ctx *ctx, s64 address, u32 bytes, u64 value,
					   bool user)
{
	if (djs_is_user(address) != user || !djs_write_number(address, bytes, value))
		djs_fail_number(ctx, "write", address, bytes, user, DJS_NO_PLACE);
}

/* Writes at most `most` bytes of a text and, if there is room, its NUL. */
static DJS_HANDLER_CODE void write_text(struct djs_ctx *ctx, s64 address, s64 most,
					const char *text, bool user)
{
	for (; most > 0 && !ctx->error; most--, address++, text++) {
		write_or_fail(ctx, address, 1, *text, user);
		if (!*text)
			break;
	}
}

/* clang-format off */
#define WRITES_NUMBER(name, type, in_user_space) \
	DJS_HANDLER_CODE void djs_fn_##name(struct djs_ctx *ctx, s64 address, s64 value) \
	{ \
		write_or_fail(ctx, address, sizeof(type), value, in_user_space); \
	}
#define WRITES_TEXT(name, in_user_space) \
	DJS_HANDLER_CODE void djs_fn_##name(struct djs_ctx *ctx, s64 address, const char *text) \
	{ \
		write_text(ctx, address, S64_MAX, text, in_user_space); \
	} \
	DJS_HANDLER_CODE void djs_fn_##name##_n(struct djs_ctx *ctx, s64 address, s64 n, const char *text) \
	{ \
		write_text(ctx, address, n, text, in_user_space); \
	}
WRITES_NUMBER(set_kernel_char, u8, false)
WRITES_NUMBER(set_kernel_short, u16, false)
WRITES_NUMBER(set_kernel_int, u32, false)
WRITES_NUMBER(set_kernel_long, u64, false)
WRITES_NUMBER(set_kernel_pointer, u64, false)
WRITES_TEXT(set_kernel_string, false)
WRITES_NUMBER(set_user_char, u8, true)
WRITES_NUMBER(set_user_short, u16, true)
WRITES_NUMBER(set_user_int, u32, true)
WRITES_NUMBER(set_user_long, u64, true)
WRITES_NUMBER(set_user_pointer, u64, true)
WRITES_TEXT(set_user_string, true)
/* clang-format on */
