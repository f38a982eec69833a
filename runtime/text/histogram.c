// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Formats histograms as text, in SystemTap's layout: one row per bucket, with bars of at most 50
 * characters.
 */
#include "include/text.h"
#include "include/record.h"
#include "include/statistic.h"
#include "text/sink.h"

#define BAR_WIDTH 50
/* Empty buckets that stay visible at either end of an empty run; one "~" replaces the others. */
#define SHOWN_EMPTY 2
#define LABEL_BYTES (DJS_DIGITS + 2)

struct histogram {
	struct djs_histogram_header header;
	const char *buckets; /* may not be aligned */
	u32 first, last;     /* the range that is shown */
	s64 scale;	     /* hits per character of a bar */
	u32 label_width, count_width;
};

static DJS_HANDLER_CODE s64 bucket_count(const struct histogram *h, u32 bucket)
{
	s64 count;

	memcpy(&count, h->buckets + (size_t)bucket * sizeof(count), sizeof(count));
	return count;
}

/* Formats `value` in decimal before `end`, preceded by `sign` (0: only a minus). Returns its
 * beginning. */
static DJS_HANDLER_CODE char *decimal(char *end, s64 value, char sign)
{
	char *first = digits_before(end, value < 0 ? 0 - (u64)value : (u64)value, 10, "");

	if (value < 0)
		*--first = '-';
	if (sign)
		*--first = sign;
	return first;
}

/* Returns the smallest value of a bucket of a linear histogram. */
static DJS_HANDLER_CODE s64 bound(const struct histogram *h, u32 bucket)
{
	return (s64)((u64)h->header.low + (u64)(bucket - 1) * (u64)h->header.width);
}

/* Writes a bucket's label before `end`: its lower bound; for the overflow bucket of a linear
 * histogram, the lower bound of the last bucket. */
static DJS_HANDLER_CODE char *label(const struct histogram *h, u32 bucket, char *end)
{
	const struct djs_histogram_header *header = &h->header;

	if (header->kind == DJS_HISTOGRAM_LOG) {
		s64 bits = (s64)bucket - DJS_LOG_ZERO;

		if (bits == 0)
			return decimal(end, 0, 0);
		if (bits > 0)
			return decimal(end, (s64)(1ull << (bits - 1)), 0);
		return decimal(end, (s64)(0 - (1ull << (-bits - 1))), 0);
	}
	if (bucket == 0)
		return decimal(end, header->low, '<');
	if (bucket == header->buckets - 1)
		return decimal(end, bound(h, bucket - 1), '>');
	return decimal(end, bound(h, bucket), 0);
}

/* The underflow and overflow buckets of a linear histogram are not part of it: they are shown only
 * when they are not empty. */
static DJS_HANDLER_CODE bool outside(const struct histogram *h, u32 bucket)
{
	return h->header.kind == DJS_HISTOGRAM_LINEAR &&
	       (bucket == 0 || bucket == h->header.buckets - 1);
}

/* Finds the range from two buckets before the first nonempty one to two after the last. False: all
 * are empty. */
static DJS_HANDLER_CODE bool find_range(struct histogram *h)
{
	u32 lowest = h->header.kind == DJS_HISTOGRAM_LINEAR ? 1 : 0;
	u32 highest = h->header.buckets - 1 - lowest;
	u32 first = 0;
	u32 last = h->header.buckets - 1;
	s64 most = 0;
	u32 i;

	while (first <= last && bucket_count(h, first) <= 0)
		if (first++ == last)
			return false;
	while (bucket_count(h, last) <= 0)
		last--;
	if (h->header.kind == DJS_HISTOGRAM_LOG && first >= DJS_LOG_ZERO)
		lowest = DJS_LOG_ZERO; /* no negative buckets without negative values */
	for (i = first; i <= last; i++)
		if (bucket_count(h, i) > most)
			most = bucket_count(h, i);
	h->scale = most / BAR_WIDTH + (most % BAR_WIDTH ? 1 : 0);
	h->first = first;
	for (i = 0; i < SHOWN_EMPTY && h->first > lowest; i++)
		h->first--;
	h->last = last;
	for (i = 0; i < SHOWN_EMPTY && h->last < highest; i++)
		h->last++;
	return true;
}

/* Returns the number of consecutive empty buckets from `bucket` on. */
static DJS_HANDLER_CODE u32 empty_run(const struct histogram *h, u32 bucket)
{
	u32 end = bucket;

	while (end <= h->last && bucket_count(h, end) <= 0)
		end++;
	return end - bucket;
}

