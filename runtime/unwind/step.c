// SPDX-License-Identifier: GPL-2.0-or-later
// From the registers of a frame to those of its caller.
#include "unwind/input.h"
#include "unwind/short.h"

/* ---- expressions ----------------------------------------------------------------------------- */

struct expression {
	struct input input;
	const u8 *begin;
	struct djs_unwind_frame *frame;
	djs_unwind_read *read;
	void *data;
	u64 values[DJS_UNWIND_VALUES];
	u32 count;
	bool unreadable;
};

static DJS_HANDLER_CODE void push(struct expression *of, u64 value)
{
	if (of->count == DJS_UNWIND_VALUES)
		of->input.failed = true;
	else
		of->values[of->count++] = value;
}

static DJS_HANDLER_CODE u64 pop(struct expression *of)
{
	if (!of->count) {
		of->input.failed = true;
		return 0;
	}
	return of->values[--of->count];
}

static DJS_HANDLER_CODE void push_copy(struct expression *of, u64 depth)
{
	if (depth >= of->count)
		of->input.failed = true;
	else
		push(of, of->values[of->count - 1 - depth]);
}

static DJS_HANDLER_CODE void push_register(struct expression *of, u64 reg)
{
	u64 value = 0;
	u64 offset = (u64)take_signed(&of->input);

	if (reg >= DJS_DWARF_REGISTERS)
		of->input.failed = true;
	else if (!register_value(of->frame, (u32)reg, of->read, of->data, &value))
		of->unreadable = of->input.failed = true;
	push(of, value + offset);
}

static DJS_HANDLER_CODE void push_memory(struct expression *of, u64 bytes)
{
	u64 value = 0, address = pop(of);

	if (!bytes || bytes > 8)
		of->input.failed = true;
	else if (!of->read(of->data, address, &value))
		of->unreadable = of->input.failed = true;
	else if (bytes < 8)
		value &= (1ull << (bytes * 8)) - 1;
	push(of, value);
}

static DJS_HANDLER_CODE void jump(struct expression *of, bool jumps)
{
	s64 delta = (s16)take_bytes(&of->input, 2);

	if (!jumps)
		return;
	if (delta < of->begin - of->input.at || delta > of->input.end - of->input.at)
		of->input.failed = true;
	else
		of->input.at += delta;
}

/* Operations on the two upper values. */
static DJS_HANDLER_CODE bool run_binary(struct expression *of, u8 code)
{
	u64 b, a;

	if (code < 0x1a || (code > 0x2e) || code == 0x1f || code == 0x20 || code == 0x23 ||
	    code == 0x28)
		return false;
	b = pop(of);
	a = pop(of);
	switch (code) {
	case 0x1a:
		a &= b;
		break;
	case 0x1c:
		a -= b;
		break;
	case 0x1e:
		a *= b;
		break;
	case 0x21:
		a |= b;
		break;
	case 0x22:
		a += b;
		break;
	case 0x24:
		a = b < 64 ? a << b : 0;
		break;
	case 0x25:
		a = b < 64 ? a >> b : 0;
		break;
	case 0x26:
		a = (u64)((s64)a >> (b < 64 ? b : 63));
		break;
	case 0x27:
		a ^= b;
		break;
	case 0x29:
		a = a == b;
		break;
	case 0x2a:
		a = (s64)a >= (s64)b;
		break;
	case 0x2b:
		a = (s64)a > (s64)b;
		break;
	case 0x2c:
		a = (s64)a <= (s64)b;
		break;
	case 0x2d:
		a = (s64)a < (s64)b;
		break;
	case 0x2e:
		a = a != b;
		break;
	default: /* divisions */
		of->input.failed = true;
	}
	push(of, a);
	return true;
}

