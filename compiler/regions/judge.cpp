// SPDX-License-Identifier: GPL-2.0-or-later
#include "regions/judge.h"

#include "arch/instructions.h"

#include <algorithm>
#include <utility>

namespace djstap::regions {

namespace {

// The return that the kernel puts where the compiler wrote a jump to a thunk.
constexpr Index return_bytes = 1;

bool is_decoded(const Code& code, Index first, Index end) {
    Index at = first;
    while (at < end && code.begins_instruction(at))
        at += code.lengths[at];
    return at >= end;
}

bool has_fault(const Code& code, Index first, Index end) {
    for (Index at = first; at < end && code.begins_instruction(at); at += code.lengths[at])
        if (code.traits[at] & Faults)
            return true;
    return false;
}

Reason written_reason(unsigned written) {
    static constexpr std::pair<Written, Reason> reasons[] = {
        {InSequence, Reason::Sequence},
        {ByFtrace, Reason::Ftrace},
        {AsJumpLabel, Reason::PatchedJumpLabel},
        {AsStaticCall, Reason::PatchedStaticCall},
        {AsAlternative, Reason::PatchedAlternative}};
    for (const auto& [bit, reason] : reasons)
        if (written & bit)
            return reason;
    return Reason::None;
}

} // namespace

std::vector<Scope> find_scopes(Code& code, const std::vector<FunctionRange>& functions,
                               const std::vector<Symbol>& symbols, ImageForm form,
                               const KernelRule& rule) {
    std::vector<Scope> scopes;
    if (form != ImageForm::Program) {
        for (const Symbol& symbol : symbols) {
            const Index at = *code.index(symbol.address);
            if (scopes.empty() || scopes.back().first != at)
                scopes.push_back({at, code.section_at(at).end(), false});
        }
        for (size_t i = 0; i + 1 < scopes.size(); i++)
            scopes[i].end = std::min(scopes[i].end, scopes[i + 1].first);
    } else {
        for (const FunctionRange& function : functions)
            scopes.push_back({function.first, function.end, false});
    }
    size_t jump = 0, indirect = 0;
    for (Scope& scope : scopes) {
        scope.refused =
            !is_decoded(code, scope.first, scope.end) || has_fault(code, scope.first, scope.end);
        for (; jump < code.jumps.size() && code.jumps[jump].from < scope.end; jump++) {
            const Edge& edge = code.jumps[jump];
            // Its first byte is in no region of its own, but behind the last one before it.
            if (edge.from >= scope.first && edge.to > scope.first && edge.to <= scope.end)
                code.entries[edge.to] |= ByOwnJump;
        }
        for (;
             indirect < code.indirect_jumps.size() && code.indirect_jumps[indirect].at < scope.end;
             indirect++)
            if (code.indirect_jumps[indirect].at >= scope.first && rule.refuses_indirect_jumps)
                scope.refused = true;
    }
    return scopes;
}

Reason Judge::entered(Index at) const {
    static constexpr std::pair<unsigned, Reason> reasons[] = {
        {ByJump | ByOtherJump | ByCall, Reason::Jump},
        {ByJumpLabel, Reason::JumpLabel},
        {ByFixup, Reason::Fixup},
        {ByTable, Reason::Table},
        {ByException, Reason::Exception},
        {ByPatchedCall, Reason::ReturnInside},
        {ByGo, Reason::Deferred},
        {ByLandingPad, Reason::LandingPad},
        {ByBlock, Reason::Block},
        {BySymbol, Reason::Symbol},
        {ByAddress, Reason::Address}};
    const unsigned entries = code_.entries[at];
    if (entries)
        for (const auto& [bits, reason] : reasons)
            if (entries & bits)
                return reason;
    return Reason::None;
}

Reason Judge::cannot_move(Index at) const {
    const unsigned traits = code_.traits[at];
    if (traits & Faults)
        return Reason::Fault;
    if (model_ == Model::Kernel)
        return (traits & KernelRefuses) && !(traits & ReturnThunk) ? Reason::NotCopied
                                                                   : Reason::None;
    // Of a program that traps, nobody asks where: it ends. (Where no handler is called by a table
    // of addresses, as in a kernel and in Go.) It does not even trap if the compiler put this
    // behind the call of a function that does not return.
    if ((traits & FixedTrap) && (!(traits & TrapAfterCall) || code_.entries[at]))
        return Reason::Trap;
    if (traits & FixedRelative)
        return Reason::Relative;
    return traits & FixedAdjacent ? Reason::Adjacent : Reason::None;
}

Judge::Region Judge::region(Index first, Index limit, Index needed) const {
    Region region{first, Reason::None};
    bool left = false; // what follows is not executed from here
    while (region.end - first < needed) {
        const Index at = region.end;
        if (at >= limit)
            return {at, Reason::FunctionEnd};
        if (!code_.begins_instruction(at))
            return {at, Reason::NotDecoded};
        const unsigned traits = code_.traits[at];
        Index length = code_.lengths[at];
        // The kernel decodes all of the region, whether or not it is executed.
        if (!left || model_ == Model::Kernel)
            if (const Reason reason = cannot_move(at); reason != Reason::None)
                return {at + length, reason};
        if (model_ == Model::Kernel && (traits & ReturnThunk)) {
            // Breakpoints follow it.
            length = return_bytes;
            if (at + length - first < needed)
                return {at + length, Reason::NotCopied};
        }
        if (!left && (traits & Calls) && at + length - first < needed)
            return {at + length, Reason::ReturnInside};
        left |= (traits & Leaves) != 0;
        region.end = at + length;
    }
    return region.end > limit ? Region{region.end, Reason::FunctionEnd} : region;
}

bool Judge::passes_kernel(Index at, const Scope& scope) const {
    const auto needed = static_cast<Index>(arch::planted_jump_bytes());
    if (scope.refused || scope.end - at < needed || (code_.written[at] & NoProbes))
        return false;
    const Region replaced = region(at, code_.section_at(at).end(), needed);
    if (replaced.reason != Reason::None)
        return false;
    for (Index each = at; each < replaced.end; each++)
        if (code_.written[each] & (ByFtrace | AsJumpLabel | AsStaticCall))
            return false;
    // Including the byte after the jump, as the kernel does.
    for (Index each = at + 1; each <= at + needed && each < code_.size(); each++)
        if (code_.entries[each] & ByOwnJump)
            return false;
    return true;
}

// Whether an instruction that is executed accesses memory that may not be there.
bool Judge::may_fault(Index first, Index end) const {
    for (Index at = first; at < end && code_.lengths[at]; at += code_.lengths[at]) {
        if (code_.traits[at] & Accesses)
            return true;
        if (code_.traits[at] & Leaves)
            return false;
    }
    return false;
}

Reason Judge::unmovable(Index at, const Function& function, Index& end) const {
    return unmovable(at, function, static_cast<Index>(arch::planted_jump_bytes()), end);
}

Reason Judge::unmovable(Index at, const Function& function, Index needed, Index& end) const {
    end = at;
    if (code_.written[at] & NoProbes)
        return Reason::NoProbes;
    const Region replaced = region(
        at, model_ == Model::Kernel ? function.range.end : function.range.filled_end, needed);
    end = replaced.end;
    if (replaced.reason != Reason::None)
        return replaced.reason;
    if (function.is_go && may_fault(at, replaced.end))
        return Reason::GoFault;
    unsigned written = 0;
    for (Index each = at; each < replaced.end; each++)
        written |= code_.written[each];
    return written_reason(written);
}

Reason Judge::reason(Index at, const Function& function, Index needed, Index& end) const {
    end = at;
    if (function.refused != Reason::None)
        return function.refused;
    const Reason unmovable = this->unmovable(at, function, needed, end);
    // That the kernel writes there is the last reason.
    const bool patched = unmovable >= Reason::Ftrace;
    if (unmovable != Reason::None && !patched)
        return unmovable;
    if (!patched && code_.needs_landing_pads && (code_.entries[at] & ByLandingPad))
        return Reason::LandingPad;
    for (Index each = at + 1; each < at + needed; each++)
        if (const Reason reason = entered(each); reason != Reason::None)
            return reason;
    return unmovable;
}

// Whether a short jump does.
bool Judge::reaches(Index from, Index to) const {
    const CodeSection& section = code_.section_at(from);
    return to >= section.first && to < section.end() &&
           arch::short_jump_reaches(code_.address(from), code_.address(to));
}

// The nearest unused space in which the jump fits that a short jump at `at` leads to.
std::optional<Index> Judge::unused_near(Index at) const {
    const auto needed = static_cast<Index>(arch::planted_jump_bytes());
    const std::vector<Space>& unused = spaces_.unused;
    const auto after =
        std::upper_bound(unused.begin(), unused.end(), at,
                         [](Index value, const Space& each) { return value < each.first; });
    if (after != unused.end() && reaches(at, after->first))
        return after->first;
    if (after != unused.begin() && reaches(at, (after - 1)->end - needed))
        return (after - 1)->end - needed;
    return std::nullopt;
}

uint32_t Judge::state_at(Index at) const {
    const std::vector<GoState>& states = spaces_.states;
    const auto after =
        std::upper_bound(states.begin(), states.end(), at,
                         [](Index value, const GoState& each) { return value < each.first; });
    return after == states.begin() ? 0 : (after - 1)->number;
}

std::optional<Room> Judge::room(Index at, const Function& function) const {
    const auto needed = static_cast<Index>(arch::planted_jump_bytes());
    Room room{at, at, 0};
    if (reason(at, function, 2 * needed, room.end) != Reason::None)
        return std::nullopt;
    // Go's runtime takes the second jump for the instructions that were there.
    if (function.is_go)
        room.state = state_at(at + needed);
    return function.is_go && room.state == 0 ? std::nullopt : std::optional(room);
}

// The nearest room for the jump that a short jump in place of [first, end) leads to.
std::optional<Index> Judge::room_near(Index first, Index end, uint32_t state) const {
    const auto second = static_cast<Index>(arch::planted_jump_bytes());
    const std::vector<Room>& rooms = spaces_.rooms;
    const auto behind =
        std::lower_bound(rooms.begin(), rooms.end(), end,
                         [](const Room& each, Index value) { return each.first < value; });
    for (auto each = behind; each != rooms.end() && reaches(first, each->first + second); each++)
        if (each->state == state)
            return each->first;
    for (auto each = behind; each != rooms.begin(); each--) {
        const Room& before = *(each - 1);
        if (before.end > first)
            continue;
        if (!reaches(first, before.first + second))
            break;
        if (before.state == state)
            return before.first;
    }
    return std::nullopt;
}

Reason Judge::reason(Index at, const Function& function, Planted& planted) const {
    const Reason reason =
        this->reason(at, function, static_cast<Index>(arch::planted_jump_bytes()), planted.end);
    if (reason == Reason::None || model_ != Model::Short)
        return reason;
    Index end = at;
    if (this->reason(at, function, static_cast<Index>(arch::short_jump_bytes()), end) !=
        Reason::None)
        return reason;
    // Go's runtime finds no function where unused space is.
    if (const std::optional<Index> space = function.is_go ? std::nullopt : unused_near(at)) {
        planted = {end, space, std::nullopt};
        return Reason::None;
    }
    const uint32_t state = function.is_go ? state_at(at) : 0;
    const std::optional<Index> room =
        function.is_go && state == 0 ? std::nullopt : room_near(at, end, state);
    if (!room)
        return reason;
    planted = {end, *room + static_cast<Index>(arch::planted_jump_bytes()), room};
    return Reason::None;
}

} // namespace djstap::regions
