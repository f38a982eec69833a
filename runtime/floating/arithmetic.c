// SPDX-License-Identifier: GPL-2.0-or-later
/* Arithmetic on doubles by integer instructions. */
#include "include/floating.h"

#define FRACTION_BITS 52
#define ONE	      (1ull << FRACTION_BITS) /* the bit of a significand that is not stored */
#define QUIET	      (1ull << (FRACTION_BITS - 1))
#define BIAS	      (1023 + FRACTION_BITS) /* of the exponent of a whole significand */
#define TOP	      (1ull << 63)

/* significand * 2^exponent, of what is neither infinite nor no number. */
struct fp_parts {
	s64 exponent;
	u64 significand;
};

static DJS_HANDLER_CODE u64 fp_magnitude(u64 a)
{
	return a & ~DJS_FP_SIGN;
}

static DJS_HANDLER_CODE struct fp_parts fp_parts_of(u64 a)
{
	u64 exponent = fp_magnitude(a) >> FRACTION_BITS;
	u64 fraction = a & (ONE - 1);
	struct fp_parts parts = {
	    .exponent = (s64)(exponent ? exponent : 1) - BIAS,
	    .significand = exponent ? fraction | ONE : fraction,
	};

	return parts;
}

/* Shifts the significand, which is not 0, until its highest bit is set. */
static DJS_HANDLER_CODE struct fp_parts fp_normal(struct fp_parts parts)
{
	int zeros = __builtin_clzll(parts.significand);

	parts.significand <<= zeros;
	parts.exponent -= zeros;
	return parts;
}

/* Shifts right; the lowest bit of the result also stands for all bits that are lost. */
static DJS_HANDLER_CODE u64 fp_shift_right(u64 value, u64 count)
{
	if (!count)
		return value;
	if (count > 63)
		return value != 0;
	return value >> count | (value << (64 - count) != 0);
}

static DJS_HANDLER_CODE bool fp_is_signaling(u64 a)
{
	return djs_fp_is_nan(a) && !(a & QUIET);
}

/* The result of an operation with an operand that is no number. */
static DJS_HANDLER_CODE u64 fp_no_number(u64 a, u64 b)
{
	if (fp_is_signaling(a))
		return a | QUIET;
	if (fp_is_signaling(b))
		return b | QUIET;
	return djs_fp_is_nan(a) ? a : b;
}

/* Rounds to the nearest multiple of 2^drop, to even, and returns the quotient. 0 < drop */
static DJS_HANDLER_CODE u64 fp_drop_bits(u64 value, u64 drop)
{
	u64 kept, lost;

	if (drop > 64)
		return 0;
	kept = drop < 64 ? value >> drop : 0;
	lost = value << (64 - drop);
	return kept + (lost > TOP || (lost == TOP && (kept & 1)));
}

DJS_HANDLER_CODE u64 djs_fp_rounded(u64 sign, s64 exponent, u64 significand)
{
	struct fp_parts parts = {.exponent = exponent, .significand = significand};
	s64 stored;

	if (!significand)
		return sign;
	parts = fp_normal(parts);
	stored = parts.exponent + BIAS + 63 - FRACTION_BITS;
	if (stored >= 0x7ff)
		return sign | DJS_FP_INFINITY;
	if (stored <= 0)
		return sign | fp_drop_bits(parts.significand, 63 - FRACTION_BITS + 1 - stored);
	/* The bit that is not stored, and a carry, add to the exponent. */
	return sign | (((u64)(stored - 1) << FRACTION_BITS) +
		       fp_drop_bits(parts.significand, 63 - FRACTION_BITS));
}

/* The sum of two numbers, of which `a` is the larger one or as large. */
static DJS_HANDLER_CODE u64 fp_add_smaller(u64 a, u64 b)
{
	const int guard = 10; /* leaves a bit for the carry */
	struct fp_parts left = fp_parts_of(a), right = fp_parts_of(b);
	u64 sign = a & DJS_FP_SIGN;
	u64 sum = left.significand << guard;
	u64 other =
	    fp_shift_right(right.significand << guard, (u64)(left.exponent - right.exponent));

	if ((a ^ b) & DJS_FP_SIGN) {
		sum -= other;
		sign = sum ? sign : 0;
	} else {
		sum += other;
	}
	return djs_fp_rounded(sign, left.exponent - guard, sum);
}

static DJS_HANDLER_CODE u64 fp_sum(u64 a, u64 b)
{
	if (fp_magnitude(a) < fp_magnitude(b)) {
		u64 larger = b;

		b = a;
		a = larger;
	}
	if (fp_magnitude(a) == DJS_FP_INFINITY)
		return fp_magnitude(b) == DJS_FP_INFINITY && a != b ? DJS_FP_DEFAULT_NAN : a;
	return fp_add_smaller(a, b);
}

