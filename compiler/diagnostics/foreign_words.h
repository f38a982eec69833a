// SPDX-License-Identifier: GPL-2.0-or-later
// Words of the languages of other tracers.
#pragma once
#include <string>
#include <string_view>

namespace djstap {

// Return how the script language expresses a word of another tracer's language (bpftrace's): one
// that begins a probe, and one that is a value or a function. "" if it is none.
std::string hint_for_foreign_probe(std::string_view word);
std::string hint_for_foreign_value(std::string_view word);

} // namespace djstap
