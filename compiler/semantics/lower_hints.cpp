// SPDX-License-Identifier: GPL-2.0-or-later
// What was meant by a name that nothing assigns to.
#include "diagnostics/foreign_words.h"
#include "diagnostics/suggest.h"
#include "semantics/lower.h"

#include <algorithm>
#include <set>

namespace djstap::semantics {

namespace {

// Adds the variables that a statement assigns to.
void add_assigned(const ast::Statement& statement, std::set<std::string>& out) {
    auto add_branch = [&](const ast::StatementPtr& branch) {
        if (branch)
            add_assigned(*branch, out);
    };
    switch (statement.kind) {
    case ast::StatementKind::Block:
        for (const ast::StatementPtr& each : ast::as<ast::Block>(statement).statements)
            add_branch(each);
        break;
    case ast::StatementKind::If:
        add_branch(ast::as<ast::If>(statement).then_branch);
        add_branch(ast::as<ast::If>(statement).else_branch);
        break;
    case ast::StatementKind::ExpressionStatement: {
        const auto& expression = *ast::as<ast::ExpressionStatement>(statement).expression;
        if (expression.kind != ast::ExpressionKind::Assignment)
            break;
        const auto& place = *ast::as<ast::Assignment>(expression).place;
        if (place.kind == ast::ExpressionKind::Identifier)
            out.insert(ast::as<ast::Identifier>(place).name);
        break;
    }
    default:
        break;
    }
}

// The entry probe of a return probe's alias, and the other way round.
std::string counterpart(const std::string& alias) {
    constexpr std::string_view suffix = ".return";
    return alias.ends_with(suffix) ? alias.substr(0, alias.size() - suffix.size())
                                   : alias + std::string(suffix);
}

constexpr size_t most_listed = 30;

// Returns whether the node is a target variable or a value reached through one, which may point to
// characters, or to a structure.
bool is_target_value(const ast::Expression& node) {
    using Kind = ast::ExpressionKind;
    return node.kind == Kind::TargetSymbol || node.kind == Kind::Cast ||
           node.kind == Kind::Autocast;
}

// The name with which an expression begins: "dentry" of dentry->d_inode; "": another kind of it.
std::string first_name(const ast::Expression& node) {
    if (node.kind == ast::ExpressionKind::Identifier)
        return ast::as<ast::Identifier>(node).name;
    if (node.kind == ast::ExpressionKind::Autocast)
        return first_name(*ast::as<ast::Autocast>(node).operand);
    return {};
}

bool touch(SourceRange left, SourceRange right) {
    return left.file == right.file && left.end == right.begin;
}

} // namespace

// Returns the aliases that lead to the body, outermost first; empty if it has several points that
// need not have the same.
const std::vector<std::string>& Lowering::aliases_of_body() const {
    static const std::vector<std::string> none;
    const auto* all = body_->probe ? &body_->probe->alias_names : nullptr;
    if (!all || all->empty() || std::any_of(all->begin(), all->end(), [&](const auto& each) {
            return each != all->front();
        }))
        return none;
    return all->front();
}

// A variable of the alias for the function's other end.
std::string Lowering::hint_for_other_end(const std::string& name) const {
    for (const std::string& alias : aliases_of_body()) {
        const std::string other = counterpart(alias);
        std::set<std::string> assigned;
        for (const AliasState& state : names_.aliases_named(other))
            for (const auto* block : {&state.declaration->body, &state.declaration->epilogue})
                if (*block)
                    add_assigned(**block, assigned);
        if (assigned.contains(name))
            return "it is a variable of " + other;
    }
    return {};
}

// "vfs.read has: file, pos": what the aliases of the probe assign to.
std::string Lowering::list_of_alias_variables() const {
    std::string list;
    size_t listed = 0;
    for (size_t i = 0; i < body_->states.size(); ++i) {
        const std::string& name = (*body_->locals)[i].name;
        if (!body_->states[i].written || body_->own_writes.contains(name) || name.starts_with("__"))
            continue;
        if (++listed > most_listed) {
            list += ", …";
            break;
        }
        list += (list.empty() ? "" : ", ") + name;
    }
    const std::vector<std::string>& aliases = aliases_of_body();
    return list.empty() || aliases.empty() ? std::string() : aliases.front() + " has: " + list;
}

std::string Lowering::nearest_variable(const std::string& name) {
    const std::vector<std::string> functions = names_.function_names(*body_->file);
    if (std::find(functions.begin(), functions.end(), name) != functions.end())
        return "'" + name + "' is a function: call it as " + name + "()";
    std::vector<std::string> candidates;
    for (const auto& [other, index] : body_->index)
        if (other != name && body_->states[index].written)
            candidates.push_back(other);
    std::sort(candidates.begin(), candidates.end());
    for (std::string& global : names_.global_names(*body_->file))
        candidates.push_back(std::move(global));
    std::string hint = did_you_mean(name, candidates);
    if (hint.empty())
        hint = hint_for_other_end(name);
    if (hint.empty())
        hint = hint_for_foreign_value(name);
    if (!hint.empty())
        return hint;
    // The other likely mistake is a function without its parentheses.
    if (auto near = nearest(name, functions))
        return "did you mean '" + *near + "()'?";
    hint = list_of_alias_variables();
    if (hint.empty() && probes_code())
        hint = "a variable of the probed function begins with $: write $" + name +
               " if it has that variable";
    return hint;
}

// What else than a concatenation of strings a.b may be meant to be.
std::string Lowering::hint_for_dot(const ast::Binary& node) {
    if (!touch(node.left->range, node.op_range) || !touch(node.op_range, node.right->range))
        return {};
    const std::string left(diagnostics_.sources().text(node.left->range));
    const std::string right(diagnostics_.sources().text(node.right->range));
    if (node.left->kind == ast::ExpressionKind::NumberLiteral) {
        const std::string fraction = right.substr(0, right.find_first_not_of("0123456789"));
        return fraction.empty() ? std::string()
                                : "numbers are integers; string_to_fp(\"" + left + "." + fraction +
                                      "\") makes a floating-point number for fp_add() and the like";
    }
    const std::string name = first_name(*node.right);
    if (name.empty() || !is_target_value(*node.left) || names_.global(name, *body_->file))
        return {};
    if (const auto known = body_->index.find(name);
        known != body_->index.end() && body_->states[known->second].written)
        return {};
    return "members are reached by ->, also those of embedded structures: " + left + "->" + name;
}

// How a number becomes a string.
std::string Lowering::hint_for_text(const ast::Expression& node) {
    return is_target_value(node) ? "sprint(…) makes a string of a number; kernel_string(…) reads "
                                   "one through a pointer, user_string(…) one in user memory"
                                 : "sprint(…) makes a string of a number";
}

// How the string is read that a number may point to; "": it does not look like a pointer.
std::string Lowering::hint_for_pointer(const ast::Expression& node) {
    return is_target_value(node) ? "kernel_string(…) reads a string through a pointer, "
                                   "user_string(…) one in user memory"
                                 : std::string();
}

// Returns whether the body belongs to a probe of code, which has variables of its own.
bool Lowering::probes_code() const {
    if (!body_->probe)
        return false;
    const auto& traits = body_->probe->point_traits;
    return std::any_of(traits.begin(), traits.end(),
                       [](uint32_t each) { return (each & PointHasVariables) != 0; });
}

} // namespace djstap::semantics
