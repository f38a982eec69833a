// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/call_paths.h"

#include "arch/arch.h"
#include "probes/function_candidates.h"

#include <algorithm>
#include <set>

namespace djstap {

namespace {

// The symbol there is that of the function around it, which is not called.
FunctionInfo function_of(const StatementAddress& inlined) {
    FunctionInfo function;
    function.name = inlined.function;
    function.entry = inlined.symbol_entry;
    function.file = inlined.file;
    function.line = inlined.line;
    return function;
}

std::optional<PtReg> frame_pointer() {
    return arch::register_of_dwarf(arch::frame_pointer_in_dwarf());
}

} // namespace

// A trampoline in the kernel does not see that register, and the kernel has no such frames.
bool CallPaths::has_frame_pointers() const {
    return info_.image().kind() == ImageKind::Program;
}

const CallSites& CallPaths::calls_of(const CallerScope& scope) {
    auto [known, added] = calls_.try_emplace({scope.scope ? 0 : scope.entry, scope.scope});
    if (added)
        known->second = info_.calls(scope);
    return known->second;
}

bool CallPaths::follow(const CallerScope& caller, std::vector<CalledPlace>& out) {
    for (const CallSite& site : calls_of(caller).sites)
        names_.push_back(site.kind == CallSite::Kind::Inlined ? site.inlined.function
                                                              : site.callee.name);
    return walk({caller, std::vector<CallerFrame>(), "", 1}, out);
}

// The outermost caller may be called from anywhere: any return into its code will do. Behind any
// other call, the distance to the next return address depends on the call.
std::optional<std::vector<CallerFrame>>
CallPaths::frames_of_callee(const Here& here, const CallSites& calls, uint64_t callee) const {
    if (!here.frames)
        return std::nullopt;
    CallerFrame frame;
    if (here.frames->empty()) {
        frame.code = calls.code;
        return std::vector<CallerFrame>{std::move(frame)};
    }
    for (const CallSite& site : calls.sites) {
        if (site.kind != CallSite::Kind::Call || site.callee.entry != callee || !site.return_slot)
            continue;
        const auto [reg, distance] = *site.return_slot;
        const bool by_frame_pointer = has_frame_pointers() && reg == frame_pointer();
        if (by_frame_pointer || reg == arch::stack_pointer())
            frame.calls.push_back({site.address, distance, by_frame_pointer, site.frame_pointer});
    }
    if (frame.calls.empty())
        return std::nullopt;
    std::vector<CallerFrame> frames{std::move(frame)};
    frames.insert(frames.end(), here.frames->begin(), here.frames->end());
    return frames;
}

// `scope` is the callee's code, and `inside` the frames of its callers.
bool CallPaths::add(CalledPlace place, const Here& here, const CallerScope& scope,
                    std::optional<std::vector<CallerFrame>> inside, std::vector<CalledPlace>& out) {
    const bool goes_on = here.depth < last_depth_;
    place.path = here.path + ".callee(\"" + name_and_place(place.function) + "\")";
    const Here next{scope, std::move(inside), place.path, here.depth + 1};
    if (here.depth >= first_depth_) {
        if (out.size() >= most_places)
            return false;
        out.push_back(std::move(place));
    }
    return !goes_on || !next.frames || walk(next, out);
}

bool CallPaths::walk(const Here& here, std::vector<CalledPlace>& out) {
    const CallSites calls = calls_of(here.scope);
    std::set<uint64_t> called;
    for (const CallSite& site : calls.sites) {
        const bool is_inlined = site.kind == CallSite::Kind::Inlined;
        FunctionInfo function = is_inlined ? function_of(site.inlined) : site.callee;
        if (!matches_(function, here.depth))
            continue;
        CalledPlace place;
        place.kind = site.kind;
        place.address = site.address;
        place.inlined = site.inlined;
        place.callers.reg = arch::stack_pointer();
        std::optional<std::vector<CallerFrame>> inside;
        CallerScope scope{function.entry, is_inlined ? site.inlined.scope : 0};
        if (site.kind == CallSite::Kind::Call) {
            if (!called.insert(function.entry).second)
                continue;
            inside = frames_of_callee(here, calls, function.entry);
            if (!inside)
                continue;
            place.callers.frames = *inside;
        } else {
            // The place is in the caller's own code.
            place.callers.frames = here.frames.value_or(std::vector<CallerFrame>());
            if (!place.callers.frames.empty()) {
                if (!site.return_slot)
                    continue;
                place.callers.reg = site.return_slot->first;
                place.callers.offset = site.return_slot->second;
                place.callers.frame_pointer = site.frame_pointer;
            }
            // After a jump, the stack no longer shows who jumped.
            if (is_inlined)
                inside = here.frames;
        }
        place.function = std::move(function);
        if (!add(std::move(place), here, scope, std::move(inside), out))
            return false;
    }
    return true;
}

} // namespace djstap
