// SPDX-License-Identifier: GPL-2.0-or-later
#include "ast/printer.h"

namespace djstap::ast {

namespace {

// Formats the statement after if (…), while (…) and the like: a block on the same line, anything
// else below it.
std::string print_body(const Statement& body, int indent) {
    if (body.kind == StatementKind::Block)
        return " " + print_block(as<Block>(body), indent);
    return "\n" + print(body, indent + 1);
}

bool ends_in_open_if(const Statement& statement) {
    switch (statement.kind) {
    case StatementKind::If: {
        const auto& node = as<If>(statement);
        return !node.else_branch || ends_in_open_if(*node.else_branch);
    }
    case StatementKind::While:
        return ends_in_open_if(*as<While>(statement).body);
    case StatementKind::For:
        return ends_in_open_if(*as<For>(statement).body);
    case StatementKind::Foreach:
        return ends_in_open_if(*as<Foreach>(statement).body);
    default:
        return false;
    }
}

std::string print_if(const If& node, int indent) {
    std::string out = "if (" + print(*node.condition) + ")";
    // Without braces, the else would belong to an if inside.
    bool braces = node.else_branch && node.then_branch->kind != StatementKind::Block &&
                  ends_in_open_if(*node.then_branch);
    if (braces)
        out += " {\n" + print(*node.then_branch, indent + 1) + "\n" + indentation(indent) + "}";
    else
        out += print_body(*node.then_branch, indent);
    if (!node.else_branch)
        return out;
    bool same_line = braces || node.then_branch->kind == StatementKind::Block;
    out += same_line ? " else" : "\n" + indentation(indent) + "else";
    if (node.else_branch->kind == StatementKind::If)
        return out + " " + print(*node.else_branch, indent).substr(static_cast<size_t>(indent) * 4);
    return out + print_body(*node.else_branch, indent);
}

std::string order(const Foreach& node, int key) {
    return node.sort_key != key ? "" : node.ascending ? "+" : "-";
}

std::string print_foreach(const Foreach& node, int indent) {
    std::string keys;
    for (size_t i = 0; i < node.keys.size(); i++)
        keys += (i ? ", " : "") + node.keys[i] + order(node, static_cast<int>(i) + 1);
    if (node.keys.size() != 1)
        keys = "[" + keys + "]";
    std::string out = "foreach (" + (node.value.empty() ? "" : node.value + " = ") + keys + " in " +
                      print(*node.array);
    if (!node.slice.empty()) {
        out += "[";
        for (size_t i = 0; i < node.slice.size(); i++)
            out += (i ? ", " : "") + (node.slice[i] ? print(*node.slice[i]) : std::string("*"));
        out += "]";
    }
    if (node.sort_stat)
        out += " " + std::string(name_of(*node.sort_stat));
    out += order(node, 0);
    if (node.limit)
        out += " limit " + print(*node.limit);
    return out + ")" + print_body(*node.body, indent);
}

std::string print_for(const For& node, int indent) {
    auto part = [](const ExpressionPtr& e) { return e ? print(*e) : std::string(); };
    return "for (" + part(node.init) + "; " + part(node.condition) + "; " + part(node.step) + ")" +
           print_body(*node.body, indent);
}

std::string text(const Statement& statement, int indent) {
    switch (statement.kind) {
    case StatementKind::Block:
        return print_block(as<Block>(statement), indent);
    case StatementKind::ExpressionStatement:
        return print(*as<ExpressionStatement>(statement).expression) + ";";
    case StatementKind::Null:
        return ";";
    case StatementKind::If:
        return print_if(as<If>(statement), indent);
    case StatementKind::While:
        return "while (" + print(*as<While>(statement).condition) + ")" +
               print_body(*as<While>(statement).body, indent);
    case StatementKind::For:
        return print_for(as<For>(statement), indent);
    case StatementKind::Foreach:
        return print_foreach(as<Foreach>(statement), indent);
    case StatementKind::Break:
        return "break;";
    case StatementKind::Continue:
        return "continue;";
    case StatementKind::Next:
        return "next;";
    case StatementKind::Return: {
        const auto& node = as<Return>(statement);
        return node.value ? "return " + print(*node.value) + ";" : "return;";
    }
    case StatementKind::Delete:
        return "delete " + print(*as<Delete>(statement).erased) + ";";
    case StatementKind::TryCatch: {
        const auto& node = as<TryCatch>(statement);
        std::string variable = node.variable.empty() ? "" : " (" + node.variable + ")";
        return "try" + print_body(*node.body, indent) + " catch" + variable +
               print_body(*node.handler, indent);
    }
    case StatementKind::EmbeddedStatement:
        return "%{" + as<EmbeddedStatement>(statement).code + "%}";
    }
    return "";
}

} // namespace

std::string indentation(int indent) {
    return std::string(static_cast<size_t>(indent) * 4, ' ');
}

std::string print_block(const Block& block, int indent) {
    if (block.statements.empty())
        return "{}";
    std::string out = "{\n";
    for (const auto& statement : block.statements)
        out += print(*statement, indent + 1) + "\n";
    return out + indentation(indent) + "}";
}

std::string print(const Statement& statement, int indent) {
    return indentation(indent) + text(statement, indent);
}

} // namespace djstap::ast
