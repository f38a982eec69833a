// SPDX-License-Identifier: GPL-2.0-or-later
// Kbuild's tries of compiler options, answered together instead of one after the other.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace djstap::module {

// What Kbuild asks before it compiles anything: whether the compiler has an option, mostly. Each
// question is a command that starts a compiler; there are some thirty, one after the other.
struct OptionTries {
    // Makes make answer as its own tries would, and print each question.
    std::vector<std::string> variables;
    std::vector<std::string> questions; // all that were answered, and the answers, as printed
    std::string commands;               // what make would run
};

// Finds out what Kbuild asks when it runs as `make` (which builds nothing here), and the answers.
// Returns nothing if any question cannot be answered for certain: Kbuild must try itself.
// `scratch` is a folder for temporary files, `build_dir` the folder where make runs.
std::optional<OptionTries> answer_option_tries(const std::vector<std::string>& make,
                                               const std::string& build_dir,
                                               const std::string& scratch);

// Returns whether make, run with these variables, asked nothing else. Removes the questions from
// its output.
bool asked_nothing_else(const OptionTries& tries, std::string& output);

} // namespace djstap::module
