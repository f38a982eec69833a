// SPDX-License-Identifier: GPL-2.0-or-later
// A random program is written once and read in two ways: as the script that is tested, and as its
// meaning, which the interpreter receives. The script has no parentheses where the precedence of
// operators makes them redundant, calls macros, and uses aliases; its meaning has every pair of
// parentheses, and the expansions of macros and aliases. The generator implements precedence and
// expansion itself, so that the parser and the preprocessor are checked, too.
#pragma once
#include <cstdint>
#include <string>

namespace djstap::differential {

// From the loosest to the tightest, in the order of SystemTap's language reference.
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

// Marks an expression whose outermost operator has that level.
std::string compound(Level level, const std::string& text);
// Returns the level of an expression: Primary if compound() did not create it.
Level level_of(const std::string& expression);
// Returns an operand where an expression of that level or a tighter one is expected. `keep`: it has
// parentheses in any case.
std::string operand(const std::string& expression, Level least, bool keep);

// What the script contains, and its meaning.
std::string alternative(const std::string& script, const std::string& meaning);
// The same for whole lines.
std::string script_line(const std::string& line);
std::string meaning_line(const std::string& line);
// Returns whether a line is only in one of the two texts: it must not be removed alone.
bool is_half(const std::string& line);

std::string script_of(const std::string& marked);
std::string meaning_of(const std::string& marked);

} // namespace djstap::differential
