/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Processes strings eight bytes at a time, if they are aligned to 8 bytes, as nearly all are. The
 * last eight bytes may extend beyond the string's memory, but not into another page.
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

/* Returns a word with the highest bit of the first zero byte set (and possibly those of later
 * bytes); 0: no zero byte. */
static inline u64 ends_in(u64 word)
{
	return (word - EACH_BYTE) & ~word & (EACH_BYTE << 7);
}

/* Returns the bytes before the first zero byte, followed by zeros. */
static inline u64 before_end(u64 word, u64 ends)
{
	return word & (((ends & -ends) - 1) >> 7);
}

static inline size_t bytes_before_end(u64 ends)
{
	return (size_t)__builtin_ctzll(ends) >> 3;
}

#endif
