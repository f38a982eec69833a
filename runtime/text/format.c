// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * printf of the language: one source for the kernel and for readers.
 */
#include "include/text.h"
#include "include/record.h"
#include "include/symbols.h"
#include "include/words.h"
#include "text/sink.h"

/* The widest possible field, whatever a script's "*" says: SystemTap's print buffer. */
#define MAX_FIELD 8192

struct spec {
	bool left, plus, space, alternate, zero;
	s32 width;     /* -1: none */
	s32 precision; /* -1: none */
	char conversion;
};

/* The remaining arguments. */
struct arguments {
	const char *types;
	const char *at;
	const char *end;
};

static DJS_HANDLER_CODE bool take_long(struct arguments *args, s64 *value)
{
	if (*args->types != 'l' || (size_t)(args->end - args->at) < sizeof(*value))
		return false;
	memcpy(value, args->at, sizeof(*value));
	args->at += sizeof(*value);
	args->types++;
	return true;
}

static DJS_HANDLER_CODE bool take_text(struct arguments *args, const char **text, size_t *length)
{
	size_t left = (size_t)(args->end - args->at);
	size_t used;
	u32 bytes;

	if (*args->types == 'n') {
		if (left < DJS_NAME_BYTES)
			return false;
		*text = args->at;
		for (bytes = 0; bytes < DJS_NAME_BYTES && args->at[bytes];)
			bytes++;
		*length = bytes;
		args->at += DJS_NAME_BYTES;
		args->types++;
		return true;
	}
	if ((*args->types != 's' && !djs_is_symbols(*args->types)) || left < sizeof(bytes))
		return false;
	memcpy(&bytes, args->at, sizeof(bytes));
	if (bytes > left - sizeof(bytes))
		return false;
	*text = args->at + sizeof(bytes);
	*length = bytes;
	/* The padding of the last argument may be missing. */
	used = (size_t)DJS_ALIGN8(sizeof(bytes) + (u64)bytes);
	args->at += used < left ? used : left;
	args->types++;
	return true;
}

static DJS_HANDLER_CODE bool take_histogram(struct arguments *args, struct sink *sink)
{
	size_t left = (size_t)(args->end - args->at);
	struct djs_histogram_header header;

	if (*args->types != 'h' || left < sizeof(header))
		return false;
	memcpy(&header, args->at, sizeof(header));
	if ((left - sizeof(header)) / sizeof(s64) < header.buckets)
		return false;
	left = sizeof(header) + (size_t)header.buckets * sizeof(s64);
	if (!djs_text_histogram(sink, args->at, left))
		return false;
	args->at += left;
	args->types++;
	return true;
}

/* Only the lower half of an argument is used, and negative values become 0. */
static DJS_HANDLER_CODE s32 clamp_field(s64 value)
{
	s32 field = (s32)(u32)value;

	return field < 0 ? 0 : field > MAX_FIELD ? MAX_FIELD : field;
}

/* Reads a number of the format, or the next argument for "*". */
static DJS_HANDLER_CODE bool read_field(const char **format, struct arguments *args, s64 *value)
{
	const char *at = *format;

	if (*at == '*') {
		*format = at + 1;
		return take_long(args, value);
	}
	for (*value = 0; *at >= '0' && *at <= '9'; at++)
		if (*value <= MAX_FIELD)
			*value = *value * 10 + (*at - '0');
	*format = at;
	return true;
}

static DJS_HANDLER_CODE const char *read_flags(const char *format, struct spec *spec)
{
	for (;; format++) {
		switch (*format) {
		case '-':
			spec->left = true;
			break;
		case '+':
			spec->plus = true;
			break;
		case ' ':
			spec->space = true;
			break;
		case '#':
			spec->alternate = true;
			break;
		case '0':
			spec->zero = true;
			break;
		default:
			return format;
		}
	}
}

/* Parses what follows a '%'. Returns false if an argument is missing. */
static DJS_HANDLER_CODE bool read_spec(const char **format, struct arguments *args,
				       struct spec *spec)
{
	const char *at;
	s64 value;

	memset(spec, 0, sizeof(*spec));
	spec->width = -1;
	spec->precision = -1;
	at = read_flags(*format, spec);
	if (*at == '*' || (*at >= '1' && *at <= '9')) {
		if (!read_field(&at, args, &value))
			return false;
		spec->width = clamp_field(value);
	}
	if (*at == '.') {
		at++;
		if (!read_field(&at, args, &value))
			return false;
		spec->precision = clamp_field(value);
	}
	while (*at == 'l')
		at++;
	spec->conversion = *at;
	*format = *at ? at + 1 : at;
	return true;
}

static DJS_HANDLER_CODE size_t padding(const struct spec *spec, size_t length)
{
	return spec->width > 0 && (size_t)spec->width > length ? (size_t)spec->width - length : 0;
}

