// SPDX-License-Identifier: GPL-2.0-or-later
// The functions for readers that arch/arch.h describes.
#pragma once
#include <cstddef>
#include <cstdint>
#include <x86intrin.h>

namespace djstap::arch {

inline uint64_t cycles() {
    return __rdtsc();
}

inline uint64_t cycles_in_order() {
    _mm_lfence();
    return __rdtsc();
}

// Records are short, and calling memset() takes longer for those.
inline void clear_words(void* at, uint32_t bytes) {
    auto* next = static_cast<char*>(at);
    char* const end = next + bytes;
    char* const last = end - sizeof(__m128i);
    while (next <= last) {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(next), _mm_setzero_si128());
        next += sizeof(__m128i);
        __asm__("" : "+r"(next)); // else the compiler would make this a call of memset()
    }
    if (next != end)
        *reinterpret_cast<uint64_t*>(next) = 0;
}

inline void put_hex_digits(char* out, uint64_t value) {
    const uint64_t front = __builtin_bswap64(value);
    const __m128i bytes = _mm_cvtsi64_si128(static_cast<long long>(front));
    const __m128i low = _mm_set1_epi8(15);
    const __m128i digits =
        _mm_unpacklo_epi8(_mm_and_si128(_mm_srli_epi16(bytes, 4), low), _mm_and_si128(bytes, low));
    const __m128i letters =
        _mm_and_si128(_mm_cmpgt_epi8(digits, _mm_set1_epi8(9)), _mm_set1_epi8('a' - '0' - 10));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out),
                     _mm_add_epi8(_mm_add_epi8(digits, _mm_set1_epi8('0')), letters));
}

} // namespace djstap::arch
