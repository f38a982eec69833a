#include "generator.h"

#include "expression_generator.h"

namespace djstap::differential {

namespace {

class Generator : ExpressionGenerator {
  public:
    explicit Generator(uint64_t seed) : ExpressionGenerator(seed) {}

    RandomProgram generate() {
        constexpr size_t string_bytes[] = {16, 24, 64, 128};
        out_.rules.string_bytes = string_bytes[below(4)];
        out_.rules.map_entries = one_in(4) ? 4 : 64;
        out_.rules.max_errors = one_in(3) ? below(4) : 1000;
        out_.rules.optimized = one_in(2);
        out_.rules.target = one_in(2) ? 0 : 1;
        declare();
        for (size_t i = 0, count = below(4); i < count; i++)
            function(i);
        for (uint64_t i = 0, count = 1 + below(3); i < count; i++)
            probe(i == 0 ? "begin" : "begin(" + std::to_string(below(5)) + ")", 4 + below(10));
        if (one_in(3))
            timer();
        else
            line("probe begin(1000) { exit() }");
        report();
        if (one_in(2))
            probe("error", 1 + below(3));
        return std::move(out_);
    }

  private:
    // ---- text ----
    void line(const std::string& text) {
        out_.script += std::string(2 * indent_, ' ') + text + "\n";
    }
    void open(const std::string& head) {
        line(head + " {");
        indent_++;
    }
    void close() {
        indent_--;
        line("}");
    }

    // ---- declarations ----
    void declare() {
        for (size_t i = 0, count = 2 + below(3); i < count; i++)
            scalar({"g" + std::to_string(i), Kind::Long, 0},
                   one_in(2) ? " = " + initial_number() : "");
        for (size_t i = 0, count = 1 + below(2); i < count; i++)
            scalar({"s" + std::to_string(i), Kind::Text, 0}, one_in(2) ? " = " + word() : "");
        for (size_t i = 0, count = below(3); i < count; i++)
            scalar({"t" + std::to_string(i), Kind::Statistic, static_cast<int>(below(3))}, "");
        // Of each no more than ++ and +=: kept per CPU.
        line("global n0, n1");
        for (size_t i = 0, count = 1 + below(4); i < count; i++) {
            Array array{"a" + std::to_string(i),   {}, Kind::Long, 0, one_in(5),
                        static_cast<int>(below(3))};
            for (size_t k = 0, keys = 1 + below(3); k < keys; k++)
                array.keys.push_back(one_in(2) ? Kind::Long : Kind::Text);
            array.value = static_cast<Kind>(below(3));
            array.size = one_in(2) ? 0 : static_cast<int>(1 + below(8));
            line("global " + array.name + (array.wrap ? "%" : "") +
                 (array.size ? "[" + std::to_string(array.size) + "]" : ""));
            arrays_.push_back(array);
        }
        settle_types();
    }
    // Every variable is written somewhere, so that its type is known.
    void settle_types() {
        open("probe begin(-1)");
        for (const Scalar& scalar : scalars_)
            line(scalar.name + (scalar.type == Kind::Long   ? " += 0"
                                : scalar.type == Kind::Text ? " .= \"\""
                                                            : " <<< " + std::to_string(below(9))));
        line("n0 += 0");
        line("n1 += 0");
        for (const Array& array : arrays_) {
            std::string place = array.name + "[";
            for (size_t i = 0; i < array.keys.size(); i++)
                place += std::string(i ? ", " : "") +
                         (array.keys[i] == Kind::Long ? std::to_string(below(4)) : word());
            line(place + "]" +
                 (array.value == Kind::Long   ? " = " + std::to_string(below(100))
                  : array.value == Kind::Text ? " = " + word()
                                              : " <<< " + std::to_string(below(9))));
        }
        close();
    }
    void settle_locals() {
        line("l0 = " + literal() + "; l1 = " + literal() + "; l2 = 0; w0 = " + word() +
             "; w1 = w2 = \"\"");
    }
    void scalar(const Scalar& scalar, const std::string& initial) {
        line("global " + scalar.name + initial);
        scalars_.push_back(scalar);
    }

