// SPDX-License-Identifier: GPL-2.0-or-later
// Names of functions with the namespaces and classes that contain them: "shop::order::total".
#pragma once
#include "image/image.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace djstap {

// Returns whether a name or a pattern says in which scopes a function is.
bool is_qualified(std::string_view name);

// Returns what is behind the last ::, outside of brackets: "total".
std::string_view last_name(std::string_view name);

// Returns a name without the scopes that have none: "shop::(anonymous namespace)::order" is
// "shop::order".
std::string without_anonymous_namespaces(std::string_view name);

// The name of an operator in C++, at the end of a text or in front of what follows it in a pattern.
struct OperatorName {
    size_t begin = 0, end = 0;  // "operator<<" in "shop::operator<<@shop.cpp"
    bool is_conversion = false; // "operator const char*"
};
std::optional<OperatorName> find_operator(std::string_view text);

// Returns whether a name of a conversion means a function with this qualified name, as
// qualified_matches: "operator const char*" is also "shop::order::operator char const*".
bool means_conversion(std::string_view name, std::string_view qualified);

// Returns a name without those of the scopes that are among `names`: inline namespaces, which the
// source code need not name.
std::string without_scopes(std::string_view name, const std::vector<std::string>& names);

// Returns whether a qualified name contains the scopes of a pattern, maybe among others. Those with
// wildcards count as contained.
bool has_scopes_of(std::string_view pattern, std::string_view qualified);

struct ScopedName {
    std::string scope; // "shop::order"; empty: none. Without anonymous namespaces
    std::string name;  // without arguments of a template
    // With `name_in_source`, which may have them, in place of the name.
    std::string with(std::string_view name_in_source) const;
};
// Returns what a symbol of C++ or Rust says; nothing for other symbols, and for very long ones.
std::optional<ScopedName> scoped_name(std::string_view symbol);

// Returns whether a pattern means a function with this qualified name: the whole name, or its last
// parts ("order::total"). A pattern that begins with :: means the whole name.
bool qualified_matches(std::string_view pattern, std::string_view qualified);

// Returns the functions among the symbols whose qualified names match, each with its address once.
std::vector<Symbol> symbols_with_scopes(const Image& image, std::string_view pattern);

} // namespace djstap
