// SPDX-License-Identifier: GPL-2.0-or-later
#include "walk.h"

#include <algorithm>

namespace djstap::differential {

using program::as;
using program::StatementKind;
using program::Type;

Flow Interpreter::block(const program::Block& node) {
    for (const auto& inner : node.statements)
        if (const Flow flow = statement(*inner); flow != Flow::On)
            return flow;
    return Flow::On;
}

Flow Interpreter::statement(const program::Statement& node) {
    switch (node.kind) {
    case StatementKind::Block:
        return block(as<program::Block>(node));
    case StatementKind::If:
        return branch(as<program::If>(node));
    case StatementKind::Loop:
        return loop(as<program::Loop>(node));
    case StatementKind::Foreach:
        return as<program::Foreach>(node).histogram ? foreach_bucket(as<program::Foreach>(node))
                                                    : foreach_element(as<program::Foreach>(node));
    case StatementKind::Break:
    case StatementKind::Continue:
    case StatementKind::Next:
        charge(&node, Moment::Before);
        return node.kind == StatementKind::Break      ? Flow::Break
               : node.kind == StatementKind::Continue ? Flow::Continue
                                                      : Flow::Next;
    case StatementKind::Evaluate:
    case StatementKind::Return:
    case StatementKind::Delete: {
        const Flow flow = evaluate(node);
        charge(&node, Moment::After);
        return flow;
    }
    case StatementKind::TryCatch:
        return try_catch(as<program::TryCatch>(node));
    default:
        throw Unknown("a statement");
    }
}

Flow Interpreter::evaluate(const program::Statement& node) {
    if (node.kind == StatementKind::Evaluate) {
        value(*as<program::Evaluate>(node).expression);
    } else if (node.kind == StatementKind::Delete) {
        erase(as<program::Delete>(node));
    } else {
        if (const auto& result = as<program::Return>(node).value)
            frame_->result = cut(value(*result));
        return Flow::Return;
    }
    return Flow::On;
}

Flow Interpreter::branch(const program::If& node) {
    charge(&node, Moment::Before);
    const bool taken = holds(*node.condition);
    if (!taken && !node.else_branch)
        return Flow::On;
    const Flow flow = statement(taken ? *node.then_branch : *node.else_branch);
    if (flow == Flow::On)
        charge(&node, taken ? Moment::Then : Moment::Else);
    return flow;
}

// Called after an iteration: returns nothing if the loop continues, else the result of the whole
// loop.
static std::optional<Flow> end_of_loop(Flow turn) {
    if (turn == Flow::On || turn == Flow::Continue)
        return std::nullopt;
    return turn == Flow::Break ? Flow::On : turn;
}

std::optional<Flow> Interpreter::turn(const program::Statement& of,
                                      const program::Statement& body) {
    const Flow flow = statement(body);
    if (flow == Flow::On)
        charge(&of, Moment::Body);
    return end_of_loop(flow);
}

Flow Interpreter::loop(const program::Loop& node) {
    if (node.init) {
        value(*node.init);
        charge(&node, Moment::Init);
    }
    charge(&node, Moment::Before);
    while (!node.condition || holds(*node.condition)) {
        if (const auto end = turn(node, *node.body))
            return *end;
        if (node.step)
            value(*node.step);
    }
    return Flow::On;
}

Flow Interpreter::foreach_element(const program::Foreach& node) {
    const auto slice = keys(node.slice);
    std::vector<Element> chosen;
    for (const Element& element : storage(*node.array).elements)
        if (fits(element, slice))
            chosen.push_back(element);
    auto rank = [&](const Element& element) -> Value {
        if (node.sort_key > 0)
            return element.keys[static_cast<size_t>(node.sort_key) - 1];
        return node.array->value == Type::Statistic ? Value(element.statistic.read(node.sort_stat))
                                                    : element.value;
    };
    if (node.sort_key >= 0)
        std::stable_sort(chosen.begin(), chosen.end(), [&](const Element& a, const Element& b) {
            return node.ascending ? rank(a) < rank(b) : rank(b) < rank(a);
        });
    if (node.limit) {
        const int64_t limit = std::max<int64_t>(0, number(*node.limit));
        if (chosen.size() > static_cast<uint64_t>(limit))
            chosen.resize(static_cast<size_t>(limit));
    }
    charge(&node, Moment::Before);
    for (const Element& element : chosen) {
        for (size_t i = 0; i < node.keys.size(); i++)
            frame_->locals[node.keys[i]] = element.keys[i];
        if (node.value)
            frame_->locals[*node.value] = element.value;
        if (const auto end = turn(node, *node.body))
            return *end;
    }
    return Flow::On;
}

Flow Interpreter::foreach_bucket(const program::Foreach& node) {
    const auto& read = as<program::StatisticRead>(*node.histogram);
    const int64_t buckets = bucket_count(as<program::GlobalValue>(*read.place).global->statistic);
    int64_t count = buckets;
    if (node.limit)
        count = std::clamp<int64_t>(number(*node.limit), 0, buckets);
    const Statistic* found = node.value ? find_statistic(*read.place) : nullptr;
    const Statistic statistic = found ? *found : Statistic();
    charge(&node, Moment::Before);
    for (int64_t i = 0; i < count; i++) {
        const int64_t bucket = node.sort_key == 1 && !node.ascending ? buckets - 1 - i : i;
        frame_->locals[node.keys[0]] = bucket;
        if (node.value) {
            auto hits = statistic.hits.find(bucket);
            frame_->locals[*node.value] = hits == statistic.hits.end() ? int64_t{0} : hits->second;
        }
        if (const auto end = turn(node, *node.body))
            return *end;
    }
    return Flow::On;
}

static bool is_next(const program::Statement& handler) {
    if (handler.kind != StatementKind::Block)
        return handler.kind == StatementKind::Next;
    const auto& statements = as<program::Block>(handler).statements;
    return statements.size() == 1 && is_next(*statements.front());
}

Flow Interpreter::try_catch(const program::TryCatch& node) {
    Frame* const frame = frame_;
    charge(&node, Moment::Before);
    try {
        const Flow flow = statement(*node.body);
        if (flow == Flow::On)
            charge(&node, Moment::Body);
        return flow;
    } catch (const ScriptError& error) {
        // A handler without statements left catches nothing, but may end.
        frame_ = frame;
        if (is_next(*node.handler))
            return Flow::Next;
        if (actions_ <= 0)
            throw;
        if (node.message)
            frame_->locals[*node.message] = cut(error.message);
    }
    charge(&node, Moment::Catch);
    const Flow flow = statement(*node.handler);
    if (flow == Flow::On)
        charge(&node, Moment::Handler);
    return flow;
}

// ---- MAXACTION ----

const Charges* Interpreter::charges_of(const program::Block& body) {
    if (rules_.max_actions == INT32_MAX && rules_.max_session_actions == INT32_MAX)
        return nullptr;
    return &charges_.try_emplace(&body, body).first->second;
}

void Interpreter::charge(const void* at, Moment moment) {
    const int64_t due = frame_->charges ? frame_->charges->due(at, moment) : 0;
    actions_ -= due;
    if (due > 0 && actions_ <= 0)
        throw ScriptError{"MAXACTION exceeded"};
}

void Interpreter::erase(const program::Delete& node) {
    const auto wanted = keys(node.keys);
    Storage& all = storage(*node.global);
    if (node.global->is_array()) {
        std::erase_if(all.elements, [&](const Element& element) { return fits(element, wanted); });
        return;
    }
    all.value = nothing(node.global->value);
    all.statistic = Statistic();
}

} // namespace djstap::differential
