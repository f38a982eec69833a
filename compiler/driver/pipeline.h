// SPDX-License-Identifier: GPL-2.0-or-later
// The way from a script to its output, as a list of passes.
#pragma once
#include "driver/options.h"

namespace djstap::driver {

// Does what the options request and returns the exit status: 0, that of the -c command in a run, or
// 1 after an error that was printed.
int run(Options options);

// Prints what was asked for instead of a run (--help, --version), and returns the exit status.
int print(const Text& text);

// Prints a warning that has no place in a script.
void warn(const std::string& text, DiagnosticKind kind);

// Prints an error that has no place in a script like every other one, and returns the exit status.
int refuse(const Failure& failure, DiagnosticKind kind = DiagnosticKind::BadOption);

} // namespace djstap::driver
