/* SPDX-License-Identifier: GPL-2.0-or-later
 * Statistics (<<<): count, sum, min, max, variance, histograms. Portable.
 */
#ifndef DJSTAP_STATISTIC_H
#define DJSTAP_STATISTIC_H

#include "include/contract.h"

enum djs_histogram_kind {
	DJS_HISTOGRAM_NONE = 0,
	DJS_HISTOGRAM_LOG,
	DJS_HISTOGRAM_LINEAR,
};

/* LOG: bucket 64 holds 0; bucket 64+n holds 2^(n-1) … 2^n-1; bucket 64-n their negatives. */
#define DJS_LOG_BUCKETS 128
#define DJS_LOG_ZERO	64

/* All zero: empty. min and max are valid only when count > 0. */
struct djs_statistic {
	s64 count;
	s64 sum;
	s64 min;
	s64 max;
	s64 mean;      /* of the values shifted left by variance_shift (Welford) */
	s64 m2;	       /* sum of squared distances from the mean, likewise shifted */
	s64 buckets[]; /* shape->buckets */
};

#ifdef __cplusplus
extern "C" {
#endif
/* Returns the bytes of one element of this shape. */
u32 djs_statistic_bytes(const struct djs_statistic_shape *shape);
/* Returns the bucket of `value`, in [0, shape->buckets). */
u32 djs_statistic_bucket(const struct djs_statistic_shape *shape, s64 value);
/* s <<< value. The caller excludes other writers (with a lock, or by using its own CPU's copy
 * and handling interrupts). A concurrent merge sees nothing of the value, or part of it without
 * its count, or all of it; if the statistic is emptied meanwhile, it sees any part of the old
 * content. */
void djs_statistic_add(const struct djs_statistic_shape *shape, struct djs_statistic *s, s64 value);
void djs_statistic_empty(const struct djs_statistic_shape *shape, struct djs_statistic *s);
/* into += from, for reads of per-CPU copies: `from` may change concurrently. */
void djs_statistic_merge(const struct djs_statistic_shape *shape, struct djs_statistic *into,
			 const struct djs_statistic *from);
/* Returns sum / count, rounded toward zero; 0 when empty: the value of @avg. */
s64 djs_statistic_avg(const struct djs_statistic *s);
/* A histogram argument of a record (record.h): header and all buckets. `s` NULL: an empty one. */
struct djs_histogram_header;
void djs_histogram_store(struct djs_histogram_header *out, const struct djs_statistic_shape *shape,
			 const struct djs_statistic *s);
/* Returns the value of @variance: 0 for fewer than two values. */
s64 djs_statistic_variance(const struct djs_statistic_shape *shape, const struct djs_statistic *s);
#ifdef __cplusplus
}
#endif
#endif
