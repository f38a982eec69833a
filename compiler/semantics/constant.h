// SPDX-License-Identifier: GPL-2.0-or-later
// Evaluates C constant expressions that need no compiler: numbers, characters, operators, sizes of
// C's own types.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace djstap::semantics {

// Returns the value of `text`; nothing if it names something (a macro, an enumerator, a structure)
// or is not an expression.
std::optional<int64_t> c_constant(std::string_view text);

} // namespace djstap::semantics
