#include "generator.h"

#include <vector>

namespace djstap::differential {

namespace {

enum class T : uint8_t { Long, Text, Statistic };

struct Array {
    std::string name;
    std::vector<T> keys;
    T value;
    int size; // 0: not given
    bool wrap;
    int histogram; // 0 none, 1 log, 2 linear
};
struct Scalar {
    std::string name;
    T type;
    int histogram;
};
struct Function {
    std::string name;
    T result;
    std::vector<T> parameters;
    bool recursive;
    bool overloaded; // the first of two goes on with the second by `next`
};

class Generator {
  public:
    // SplitMix64 steps by a constant: seeds are spread first, so that none is another's next step.
    explicit Generator(uint64_t seed) : state_(seed) { state_ = next() ^ seed << 32; }

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
    // ---- randomness ----
    uint64_t next() { // SplitMix64
        uint64_t x = state_ += 0x9e3779b97f4a7c15u;
        x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
        x = (x ^ x >> 27) * 0x94d049bb133111ebu;
        return x ^ x >> 31;
    }
    uint64_t below(uint64_t limit) { return next() % limit; }
    bool one_in(uint64_t n) { return below(n) == 0; }
    template <class List> const auto& pick(const List& list) {
        return list[below(std::size(list))];
    }

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
            scalar({"g" + std::to_string(i), T::Long, 0},
                   one_in(2) ? " = " + initial_number() : "");
        for (size_t i = 0, count = 1 + below(2); i < count; i++)
            scalar({"s" + std::to_string(i), T::Text, 0}, one_in(2) ? " = " + word() : "");
        for (size_t i = 0, count = below(3); i < count; i++)
            scalar({"t" + std::to_string(i), T::Statistic, static_cast<int>(below(3))}, "");
        // Of each no more than ++ and +=: kept per CPU.
        line("global n0, n1");
        for (size_t i = 0, count = 1 + below(4); i < count; i++) {
            Array array{"a" + std::to_string(i),   {}, T::Long, 0, one_in(5),
                        static_cast<int>(below(3))};
            for (size_t k = 0, keys = 1 + below(3); k < keys; k++)
                array.keys.push_back(one_in(2) ? T::Long : T::Text);
            array.value = static_cast<T>(below(3));
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
            line(scalar.name + (scalar.type == T::Long   ? " += 0"
                                : scalar.type == T::Text ? " .= \"\""
                                                         : " <<< " + std::to_string(below(9))));
        line("n0 += 0");
        line("n1 += 0");
        for (const Array& array : arrays_) {
            std::string place = array.name + "[";
            for (size_t i = 0; i < array.keys.size(); i++)
                place += std::string(i ? ", " : "") +
                         (array.keys[i] == T::Long ? std::to_string(below(4)) : word());
            line(place + "]" +
                 (array.value == T::Long   ? " = " + std::to_string(below(100))
                  : array.value == T::Text ? " = " + word()
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
        Function made{
            "f" + std::to_string(number), one_in(2) ? T::Long : T::Text, {}, one_in(3), one_in(3)};
        std::string parameters = made.recursive ? "depth:long" : "";
        for (size_t i = 0, count = below(3); i < count; i++) {
            made.parameters.push_back(one_in(2) ? T::Long : T::Text);
            parameters += (parameters.empty() ? "" : ", ") + std::string("p") + std::to_string(i) +
                          (made.parameters.back() == T::Long ? ":long" : ":string");
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
        open("function " + made.name + (made.result == T::Long ? ":long" : ":string") + "(" +
             parameters + ")" + priority);
        settle_locals();
        if (made.recursive) {
            open("if (depth > 0)");
            std::string arguments = "depth - 1";
            for (T type : made.parameters)
                arguments += ", " + expression(type, 1);
            line(made.result == T::Long
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
            if (scalar.type == T::Statistic)
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
    static std::string histogram_of(const std::string& place, int histogram) {
        return histogram == 1 ? "@hist_log(" + place + ")"
                              : "@hist_linear(" + place + ", -20, 100, 15)";
    }

    // ---- expressions ----
    std::string literal() {
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
    std::string initial_number() {
        static const char* const numbers[] = {"0", "5", "-3", "0x7fffffffffffffff", "1000"};
        return pick(numbers);
    }
    std::string word() {
        static const char* const words[] = {"\"\"",          "\"a\"",         "\"b\"",
                                            "\"ab\"",        "\"abc abc\"",   "\"x1y2z3\"",
                                            "\"-17\"",       "\"0x1f\"",      "\"ABC\"",
                                            "\"\\n\"",       "\"a%d\"",       "\"zzzzzzzzzzzz\"",
                                            "\"\\\"q\\\"\"", "\"\\xc3\\xa4\""};
        return pick(words);
    }
    std::string expression(T type, int depth) {
        return type == T::Long ? number_expression(depth) : text_expression(depth);
    }
    std::string keys_of(const Array& array, int depth) {
        std::string text;
        for (T key : array.keys)
            text += (text.empty() ? "" : ", ") + (one_in(2)        ? expression(key, depth - 1)
                                                  : key == T::Long ? std::to_string(below(4))
                                                                   : word());
        return text;
    }
    std::string slice_of(const Array& array, int depth) {
        std::string text;
        for (T key : array.keys)
            text += (text.empty() ? "" : ", ") +
                    (one_in(2) ? std::string("*") : expression(key, depth - 1));
        return text;
    }
    const Array* array_of(T value) {
        const Array& array = pick(arrays_);
        return array.value == value ? &array : nullptr;
    }
    const Scalar* scalar_of(T type) {
        const Scalar& scalar = pick(scalars_);
        return scalar.type == type ? &scalar : nullptr;
    }
    std::string variable(T type) {
        std::vector<std::string> names;
        for (int i = 0; i < 3; i++)
            names.push_back((type == T::Long ? "l" : "w") + std::to_string(i));
        for (size_t i = 0; i < parameters_.size(); i++)
            if (parameters_[i] == type)
                names.push_back("p" + std::to_string(i));
        for (const auto& [name, of] : loop_variables_)
            if (of == type)
                names.push_back(name);
        return pick(names);
    }
    std::string call(T result, int depth) {
        if (functions_.empty())
            return "";
        const Function& function = pick(functions_);
        if (function.result != result)
            return "";
        std::string arguments =
            function.recursive ? std::to_string(below(one_in(15) ? 14 : 4)) : "";
        for (T type : function.parameters)
            arguments += (arguments.empty() ? "" : ", ") + expression(type, depth - 1);
        return function.name + "(" + arguments + ")";
    }
    std::string statistic_place(int depth, int* histogram) {
        if (one_in(2))
            if (const Array* array = array_of(T::Statistic)) {
                *histogram = array->histogram;
                return array->name + "[" + keys_of(*array, depth) + "]";
            }
        if (const Scalar* scalar = scalar_of(T::Statistic)) {
            *histogram = scalar->histogram;
            return scalar->name;
        }
        return "";
    }

    std::string number_expression(int depth) {
        if (depth <= 0)
            return one_in(2) ? literal() : variable(T::Long);
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
            const T type = one_in(2) ? T::Long : T::Text;
            return "(" + expression(type, depth - 1) + " " + pick(operators) + " " +
                   expression(type, depth - 1) + ")";
        }
        case 8:
            return "(" + number_expression(depth - 1) + (one_in(2) ? " && " : " || ") +
                   number_expression(depth - 1) + ")";
        case 9:
            return "(" + number_expression(depth - 1) + " ? " + number_expression(depth - 1) +
                   " : " + number_expression(depth - 1) + ")";
        case 10:
            if (const Scalar* scalar = scalar_of(T::Long))
                return scalar->name;
            return one_in(2) ? "n0" : "n1";
        case 11:
            if (const Array* array = array_of(T::Long))
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
                return "stringat(" + text_expression(depth - 1) + ", " + std::to_string(below(3)) +
                       ")";
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
            const std::string text = call(T::Long, depth);
            if (!text.empty())
                return text;
            break;
        }
        default:
            break;
        }
        return one_in(2) ? literal() : variable(T::Long);
    }

    std::string text_expression(int depth) {
        if (depth <= 0)
            return one_in(2) ? word() : variable(T::Text);
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
            return "sprint(" + number_expression(depth - 1) + ", " + text_expression(depth - 1) +
                   ")";
        case 5:
            return "(" + number_expression(depth - 1) + " ? " + text_expression(depth - 1) + " : " +
                   text_expression(depth - 1) + ")";
        case 6:
            if (const Scalar* scalar = scalar_of(T::Text))
                return scalar->name;
            break;
        case 7:
            if (const Array* array = array_of(T::Text))
                return array->name + "[" + keys_of(*array, depth) + "]";
            break;
        case 8: {
            const std::string text = call(T::Text, depth);
            if (!text.empty())
                return text;
            break;
        }
        case 9:
            return "str_replace(" + text_expression(depth - 1) + ", " + word() + ", " + word() +
                   ")";
        }
        return one_in(2) ? word() : variable(T::Text);
    }

    // Conversions and literal text; `arguments` gets ", value" for each.
    std::string format_of(int depth, std::string* arguments) {
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

    // ---- statements ----
    void statement(int depth) {
        switch (below(22)) {
        case 0:
        case 1:
            line(variable_to_assign(T::Long) + assignment() + number_expression(3));
            break;
        case 2:
            line(variable_to_assign(T::Text) + (one_in(3) ? " .= " : " = ") + text_expression(3));
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
            line("{ " + variable_to_assign(T::Long) + (one_in(2) ? "++" : "--") + " ; }");
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
    std::string variable_to_assign(T type) {
        return (type == T::Long ? "l" : "w") + std::to_string(below(3));
    }
    void write_scalar() {
        const Scalar& scalar = pick(scalars_);
        if (scalar.type == T::Statistic)
            line(scalar.name + " <<< " + statistic_value());
        else if (scalar.type == T::Text)
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
        if (array.value == T::Statistic)
            line(place + " <<< " + statistic_value());
        else if (array.value == T::Text)
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
                 variable_to_assign(T::Long) + "++, ++" + variable_to_assign(T::Long) + ")");
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
        loop_variables_.emplace_back(name, T::Long);
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
                (array.keys[i] == T::Long ? "kl" : "kw") + number + "_" + std::to_string(i);
            loop_variables_.emplace_back(name, array.keys[i]);
            key_list += (i ? ", " : "") + name + (sorted == i ? order : "");
        }
        if (one_in(3)) {
            const T type = array.value == T::Text ? T::Text : T::Long;
            const std::string name = (type == T::Long ? "vl" : "vw") + number;
            loop_variables_.emplace_back(name, type);
            head = name + " = ";
        }
        head += "[" + key_list + "] in " + array.name;
        const bool sliced = one_in(6);
        if (sliced)
            head += "[" + slice_of(array, 1) + "]";
        if (sorted == array.keys.size()) {
            static const char* const operators[] = {"",     "@count", "@sum",     "@min",
                                                    "@max", "@avg",   "@variance"};
            if (array.value == T::Statistic)
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
            if (array.value == T::Statistic) {
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

    uint64_t state_;
    RandomProgram out_;
    size_t indent_ = 0;
    std::vector<Scalar> scalars_;
    std::vector<Array> arrays_;
    std::vector<Function> functions_;
    std::vector<T> parameters_;
    std::vector<std::pair<std::string, T>> loop_variables_;
    std::vector<const Array*> walked_;
    bool in_function_ = false, has_next_ = false;
    T result_ = T::Long;
    size_t loops_ = 0;
};

} // namespace

RandomProgram generate_program(uint64_t seed) {
    return Generator(seed).generate();
}

} // namespace djstap::differential