    void function(size_t number) {
        Function made{"f" + std::to_string(number),
                      one_in(2) ? Kind::Long : Kind::Text,
                      {},
                      one_in(3),
                      one_in(3)};
        std::string parameters = made.recursive ? "depth:long" : "";
        for (size_t i = 0, count = below(3); i < count; i++) {
            made.parameters.push_back(one_in(2) ? Kind::Long : Kind::Text);
            parameters += (parameters.empty() ? "" : ", ") + std::string("p") + std::to_string(i) +
                          (made.parameters.back() == Kind::Long ? ":long" : ":string");
        }
        parameters_ = made.parameters;
        in_function_ = true;
        result_ = made.result;
        for (int priority = 1; priority <= 1 + made.overloaded; priority++) {
            has_next_ = made.overloaded && priority == 1;
            one_function(made, parameters, made.overloaded ? ":" + std::to_string(priority) : "");
        }
        in_function_ = has_next_ = false;
        parameters_.clear();
        functions_.push_back(made);
    }
    void one_function(const Function& made, const std::string& parameters,
                      const std::string& priority) {
        open("function " + made.name + (made.result == Kind::Long ? ":long" : ":string") + "(" +
             parameters + ")" + priority);
        settle_locals();
        if (made.recursive) {
            open("if (depth > 0)");
            std::string arguments = "depth - 1";
            for (Kind type : made.parameters)
                arguments += ", " + expression(type, 1);
            line(made.result == Kind::Long
                     ? "return " + number_expression(1) + " + " + made.name + "(" + arguments + ")"
                     : "return " + text_expression(1) + " . " + made.name + "(" + arguments + ")");
            close();
        }
        for (size_t i = 0, count = 1 + below(4); i < count; i++)
            statement(1);
        if (has_next_ && one_in(2))
            line("next");
        else if (!one_in(5))
            line("return " + expression(made.result, 2));
        close();
    }

    // Goes off a few times; what it does last is to exit, if nothing did before.
    void timer() {
        line("global ticks");
        open(one_in(2) ? "probe timer.ms(1)" : "probe timer.us(300)");
        line("if (++ticks >= " + std::to_string(1 + below(4)) + ") exit()");
        settle_locals();
        for (uint64_t i = 0, count = 1 + below(6); i < count; i++)
            statement(2);
        close();
    }

    void probe(const std::string& point, uint64_t statements) {
        open("probe " + point);
        settle_locals();
        for (uint64_t i = 0; i < statements; i++)
            statement(3);
        close();
    }

    // Prints most of what there is; what is left out may print itself.
    void report() {
        open("probe end");
        for (const Scalar& scalar : scalars_) {
            if (one_in(8))
                continue;
            if (scalar.type == Kind::Statistic)
                show_statistic(scalar.name, scalar.histogram);
            else
                line("println(\"" + scalar.name + " \", " + scalar.name + ")");
        }
        line("println(n0, \" \", n1)");
        for (const Array& array : arrays_)
            if (!one_in(8))
                foreach (array, true)
                    ;
        close();
    }
    void show_statistic(const std::string& place, int histogram) {
        const bool variance = one_in(3);
        line("if (@count(" + place + ")) printf(\"%d %d %d %d %d" + (variance ? " %d" : "") +
             "\\n\", @count(" + place + "), @sum(" + place + "), @min(" + place + "), @max(" +
             place + "), @avg(" + place + (variance ? "), @variance(" + place : "") + "))");
        if (histogram)
            line("print(" + histogram_of(place, histogram) + ")");
    }

