// SPDX-License-Identifier: GPL-2.0-or-later
// Records that the session itself writes: errors, warnings, its end.
#include "record/rings.h"

DJS_HANDLER_CODE bool djs_record_text(struct djs_ctx *ctx, u32 id, const char *text, s64 number)
{
	u32 length = min_t(size_t, strlen(text), DJS_RECORD_MAX / 2);
	u32 text_bytes = DJS_ALIGN8(sizeof(u32) + length);
	bool numbered = id == DJS_RECORD_ERROR || id == DJS_RECORD_SPECULATION;
	u32 size = sizeof(struct djs_record) + text_bytes + (numbered ? sizeof(s64) : 0);
	struct djs_record *record = djs_reserve(ctx, id, size);
	char *to;

	if (!record)
		return false;
	to = (char *)(record + 1);
	*(u32 *)to = length;
	memcpy(to + sizeof(u32), text, length);
	if (numbered)
		*(s64 *)(to + text_bytes) = number;
	djs_commit(ctx, record, size);
	return true;
}

DJS_HANDLER_CODE void djs_record_number(struct djs_ctx *ctx, u32 id, s64 number)
{
	u32 size = sizeof(struct djs_record) + sizeof(s64);
	struct djs_record *record = djs_reserve(ctx, id, size);

	if (!record)
		return;
	*(s64 *)(record + 1) = number;
	djs_commit(ctx, record, size);
}

DJS_HANDLER_CODE void djs_record_plain(struct djs_ctx *ctx, u32 id)
{
	struct djs_record *record = djs_reserve(ctx, id, sizeof(*record));

	if (record)
		djs_commit(ctx, record, sizeof(*record));
}
