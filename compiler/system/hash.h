// SPDX-License-Identifier: GPL-2.0-or-later
// The hash of cached files and of what names them. It is against damage and chance, not against
// forgery; where a module and its readers must agree on one, that is djs_hash_bytes()
// (runtime/include/recorder.h).
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace djstap {

// Eight bytes at a time. `seed`: the hash of what stands before, where there are several parts.
uint64_t hash_bytes(std::string_view bytes, uint64_t seed = 0);

// Sixteen digits.
std::string hexadecimal(uint64_t value);

} // namespace djstap
