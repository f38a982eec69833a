// SPDX-License-Identifier: GPL-2.0-or-later
// The hash of cached files and of their names. It protects against damage and chance, not against
// forgery; where a module and its readers must agree on a hash, they use djs_hash_bytes()
// (runtime/include/recorder.h).
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace djstap {

// Hashes eight bytes at a time. `seed`: the hash of the preceding parts, if there are several.
uint64_t hash_bytes(std::string_view bytes, uint64_t seed = 0);

// Returns sixteen digits.
std::string hexadecimal(uint64_t value);

} // namespace djstap
