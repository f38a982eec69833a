// SPDX-License-Identifier: GPL-2.0-or-later
// Where functions return. Only those are known to return nowhere else that have no other way out:
// a jump to another function makes that one return in their place.
#include "arch/instructions.h"
#include "regions/state.h"

#include <algorithm>
#include <functional>

namespace djstap::regions {

namespace {

// A jump that replaces a return begins at most this far before it.
constexpr Index farthest = 32;
constexpr std::string_view tail_call =
    "it may end by a jump to another function, which returns in its place";

class ExitFinder {
  public:
    ExitFinder(const std::vector<Function>& functions, const Code& code, const Frames& frames,
               const std::vector<Edge>& by_target, const Judge& judge)
        : functions_(functions), code_(code), frames_(frames), by_target_(by_target), judge_(judge),
          decoder_(arch::InstructionDecoder::create()) {}

    Exits find(size_t number) {
        parts_.push_back(number);
        for (size_t i = 0; i < parts_.size() && exits_.refusal.empty(); i++)
            examine(functions_[parts_[i]]);
        for (size_t i = 0; i < parts_.size() && exits_.refusal.empty(); i++)
            check_entries(functions_[parts_[i]]);
        if (exits_.refusal.empty() && exits_.returns.empty())
            exits_.refusal = "it has no return instruction";
        return std::move(exits_);
    }

  private:
    bool is_inside(Index at) const {
        return std::any_of(parts_.begin(), parts_.end(), [&](size_t part) {
            const FunctionRange& range = functions_[part].range;
            return at >= range.first && at < range.end;
        });
    }
    // Where its entry is patched: also behind a landing pad.
    bool is_beginning(Index at) const {
        const Index first = functions_[parts_.front()].range.first;
        return at == first ||
               ((code_.entries[first] & ByLandingPad) && at == first + code_.lengths[first]);
    }
    // A part that the compiler has split off: f.cold, f.cold.12; or whatever is jumped to while
    // something of the function is on the stack.
    bool take_part(Index from, Index at) {
        const auto after = std::upper_bound(
            functions_.begin(), functions_.end(), at,
            [](Index value, const Function& each) { return value < each.range.first; });
        if (after == functions_.begin() || at >= (after - 1)->range.end)
            return false;
        const std::string whole = std::string(functions_[parts_.front()].range.name) + ".cold";
        const std::string_view name = (after - 1)->range.name;
        const bool is_named = !whole.starts_with('.') && name.starts_with(whole) &&
                              (name.size() == whole.size() || name[whole.size()] == '.');
        if (!is_named && frames_.stack_at(code_.address(from)) != Frames::Stack::Used)
            return false;
        parts_.push_back(static_cast<size_t>(after - 1 - functions_.begin()));
        return true;
    }

    void examine(const Function& function) {
        const FunctionRange& range = function.range;
        if (function.refused != Reason::None) {
            exits_.refusal = reason_text(function.refused);
            return;
        }
        const auto [first, last] = code_.jumps_from(range.first, range.end);
        for (const Edge* jump = first; jump != last; jump++) {
            if (is_beginning(jump->to))
                exits_.refusal = "a jump leads back to its beginning";
            else if (!is_inside(jump->to) && !take_part(jump->from, jump->to))
                exits_.refusal = tail_call;
        }
        // Only what is at a fixed place of the program's own data, or a function's pointer, is
        // jumped to when the stack is empty, or a table for which nothing was pushed.
        auto jump =
            std::lower_bound(code_.indirect_jumps.begin(), code_.indirect_jumps.end(), range.first,
                             [](const IndirectJump& each, Index at) { return each.at < at; });
        for (; jump != code_.indirect_jumps.end() && jump->at < range.end; ++jump)
            if (jump->through_slot ||
                frames_.stack_at(code_.address(jump->at)) != Frames::Stack::Used)
                exits_.refusal = tail_call;
        if (exits_.refusal.empty())
            find_returns(function);
    }

