// SPDX-License-Identifier: GPL-2.0-or-later
/* Doubles as decimal text, exactly. */
#include "include/floating.h"

#define LIMB	       1000000000u /* of decimal numbers */
#define LIMB_DIGITS    9
#define FURTHEST       100000 /* an exponent that stands for all larger ones */
#define LARGEST_POINT  309    /* 0.DIGITS * 10^309 is the largest double */
#define SMALLEST_POINT (-323) /* half of the smallest one; what is less is 0 */
#define BINARY_BITS    (DJS_FP_BINARY_LIMBS * 32)
#define LONGEST_SHIFT  29 /* 2^29 < LIMB */

static DJS_HANDLER_CODE bool fp_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Sets `limbs` to significand * 2^position, without what is above its highest bit. */
static DJS_HANDLER_CODE void fp_place(u32 *limbs, u64 significand, u32 position)
{
	unsigned __int128 shifted = (unsigned __int128)significand << position % 32;
	u32 at;

	memset(limbs, 0, DJS_FP_BINARY_LIMBS * sizeof(*limbs));
	for (at = position / 32; shifted && at < DJS_FP_BINARY_LIMBS; at++, shifted >>= 32)
		limbs[at] = (u32)shifted;
}

/* Writes the digits of the whole number in `limbs`, which becomes 0, to the end of work->digits;
 * returns where they begin. */
static DJS_HANDLER_CODE size_t fp_whole_digits(struct djs_fp_work *work)
{
	u32 count = DJS_FP_BINARY_LIMBS;
	size_t at = sizeof(work->digits);

	do {
		u64 rest = 0;
		u32 i;

		for (i = count; i-- > 0;) {
			rest = rest << 32 | work->limbs[i];
			work->limbs[i] = (u32)(rest / LIMB);
			rest %= LIMB;
		}
		while (count && !work->limbs[count - 1])
			count--;
		for (i = 0; i < LIMB_DIGITS; i++, rest /= 10)
			work->digits[--at] = (char)('0' + rest % 10);
	} while (count);
	while (at < sizeof(work->digits) - 1 && work->digits[at] == '0')
		at++;
	return at;
}

/* Multiplies the fraction in `limbs`, of which those below `from` are 0, and returns what is whole.
 */
static DJS_HANDLER_CODE u32 fp_next_digits(u32 *limbs, u32 from, u32 factor)
{
	u64 carry = 0;

	for (; from < DJS_FP_BINARY_LIMBS; from++) {
		carry += (u64)limbs[from] * factor;
		limbs[from] = (u32)carry;
		carry >>= 32;
	}
	return (u32)carry;
}

/* Adds one to the last digit of `length` characters, and returns the new length. */
static DJS_HANDLER_CODE size_t fp_round_up(char *text, size_t first, size_t length, size_t size)
{
	size_t at = length;

	while (at-- > first) {
		if (text[at] == '.')
			continue;
		if (text[at] != '9') {
			text[at]++;
			return length;
		}
		text[at] = '0';
	}
	if (length + 1 == size)
		length--;
	memmove(text + first + 1, text + first, length - first);
	text[first] = '1';
	return length + 1;
}

/* Appends the digits of the fraction; `length` includes the point. */
static DJS_HANDLER_CODE size_t fp_put_fraction(char *out, size_t length, u32 *limbs, size_t digits)
{
	u32 from = 0;

	while (digits) {
		u32 factor = 1, some;

		while (from < DJS_FP_BINARY_LIMBS && !limbs[from])
			from++;
		for (some = 0; some < LIMB_DIGITS && some < digits; some++)
			factor *= 10;
		digits -= some;
		some = fp_next_digits(limbs, from, factor);
		while ((factor /= 10)) {
			out[length++] = (char)('0' + some / factor);
			some %= factor;
		}
	}
	return length;
}

static DJS_HANDLER_CODE size_t fp_put_word(char *out, size_t length, const char *word)
{
	while (*word)
		out[length++] = *word++;
	out[length] = 0;
	return length;
}

