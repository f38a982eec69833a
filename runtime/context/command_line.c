// SPDX-License-Identifier: GPL-2.0-or-later
// Searches the arguments and the environment of the current process, which are as many and as long
// as the process likes: in pieces, and not beyond a number of bytes.
#include "access/access.h"
#include "include/functions.h"
#include "include/text.h"
#include "state/state.h"

#define SEARCHED_BYTES (128 << 10) /* the length of the longest argument (MAX_ARG_STRLEN) */
#define SEARCHED_PIECE 256

/* Strings that follow one another up to `end`, each with its NUL; the last one may lack it. */
struct strings {
	u64 at, end;
	bool whole; /* what ends here ends because of `end` */
};

static DJS_HANDLER_CODE struct strings strings_between(u64 address, u64 end)
{
	bool whole = end <= address || end - address <= SEARCHED_BYTES;

	return (struct strings){address, whole ? end : address + SEARCHED_BYTES, whole};
}

/* Reads the next bytes into the work area and returns their number; 0 at the end, and in front of a
 * page that is not in memory. */
static DJS_HANDLER_CODE u32 next_piece(struct djs_ctx *ctx, struct strings *strings)
{
	u32 bytes = SEARCHED_PIECE;

	if (strings->at >= strings->end)
		return 0;
	bytes = min_t(u64, bytes, strings->end - strings->at);
	bytes = min_t(u64, bytes, PAGE_SIZE - (strings->at & (PAGE_SIZE - 1)));
	if (!djs_read_bytes(ctx->work, strings->at, bytes, true)) {
		strings->whole = false;
		return 0;
	}
	strings->at += bytes;
	return bytes;
}

/* Appends what fits of `bytes` bytes; returns the new length. */
static DJS_HANDLER_CODE u32 append(char *out, u32 length, const char *from, u32 bytes)
{
	bytes = min_t(u32, bytes, djs_script.string_bytes - 1 - length);
	memcpy(out + length, from, bytes);
	return length + bytes;
}

static DJS_HANDLER_CODE u32 bytes_before_nul(const char *text, u32 bytes)
{
	const char *nul = memchr(text, 0, bytes);

	return nul ? nul - text : bytes;
}

/* The strings from number `first` to number `last` (negative: all), with the delimiter between
 * them. Behind a delimiter, an empty one is "". One that cannot be read up to its end is left out,
 * with all that follow. */
DJS_HANDLER_CODE void djs_fn___user_strings(struct djs_ctx *ctx, char *out, s64 address, s64 end,
					    s64 first, s64 last, const char *delimiter)
{
	struct strings strings = strings_between(address, end);
	u32 room = djs_script.string_bytes - 1, length = 0, complete = 0, bytes, at, part;
	s64 number = 0;
	bool begins = true, done;

	first = max_t(s64, first, 0);
	done = last >= 0 && first > last;
	while (!done && (bytes = next_piece(ctx, &strings)))
		for (at = 0; at < bytes && !done; at += part + 1) {
			if (begins && number > first)
				length =
				    append(out, length, delimiter, djs_text_length_here(delimiter));
			part = bytes_before_nul(ctx->work + at, bytes - at);
			if (!part && begins && number > first)
				length = append(out, length, "\"\"", 2);
			if (number >= first)
				length = append(out, length, ctx->work + at, part);
			begins = at + part < bytes;
			if (begins) {
				complete = length;
				done = number == last;
				number++;
			}
			if (length == room) {
				complete = length;
				done = true;
			}
		}
	out[done || strings.whole ? length : complete] = 0;
}

/* What follows NAME= in the first of the strings that begins with it; "" if there is none. */
DJS_HANDLER_CODE void djs_fn___user_variable(struct djs_ctx *ctx, char *out, s64 address, s64 end,
					     const char *name)
{
	struct strings strings = strings_between(address, end);
	u32 name_length = djs_text_length_here(name), length = 0, bytes, at;
	u32 matched =
	    0; /* of the name and the equals sign; behind them: the string is the variable */
	bool differs = false, done = false;

	while (!done && (bytes = next_piece(ctx, &strings)))
		for (at = 0; at < bytes && !done; at++) {
			const char *next = ctx->work + at;

			if (differs || matched > name_length) {
				u32 part = bytes_before_nul(next, bytes - at);

				if (!differs)
					length = append(out, length, next, part);
				at += part;
				if (at == bytes)
					break;
				done = !differs;
				differs = false;
				matched = 0;
			} else if (*next == (matched < name_length ? name[matched] : '=')) {
				matched++;
			} else {
				differs = *next;
				matched = 0;
			}
		}
	out[done || strings.whole || length == djs_script.string_bytes - 1 ? length : 0] = 0;
}
