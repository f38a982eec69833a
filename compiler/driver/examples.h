// SPDX-License-Identifier: GPL-2.0-or-later
// The scripts that --example runs: those of the examples folder, and others with such a header.
#pragma once
#include "driver/invocation.h"

namespace djstap::driver {

enum class ExampleStep : uint8_t {
    Run,       // the options name its script, its arguments and the values of its globals
    Described, // --help was printed
    Failed     // the invocation's diagnostics contain errors
};

// Finds options.example and parses the words for it.
ExampleStep take_example(Invocation& invocation);

// --examples: prints one line for each example that contains all words of options.arguments.
// Returns false after reporting that there is none, or a header with errors.
bool list_examples(Invocation& invocation);

} // namespace djstap::driver
