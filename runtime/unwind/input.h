/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads of unwind information, none of which leaves what was given. */
#ifndef DJSTAP_UNWIND_INPUT_H
#define DJSTAP_UNWIND_INPUT_H

#include "include/unwind.h"

/* A range of .eh_frame, or of .eh_frame_hdr, that is read from its begin to its end. A read behind
 * the end yields 0 and sets `failed`. */
struct input {
	const u8 *at, *end;
	u64 address; /* of `end` */
	bool failed;
};

static inline DJS_HANDLER_CODE u64 address_of(const struct input *input)
{
	return input->address - (u64)(input->end - input->at);
}

static inline DJS_HANDLER_CODE u64 take_bytes(struct input *input, u32 bytes)
{
	u64 value = 0;

	if ((u64)(input->end - input->at) < bytes) {
		input->failed = true;
		input->at = input->end;
		return 0;
	}
	memcpy(&value, input->at, bytes);
	input->at += bytes;
	return value;
}

static inline DJS_HANDLER_CODE void skip(struct input *input, u64 bytes)
{
	if ((u64)(input->end - input->at) < bytes) {
		input->failed = true;
		input->at = input->end;
	} else {
		input->at += bytes;
	}
}

/* A number of seven bits a byte. Numbers of more than 64 bits are damaged. */
static inline DJS_HANDLER_CODE u64 take_leb(struct input *input, bool is_signed)
{
	u64 value = 0;
	u32 shift;

	for (shift = 0; shift < 70; shift += 7) {
		u8 byte = (u8)take_bytes(input, 1);

		if (shift < 64)
			value |= (u64)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			if (is_signed && byte & 0x40 && shift + 7 < 64)
				value |= ~0ull << (shift + 7);
			return value;
		}
	}
	input->failed = true;
	return 0;
}

static inline DJS_HANDLER_CODE u64 take_unsigned(struct input *input)
{
	return take_leb(input, false);
}

static inline DJS_HANDLER_CODE s64 take_signed(struct input *input)
{
	return (s64)take_leb(input, true);
}

/* ---- addresses ------------------------------------------------------------------------------- */

#define ENCODING_OMITTED  0xff
#define ENCODING_FORM	  0x0f
#define ENCODING_BASE	  0x70
#define ENCODING_INDIRECT 0x80
#define BASE_HERE	  0x10
#define BASE_DATA	  0x30

/* `data`: the address of .eh_frame_hdr; 0: there is no such base here. */
static inline DJS_HANDLER_CODE u64 take_address(struct input *input, u8 encoding, u64 data)
{
	u64 base = 0, value;

	switch (encoding & ENCODING_BASE) {
	case 0:
		break;
	case BASE_HERE:
		base = address_of(input);
		break;
	case BASE_DATA:
		base = data;
		input->failed |= !data;
		break;
	default:
		input->failed = true;
	}
	switch (encoding & ENCODING_FORM) {
	case 0x0: /* an address */
	case 0x4:
	case 0xc:
		value = take_bytes(input, 8);
		break;
	case 0x1:
		value = take_unsigned(input);
		break;
	case 0x2:
		value = take_bytes(input, 2);
		break;
	case 0x3:
		value = take_bytes(input, 4);
		break;
	case 0x9:
		value = (u64)take_signed(input);
		break;
	case 0xa:
		value = (u64)(s64)(s16)take_bytes(input, 2);
		break;
	case 0xb:
		value = (u64)(s64)(s32)take_bytes(input, 4);
		break;
	default:
		input->failed = true;
		return 0;
	}
	if (encoding & ENCODING_INDIRECT)
		input->failed = true;
	return base + value;
}

/* index.c: returns the address of the entry of the last function that begins at, or before, an
 * address; 0: there is none. */
u64 djs_unwind_entry(const struct djs_unwind_image *image, u64 address);

#endif
