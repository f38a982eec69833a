// SPDX-License-Identifier: GPL-2.0-or-later
// The parts of print(): canonical text of single nodes.
#pragma once
#include "ast/ast.h"

#include <string>

namespace djstap::ast {

// Returns a string literal that decodes to the same bytes, including quotes.
std::string quote(const std::string& value);
// Returns how tightly an expression's outermost operator binds; an operand that binds more loosely
// needs parentheses.
int precedence(const Expression& expression);
// Returns the spaces for a level of indentation.
std::string indentation(int indent);
// Returns " { … }" as it follows a head on the same line, without a newline at its end.
std::string print_block(const Block& block, int indent);
// Returns an operator as scripts write it: "@count", "<<".
std::string_view name_of(StatOp op);
std::string_view name_of(BinaryOp op);

} // namespace djstap::ast
