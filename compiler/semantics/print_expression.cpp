// SPDX-License-Identifier: GPL-2.0-or-later
#include "semantics/print.h"

#include "ast/printer.h"
#include "semantics/format.h"

namespace djstap::program {

namespace {

class ExpressionPrinter {
  public:
    explicit ExpressionPrinter(const std::vector<Local>& locals) : locals_(locals) {}

    std::string text(const Expression& node) const {
        switch (node.kind) {
        case ExpressionKind::Number:
            return std::to_string(as<Number>(node).value);
        case ExpressionKind::Text:
            return text_literal(as<Text>(node).value);
        case ExpressionKind::LocalValue:
            return locals_.at(as<LocalValue>(node).local).name;
        case ExpressionKind::GlobalValue: {
            const auto& value = as<GlobalValue>(node);
            return value.global->name + (value.keys.empty() ? "" : "[" + list(value.keys) + "]");
        }
        case ExpressionKind::Membership:
            return "([" + list(as<Membership>(node).keys) + "] in " +
                   as<Membership>(node).array->name + ")";
        case ExpressionKind::Unary: {
            static constexpr const char* ops[] = {"+", "-", "!", "~"};
            return std::string(ops[static_cast<int>(as<Unary>(node).op)]) +
                   text(*as<Unary>(node).operand);
        }
        case ExpressionKind::Arithmetic:
            return infix(as<Arithmetic>(node).left, ast::name_of(as<Arithmetic>(node).op),
                         as<Arithmetic>(node).right);
        case ExpressionKind::Comparison:
            return infix(as<Comparison>(node).left, ast::name_of(as<Comparison>(node).op),
                         as<Comparison>(node).right);
        case ExpressionKind::Concatenation:
            return infix(as<Concatenation>(node).left, ".", as<Concatenation>(node).right);
        case ExpressionKind::StackText:
            return text(*as<StackText>(node).stack);
        case ExpressionKind::Logical:
            return infix(as<Logical>(node).left, as<Logical>(node).conjunction ? "&&" : "||",
                         as<Logical>(node).right);
        case ExpressionKind::Conditional: {
            const auto& choice = as<Conditional>(node);
            return "(" + text(*choice.condition) + " ? " + text(*choice.then_value) + " : " +
                   text(*choice.else_value) + ")";
        }
        case ExpressionKind::Assignment: {
            const auto& assignment = as<Assignment>(node);
            return text(*assignment.place) + " " +
                   std::string(assignment.op ? ast::name_of(*assignment.op) : "") + "= " +
                   text(*assignment.value);
        }
        case ExpressionKind::Aggregation:
            return text(*as<Aggregation>(node).place) + " <<< " +
                   text(*as<Aggregation>(node).value);
        case ExpressionKind::Increment: {
            const auto& increment = as<Increment>(node);
            const std::string op = increment.decrement ? "--" : "++";
            return increment.prefix ? op + text(*increment.place) : text(*increment.place) + op;
        }
        case ExpressionKind::Call:
            return as<Call>(node).function->name + "(" + list(as<Call>(node).arguments) + ")";
        case ExpressionKind::Print:
            return printing(as<Print>(node));
        case ExpressionKind::StatisticRead: {
            const auto& read = as<StatisticRead>(node);
            return std::string(ast::name_of(read.op)) + "(" + text(*read.place) + ")" +
                   (read.bucket ? "[" + text(*read.bucket) + "]" : "");
        }
        case ExpressionKind::HistogramText:
            return std::string(ast::name_of(as<HistogramText>(node).op)) + "(" +
                   text(*as<HistogramText>(node).place) + ")";
        case ExpressionKind::TargetValue:
            return target(as<TargetValue>(node));
        case ExpressionKind::Defined:
            return "@defined(" + text(*as<Defined>(node).operand) + ")";
        case ExpressionKind::EntryValue:
            return "entry#" + std::to_string(as<EntryValue>(node).slot);
        case ExpressionKind::Dereference:
            return std::string(as<Dereference>(node).user ? "@uderef" : "@kderef") + "(" +
                   std::to_string(as<Dereference>(node).size) + ", " +
                   text(*as<Dereference>(node).address) + ")";
        case ExpressionKind::Register:
            return std::string(as<Register>(node).user ? "@uregister" : "@kregister") + "(" +
                   std::to_string(as<Register>(node).number) + ")";
        case ExpressionKind::RegexMatch:
            return "(" + text(*as<RegexMatch>(node).operand) +
                   (as<RegexMatch>(node).negated ? " !~ " : " =~ ") +
                   text_literal(as<RegexMatch>(node).pattern) + ")";
        case ExpressionKind::EmbeddedC:
            return "%{" + as<EmbeddedC>(node).code + "%}";
        }
        return "?";
    }