DJS_HANDLER_CODE u64 djs_fp_add(u64 a, u64 b)
{
	return djs_fp_is_nan(a) || djs_fp_is_nan(b) ? fp_no_number(a, b) : fp_sum(a, b);
}

DJS_HANDLER_CODE u64 djs_fp_sub(u64 a, u64 b)
{
	return djs_fp_is_nan(a) || djs_fp_is_nan(b) ? fp_no_number(a, b)
						    : fp_sum(a, b ^ DJS_FP_SIGN);
}

DJS_HANDLER_CODE u64 djs_fp_mul(u64 a, u64 b)
{
	u64 sign = (a ^ b) & DJS_FP_SIGN;
	struct fp_parts left, right;
	unsigned __int128 product;

	if (djs_fp_is_nan(a) || djs_fp_is_nan(b))
		return fp_no_number(a, b);
	a = fp_magnitude(a);
	b = fp_magnitude(b);
	if (a == DJS_FP_INFINITY || b == DJS_FP_INFINITY)
		return a && b ? sign | DJS_FP_INFINITY : DJS_FP_DEFAULT_NAN;
	if (!a || !b)
		return sign;
	left = fp_normal(fp_parts_of(a));
	right = fp_normal(fp_parts_of(b));
	product = (unsigned __int128)left.significand * right.significand;
	return djs_fp_rounded(sign, left.exponent + right.exponent + 64,
			      (u64)(product >> 64) | ((u64)product != 0));
}

/* The whole part of a * 2^62 / b, its lowest bit set if it is not exact. Both have their highest
 * bit set. */
static DJS_HANDLER_CODE u64 fp_quotient(u64 a, u64 b)
{
	u64 quotient = a >= b;
	u64 rest = quotient ? a - b : a;
	int i;

	for (i = 0; i < 62; i++) {
		bool fits = rest & TOP || rest << 1 >= b;

		rest = (rest << 1) - (fits ? b : 0);
		quotient = quotient << 1 | fits;
	}
	return quotient | (rest != 0);
}

DJS_HANDLER_CODE u64 djs_fp_div(u64 a, u64 b)
{
	u64 sign = (a ^ b) & DJS_FP_SIGN;
	struct fp_parts left, right;

	if (djs_fp_is_nan(a) || djs_fp_is_nan(b))
		return fp_no_number(a, b);
	a = fp_magnitude(a);
	b = fp_magnitude(b);
	if (a == b && (!a || a == DJS_FP_INFINITY))
		return DJS_FP_DEFAULT_NAN;
	if (a == DJS_FP_INFINITY || !b)
		return sign | DJS_FP_INFINITY;
	if (b == DJS_FP_INFINITY || !a)
		return sign;
	left = fp_normal(fp_parts_of(a));
	right = fp_normal(fp_parts_of(b));
	return djs_fp_rounded(sign, left.exponent - right.exponent - 62,
			      fp_quotient(left.significand, right.significand));
}

/* The remainder of finite magnitudes, `b` not 0. */
static DJS_HANDLER_CODE u64 fp_remainder(u64 sign, struct fp_parts a, struct fp_parts b)
{
	s64 left = a.exponent - b.exponent;
	u64 quotient, rest;

	if (left < -1) /* nearer to 0 than to b */
		return djs_fp_rounded(sign, a.exponent, a.significand);
	if (left == -1) {
		b.significand <<= 1;
		b.exponent--;
		left = 0;
	}
	quotient = a.significand / b.significand;
	rest = a.significand % b.significand;
	while (left > 0) { /* what is less than a divisor of 53 bits has 11 bits of room */
		s64 bits = left < 64 - FRACTION_BITS - 1 ? left : 64 - FRACTION_BITS - 1;

		rest <<= bits;
		quotient = rest / b.significand; /* only its lowest bit matters */
		rest %= b.significand;
		left -= bits;
	}
	if (rest > b.significand - rest || (rest == b.significand - rest && (quotient & 1))) {
		rest = b.significand - rest;
		sign ^= DJS_FP_SIGN;
	}
	return djs_fp_rounded(sign, b.exponent, rest);
}

DJS_HANDLER_CODE u64 djs_fp_rem(u64 a, u64 b)
{
	if (djs_fp_is_nan(a) || djs_fp_is_nan(b))
		return fp_no_number(a, b);
	if (fp_magnitude(a) == DJS_FP_INFINITY || !fp_magnitude(b))
		return DJS_FP_DEFAULT_NAN;
	if (fp_magnitude(b) == DJS_FP_INFINITY)
		return a;
	return fp_remainder(a & DJS_FP_SIGN, fp_parts_of(a), fp_parts_of(b));
}

