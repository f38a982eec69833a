// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Text as a literal of C would have it: text_str(), text_strn(), string_quoted().
 */
#include "include/text.h"

#define LONGEST_PIECE 10 /* \U0001F600 */

/* What is left to be read and written, and what may be taken back. */
struct escaping {
	const char *in;
	size_t in_left;
	char *out;
	size_t room; /* characters, without the quotes and the end */
	/* The first piece that "..." behind the text would cut into, once that is written. */
	char *cut;
	size_t cut_bytes;
};

/* The bytes of the sequence that a character of UTF-8 begins with; 1: it is none. */
static DJS_HANDLER_CODE size_t sequence_bytes(u8 first)
{
	if ((first & 0xe0) == 0xc0)
		return 2;
	if ((first & 0xf0) == 0xe0)
		return 3;
	return (first & 0xf8) == 0xf0 ? 4 : 1;
}

/* Neither a surrogate, nor out of Unicode's range, nor encoded longer than it had to be. */
static DJS_HANDLER_CODE bool is_character(u32 code, size_t bytes)
{
	static const u32 least[] = {0, 0, 0x80, 0x800, 0x10000};

	return code >= least[bytes] && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
}

/* A character of several bytes in `code`, and how many; else one byte. */
static DJS_HANDLER_CODE size_t decode(const char *in, size_t left, u32 *code)
{
	u8 first = (u8)in[0];
	size_t bytes = sequence_bytes(first);
	size_t i;

	*code = first;
	if (bytes == 1 || bytes > left)
		return 1;
	*code = first & (0x7f >> bytes);
	for (i = 1; i < bytes && ((u8)in[i] & 0xc0) == 0x80; i++)
		*code = *code << 6 | ((u8)in[i] & 0x3f);
	if (i == bytes && is_character(*code, bytes))
		return bytes;
	*code = first;
	return 1;
}

static DJS_HANDLER_CODE size_t put_hex_digits(char *to, char letter, u32 code, size_t digits)
{
	size_t i;

	to[0] = '\\';
	to[1] = letter;
	for (i = 0; i < digits; i++)
		to[2 + i] = "0123456789ABCDEF"[code >> (4 * (digits - 1 - i)) & 15];
	return 2 + digits;
}

/* How a character is written; yields its length. */
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

/* True when there is more than was written. */
static DJS_HANDLER_CODE bool escape_all(struct escaping *e)
{
	while (e->in_left > 0) {
		char piece[LONGEST_PIECE];
		size_t bytes, read;
		u32 code;

		if (!*e->in)
			return false;
		if (e->room == 0)
			return true;
		read = decode(e->in, e->in_left, &code);
		bytes = put_piece(piece, code, read == 1);
		e->in += read;
		e->in_left -= read;
		if (bytes > 1 && !e->cut && e->room < bytes + 3) {
			e->cut = e->out;
			e->cut_bytes = bytes;
		}
		if (bytes > e->room)
			return e->in_left > 0;
		memcpy(e->out, piece, bytes);
		e->out += bytes;
		e->room -= bytes;
	}
	return false;
}

DJS_HANDLER_CODE size_t djs_text_escape(char *out, const char *in, size_t most, size_t size,
					bool quoted)
{
	struct escaping e = {in, size - 1, out, most && most < size ? most : size - 1, NULL, 0};
	bool more;

	if (quoted) {
		e.room = (e.room < 5 ? 5 : e.room) - 2;
		*e.out++ = '"';
	}
	more = escape_all(&e);
	if (quoted && more) {
		/* "..." takes the place of the last three characters, or of a piece that it cuts.
		 */
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