static DJS_HANDLER_CODE void run_operation(struct expression *of, u8 code)
{
	u64 a, b;

	if (code >= 0x30 && code <= 0x4f) { /* DW_OP_lit0 … */
		push(of, code - 0x30);
	} else if (code >= 0x70 && code <= 0x8f) { /* DW_OP_breg0 … */
		push_register(of, code - 0x70);
	} else if (!run_binary(of, code)) {
		switch (code) {
		case 0x06: /* DW_OP_deref */
			push_memory(of, 8);
			break;
		case 0x94: /* DW_OP_deref_size */
			push_memory(of, take_bytes(&of->input, 1));
			break;
		case 0x08: /* DW_OP_const1u … */
			push(of, take_bytes(&of->input, 1));
			break;
		case 0x09:
			push(of, (u64)(s64)(s8)take_bytes(&of->input, 1));
			break;
		case 0x0a:
			push(of, take_bytes(&of->input, 2));
			break;
		case 0x0b:
			push(of, (u64)(s64)(s16)take_bytes(&of->input, 2));
			break;
		case 0x0c:
			push(of, take_bytes(&of->input, 4));
			break;
		case 0x0d:
			push(of, (u64)(s64)(s32)take_bytes(&of->input, 4));
			break;
		case 0x0e:
		case 0x0f:
			push(of, take_bytes(&of->input, 8));
			break;
		case 0x10: /* DW_OP_constu, DW_OP_consts */
		case 0x11:
			push(of, take_leb(&of->input, code == 0x11));
			break;
		case 0x12: /* DW_OP_dup, DW_OP_drop, DW_OP_over, DW_OP_pick */
			push_copy(of, 0);
			break;
		case 0x13:
			pop(of);
			break;
		case 0x14:
			push_copy(of, 1);
			break;
		case 0x15:
			push_copy(of, take_bytes(&of->input, 1));
			break;
		case 0x16: /* DW_OP_swap */
			a = pop(of);
			b = pop(of);
			push(of, a);
			push(of, b);
			break;
		case 0x1f: /* DW_OP_neg, DW_OP_not */
			push(of, -pop(of));
			break;
		case 0x20:
			push(of, ~pop(of));
			break;
		case 0x23: /* DW_OP_plus_uconst */
			a = take_unsigned(&of->input);
			push(of, pop(of) + a);
			break;
		case 0x28: /* DW_OP_bra, DW_OP_skip */
			jump(of, pop(of) != 0);
			break;
		case 0x2f:
			jump(of, true);
			break;
		case 0x92: /* DW_OP_bregx */
			push_register(of, take_unsigned(&of->input));
			break;
		case 0x96: /* DW_OP_nop */
			break;
		default:
			of->input.failed = true;
		}
	}
}

/* `offset`: of the expression's length in .eh_frame. `start`: what it finds on its stack. */
static DJS_HANDLER_CODE enum djs_unwind_result
evaluate(const struct djs_unwind_image *image, s32 offset, const u64 *start,
	 struct djs_unwind_frame *frame, djs_unwind_read *read, void *data, u64 *value)
{
	struct expression of = {.frame = frame, .read = read, .data = data};
	u64 bytes;
	u32 steps;

	if (offset < 0 || (u32)offset >= image->frames_bytes)
		return DJS_UNWIND_DAMAGED;
	of.input.at = image->frames + offset;
	of.input.end = image->frames + image->frames_bytes;
	bytes = take_unsigned(&of.input);
	if (of.input.failed || bytes > (u64)(of.input.end - of.input.at))
		return DJS_UNWIND_DAMAGED;
	of.begin = of.input.at;
	of.input.end = of.input.at + bytes;
	if (start)
		push(&of, *start);
	for (steps = 0; of.input.at < of.input.end && !of.input.failed; steps++) {
		if (steps == DJS_UNWIND_STEPS)
			return DJS_UNWIND_DAMAGED;
		run_operation(&of, (u8)take_bytes(&of.input, 1));
	}
	*value = pop(&of);
	return of.unreadable	 ? DJS_UNWIND_UNREADABLE
	       : of.input.failed ? DJS_UNWIND_DAMAGED
				 : DJS_UNWIND_OK;
}

/* ---- steps ----------------------------------------------------------------------------------- */