/* The whole part of the square root of value * 2^60, its lowest bit set if it is not exact. */
static DJS_HANDLER_CODE u64 fp_root(u64 value)
{
	u64 root = 0, rest = 0;
	int i;

	for (i = 0; i < 62; i++) { /* two bits of the radicand are one of its root */
		u64 trial = root << 2 | 1;
		bool fits;

		rest = rest << 2 | value >> 62;
		value <<= 2;
		fits = rest >= trial;
		rest -= fits ? trial : 0;
		root = root << 1 | fits;
	}
	return root | (rest != 0);
}

DJS_HANDLER_CODE u64 djs_fp_sqrt(u64 a)
{
	struct fp_parts parts;

	if (djs_fp_is_nan(a))
		return a | QUIET;
	if (!fp_magnitude(a) || a == DJS_FP_INFINITY)
		return a;
	if (a & DJS_FP_SIGN)
		return DJS_FP_DEFAULT_NAN;
	parts = fp_normal(fp_parts_of(a));
	if (parts.exponent & 1) { /* the lowest bits are 0 */
		parts.significand >>= 1;
		parts.exponent++;
	}
	return djs_fp_rounded(0, parts.exponent / 2 - 30, fp_root(parts.significand));
}

/* A number whose order is that of the doubles, for which both zeros are equal. */
static DJS_HANDLER_CODE s64 fp_order(u64 a)
{
	return a & DJS_FP_SIGN ? -(s64)fp_magnitude(a) : (s64)a;
}

DJS_HANDLER_CODE bool djs_fp_eq(u64 a, u64 b)
{
	return !djs_fp_is_nan(a) && !djs_fp_is_nan(b) && fp_order(a) == fp_order(b);
}

DJS_HANDLER_CODE bool djs_fp_lt(u64 a, u64 b)
{
	return !djs_fp_is_nan(a) && !djs_fp_is_nan(b) && fp_order(a) < fp_order(b);
}

DJS_HANDLER_CODE bool djs_fp_le(u64 a, u64 b)
{
	return !djs_fp_is_nan(a) && !djs_fp_is_nan(b) && fp_order(a) <= fp_order(b);
}

/* Whether what is lost makes the next larger magnitude of `kept` the result. `lost` is its part of
 * 2^64, its lowest bit set if it is not exact. */
static DJS_HANDLER_CODE bool fp_rounds_up(s64 mode, bool negative, u64 kept, u64 lost)
{
	switch (mode) {
	case DJS_FP_NEAREST_EVEN:
		return lost > TOP || (lost == TOP && (kept & 1));
	case DJS_FP_NEAREST_AWAY:
		return lost >= TOP;
	case DJS_FP_DOWN:
		return negative && lost;
	case DJS_FP_UP:
		return !negative && lost;
	default:
		return false;
	}
}

DJS_HANDLER_CODE s64 djs_fp_to_long(u64 a, s64 mode)
{
	const u64 largest = TOP - 1;
	struct fp_parts parts = fp_parts_of(a);
	bool negative = a & DJS_FP_SIGN;
	u64 kept, lost = 0;

	if (djs_fp_is_nan(a))
		return 0;
	if (parts.exponent > 63 - FRACTION_BITS)
		return (s64)(negative ? TOP : largest);
	if (parts.exponent >= 0) {
		kept = parts.significand << parts.exponent;
	} else if (parts.exponent > -64) {
		kept = parts.significand >> -parts.exponent;
		lost = parts.significand << (64 + parts.exponent);
	} else {
		kept = 0;
		lost = parts.exponent == -64 ? parts.significand : parts.significand != 0;
	}
	kept += fp_rounds_up(mode, negative, kept, lost);
	if (negative)
		return (s64)(kept > TOP ? TOP : 0 - kept);
	return (s64)(kept > largest ? largest : kept);
}

DJS_HANDLER_CODE u64 djs_fp_from_long(s64 value)
{
	return djs_fp_rounded(value < 0 ? DJS_FP_SIGN : 0, 0,
			      value < 0 ? 0 - (u64)value : (u64)value);
}

DJS_HANDLER_CODE u64 djs_fp_from_single(u32 single)
{
	u64 sign = (u64)(single >> 31) << 63;
	u64 fraction = single & 0x7fffff;
	s64 exponent = single >> 23 & 0xff;

	if (exponent == 0xff)
		return sign | DJS_FP_INFINITY | fraction << 29 | (fraction ? QUIET : 0);
	if (exponent)
		fraction |= 0x800000;
	else
		exponent = 1;
	return djs_fp_rounded(sign, exponent - 150, fraction);
}
