// The families of probe points: one file each yields the candidates of a point.
#pragma once
#include "probes/mechanisms.h"
#include "probes/probes.h"

#include <memory>
#include <string>
#include <vector>

namespace djstap {

// One place that a point matches, before target values are resolved.
struct Candidate {
    HandlerKind kind = HandlerKind::Entry;
    Site site;                              // variant is filled in later
    std::unique_ptr<FunctionInfo> function; // null for begin, timers …
    uint64_t scope_address = 0; // where $variables are looked up; 0: only the function's parameters
    uint64_t scope = 0; // the inlined copy of a function that they are of; 0: all that is visible
    const ModuleView* module = nullptr; // whose it is; null: the kernel's
    Payload payload;                    // what only its family knows
};

// What resolving a point needs of its surroundings.
struct Resolver {
    KernelView& kernel;
    const ProbeOptions& options;
    Diagnostics& diagnostics;
    bool details = true;                   // parameters are wanted
    bool quiet = false;                    // listing: what matches nothing is no error
    const program::Probe* probe = nullptr; // whose points these are; null when listing
    std::vector<std::string> counters{};   // of the whole script: perf.….counter("NAME")
};

// A family: the shape of its points and the function that resolves one of them. A candidate list
// that is empty with no error reported means: nothing matches.
struct ProbeFamily {
    std::string_view
        shape; // "kernel.function(STRING).call": for matching and for --dump-probe-types
    bool (*resolve)(const ast::ProbePoint& point, Resolver& resolver, std::vector<Candidate>& out);
};

bool resolve_begin(const ast::ProbePoint& point, Resolver& resolver, std::vector<Candidate>& out);
bool resolve_end(const ast::ProbePoint& point, Resolver& resolver, std::vector<Candidate>& out);
bool resolve_error(const ast::ProbePoint& point, Resolver& resolver, std::vector<Candidate>& out);
bool resolve_never(const ast::ProbePoint& point, Resolver& resolver, std::vector<Candidate>& out);
bool resolve_timer(const ast::ProbePoint& point, Resolver& resolver, std::vector<Candidate>& out);
bool resolve_function(const ast::ProbePoint& point, Resolver& resolver,
                      std::vector<Candidate>& out);
// The same with .call, .inline and .exported.
bool resolve_function_call(const ast::ProbePoint& point, Resolver& resolver,
                           std::vector<Candidate>& out);
bool resolve_function_inline(const ast::ProbePoint& point, Resolver& resolver,
                             std::vector<Candidate>& out);
bool resolve_function_exported(const ast::ProbePoint& point, Resolver& resolver,
                               std::vector<Candidate>& out);
bool resolve_function_return(const ast::ProbePoint& point, Resolver& resolver,
                             std::vector<Candidate>& out);
bool resolve_tracepoint(const ast::ProbePoint& point, Resolver& resolver,
                        std::vector<Candidate>& out);
bool resolve_statement(const ast::ProbePoint& point, Resolver& resolver,
                       std::vector<Candidate>& out);

// kprobe.function(…), .return; kprobe.statement(N).absolute, kernel.statement(N).absolute
bool resolve_kprobe(const ast::ProbePoint& point, Resolver& resolver, std::vector<Candidate>& out);
bool resolve_kprobe_return(const ast::ProbePoint& point, Resolver& resolver,
                           std::vector<Candidate>& out);
bool resolve_absolute(const ast::ProbePoint& point, Resolver& resolver,
                      std::vector<Candidate>& out);
bool resolve_profile(const ast::ProbePoint& point, Resolver& resolver, std::vector<Candidate>& out);
bool resolve_perf(const ast::ProbePoint& point, Resolver& resolver, std::vector<Candidate>& out);
bool resolve_perf_counter(const ast::ProbePoint& point, Resolver& resolver,
                          std::vector<Candidate>& out);
bool resolve_procfs(const ast::ProbePoint& point, Resolver& resolver, std::vector<Candidate>& out);
bool resolve_netfilter(const ast::ProbePoint& point, Resolver& resolver,
                       std::vector<Candidate>& out);

// All families, one line a shape.
const std::vector<ProbeFamily>& probe_families();

// Finds the family of a point by its components. Reports what is wrong with a point that has none.
const ProbeFamily* find_family(const ast::ProbePoint& point, Resolver& resolver);

// Opens the kernel or the debug information; reports the failure at the point.
const Target* need_target(const ast::ProbePoint& point, Resolver& resolver);
const DebugInfo* need_debuginfo(const ast::ProbePoint& point, Resolver& resolver);

// A body of code that a point names: the kernel, or one of its modules.
struct CodeView {
    const Target* target = nullptr;
    const DebugInfo* info = nullptr;
    const ModuleView* module = nullptr; // null: the kernel
    std::string prefix;                 // "kernel", "module(\"ext4\")"
};
// What the first component of a point names: `kernel`, or `module("PATTERN")`. Nothing after an
// error was reported; empty where an optional point or a listing names no module.
std::optional<std::vector<CodeView>> find_code(const ast::ProbePoint& point, Resolver& resolver);

// The component of that name, or null.
const ast::PointComponent* find_component(const ast::ProbePoint& point, std::string_view name);

} // namespace djstap
