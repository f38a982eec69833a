// SPDX-License-Identifier: GPL-2.0-or-later
// The sorted list of functions: .eh_frame_hdr, or what stands for it.
#include "unwind/input.h"

#define TABLE_ENCODING (BASE_DATA | 0xb) /* what all linkers write: two s32 a row */
#define ROW_BYTES      8u

enum djs_unwind_result djs_unwind_open(struct djs_unwind_image *image, u64 *last_entry)
{
	struct input input = {
	    .at = image->index,
	    .end = image->index + image->index_bytes,
	    .address = image->index_at + image->index_bytes,
	};
	u8 version = (u8)take_bytes(&input, 1), frames_encoding = (u8)take_bytes(&input, 1);
	u8 count_encoding = (u8)take_bytes(&input, 1), table_encoding = (u8)take_bytes(&input, 1);
	u64 count, i;
	s64 last = 0;

	if (input.failed || version != 1 || table_encoding != TABLE_ENCODING ||
	    frames_encoding == ENCODING_OMITTED || count_encoding == ENCODING_OMITTED)
		return DJS_UNWIND_DAMAGED;
	image->frames_at = take_address(&input, frames_encoding, image->index_at);
	count = take_address(&input, count_encoding, image->index_at);
	if (input.failed || !count || count > (u64)(input.end - input.at) / ROW_BYTES)
		return DJS_UNWIND_DAMAGED;
	image->rows = (u32)count;
	image->rows_at = (u32)(input.at - image->index);
	for (i = 0; i < count; i++) {
		s32 entry;

		memcpy(&entry, input.at + i * ROW_BYTES + sizeof(s32), sizeof(entry));
		if (!i || entry > last)
			last = entry;
	}
	*last_entry = image->index_at + (u64)last;
	return *last_entry < image->frames_at ? DJS_UNWIND_DAMAGED : DJS_UNWIND_OK;
}

#define LENGTH_IS_64_BITS 0xffffffff
#define MOST_BYTES	  0x3ffffff0u /* offsets are of 31 bits */

enum djs_unwind_result djs_unwind_size(struct djs_unwind_image *image, u64 last_entry, u32 length)
{
	u64 bytes = last_entry - image->frames_at;

	if (length == LENGTH_IS_64_BITS || bytes > MOST_BYTES || length > MOST_BYTES)
		return DJS_UNWIND_DAMAGED;
	image->frames_bytes = (u32)(bytes + sizeof(length) + length);
	return DJS_UNWIND_OK;
}

static DJS_HANDLER_CODE s32 row_begin(const struct djs_unwind_image *image, u32 row)
{
	s32 begin;

	memcpy(&begin, image->index + image->rows_at + (u64)row * ROW_BYTES, sizeof(begin));
	return begin;
}

DJS_HANDLER_CODE u64 djs_unwind_entry(const struct djs_unwind_image *image, u64 address)
{
	s64 offset = (s64)(address - image->index_at);
	u32 low = 0, high = image->rows;
	s32 entry;

	while (low < high) {
		u32 middle = low + (high - low) / 2;

		if (row_begin(image, middle) <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return 0;
	memcpy(&entry, image->index + image->rows_at + (u64)(low - 1) * ROW_BYTES + sizeof(s32),
	       sizeof(entry));
	return image->index_at + (u64)(s64)entry;
}
