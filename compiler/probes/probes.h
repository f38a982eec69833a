// SPDX-License-Identifier: GPL-2.0-or-later
// program → sites: resolves every probe point against a kernel, chooses mechanisms, resolves
// $variables.
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
    std::optional<Mechanism> forced; // --mechanism; an error where it cannot be
    int64_t max_kprobes = 1000;      // of one pattern (-D MAXKPROBES)
    uint64_t hz = 0;                 // jiffies a second; 0: as the kernel was configured
    bool skip_bad_variables = false; // --skip-badvars: 0 for what cannot be read
};

// Yields nothing after reporting at least one error.
std::optional<ProbePlan> resolve_probes(const program::Program& program, Images& images,
                                        const ProbeOptions& options, Diagnostics& diagnostics);

// One line of -l / -L.
struct ProbeListing {
    std::string point;
    std::vector<std::string> variables; // "$file:struct file *"; with -L
    Mechanism mechanism = Mechanism::None;
    std::string reason;
};
// What a probe point (wildcards allowed) matches, sorted, without duplicates.
std::optional<std::vector<ProbeListing>> list_probes(const ast::ProbePoint& point, bool variables,
                                                     Images& images, Diagnostics& diagnostics);

// Every form of a probe point in one line each: "kernel.function(STRING)" (--dump-probe-types).
std::vector<std::string> probe_types();
// The same and what is not supported yet, with what semantics is to know of them.
PointShapes probe_shapes();

} // namespace djstap