DJS_HANDLER_CODE size_t djs_fp_to_text(char *out, size_t size, u64 a, s64 precision,
				       struct djs_fp_work *work)
{
	u64 stored = a >> 52 & 0x7ff;
	u64 significand = (a & ((1ull << 52) - 1)) | (stored ? 1ull << 52 : 0);
	s64 exponent = (s64)(stored ? stored : 1) - 1075;
	size_t length = 0, first, at, room;

	if (djs_fp_is_nan(a))
		return fp_put_word(out, 0, "nan");
	if (a & DJS_FP_SIGN)
		out[length++] = '-';
	if (stored == 0x7ff)
		return fp_put_word(out, length, "inf");
	first = length;
	if (exponent >= 0)
		fp_place(work->limbs, significand, (u32)exponent);
	else
		fp_place(work->limbs, exponent > -64 ? significand >> -exponent : 0, 0);
	for (at = fp_whole_digits(work); at < sizeof(work->digits) && length + 1 < size; at++)
		out[length++] = work->digits[at];
	if (length + 3 > size) { /* no room for a digit behind the point */
		out[length] = 0;
		return length;
	}
	out[length++] = '.';
	room = size - 1 - length;
	if (exponent < 0)
		fp_place(work->limbs, significand, (u32)(BINARY_BITS + exponent));
	precision = precision < 1 ? 1 : precision;
	length = fp_put_fraction(out, length, work->limbs,
				 (u64)precision < room ? (size_t)precision : room);
	if (work->limbs[DJS_FP_BINARY_LIMBS - 1] >> 31)
		length = fp_round_up(out, first, length, size);
	out[length] = 0;
	return length;
}

/* A decimal number: limbs of 9 digits, the highest one first and not 0, the lowest one neither. */
struct fp_decimal {
	u32 *limbs;
	s32 count;
	s32 point;     /* as many limbs are above the point; it may be negative */
	bool has_more; /* digits that are not 0 have been dropped */
};

static DJS_HANDLER_CODE void fp_trim(struct fp_decimal *n)
{
	while (n->count && !n->limbs[n->count - 1])
		n->count--;
	if (n->count && !n->limbs[0]) {
		n->count--;
		n->point--;
		memmove(n->limbs, n->limbs + 1, (size_t)n->count * sizeof(*n->limbs));
	}
}

/* Multiplies by 2^bits. */
static DJS_HANDLER_CODE void fp_shift_up(struct fp_decimal *n, u32 bits)
{
	u64 carry = 0;
	s32 i;

	for (i = n->count; i-- > 0;) {
		carry += (u64)n->limbs[i] << bits;
		n->limbs[i] = (u32)(carry % LIMB);
		carry /= LIMB;
	}
	if (carry) {
		if (n->count == DJS_FP_DECIMAL_LIMBS)
			n->has_more |= n->limbs[--n->count] != 0;
		memmove(n->limbs + 1, n->limbs, (size_t)n->count * sizeof(*n->limbs));
		n->limbs[0] = (u32)carry;
		n->count++;
		n->point++;
	}
	fp_trim(n);
}

/* Divides by 2^bits. */
static DJS_HANDLER_CODE void fp_shift_down(struct fp_decimal *n, u32 bits)
{
	u64 rest = 0;
	s32 i;

	for (i = 0; i < n->count || (rest && i < DJS_FP_DECIMAL_LIMBS); i++) {
		rest = rest * LIMB + (i < n->count ? n->limbs[i] : 0);
		n->limbs[i] = (u32)(rest >> bits);
		rest &= (1ull << bits) - 1;
	}
	n->count = i;
	n->has_more |= rest != 0;
	fp_trim(n);
}

/* The whole part; point <= 2. */
static DJS_HANDLER_CODE u64 fp_whole(const struct fp_decimal *n)
{
	u64 whole = 0;
	s32 i;

	for (i = 0; i < n->point; i++)
		whole = whole * LIMB + (i < n->count ? n->limbs[i] : 0);
	return whole;
}

