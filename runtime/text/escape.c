// SPDX-License-Identifier: GPL-2.0-or-later
/* Escapes text as in a C literal: text_str(), text_strn(), string_quoted(), user_buffer_quoted().
 */
#include "include/text.h"
#include "text/utf8.h"

#define LONGEST_PIECE 10 /* \U0001F600 */

/* What is left to read and to write, and what may be withdrawn. */
struct escaping {
	const char *in;
	size_t in_left;
	char *out;
	size_t room; /* characters, excluding quotes and terminator */
	/*
	 * The first piece that the "..." behind the string would overlap, once it has been written.
	 */
	char *cut;
	size_t cut_bytes;
	bool nul_ends;
};

static DJS_HANDLER_CODE size_t put_hex_digits(char *to, char letter, u32 code, size_t digits)
{
	size_t i;

	to[0] = '\\';
	to[1] = letter;
	for (i = 0; i < digits; i++)
		to[2 + i] = "0123456789ABCDEF"[code >> (4 * (digits - 1 - i)) & 15];
	return 2 + digits;
}

/* Writes a character in escaped form; returns its length. */
static DJS_HANDLER_CODE size_t put_piece(char *to, u32 code, bool is_byte)
{
	static const char named[] = "\aa\bb\tt\nn\vv\ff\rr\"\"\\\\";
	size_t i;

	if (!is_byte)
		return code > 0xffff ? put_hex_digits(to, 'U', code, 8)
				     : put_hex_digits(to, 'u', code, 4);
	for (i = 0; named[i]; i += 2)
		if ((u8)named[i] == code) {
			to[0] = '\\';
			to[1] = named[i + 1];
			return 2;
		}
	if (code >= 0x20 && code < 0x7f) {
		to[0] = (char)code;
		return 1;
	}
	to[0] = '\\';
	to[1] = (char)('0' + (code >> 6));
	to[2] = (char)('0' + (code >> 3 & 7));
	to[3] = (char)('0' + (code & 7));
	return 4;
}

/* Returns true if not everything was written. */
static DJS_HANDLER_CODE bool escape_all(struct escaping *e)
{
	while (e->in_left > 0) {
		char piece[LONGEST_PIECE];
		size_t bytes, read;
		u32 code;

		if (!*e->in && e->nul_ends)
			return false;
		if (e->room == 0)
			return *e->in;
		read = djs_decode_utf8(e->in, e->in_left, &code);
		bytes = put_piece(piece, code, read == 1);
		e->in += read;
		e->in_left -= read;
		if (bytes > 1 && !e->cut && e->room < bytes + 3) {
			e->cut = e->out;
			e->cut_bytes = bytes;
		}
		if (bytes > e->room)
			return e->in_left > 0 && code;
		memcpy(e->out, piece, bytes);
		e->out += bytes;
		e->room -= bytes;
	}
	return false;
}

static DJS_HANDLER_CODE size_t escape(char *out, struct escaping e, bool quoted)
{
	bool more;

	if (quoted) {
		e.room = (e.room < 5 ? 5 : e.room) - 2;
		*e.out++ = '"';
	}
	more = escape_all(&e);
	if (quoted && more) {
		/* "..." replaces the last three characters, or a piece that it would split. */
		char *end = e.out + e.room - 3;

		e.out = e.cut && e.cut < end && end < e.cut + e.cut_bytes ? e.cut : end;
		memcpy(e.out, "\"...", 4);
		e.out += 4;
	} else if (quoted) {
		*e.out++ = '"';
	}
	*e.out = 0;
	return (size_t)(e.out - out);
}

DJS_HANDLER_CODE size_t djs_text_escape(char *out, const char *in, size_t most, size_t size,
					bool quoted)
{
	struct escaping e = {.in = in,
			     .in_left = size - 1,
			     .out = out,
			     .room = most && most < size ? most : size - 1,
			     .nul_ends = true};

	return escape(out, e, quoted);
}

DJS_HANDLER_CODE size_t djs_text_escape_buffer(char *out, const char *in, size_t bytes, size_t most,
					       size_t size)
{
	struct escaping e = {
	    .in = in, .in_left = bytes, .out = out, .room = most && most < size ? most : size - 1};

	return escape(out, e, true);
}
