// SPDX-License-Identifier: GPL-2.0-or-later
#include "expression_generator.h"

#include <cctype>

namespace djstap::differential {

std::string ExpressionGenerator::literal() {
    static const char* const edges[] = {
        "0", "1", "2", "7", "63", "64", "0x7fffffffffffffff", "1000000007", "0xdeadbeefcafe"};
    static const char* const negative[] = {"-1", "-2", "-9", "-0x7fffffffffffffff"};
    if (one_in(9))
        return one_in(5) ? "(-0x7fffffffffffffff - 1)" : compound(Level::Unary, pick(negative));
    return one_in(3) ? pick(edges) : std::to_string(below(one_in(2) ? 10 : 1000));
}

// Returns whether the text consists only of string literals and operators that join them.
static bool is_literal(const std::string& text) {
    bool quoted = false, literal = true;
    for (size_t i = 0; i < text.size(); i++) {
        if (text[i] == '\\' || text[i] == 1) // an escape sequence, a mark of markup.cpp
            i++;
        else if (text[i] == '"')
            quoted = !quoted;
        else
            literal = literal && (quoted || std::isalnum(static_cast<unsigned char>(text[i])) == 0);
    }
    return literal;
}

// ---- operators ----

// Returns an operand, now and then in redundant parentheses.
std::string ExpressionGenerator::placed(const std::string& expression, Level least) {
    return operand(expression, least, one_in(12));
}

// All associate to the left.
std::string ExpressionGenerator::binary(Level level, const std::string& left, const std::string& op,
                                        const std::string& right) {
    const auto tighter = static_cast<Level>(static_cast<int>(level) + 1);
    return compound(level, placed(left, level == Level::Membership ? tighter : level) + " " + op +
                               " " + placed(right, tighter));
}

std::string ExpressionGenerator::unary(const std::string& op, const std::string& expression) {
    const std::string inner = placed(expression, Level::Unary);
    const bool joins = level_of(expression) == Level::Unary; // - -1 is not --1
    return compound(Level::Unary, op + (joins ? " " : "") + inner);
}

// The parts between ? and :, and after them, need no parentheses in any case.
std::string ExpressionGenerator::conditional(const std::string& condition, const std::string& yes,
                                             const std::string& no) {
    return compound(Level::Conditional, placed(condition, Level::Or) + " ? " +
                                            placed(yes, Level::Assignment) + " : " +
                                            placed(no, Level::Assignment));
}

std::string ExpressionGenerator::masked(int depth, const char* mask) {
    return binary(Level::BitAnd, number_expression(depth), "&", mask);
}

std::string ExpressionGenerator::initial_number() {
    static const char* const numbers[] = {"0", "5", "-3", "0x7fffffffffffffff", "1000"};
    return pick(numbers);
}

std::string ExpressionGenerator::word() {
    static const char* const words[] = {
        "\"\"",          "\"a\"",         "\"b\"",   "\"ab\"",  "\"abc abc\"", "\"x1y2z3\"",
        "\"-17\"",       "\"0x1f\"",      "\"ABC\"", "\"\\n\"", "\"a%d\"",     "\"zzzzzzzzzzzz\"",
        "\"\\\"q\\\"\"", "\"\\xc3\\xa4\""};
    // 4.8 accepts the letters after \xa4 as digits, too.
    return words[below(std::size(words) - portable_)];
}

std::string ExpressionGenerator::expression(Kind type, int depth) {
    return type == Kind::Long ? number_expression(depth) : text_expression(depth);
}

std::string ExpressionGenerator::keys_of(const Array& array, int depth) {
    std::string text;
    for (Kind key : array.keys)
        text += (text.empty() ? "" : ", ") +
                (one_in(2) ? portable_ ? placed(expression(key, depth - 1), Level::Comparison)
                                       : expression(key, depth - 1)
                 : key == Kind::Long ? std::to_string(below(4))
                                     : word());
    return text;
}

std::string ExpressionGenerator::constant_keys_of(const Array& array) {
    std::string text;
    for (Kind key : array.keys)
        text +=
            (text.empty() ? "" : ", ") + (key == Kind::Long ? std::to_string(below(4)) : word());
    return text;
}

std::string ExpressionGenerator::slice_of(const Array& array, int depth) {
    if (portable_)
        return one_in(2) ? "*" : constant_keys_of(array);
    std::string text;
    for (Kind key : array.keys)
        text += (text.empty() ? "" : ", ") +
                (one_in(2) ? std::string("*") : expression(key, depth - 1));
    return text;
}

const Array* ExpressionGenerator::array_of(Kind value) {
    const Array& array = pick(arrays_);
    return array.value == value ? &array : nullptr;
}

const Scalar* ExpressionGenerator::scalar_of(Kind type) {
    const Scalar& scalar = pick(scalars_);
    return scalar.type == type ? &scalar : nullptr;
}

std::string ExpressionGenerator::variable(Kind type) {
    std::vector<std::string> names;
    for (int i = 0; i < 3; i++)
        names.push_back((type == Kind::Long ? "l" : "w") + std::to_string(i));
    for (size_t i = 0; i < parameters_.size(); i++)
        if (parameters_[i] == type)
            names.push_back("p" + std::to_string(i));
    for (size_t i = 0; i < macro_parameters_.size(); i++)
        if (macro_parameters_[i] == type)
            names.push_back(i ? "(@y)" : "(@x)");
    for (const auto& [name, of] : loop_variables_)
        if (of == type)
            names.push_back(name);
    return pick(names);
}

// Variables that end loops and recursions are excluded.
std::string ExpressionGenerator::variable_to_assign(Kind type) {
    if (!parameters_.empty() && one_in(2)) {
        const size_t number = below(parameters_.size());
        if (parameters_[number] == type)
            return "p" + std::to_string(number);
    }
    return (type == Kind::Long ? "l" : "w") + std::to_string(below(3));
}

std::string ExpressionGenerator::call(Kind result, int depth) {
    if (functions_.empty())
        return "";
    const Function& function = pick(functions_);
    if (function.result != result)
        return "";
    std::string arguments = function.recursive ? std::to_string(below(one_in(15) ? 14 : 4)) : "";
    for (Kind type : function.parameters)
        arguments += (arguments.empty() ? "" : ", ") + expression(type, depth - 1);
    return function.name + "(" + arguments + ")";
}

std::string ExpressionGenerator::statistic_place(int depth, int* histogram) {
    if (one_in(2))
        if (const Array* array = array_of(Kind::Statistic)) {
            *histogram = array->histogram;
            return array->name + "[" + keys_of(*array, depth) + "]";
        }
    if (const Scalar* scalar = scalar_of(Kind::Statistic)) {
        *histogram = scalar->histogram;
        return scalar->name;
    }
    return "";
}

std::string ExpressionGenerator::histogram_of(const std::string& place, int histogram) {
    return histogram == 1 ? "@hist_log(" + place + ")"
                          : "@hist_linear(" + place + ", -20, 100, 15)";
}

std::string ExpressionGenerator::number_expression(int depth) {
    if (depth <= 0)
        return one_in(2) ? literal() : variable(Kind::Long);
    switch (below(21)) {
    case 0:
    case 1:
    case 2:
        return arithmetic(depth);
    case 3: {
        static const char* const operators[] = {"<<", ">>", ">>>"};
        const std::string left = number_expression(depth - 1);
        if (portable_)
            return binary(Level::Shift, left, operators[below(2)], masked(depth - 1, "63"));
        return binary(Level::Shift, left, pick(operators),
                      one_in(2) ? std::to_string(below(70)) : number_expression(depth - 1));
    }
    case 4: { // mostly no division by zero
        const std::string left = number_expression(depth - 1);
        const std::string op = one_in(2) ? "/" : "%";
        std::string right = number_expression(depth - 1);
        if (!one_in(6))
            right = binary(Level::BitOr, right, "|", "1");
        return binary(Level::Product, left, op, right);
    }
    case 5: {
        static const char* const operators[] = {"-", "~", "!", "+"};
        return unary(pick(operators), number_expression(depth - 1));
    }
    case 6:
    case 7: {
        static const char* const operators[] = {"<", "<=", ">", ">=", "==", "!="};
        const Kind type = one_in(2) ? Kind::Long : Kind::Text;
        std::string left = expression(type, depth - 1);
        const std::string right = expression(type, depth - 1);
        const char* const op = pick(operators);
        // 4.8 compares literal strings with their escape sequences as written.
        if (portable_ && is_literal(left + right) && (left + right).find('\\') != std::string::npos)
            left = compound(Level::Concatenation, "w2 . " + operand(left, Level::Sum, true));
        return binary(Level::Comparison, left, op, right);
    }
    case 8: {
        const std::string left = number_expression(depth - 1);
        return one_in(2) ? binary(Level::And, left, "&&", number_expression(depth - 1))
                         : binary(Level::Or, left, "||", number_expression(depth - 1));
    }
    case 9: {
        const std::string condition = number_expression(depth - 1);
        const std::string yes = number_expression(depth - 1);
        return conditional(condition, yes, number_expression(depth - 1));
    }
    case 10:
        if (const Scalar* scalar = scalar_of(Kind::Long))
            return scalar->name;
        return one_in(2) ? "n0" : "n1";
    case 11:
        if (const Array* array = array_of(Kind::Long))
            return array->name + "[" + keys_of(*array, depth) + "]";
        break;
    case 12: {
        const Array& array = pick(arrays_);
        if (array.keys.size() == 1 && one_in(2))
            return compound(Level::Membership,
                            placed(expression(array.keys[0], depth - 1), Level::Comparison) +
                                " in " + array.name);
        return compound(Level::Membership,
                        "[" + (one_in(3) ? slice_of(array, depth) : keys_of(array, depth)) +
                            "] in " + array.name);
    }
    case 13:
    case 16:
        return number_of_text(depth);
    case 14: {
        int histogram = 0;
        const std::string place = statistic_place(depth, &histogram);
        static const char* const operators[] = {"@count", "@sum", "@count",   "@min",
                                                "@max",   "@avg", "@variance"};
        if (place.empty())
            break;
        if (histogram && portable_ && one_in(2)) { // not of an empty one
            const std::string bucket = std::to_string(below(histogram == 1 ? 128 : 10));
            return conditional("@count(" + place + ")",
                               histogram_of(place, histogram) + "[" + bucket + "]", literal());
        }
        if (histogram && !portable_ && one_in(2)) {
            const std::string bucket = one_in(5) ? number_expression(depth - 1)
                                       : one_in(2)
                                           ? std::to_string(below(histogram == 1 ? 130 : 12))
                                           : std::to_string(62 + below(12));
            if (one_in(3))
                return compound(Level::Membership, placed(bucket, Level::Comparison) + " in " +
                                                       histogram_of(place, histogram));
            return histogram_of(place, histogram) + "[" + bucket + "]";
        }
        const std::string op = pick(operators);
        const bool of_array = place.find('[') != std::string::npos;
        return (portable_ && of_array && op == "@variance" ? "@avg" : op) + ("(" + place + ")");
    }
    case 15: {
        const std::string text = call(Kind::Long, depth);
        if (!text.empty())
            return text;
        break;
    }
    case 17:
        return macro(Kind::Long, depth);
    case 18: { // as a value
        if (portable_)
            break;
        static const char* const operators[] = {" = ", " += ", " ^= "};
        const std::string place = variable_to_assign(Kind::Long);
        return compound(Level::Assignment,
                        place + pick(operators) +
                            placed(number_expression(depth - 1), Level::Assignment));
    }
    case 19:
        if (has_casts_)
            return cast(depth);
        break;
    default:
        break;
    }
    return one_in(2) ? literal() : variable(Kind::Long);
}

// Returns the address of a member of the kernel's structure at a number: nothing is read.
std::string ExpressionGenerator::cast(int depth) {
    static const struct {
        const char* type;
        const char* member;
        int offset;
    } members[] = {{"list_head", "next", 0},
                   {"list_head", "prev", 8},
                   {"hlist_node", "pprev", 8},
                   {"rb_node", "rb_right", 8},
                   {"rb_node", "rb_left", 16}};
    const auto& chosen = pick(members);
    const std::string address = number_expression(depth - 1);
    return alternative("(&@cast(" + address + ", \"" + chosen.type + "\", \"kernel\")->" +
                           chosen.member + ")",
                       "((" + address + ") + " + std::to_string(chosen.offset) + ")");
}

std::string ExpressionGenerator::arithmetic(int depth) {
    static const struct {
        const char* name;
        Level level;
    } operators[] = {{"+", Level::Sum},    {"-", Level::Sum},   {"*", Level::Product},
                     {"&", Level::BitAnd}, {"|", Level::BitOr}, {"^", Level::BitXor}};
    const auto& op = pick(operators);
    const std::string left = number_expression(depth - 1);
    return binary(op.level, left, op.name, number_expression(depth - 1));
}

// Generates only operators, many of them, to test their precedence.
std::string ExpressionGenerator::operators(int depth) {
    static const struct {
        const char* name;
        Level level;
    } all[] = {{"+", Level::Sum},         {"-", Level::Sum},         {"*", Level::Product},
               {"&", Level::BitAnd},      {"|", Level::BitOr},       {"^", Level::BitXor},
               {"<<", Level::Shift},      {">>", Level::Shift},      {"<", Level::Comparison},
               {">=", Level::Comparison}, {"==", Level::Comparison}, {"!=", Level::Comparison},
               {"&&", Level::And},        {"||", Level::Or}};
    if (depth <= 0 || one_in(8))
        return one_in(3) ? variable(Kind::Long) : std::to_string(below(20));
    const std::string left = operators(depth - 1);
    if (one_in(8))
        return unary(one_in(2) ? "-" : "!", left);
    if (one_in(10)) {
        const std::string yes = operators(depth - 1);
        return conditional(left, yes, operators(depth - 1));
    }
    const auto& op = pick(all);
    std::string right = operators(depth - 1);
    if (portable_ && op.level == Level::Shift)
        right = binary(Level::BitAnd, right, "&", "63");
    return binary(op.level, left, op.name, right);
}

// Generates conversions and literal text; appends ", value" to `arguments` for each conversion.
std::string ExpressionGenerator::format_of(int depth, std::string* arguments) {
    std::string format;
    for (uint64_t i = 0, count = 1 + below(4); i < count; i++) {
        static const char* const numbers[] = {
            "%d",  "%i",  "%u",  "%x",   "%X",    "%o",    "%5d",   "%-5d", "%05d", "%+d",
            "% d", "%#x", "%#o", "%.3d", "%8.3x", "%-8x|", "%+.2d", "%p",   "%12p", "%-4p"};
        static const char* const texts[] = {"%s", "%8s", "%-8s", "%.2s", "%6.3s|"};
        static const char* const between[] = {"", " ", "%%", ", ", "[", "\\t"};
        format += pick(between);
        switch (below(6)) {
        case 0:
            format += "%c";
            *arguments += ", " + binary(Level::Sum, "33", "+", masked(depth - 1, "63"));
            break;
        case 1:
            format += one_in(2) ? "%*d" : "%-*d";
            *arguments += ", " + std::to_string(below(12)) + ", " + number_expression(depth);
            break;
        case 2:
        case 3:
            format += pick(numbers);
            *arguments += ", " + number_expression(depth);
            break;
        default:
            format += pick(texts);
            *arguments += ", " + text_expression(depth);
        }
    }
    return format;
}

} // namespace djstap::differential
