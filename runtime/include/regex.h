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
	/* Followed by the string, and by what is in a djs_regex_room. */
};

/* What a match needs, apart from its groups. */
struct djs_regex_room {
	struct djs_regex_span *spans; /* step_count */
	u8 *marks;		      /* one more than the string has bytes */
	u16 *seen;		      /* as many */
};

/* Returns where that is for strings of up to string_bytes. */
static inline struct djs_regex_room djs_match_room(struct djs_match *match, u32 string_bytes)
{
	u32 padded = (string_bytes + 7) & ~7u;
	char *kept = (char *)(match + 1);
	struct djs_regex_room room = {
	    (struct djs_regex_span *)(void *)(kept + 4 * (size_t)padded),
	    (u8 *)kept + padded,
	    (u16 *)(void *)(kept + 2 * (size_t)padded),
	};

	return room;
}
/* Returns the size of all that, for at most `steps` steps. */
static inline u32 djs_match_bytes(u32 string_bytes, u32 steps)
{
	return sizeof(struct djs_match) + 4 * ((string_bytes + 7) & ~7u) +
	       steps * sizeof(struct djs_regex_span);
}

#ifdef __cplusplus
extern "C" {
#endif
/* Returns 1 when a part of `text` matches, else 0. One table look-up per byte. */
u32 djs_regex_search(const struct djs_regex *regex, const char *text);
/* Like djs_regex_search, but also finds the leftmost longest match and its groups, of which
 * `groups` holds group_count. The string is shorter than 65,535 bytes. Each step takes a few passes
 * over the string, a repetition up to one for each iteration. `left` is what this may take, in
 * look-ups, apart from two passes; what it took is subtracted. Below 0: too little, and the groups
 * are incomplete. */
u32 djs_regex_match(const struct djs_regex *regex, const char *text, struct djs_regex_span *groups,
		    struct djs_regex_room room, s64 *left);
/* =~ in a handler of a script that uses groups: keeps the match for djs_fn_matched(). What takes
 * long counts as several statements. Kernel only. */
struct djs_ctx;
u32 djs_match_regex(struct djs_ctx *ctx, const struct djs_regex *regex, const char *text,
		    u32 place);
#ifdef __cplusplus
}
#endif
#endif
