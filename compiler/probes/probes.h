// SPDX-License-Identifier: GPL-2.0-or-later
// Resolves every probe point of a program against a kernel, selects mechanisms, and resolves target
// variables.
#pragma once
#include "diagnostics/diagnostic.h"
#include "probes/images.h"
#include "probes/plan.h"
#include "semantics/points.h"
#include "semantics/program.h"

#include <optional>
#include <string>
#include <vector>

namespace djstap {

struct ProbeOptions {
    std::optional<Mechanism> forced; // --mechanism; an error if it is not possible
    int64_t max_kprobes = 1000;      // for one pattern (-D MAXKPROBES)
    uint64_t hz = 0;                 // jiffies per second; 0: the kernel's configuration
    bool any_callers = false;        // -D STAP_CALLEE_MATCHALL: callees called from anywhere
    bool skip_bad_variables = false; // --skip-badvars: 0 for unavailable target variables
    // Functions of programs are probed at their entries, by jumps in the process itself
    // (--runtime=process); nothing else can be probed there.
    bool in_process = false;
    // With in_process: notes in ProbePlan::unreached what is named and cannot be patched, instead
    // of omitting or refusing it.
    bool notes_unreached = false;
    bool jumps = false; // tell of each kprobe whether the kernel could make it a jump (Site::jump)
};

// Returns nothing after reporting at least one error.
std::optional<ProbePlan> resolve_probes(const program::Program& program, Images& images,
                                        const ProbeOptions& options, Diagnostics& diagnostics);

// One line of -l / -L.
struct ProbeListing {
    std::string point;
    std::vector<std::string> variables; // "$file:struct file *"; with -L
    Mechanism mechanism = Mechanism::None;
    std::string reason;
    std::string jump; // as in Site; with `jumps`
};
struct ListingOptions {
    bool variables = false;
    bool jumps = false;
    // With programs alone: what jumps do not reach is listed with the uprobe that would be there if
    // a script named it.
    bool uprobes = false;
    // Why no jump can be placed in the process that is probed, with `uprobes`; empty: jumps may be.
    std::string objection = {};
};
// Returns what a probe point (wildcards allowed) matches, sorted, without duplicates.
std::optional<std::vector<ProbeListing>> list_probes(const ast::ProbePoint& point,
                                                     const ListingOptions& wanted, Images& images,
                                                     Diagnostics& diagnostics);

// Returns every form of a probe point on a line of its own: "kernel.function(STRING)"
// (--dump-probe-types).
std::vector<std::string> probe_types();
// Returns the same including forms that are not supported yet, with what semantics must know about
// them.
PointShapes probe_shapes();

} // namespace djstap
