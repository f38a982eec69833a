// SPDX-License-Identifier: GPL-2.0-or-later
// What an analysis knows, for the files of this folder that implement it.
#pragma once
#include "regions/judge.h"
#include "regions/regions.h"

#include <string_view>
#include <unordered_map>
#include <vector>

namespace djstap::regions {

struct Analysis::State {
    State(Code&& all, const Options& given) : code(std::move(all)), options(given) {}

    Code code;
    Options options;
    std::vector<Symbol> symbols;
    std::vector<Function> functions;
    std::vector<Scope> scopes;
    Spaces spaces;
    std::vector<FunctionResult> results;
    std::vector<UnknownJump> unknown_jumps;
    // Of a module: what its kernel and other modules define (link_module_code).
    std::unordered_map<uint64_t, std::string_view> outside;
    // What exits() needs.
    Frames frames;
    std::vector<Edge> jumps_by_target; // once they are asked for

    Status collect();
    void evaluate();
    const Scope* scope_at(Index at) const;
    template <class Visit> void each_instruction(const Function& function, Visit visit) const;

  private:
    void enter_by_symbols(const std::vector<FunctionRange>& ranges);
    void extend_over_fillers();
    void find_unused();
    void find_rooms();
    void find_unknown_jumps(const std::vector<bool>& leads_into);
    void explain_by_blocks();
    // Returns what reports the progress of a part of the work.
    auto reporter(double from, double to) const {
        return [this, from, to](double share) {
            if (options.progress)
                options.progress(from + (to - from) * share);
        };
    }
    bool has_label_inside(const FunctionRange& range) const;
    bool is_decoded(const FunctionRange& range) const;
    void evaluate(size_t number);
};

// Calls visit(index, scope or null) for each instruction.
template <class Visit>
void Analysis::State::each_instruction(const Function& function, Visit visit) const {
    const Scope* scope = nullptr;
    bool left = false;
    for (Index at = function.range.first; at < function.range.end;) {
        if (!code.begins_instruction(at)) {
            at++;
            continue;
        }
        if (!scope || at >= scope->end)
            scope = scope_at(at);
        // A kernel puts a return and breakpoints where its file has one jump to the return thunk.
        const bool filler =
            left && code.is_live() && (code.traits[at] & Breakpoint) && !code.entries[at];
        if (!filler) {
            visit(at, scope);
            left = code.traits[at] & Leaves;
        }
        at += code.lengths[at];
    }
}

} // namespace djstap::regions
