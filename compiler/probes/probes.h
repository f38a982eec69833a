// program → sites: resolves every probe point against a kernel, chooses mechanisms, resolves
// $variables.
#pragma once
#include "debuginfo/debuginfo.h"
#include "diagnostics/diagnostic.h"
#include "probes/plan.h"
#include "semantics/program.h"
#include "target/target.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace djstap {

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

// Every family of probe points in one line each: "kernel.function(STRING)" (--dump-probe-types).
std::vector<std::string> probe_types();

} // namespace djstap