bool djs_unwind_shorten(struct djs_unwind_short_row *to, const struct djs_unwind_row *row)
{
	const struct djs_unwind_rule *back = &row->rules[DJS_DWARF_RETURN];
	const struct djs_unwind_rule *stack = &row->rules[DJS_DWARF_STACK];
	u32 i;

	if (row->is_signal || row->base == DJS_UNWIND_NO_REGISTER)
		return false;
	memset(to, 0, sizeof(*to));
	to->base = (u8)row->base;
	to->offset = row->offset;
	if (back->how == DJS_UNWIND_UNDEFINED) {
		to->is_last = 1;
		return true;
	}
	if (back->how != DJS_UNWIND_SAVED || back->n != -(s32)sizeof(u64) ||
	    stack->how != DJS_UNWIND_SAME)
		return false;
	for (i = 0; i < DJS_DWARF_SAVED_COUNT; i++) {
		const struct djs_unwind_rule *rule = &row->rules[preserved[i]];

		if (rule->how == DJS_UNWIND_SAME || rule->how == DJS_UNWIND_UNDEFINED)
			continue;
		if (rule->how != DJS_UNWIND_SAVED || rule->n % (s32)sizeof(u64) || !rule->n ||
		    rule->n / (s32)sizeof(u64) != (s16)(rule->n / (s32)sizeof(u64)))
			return false;
		to->saved[i] = (s16)(rule->n / (s32)sizeof(u64));
		to->is_saved |= (u8)(1u << i);
	}
	return true;
}

DJS_HANDLER_CODE enum djs_unwind_result
djs_unwind_step_short(struct djs_unwind_frame *frame, const struct djs_unwind_short_row *row,
		      djs_unwind_read *read, void *data)
{
	return step_short(frame, row, read, data);
}

/* Reads an expression that is a register and an offset, and may read the memory there. */
static DJS_HANDLER_CODE bool is_near_register(const struct djs_unwind_image *image, s32 offset,
					      bool in_memory, u8 *reg, s64 *distance)
{
	struct input input = {0};
	u64 bytes;
	u8 code;

	if (offset < 0 || (u32)offset >= image->frames_bytes)
		return false;
	input.at = image->frames + offset;
	input.end = image->frames + image->frames_bytes;
	bytes = take_unsigned(&input);
	if (input.failed || bytes > (u64)(input.end - input.at))
		return false;
	input.end = input.at + bytes;
	code = (u8)take_bytes(&input, 1);
	if (code < 0x70 || code >= 0x70 + DJS_DWARF_REGISTERS) /* DW_OP_breg0 … */
		return false;
	*reg = code - 0x70;
	*distance = take_signed(&input);
	if (in_memory && take_bytes(&input, 1) != 0x06) /* DW_OP_deref */
		return false;
	return !input.failed && input.at == input.end;
}

DJS_HANDLER_CODE bool djs_unwind_flatten(struct djs_unwind_flat_row *to,
					 const struct djs_unwind_image *image,
					 const struct djs_unwind_row *row)
{
	s64 distance;
	u32 i;
	u8 reg;

	memset(to, 0, sizeof(*to));
	if (row->base != DJS_UNWIND_NO_REGISTER ||
	    !is_near_register(image, row->offset, true, &to->base, &distance) ||
	    distance != (s32)distance)
		return false;
	to->address_at = (s32)distance;
	to->is_signal = row->is_signal;
	for (i = 0; i < DJS_DWARF_REGISTERS; i++) {
		const struct djs_unwind_rule *rule = &row->rules[i];

		if (rule->how == DJS_UNWIND_SAVED_EXPRESSION) {
			if (!is_near_register(image, rule->n, false, &reg, &distance) ||
			    reg != to->base)
				return false;
			to->saved_by_base |= 1u << i;
		} else if (rule->how == DJS_UNWIND_SAVED) {
			distance = rule->n;
			to->saved_by_frame |= 1u << i;
		} else if (rule->how == DJS_UNWIND_SAME || rule->how == DJS_UNWIND_UNDEFINED) {
			continue;
		} else {
			return false;
		}
		if (distance != (s16)distance)
			return false;
		to->saved[i] = (s16)distance;
	}
	return (to->saved_by_base | to->saved_by_frame) >> DJS_DWARF_RETURN & 1;
}

