// Random expressions of a type, made of what is in scope where they stand.
#pragma once
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
    bool overloaded; // the first of two goes on with the second by `next`
};

class ExpressionGenerator : protected Random {
  protected:
    explicit ExpressionGenerator(uint64_t seed) : Random(seed) {}

    std::string literal();
    std::string initial_number();
    std::string word();
    std::string expression(Kind type, int depth);
    std::string keys_of(const Array& array, int depth);
    std::string slice_of(const Array& array, int depth);
    const Array* array_of(Kind value);
    const Scalar* scalar_of(Kind type);
    std::string variable(Kind type);
    std::string call(Kind result, int depth);
    std::string statistic_place(int depth, int* histogram);
    static std::string histogram_of(const std::string& place, int histogram);
    std::string number_expression(int depth);
    std::string text_expression(int depth);
    std::string format_of(int depth, std::string* arguments);

    // What is in scope.
    std::vector<Scalar> scalars_;
    std::vector<Array> arrays_;
    std::vector<Function> functions_;
    std::vector<Kind> parameters_;
    std::vector<std::pair<std::string, Kind>> loop_variables_;
};

} // namespace djstap::differential
