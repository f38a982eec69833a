// SPDX-License-Identifier: GPL-2.0-or-later
// Follows calls from functions to their callees, and tells by which return addresses a callee
// recognizes that it was called on such a path.
#pragma once
#include "debuginfo/debuginfo.h"
#include "probes/plan.h"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace djstap {

// The end of a path.
struct CalledPlace {
    CallSite::Kind kind = CallSite::Kind::Call;
    FunctionInfo function;    // Call, Jump: the callee; Inlined: what it is in the source
    StatementAddress inlined; // Inlined
    uint64_t address = 0;     // Jump, Inlined: where it is probed
    Callers callers;
    std::string path; // .callee("f@file:line").callee("g@file:line")
};

class CallPaths {
  public:
    // Returns whether a path may continue with this function, at this depth (from 1).
    using Matches = std::function<bool(const FunctionInfo& function, size_t depth)>;
    CallPaths(const DebugInfo& info, Matches matches, size_t first_depth, size_t last_depth)
        : info_(info), matches_(std::move(matches)), first_depth_(first_depth),
          last_depth_(last_depth) {}

    // Adds the places that paths from this caller reach at a depth from first_depth to last_depth.
    // Returns false if they are too many.
    bool follow(const CallerScope& caller, std::vector<CalledPlace>& out);
    static constexpr size_t most_places = 20'000;
    // The names of direct callees of all callers so far, for hints.
    const std::vector<std::string>& names() const { return names_; }

  private:
    // What is known where code of a scope runs.
    struct Here {
        CallerScope scope;
        std::optional<std::vector<CallerFrame>> frames; // of its callers; nothing: not recognizable
        std::string path;
        size_t depth = 0;
    };
    bool has_frame_pointers() const;
    bool walk(const Here& here, std::vector<CalledPlace>& out);
    std::optional<std::vector<CallerFrame>>
    frames_of_callee(const Here& here, const CallSites& calls, uint64_t callee) const;
    const CallSites& calls_of(const CallerScope& scope);
    bool add(CalledPlace place, const Here& here, const CallerScope& scope,
             std::optional<std::vector<CallerFrame>> inside, std::vector<CalledPlace>& out);

    const DebugInfo& info_;
    Matches matches_;
    size_t first_depth_, last_depth_;
    std::map<std::pair<uint64_t, uint64_t>, CallSites> calls_; // by entry and scope
    std::vector<std::string> names_;
};

} // namespace djstap
