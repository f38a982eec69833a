/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The output of text: shared by format.c and histogram.c. Counts what would be written, and writes
 * what fits; a run of any length costs no more than the available room.
 */
#ifndef DJSTAP_TEXT_SINK_H
#define DJSTAP_TEXT_SINK_H

#include "include/platform.h"

struct sink {
	char *out;
	size_t room;   /* excluding the NUL */
	size_t length; /* of the complete text */
};

static inline void sink_open(struct sink *sink, char *out, size_t size)
{
	sink->out = out;
	sink->room = size ? size - 1 : 0;
	sink->length = 0;
}

/* Terminates the text; returns the result of djs_format(). */
static inline size_t sink_close(struct sink *sink, size_t size)
{
	if (!size)
		return sink->length;
	if (sink->length > sink->room)
		sink->length = sink->room;
	sink->out[sink->length] = 0;
	return sink->length;
}

/* Nothing more is written, and how long the complete text is does not matter. */
static inline bool sink_is_full(const struct sink *sink)
{
	return sink->room && sink->length >= sink->room;
}

static inline size_t sink_fits(const struct sink *sink, size_t count)
{
	size_t left = sink->length < sink->room ? sink->room - sink->length : 0;

	return count < left ? count : left;
}

static inline void sink_char(struct sink *sink, char c)
{
	if (likely(sink->length < sink->room))
		sink->out[sink->length] = c;
	sink->length++;
}

static inline void sink_bytes(struct sink *sink, const char *bytes, size_t count)
{
	size_t fits = sink_fits(sink, count);

	if (fits)
		memcpy(sink->out + sink->length, bytes, fits);
	sink->length += count;
}

static inline void sink_fill(struct sink *sink, char c, size_t count)
{
	size_t fits = sink_fits(sink, count);

	if (fits)
		memset(sink->out + sink->length, c, fits);
	sink->length += count;
}

#define DJS_DIGITS 24 /* a 64-bit number in octal, the longest */

/* Writes the digits of `value` backwards, ending before `end`; returns a pointer to the first. */
static inline char *digits_before(char *end, u64 value, u32 base, const char *alphabet)
{
	switch (base) {
	case 8:
		do {
			*--end = (char)('0' + (value & 7));
		} while (value >>= 3);
		break;
	case 16:
		do {
			*--end = alphabet[value & 15];
		} while (value >>= 4);
		break;
	default:
		do {
			*--end = (char)('0' + value % 10);
		} while (value /= 10);
	}
	return end;
}

/*
 * Formats a histogram whose header and buckets are in `bytes` bytes at `data`; returns 0 if they
 * are not.
 */
int djs_text_histogram(struct sink *sink, const void *data, size_t bytes);

#endif
