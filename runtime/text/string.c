// SPDX-License-Identifier: GPL-2.0-or-later
/* The string functions of the language. NULL reads as the empty string. */
#include "include/text.h"
#include "text/words.h"

#define S64_LARGEST 0x7fffffffffffffffull

DJS_HANDLER_CODE size_t djs_text_copy(char *out, const char *in, size_t size)
{
	size_t length = 0;

	if (!size)
		return 0;
	if (in && WHOLE_WORDS(in) && WHOLE_WORDS(out)) {
		for (; length + 8 <= size; length += 8) {
			u64 word = load_word(in + length);
			u64 ends = ends_in(word);

			if (ends)
				word = before_end(word, ends);
			__builtin_memcpy(out + length, &word, sizeof(word));
			if (ends)
				return length + bytes_before_end(ends);
		}
	}
	if (length == size) /* the string is longer, and is truncated */
		length--;
	if (in)
		for (; length + 1 < size && in[length]; length++)
			out[length] = in[length];
	out[length] = 0;
	return length;
}

/* `out` may be equal to `a`, as in s .= t. */
DJS_HANDLER_CODE size_t djs_text_concat(char *out, const char *a, const char *b, size_t size)
{
	size_t length = djs_text_copy(out, a, size);

	return size ? length + djs_text_copy(out + length, b, size - length) : 0;
}

static DJS_HANDLER_CODE size_t write_decimal(char *out, u32 number, size_t size)
{
	char digits[10];
	size_t count = 0, length = 0;

	do
		digits[count++] = '0' + number % 10;
	while (number /= 10);
	while (count && length + 1 < size)
		out[length++] = digits[--count];
	out[length] = 0;
	return length;
}

DJS_HANDLER_CODE size_t djs_text_point(char *out, size_t size, const char *shape,
				       const char *function, const char *file, u32 line)
{
	size_t length = 0;

	if (!size)
		return 0;
	for (; *shape && length + 1 < size; shape++) {
		if (*shape == DJS_POINT_FUNCTION)
			length += djs_text_copy(out + length, function, size - length);
		else if (*shape == DJS_POINT_FILE)
			length += djs_text_copy(out + length, file, size - length);
		else if (*shape == DJS_POINT_LINE)
			length += write_decimal(out + length, line, size - length);
		else
			out[length++] = *shape;
	}
	out[length] = 0;
	return length;
}

DJS_HANDLER_CODE size_t djs_text_length(const char *in)
{
	return djs_text_length_here(in);
}

DJS_HANDLER_CODE int djs_text_compare(const char *a, const char *b)
{
	size_t i = 0;
	u8 left, right;

	a = a ? a : "";
	b = b ? b : "";
	if (WHOLE_WORDS(a) && WHOLE_WORDS(b))
		for (;; i += 8) {
			u64 word = load_word(a + i);

			if (word != load_word(b + i) || ends_in(word))
				break;
		}
	while (a[i] && a[i] == b[i])
		i++;
	left = (u8)a[i];
	right = (u8)b[i];
	return left < right ? -1 : left > right;
}

DJS_HANDLER_CODE size_t djs_text_substr(char *out, size_t size, const char *in, s64 start,
					s64 length)
{
	s64 skipped = 0;
	u64 room = length > 0 ? (u64)length : 0;

	if (!size)
		return 0;
	if (!in || start < 0)
		room = 0;
	for (; room && skipped < start; skipped++)
		if (!in[skipped])
			return djs_text_copy(out, "", size);
	if (!room)
		return djs_text_copy(out, "", size);
	return djs_text_copy(out, in + start, room < size - 1 ? (size_t)room + 1 : size);
}

/*
 * Finds a part in time that is linear in both lengths, whatever they contain, and without memory:
 * the two-way algorithm of Crochemore and Perrin. It divides the part at a place around which it
 * repeats itself as little as anywhere, and compares first to the right of that, then to the left.
 */
struct part {
	const u8 *bytes;
	size_t length;
	size_t middle; /* where it is divided */
	size_t period;
	bool repeats; /* the whole part has the period */
};

/* Returns where the largest suffix begins, in the order of bytes or in the reversed one. */
static DJS_HANDLER_CODE size_t largest_suffix(const struct part *part, bool reversed,
					      size_t *period)
{
	size_t best = 0, next = 1, same = 0;

	*period = 1;
	while (next + same < part->length) {
		u8 here = part->bytes[next + same], there = part->bytes[best + same];

		if (here == there) {
			if (++same == *period) {
				next += same;
				same = 0;
			}
		} else if ((here < there) != reversed) {
			next += same + 1;
			same = 0;
			*period = next - best;
		} else {
			best = next++;
			same = 0;
			*period = 1;
		}
	}
	return best;
}

static DJS_HANDLER_CODE void divide_part(struct part *part)
{
	size_t period, other_period;
	size_t other = largest_suffix(part, true, &other_period);
	size_t i;

	part->middle = largest_suffix(part, false, &period);
	if (other > part->middle) {
		part->middle = other;
		period = other_period;
	}
	for (i = 0; i < part->middle && part->bytes[i] == part->bytes[i + period]; i++)
		;
	part->repeats = i == part->middle;
	if (!part->repeats) {
		period = part->length - part->middle;
		if (part->middle > period)
			period = part->middle;
		period++;
	}
	part->period = period;
}

