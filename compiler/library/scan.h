// SPDX-License-Identifier: GPL-2.0-or-later
// Finds the names that a library file defines, without parsing it.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace djstap::library {

enum class NameKind : uint32_t { Function, Global, Alias };

struct DefinedName {
    NameKind kind;
    std::string name; // an alias: its components joined by dots, without arguments
    bool operator==(const DefinedName&) const = default;
};

// Finds functions, globals and aliases outside of any braces, comment, string and embedded C.
// Private ones are skipped; both branches of a conditional count. Never fails: it skips what it
// does not recognize.
std::vector<DefinedName> scan(std::string_view text);

} // namespace djstap::library
