/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Characters in UTF-8. */
#ifndef DJSTAP_UTF8_H
#define DJSTAP_UTF8_H

#include "include/platform.h"

/* Returns the length of the UTF-8 sequence that `first` begins; 1: none. */
static DJS_HANDLER_CODE inline size_t djs_sequence_bytes(u8 first)
{
	if ((first & 0xe0) == 0xc0)
		return 2;
	if ((first & 0xf0) == 0xe0)
		return 3;
	return (first & 0xf8) == 0xf0 ? 4 : 1;
}

/* Not a surrogate, within Unicode's range, and in its shortest encoding. */
static DJS_HANDLER_CODE inline bool djs_is_character(u32 code, size_t bytes)
{
	static const u32 least[] = {0x80, 0x800, 0x10000}; /* of two bytes and more */

	return code >= least[bytes - 2] && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
}

/* Decodes a character of several bytes, of `left` bytes, into `code` and returns their number; else
 * 1, for one byte. */
static DJS_HANDLER_CODE inline size_t djs_decode_utf8(const char *in, size_t left, u32 *code)
{
	u8 first = (u8)in[0];
	size_t bytes = djs_sequence_bytes(first);
	size_t i;

	*code = first;
	if (bytes == 1 || bytes > left)
		return 1;
	*code = first & (0x7f >> bytes);
	for (i = 1; i < bytes && ((u8)in[i] & 0xc0) == 0x80; i++)
		*code = *code << 6 | ((u8)in[i] & 0x3f);
	if (i == bytes && djs_is_character(*code, bytes))
		return bytes;
	*code = first;
	return 1;
}

#endif