static DJS_HANDLER_CODE enum djs_unwind_result apply(const struct djs_unwind_image *image,
						     struct djs_unwind_frame *before,
						     struct djs_unwind_frame *frame, u32 reg,
						     const struct djs_unwind_rule *rule, u64 base,
						     djs_unwind_read *read, void *data)
{
	u64 *value = &frame->values[reg], *saved_at = &frame->saved_at[reg];
	enum djs_unwind_result result;

	switch (rule->how) {
	case DJS_UNWIND_SAVED:
		*saved_at = base + (u64)(s64)rule->n;
		return DJS_UNWIND_OK;
	case DJS_UNWIND_VALUE:
		*saved_at = 0;
		*value = base + (u64)(s64)rule->n;
		return DJS_UNWIND_OK;
	case DJS_UNWIND_REGISTER:
		if ((u32)rule->n >= DJS_DWARF_REGISTERS)
			return DJS_UNWIND_DAMAGED;
		*saved_at = before->saved_at[rule->n];
		*value = before->values[rule->n];
		return DJS_UNWIND_OK;
	case DJS_UNWIND_SAVED_EXPRESSION:
		result = evaluate(image, rule->n, &base, before, read, data, saved_at);
		return result || *saved_at ? result : DJS_UNWIND_UNREADABLE;
	case DJS_UNWIND_VALUE_EXPRESSION:
		*saved_at = 0;
		return evaluate(image, rule->n, &base, before, read, data, value);
	default: /* unchanged, or lost: then nothing depends on it */
		return DJS_UNWIND_OK;
	}
}

/* The registers are those of the caller, but for the stack pointer if nothing has saved it. */
static DJS_HANDLER_CODE enum djs_unwind_result finish_frame(struct djs_unwind_frame *frame,
							    u64 base, bool is_signal,
							    bool is_stack_same,
							    djs_unwind_read *read, void *data)
{
	u64 ignored;

	if (!register_value(frame, DJS_DWARF_RETURN, read, data, &ignored))
		return DJS_UNWIND_UNREADABLE;
	frame->is_interrupted = is_signal;
	if (!is_signal && is_stack_same)
		return leave_frame(frame, base);
	/* What a signal interrupted may have had another stack. */
	if (is_stack_same)
		frame->values[DJS_DWARF_STACK] = base;
	else if (!register_value(frame, DJS_DWARF_STACK, read, data, &ignored))
		return DJS_UNWIND_UNREADABLE;
	return frame->values[DJS_DWARF_RETURN] ? DJS_UNWIND_OK : DJS_UNWIND_LAST;
}

DJS_HANDLER_CODE enum djs_unwind_result djs_unwind_step(const struct djs_unwind_image *image,
							struct djs_unwind_frame *frame,
							const struct djs_unwind_row *row,
							struct djs_unwind_frame *before,
							djs_unwind_read *read, void *data)
{
	const u32 back = row->rules[DJS_DWARF_RETURN].how;
	enum djs_unwind_result result = DJS_UNWIND_OK;
	u64 base;
	u32 reg;

	if (back == DJS_UNWIND_UNDEFINED)
		return DJS_UNWIND_LAST;
	if (back == DJS_UNWIND_SAME)
		return DJS_UNWIND_DAMAGED;
	if (row->base == DJS_UNWIND_NO_REGISTER) {
		result = evaluate(image, row->offset, NULL, frame, read, data, &base);
		if (result)
			return result;
	} else {
		if (!register_value(frame, row->base, read, data, &base))
			return DJS_UNWIND_UNREADABLE;
		base += (u64)(s64)row->offset;
	}
	*before = *frame;
	for (reg = 0; reg < DJS_DWARF_REGISTERS && !result; reg++)
		result = apply(image, before, frame, reg, &row->rules[reg], base, read, data);
	if (result)
		return result;
	return finish_frame(frame, base, row->is_signal,
			    row->rules[DJS_DWARF_STACK].how == DJS_UNWIND_SAME, read, data);
}

DJS_HANDLER_CODE enum djs_unwind_result djs_unwind_step_flat(struct djs_unwind_frame *frame,
							     const struct djs_unwind_flat_row *row,
							     djs_unwind_read *read, void *data)
{
	const u32 saved = row->saved_by_base | row->saved_by_frame;
	u64 near, base;
	u32 left;

	if (!register_value(frame, row->base, read, data, &near))
		return DJS_UNWIND_UNREADABLE;
	if (!read(data, near + (u64)(s64)row->address_at, &base))
		return DJS_UNWIND_UNREADABLE;
	for (left = saved; left; left &= left - 1) {
		u32 i = (u32)__builtin_ctz(left);
		u64 from = row->saved_by_base >> i & 1 ? near : base;

		frame->saved_at[i] = from + (u64)(s64)row->saved[i];
	}
	return finish_frame(frame, base, row->is_signal, !(saved >> DJS_DWARF_STACK & 1), read,
			    data);
}
