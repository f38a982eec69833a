// SPDX-License-Identifier: GPL-2.0-or-later
#include "ast/printer.h"

#include <array>

namespace djstap::ast {

namespace {

// From loose to tight, in the order of the grammar.
enum Level {
    assignment_level,
    conditional_level,
    or_level,
    and_level,
    bit_or_level,
    xor_level,
    bit_and_level,
    in_level,
    match_level,
    comparison_level,
    shift_level,
    concatenation_level,
    additive_level,
    multiplicative_level,
    unary_level,
    operand_level,
};

struct Operator {
    const char* text;
    Level level;
};

Operator operator_of(BinaryOp op) {
    switch (op) {
    case BinaryOp::Add:
        return {"+", additive_level};
    case BinaryOp::Subtract:
        return {"-", additive_level};
    case BinaryOp::Multiply:
        return {"*", multiplicative_level};
    case BinaryOp::Divide:
        return {"/", multiplicative_level};
    case BinaryOp::Modulo:
        return {"%", multiplicative_level};
    case BinaryOp::And:
        return {"&", bit_and_level};
    case BinaryOp::Or:
        return {"|", bit_or_level};
    case BinaryOp::Xor:
        return {"^", xor_level};
    case BinaryOp::ShiftLeft:
        return {"<<", shift_level};
    case BinaryOp::ShiftRight:
        return {">>", shift_level};
    case BinaryOp::ShiftRightLogical:
        return {">>>", shift_level};
    case BinaryOp::Equal:
        return {"==", comparison_level};
    case BinaryOp::NotEqual:
        return {"!=", comparison_level};
    case BinaryOp::Less:
        return {"<", comparison_level};
    case BinaryOp::LessEqual:
        return {"<=", comparison_level};
    case BinaryOp::Greater:
        return {">", comparison_level};
    case BinaryOp::GreaterEqual:
        return {">=", comparison_level};
    case BinaryOp::Concatenate:
        return {".", concatenation_level};
    }
    return {"", operand_level};
}

std::string operand(const Expression& expression, int least) {
    std::string text = print(expression);
    return precedence(expression) < least ? "(" + text + ")" : text;
}

std::string list(const std::vector<ExpressionPtr>& items) {
    std::string out;
    for (const auto& item : items) {
        if (!out.empty())
            out += ", ";
        out += item ? print(*item) : "*";
    }
    return out;
}

std::string number(int64_t value) {
    if (value >= 0)
        return std::to_string(value);
    // A sign would be an operator of its own.
    constexpr char digits[] = "0123456789abcdef";
    std::string out = "0x";
    for (int shift = 60; shift >= 0; shift -= 4)
        out += digits[(static_cast<uint64_t>(value) >> shift) & 15];
    return out;
}

std::string steps(const std::vector<Component>& components) {
    std::string out;
    for (const Component& component : components) {
        switch (component.kind) {
        case Component::Kind::Member:
            out += "->" + component.member;
            break;
        case Component::Kind::Index:
            out += "[" + print(*component.index) + "]";
            break;
        case Component::Kind::PrettyPrint:
            out += component.member;
            break;
        }
    }
    return out;
}

std::string address(bool taken) {
    return taken ? "&" : "";
}

std::string with_module(const std::string& first, const std::string& module) {
    return module.empty() ? first + ")" : first + ", " + quote(module) + ")";
}

std::string print_print(const Print& node) {
    std::string name = std::string(node.to_string ? "s" : "") + "print";
    if (node.single_char)
        name += "_char";
    if (node.formatted)
        name += "f";
    if (node.delimited)
        name += "d";
    if (node.newline)
        name += "ln";
    std::string arguments = node.formatted ? quote(node.format) : "";
    for (const auto& argument : node.arguments)
        arguments += (arguments.empty() ? "" : ", ") + print(*argument);
    return name + "(" + arguments + ")";
}

std::string print_statistic(const StatisticOp& node) {
    std::string out = std::string(name_of(node.op)) + "(" + print(*node.operand);
    for (int64_t parameter : node.parameters)
        out += ", " + std::to_string(parameter);
    return out + ")";
}

std::string print_assignment(const Assignment& node) {
    std::string op = "=";
    if (node.form == Assignment::Kind::Compound)
        op = std::string(operator_of(node.op).text) + "=";
    else if (node.form == Assignment::Kind::Aggregate)
        op = "<<<";
    return operand(*node.place, unary_level) + " " + op + " " +
           operand(*node.value, assignment_level);
}

std::string print_membership(const Membership& node) {
    bool lone = node.indexes.size() == 1 && node.indexes[0];
    std::string keys =
        lone ? operand(*node.indexes[0], match_level) : "[" + list(node.indexes) + "]";
    return keys + " in " + print(*node.array);
}

// Returns what precedes -> or [ of an autocast.
std::string cast_base(const Expression& expression) {
    bool bare = expression.kind == ExpressionKind::Identifier ||
                expression.kind == ExpressionKind::Call ||
                expression.kind == ExpressionKind::ArrayIndex;
    return bare ? print(expression) : "(" + print(expression) + ")";
}

std::string print_autocast(const Autocast& node) {
    std::string base = cast_base(*node.operand);
    bool index_first =
        !node.components.empty() && node.components[0].kind == Component::Kind::Index;
    // x[1] would be an element of an array.
    if (index_first && node.operand->kind != ExpressionKind::Call && base[0] != '(')
        base = "(" + base + ")";
    return address(node.address_of) + base + steps(node.components);
}

std::string print_unary(const Unary& node) {
    constexpr std::array<const char*, 4> texts{"+", "-", "!", "~"};
    std::string text = texts[static_cast<size_t>(node.op)];
    std::string inner = operand(*node.operand, unary_level);
    // - -x is not --x, and ! ~x is not the operator !~.
    bool clash =
        ((text == "+" || text == "-") && inner[0] == text[0]) || (text == "!" && inner[0] == '~');
    return text + (clash ? " " : "") + inner;
}

} // namespace

std::string_view name_of(BinaryOp op) {
    return operator_of(op).text;
}

std::string_view name_of(StatOp op) {
    switch (op) {
    case StatOp::Count:
        return "@count";
    case StatOp::Sum:
        return "@sum";
    case StatOp::Min:
        return "@min";
    case StatOp::Max:
        return "@max";
    case StatOp::Avg:
        return "@avg";
    case StatOp::Variance:
        return "@variance";
    case StatOp::HistLog:
        return "@hist_log";
    case StatOp::HistLinear:
        return "@hist_linear";
    }
    return "";
}

int precedence(const Expression& expression) {
    switch (expression.kind) {
    case ExpressionKind::Assignment:
        return assignment_level;
    case ExpressionKind::Conditional:
        return conditional_level;
    case ExpressionKind::Logical:
        return as<Logical>(expression).conjunction ? and_level : or_level;
    case ExpressionKind::Binary:
        return operator_of(as<Binary>(expression).op).level;
    case ExpressionKind::Membership:
        return in_level;
    case ExpressionKind::RegexMatch:
        return match_level;
    case ExpressionKind::Unary:
        return unary_level;
    case ExpressionKind::Increment:
        return as<Increment>(expression).prefix ? int{unary_level} : int{operand_level};
    default:
        return operand_level;
    }
}

std::string print(const Expression& e) {
    switch (e.kind) {
    case ExpressionKind::NumberLiteral:
        return number(as<NumberLiteral>(e).value);
    case ExpressionKind::StringLiteral:
        return quote(as<StringLiteral>(e).value);
    case ExpressionKind::Identifier:
        return as<Identifier>(e).name;
    case ExpressionKind::ArrayIndex:
        return print(*as<ArrayIndex>(e).base) + "[" + list(as<ArrayIndex>(e).indexes) + "]";
    case ExpressionKind::TargetSymbol: {
        const auto& node = as<TargetSymbol>(e);
        std::string name = node.name == "@var"
                               ? with_module("@var(" + quote(node.variable), node.module)
                               : node.name;
        return address(node.address_of) + name + steps(node.components);
    }
    case ExpressionKind::Cast: {
        const auto& node = as<Cast>(e);
        return address(node.address_of) +
               with_module("@cast(" + print(*node.operand) + ", " + quote(node.type), node.module) +
               steps(node.components);
    }
    case ExpressionKind::Autocast:
        return print_autocast(as<Autocast>(e));
    case ExpressionKind::Defined:
        return "@defined(" + print(*as<Defined>(e).operand) + ")";
    case ExpressionKind::Entry:
        return "@entry(" + print(*as<Entry>(e).operand) + ")";
    case ExpressionKind::PerfCounter:
        return "@perf(" + quote(as<PerfCounter>(e).name) + ")";
    case ExpressionKind::Const:
        return "@const(" + quote(as<Const>(e).text) + ")";
    case ExpressionKind::Enumerator:
        return "@enum(" + list(as<Enumerator>(e).arguments) + ")";
    case ExpressionKind::Dereference: {
        const auto& node = as<Dereference>(e);
        return std::string(node.user ? "@uderef(" : "@kderef(") + std::to_string(node.size) + ", " +
               print(*node.address) + ")";
    }
    case ExpressionKind::Register:
        return std::string(as<Register>(e).user ? "@uregister(" : "@kregister(") +
               std::to_string(as<Register>(e).number) + ")";
    case ExpressionKind::ProbeWrite:
        return "@probewrite(" + print(*as<ProbeWrite>(e).operand) + ")";
    case ExpressionKind::Unary:
        return print_unary(as<Unary>(e));
    case ExpressionKind::Binary: {
        const auto& node = as<Binary>(e);
        Operator op = operator_of(node.op);
        return operand(*node.left, op.level) + " " + op.text + " " +
               operand(*node.right, op.level + 1);
    }
    case ExpressionKind::Logical: {
        const auto& node = as<Logical>(e);
        int level = node.conjunction ? and_level : or_level;
        return operand(*node.left, level) + (node.conjunction ? " && " : " || ") +
               operand(*node.right, level + 1);
    }
    case ExpressionKind::Conditional: {
        const auto& node = as<Conditional>(e);
        // The last part extends as far as possible, including an assignment.
        return operand(*node.condition, conditional_level + 1) + " ? " + print(*node.then_value) +
               " : " + print(*node.else_value);
    }
    case ExpressionKind::Assignment:
        return print_assignment(as<Assignment>(e));
    case ExpressionKind::Increment: {
        const auto& node = as<Increment>(e);
        std::string op = node.decrement ? "--" : "++";
        return node.prefix ? op + operand(*node.operand, unary_level)
                           : operand(*node.operand, operand_level) + op;
    }
    case ExpressionKind::Call:
        return as<Call>(e).function + "(" + list(as<Call>(e).arguments) + ")";
    case ExpressionKind::Print:
        return print_print(as<Print>(e));
    case ExpressionKind::StatisticOp:
        return print_statistic(as<StatisticOp>(e));
    case ExpressionKind::Membership:
        return print_membership(as<Membership>(e));
    case ExpressionKind::RegexMatch: {
        const auto& node = as<RegexMatch>(e);
        return operand(*node.operand, shift_level) + (node.negated ? " !~ " : " =~ ") +
               quote(node.pattern);
    }
    case ExpressionKind::EmbeddedC:
        return "%{" + as<EmbeddedC>(e).code + "%}";
    }
    return "";
}

} // namespace djstap::ast
