/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The step to a frame's caller by the short form of its rules, inline: handlers do little else.
 *
 * The value of a register that a function has saved is read only when something depends on it: most
 * frames are left with one read, that of the return address.
 */
#ifndef DJSTAP_UNWIND_SHORT_H
#define DJSTAP_UNWIND_SHORT_H

#include "include/unwind.h"

static const u8 preserved[DJS_DWARF_SAVED_COUNT] = DJS_DWARF_SAVED;

static inline __attribute__((always_inline)) bool register_value(struct djs_unwind_frame *frame,
								 u32 reg, djs_unwind_read *read,
								 void *data, u64 *value)
{
	if (frame->saved_at[reg]) {
		if (!read(data, frame->saved_at[reg], &frame->values[reg]))
			return false;
		frame->saved_at[reg] = 0;
	}
	*value = frame->values[reg];
	return true;
}

/* The stack of the caller is above: a stack that leads back is damaged, and would have no end. */
static inline enum djs_unwind_result leave_frame(struct djs_unwind_frame *frame, u64 base)
{
	u64 *stack = &frame->values[DJS_DWARF_STACK];

	if (base <= *stack)
		return DJS_UNWIND_DAMAGED;
	*stack = base;
	return frame->values[DJS_DWARF_RETURN] ? DJS_UNWIND_OK : DJS_UNWIND_LAST;
}

static inline __attribute__((always_inline)) enum djs_unwind_result
step_short(struct djs_unwind_frame *frame, const struct djs_unwind_short_row *row,
	   djs_unwind_read *read, void *data)
{
	u32 left = row->is_saved;
	u64 base;

	if (row->is_last)
		return DJS_UNWIND_LAST;
	if (!register_value(frame, row->base, read, data, &base))
		return DJS_UNWIND_UNREADABLE;
	base += (u64)(s64)row->offset;
	if (!read(data, base - sizeof(u64), &frame->values[DJS_DWARF_RETURN]))
		return DJS_UNWIND_UNREADABLE;
	for (; left; left &= left - 1) {
		u32 i = (u32)__builtin_ctz(left);

		frame->saved_at[preserved[i]] = base + (u64)(s64)row->saved[i] * sizeof(u64);
	}
	frame->is_interrupted = false;
	return leave_frame(frame, base);
}

#endif
