// SPDX-License-Identifier: GPL-2.0-or-later
// The rules for an address: the instructions of the entry (FDE) of its function are run up to it.
#include "unwind/input.h"

/* ---- .eh_frame ------------------------------------------------------------------------------- */

#define LETTERS_MOST  8	   /* of an augmentation: "zPLRSB" has six */
#define LOOKS_AT_ONCE 4096 /* entries */

/* The entry that others refer to (CIE). */
struct common {
	u64 code_factor;
	s64 data_factor;
	u8 encoding;
	bool has_augmentation; /* the entries have data whose size they tell */
	bool is_signal;
	struct input instructions;
};

/* Returns the bytes of the entry at an address, behind its length. */
static DJS_HANDLER_CODE struct input table_entry_at(const struct djs_unwind_image *image,
						    u64 address)
{
	struct input input = {.failed = true};
	u64 offset = address - image->frames_at;
	u32 length;

	if (offset >= image->frames_bytes || image->frames_bytes - offset < sizeof(length))
		return input;
	memcpy(&length, image->frames + offset, sizeof(length));
	offset += sizeof(length);
	if (!length || length > image->frames_bytes - offset)
		return input;
	input.at = image->frames + offset;
	input.end = input.at + length;
	input.address = image->frames_at + offset + length;
	input.failed = false;
	return input;
}

static DJS_HANDLER_CODE void read_augmentation(struct common *common, struct input *input,
					       const u8 *letters)
{
	u64 bytes = take_unsigned(input);
	const u8 *behind;

	if (input->failed || bytes > (u64)(input->end - input->at)) {
		input->failed = true;
		return;
	}
	behind = input->at + bytes;
	for (; *letters && !input->failed; letters++) {
		u8 encoding;

		switch (*letters) {
		case 'R':
			common->encoding = (u8)take_bytes(input, 1);
			break;
		case 'L':
			take_bytes(input, 1);
			break;
		case 'P':
			encoding = (u8)take_bytes(input, 1) & (u8)~ENCODING_INDIRECT;
			take_address(input, encoding, 0);
			break;
		case 'S':
			common->is_signal = true;
			break;
		case 'B':
			break;
		default: /* its data may precede those of the letters that matter */
			input->failed = true;
		}
	}
	if (input->at > behind)
		input->failed = true;
	else
		input->at = behind;
}

static DJS_HANDLER_CODE bool read_common(const struct djs_unwind_image *image, u64 address,
					 struct common *common)
{
	struct input input = table_entry_at(image, address);
	const u8 *letters;
	u64 id = take_bytes(&input, 4);
	u8 version = (u8)take_bytes(&input, 1);
	u32 count = 0;

	memset(common, 0, sizeof(*common));
	if (input.failed || id || (version != 1 && version != 3))
		return false;
	letters = input.at;
	while (take_bytes(&input, 1))
		if (++count > LETTERS_MOST)
			return false;
	common->code_factor = take_unsigned(&input);
	common->data_factor = take_signed(&input);
	if ((version == 1 ? take_bytes(&input, 1) : take_unsigned(&input)) != DJS_DWARF_RETURN)
		return false;
	common->has_augmentation = *letters == 'z';
	if (common->has_augmentation)
		read_augmentation(common, &input, letters + 1);
	else if (*letters)
		return false;
	common->instructions = input;
	return !input.failed;
}

u32 djs_unwind_list(const struct djs_unwind_image *image, u32 *offset,
		    struct djs_unwind_listed *rows, u32 room)
{
	u32 count = 0, looks;

	for (looks = 0; count < room && looks < LOOKS_AT_ONCE; looks++) {
		u64 at = image->frames_at + *offset, id_at, id, begin;
		struct input input = table_entry_at(image, at);
		struct common common;

		if (input.failed)
			break;
		*offset = (u32)(input.end - image->frames);
		id_at = address_of(&input);
		id = take_bytes(&input, 4);
		if (input.failed || !id || !read_common(image, id_at - id, &common))
			continue;
		begin = take_address(&input, common.encoding, 0) - image->frames_at;
		if (input.failed || (s64)begin != (s32)begin)
			continue;
		rows[count].begin = (s32)begin;
		rows[count].entry = (s32)(at - image->frames_at);
		count++;
	}
	return count;
}

/* ---- instructions ---------------------------------------------------------------------------- */

