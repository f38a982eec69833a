// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Statistics. All sums wrap around like the kernel's own counters: an overflow yields a wrong
 * number, never undefined behaviour.
 */
#include "include/statistic.h"
#include "include/record.h"

static inline s64 add(s64 a, s64 b)
{
	return (s64)((u64)a + (u64)b);
}

static inline s64 sub(s64 a, s64 b)
{
	return (s64)((u64)a - (u64)b);
}

static inline s64 mul(s64 a, s64 b)
{
	return (s64)((u64)a * (u64)b);
}

static inline s64 shift_left(s64 value, s32 shift)
{
	return (s64)((u64)value << (shift & 63));
}

/* count > 0, so the one division that traps (minimum / -1) cannot occur. */
static inline s64 mean_of(s64 sum, s64 count, s32 shift)
{
	return shift_left(sum, shift) / count;
}

DJS_HANDLER_CODE u32 djs_statistic_bytes(const struct djs_statistic_shape *shape)
{
	u32 buckets = shape->histogram == DJS_HISTOGRAM_NONE ? 0 : shape->buckets;

	return (u32)(sizeof(struct djs_statistic) + (size_t)buckets * sizeof(s64));
}

static DJS_HANDLER_CODE u32 log_bucket(s64 value)
{
	u64 magnitude = value < 0 ? 0 - (u64)value : (u64)value;
	u32 bits;

	if (value == 0)
		return DJS_LOG_ZERO;
	bits = 64 - (u32)__builtin_clzll(magnitude);
	return value < 0 ? DJS_LOG_ZERO - bits : DJS_LOG_ZERO + bits;
}

DJS_HANDLER_CODE u32 djs_statistic_bucket(const struct djs_statistic_shape *shape, s64 value)
{
	u64 bucket;

	if (shape->histogram == DJS_HISTOGRAM_LOG)
		return log_bucket(value);
	if (shape->buckets == 0 || shape->width <= 0 || value < shape->low)
		return 0;
	bucket = ((u64)value - (u64)shape->low) / (u64)shape->width;
	return bucket < shape->buckets - 2 ? (u32)bucket + 1 : shape->buckets - 1;
}

DJS_HANDLER_CODE void djs_statistic_add(const struct djs_statistic_shape *shape,
					struct djs_statistic *s, s64 value)
{
	s64 count = s->count + 1;

	if (count == 1) {
		WRITE_ONCE(s->min, value);
		WRITE_ONCE(s->max, value);
	} else if (value < s->min) {
		WRITE_ONCE(s->min, value);
	} else if (value > s->max) {
		WRITE_ONCE(s->max, value);
	}
	WRITE_ONCE(s->sum, add(s->sum, value));
	if (shape->variance) {
		s64 scaled = shift_left(value, shape->variance_shift);
		s64 delta = sub(scaled, s->mean);
		s64 mean = add(s->mean, delta / count);

		WRITE_ONCE(s->mean, mean);
		WRITE_ONCE(s->m2, add(s->m2, mul(delta, sub(scaled, mean))));
	}
	if (shape->histogram != DJS_HISTOGRAM_NONE && shape->buckets) {
		s64 *bucket = &s->buckets[djs_statistic_bucket(shape, value)];

		WRITE_ONCE(*bucket, *bucket + 1);
	}
	smp_store_release(&s->count, count);
}

DJS_HANDLER_CODE void djs_statistic_empty(const struct djs_statistic_shape *shape,
					  struct djs_statistic *s)
{
	s64 *word = (s64 *)s;
	u32 i;

	for (i = 0; i < djs_statistic_bytes(shape) / sizeof(s64); i++)
		WRITE_ONCE(word[i], 0);
}

/*
 * SystemTap keeps the variance of each CPU's values, an integer, and computes their squared
 * distances from it: the remainder of that division is lost.
 */
static DJS_HANDLER_CODE s64 own_distances(const struct djs_statistic *s)
{
	return s->count < 2 ? 0 : mul(s->m2 / (s->count - 1), s->count - 1);
}

/* Returns what is added to squared distances if they are measured from another mean (Chan et al.).
 */
static DJS_HANDLER_CODE s64 shifted_by(const struct djs_statistic *s, s64 mean)
{
	s64 delta = sub(s->mean, mean);

	return mul(s->count, mul(delta, delta));
}

/* Reads all but the buckets, which may change concurrently: the count is read first, because it is
 * written last. */
static DJS_HANDLER_CODE void see(struct djs_statistic *seen, const struct djs_statistic *s)
{
	seen->count = smp_load_acquire(&s->count);
	seen->sum = READ_ONCE(s->sum);
	seen->min = READ_ONCE(s->min);
	seen->max = READ_ONCE(s->max);
	seen->mean = READ_ONCE(s->mean);
	seen->m2 = READ_ONCE(s->m2);
}

DJS_HANDLER_CODE void djs_statistic_merge(const struct djs_statistic_shape *shape,
					  struct djs_statistic *into,
					  const struct djs_statistic *from)
{
	struct djs_statistic seen;
	u32 i;

	see(&seen, from);
	if (seen.count == 0)
		return;
	if (into->count == 0) {
		into->min = seen.min;
		into->max = seen.max;
		into->mean = seen.mean;
		into->m2 = own_distances(&seen);
	} else {
		if (shape->variance) {
			s64 mean = mean_of(add(into->sum, seen.sum), into->count + seen.count,
					   shape->variance_shift);

			into->m2 = add(add(into->m2, shifted_by(into, mean)),
				       add(own_distances(&seen), shifted_by(&seen, mean)));
			into->mean = mean;
		}
		if (seen.min < into->min)
			into->min = seen.min;
		if (seen.max > into->max)
			into->max = seen.max;
	}
	into->count += seen.count;
	into->sum = add(into->sum, seen.sum);
	if (shape->histogram == DJS_HISTOGRAM_NONE)
		return;
	for (i = 0; i < shape->buckets; i++)
		into->buckets[i] += READ_ONCE(from->buckets[i]);
}

DJS_HANDLER_CODE s64 djs_statistic_avg(const struct djs_statistic *s)
{
	return s->count > 0 ? s->sum / s->count : 0;
}

DJS_HANDLER_CODE s64 djs_statistic_variance(const struct djs_statistic_shape *shape,
					    const struct djs_statistic *s)
{
	s64 distances;

	if (s->count < 2)
		return 0;
	/*
	 * The running mean loses the remainders of integer divisions; SystemTap's @variance
	 * measures the distances from the mean of all values, and its manual has such results as
	 * examples (12 for 1 … 5).
	 */
	distances =
	    add(own_distances(s), shifted_by(s, mean_of(s->sum, s->count, shape->variance_shift)));
	return (distances / (s->count - 1)) >> ((2 * shape->variance_shift) & 63);
}

DJS_HANDLER_CODE void djs_histogram_store(struct djs_histogram_header *out,
					  const struct djs_statistic_shape *shape,
					  const struct djs_statistic *s)
{
	size_t bytes = (size_t)shape->buckets * sizeof(s64);

	out->kind = shape->histogram;
	out->buckets = shape->buckets;
	out->low = shape->low;
	out->high = shape->high;
	out->width = shape->width;
	out->count = s ? s->count : 0;
	out->sum = s ? s->sum : 0;
	out->min = s ? s->min : 0;
	out->max = s ? s->max : 0;
	if (s)
		memcpy(out + 1, s->buckets, bytes);
	else
		memset(out + 1, 0, bytes);
}
