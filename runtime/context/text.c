// SPDX-License-Identifier: GPL-2.0-or-later
// String functions of the language; the portable work is done in text/.
#include "context/functions.h"
#include "control/runtime.h"
#include "include/text.h"

DJS_HANDLER_CODE s64 djs_fn_strlen(struct djs_ctx *ctx, const char *text)
{
	return djs_text_length(text);
}

DJS_HANDLER_CODE s64 djs_fn_strtol(struct djs_ctx *ctx, const char *text, s64 base)
{
	return djs_text_to_long(text, base);
}

DJS_HANDLER_CODE s64 djs_fn_isinstr(struct djs_ctx *ctx, const char *text, const char *part)
{
	return djs_text_find(text, part);
}

/* The byte at `index`. */
DJS_HANDLER_CODE s64 djs_fn_stringat(struct djs_ctx *ctx, const char *text, s64 index)
{
	if (index >= 0 && index < (s64)djs_text_length(text))
		return (u8)text[index];
	djs_fail_text(ctx, DJS_NO_PLACE, "position %lld is outside of a string of %zu bytes", index,
		      djs_text_length(text));
	return 0;
}

DJS_HANDLER_CODE void djs_fn_substr(struct djs_ctx *ctx, char *out, const char *text, s64 start,
				    s64 length)
{
	djs_text_substr(out, djs_script.string_bytes, text, start, length);
}

static __always_inline bool is_one_of(char character, const char *set)
{
	for (; *set; set++)
		if (*set == character)
			return true;
	return false;
}

/* The next word of the text that is kept behind the work area; "" when there is none left. */
DJS_HANDLER_CODE void djs_fn___tokenize_next(struct djs_ctx *ctx, char *out, const char *delimiters)
{
	const char *kept = ctx->work + DJS_WORK_BYTES;
	u32 at = ctx->token_at, length = 0;

	if (ctx->token_handler != ctx->handler) { /* another handler's text */
		*out = 0;
		return;
	}
	while (kept[at] && is_one_of(kept[at], delimiters))
		at++;
	while (kept[at] && !is_one_of(kept[at], delimiters))
		out[length++] = kept[at++];
	out[length] = 0;
	ctx->token_at = at;
}

DJS_HANDLER_CODE void djs_fn___tokenize_first(struct djs_ctx *ctx, char *out, const char *text,
					      const char *delimiters)
{
	djs_text_copy(ctx->work + DJS_WORK_BYTES, text, djs_script.string_bytes);
	ctx->token_at = 0;
	ctx->token_handler = ctx->handler;
	djs_fn___tokenize_next(ctx, out, delimiters);
}

/* `text` with each `old` replaced by `new`, cut where it becomes too long. */
DJS_HANDLER_CODE void djs_fn_str_replace(struct djs_ctx *ctx, char *out, const char *text,
					 const char *old, const char *new)
{
	size_t old_length = djs_text_length(old), new_length = djs_text_length(new);
	size_t done = 0, room = djs_script.string_bytes - 1, i;

	while (*text && done < room) {
		if (old_length && !strncmp(text, old, old_length)) {
			for (i = 0; i < new_length && done < room; i++)
				out[done++] = new[i];
			text += old_length;
		} else {
			out[done++] = *text++;
		}
	}
	out[done] = 0;
}

/* One byte as C writes it inside quotes: 1, 2 or 4 characters in `to`. */
static __always_inline u32 escape(char *to, u8 byte)
{
	static const char codes[] = "\aa\bb\tt\nn\vv\ff\rr\"\"\\\\";
	u32 i;

	for (i = 0; codes[i]; i += 2)
		if ((u8)codes[i] == byte) {
			to[0] = '\\';
			to[1] = codes[i + 1];
			return 2;
		}
	if (byte >= 0x20 && byte < 0x7f) {
		to[0] = byte;
		return 1;
	}
	to[0] = '\\';
	to[1] = '0' + (byte >> 6);
	to[2] = '0' + (byte >> 3 & 7);
	to[3] = '0' + (byte & 7);
	return 4;
}

/* At most `length` bytes of `text`, escaped; when quoted, in quotes and with ... behind them if
 * more is there. */
DJS_HANDLER_CODE void djs_fn_text_strn(struct djs_ctx *ctx, char *out, const char *text, s64 length,
				       s64 quoted)
{
	size_t room = djs_script.string_bytes, done = 0, at = 0;
	size_t most = length > 0 && length < (s64)room ? length : room;
	size_t tail = quoted ? sizeof("\"...") : 1; /* what must still fit */

	if (room < 16) {
		*out = 0;
		return;
	}
	if (quoted)
		out[done++] = '"';
	while (text[at] && at < most) {
		char piece[4];
		u32 size = escape(piece, text[at]);

		if (done + size + tail > room)
			break;
		memcpy(out + done, piece, size);
		done += size;
		at++;
	}
	if (quoted) {
		out[done++] = '"';
		if (text[at]) {
			memcpy(out + done, "...", 3);
			done += 3;
		}
	}
	out[done] = 0;
}

DJS_HANDLER_CODE void djs_fn_text_str(struct djs_ctx *ctx, char *out, const char *text)
{
	djs_fn_text_strn(ctx, out, text, 0, 0);
}
