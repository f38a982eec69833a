// SPDX-License-Identifier: GPL-2.0-or-later
#include "generator.h"

#include "statement_generator.h"

#include <sstream>

namespace djstap::differential {

namespace {

class Generator : StatementGenerator {
  public:
    Generator(uint64_t seed, bool portable) : StatementGenerator(seed, portable) {}

    RandomProgram generate(bool has_casts) {
        constexpr size_t string_bytes[] = {16, 24, 64, 128};
        out_.rules.string_bytes = string_bytes[below(4)];
        out_.rules.map_entries = one_in(4) ? 4 : 64;
        out_.rules.max_errors = one_in(3) ? below(4) : 1000;
        out_.rules.optimized = one_in(2);
        out_.rules.target = one_in(2) ? 0 : 1;
        if (one_in(6)) { // some of it exceeds the limits
            out_.rules.max_actions = 5 + static_cast<int64_t>(below(60));
            out_.rules.max_session_actions = 5 + static_cast<int64_t>(below(one_in(3) ? 300 : 40));
        }
        if (portable_) {
            out_.rules = Rules();
            out_.rules.string_bytes = 4 * string_bytes[below(4)];
            out_.rules.max_errors = 1000;
        }
        has_groups_ = one_in(3);
        has_tokens_ = one_in(3);
        has_speculation_ = one_in(4);
        has_casts_ = has_casts;
        declare();
        for (size_t i = 0, count = below(4); i < count; i++)
            define(i);
        for (size_t i = 0, count = below(3); i < count; i++)
            alias(i);
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
        out_.marked = std::move(text_);
        return std::move(out_);
    }

