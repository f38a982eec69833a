// SPDX-License-Identifier: GPL-2.0-or-later
// Generates expressions that are strings, and numbers computed from strings.
#include "expression_generator.h"

#include <algorithm>

namespace djstap::differential {

std::string ExpressionGenerator::pattern() {
    static const char* const patterns[] = {"a",  "^b",   "[0-9]+", "x$",     "a|b",    "(ab)*c",
                                           "^$", "^a.c", "b+ ",    "[^a-z]", "z{3,5}$"};
    static const char* const groups[] = {"(a)(b)?",         "([a-z]+)([0-9])", "^(-?)([0-9]+)$",
                                         "(a)|(b)",         "^(.)(.*)$",       "(b|bc|abc)( ?)",
                                         "([^ ]*) ([^ ]*)", "(c)|(a(b))"};
    return one_in(2) ? pick(patterns) : pick(groups);
}

// Returns a position in a string, or a length: most are inside, or just outside.
std::string ExpressionGenerator::position(int depth) {
    static const char* const edges[] = {"-1", "0x7fffffffffffffff", "-0x7fffffffffffffff",
                                        "0x100000000", "-0x100000000"};
    if (one_in(3))
        return masked(depth - 1, one_in(2) ? "7" : "15");
    if (one_in(4))
        return "strlen(" + text_expression(depth - 1) + ")";
    if (one_in(6))
        return number_expression(depth - 1);
    if (one_in(6)) {
        const std::string edge = pick(edges);
        // The largest length is none for SystemTap, which adds 1 to it.
        return portable_ && edge == edges[1] ? "0x7ffffffffffffffe" : edge;
    }
    return std::to_string(below(20));
}

std::string ExpressionGenerator::number_of_text(int depth) {
    const std::string text = text_expression(depth - 1);
    switch (below(13)) {
    case 0:
        return "strlen(" + text + ")";
    case 1:
        return "isinstr(" + text + ", " + text_expression(depth - 1) + ")";
    case 2: {
        static const char* const bases[] = {"10", "16", "8", "2", "0"};
        return "strtol(" + text + ", " + pick(bases) + ")";
    }
    case 3:
        if (portable_)
            return "strlen(" + text + ")";
        return "stringat(" + text + ", " +
               (one_in(4) ? position(depth) : std::to_string(below(3))) + ")";
    case 4:
        return "target()";
    case 5:
        return "strpos(" + text + ", " + text_expression(depth - 1) + ")";
    case 6:
        return "isdigit(" + text + ")";
    case 7:
        if (!has_groups_)
            return "strlen(" + text + ")";
        return one_in(4) && !portable_
                   ? "ngroups()"
                   : conditional(match(text, "=~", pattern()), "ngroups()", literal());
    default:
        return match(text, one_in(3) ? "!~" : "=~", pattern());
    }
}

std::string ExpressionGenerator::match(const std::string& text, const std::string& op,
                                       const std::string& pattern) {
    return compound(Level::Membership,
                    placed(text, Level::Shift) + " " + op + " \"" + pattern + "\"");
}

// Returns a group of the last match; now and then one that does not exist.
std::string ExpressionGenerator::group(int depth) {
    if (one_in(6) && !portable_)
        return one_in(2) ? "matched_str()" : "matched(" + std::to_string(below(3)) + ")";
    std::string by = pattern();
    if (portable_ && by == "(b|bc|abc)( ?)") // 4.8 does not find its second group
        by = "(a)(b)?";
    const auto groups = static_cast<uint64_t>(std::count(by.begin(), by.end(), '('));
    const std::string condition = match(text_expression(depth - 1), "=~", by);
    const std::string found =
        "matched(" + std::to_string(below(groups + (one_in(9) && !portable_ ? 3 : 1))) + ")";
    return conditional(condition, found, text_expression(depth - 1));
}

std::string ExpressionGenerator::text_expression(int depth) {
    if (depth <= 0)
        return one_in(2) ? word() : variable(Kind::Text);
    switch (below(16)) {
    case 0:
    case 1:
    case 2: {
        const std::string left = text_expression(depth - 1);
        return binary(Level::Concatenation, left, ".", text_expression(depth - 1));
    }
    case 3: {
        const std::string text = text_expression(depth - 1), start = position(depth);
        return "substr(" + text + ", " + start + ", " + position(depth) + ")";
    }
    case 4: {
        std::string arguments;
        const std::string format = format_of(depth - 1, &arguments);
        return "sprintf(\"" + format + "\"" + arguments + ")";
    }
    case 5: {
        const std::string number = number_expression(depth - 1);
        return "sprint(" + number + ", " + text_expression(depth - 1) + ")";
    }
    case 6: {
        const std::string condition = number_expression(depth - 1);
        const std::string yes = text_expression(depth - 1);
        return conditional(condition, yes, text_expression(depth - 1));
    }
    case 7:
        if (const Scalar* scalar = scalar_of(Kind::Text))
            return scalar->name;
        break;
    case 8:
        if (const Array* array = array_of(Kind::Text))
            return array->name + "[" + keys_of(*array, depth) + "]";
        break;
    case 9: {
        const std::string text = call(Kind::Text, depth);
        if (!text.empty())
            return text;
        break;
    }
    case 10: {
        const std::string text = text_expression(depth - 1);
        const std::string from = one_in(3) ? text_expression(depth - 1) : word();
        return "str_replace(" + text + ", " + from + ", " + word() + ")";
    }
    case 11:
        return macro(Kind::Text, depth);
    case 12: {
        if (!has_tokens_ || portable_)
            break;
        static const char* const delimiters[] = {"\" \"", "\"b\"", "\"1y2\"", "\"\"", "\"z-,\""};
        const std::string by = one_in(4) ? text_expression(depth - 1) : pick(delimiters);
        return one_in(2) ? "tokenize(" + by + ")"
                         : "tokenize(" + text_expression(depth - 1) + ", " + by + ")";
    }
    case 13:
        if (has_groups_)
            return group(depth);
        break;
    case 14:
        if (portable_)
            break;
        return compound(Level::Assignment,
                        variable_to_assign(Kind::Text) + (one_in(2) ? " = " : " .= ") +
                            placed(text_expression(depth - 1), Level::Assignment));
    default:
        break;
    }
    return one_in(2) ? word() : variable(Kind::Text);
}

// ---- macros ----

// The parameters of a macro occur in its body as @a and @b and denote the arguments of the call.
static std::string with_arguments(const std::string& body, const std::vector<std::string>& names,
                                  const std::vector<std::string>& values, bool meaning) {
    std::string text;
    for (size_t i = 0; i < body.size(); i++) {
        bool found = false;
        for (size_t k = 0; k < names.size() && !found; k++)
            if (body.compare(i, names[k].size(), names[k]) == 0) {
                text += meaning ? values[k] : names[k];
                i += names[k].size() - 1;
                found = true;
            }
        if (!found)
            text += body[i];
    }
    return text;
}

std::string ExpressionGenerator::macro(Kind type, int depth) {
    std::vector<const Macro*> fitting;
    for (const Macro& each : macros_)
        if (each.type == type)
            fitting.push_back(&each);
    if (fitting.empty())
        return expression(type, depth - 1);
    if (type == Kind::Long && one_in(4)) { // substitutes tokens, not values
        const std::string left = std::to_string(below(100)), right = variable(Kind::Long);
        return alternative("@tokens(" + left + " + " + right + ")",
                           "((2 * " + left + ") + (" + right + " * 3))");
    }
    if (one_in(5)) { // chosen when the script is preprocessed
        static const struct {
            const char* text;
            bool holds;
        } conditions[] = {{"1 < 2", true},           {"\"a\" == \"b\"", false},
                          {"2 >= 3", false},         {"\"x\" != \"y\" && 1 == 1", true},
                          {"1 == 2 || 3 > 2", true}, {"runtime == \"none\"", false}};
        const auto& condition = pick(conditions);
        const std::string yes = expression(type, depth - 1), no = expression(type, depth - 1);
        return alternative(std::string("(%( ") + condition.text + " %? " + yes + " %: " + no +
                               " %))",
                           "(" + (condition.holds ? yes : no) + ")");
    }
    const Macro& made = *pick(fitting);
    std::vector<std::string> names, values;
    std::string call = "@" + made.name;
    for (size_t i = 0; i < made.parameters.size(); i++) {
        names.push_back(std::string("@") + "xy"[i]);
        values.push_back(expression(made.parameters[i], depth - 1));
        call += (i ? ", " : "(") + values.back();
    }
    if (!names.empty())
        call += ")";
    return alternative(call, "(" + with_arguments(made.body, names, values, true) + ")");
}

} // namespace djstap::differential
