/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compares instructions of a kernel that runs with those of its file. */
#ifndef DJSTAP_SAME_CODE_H
#define DJSTAP_SAME_CODE_H

#include "include/platform.h"

/* The longest region: a jump that cuts the last byte of the longest instruction. */
#define DJS_REPLACED_MAX 32

/*
 * True if they are the same where the kernel runs `bias` bytes above its link-time address: numbers
 * of four bytes in which an address is may differ by this bias. (A per-CPU variable, whose address
 * does not change, is the nearer to the instruction the further that is moved.) Bytes of which
 * `known` is 0 are addresses that the loader of modules writes.
 */
static inline bool djs_same_code(const u8 *text, const u8 *file, const u8 *known, u32 bytes,
				 u32 bias)
{
	u32 here, there, start, i;

	for (i = 0; i < bytes; i++) {
		if (text[i] == file[i] || !known[i])
			continue;
		for (start = i < 3 ? 0 : i - 3; start <= i; start++) {
			if (start + sizeof(here) > bytes)
				return false;
			memcpy(&here, text + start, sizeof(here));
			memcpy(&there, file + start, sizeof(there));
			if (here - there == bias || there - here == bias)
				break;
		}
		if (start > i)
			return false;
		i = start + sizeof(here) - 1;
	}
	return true;
}

#endif
