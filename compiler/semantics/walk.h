// SPDX-License-Identifier: GPL-2.0-or-later
// The children of a typed node, each by its owning pointer, so that passes can read or replace
// them.
#pragma once
#include "semantics/points.h"
#include "semantics/program.h"

#include <functional>

namespace djstap::program {

using ExpressionVisitor = std::function<void(ExpressionPtr&)>;
using StatementVisitor = std::function<void(StatementPtr&)>;

// Calls `visit` for every direct child that is there (null ones are left out), in the order of
// evaluation.
void for_each_child(Expression& node, const ExpressionVisitor& visit);
void for_each_child(Statement& node, const ExpressionVisitor& expression,
                    const StatementVisitor& statement);

// Calls `visit` for every expression below `node` (statements included), parents before children.
void walk_expressions(Statement& node, const std::function<void(Expression&)>& visit);
void walk_expressions(Expression& node, const std::function<void(Expression&)>& visit);
// Calls `visit` for `node` and every statement below it, parents first.
void walk_statements(Statement& node, const std::function<void(Statement&)>& visit);

// Whether a probe of the program stands at a point with this trait.
bool has_probe_of(const Program& program, PointTrait trait);

// True for keys with a * among them: of several elements.
bool is_slice(const std::vector<ExpressionPtr>& keys);

} // namespace djstap::program
