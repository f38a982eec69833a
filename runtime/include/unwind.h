/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Call stacks of programs by their unwind information: the sections .eh_frame_hdr and .eh_frame of
 * each file that a program maps. The files may contain anything: no read leaves what was given, no
 * loop is longer than that, and what is not well-formed is an error, not a guess.
 */
#ifndef DJSTAP_UNWIND_H
#define DJSTAP_UNWIND_H

#include "arch/portable.h"
#include "include/platform.h"

/* The unwind information of a file: bytes, and the address for which the file was linked. */
struct djs_unwind_image {
	const u8 *index;  /* .eh_frame_hdr */
	const u8 *frames; /* .eh_frame */
	u64 index_at, frames_at;
	u32 index_bytes, frames_bytes;
	u32 rows; /* of the index; set by djs_unwind_open() */
	u32 rows_at;
};

/* How a register of the caller is found. */
enum djs_unwind_how {
	DJS_UNWIND_SAME = 0,
	DJS_UNWIND_UNDEFINED,
	DJS_UNWIND_SAVED, /* in memory, `n` bytes above the frame's address */
	DJS_UNWIND_VALUE, /* it is the frame's address, plus `n` */
	DJS_UNWIND_REGISTER,
	/* `n` is the offset in .eh_frame of a DWARF expression, behind its length. */
	DJS_UNWIND_SAVED_EXPRESSION,
	DJS_UNWIND_VALUE_EXPRESSION,
};

struct djs_unwind_rule {
	u32 how;
	s32 n;
};

/* The rules for one instruction. */
struct djs_unwind_row {
	/* of the frame's address: a register, plus `offset`; DJS_UNWIND_NO_REGISTER: an expression,
	 * with the offset of its length */
	u32 base;
	s32 offset;
	struct djs_unwind_rule rules[DJS_DWARF_REGISTERS];
	bool is_signal; /* the frame of a signal: its address is no return address */
};
#define DJS_UNWIND_NO_REGISTER (~0u)

#define DJS_UNWIND_NESTING 3  /* remembered rows at the same time */
#define DJS_UNWIND_VALUES  16 /* values of an expression at the same time */
#define DJS_UNWIND_STEPS   64 /* operations of an expression */
/* What a program's file says is not trusted, and is read by handlers. Instructions that the
 * look-ups of one scratch run; a walk has one scratch for all its frames. */
#define DJS_UNWIND_INSTRUCTIONS (16u << 10)

/* Memory for the look-up of a row. */
struct djs_unwind_scratch {
	struct djs_unwind_row initial, remembered[DJS_UNWIND_NESTING];
	u32 instructions; /* that were run */
};

/* What a caller's rules need most of the time, in as little memory as a cache should take. */
struct djs_unwind_short_row {
	s32 offset;
	u8 base;
	u8 is_last;			  /* nothing called this code */
	u8 is_saved;			  /* a bit for each of `saved` that is not 0 */
	s16 saved[DJS_DWARF_SAVED_COUNT]; /* offset / 8 from the frame's address; 0: unchanged */
};

/* The rules of a frame whose address is in memory, at a distance from a register, as are the
 * registers that it has saved: the frame of a signal, or of a function that aligns its stack. */
struct djs_unwind_flat_row {
	s32 address_at; /* of where the frame's address is, from the value of `base` */
	u8 base;
	bool is_signal;
	u32 saved_by_base, saved_by_frame; /* a bit for each register */
	s16 saved[DJS_DWARF_REGISTERS]; /* in bytes, from the value of `base` or the frame's address
					 */
};

/* The registers of a frame. */
struct djs_unwind_frame {
	u64 values[DJS_DWARF_REGISTERS];
	u64 saved_at[DJS_DWARF_REGISTERS]; /* unless 0, the value is in memory there */
	bool is_interrupted; /* its address is that of the next instruction, not behind a call */
};

enum djs_unwind_result {
	DJS_UNWIND_OK = 0,
	DJS_UNWIND_LAST,    /* there is no caller */
	DJS_UNWIND_UNKNOWN, /* no information covers the address */
	DJS_UNWIND_DAMAGED, /* the information is not well-formed, or uses what no compiler does */
	DJS_UNWIND_UNREADABLE, /* the stack cannot be read */
};

/* Reads a word of the program. False: it cannot be read. */
typedef bool djs_unwind_read(void *data, u64 address, u64 *value);

#ifdef __cplusplus
extern "C" {
#endif

/* ---- runtime/unwind/index.c, frames.c
 * ----------------------------------------------------------------- */

/*
 * Finds .eh_frame by .eh_frame_hdr, of which `index`, `index_at` and `index_bytes` are set: sets
 * `frames_at`, `frames_bytes`, `rows` and `rows_at`. djs_unwind_size() needs to read the size of
 * its last entry, which is at the returned address.
 */
enum djs_unwind_result djs_unwind_open(struct djs_unwind_image *image, u64 *last_entry);
/* `length`: the u32 at the last entry's address. */
enum djs_unwind_result djs_unwind_size(struct djs_unwind_image *image, u64 last_entry, u32 length);
/*
 * For files without .eh_frame_hdr: lists the functions of .eh_frame from an offset there on, at
 * most `room`, and moves the offset behind what was looked at, which is bounded. Returns their
 * number; there are no more if the offset is not moved. Sorted by `begin`, the rows of all are an
 * index that begins at `frames_at`.
 */
struct djs_unwind_listed {
	s32 begin, entry; /* from `frames_at` on */
};
u32 djs_unwind_list(const struct djs_unwind_image *image, u32 *offset,
		    struct djs_unwind_listed *rows, u32 room);
/* Finds the rules for an address, one for which the file was linked. */
enum djs_unwind_result djs_unwind_find(const struct djs_unwind_image *image, u64 address,
				       struct djs_unwind_row *row,
				       struct djs_unwind_scratch *scratch);

/* ---- runtime/unwind/step.c ------------------------------------------------------------------- */

/* Returns whether the rules have a short form, and stores it. */
bool djs_unwind_shorten(struct djs_unwind_short_row *to, const struct djs_unwind_row *row);
bool djs_unwind_flatten(struct djs_unwind_flat_row *to, const struct djs_unwind_image *image,
			const struct djs_unwind_row *row);
/* Turns the registers of a frame into those of its caller. `before`: memory. */
enum djs_unwind_result djs_unwind_step_flat(struct djs_unwind_frame *frame,
					    const struct djs_unwind_flat_row *row,
					    djs_unwind_read *read, void *data);
enum djs_unwind_result djs_unwind_step_short(struct djs_unwind_frame *frame,
					     const struct djs_unwind_short_row *row,
					     djs_unwind_read *read, void *data);
enum djs_unwind_result djs_unwind_step(const struct djs_unwind_image *image,
				       struct djs_unwind_frame *frame,
				       const struct djs_unwind_row *row,
				       struct djs_unwind_frame *before, djs_unwind_read *read,
				       void *data);

/* Returns the address whose rules belong to a frame. */
static inline u64 djs_unwind_place(const struct djs_unwind_frame *frame)
{
	return frame->values[DJS_DWARF_RETURN] - !frame->is_interrupted;
}

#ifdef __cplusplus
}
#endif

#endif
