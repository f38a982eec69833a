// SPDX-License-Identifier: GPL-2.0-or-later
// Generates random expressions of a type from what is in scope.
#pragma once
#include "markup.h"
#include "random.h"

#include <string>
#include <utility>
#include <vector>

namespace djstap::differential {

enum class Kind : uint8_t { Long, Text, Statistic };

struct Array {
    std::string name;
    std::vector<Kind> keys;
    Kind value;
    int size; // 0: not given
    bool wrap;
    int histogram; // 0 none, 1 log, 2 linear
};
struct Scalar {
    std::string name;
    Kind type;
    int histogram;
};
struct Function {
    std::string name;
    Kind result;
    std::vector<Kind> parameters;
    bool recursive;
    bool overloaded; // the first of two continues with the second by `next`
};

// @define; a parameter occurs in the body as (@x) and (@y).
struct Macro {
    std::string name;
    Kind type;
    std::vector<Kind> parameters;
    std::string body;
};

class ExpressionGenerator : protected Random {
  protected:
    ExpressionGenerator(uint64_t seed, bool portable) : Random(seed), portable_(portable) {}

    std::string literal();
    std::string initial_number();
    std::string word();
    std::string expression(Kind type, int depth);
    std::string keys_of(const Array& array, int depth);
    std::string constant_keys_of(const Array& array);
    std::string slice_of(const Array& array, int depth);
    const Array* array_of(Kind value);
    const Scalar* scalar_of(Kind type);
    std::string variable(Kind type);
    std::string variable_to_assign(Kind type);
    std::string call(Kind result, int depth);
    std::string statistic_place(int depth, int* histogram);
    static std::string histogram_of(const std::string& place, int histogram);
    std::string placed(const std::string& expression, Level least);
    std::string binary(Level level, const std::string& left, const std::string& op,
                       const std::string& right);
    std::string unary(const std::string& op, const std::string& expression);
    std::string conditional(const std::string& condition, const std::string& yes,
                            const std::string& no);
    std::string masked(int depth, const char* mask);
    std::string number_expression(int depth);
    std::string arithmetic(int depth);
    std::string operators(int depth);
    std::string number_of_text(int depth);
    std::string text_expression(int depth);
    std::string position(int depth);
    std::string pattern();
    std::string match(const std::string& text, const std::string& op, const std::string& pattern);
    std::string group(int depth);
    std::string macro(Kind type, int depth);
    std::string format_of(int depth, std::string* arguments);
    std::string cast(int depth);

    const bool portable_; // see generate_program()
    // What is in scope.
    std::vector<Scalar> scalars_;
    std::vector<Array> arrays_;
    std::vector<Function> functions_;
    std::vector<Kind> parameters_;
    std::vector<std::pair<std::string, Kind>> loop_variables_;
    std::vector<Macro> macros_;
    std::vector<Kind> macro_parameters_; // while a macro is generated
    bool has_groups_ = false, has_tokens_ = false, has_casts_ = false;
};

} // namespace djstap::differential
