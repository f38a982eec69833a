// SPDX-License-Identifier: GPL-2.0-or-later
// The families of probe points (families.def): one file each yields the candidates of a point.
#pragma once
#include "probes/mechanisms.h"
#include "probes/probes.h"
#include "semantics/points.h"

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
    // What its code or tracepoint lies in; null where nothing of the sort is probed.
    const ImageView* image = nullptr;
    Payload payload; // what only its family knows
};

// What resolving a point needs of its surroundings.
struct Resolver {
    Images& images;
    const ProbeOptions& options;
    Diagnostics& diagnostics;
    bool details = true;                   // parameters are wanted
    bool quiet = false;                    // listing: what matches nothing is no error
    const program::Probe* probe = nullptr; // whose points these are; null when listing
    std::vector<std::string> counters{};   // of the whole script: perf.….counter("NAME")
};

// Forms of a family's points, and the function that resolves a point of one of them. A candidate
// list that is empty with no error reported means: nothing matches.
struct ProbeForms {
    // Alternatives and optional parts make several shapes of one pattern:
    // "{kernel|module(STRING)}.function(STRING)[.call]".
    std::string_view pattern;
    bool (*resolve)(const ast::ProbePoint& point, Resolver& resolver, std::vector<Candidate>& out);
    uint32_t traits = 0; // enum PointTrait
};

// Of points in code.
constexpr uint32_t code_traits = PointHasVariables | PointTellsOfTask;

// Each in a file of its own, which defines it.
#define DJS_PROBE_FAMILY(name) extern const std::vector<ProbeForms> name##_family;
#include "probes/families.def"
#undef DJS_PROBE_FAMILY

// Finds the forms that a point is one of. Reports what is wrong with a point that is none.
const ProbeForms* find_forms(const ast::ProbePoint& point, Resolver& resolver);

// The kernel's ticks a second; where it does not tell, what most distributions choose.
uint64_t ticks_of(const Kernel& kernel);

// Opens the kernel or the debug information; reports the failure at the point.
const ImageView* need_kernel(const ast::ProbePoint& point, Resolver& resolver);
// Those of `image`, or of the kernel where that is null: what code that is not part of an image may
// refer to.
const DebugInfo* need_types(const ImageView* image, const ast::ProbePoint& point,
                            Resolver& resolver);

// What the first component of a point names: `kernel`, or `module("PATTERN")`, with the debug
// information open. Nothing after an error was reported; empty where an optional point or a listing
// names no module.
std::optional<std::vector<const ImageView*>> find_images(const ast::ProbePoint& point,
                                                         Resolver& resolver);

// The component of that name, or null.
const ast::PointComponent* find_component(const ast::ProbePoint& point, std::string_view name);

} // namespace djstap