static DJS_HANDLER_CODE void put_text(struct sink *sink, const struct spec *spec, const char *text,
				      size_t length)
{
	size_t pad = padding(spec, length);

	if (!spec->left)
		sink_fill(sink, ' ', pad);
	sink_bytes(sink, text, length);
	if (spec->left)
		sink_fill(sink, ' ', pad);
}

/* Writes sign or base, zeros, and digits, like SystemTap. Unlike C's printf, 0 always has its
 * digit, the base is written for 0 as well and in addition to the zeros of a precision, and a flag
 * 0 fills the width whatever the precision. */
static DJS_HANDLER_CODE void put_number(struct sink *sink, const struct spec *spec, u64 value,
					u32 base, const char *prefix)
{
	char digits[DJS_DIGITS];
	const char *alphabet = spec->conversion == 'X' ? "0123456789ABCDEF" : "0123456789abcdef";
	const char *first = digits_before(digits + sizeof(digits), value, base, alphabet);
	size_t count = (size_t)(digits + sizeof(digits) - first);
	size_t prefixed = prefix[0] ? (prefix[1] ? 2 : 1) : 0;
	size_t zeroes = 0;
	size_t pad;

	if (spec->precision >= 0 && (size_t)spec->precision > count)
		zeroes = (size_t)spec->precision - count;
	pad = padding(spec, prefixed + zeroes + count);
	if (spec->zero && !spec->left) {
		zeroes += pad;
		pad = 0;
	}
	if (!spec->left)
		sink_fill(sink, ' ', pad);
	sink_bytes(sink, prefix, prefixed);
	sink_fill(sink, '0', zeroes);
	sink_bytes(sink, first, count);
	if (spec->left)
		sink_fill(sink, ' ', pad);
}

static DJS_HANDLER_CODE void put_signed(struct sink *sink, const struct spec *spec, s64 value)
{
	if (value < 0)
		put_number(sink, spec, 0 - (u64)value, 10, "-");
	else
		put_number(sink, spec, (u64)value, 10, spec->plus ? "+" : spec->space ? " " : "");
}

static DJS_HANDLER_CODE void put_hex(struct sink *sink, const struct spec *spec, u64 value)
{
	const char *prefix = "";

	if (spec->conversion == 'p')
		prefix = "0x";
	else if (spec->alternate)
		prefix = spec->conversion == 'X' ? "0X" : "0x";
	put_number(sink, spec, value, 16, prefix);
}

/* %c; with '#', as C would write it in single quotes. */
static DJS_HANDLER_CODE void put_char(struct sink *sink, const struct spec *spec, u8 c)
{
	static const char named[] = "\aa\bb\tt\nn\vv\ff\rr''\\\\";
	char text[4] = {(char)c};
	size_t i;

	if (!spec->alternate) {
		put_text(sink, spec, text, 1);
		return;
	}
	for (i = 0; i + 1 < sizeof(named); i += 2) {
		if (named[i] == (char)c) {
			text[0] = '\\';
			text[1] = named[i + 1];
			put_text(sink, spec, text, 2);
			return;
		}
	}
	if (c >= ' ' && c < 0x7f) {
		put_text(sink, spec, text, 1);
		return;
	}
	text[0] = '\\';
	text[1] = (char)('0' + (c >> 6));
	text[2] = (char)('0' + (c >> 3 & 7));
	text[3] = (char)('0' + (c & 7));
	put_text(sink, spec, text, 4);
}

static DJS_HANDLER_CODE bool is_number_size(s32 bytes)
{
	return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
}

/* %b: the bytes of the number in the machine's byte order. The precision gives their number, or the
 * width; zero bytes fill the rest of the width. */
static DJS_HANDLER_CODE void put_binary(struct sink *sink, const struct spec *spec, s64 value)
{
	s32 bytes = sizeof(value);
	size_t pad;

	if (is_number_size(spec->precision))
		bytes = spec->precision;
	else if (is_number_size(spec->width))
		bytes = spec->width;
	pad = padding(spec, (size_t)bytes);
	if (!spec->left)
		sink_fill(sink, 0, pad);
	sink_bytes(sink, (const char *)&value, (size_t)bytes);
	if (spec->left)
		sink_fill(sink, 0, pad);
}

/* %M: two digits per byte. */
static DJS_HANDLER_CODE void put_dump(struct sink *sink, const struct spec *spec, const char *bytes,
				      size_t count)
{
	size_t pad = padding(spec, 2 * count);
	size_t i;

	if (!spec->left)
		sink_fill(sink, ' ', pad);
	for (i = 0; i < count; i++) {
		sink_char(sink, "0123456789abcdef"[(u8)bytes[i] >> 4]);
		sink_char(sink, "0123456789abcdef"[bytes[i] & 15]);
	}
	if (spec->left)
		sink_fill(sink, ' ', pad);
}

static DJS_HANDLER_CODE bool put_string(struct sink *sink, const struct spec *spec,
					struct arguments *args)
{
	const char *text;
	size_t length;

