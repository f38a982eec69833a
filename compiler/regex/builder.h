// SPDX-License-Identifier: GPL-2.0-or-later
// Builds deterministic automata from a tree, all in one table. Every walk is over the same string,
// so ^ and $ mean its ends whatever part is walked.
#pragma once
#include "regex/regex.h"
#include "regex/tree.h"

#include <map>
#include <string>
#include <utility>

namespace djstap::regex {

class Builder {
  public:
    Builder(Automaton& out, const NodePtr& root);

    // Builds an automaton that accepts where the node's match ends (backward: where it starts).
    Start forward(const NodePtr& node) { return automaton(node, false); }
    Start backward(const NodePtr& node) { return automaton(node, true); }
    // The same for a match anywhere: the walk starts at the end of the string (backward) or its
    // beginning, and a match may begin at any position. `stop`: what follows an accepting state
    // does not matter.
    Start anywhere(const NodePtr& node, bool backward, bool stop);

    // True if the automata became too large; everything that was built must then be discarded.
    bool too_large() const { return !excess_.empty(); }
    // What was too large: completes "the regular expression …".
    const std::string& excess() const { return excess_; }
    void give_up(std::string excess) {
        if (excess_.empty())
            excess_ = std::move(excess);
    }

  private:
    struct State { // of the nondeterministic automaton
        enum class Kind : uint8_t { Set, Split, Begin, End, Accept } kind = Kind::Accept;
        const Bytes* set = nullptr;
        uint32_t next = 0, other = 0;
    };
    using Items = std::vector<uint32_t>; // sorted states
    struct Key {
        Items items;
        bool at_begin;
        auto operator<=>(const Key&) const = default;
    };

    Start automaton(const NodePtr& node, bool backward);
    Start determinize(uint32_t entry, bool stop);
    uint16_t state_of(Key key);
    uint32_t add(State::Kind kind, uint32_t next = 0, uint32_t other = 0,
                 const Bytes* set = nullptr);
    uint32_t build(const Node& node, uint32_t next, bool backward);
    Items closure(const Items& from, bool at_begin, bool at_end);
    bool has_accept(const Items& items) const;

    Automaton& out_;
    std::vector<uint8_t> representatives_; // one byte of each class
    std::vector<State> states_;
    std::map<std::pair<const Node*, bool>, Start> known_;
    std::map<Key, uint16_t> numbers_; // of the automaton that is being built
    std::vector<const Key*> pending_;
    std::vector<uint32_t> seen_; // for each state, the closure that reached it last
    uint32_t closures_ = 0;
    uint64_t work_ = 0;
    std::string excess_;
};

// The steps that find a match's groups (steps.cpp).
void make_steps(Automaton& out, Builder& builder, const NodePtr& root);

} // namespace djstap::regex