    void find_returns(const Function& function) {
        const FunctionRange& range = function.range;
        bool ends = false;
        std::vector<Index> before;
        for (Index at = range.first; at < range.end; at += code_.lengths[at]) {
            if (!code_.begins_instruction(at)) {
                exits_.refusal = reason_text(Reason::NotDecoded);
                return;
            }
            before.push_back(at);
            const bool is_filler = code_.traits[at] & Filler;
            ends = (code_.traits[at] & (Leaves | Calls)) || (ends && is_filler);
            if ((code_.traits[at] & Leaves) &&
                decoder_->decode(code_.bytes(at), code_.address(at)).flow == arch::Flow::Return)
                add(function, at, before);
        }
        if (!ends)
            exits_.refusal = "it may end without a return instruction";
    }

    void add(const Function& function, Index at, const std::vector<Index>& instructions) {
        Exits::Return exit{code_.address(at), {}};
        const auto jump = static_cast<Index>(arch::planted_jump_bytes());
        for (auto each = instructions.rbegin();
             each != instructions.rend() && *each + farthest > at; ++each) {
            // Control only comes to the return through all of what is replaced.
            Index end = *each;
            Place place;
            place.address = code_.address(*each);
            place.length = code_.lengths[*each];
            place.reason =
                judge_.reason(*each, function, std::max(jump, at + code_.lengths[at] - *each), end);
            place.region = static_cast<uint8_t>(end - *each);
            exit.places.push_back(place);
        }
        // Most functions end behind a return: that the nearest jump does not fit says little.
        const auto rank = [](const Place& place) {
            return place.safe() ? 0 : place.reason == Reason::FunctionEnd ? 2 : 1;
        };
        std::ranges::stable_sort(exit.places, std::less(), rank);
        exits_.returns.push_back(std::move(exit));
    }

    // Who comes from elsewhere returns without having entered.
    void check_entries(const Function& function) {
        const FunctionRange& range = function.range;
        const bool is_part = range.first != functions_[parts_.front()].range.first;
        if (is_part && (code_.entries[range.first] & (ByCall | ByAddress | ByTable)))
            exits_.refusal = "another function has a part of it in common";
        auto each = std::lower_bound(by_target_.begin(), by_target_.end(), range.first,
                                     [](const Edge& edge, Index at) { return edge.to < at; });
        for (; each != by_target_.end() && each->to < range.end; ++each)
            if (each->to != functions_[parts_.front()].range.first && !is_inside(each->from))
                exits_.refusal = "a jump from another function leads into it";
    }

    const std::vector<Function>& functions_;
    const Code& code_;
    const Frames& frames_;
    const std::vector<Edge>& by_target_;
    const Judge& judge_;
    std::unique_ptr<arch::InstructionDecoder> decoder_;
    std::vector<size_t> parts_; // the function, and what was split off
    Exits exits_;
};

} // namespace

std::string_view Exits::objection() const {
    if (!refusal.empty())
        return refusal;
    for (const Return& each : returns)
        if (!each.places.front().safe())
            return reason_text(each.places.front().reason);
    return {};
}

Exits Analysis::exits(uint64_t address) const {
    State& state = *state_;
    const std::optional<size_t> number = function_at(address);
    Exits none;
    none.refusal = "no instruction of a function is known there";
    if (!number || state.code.address(state.functions[*number].range.first) != address)
        return none;
    if (state.jumps_by_target.empty()) {
        state.jumps_by_target = state.code.jumps;
        std::sort(state.jumps_by_target.begin(), state.jumps_by_target.end(),
                  [](const Edge& a, const Edge& b) { return a.to < b.to; });
    }
    const Judge judge(state.code, state.options.model, state.spaces);
    return ExitFinder(state.functions, state.code, state.frames, state.jumps_by_target, judge)
        .find(*number);
}

} // namespace djstap::regions
