/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Formats records as text, byte for byte the same in the kernel (sprintf, kernel log) and in the
 * reader. Portable; no allocation, no locale, no floating point. */
#ifndef DJSTAP_TEXT_H
#define DJSTAP_TEXT_H

#include "include/platform.h"

#ifdef __cplusplus
extern "C" {
#endif
/*
 * Writes `format` with the arguments `args` (laid out as in a record: record.h; `types` has one
 * letter each: l, s, n, k, h) to `out`, at most `size` bytes with a terminating NUL. Returns the
 * length written, or with size 0 the length it would have (without NUL). The format is the
 * script's, checked by the compiler: %[-+ 0#][width|*][.precision|*]conversion with d i u o x X p s
 * c m M b and H (a histogram argument); %% is a percent sign. Numbers are 64 bits wide. A malformed
 * argument area ends the output; nothing outside `args`…`args + args_bytes` is read.
 */
size_t djs_format(char *out, size_t size, const char *format, const char *types, const void *args,
		  size_t args_bytes);

/*
 * Formats a histogram as text: one line per bucket, value |@@@@ count, runs of empty buckets as ~.
 */
size_t djs_format_histogram(char *out, size_t size, const void *header, size_t bytes);

/* String functions of the language. Each writes at most `size` bytes with the NUL. */
size_t djs_text_copy(char *out, const char *in, size_t size); /* returns the length written */
size_t djs_text_concat(char *out, const char *a, const char *b, size_t size);
/* Puts a site's function, file and line where `shape` has these characters; the length written. */
#define DJS_POINT_FUNCTION '\1'
#define DJS_POINT_FILE	   '\2'
#define DJS_POINT_LINE	   '\3'
size_t djs_text_point(char *out, size_t size, const char *shape, const char *function,
		      const char *file, u32 line);
size_t djs_text_length(const char *in);
/* The same without a call, for sources that may be compiled apart from its own. */
static inline size_t djs_text_length_here(const char *in)
{
	size_t length = 0;

	if (in)
		while (in[length])
			length++;
	return length;
}
int djs_text_compare(const char *a, const char *b); /* like strcmp: -1, 0, 1 */
size_t djs_text_substr(char *out, size_t size, const char *in, s64 start, s64 length);
/* The position of the first one, or -1; in time that is linear in the lengths. */
s64 djs_text_find(const char *haystack, const char *needle);
/* Copies `text` with each `old` replaced; what does not fit is left out. The length written. Takes
 * time that is linear in the lengths, too. */
size_t djs_text_replace(char *out, size_t size, const char *text, const char *old,
			const char *new_text);
/* Copies the first token of `text` from `at` on, which `out` has room for. Returns where it ends.
 */
size_t djs_text_token(char *out, const char *text, size_t at, const char *delimiters);
s64 djs_text_to_long(const char *in, s64 base); /* strtol */
/* Escapes a string as in C, UTF-8 as \u and \U: at most `most` characters (0: as many as fit),
 * quotes included. `size` is at least 16. A quoted string that is truncated is followed by
 * "...". */
size_t djs_text_escape(char *out, const char *in, size_t most, size_t size, bool quoted);
/* The same for a number of bytes, NUL bytes included, always quoted. */
size_t djs_text_escape_buffer(char *out, const char *in, size_t bytes, size_t most, size_t size);
/* Writes the text as a string of JSON, quotes included, of ASCII controls as \u001b and of bytes
 * that are no UTF-8 as \ufffd; what does not fit is left out from a whole character on. `size` is
 * at least 3. */
size_t djs_text_json(char *out, const char *in, size_t size);
#ifdef __cplusplus
}
#endif
#endif