    // ---- statements ----
    void statement(int depth) {
        switch (below(22)) {
        case 0:
        case 1:
            line(variable_to_assign(Kind::Long) + assignment() + number_expression(3));
            break;
        case 2:
            line(variable_to_assign(Kind::Text) + (one_in(3) ? " .= " : " = ") +
                 text_expression(3));
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
                foreach (pick(arrays_), false, depth)
                    ;
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
            if (one_in(4))
                line("if (" + number_expression(2) + ") error(" + text_expression(1) + ")");
            break;
        case 20:
            line("{ " + variable_to_assign(Kind::Long) + (one_in(2) ? "++" : "--") + " ; }");
            break;
        default:
            if (one_in(10) && !in_function_)
                line("if (" + number_expression(1) + ") exit()");
        }
    }
    std::string assignment() {
        static const char* const operators[] = {" = ",  " = ",  " = ",  " += ",  " -= ",  " *= ",
                                                " &= ", " |= ", " ^= ", " <<= ", " >>= ", " %= "};
        return pick(operators);
    }
    std::string variable_to_assign(Kind type) {
        return (type == Kind::Long ? "l" : "w") + std::to_string(below(3));
    }
    void write_scalar() {
        const Scalar& scalar = pick(scalars_);
        if (scalar.type == Kind::Statistic)
            line(scalar.name + " <<< " + statistic_value());
        else if (scalar.type == Kind::Text)
            line(scalar.name + (one_in(3) ? " .= " : " = ") + text_expression(3));
        else
            line(scalar.name +
                 (one_in(4) ? std::string("++") : assignment() + number_expression(3)));
    }
    std::string statistic_value() {
        return one_in(4) ? number_expression(2) : "(" + number_expression(1) + " % 100)";
    }
    void write_array() {
        const Array& array = pick(arrays_);
        if (is_walked(array) || in_function_)
            return;
        const std::string place = array.name + "[" + keys_of(array, 2) + "]";
        if (array.value == Kind::Statistic)
            line(place + " <<< " + statistic_value());
        else if (array.value == Kind::Text)
            line(place + (one_in(3) ? " .= " : " = ") + text_expression(2));
        else
            line(place + (one_in(3)   ? std::string("++")
                          : one_in(3) ? " += " + number_expression(2)
                                      : assignment() + number_expression(2)));
    }
    void erase() {
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
    void print() {
        std::string arguments;
        switch (below(5)) {
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
                line("print(" + histogram_of(place, histogram) + ")");
                break;
            }
            [[fallthrough]];
        }
        default: {
            std::string format = format_of(2, &arguments);
            if (one_in(6)) { // whose bytes would end a string
                static const char* const bytes[] = {"%b", "%1b", "%2b", "%4b", "%8b"};
                format += pick(bytes);
                arguments += ", " + number_expression(2);
            }
            line("printf(\"" + format + "\\n\"" + arguments + ")");
        }
        }
    }
    void body(int depth, uint64_t most) {
        for (uint64_t i = 0, count = 1 + below(most); i < count; i++)
            statement(depth - 1);
    }
    void branch(int depth) {
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
    void loop(int depth) {
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
    void foreach (const Array& array, bool report, int depth = 1) {
        const std::string number = std::to_string(loops_++);
        const size_t sorted = below(array.keys.size() + 2); // a key, the value, or nothing
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
            head += " limit " + (one_in(3) ? number_expression(1) : std::to_string(below(5)));
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
                line("println(\"" + array.name + " \", " + arguments + array.name + "[" + keys +
                     "])");
            }
        } else {
            body(depth, 3);
        }
        walked_.pop_back();
        loop_variables_.resize(variables);
        close();
    }
    void attempt(int depth) {
        open("try");
        body(depth, 3);
        if (one_in(2))
            line("if (" + number_expression(1) + ") error(" + text_expression(2) + ")");
        indent_--;
        line(one_in(3) ? "} catch {" : "} catch (m) {");
        indent_++;
        if (one_in(2))
            line("println(\"caught\")");
        body(depth, 2);
        close();
    }
    bool is_walked(const Array& array) const {
        for (const Array* each : walked_)
            if (each == &array)
                return true;
        return false;
    }

    RandomProgram out_;
    size_t indent_ = 0;
    std::vector<const Array*> walked_;
    bool in_function_ = false, has_next_ = false;
    Kind result_ = Kind::Long;
    size_t loops_ = 0;
};

} // namespace

RandomProgram generate_program(uint64_t seed) {
    return Generator(seed).generate();
}

} // namespace djstap::differential
