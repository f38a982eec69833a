// SPDX-License-Identifier: GPL-2.0-or-later
// Words of the languages of other tracers.
#pragma once
#include <string>
#include <string_view>

namespace djstap {

// Returns how the script language expresses a word of another tracer's language (bpftrace's), or ""
// if it is none.
std::string hint_for_foreign_word(std::string_view word);

} // namespace djstap
