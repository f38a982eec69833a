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

static DJS_HANDLER_CODE bool begins_with(const char *text, const char *prefix)
{
	for (; *prefix; text++, prefix++)
		if (*text != *prefix)
			return false;
	return true;
}

DJS_HANDLER_CODE s64 djs_text_find(const char *haystack, const char *needle)
{
	s64 at = 0;

	haystack = haystack ? haystack : "";
	if (!needle || !*needle)
		return 0;
	for (; haystack[at]; at++)
		if (begins_with(haystack + at, needle))
			return at;
	return -1;
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
