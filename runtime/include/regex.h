/* SPDX-License-Identifier: GPL-2.0-or-later
 * Regular expressions as tables of finite automata (made by compiler/regex). Portable.
 */
#ifndef DJSTAP_REGEX_H
#define DJSTAP_REGEX_H

#include "include/contract.h"

#define DJS_REGEX_ACCEPTS	 1u /* in djs_regex.accept: a match ends here */
#define DJS_REGEX_ACCEPTS_AT_END 2u /* … if the text ends here */

enum djs_regex_step_kind {
	DJS_REGEX_GROUP = 0,
	DJS_REGEX_CLEAR, /* a new turn of a repetition: the groups low … high forget the last one */
	DJS_REGEX_CONCATENATION,
	DJS_REGEX_ALTERNATION,
	DJS_REGEX_OPTIONAL,
	DJS_REGEX_MORE, /* an optional turn that is left out rather than empty */
	DJS_REGEX_STAR,
};
#define DJS_REGEX_NONE 0xffff

struct djs_regex_span {
	u16 from, to; /* positions in the text; from DJS_REGEX_NONE: no part of it */
};

#define DJS_REGEX_GROUPS 64 /* at most, with group 0, the whole match */

/* The last =~ of a handler: at the beginning of its scratch memory, if the script asks for groups.
 */
enum djs_match_state { DJS_MATCH_NONE = 0, DJS_MATCH_FAILED, DJS_MATCH_FOUND };
struct djs_match {
	u32 state; /* enum djs_match_state */
	u32 group_count;
	struct djs_regex_span groups[DJS_REGEX_GROUPS];
	/* then the text, and room for djs_regex_match's spans and marks */
};
/* Bytes of all that, for texts of up to string_bytes and at most `steps` steps. */
static inline u32 djs_match_bytes(u32 string_bytes, u32 steps)
{
	return sizeof(struct djs_match) + ((2 * string_bytes + 8) & ~7u) +
	       steps * sizeof(struct djs_regex_span);
}

#ifdef __cplusplus
extern "C" {
#endif
/* 1 when a part of `text` matches, else 0. One look-up a byte. */
u32 djs_regex_search(const struct djs_regex *regex, const char *text);
/* The same, and finds the leftmost longest match and its groups: `groups` has room for group_count,
 * `spans` for step_count, `marks` for a byte more than the text, which is shorter than 65,535
 * bytes. A few walks over the text for each step; for a repetition one for each turn of it. */
u32 djs_regex_match(const struct djs_regex *regex, const char *text, struct djs_regex_span *groups,
		    struct djs_regex_span *spans, u8 *marks);
/* =~ in a handler of a script that asks for groups: keeps the match for djs_fn_matched(). Kernel
 * only. */
struct djs_ctx;
u32 djs_match_regex(struct djs_ctx *ctx, const struct djs_regex *regex, const char *text);
#ifdef __cplusplus
}
#endif
#endif
