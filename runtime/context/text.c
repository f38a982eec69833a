// SPDX-License-Identifier: GPL-2.0-or-later
// String functions of the language; the portable part is in text/.
#include "include/functions.h"
#include "include/text.h"
#include "state/state.h"

DJS_HANDLER_CODE s64 djs_fn_strlen(struct djs_ctx *ctx, const char *text)
{
	return djs_text_length_here(text);
}

DJS_HANDLER_CODE s64 djs_fn_strtol(struct djs_ctx *ctx, const char *text, s64 base)
{
	return djs_text_to_long(text, base);
}

DJS_HANDLER_CODE s64 djs_fn_isinstr(struct djs_ctx *ctx, const char *text, const char *part)
{
	return djs_text_find(text, part) >= 0;
}

DJS_HANDLER_CODE s64 djs_fn_strpos(struct djs_ctx *ctx, const char *text, const char *part)
{
	return djs_text_find(text, part);
}

/* Returns the byte at `index`, sign-extended. */
DJS_HANDLER_CODE s64 djs_fn_stringat(struct djs_ctx *ctx, const char *text, s64 index)
{
	if (index >= 0 && index < (s64)djs_text_length_here(text))
		return (s8)text[index];
	djs_fail(ctx, "Position out of bounds", DJS_NO_PLACE);
	return 0;
}

DJS_HANDLER_CODE void djs_fn_substr(struct djs_ctx *ctx, char *out, const char *text, s64 start,
				    s64 length)
{
	djs_text_substr(out, djs_script.string_bytes, text, start, length);
}

/* Returns the next token of `text`, which is kept behind the work area; if `text` is empty, of the
 * string that was kept last in this context. "" when no token is left. */
DJS_HANDLER_CODE void djs_fn_tokenize(struct djs_ctx *ctx, char *out, const char *text,
				      const char *delimiters)
{
	char *kept = ctx->work + DJS_WORK_BYTES;

	if (*text) {
		djs_text_copy(kept, text, djs_script.string_bytes);
		ctx->token_at = 0;
	}
	ctx->token_at = djs_text_token(out, kept, ctx->token_at, delimiters);
	/* The delimiter that ended this token is not part of the next one, whose delimiters may
	 * differ. */
	if (kept[ctx->token_at])
		ctx->token_at++;
}

/* Copies `text` with each `old` replaced by `new`, truncated where it becomes too long. */
DJS_HANDLER_CODE void djs_fn_str_replace(struct djs_ctx *ctx, char *out, const char *text,
					 const char *old, const char *new)
{
	djs_text_replace(out, djs_script.string_bytes, text, old, new);
}

DJS_HANDLER_CODE void djs_fn_text_strn(struct djs_ctx *ctx, char *out, const char *text, s64 length,
				       s64 quoted)
{
	size_t most = clamp_t(s64, length, 0, djs_script.string_bytes);

	djs_text_escape(out, text, most, djs_script.string_bytes, quoted);
}

DJS_HANDLER_CODE void djs_fn_text_str(struct djs_ctx *ctx, char *out, const char *text)
{
	djs_fn_text_strn(ctx, out, text, 0, 0);
}

DJS_HANDLER_CODE void djs_fn___json_quoted(struct djs_ctx *ctx, char *out, const char *text)
{
	djs_text_json(out, text, djs_script.string_bytes);
}
