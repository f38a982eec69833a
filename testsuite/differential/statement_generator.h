// SPDX-License-Identifier: GPL-2.0-or-later
// Generates random statements, one per line.
#pragma once
#include "expression_generator.h"

namespace djstap::differential {

class StatementGenerator : protected ExpressionGenerator {
  protected:
    StatementGenerator(uint64_t seed, bool portable) : ExpressionGenerator(seed, portable) {}

    void line(const std::string& text) { text_ += std::string(2 * indent_, ' ') + text + "\n"; }
    void open(const std::string& head) {
        line(head + " {");
        indent_++;
    }
    void close() {
        indent_--;
        line("}");
    }
    void statement(int depth);
    std::string assignment();
    void write_scalar();
    std::string statistic_value();
    void write_array();
    void erase();
    void print();
    void body(int depth, uint64_t most);
    void branch(int depth);
    void loop(int depth);
    void walk(const Array& array, bool report, int depth = 1);
    void walk_buckets();
    void speculate();
    void attempt(int depth);
    void show_statistic(const std::string& place, int histogram);
    bool is_walked(const Array& array) const;

    std::string text_;
    size_t indent_ = 0;
    std::vector<const Array*> walked_;
    bool in_function_ = false, has_next_ = false, has_speculation_ = false;
    Kind result_ = Kind::Long;
    size_t loops_ = 0;
};

} // namespace djstap::differential
