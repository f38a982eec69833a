// SPDX-License-Identifier: GPL-2.0-or-later
// The interpreter's values: numbers, texts, statistics, arrays.
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

// What the interpreter does not know.
struct Unknown : std::runtime_error {
    using std::runtime_error::runtime_error;
};

using Value = std::variant<int64_t, std::string>;

struct Statistic {
    int64_t count = 0, sum = 0, min = 0, max = 0;
    int64_t mean = 0, distances = 0; // running: what @variance is made of
    std::map<int64_t, int64_t> hits; // by bucket
    void add(const program::StatisticNeeds& needs, int64_t value);
    int64_t read(ast::StatOp op) const;
};

// How many buckets a histogram has, and the text of one.
int64_t bucket_count(const program::StatisticNeeds& needs);
std::string histogram_text(const program::StatisticNeeds& needs, const Statistic& statistic);

struct Element {
    std::vector<Value> keys;
    Value value;
    Statistic statistic;
};

// A global's contents: an array's elements in the order of their insertion.
struct Storage {
    Value value;
    Statistic statistic;
    std::vector<Element> elements;
};

// Two's complement, whatever overflows.
int64_t calculate(ast::BinaryOp op, int64_t left, int64_t right);

// One conversion of printf.
std::string convert(const program::FormatPiece& piece, int width, int precision,
                    const Value& argument);

} // namespace djstap::differential