static DJS_HANDLER_CODE void widen(u32 *width, s64 value, u32 more)
{
	char text[LABEL_BYTES];
	char *end = text + sizeof(text);
	u32 wanted = (u32)(end - decimal(end, value, 0)) + more;

	if (wanted > *width)
		*width = wanted;
}

/* The labels of a linear histogram have room for the bound after the last row, like SystemTap's. */
static DJS_HANDLER_CODE void measure(struct histogram *h)
{
	bool linear = h->header.kind == DJS_HISTOGRAM_LINEAR;
	char text[LABEL_BYTES];
	char *end = text + sizeof(text);
	s64 least = 0, most = 0;
	u32 width;
	u32 i;

	h->label_width = 5; /* "value" */
	h->count_width = 1;
	if (linear) {
		widen(&h->label_width, h->header.low, h->first == 0);
		widen(&h->label_width, bound(h, h->last + 1), h->last == h->header.buckets - 1);
	}
	for (i = h->first; i <= h->last; i++) {
		s64 count = bucket_count(h, i);

		if (!linear) {
			width = (u32)(end - label(h, i, end));
			if (width > h->label_width)
				h->label_width = width;
		}
		if (count < least)
			least = count;
		if (count > most)
			most = count;
	}
	widen(&h->count_width, least, 0);
	widen(&h->count_width, most, 0);
}

static DJS_HANDLER_CODE void put_right(struct sink *sink, const char *text, size_t length,
				       u32 width)
{
	sink_fill(sink, ' ', width > length ? width - length : 0);
	sink_bytes(sink, text, length);
}

static DJS_HANDLER_CODE void put_row(const struct histogram *h, struct sink *sink, u32 bucket)
{
	char text[LABEL_BYTES];
	char *end = text + sizeof(text);
	s64 count = bucket_count(h, bucket);
	size_t bar = count > 0 ? (size_t)(count / h->scale) : 0;
	char *first = label(h, bucket, end);

	put_right(sink, first, (size_t)(end - first), h->label_width);
	sink_bytes(sink, " |", 2);
	sink_fill(sink, '@', bar);
	sink_fill(sink, ' ', BAR_WIDTH - bar + 1);
	first = decimal(end, count, 0);
	put_right(sink, first, (size_t)(end - first), h->count_width);
	sink_char(sink, '\n');
}

static DJS_HANDLER_CODE void put_rows(const struct histogram *h, struct sink *sink)
{
	u32 i = h->first;

	while (i <= h->last && !sink_is_full(sink)) {
		u32 empty = empty_run(h, i);
		u32 end = i + (empty ? empty : 1);

		if (empty > 2 * SHOWN_EMPTY) {
			for (; i < end - empty + SHOWN_EMPTY; i++)
				put_row(h, sink, i);
			put_right(sink, " ~\n", 3, h->label_width + 3);
			i = end - SHOWN_EMPTY;
		}
		for (; i < end; i++)
			if (!outside(h, i) || bucket_count(h, i) > 0)
				put_row(h, sink, i);
	}
}

DJS_HANDLER_CODE int djs_text_histogram(struct sink *sink, const void *data, size_t bytes)
{
	struct histogram h;

	if (!data || bytes < sizeof(h.header))
		return 0;
	memcpy(&h.header, data, sizeof(h.header));
	h.buckets = (const char *)data + sizeof(h.header);
	if ((bytes - sizeof(h.header)) / sizeof(s64) < h.header.buckets)
		return 0;
	if (h.header.kind == DJS_HISTOGRAM_LOG
		? h.header.buckets != DJS_LOG_BUCKETS
		: h.header.kind != DJS_HISTOGRAM_LINEAR || h.header.buckets < 3)
		return 0;
	if (!find_range(&h)) {
		/* Only the header, as for a statistic without values. */
		h.first = 1;
		h.last = 0;
	}
	measure(&h);
	put_right(sink, "value", 5, h.label_width);
	sink_bytes(sink, " |", 2);
	sink_fill(sink, '-', BAR_WIDTH);
	sink_bytes(sink, " count\n", 7);
	put_rows(&h, sink);
	sink_char(sink, '\n');
	return 1;
}

DJS_HANDLER_CODE size_t djs_format_histogram(char *out, size_t size, const void *header,
					     size_t bytes)
{
	struct sink sink;

	sink_open(&sink, out, size);
	djs_text_histogram(&sink, header, bytes);
	return sink_close(&sink, size);
}
