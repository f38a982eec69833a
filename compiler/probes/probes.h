// SPDX-License-Identifier: GPL-2.0-or-later
// program → sites: resolves every probe point against a kernel, chooses mechanisms, resolves
// $variables.
#pragma once
#include "debuginfo/debuginfo.h"
#include "diagnostics/diagnostic.h"
#include "probes/plan.h"
#include "semantics/points.h"
#include "semantics/program.h"
#include "target/module_file.h"
#include "target/target.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace djstap {

// A module of a kernel, opened.
struct ModuleView {
    std::string name; // as the kernel has it
    std::string file; // its .ko
    std::unique_ptr<Target> target;
    std::unique_ptr<DebugInfo> info;
    std::vector<ModuleAnchor> anchors;
};

// A kernel that is opened only when something asks for it: begin probes need none.
class KernelView {
  public:
    // Adds what is missing to a kernel's files, where it can.
    using Completion = std::function<Status(KernelFiles&)>;
    // `release` as for find_kernel.
    explicit KernelView(std::string release, void (*progress)(const std::string&) = nullptr,
                        Completion complete = nullptr)
        : release_(std::move(release)), progress_(progress), complete_(std::move(complete)) {}
    Result<const Target*> target();
    Result<const DebugInfo*> debuginfo();
    // The module of that name, or in the file of that path.
    Result<const ModuleView*> module(const std::string& name_or_path);
    // Names of the kernel's modules that match; of those that are loaded where it is the running
    // kernel.
    Result<std::vector<std::string>> modules_matching(std::string_view glob);
    bool opened() const { return target_ != nullptr; }
    // From now on nothing of a kernel is to be had, and this is said to who asks.
    void refuse(const Failure& failure) { target_failure_ = debuginfo_failure_ = failure; }

  private:
    std::string release_;
    void (*progress_)(const std::string&);
    Completion complete_;
    std::unique_ptr<Target> target_;
    std::unique_ptr<DebugInfo> debuginfo_;
    std::optional<Failure> target_failure_, debuginfo_failure_;
    std::optional<std::map<std::string, std::string>> module_files_;
    std::map<std::string, std::unique_ptr<ModuleView>> modules_; // by name or path
};

struct ProbeOptions {
    std::optional<Mechanism> forced; // --mechanism; an error where it cannot be
    int64_t max_kprobes = 1000;      // of one pattern (-D MAXKPROBES)
    uint64_t hz = 0;                 // jiffies a second; 0: as the kernel was configured
    bool skip_bad_variables = false; // --skip-badvars: 0 for what cannot be read
};

// Yields nothing after reporting at least one error.
std::optional<ProbePlan> resolve_probes(const program::Program& program, KernelView& kernel,
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
                                                     KernelView& kernel, Diagnostics& diagnostics);

// Every form of a probe point in one line each: "kernel.function(STRING)" (--dump-probe-types).
std::vector<std::string> probe_types();
// The same and what is not supported yet, with what semantics is to know of them.
PointShapes probe_shapes();

} // namespace djstap
