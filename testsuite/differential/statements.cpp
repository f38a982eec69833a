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
    case StatementKind::Evaluate:
        value(*as<program::Evaluate>(node).expression);
        return Flow::On;
    case StatementKind::If: {
        const auto& branch = as<program::If>(node);
        if (holds(*branch.condition))
            return statement(*branch.then_branch);
        return branch.else_branch ? statement(*branch.else_branch) : Flow::On;
    }
    case StatementKind::Loop:
        return loop(as<program::Loop>(node));
    case StatementKind::Foreach:
        return as<program::Foreach>(node).histogram ? foreach_bucket(as<program::Foreach>(node))
                                                    : foreach_element(as<program::Foreach>(node));
    case StatementKind::Break:
        return Flow::Break;
    case StatementKind::Continue:
        return Flow::Continue;
    case StatementKind::Next:
        return Flow::Next;
    case StatementKind::Return:
        if (const auto& result = as<program::Return>(node).value)
            frame_->result = cut(value(*result));
        return Flow::Return;
    case StatementKind::Delete:
        erase(as<program::Delete>(node));
        return Flow::On;
    case StatementKind::TryCatch:
        return try_catch(as<program::TryCatch>(node));
    default:
        throw Unknown("a statement");
    }
}

// After a turn: nothing where the loop goes on, else what comes of the whole loop.
static std::optional<Flow> end_of_loop(Flow turn) {
    if (turn == Flow::On || turn == Flow::Continue)
        return std::nullopt;
    return turn == Flow::Break ? Flow::On : turn;
}

Flow Interpreter::loop(const program::Loop& node) {
    if (node.init)
        value(*node.init);
    while (!node.condition || holds(*node.condition)) {
        if (const auto end = end_of_loop(statement(*node.body)))
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
    for (const Element& element : chosen) {
        for (size_t i = 0; i < node.keys.size(); i++)
            frame_->locals[node.keys[i]] = element.keys[i];
        if (node.value)
            frame_->locals[*node.value] = element.value;
        if (const auto end = end_of_loop(statement(*node.body)))
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
    for (int64_t i = 0; i < count; i++) {
        const int64_t bucket = node.sort_key == 1 && !node.ascending ? buckets - 1 - i : i;
        frame_->locals[node.keys[0]] = bucket;
        if (node.value) {
            auto hits = statistic.hits.find(bucket);
            frame_->locals[*node.value] = hits == statistic.hits.end() ? int64_t{0} : hits->second;
        }
        if (const auto end = end_of_loop(statement(*node.body)))
            return *end;
    }
    return Flow::On;
}

Flow Interpreter::try_catch(const program::TryCatch& node) {
    Frame* const frame = frame_;
    try {
        return statement(*node.body);
    } catch (const ScriptError& error) {
        frame_ = frame;
        if (node.message)
            frame_->locals[*node.message] = cut(error.message);
    }
    return statement(*node.handler);
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
