// SPDX-License-Identifier: GPL-2.0-or-later
// The names of functions in the source of a program, from its symbols (libiberty).
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace djstap {

enum class Demangling {
    Done,
    Unknown, // it is no symbol of C++ or Rust, or longer than 1 KB
    TooLong, // its text
};

struct Demangled {
    Demangling result = Demangling::Unknown;
    std::string text; // if it is done
};

// Returns what a symbol of C++ or Rust stands for, with the parameters of a function, if that has
// at most `most` bytes. A symbol of 300 bytes can stand for a text that no memory holds, because
// its parts may refer to earlier parts twice: the text ends while it is made.
Demangled demangle(std::string_view symbol, size_t most);

} // namespace djstap
