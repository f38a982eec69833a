// SPDX-License-Identifier: GPL-2.0-or-later
// The arguments of a record, as handlers write them (runtime/include/record.h).
#pragma once
#include "include/record.h"

#include <cstdint>
#include <string>

namespace djstap {

inline std::string bytes_of(const void* at, size_t size) {
    return {static_cast<const char*>(at), size};
}

inline std::string number(int64_t value) {
    return bytes_of(&value, sizeof value);
}

inline std::string text(const std::string& value) {
    const auto length = static_cast<uint32_t>(value.size());
    std::string bytes = bytes_of(&length, sizeof length) + value;
    bytes.resize(DJS_ALIGN8(bytes.size()));
    return bytes;
}

} // namespace djstap
