// SPDX-License-Identifier: GPL-2.0-or-later
// A random program is written once and read in two ways: as the script that is tested, and as what
// it has to mean, which is what the interpreter is given. The script has no parentheses where
// operators' precedence says the same, calls macros, and names aliases; its meaning has every pair
// of parentheses, and what macros and aliases stand for in their place. Precedence and expansion
// are the generator's own here, so that the parser and the preprocessor are checked, too.
#pragma once
#include <cstdint>
#include <string>

namespace djstap::differential {

// From what binds least to what binds most; as SystemTap's language reference orders them.
enum class Level : uint8_t {
    Assignment,
    Conditional,
    Or,
    And,
    BitOr,
    BitXor,
    BitAnd,
    Membership, // in, and =~ and !~, which it does not chain
    Comparison,
    Shift,
    Concatenation,
    Sum,
    Product,
    Unary,
    Primary
};

// An expression whose outermost operator is of that level.
std::string compound(Level level, const std::string& text);
// What an expression is: Primary if compound() did not make it.
Level level_of(const std::string& expression);
// An expression where one of that level or more is expected. `keep`: it has parentheses in any
// case.
std::string operand(const std::string& expression, Level least, bool keep);

// What the script says, and what that means.
std::string alternative(const std::string& script, const std::string& meaning);
// The same for whole lines.
std::string script_line(const std::string& line);
std::string meaning_line(const std::string& line);
// A line that is only in one of the two: not to be taken out alone.
bool is_half(const std::string& line);

std::string script_of(const std::string& marked);
std::string meaning_of(const std::string& marked);

} // namespace djstap::differential