    std::string list(const std::vector<ExpressionPtr>& items) const {
        std::string result;
        for (const ExpressionPtr& item : items)
            result += (result.empty() ? "" : ", ") + (item ? text(*item) : std::string("*"));
        return result;
    }

  private:
    std::string infix(const ExpressionPtr& left, std::string_view op,
                      const ExpressionPtr& right) const {
        return "(" + text(*left) + " " + std::string(op) + " " + text(*right) + ")";
    }

    std::string printing(const Print& node) const {
        std::string format;
        for (const FormatPiece& piece : node.format) {
            for (char c : piece.literal)
                format += c == '%' ? "%%" : std::string(1, c);
            if (piece.conversion)
                format += semantics::conversion_text(piece);
        }
        return std::string(node.to_string ? "sprintf(" : "printf(") + text_literal(format) +
               (node.arguments.empty() ? "" : ", ") + list(node.arguments) + ")";
    }

    std::string target(const TargetValue& node) const {
        std::string result = node.address_of ? "&" : "";
        switch (node.base) {
        case TargetValue::Base::Variable:
            result += node.name;
            break;
        case TargetValue::Base::Cast:
            result += "@cast(" + text(*node.operand) + ", " + text_literal(node.cast_type) +
                      (node.module.empty() ? "" : ", " + text_literal(node.module)) + ")";
            break;
        case TargetValue::Base::Autocast:
            result += "(" + text(*node.operand) + ")";
            break;
        case TargetValue::Base::PerfCounter:
            result += "@perf(" + text_literal(node.name) + ")";
            break;
        case TargetValue::Base::Enumerator:
            result += "@enum(" + text_literal(node.name) +
                      (node.module.empty() ? "" : ", " + text_literal(node.module)) + ")";
            break;
        case TargetValue::Base::GlobalVariable:
            result += "@var(" + text_literal(node.name) +
                      (node.module.empty() ? "" : ", " + text_literal(node.module)) + ")";
            break;
        }
        for (const TargetComponent& component : node.components)
            result += component.kind == TargetComponent::Kind::Member
                          ? "->" + component.member
                          : "[" + text(*component.index) + "]";
        return result + std::string(static_cast<size_t>(node.pretty), '$');
    }

    const std::vector<Local>& locals_;
};

} // namespace

const char* type_text(Type type) {
    switch (type) {
    case Type::Void:
        return "void";
    case Type::Long:
        return "long";
    case Type::String:
        return "string";
    case Type::Statistic:
        return "stats";
    case Type::Stack:
        return "stack";
    }
    return "?";
}

std::string text_literal(const std::string& text) {
    static constexpr char digits[] = "01234567";
    std::string result = "\"";
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\')
            (result += '\\') += c;
        else if (c == '\n')
            result += "\\n";
        else if (c == '\t')
            result += "\\t";
        else if (byte < 32 || byte == 127)
            result +=
                std::string("\\") + digits[byte >> 6] + digits[(byte >> 3) & 7] + digits[byte & 7];
        else
            result += c;
    }
    return result + '"';
}

std::string print(const Expression& node, const std::vector<Local>& locals) {
    return ExpressionPrinter(locals).text(node);
}

} // namespace djstap::program
