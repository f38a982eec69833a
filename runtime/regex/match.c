// SPDX-License-Identifier: GPL-2.0-or-later
// =~ with groups, and matched() and ngroups(), which return the result of the handler's last =~.
#include "access/access.h"
#include "include/functions.h"
#include "include/regex.h"
#include "include/text.h"

static DJS_HANDLER_CODE struct djs_match *last_match(struct djs_ctx *ctx)
{
	return (struct djs_match *)ctx->scratch;
}

/* As many look-ups in an automaton's table, which are 10,000 to 40,000 instructions, count as one
 * statement. Other statements take up to as many for the longest string by default. */
#define LOOKUPS_PER_ACTION 1024

DJS_HANDLER_CODE u32 djs_match_regex(struct djs_ctx *ctx, const struct djs_regex *regex,
				     const char *text, u32 place)
{
	struct djs_match *match = last_match(ctx);
	char *kept = (char *)(match + 1);
	u32 string_bytes = djs_script.string_bytes;
	struct djs_regex_room room = djs_match_room(match, string_bytes);
	s64 actions = max(ctx->actions, 0) + (s64)ctx->more_actions;
	s64 most = (actions + 1) * LOOKUPS_PER_ACTION - 1, left = most;

	djs_text_copy(kept, text, string_bytes);
	match->group_count = regex->group_count;
	match->state = djs_regex_match(regex, kept, match->groups, room, &left) ? DJS_MATCH_FOUND
										: DJS_MATCH_FAILED;
	actions = (most - left) / LOOKUPS_PER_ACTION;
	if (actions) {
		ctx->actions -= (s32)actions;
		if (ctx->actions <= 0 && !djs_more_actions(ctx, place))
			match->state = DJS_MATCH_NONE;
	}
	return match->state == DJS_MATCH_FOUND;
}

static DJS_HANDLER_CODE bool has_matched(struct djs_ctx *ctx)
{
	struct djs_match *match = last_match(ctx);

	if (match->state == DJS_MATCH_FOUND)
		return true;
	djs_fail_text(ctx, DJS_NO_PLACE,
		      match->state == DJS_MATCH_FAILED
			  ? "nothing is matched: the last =~ in this handler did not match"
			  : "nothing is matched: there was no =~ in this handler yet");
	return false;
}

DJS_HANDLER_CODE void djs_fn_matched(struct djs_ctx *ctx, char *out, s64 group)
{
	struct djs_match *match = last_match(ctx);
	struct djs_regex_span span;

	*out = 0;
	if (!has_matched(ctx))
		return;
	if (group < 0 || group >= match->group_count) {
		djs_fail_text(ctx, DJS_NO_PLACE, "there is no group %lld: the last =~ has %u",
			      group, match->group_count - 1);
		return;
	}
	span = match->groups[group];
	if (span.from == DJS_REGEX_NONE)
		return;
	memcpy(out, (char *)(match + 1) + span.from, span.to - span.from);
	out[span.to - span.from] = 0;
}

DJS_HANDLER_CODE s64 djs_fn_ngroups(struct djs_ctx *ctx)
{
	return has_matched(ctx) ? last_match(ctx)->group_count : 0;
}
