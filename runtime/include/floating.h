/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Floating-point numbers by integer instructions: handlers must not use the registers of the FPU.
 * A number is the 64 bits of a double of IEEE 754, and results are rounded to the nearest one (to
 * even). Portable; no allocation. */
#ifndef DJSTAP_FLOATING_H
#define DJSTAP_FLOATING_H

#include "include/platform.h"

#define DJS_FP_SIGN	   (1ull << 63)
#define DJS_FP_INFINITY	   (0x7ffull << 52)
#define DJS_FP_DEFAULT_NAN (0x7ff8ull << 48)

/* The memory in which numbers become text, and text numbers. */
#define DJS_FP_DECIMAL_LIMBS 88	 /* of 9 digits: no two doubles have a midpoint with more digits */
#define DJS_FP_BINARY_LIMBS  34	 /* 1074 bits below the point of the smallest double */
#define DJS_FP_WHOLE_DIGITS  309 /* digits above the point of the largest double */
struct djs_fp_work {
	u32 limbs[DJS_FP_DECIMAL_LIMBS];
	char digits[DJS_FP_WHOLE_DIGITS + 9];
};

#ifdef __cplusplus
extern "C" {
#endif
static inline bool djs_fp_is_nan(u64 a)
{
	return (a & ~DJS_FP_SIGN) > DJS_FP_INFINITY;
}

/* Returns the double that is nearest to significand * 2^exponent. If bits of the exact value are
 * missing, the significand has 55 bits or more, and its lowest bit is set. `sign`: 0 or
 * DJS_FP_SIGN. */
u64 djs_fp_rounded(u64 sign, s64 exponent, u64 significand);

u64 djs_fp_add(u64 a, u64 b);
u64 djs_fp_sub(u64 a, u64 b);
u64 djs_fp_mul(u64 a, u64 b);
u64 djs_fp_div(u64 a, u64 b);
/* a - n * b, where n is the whole number nearest to a / b: remainder() of C. */
u64 djs_fp_rem(u64 a, u64 b);
u64 djs_fp_sqrt(u64 a);
/* False if one of them is no number. */
bool djs_fp_eq(u64 a, u64 b);
bool djs_fp_lt(u64 a, u64 b);
bool djs_fp_le(u64 a, u64 b);

enum djs_fp_mode {
	DJS_FP_NEAREST_EVEN,
	DJS_FP_TO_ZERO,
	DJS_FP_DOWN,
	DJS_FP_UP,
	DJS_FP_NEAREST_AWAY, /* halves: away from zero */
};
/* Rounded by enum djs_fp_mode; another one is DJS_FP_TO_ZERO. The nearest long for what is out of
 * range, 0 for what is no number. */
s64 djs_fp_to_long(u64 a, s64 mode);
u64 djs_fp_from_long(s64 value);
u64 djs_fp_from_single(u32 single); /* the bits of a float */

/* Writes a number with `precision` digits behind the point, but at least one and as many as fit.
 * Halves of the last digit are rounded away from zero. Returns the length. `size` is at least 16.
 */
size_t djs_fp_to_text(char *out, size_t size, u64 a, s64 precision, struct djs_fp_work *work);
/* Reads [+-]DIGITS[.DIGITS][e[+-]DIGITS], of which any part may be missing; false: it is not that.
 */
bool djs_fp_from_text(u64 *result, const char *text, struct djs_fp_work *work);
#ifdef __cplusplus
}
#endif

#endif