/* What runs them: first those of the common entry, then those of the function's. */
struct run {
	const struct djs_unwind_image *image;
	const struct common *common;
	struct djs_unwind_row *row;
	struct djs_unwind_scratch *scratch;
	const struct djs_unwind_row *initial; /* NULL: not yet known */
	u64 location, address;
	u32 remembered;
};

static DJS_HANDLER_CODE bool set_rule(struct run *run, u64 reg, enum djs_unwind_how how, s64 n)
{
	if (n != (s32)n)
		return false;
	if (reg < DJS_DWARF_REGISTERS) { /* vector registers do not matter */
		run->row->rules[reg].how = how;
		run->row->rules[reg].n = (s32)n;
	}
	return true;
}

static DJS_HANDLER_CODE bool set_base(struct run *run, u64 reg, s64 offset)
{
	if (reg >= DJS_DWARF_REGISTERS || offset != (s32)offset)
		return false;
	run->row->base = (u32)reg;
	run->row->offset = (s32)offset;
	return true;
}

/* Returns the offset of the expression that begins here, with its length, and skips it. */
static DJS_HANDLER_CODE s64 take_expression(struct run *run, struct input *input)
{
	s64 offset = input->at - run->image->frames;

	skip(input, take_unsigned(input));
	return offset;
}

static DJS_HANDLER_CODE bool restore_rule(struct run *run, u64 reg)
{
	if (!run->initial)
		return false;
	if (reg < DJS_DWARF_REGISTERS)
		run->row->rules[reg] = run->initial->rules[reg];
	return true;
}

static DJS_HANDLER_CODE void advance(struct run *run, u64 delta)
{
	run->location += delta * run->common->code_factor;
}

/* Both numbers are a file's: what is too large wraps around. */
static DJS_HANDLER_CODE s64 scaled(const struct run *run, u64 offset)
{
	return (s64)(offset * (u64)run->common->data_factor);
}

/* Runs an instruction whose operands are no part of its first byte. */
static DJS_HANDLER_CODE bool run_extended(struct run *run, struct input *input, u8 code)
{
	u64 reg;

	switch (code) {
	case 0x00: /* DW_CFA_nop */
		return true;
	case 0x01: /* DW_CFA_set_loc */
		run->location = take_address(input, run->common->encoding, 0);
		return true;
	case 0x02: /* DW_CFA_advance_loc1 */
		advance(run, take_bytes(input, 1));
		return true;
	case 0x03:
		advance(run, take_bytes(input, 2));
		return true;
	case 0x04:
		advance(run, take_bytes(input, 4));
		return true;
	case 0x05: /* DW_CFA_offset_extended */
		reg = take_unsigned(input);
		return set_rule(run, reg, DJS_UNWIND_SAVED, scaled(run, take_unsigned(input)));
	case 0x06: /* DW_CFA_restore_extended */
		return restore_rule(run, take_unsigned(input));
	case 0x07:
		return set_rule(run, take_unsigned(input), DJS_UNWIND_UNDEFINED, 0);
	case 0x08:
		return set_rule(run, take_unsigned(input), DJS_UNWIND_SAME, 0);
	case 0x09: /* DW_CFA_register */
		reg = take_unsigned(input);
		return set_rule(run, reg, DJS_UNWIND_REGISTER, (s64)take_unsigned(input));
	case 0x0a: /* DW_CFA_remember_state */
		if (run->remembered == DJS_UNWIND_NESTING)
			return false;
		run->scratch->remembered[run->remembered++] = *run->row;
		return true;
	case 0x0b: /* DW_CFA_restore_state */
		if (!run->remembered)
			return false;
		*run->row = run->scratch->remembered[--run->remembered];
		return true;
	case 0x0c: /* DW_CFA_def_cfa */
		reg = take_unsigned(input);
		return set_base(run, reg, (s64)take_unsigned(input));
	case 0x0d: /* DW_CFA_def_cfa_register */
		return set_base(run, take_unsigned(input), run->row->offset);
	case 0x0e: /* DW_CFA_def_cfa_offset */
		return set_base(run, run->row->base, (s64)take_unsigned(input));
	case 0x0f: { /* DW_CFA_def_cfa_expression */
		s64 offset = take_expression(run, input);

		run->row->base = DJS_UNWIND_NO_REGISTER;
		run->row->offset = (s32)offset;
		return true;
	}
	case 0x10: /* DW_CFA_expression */
		reg = take_unsigned(input);
		return set_rule(run, reg, DJS_UNWIND_SAVED_EXPRESSION, take_expression(run, input));
	case 0x11: /* DW_CFA_offset_extended_sf */
		reg = take_unsigned(input);
		return set_rule(run, reg, DJS_UNWIND_SAVED, scaled(run, (u64)take_signed(input)));
	case 0x12: /* DW_CFA_def_cfa_sf */
		reg = take_unsigned(input);
		return set_base(run, reg, scaled(run, (u64)take_signed(input)));
	case 0x13: /* DW_CFA_def_cfa_offset_sf */
		return set_base(run, run->row->base, scaled(run, (u64)take_signed(input)));
	case 0x14: /* DW_CFA_val_offset */
		reg = take_unsigned(input);
		return set_rule(run, reg, DJS_UNWIND_VALUE, scaled(run, take_unsigned(input)));
	case 0x15: /* DW_CFA_val_offset_sf */
		reg = take_unsigned(input);
		return set_rule(run, reg, DJS_UNWIND_VALUE, scaled(run, (u64)take_signed(input)));
	case 0x16: /* DW_CFA_val_expression */
		reg = take_unsigned(input);
		return set_rule(run, reg, DJS_UNWIND_VALUE_EXPRESSION, take_expression(run, input));
	case 0x2e: /* DW_CFA_GNU_args_size */
		take_unsigned(input);
		return true;
	case 0x2f: /* DW_CFA_GNU_negative_offset_extended */
		reg = take_unsigned(input);
		return set_rule(run, reg, DJS_UNWIND_SAVED, scaled(run, -take_unsigned(input)));
	default:
		return false;
	}
}

