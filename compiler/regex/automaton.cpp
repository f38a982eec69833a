// SPDX-License-Identifier: GPL-2.0-or-later
#include "regex/builder.h"

#include <algorithm>

namespace djstap::regex {

namespace {

constexpr size_t max_nfa_states = 20000;
constexpr size_t max_table = size_t{1} << 17; // elements of Automaton::next
constexpr size_t max_states = 32000;
constexpr uint64_t max_work = uint64_t{1} << 23;

void collect_sets(const Node& node, std::vector<const Bytes*>& sets,
                  std::vector<const Node*>& seen) {
    if (std::find(seen.begin(), seen.end(), &node) != seen.end())
        return;
    if (node.first.use_count() > 1 || node.second.use_count() > 1)
        seen.push_back(&node);
    if (node.kind == Node::Kind::Set)
        sets.push_back(&node.set);
    if (node.first)
        collect_sets(*node.first, sets, seen);
    if (node.second)
        collect_sets(*node.second, sets, seen);
}

} // namespace

Builder::Builder(Automaton& out, const NodePtr& root) : out_(out) {
    // Bytes that are in the same sets form one class.
    std::vector<const Bytes*> sets;
    std::vector<const Node*> seen;
    collect_sets(*root, sets, seen);
    for (const Bytes* set : sets) {
        std::map<std::pair<uint8_t, bool>, uint8_t> split;
        for (size_t c = 0; c < 256; c++) {
            auto entry = split.emplace(std::pair(out_.classes[c], set->test(c)),
                                       static_cast<uint8_t>(split.size()));
            out_.classes[c] = entry.first->second;
        }
    }
    out_.class_count = *std::max_element(out_.classes.begin(), out_.classes.end()) + 1u;
    representatives_.resize(out_.class_count);
    for (size_t c = 0; c < 256; c++)
        representatives_[out_.classes[c]] = static_cast<uint8_t>(c);
    out_.next.assign(out_.class_count, 0); // state 0
    out_.accept.assign(1, 0);
}

uint32_t Builder::add(State::Kind kind, uint32_t next, uint32_t other, const Bytes* set) {
    if (states_.size() >= max_nfa_states) {
        give_up("has more than " + std::to_string(max_nfa_states) +
                " places, with what it repeats written out");
        return 0;
    }
    states_.push_back({kind, set, next, other});
    return static_cast<uint32_t>(states_.size() - 1);
}

// Returns the state where the node's part begins; `next` follows the part.
uint32_t Builder::build(const Node& node, uint32_t next, bool backward) {
    using Kind = Node::Kind;
    if (too_large())
        return 0;
    switch (node.kind) {
    case Kind::Empty:
        return next;
    case Kind::Set:
        return add(State::Kind::Set, next, 0, &node.set);
    case Kind::Begin:
        return add(backward ? State::Kind::End : State::Kind::Begin, next);
    case Kind::End:
        return add(backward ? State::Kind::Begin : State::Kind::End, next);
    case Kind::Concatenation:
        return backward ? build(*node.second, build(*node.first, next, backward), backward)
                        : build(*node.first, build(*node.second, next, backward), backward);
    case Kind::Alternation: {
        const uint32_t first = build(*node.first, next, backward);
        return add(State::Kind::Split, first, build(*node.second, next, backward));
    }
    case Kind::Star: {
        const uint32_t loop = add(State::Kind::Split, next, next);
        const uint32_t turn = build(*node.first, loop, backward);
        states_[loop].next = turn;
        return loop;
    }
    case Kind::Optional:
    case Kind::More:
        return add(State::Kind::Split, build(*node.first, next, backward), next);
    case Kind::Group:
    case Kind::Turn:
        return build(*node.first, next, backward);
    }
    return next;
}

Start Builder::automaton(const NodePtr& node, bool backward) {
    const auto key = std::pair(node.get(), backward);
    if (const auto known = known_.find(key); known != known_.end())
        return known->second;
    states_.clear();
    const uint32_t accept = add(State::Kind::Accept);
    const Start start = determinize(build(*node, accept, backward), false);
    known_.emplace(key, start);
    return start;
}

Start Builder::anywhere(const NodePtr& node, bool backward, bool stop) {
    static const Bytes all = Bytes().set();
    states_.clear();
    const uint32_t accept = add(State::Kind::Accept);
    const uint32_t entry = build(*node, accept, backward);
    const uint32_t loop = add(State::Kind::Split, entry, entry);
    const uint32_t any = add(State::Kind::Set, loop, 0, &all);
    if (too_large())
        return {};
    states_[loop].other = any;
    return determinize(loop, stop);
}

// Returns the items that are reached without consuming a byte. A $ that is not at the end of the
// string stays among the items: it is checked again where the string ends.
Builder::Items Builder::closure(const Items& from, bool at_begin, bool at_end) {
    Items result, stack = from;
    closures_++;
    seen_.resize(states_.size(), 0);
    while (!stack.empty()) {
        const uint32_t number = stack.back();
        stack.pop_back();
        if (seen_[number] == closures_)
            continue;
        seen_[number] = closures_;
        work_++;
        const State& state = states_[number];
        switch (state.kind) {
        case State::Kind::Split:
            stack.push_back(state.next);
            stack.push_back(state.other);
            break;
        case State::Kind::Begin:
            if (at_begin)
                stack.push_back(state.next);
            break;
        case State::Kind::End:
            if (at_end)
                stack.push_back(state.next);
            else
                result.push_back(number);
            break;
        case State::Kind::Set:
        case State::Kind::Accept:
            result.push_back(number);
            break;
        }
    }
    std::sort(result.begin(), result.end());
    return result;
}

bool Builder::has_accept(const Items& items) const {
    return std::any_of(items.begin(), items.end(),
                       [&](uint32_t item) { return states_[item].kind == State::Kind::Accept; });
}

uint16_t Builder::state_of(Key key) {
    if (key.items.empty() || too_large())
        return 0;
    const auto [entry, added] =
        numbers_.emplace(std::move(key), static_cast<uint16_t>(out_.accept.size()));
    if (!added)
        return entry->second;
    const Key& kept = entry->first;
    uint8_t accept = has_accept(kept.items) ? accepts | accepts_at_end : 0;
    if (!accept && has_accept(closure(kept.items, kept.at_begin, true)))
        accept = accepts_at_end;
    out_.accept.push_back(accept);
    out_.next.resize(out_.next.size() + out_.class_count, 0);
    if (out_.next.size() > max_table)
        give_up("needs an automaton with more than " + std::to_string(max_table) + " transitions");
    else if (out_.accept.size() > max_states)
        give_up("needs an automaton with more than " + std::to_string(max_states) + " states");
    else if (work_ > max_work)
        give_up("takes more than " + std::to_string(max_work) + " steps to compile");
    pending_.push_back(&kept);
    return entry->second;
}

Start Builder::determinize(uint32_t entry, bool stop) {
    numbers_.clear();
    pending_.clear();
    seen_.assign(states_.size(), 0);
    closures_ = 0;
    if (too_large())
        return {};
    Start start;
    start.at_end = state_of({closure({entry}, true, false), true});
    start.inside = state_of({closure({entry}, false, false), false});
    for (size_t i = 0; i < pending_.size() && !too_large(); i++) {
        const Key& key = *pending_[i];
        const uint16_t from = numbers_.at(key);
        if (stop && (out_.accept[from] & accepts))
            continue;
        for (uint32_t c = 0; c < out_.class_count; c++) {
            Items moved;
            for (const uint32_t item : key.items) {
                const State& state = states_[item];
                if (state.kind == State::Kind::Set && state.set->test(representatives_[c]))
                    moved.push_back(state.next);
            }
            if (!moved.empty())
                out_.next[size_t{from} * out_.class_count + c] =
                    state_of({closure(moved, false, false), false});
        }
    }
    return start;
}

Result<Automaton> compile(std::string_view pattern, bool groups) {
    Result<Tree> tree = parse(pattern);
    if (!tree)
        return tree.failure();
    Automaton out;
    Builder builder(out, tree->root);
    out.search = builder.anywhere(tree->root, false, true);
    if (groups) {
        out.group_count = tree->groups;
        out.starts = builder.anywhere(tree->root, true, false);
        out.match = builder.forward(tree->root);
        make_steps(out, builder, tree->root);
    }
    if (builder.too_large())
        return Failure{builder.excess(),
                       groups ? "repeat fewer times in {m,n}; groups inside them cost most, for "
                                "matched()"
                              : "repeat fewer times in {m,n}, or match in two steps"};
    return out;
}

} // namespace djstap::regex