  private:
    // ---- declarations ----
    void declare() {
        for (size_t i = 0, count = 2 + below(3); i < count; i++)
            scalar({"g" + std::to_string(i), Kind::Long, 0},
                   one_in(2) ? " = " + initial_number() : "");
        for (size_t i = 0, count = 1 + below(2); i < count; i++)
            scalar({"s" + std::to_string(i), Kind::Text, 0}, one_in(2) ? " = " + word() : "");
        for (size_t i = 0, count = below(3); i < count; i++)
            scalar({"t" + std::to_string(i), Kind::Statistic, static_cast<int>(below(3))}, "");
        // Only ++ and +=: stored per CPU.
        line("global n0, n1");
        if (has_speculation_)
            line("global sp0, sp1");
        for (size_t i = 0, count = 1 + below(4); i < count; i++) {
            Array array{"a" + std::to_string(i),   {}, Kind::Long, 0, one_in(5) && !portable_,
                        static_cast<int>(below(3))};
            for (size_t k = 0, keys = 1 + below(portable_ ? 1 : 3); k < keys; k++)
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
        if (has_speculation_) {
            line("sp0 = speculation()");
            line("sp1 = speculation()");
            if (portable_) // SystemTap requires all of them to be used
                line("speculate(sp0, \"\"); commit(sp0); discard(sp0); sp0 = speculation()");
        }
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
    // A probe's tokens are its own: other probes may run on another processor.
    void begin_words() {
        if (has_tokens_)
            line("tokenize(" + word() + ", \" \")");
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
            const bool number = made.result == Kind::Long;
            line("return " + binary(number ? Level::Sum : Level::Concatenation,
                                    expression(made.result, 1), number ? "+" : ".",
                                    made.name + "(" + arguments + ")"));
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

    // Fires a few times; the last time it calls exit(), if nothing did so before.
    void timer() {
        line("global ticks");
        open(one_in(2) ? "probe timer.ms(1)" : "probe timer.us(300)");
        line("if (++ticks >= " + std::to_string(1 + below(4)) + ") exit()");
        begin_words();
        settle_locals();
        for (uint64_t i = 0, count = 1 + below(6); i < count; i++)
            statement(2);
        close();
    }

    void define(size_t number) {
        if (number == 0)
            line(script_line("@define tokens(x) %( (2 * @x * 3) %)"));
        Macro made{"m" + std::to_string(number), one_in(2) ? Kind::Long : Kind::Text, {}, ""};
        for (size_t i = 0, count = below(3); i < count; i++)
            made.parameters.push_back(one_in(2) ? Kind::Long : Kind::Text);
        macro_parameters_ = made.parameters;
        made.body = expression(made.type, 2);
        macro_parameters_.clear();
        const char* const parameters[] = {"", "(x)", "(x, y)"};
        line(script_line("@define " + made.name + parameters[made.parameters.size()] + " %( (" +
                         made.body + ") %)"));
        macros_.push_back(made);
    }

    struct Alias {
        std::string name, points;
        std::vector<std::string> before, after; // lines
    };
    void alias(size_t number) {
        Alias made{"alias" + std::to_string(number), "", {}, {}};
        std::string head = "begin(" + std::to_string(below(5)) + ")";
        made.points = head;
        if (!aliases_.empty() && one_in(2)) {
            const Alias& other = pick(aliases_);
            head = other.name;
            made = {made.name, other.points, other.before, other.after};
        } else if (one_in(3)) {
            made.points = head += ", begin(7)";
        }
        const bool behind = one_in(3);
        const std::string outside = std::exchange(text_, "");
        indent_++;
        if (!behind)
            settle_locals();
        for (uint64_t i = 0, count = 1 + below(3); i < count; i++)
            statement(1);
        indent_--;
        std::istringstream lines(std::exchange(text_, outside));
        line(script_line("probe " + made.name + (behind ? " += " : " = ") + head + " {"));
        std::vector<std::string> own;
        for (std::string each; std::getline(lines, each);) {
            own.push_back(each);
            line(script_line(each));
        }
        line(script_line("}"));
        // What an alias adds is closer to the body than what its underlying alias adds.
        if (behind)
            made.after.insert(made.after.begin(), own.begin(), own.end());
        else
            made.before.insert(made.before.end(), own.begin(), own.end());
        aliases_.push_back(made);
    }

    // Generates a condition that can neither fail nor change anything.
    std::string condition() {
        static const char* const operators[] = {"<", "<=", ">", ">=", "==", "!="};
        std::string text;
        for (uint64_t i = 0, count = 1 + below(2); i < count; i++) {
            const Scalar* scalar = scalar_of(Kind::Long);
            const std::string left = scalar ? scalar->name : "n0";
            const std::string part =
                binary(Level::Comparison, left, pick(operators), std::to_string(below(20)));
            text = i ? one_in(2) ? binary(Level::And, text, "&&", part)
                                 : binary(Level::Or, text, "||", part)
                     : part;
        }
        return text;
    }

    void probe(const std::string& point, uint64_t statements) {
        static const Alias none;
        const Alias& alias =
            !aliases_.empty() && point != "error" && one_in(2) ? pick(aliases_) : none;
        // A condition is not counted as a statement, but its equivalent is.
        const bool counts = out_.rules.max_actions < INT32_MAX;
        const std::string when = one_in(6) && !counts ? condition() : "";
        const bool aliased = !alias.name.empty();
        open("probe " + alternative((aliased ? alias.name : point) +
                                        (when.empty() ? "" : " if (" + when + ")"),
                                    aliased ? alias.points : point));
        if (!when.empty())
            line(meaning_line("if (!(" + when + ")) next"));
        for (const std::string& each : alias.before)
            line(meaning_line(each));
        begin_words();
        if (alias.before.empty() || one_in(2))
            settle_locals();
        for (uint64_t i = 0; i < statements; i++)
            statement(3);
        for (const std::string& each : alias.after)
            line(meaning_line(each));
        close();
    }

    // Prints most of the globals; those that are left out may print themselves.
    void report() {
        open("probe end");
        begin_words();
        settle_locals();
        for (const Scalar& scalar : scalars_) {
            if (one_in(8) && !portable_)
                continue;
            if (scalar.type == Kind::Statistic)
                show_statistic(scalar.name, scalar.histogram);
            else
                line("println(\"" + scalar.name + " \", " + scalar.name + ")");
        }
        line("println(n0, \" \", n1)");
        if (has_speculation_ && portable_)
            line("println(sp0 != sp1)");
        for (const Array& array : arrays_)
            if (portable_ || !one_in(8))
                walk(array, true);
        close();
    }
    RandomProgram out_;
    std::vector<Alias> aliases_;
};

} // namespace

RandomProgram generate_program(uint64_t seed, bool portable) {
    // Types are those of a kernel, which the programs for user space do without.
    return Generator(seed, portable).generate(portable && seed % 10 == 0);
}

} // namespace djstap::differential