static DJS_HANDLER_CODE s64 find_divided(const u8 *text, size_t length, const struct part *part)
{
	size_t at = 0, known = 0, i; /* known: these bytes at the beginning of the part are there */

	while (at + part->length <= length) {
		i = part->middle > known ? part->middle : known;
		while (i < part->length && part->bytes[i] == text[at + i])
			i++;
		if (i < part->length) {
			at += i - part->middle + 1;
			known = 0;
			continue;
		}
		i = part->middle;
		while (i > known && part->bytes[i - 1] == text[at + i - 1])
			i--;
		if (i <= known)
			return (s64)at;
		at += part->period;
		known = part->repeats ? part->length - part->period : 0;
	}
	return -1;
}

/* A part of at most so many bytes is compared at each place, which takes less than to divide it. */
#define SHORT_PART 8

static DJS_HANDLER_CODE s64 find_short(const u8 *text, size_t length, const struct part *part)
{
	size_t at, i;

	for (at = 0; at + part->length <= length; at++) {
		for (i = 0; i < part->length && part->bytes[i] == text[at + i]; i++)
			;
		if (i == part->length)
			return (s64)at;
	}
	return -1;
}

static DJS_HANDLER_CODE s64 find_part(const char *text, size_t length, const struct part *part)
{
	const u8 *bytes = (const u8 *)text;

	return part->length <= SHORT_PART ? find_short(bytes, length, part)
					  : find_divided(bytes, length, part);
}

static DJS_HANDLER_CODE void prepare_part(struct part *part, const char *text)
{
	part->bytes = (const u8 *)text;
	part->length = djs_text_length_here(text);
	if (part->length > SHORT_PART)
		divide_part(part);
}

DJS_HANDLER_CODE s64 djs_text_find(const char *haystack, const char *needle)
{
	struct part part;

	prepare_part(&part, needle);
	return find_part(haystack, djs_text_length_here(haystack), &part);
}

static DJS_HANDLER_CODE size_t append_bytes(char *out, size_t done, size_t room, const char *text,
					    size_t length)
{
	if (length > room - done)
		length = room - done;
	memcpy(out + done, text, length);
	return done + length;
}

DJS_HANDLER_CODE size_t djs_text_replace(char *out, size_t size, const char *text, const char *old,
					 const char *new_text)
{
	size_t left = djs_text_length_here(text), new_length = djs_text_length_here(new_text);
	size_t done = 0;
	struct part part;

	if (!size)
		return 0;
	prepare_part(&part, old);
	while (left && done < size - 1) {
		s64 at = part.length ? find_part(text, left, &part) : -1;
		size_t kept = at < 0 ? left : (size_t)at;

		done = append_bytes(out, done, size - 1, text, kept);
		if (at < 0)
			break;
		done = append_bytes(out, done, size - 1, new_text, new_length);
		text += kept + part.length;
		left -= kept + part.length;
	}
	out[done] = 0;
	return done;
}

static DJS_HANDLER_CODE bool is_member(const u32 *set, char character)
{
	u8 byte = (u8)character;

	return set[byte / 32] >> byte % 32 & 1;
}

DJS_HANDLER_CODE size_t djs_text_token(char *out, const char *text, size_t at,
				       const char *delimiters)
{
	u32 set[256 / 32] = {0};
	size_t length = 0;

	for (; *delimiters; delimiters++)
		set[(u8)*delimiters / 32] |= 1u << (u8)*delimiters % 32;
	while (text[at] && is_member(set, text[at]))
		at++;
	while (text[at] && !is_member(set, text[at]))
		out[length++] = text[at++];
	out[length] = 0;
	return at;
}

/* Returns 0 … 15, or 16 if `c` is not a digit in any base. */
static DJS_HANDLER_CODE u32 digit(char c)
{
	if (c >= '0' && c <= '9')
		return (u32)(c - '0');
	if (c >= 'a' && c <= 'f')
		return (u32)(c - 'a') + 10;
	if (c >= 'A' && c <= 'F')
		return (u32)(c - 'A') + 10;
	return 16;
}

static DJS_HANDLER_CODE const char *skip_prefix(const char *in, u32 *base)
{
	bool has_x = in[0] == '0' && (in[1] == 'x' || in[1] == 'X');

	if (*base == 0)
		*base = has_x ? 16 : in[0] == '0' ? 8 : 10;
	return has_x && *base == 16 ? in + 2 : in;
}

/* Like the kernel's simple_strtol: accepts a minus but no plus and no spaces, digits up to f
 * whatever the base, and wraps for numbers that are too large. */
DJS_HANDLER_CODE s64 djs_text_to_long(const char *in, s64 base)
{
	u32 radix = (u32)base;
	bool negative;
	u64 value = 0;

	if (!in)
		return 0;
	negative = *in == '-';
	in = skip_prefix(in + negative, &radix);
	for (; digit(*in) < 16 && digit(*in) < radix; in++)
		value = value * radix + digit(*in);
	return (s64)(negative ? 0 - value : value);
}
