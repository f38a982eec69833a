// SPDX-License-Identifier: GPL-2.0-or-later
/* Strings of JSON. */
#include "include/text.h"
#include "text/utf8.h"

#define LONGEST_JSON_PIECE 6 /* \u001B */

/* Writes what stands for `bytes` bytes, which are one character, and returns its length. `code` is
 * the character, or the byte if there is none that begins with it. */
static DJS_HANDLER_CODE size_t put_json_piece(char *to, const char *in, size_t bytes, u32 code)
{
	if (bytes == 1 && code >= 0x80) {
		memcpy(to, "\\ufffd", 6);
		return 6;
	}
	if (code == '"' || code == '\\' || code == '\n' || code == '\t') {
		to[0] = '\\';
		to[1] = code == '\n' ? 'n' : code == '\t' ? 't' : (char)code;
		return 2;
	}
	if (code < 0x20 || code == 0x7f) {
		memcpy(to, "\\u00", 4);
		to[4] = (char)('0' + (code >> 4));
		to[5] = "0123456789abcdef"[code & 15];
		return 6;
	}
	memcpy(to, in, bytes);
	return bytes;
}

DJS_HANDLER_CODE size_t djs_text_json(char *out, const char *in, size_t size)
{
	size_t left = djs_text_length_here(in), length = 0, bytes, read;
	char piece[LONGEST_JSON_PIECE];
	u32 code;

	out[length++] = '"';
	for (; left; in += read, left -= read) {
		read = djs_decode_utf8(in, left, &code);
		bytes = put_json_piece(piece, in, read, code);
		if (bytes > size - 2 - length) /* the quote and the NUL */
			break;
		memcpy(out + length, piece, bytes);
		length += bytes;
	}
	out[length++] = '"';
	out[length] = 0;
	return length;
}
