// SPDX-License-Identifier: GPL-2.0-or-later
// Which names a library file defines, found without parsing it.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace djstap::library {

enum class NameKind : uint32_t { Function, Global, Alias };

struct DefinedName {
    NameKind kind;
    std::string name; // an alias: its components joined by dots, without their arguments
    bool operator==(const DefinedName&) const = default;
};

// Looks for functions, globals and aliases outside of any braces, comment, string and embedded C.
// Private ones are left out; both branches of a conditional count. Never fails: what it cannot make
// out it passes over.
std::vector<DefinedName> scan(std::string_view text);

} // namespace djstap::library
