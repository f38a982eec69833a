// SPDX-License-Identifier: GPL-2.0-or-later
#include "include/regex.h"

/* A string and its length, and what a match in it may still take. */
struct subject {
	const struct djs_regex *regex;
	const u8 *text;
	u32 length;
	s64 left;
};

static DJS_HANDLER_CODE u16 first_state(struct djs_regex_start start, bool at_end)
{
	return at_end ? start.at_end : start.inside;
}

static DJS_HANDLER_CODE u16 move_on(const struct djs_regex *regex, u16 state, u8 byte)
{
	return regex->next[(u32)state * regex->class_count + regex->classes[byte]];
}

static DJS_HANDLER_CODE bool accepted(const struct djs_regex *regex, u16 state, bool at_end)
{
	return regex->accept[state] & (at_end ? DJS_REGEX_ACCEPTS_AT_END : DJS_REGEX_ACCEPTS);
}

DJS_HANDLER_CODE u32 djs_regex_search(const struct djs_regex *regex, const char *text)
{
	const u8 *at = (const u8 *)text;
	u16 state = regex->search.at_end;

	for (; *at && state; at++) {
		if (regex->accept[state] & DJS_REGEX_ACCEPTS)
			return 1;
		state = move_on(regex, state, *at);
	}
	return accepted(regex, state, true);
}

/*
 * Returns the end of the longest part of [from, to] that begins at `from`, is accepted by the
 * automaton, and ends where `marks` (unless NULL) has the beginning of the rest; DJS_REGEX_NONE:
 * there is none. `seen` (unless NULL) keeps the state in which earlier calls, for the same
 * automaton and parts that begin before `from`, have passed each position behind `from`: it leads
 * to no further end.
 */
static DJS_HANDLER_CODE u32 longest(struct subject *s, struct djs_regex_start start, u32 from,
				    u32 to, const u8 *marks, u16 *seen)
{
	u16 state = first_state(start, from == 0);
	u32 found = DJS_REGEX_NONE, at;

	for (at = from; state; at++) {
		if (accepted(s->regex, state, at == s->length) && (!marks || marks[at]))
			found = at;
		if (at == to)
			break;
		state = move_on(s->regex, state, s->text[at]);
		if (seen) {
			if (seen[at + 1] == state)
				break;
			seen[at + 1] = state;
		}
	}
	s->left -= at - from + 1;
	return found;
}

/* Marks each position in [from, to] at which a part begins that ends at `to`. */
static DJS_HANDLER_CODE void mark_beginnings(struct subject *s, struct djs_regex_start start,
					     u32 from, u32 to, u8 *marks)
{
	u16 state = first_state(start, to == s->length);
	u32 at;

	s->left -= to - from + 1;
	for (at = to;; at--) {
		marks[at] = accepted(s->regex, state, at == 0);
		if (at == from)
			return;
		state = move_on(s->regex, state, s->text[at - 1]);
	}
}

static DJS_HANDLER_CODE bool is_whole(struct subject *s, struct djs_regex_start start, u32 from,
				      u32 to)
{
	u16 state = first_state(start, from == 0);
	u32 at;

	for (at = from; at < to && state; at++)
		state = move_on(s->regex, state, s->text[at]);
	s->left -= at - from + 1;
	return accepted(s->regex, state, to == s->length);
}

static DJS_HANDLER_CODE void give(struct djs_regex_span *spans, u16 child, u32 from, u32 to)
{
	if (child == DJS_REGEX_NONE)
		return;
	spans[child].from = from;
	spans[child].to = to;
}

/* Each iteration may look at the whole rest, for all that longest() remembers. */
static DJS_HANDLER_CODE void divide_star(struct subject *s, const struct djs_regex_step *step,
					 struct djs_regex_span *spans, u32 from, u32 to,
					 struct djs_regex_room room)
{
	u32 at = from, end;

	if (from == to) {
		if (is_whole(s, step->forward, from, to))
			give(spans, step->first, from, to);
		return;
	}
	mark_beginnings(s, step->backward, from, to, room.marks);
	memset(room.seen + from, 0, (to - from + 1) * sizeof(*room.seen));
	while (at < to && s->left >= 0) {
		room.marks[at] = 0; /* an empty iteration makes no progress */
		end = longest(s, step->forward, at, to, room.marks, room.seen);
		if (end == DJS_REGEX_NONE)
			return;
		from = at;
		at = end;
	}
	give(spans, step->first, from, to);
}

static DJS_HANDLER_CODE void divide(struct subject *s, const struct djs_regex_step *step,
				    struct djs_regex_span span, struct djs_regex_span *groups,
				    struct djs_regex_room room)
{
	struct djs_regex_span *spans = room.spans;
	u32 from = span.from, to = span.to, end;

	switch (step->kind) {
	case DJS_REGEX_GROUP:
		groups[step->low] = span;
		give(spans, step->first, from, to);
		break;
	case DJS_REGEX_CLEAR:
		for (end = step->low; end <= step->high; end++)
			groups[end].from = DJS_REGEX_NONE;
		give(spans, step->first, from, to);
		break;
	case DJS_REGEX_CONCATENATION:
		mark_beginnings(s, step->backward, from, to, room.marks);
		end = longest(s, step->forward, from, to, room.marks, NULL);
		if (end == DJS_REGEX_NONE)
			break;
		give(spans, step->first, from, end);
		give(spans, step->second, end, to);
		break;
	case DJS_REGEX_ALTERNATION:
		give(spans, is_whole(s, step->forward, from, to) ? step->first : step->second, from,
		     to);
		break;
	case DJS_REGEX_OPTIONAL:
		if (from < to || is_whole(s, step->forward, from, to))
			give(spans, step->first, from, to);
		break;
	case DJS_REGEX_MORE:
		if (from < to)
			give(spans, step->first, from, to);
		break;
	case DJS_REGEX_STAR:
		divide_star(s, step, spans, from, to, room);
		break;
	}
}

/* Returns the beginning of the leftmost match, or DJS_REGEX_NONE. */
static DJS_HANDLER_CODE u32 leftmost(const struct subject *s)
{
	u16 state = s->regex->starts.at_end;
	u32 found = DJS_REGEX_NONE, at;

	for (at = s->length; state; at--) {
		if (accepted(s->regex, state, at == 0))
			found = at;
		if (at == 0)
			break;
		state = move_on(s->regex, state, s->text[at - 1]);
	}
	return found;
}

DJS_HANDLER_CODE u32 djs_regex_match(const struct djs_regex *regex, const char *text,
				     struct djs_regex_span *groups, struct djs_regex_room room,
				     s64 *left)
{
	struct subject s = {regex, (const u8 *)text, 0, *left};
	struct djs_regex_span *spans = room.spans;
	u32 from, i;

	while (text[s.length])
		s.length++;
	from = leftmost(&s);
	if (from == DJS_REGEX_NONE)
		return 0;
	for (i = 0; i < regex->group_count; i++)
		groups[i].from = groups[i].to = DJS_REGEX_NONE;
	for (i = 0; i < regex->step_count; i++)
		spans[i].from = DJS_REGEX_NONE;
	groups[0].from = from;
	groups[0].to = longest(&s, regex->match, from, s.length, NULL, NULL);
	if (regex->step_count)
		spans[0] = groups[0];
	for (i = 0; i < regex->step_count && s.left >= 0; i++)
		if (spans[i].from != DJS_REGEX_NONE)
			divide(&s, &regex->steps[i], spans[i], groups, room);
	*left = s.left;
	return 1;
}
