// SPDX-License-Identifier: GPL-2.0-or-later
// Determines where handlers, and the functions they call, run: alone, in a task of their own, or
// wherever they are hit.
#pragma once
#include "probes/plan.h"

#include <set>
#include <unordered_map>
#include <vector>

namespace djstap::codegen {

class ScriptModule;

// The contexts in which a body runs: those of all handlers that contain it.
struct RunContexts {
    bool alone = false;  // begin, end, error: nothing else runs; in user space all of them
    bool task = false;   // DJS_HANDLER_IN_TASK
    bool others = false; // all others: a walk over a large array must not take long
    void join(const RunContexts& more) {
        alone |= more.alone;
        task |= more.task;
        others |= more.others;
    }
};

struct Contexts {
    std::vector<RunContexts> variants;                                   // by number
    std::unordered_map<const program::Function*, RunContexts> functions; // that are called
    std::set<const program::Global*> cleared;   // as a whole, while probes are armed
    std::set<const program::Global*> shrinking; // elements are removed while probes are armed
    RunContexts of(const program::Function& function) const {
        auto found = functions.find(&function);
        return found == functions.end() ? RunContexts{false, false, true} : found->second;
    }
};
Contexts find_contexts(const ScriptModule& script);

} // namespace djstap::codegen