	if (!take_text(args, &text, &length))
		return false;
	/* A memory argument is as long as what is to be shown. */
	if (spec->conversion == 's' && spec->precision >= 0 && (size_t)spec->precision < length)
		length = (size_t)spec->precision;
	if (spec->conversion == 'M')
		put_dump(sink, spec, text, length);
	else
		put_text(sink, spec, text, length);
	if (spec->zero && !spec->left) /* like SystemTap */
		sink_char(sink, 0);
	return true;
}

/* The digits of an address of a stack, after "0x". */
static DJS_HANDLER_CODE char *address_digits(char *end, const char *address)
{
	u64 value;

	memcpy(&value, address, sizeof(value));
	return digits_before(end, djs_word_address(value), 16, "0123456789abcdef");
}

/* The text of a stack: its addresses, separated by spaces. */
static DJS_HANDLER_CODE size_t stack_length(const char *at, u64 count)
{
	char digits[DJS_DIGITS];
	size_t length = count ? 3 * (size_t)count - 1 : 0;
	u64 i;

	for (i = 0; i < count; i++)
		length += (size_t)(digits + sizeof(digits) -
				   address_digits(digits + sizeof(digits), at + i * sizeof(u64)));
	return length;
}

/* Writes the first `most` bytes of it. */
static DJS_HANDLER_CODE void put_addresses(struct sink *sink, const char *at, u64 count,
					   size_t most)
{
	char word[3 + DJS_DIGITS];
	char *end = word + sizeof(word);
	u64 i;

	for (i = 0; i < count && most; i++) {
		char *first = address_digits(end, at + i * sizeof(u64));
		size_t length;

		*--first = 'x';
		*--first = '0';
		if (i)
			*--first = ' ';
		length = (size_t)(end - first);
		if (length > most)
			length = most;
		sink_bytes(sink, first, length);
		most -= length;
	}
}

/* %s of a stack. */
static DJS_HANDLER_CODE bool put_stack(struct sink *sink, const struct spec *spec,
				       struct arguments *args)
{
	size_t left = (size_t)(args->end - args->at), length, pad;
	const char *at = args->at + sizeof(u64);
	u64 count;

	if (left < sizeof(count))
		return false;
	memcpy(&count, args->at, sizeof(count));
	if ((left - sizeof(count)) / sizeof(u64) < count)
		return false;
	args->at += (1 + count) * sizeof(u64);
	args->types++;
	length = stack_length(at, count);
	if (spec->precision >= 0 && (size_t)spec->precision < length)
		length = (size_t)spec->precision;
	pad = padding(spec, length);
	if (!spec->left)
		sink_fill(sink, ' ', pad);
	put_addresses(sink, at, count, length);
	if (spec->left)
		sink_fill(sink, ' ', pad);
	if (spec->zero && !spec->left) /* like SystemTap */
		sink_char(sink, 0);
	return true;
}

static DJS_HANDLER_CODE bool put_integer(struct sink *sink, const struct spec *spec,
					 struct arguments *args)
{
	s64 value;

	if (!take_long(args, &value))
		return false;
	switch (spec->conversion) {
	case 'd':
	case 'i':
		put_signed(sink, spec, value);
		break;
	case 'u':
		put_number(sink, spec, (u64)value, 10, "");
		break;
	case 'o':
		put_number(sink, spec, (u64)value, 8, spec->alternate ? "0" : "");
		break;
	case 'c':
		put_char(sink, spec, (u8)value);
		break;
	case 'b':
		put_binary(sink, spec, value);
		break;
	default:
		put_hex(sink, spec, (u64)value);
	}
	return true;
}

static DJS_HANDLER_CODE bool put_conversion(struct sink *sink, const struct spec *spec,
					    struct arguments *args)
{
	switch (spec->conversion) {
	case '%':
		sink_char(sink, '%');
		return true;
	case 's':
		if (*args->types == 'k')
			return put_stack(sink, spec, args);
		return put_string(sink, spec, args);
	case 'm':
	case 'M':
		return put_string(sink, spec, args);
	case 'd':
	case 'i':
	case 'u':
	case 'o':
	case 'x':
	case 'X':
	case 'p':
	case 'c':
	case 'b':
		return put_integer(sink, spec, args);
	case 'H':
		return take_histogram(args, sink);
	default:
		return false;
	}
}

DJS_HANDLER_CODE size_t djs_format(char *out, size_t size, const char *format, const char *types,
				   const void *args, size_t args_bytes)
{
	struct arguments arguments = {types ? types : "", args, args};
	struct sink sink;
	struct spec spec;

	if (args)
		arguments.end += args_bytes;
	sink_open(&sink, out, size);
	while (format && *format) {
		const char *literal = format;

		while (*format && *format != '%')
			format++;
		sink_bytes(&sink, literal, (size_t)(format - literal));
		if (!*format)
			break;
		format++;
		if (!read_spec(&format, &arguments, &spec) ||
		    !put_conversion(&sink, &spec, &arguments))
			break;
	}
	return sink_close(&sink, size);
}
