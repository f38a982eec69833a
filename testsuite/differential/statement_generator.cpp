// SPDX-License-Identifier: GPL-2.0-or-later
#include "statement_generator.h"

namespace djstap::differential {

void StatementGenerator::statement(int depth) {
    const uint64_t kind = below(25);
    // A function that is called within an expression, where operands have no defined order, has no
    // side effects.
    if (portable_ && in_function_ &&
        (kind == 2 || kind == 3 || kind == 4 || kind == 5 || kind == 9 || kind == 10 ||
         kind == 11 || kind == 17 || kind == 19 || kind == 21 || kind == 22))
        return;
    switch (kind) {
    case 0:
    case 1:
        line(variable_to_assign(Kind::Long) + assignment() + number_expression(3));
        break;
    case 2:
        if (portable_ && has_tokens_ && one_in(3)) {
            line(variable_to_assign(Kind::Text) + " = tokenize(" +
                 (one_in(2) ? text_expression(1) + ", " : std::string()) + "\" b1\")");
            break;
        }
        line(variable_to_assign(Kind::Text) + (one_in(3) ? " .= " : " = ") + text_expression(3));
        break;
    case 3:
        line((one_in(2) ? "n0" : "n1") +
             (one_in(2) ? std::string("++") : " += " + number_expression(2)));
        break;
    case 4:
    case 5:
        write_scalar();
        break;
    case 6:
    case 7:
    case 8:
        write_array();
        break;
    case 9:
        erase();
        break;
    case 10:
    case 11:
        print();
        break;
    case 12:
    case 13:
        if (depth > 0)
            branch(depth);
        break;
    case 14:
        if (depth > 0)
            loop(depth);
        break;
    case 15:
    case 16:
        if (depth > 0)
            walk(pick(arrays_), false, depth);
        break;
    case 17:
        if (depth > 0)
            attempt(depth);
        break;
    case 18:
        if (has_next_ && one_in(3))
            line("if (" + number_expression(1) + ") next");
        else if (!loop_variables_.empty() && one_in(2))
            line("if (" + number_expression(1) + ") " + (one_in(2) ? "break" : "continue"));
        else if (in_function_ && one_in(2))
            line("if (" + number_expression(1) + ") return " + expression(result_, 2));
        else if (!in_function_ && one_in(3))
            line("if (" + number_expression(1) + ") next");
        break;
    case 19:
        if (one_in(in_function_ ? 2 : 4))
            line("if (" + number_expression(2) + ") error(" + text_expression(1) + ")");
        break;
    case 20:
        line("{ " + variable_to_assign(Kind::Long) + (one_in(2) ? "++" : "--") + " ; }");
        break;
    case 21:
        if (depth > 0)
            walk_buckets();
        break;
    case 22:
        if (has_speculation_)
            speculate();
        break;
    case 23:
        if (!parameters_.empty()) {
            const size_t number = below(parameters_.size());
            line("p" + std::to_string(number) + " = " + expression(parameters_[number], 2));
        }
        break;
    default:
        if (one_in(10) && !in_function_)
            line("if (" + number_expression(1) + ") exit()");
    }
}

std::string StatementGenerator::assignment() {
    static const char* const operators[] = {" = ",  " = ",  " = ",  " += ", " -= ",  " *= ",
                                            " &= ", " |= ", " ^= ", " %= ", " <<= ", " >>= "};
    return operators[below(portable_ ? 9 : 12)];
}

void StatementGenerator::write_scalar() {
    const Scalar& scalar = pick(scalars_);
    if (scalar.type == Kind::Statistic)
        line(scalar.name + " <<< " + statistic_value());
    else if (scalar.type == Kind::Text)
        line(scalar.name + (one_in(3) ? " .= " : " = ") + text_expression(3));
    else
        line(scalar.name + (one_in(4) ? std::string("++") : assignment() + number_expression(3)));
}

std::string StatementGenerator::statistic_value() {
    return one_in(4) && !portable_ ? number_expression(2)
                                   : binary(Level::Product, number_expression(1), "%", "100");
}

void StatementGenerator::write_array() {
    const Array& array = pick(arrays_);
    if (is_walked(array) || in_function_)
        return;
    const std::string place =
        array.name + "[" + (portable_ ? constant_keys_of(array) : keys_of(array, 2)) + "]";
    if (array.value == Kind::Statistic)
        line(place + " <<< " + statistic_value());
    else if (array.value == Kind::Text)
        line(place + (one_in(3) ? " .= " : " = ") + text_expression(2));
    else
        line(place + (one_in(3)   ? std::string("++")
                      : one_in(3) ? " += " + number_expression(2)
                                  : assignment() + number_expression(2)));
}

void StatementGenerator::erase() {
    if (one_in(3)) {
        line("delete " + pick(scalars_).name);
        return;
    }
    const Array& array = pick(arrays_);
    if (is_walked(array) || in_function_)
        return;
    line("delete " + array.name +
         (one_in(5)   ? ""
          : one_in(2) ? "[" + slice_of(array, 2) + "]"
                      : "[" + keys_of(array, 2) + "]"));
}

void StatementGenerator::print() {
    std::string arguments;
    switch (below(7)) {
    case 5:
    case 6:
        line("println(" + operators(3) + ", \" \", " + operators(4) + ")");
        break;
    case 0:
        line("println(" + text_expression(2) + ", " + number_expression(2) + ")");
        break;
    case 1:
        line("printdln(\"-\", " + number_expression(2) + ", " + text_expression(2) + ", " +
             variable_to_assign(Kind::Long) + "++, ++" + variable_to_assign(Kind::Long) + ")");
        break;
    case 2: {
        int histogram = 0;
        const std::string place = statistic_place(2, &histogram);
        if (!place.empty() && histogram) {
            line((portable_ ? "if (@count(" + place + ")) " : "") + "print(" +
                 histogram_of(place, histogram) + ")");
            break;
        }
        [[fallthrough]];
    }
    default: {
        std::string format = format_of(2, &arguments);
        if (one_in(6)) { // its bytes would end a string
            static const char* const bytes[] = {"%b", "%1b", "%2b", "%4b", "%8b"};
            format += pick(bytes);
            arguments += ", " + number_expression(2);
        }
        line("printf(\"" + format + "\\n\"" + arguments + ")");
    }
    }
}

void StatementGenerator::body(int depth, uint64_t most) {
    for (uint64_t i = 0, count = 1 + below(most); i < count; i++)
        statement(depth - 1);
}

void StatementGenerator::branch(int depth) {
    open("if (" + number_expression(2) + ")");
    body(depth, 3);
    if (one_in(2)) {
        indent_--;
        line("} else {");
        indent_++;
        body(depth, 2);
    }
    close();
}

void StatementGenerator::loop(int depth) {
    const std::string name = "i" + std::to_string(loops_++);
    const std::string turns = std::to_string(1 + below(5));
    if (one_in(3)) {
        line(name + " = 0");
        open("while (" + name + "++ < " + turns + ")");
    } else {
        open("for (" + name + " = 0; " + name + " < " + turns + "; " + name + "++)");
    }
    loop_variables_.emplace_back(name, Kind::Long);
    body(depth, 3);
    loop_variables_.pop_back();
    close();
}

void StatementGenerator::walk(const Array& array, bool report, int depth) {
    if (portable_ && is_walked(array))
        return;
    const std::string number = std::to_string(loops_++);
    // Sorted by a key, the value, or nothing.
    const size_t sorted = portable_ ? 0 : below(array.keys.size() + 2);
    const std::string order = one_in(2) ? "+" : "-";
    std::string head, key_list;
    const size_t variables = loop_variables_.size();
    for (size_t i = 0; i < array.keys.size(); i++) {
        const std::string name =
            (array.keys[i] == Kind::Long ? "kl" : "kw") + number + "_" + std::to_string(i);
        loop_variables_.emplace_back(name, array.keys[i]);
        key_list += (i ? ", " : "") + name + (sorted == i ? order : "");
    }
    if (array.value != Kind::Statistic && one_in(3)) {
        const std::string name = (array.value == Kind::Long ? "vl" : "vw") + number;
        loop_variables_.emplace_back(name, array.value);
        head = name + " = ";
    }
    head += "[" + key_list + "] in " + array.name;
    const bool sliced = one_in(6);
    if (sliced)
        head += "[" + slice_of(array, 1) + "]";
    if (sorted == array.keys.size()) {
        static const char* const operators[] = {"",     "@count", "@sum",     "@min",
                                                "@max", "@avg",   "@variance"};
        if (array.value == Kind::Statistic)
            head += pick(operators);
        head += order;
    }
    if (one_in(3))
        head += " limit " + (one_in(3) && !portable_ ? number_expression(1)
                                                     : std::to_string(portable_ + below(5)));
    open("foreach (" + head + ")");
    walked_.push_back(&array);
    if (report) {
        std::string arguments;
        for (size_t i = 0; i < array.keys.size(); i++)
            arguments += loop_variables_[variables + i].first + ", \" \", ";
        if (array.value == Kind::Statistic) {
            std::string place = array.name + "[";
            for (size_t i = 0; i < array.keys.size(); i++)
                place += (i ? ", " : "") + loop_variables_[variables + i].first;
            line("println(\"" + array.name + " \", " + arguments + "\"\")");
            show_statistic(place + "]", array.histogram);
        } else {
            std::string keys;
            for (size_t i = 0; i < array.keys.size(); i++)
                keys += (i ? ", " : "") + loop_variables_[variables + i].first;
            line("println(\"" + array.name + " \", " + arguments + array.name + "[" + keys + "])");
        }
    } else {
        body(depth, 3);
    }
    walked_.pop_back();
    loop_variables_.resize(variables);
    close();
}

void StatementGenerator::show_statistic(const std::string& place, int histogram) {
    // In 4.8, the variance of a deleted element continues when it is created again.
    const bool variance = one_in(3) && !(portable_ && place.find('[') != std::string::npos);
    line("if (@count(" + place + ")) printf(\"%d %d %d %d %d" + (variance ? " %d" : "") +
         "\\n\", @count(" + place + "), @sum(" + place + "), @min(" + place + "), @max(" + place +
         "), @avg(" + place + (variance ? "), @variance(" + place : "") + "))");
    if (histogram)
        line((portable_ ? "if (@count(" + place + ")) " : "") + "print(" +
             histogram_of(place, histogram) + ")");
}

void StatementGenerator::walk_buckets() {
    int histogram = 0;
    const std::string place = statistic_place(2, &histogram);
    if (place.empty() || !histogram)
        return;
    const std::string number = std::to_string(loops_++);
    const std::string bucket = "kl" + number, hits = "vl" + number;
    const bool counted = !one_in(4);
    static const char* const orders[] = {"", "", "+", "-"};
    std::string head = (counted ? hits + " = " : "") + bucket + (portable_ ? "" : pick(orders)) +
                       " in " + histogram_of(place, histogram);
    if (one_in(3))
        head += " limit " + std::to_string(portable_ + below(80));
    open((portable_ ? "if (@count(" + place + ")) " : "") + "foreach (" + head + ")");
    if (counted)
        line("if (" + hits + ") println(\"bucket \", " + bucket + ", \" \", " + hits + ")");
    else
        line("l" + std::to_string(below(3)) + " += " + bucket + " * " +
             histogram_of(place, histogram) + "[" + bucket + "]");
    close();
}

// Uses a few numbers that a probe obtained first, so that none is unknown.
void StatementGenerator::speculate() {
    const std::string number = one_in(2) ? "sp0" : "sp1";
    switch (below(6)) {
    case 0:
        line("commit(" + number + ")");
        break;
    case 1:
        line("discard(" + number + ")");
        break;
    case 2:
        if (one_in(3)) {
            line(number + " = speculation()");
            break;
        }
        [[fallthrough]];
    default:
        line("speculate(" + number + ", " +
             binary(Level::Concatenation, text_expression(2), ".", "\"\\n\"") + ")");
    }
}

void StatementGenerator::attempt(int depth) {
    open("try");
    body(depth, 3);
    const std::string called = call(one_in(2) ? Kind::Long : Kind::Text, 2);
    if (!called.empty())
        line("println(" + called + ")");
    if (one_in(2))
        line("if (" + number_expression(1) + ") error(" + text_expression(2) + ")");
    indent_--;
    const bool named = !one_in(3);
    line(named ? "} catch (m) {" : "} catch {");
    indent_++;
    if (one_in(2))
        line(named ? "println(\"caught \", m)" : "println(\"caught\")");
    body(depth, 2);
    close();
}

bool StatementGenerator::is_walked(const Array& array) const {
    for (const Array* each : walked_)
        if (each == &array)
            return true;
    return false;
}

} // namespace djstap::differential
