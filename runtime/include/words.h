/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The words of which stacks consist, and by which symbols are known. The word of a kernel address
 * is the address. That of a program's address contains also which file the process has there
 * (runtime/ustack/places.c), and whether the address is one to which a call returns: that may be
 * the first one of the next function.
 */
#ifndef DJSTAP_WORDS_H
#define DJSTAP_WORDS_H

#include "include/platform.h"

#define DJS_WORD_ADDRESS_BITS 47
#define DJS_WORD_PLACE_BITS   15
#define DJS_WORD_RETURNS      (1ull << (DJS_WORD_ADDRESS_BITS + DJS_WORD_PLACE_BITS))

static inline bool djs_is_user_word(u64 word)
{
	return (s64)word >= 0 && word >> DJS_WORD_ADDRESS_BITS;
}

static inline u64 djs_word_address(u64 word)
{
	return djs_is_user_word(word) ? word & ((1ull << DJS_WORD_ADDRESS_BITS) - 1) : word;
}

static inline u32 djs_word_place(u64 word)
{
	return (s64)word < 0
		   ? 0
		   : (u32)(word >> DJS_WORD_ADDRESS_BITS) & ((1u << DJS_WORD_PLACE_BITS) - 1);
}

/* `address`: less than 1 << DJS_WORD_ADDRESS_BITS. */
static inline u64 djs_word(u64 address, u32 place, bool returns)
{
	return address | (u64)place << DJS_WORD_ADDRESS_BITS | (returns ? DJS_WORD_RETURNS : 0);
}

#endif
