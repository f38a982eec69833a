/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Regular expressions as tables of finite automata (built by compiler/regex). Portable. */
#ifndef DJSTAP_REGEX_H
#define DJSTAP_REGEX_H

#include "include/contract.h"

#define DJS_REGEX_ACCEPTS	 1u /* in djs_regex.accept: a match ends here */
#define DJS_REGEX_ACCEPTS_AT_END 2u /* … if the string ends here */

enum djs_regex_step_kind {
	DJS_REGEX_GROUP = 0,
	/* a new iteration of a repetition: the groups low … high forget the previous one */
	DJS_REGEX_CLEAR,
	DJS_REGEX_CONCATENATION,
	DJS_REGEX_ALTERNATION,
	DJS_REGEX_OPTIONAL,
	DJS_REGEX_MORE, /* an optional iteration that is skipped rather than empty */
	DJS_REGEX_STAR,
};
#define DJS_REGEX_NONE 0xffff

struct djs_regex_span {
	/* positions in the string; from DJS_REGEX_NONE: the group did not participate */
	u16 from, to;
};

#define DJS_REGEX_GROUPS 64 /* at most, including group 0, the whole match */

/* The last =~ of a handler: at the start of its scratch memory, if the script uses groups. */
enum djs_match_state { DJS_MATCH_NONE = 0, DJS_MATCH_FAILED, DJS_MATCH_FOUND };
struct djs_match {
	u32 state; /* enum djs_match_state */
	u32 group_count;
	struct djs_regex_span groups[DJS_REGEX_GROUPS];
	/* Followed by the string, and room for djs_regex_match's spans and marks. */
};
/* Returns the size of all that, for strings of up to string_bytes and at most `steps` steps. */
static inline u32 djs_match_bytes(u32 string_bytes, u32 steps)
{
	return sizeof(struct djs_match) + ((2 * string_bytes + 8) & ~7u) +
	       steps * sizeof(struct djs_regex_span);
}

#ifdef __cplusplus
extern "C" {
#endif
/* Returns 1 when a part of `text` matches, else 0. One table look-up per byte. */
u32 djs_regex_search(const struct djs_regex *regex, const char *text);
/* Like djs_regex_search, but also finds the leftmost longest match and its groups: `groups` has
 * room for group_count, `spans` for step_count, `marks` for one byte more than the string, which is
 * shorter than 65,535 bytes. Each step takes a few passes over the string; a repetition takes one
 * per iteration. */
u32 djs_regex_match(const struct djs_regex *regex, const char *text, struct djs_regex_span *groups,
		    struct djs_regex_span *spans, u8 *marks);
/* =~ in a handler of a script that uses groups: keeps the match for djs_fn_matched(). Kernel
 * only. */
struct djs_ctx;
u32 djs_match_regex(struct djs_ctx *ctx, const struct djs_regex *regex, const char *text);
#ifdef __cplusplus
}
#endif
#endif
