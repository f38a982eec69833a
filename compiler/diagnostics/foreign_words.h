// SPDX-License-Identifier: GPL-2.0-or-later
// Words of other tracers' languages.
#pragma once
#include <string>
#include <string_view>

namespace djstap {

// How a word of another tracer's language (bpftrace's) is said here, or empty when it is none.
std::string hint_for_foreign_word(std::string_view word);

} // namespace djstap
