// SPDX-License-Identifier: GPL-2.0-or-later
// The interpreter's values: numbers, strings, statistics, arrays.
#pragma once
#include "semantics/program.h"

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

namespace djstap::differential {

// A run-time error of the script.
struct ScriptError {
    std::string message;
};

// A feature that the interpreter does not support.
struct Unknown : std::runtime_error {
    using std::runtime_error::runtime_error;
};

using Value = std::variant<int64_t, std::string>;

struct Statistic {
    int64_t count = 0, sum = 0, min = 0, max = 0;
    int64_t mean = 0, distances = 0; // running values from which @variance is computed
    std::map<int64_t, int64_t> hits; // by bucket
    void add(const program::StatisticNeeds& needs, int64_t value);
    int64_t read(ast::StatOp op) const;
};

// Return the number of a histogram's buckets, and its text.
int64_t bucket_count(const program::StatisticNeeds& needs);
std::string histogram_text(const program::StatisticNeeds& needs, const Statistic& statistic);

struct Element {
    std::vector<Value> keys;
    Value value;
    Statistic statistic;
};

// The content of a global: an array's elements are in insertion order.
struct Storage {
    Value value;
    Statistic statistic;
    std::vector<Element> elements;
};

// Two's complement arithmetic, with wrap-around.
int64_t calculate(ast::BinaryOp op, int64_t left, int64_t right);

// One conversion of printf.
std::string convert(const program::FormatPiece& piece, int width, int precision,
                    const Value& argument);

} // namespace djstap::differential
