// SPDX-License-Identifier: GPL-2.0-or-later
// Visits the children of a typed node, each by its owning pointer, so that passes can read or
// replace them.
#pragma once
#include "semantics/points.h"
#include "semantics/program.h"

#include <functional>

namespace djstap::program {

using ExpressionVisitor = std::function<void(ExpressionPtr&)>;
using StatementVisitor = std::function<void(StatementPtr&)>;

// Calls `visit` for every direct child that is not null, in the order of evaluation.
void for_each_child(Expression& node, const ExpressionVisitor& visit);
void for_each_child(Statement& node, const ExpressionVisitor& expression,
                    const StatementVisitor& statement);

// Calls `visit` for every expression below `node` (including those in statements), parents before
// children.
void walk_expressions(Statement& node, const std::function<void(Expression&)>& visit);
void walk_expressions(Expression& node, const std::function<void(Expression&)>& visit);
// Calls `visit` for `node` and every statement below it, parents first.
void walk_statements(Statement& node, const std::function<void(Statement&)>& visit);

// Returns whether `node` contains a `next`.
bool contains_next(Statement& node);

// Returns the place that an assignment or an increment changes; null for other expressions.
const Expression* assigned_place(const Expression& node);

// Returns whether a probe of the program has a point with this trait.
bool has_probe_of(const Program& program, PointTrait trait);

// Returns whether the keys contain a *: they select several elements.
bool is_slice(const std::vector<ExpressionPtr>& keys);

} // namespace djstap::program
