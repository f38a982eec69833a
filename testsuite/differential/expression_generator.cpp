#include "expression_generator.h"

namespace djstap::differential {

std::string ExpressionGenerator::literal() {
    static const char* const edges[] = {"0",
                                        "1",
                                        "2",
                                        "7",
                                        "63",
                                        "64",
                                        "0x7fffffffffffffff",
                                        "(-0x7fffffffffffffff - 1)",
                                        "-1",
                                        "-2",
                                        "1000000007",
                                        "0xdeadbeefcafe"};
    return one_in(3) ? pick(edges) : std::to_string(below(one_in(2) ? 10 : 1000));
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
    return pick(words);
}

std::string ExpressionGenerator::expression(Kind type, int depth) {
    return type == Kind::Long ? number_expression(depth) : text_expression(depth);
}

std::string ExpressionGenerator::keys_of(const Array& array, int depth) {
    std::string text;
    for (Kind key : array.keys)
        text += (text.empty() ? "" : ", ") + (one_in(2)           ? expression(key, depth - 1)
                                              : key == Kind::Long ? std::to_string(below(4))
                                                                  : word());
    return text;
}

std::string ExpressionGenerator::slice_of(const Array& array, int depth) {
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
    for (const auto& [name, of] : loop_variables_)
        if (of == type)
            names.push_back(name);
    return pick(names);
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
    switch (below(18)) {
    case 0:
    case 1:
    case 2: {
        static const char* const operators[] = {"+", "-", "*", "&", "|", "^"};
        return "(" + number_expression(depth - 1) + " " + pick(operators) + " " +
               number_expression(depth - 1) + ")";
    }
    case 3: {
        static const char* const operators[] = {"<<", ">>", ">>>"};
        return "(" + number_expression(depth - 1) + " " + pick(operators) + " " +
               (one_in(2) ? std::to_string(below(70)) : number_expression(depth - 1)) + ")";
    }
    case 4: // mostly no division by zero
        return "(" + number_expression(depth - 1) + (one_in(2) ? " / " : " % ") +
               (one_in(6) ? number_expression(depth - 1)
                          : "(" + number_expression(depth - 1) + " | 1)") +
               ")";
    case 5: {
        static const char* const operators[] = {"-", "~", "!"};
        return std::string(pick(operators)) + "(" + number_expression(depth - 1) + ")";
    }
    case 6:
    case 7: {
        static const char* const operators[] = {"<", "<=", ">", ">=", "==", "!="};
        const Kind type = one_in(2) ? Kind::Long : Kind::Text;
        return "(" + expression(type, depth - 1) + " " + pick(operators) + " " +
               expression(type, depth - 1) + ")";
    }
    case 8:
        return "(" + number_expression(depth - 1) + (one_in(2) ? " && " : " || ") +
               number_expression(depth - 1) + ")";
    case 9:
        return "(" + number_expression(depth - 1) + " ? " + number_expression(depth - 1) + " : " +
               number_expression(depth - 1) + ")";
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
        return "([" + (one_in(3) ? slice_of(array, depth) : keys_of(array, depth)) + "] in " +
               array.name + ")";
    }
    case 13:
        switch (below(6)) {
        case 5:
            return "target()";
        case 0:
            return "strlen(" + text_expression(depth - 1) + ")";
        case 1:
            return "isinstr(" + text_expression(depth - 1) + ", " + text_expression(depth - 1) +
                   ")";
        case 2:
            return "strtol(" + text_expression(depth - 1) + (one_in(2) ? ", 10)" : ", 16)");
        case 3:
            return "stringat(" + text_expression(depth - 1) + ", " + std::to_string(below(3)) + ")";
        default: {
            static const char* const patterns[] = {"a",   "^b",     "[0-9]+", "x$",
                                                   "a|b", "(ab)*c", "^$",     "^a.c",
                                                   "b+ ", "[^a-z]", "z{3,5}$"};
            return "(" + text_expression(depth - 1) + (one_in(2) ? " =~ \"" : " !~ \"") +
                   pick(patterns) + "\")";
        }
        }
    case 14: {
        int histogram = 0;
        const std::string place = statistic_place(depth, &histogram);
        static const char* const operators[] = {"@count", "@sum", "@count",   "@min",
                                                "@max",   "@avg", "@variance"};
        if (place.empty())
            break;
        if (histogram && one_in(3))
            return histogram_of(place, histogram) + "[" +
                   std::to_string(below(histogram == 1 ? 129 : 11)) + "]";
        return pick(operators) + ("(" + place + ")");
    }
    case 15: {
        const std::string text = call(Kind::Long, depth);
        if (!text.empty())
            return text;
        break;
    }
    default:
        break;
    }
    return one_in(2) ? literal() : variable(Kind::Long);
}

std::string ExpressionGenerator::text_expression(int depth) {
    if (depth <= 0)
        return one_in(2) ? word() : variable(Kind::Text);
    switch (below(10)) {
    case 0:
    case 1:
        return "(" + text_expression(depth - 1) + " . " + text_expression(depth - 1) + ")";
    case 2:
        return "substr(" + text_expression(depth - 1) + ", " + number_expression(depth - 1) +
               " & 7, " + number_expression(depth - 1) + " & 15)";
    case 3: {
        std::string arguments;
        const std::string format = format_of(depth - 1, &arguments);
        return "sprintf(\"" + format + "\"" + arguments + ")";
    }
    case 4:
        return "sprint(" + number_expression(depth - 1) + ", " + text_expression(depth - 1) + ")";
    case 5:
        return "(" + number_expression(depth - 1) + " ? " + text_expression(depth - 1) + " : " +
               text_expression(depth - 1) + ")";
    case 6:
        if (const Scalar* scalar = scalar_of(Kind::Text))
            return scalar->name;
        break;
    case 7:
        if (const Array* array = array_of(Kind::Text))
            return array->name + "[" + keys_of(*array, depth) + "]";
        break;
    case 8: {
        const std::string text = call(Kind::Text, depth);
        if (!text.empty())
            return text;
        break;
    }
    case 9:
        return "str_replace(" + text_expression(depth - 1) + ", " + word() + ", " + word() + ")";
    }
    return one_in(2) ? word() : variable(Kind::Text);
}

// Conversions and literal text; `arguments` gets ", value" for each.
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
            *arguments += ", 33 + (" + number_expression(depth - 1) + " & 63)";
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
