// SPDX-License-Identifier: GPL-2.0-or-later
// --help NAME: what functions, aliases, macros, probe points and words of the language mean.
#pragma once
#include "driver/invocation.h"

namespace djstap::driver {

// Prints the documentation of each name in options.arguments: a function, with parentheses or not,
// an alias, a macro, a global, a probe point with or without its arguments, a word of the language;
// of a pattern a line for each name that matches. Returns false after reporting a name that does
// not exist.
bool show_help(Invocation& invocation);

} // namespace djstap::driver