/* Scales the number by a power of two until its whole part has enough bits, and rounds that. */
static DJS_HANDLER_CODE u64 fp_of_decimal(u64 sign, struct fp_decimal *n)
{
	s64 exponent = 0;
	u64 whole;

	for (; n->point > 2; exponent += LONGEST_SHIFT)
		fp_shift_down(n, LONGEST_SHIFT);
	for (whole = fp_whole(n); whole >> 56 == 0; whole = fp_whole(n)) {
		u32 bits = whole ? (u32)__builtin_clzll(whole) - 7 : LONGEST_SHIFT;

		bits = bits < LONGEST_SHIFT ? bits : LONGEST_SHIFT;
		fp_shift_up(n, bits);
		exponent -= bits;
	}
	return djs_fp_rounded(sign, exponent - 1,
			      whole << 1 | (n->has_more || n->count > n->point));
}

/* A text's parts. */
struct fp_scanned {
	const char *first; /* the first digit that is not 0, NULL: none */
	s64 digits;	   /* from there on */
	s64 point;	   /* the value is 0.DIGITS * 10^point */
	bool fits;	   /* the text has the form of a number */
};

/* Returns the exponent behind the "e", and moves `text` behind it. */
static DJS_HANDLER_CODE s64 fp_scan_exponent(const char **text)
{
	bool negative = **text == '-';
	s64 value = 0;

	if (negative || **text == '+')
		++*text;
	for (; fp_is_digit(**text); ++*text)
		if (value < FURTHEST)
			value = value * 10 + (**text - '0');
	return negative ? -value : value;
}

static DJS_HANDLER_CODE struct fp_scanned fp_scan(const char *text)
{
	struct fp_scanned found = {.first = NULL};
	bool behind = false;

	for (; fp_is_digit(*text) || (*text == '.' && !behind); text++) {
		if (*text == '.') {
			behind = true;
			continue;
		}
		if (!found.first && *text != '0')
			found.first = text;
		found.digits += found.first != NULL;
		found.point += found.first ? !behind : -(s64)behind;
	}
	if (*text == 'e' || *text == 'E') {
		text++;
		found.point += fp_scan_exponent(&text);
	}
	found.fits = !*text;
	return found;
}

/* Fills the limbs with the digits, so that the point is between two of them. */
static DJS_HANDLER_CODE struct fp_decimal fp_decimal_of(struct fp_scanned scanned, u32 *limbs)
{
	s64 above = scanned.point > 0 ? (scanned.point + LIMB_DIGITS - 1) / LIMB_DIGITS
				      : -(-scanned.point / LIMB_DIGITS);
	s64 at = above * LIMB_DIGITS - scanned.point; /* zeros that complete the first limb */
	struct fp_decimal n = {.limbs = limbs, .point = (s32)above};
	const char *digit;

	memset(limbs, 0, DJS_FP_DECIMAL_LIMBS * sizeof(*limbs));
	for (digit = scanned.first; scanned.digits; digit++) {
		u32 *limb = &limbs[at / LIMB_DIGITS];

		if (*digit == '.')
			continue;
		if (at < DJS_FP_DECIMAL_LIMBS * LIMB_DIGITS)
			*limb = *limb * 10 + (u32)(*digit - '0');
		else
			n.has_more |= *digit != '0';
		at++;
		scanned.digits--;
	}
	n.count = DJS_FP_DECIMAL_LIMBS;
	if (at < DJS_FP_DECIMAL_LIMBS * LIMB_DIGITS) {
		n.count = (s32)(at / LIMB_DIGITS) + 1;
		for (; at % LIMB_DIGITS; at++)
			limbs[n.count - 1] *= 10;
	}
	fp_trim(&n);
	return n;
}

DJS_HANDLER_CODE bool djs_fp_from_text(u64 *result, const char *text, struct djs_fp_work *work)
{
	u64 sign = *text == '-' ? DJS_FP_SIGN : 0;
	struct fp_scanned scanned = fp_scan(*text == '-' || *text == '+' ? text + 1 : text);

	if (!scanned.fits)
		return false;
	*result = sign;
	if (scanned.first && scanned.point > LARGEST_POINT) {
		*result |= DJS_FP_INFINITY;
	} else if (scanned.first && scanned.point >= SMALLEST_POINT) {
		struct fp_decimal n = fp_decimal_of(scanned, work->limbs);

		*result = fp_of_decimal(sign, &n);
	}
	return true;
}
