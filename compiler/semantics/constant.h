// SPDX-License-Identifier: GPL-2.0-or-later
// C constant expressions that need no compiler: numbers, characters, operators, sizes of C's own
// types.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace djstap::semantics {

// The value of `text`; nothing where it names something (a macro, an enumerator, a structure) or is
// no expression.
std::optional<int64_t> c_constant(std::string_view text);

} // namespace djstap::semantics
