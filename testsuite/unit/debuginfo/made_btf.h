// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once
#include "debuginfo/btf.h"

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace djstap {

// Builds BTF by hand.
struct BtfBuilder {
    std::string types, strings = std::string(1, '\0');
    uint32_t name(std::string_view text) {
        uint32_t at = strings.size();
        strings.append(text).push_back('\0');
        return at;
    }
    void words(std::initializer_list<uint32_t> values) {
        for (uint32_t value : values)
            types.append(reinterpret_cast<const char*>(&value), sizeof value);
    }
    void type(std::string_view text, BtfKind kind, uint32_t count, uint32_t size_or_type,
              bool flag = false) {
        words({text.empty() ? 0 : name(text), uint32_t(kind) << 24 | count | uint32_t(flag) << 31,
               size_or_type});
    }
    std::string finish() const {
        uint32_t header[] = {0x0001eb9f,
                             24,
                             0,
                             uint32_t(types.size()),
                             uint32_t(types.size()),
                             uint32_t(strings.size())};
        return std::string(reinterpret_cast<const char*>(header), sizeof header) + types + strings;
    }
};

} // namespace djstap
