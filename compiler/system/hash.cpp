// SPDX-License-Identifier: GPL-2.0-or-later
#include "system/hash.h"

#include <cstring>

namespace djstap {

uint64_t hash_bytes(std::string_view bytes, uint64_t seed) {
    uint64_t hash = seed ^ 0x9e3779b97f4a7c15 ^ bytes.size();
    auto mix = [&hash](uint64_t word) {
        hash = (hash ^ word) * 0xff51afd7ed558ccd;
        hash ^= hash >> 32;
    };
    size_t at = 0;
    for (; at + sizeof(uint64_t) <= bytes.size(); at += sizeof(uint64_t)) {
        uint64_t word;
        std::memcpy(&word, bytes.data() + at, sizeof word);
        mix(word);
    }
    uint64_t last = 0;
    if (at < bytes.size())
        std::memcpy(&last, bytes.data() + at, bytes.size() - at);
    mix(last);
    return hash;
}

std::string hexadecimal(uint64_t value) {
    char digits[17] = {};
    for (int i = 15; i >= 0; i--, value >>= 4)
        digits[i] = "0123456789abcdef"[value & 15];
    return digits;
}

} // namespace djstap