/* Runs instructions until they are about something behind the address. */
static DJS_HANDLER_CODE bool run_instructions(struct run *run, struct input input)
{
	while (input.at < input.end && run->location <= run->address) {
		u8 byte = (u8)take_bytes(&input, 1), low = byte & 0x3f;
		bool runs = ++run->scratch->instructions <= DJS_UNWIND_INSTRUCTIONS;

		if (!runs)
			return false;
		switch (byte >> 6) {
		case 1: /* DW_CFA_advance_loc */
			advance(run, low);
			break;
		case 2: /* DW_CFA_offset */
			runs = set_rule(run, low, DJS_UNWIND_SAVED,
					scaled(run, take_unsigned(&input)));
			break;
		case 3: /* DW_CFA_restore */
			runs = restore_rule(run, low);
			break;
		default:
			runs = run_extended(run, &input, low);
		}
		if (!runs || input.failed)
			return false;
	}
	return true;
}

DJS_HANDLER_CODE enum djs_unwind_result djs_unwind_find(const struct djs_unwind_image *image,
							u64 address, struct djs_unwind_row *row,
							struct djs_unwind_scratch *scratch)
{
	u64 entry = djs_unwind_entry(image, address), begin, bytes, id_at, id;
	struct common common;
	struct input input;
	struct run run = {
	    .image = image,
	    .common = &common,
	    .row = row,
	    .scratch = scratch,
	    .address = address,
	};

	if (!entry)
		return DJS_UNWIND_UNKNOWN;
	input = table_entry_at(image, entry);
	id_at = address_of(&input);
	id = take_bytes(&input, 4);
	if (input.failed || !id || !read_common(image, id_at - id, &common))
		return DJS_UNWIND_DAMAGED;
	begin = take_address(&input, common.encoding, 0);
	bytes = take_address(&input, common.encoding & ENCODING_FORM, 0);
	if (common.has_augmentation)
		skip(&input, take_unsigned(&input));
	if (input.failed)
		return DJS_UNWIND_DAMAGED;
	if (address - begin >= bytes)
		return DJS_UNWIND_UNKNOWN;
	memset(row, 0, sizeof(*row));
	row->base = DJS_UNWIND_NO_REGISTER;
	row->offset = -1;
	run.location = begin;
	if (!run_instructions(&run, common.instructions))
		return DJS_UNWIND_DAMAGED;
	scratch->initial = *row;
	run.initial = &scratch->initial;
	run.location = begin;
	if (!run_instructions(&run, input))
		return DJS_UNWIND_DAMAGED;
	row->is_signal = common.is_signal;
	return DJS_UNWIND_OK;
}
