/* SPDX-License-Identifier: GPL-2.0-or-later
 * Texts eight bytes at a time, where they lie at a multiple of 8, as nearly all do. The last eight
 * may reach beyond the text's memory, but not into another page.
 */
#ifndef DJSTAP_TEXT_WORDS_H
#define DJSTAP_TEXT_WORDS_H

#include "include/platform.h"

#define EACH_BYTE 0x0101010101010101ull

#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define SEES_EACH_BYTE
#endif
#endif
#if defined(SEES_EACH_BYTE) || defined(__SANITIZE_ADDRESS__)
#define WHOLE_WORDS(text) 0
#else
#define WHOLE_WORDS(text) (!((unsigned long)(text) & 7))
#endif

static inline u64 load_word(const char *at)
{
	u64 word;

	__builtin_memcpy(&word, at, sizeof(word));
	return word;
}

/* With the highest bit set of the first byte that is 0 (of later ones it may be, too); 0: there is
 * none. */
static inline u64 ends_in(u64 word)
{
	return (word - EACH_BYTE) & ~word & (EACH_BYTE << 7);
}

/* The bytes before that first one, and 0 behind them. */
static inline u64 before_end(u64 word, u64 ends)
{
	return word & (((ends & -ends) - 1) >> 7);
}

static inline size_t bytes_before_end(u64 ends)
{
	return (size_t)__builtin_ctzll(ends) >> 3;
}

#endif
