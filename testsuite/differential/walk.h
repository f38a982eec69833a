// SPDX-License-Identifier: GPL-2.0-or-later
// The walk over a program's tree: expressions.cpp evaluates values, functions.cpp calls,
// statements.cpp runs statements, interpreter.cpp calls the probes like a session.
#pragma once
#include "charges.h"
#include "interpreter.h"
#include "values.h"

#include <optional>
#include <unordered_map>
#include <utility>

namespace djstap::differential {

enum class Flow : uint8_t { On, Break, Continue, Next, Return };

// Returns the value of a variable before it is written.
inline Value nothing(program::Type type) {
    return type == program::Type::String ? Value(std::string()) : Value(int64_t{0});
}

class Interpreter {
  public:
    Interpreter(const program::Program& program, const Rules& rules)
        : program_(program), rules_(rules) {}
    Outcome run();

  private:
    // Each call has its own variables, and its own return value.
    struct Frame {
        std::vector<Value> locals;
        Value result;
        const Charges* charges = nullptr; // null: statements are not counted
    };

    void make_globals();
    void run_probes(const char* point);
    void run_timer();
    void run_probe(const program::Probe& probe);

    const Charges* charges_of(const program::Block& body);
    void charge(const void* at, Moment moment);
    Flow statement(const program::Statement& node);
    Flow evaluate(const program::Statement& node);
    Flow branch(const program::If& node);
    Flow block(const program::Block& node);
    std::optional<Flow> turn(const program::Statement& of, const program::Statement& body);
    Flow loop(const program::Loop& node);
    Flow foreach_element(const program::Foreach& node);
    Flow foreach_bucket(const program::Foreach& node);
    Flow try_catch(const program::TryCatch& node);
    void erase(const program::Delete& node);

    Value value(const program::Expression& node);
    int64_t number(const program::Expression& node) { return std::get<int64_t>(value(node)); }
    std::string text(const program::Expression& node) { return std::get<std::string>(value(node)); }
    bool holds(const program::Expression& node);
    Value compare(const program::Comparison& node);
    Value assign(const program::Assignment& node);
    Value increment(const program::Increment& node);
    Value aggregate(const program::Aggregation& node);
    Value call(const program::Call& node);
    Value call_function(const program::Function& function, std::vector<Value> arguments);
    Value intrinsic(const program::Call& node, const std::vector<Value>& arguments);
    Value tokenize(const std::string& text, const std::string& delimiters);
    Value match(const program::RegexMatch& node);
    const std::vector<std::string>& groups() const;
    Value matched(int64_t group) const;
    Value print(const program::Print& node);
    Value statistic(const program::StatisticRead& node);
    Value membership(const program::Membership& node);

    Value cut(Value value) const;
    Storage& storage(const program::Global& global) { return globals_.at(&global); }
    std::vector<std::optional<Value>> keys(const std::vector<program::ExpressionPtr>& nodes);
    static bool fits(const Element& element, const std::vector<std::optional<Value>>& keys);
    Element* find(const program::GlobalValue& place);
    Element& make(const program::GlobalValue& place);
    const Statistic* find_statistic(const program::Expression& place);
    Value read_place(const program::Expression& place);
    // Reads, changes and writes a variable or an element, whose keys are evaluated once.
    template <class Change>
    std::pair<Value, Value> change(const program::Expression& place, Change change);

    const program::Program& program_;
    const Rules& rules_;
    std::unordered_map<const program::Global*, Storage> globals_;
    Frame* frame_ = nullptr;
    std::unordered_map<const program::Block*, Charges> charges_;
    int64_t actions_ = 0; // left
    int64_t nesting_ = 0;
    struct Match {
        bool found;
        std::vector<std::string> groups; // the whole match first
    };
    std::optional<Match> match_; // of this handler
    std::string words_;          // what tokenize() has not returned yet
    std::unordered_map<int64_t, std::string> speculated_;
    int64_t speculations_ = 0;
    bool exit_ = false, failed_ = false;
    uint64_t errors_ = 0;
    Outcome outcome_;
};

} // namespace djstap::differential
