// SPDX-License-Identifier: GPL-2.0-or-later
// The families of probe points (families.def): each file determines the candidates of a point.
#pragma once
#include "image/sdt_notes.h"
#include "probes/mechanisms.h"
#include "probes/probes.h"
#include "semantics/points.h"

#include <memory>
#include <string>
#include <vector>

namespace djstap {

// One place that a point matches, before target variables are resolved.
struct Candidate {
    HandlerKind kind = HandlerKind::Entry;
    Site site;                              // variant is set later
    std::unique_ptr<FunctionInfo> function; // null for begin, timers …
    // where target variables are looked up; 0: only the function's parameters
    uint64_t scope_address = 0;
    uint64_t scope = 0; // the inline instance to which they belong; 0: all visible ones
    // The image that contains its code or tracepoint; null if neither is probed.
    const ImageView* image = nullptr;
    Payload payload;             // parameters that only its family knows
    Callers callers;             // its image is set later
    std::optional<SdtMark> mark; // a static probe of a program
    std::string stub;            // the function that a stub of a program calls
};

// What resolving a point requires.
struct Resolver {
    Images& images;
    const ProbeOptions& options;
    Diagnostics& diagnostics;
    bool details = true;                   // parameters are requested
    bool quiet = false;                    // listing: a point that matches nothing is not an error
    const program::Probe* probe = nullptr; // the probe that has these points; null when listing
    std::vector<std::string> counters{};   // of the whole script: perf.….counter("NAME")
    // Takes what jumps in the process do not reach; null: that is omitted, or an error.
    class UnreachedFunctions* unreached = nullptr;

    // Whether the handler needs registers that a direct call does not save.
    bool needs_all_registers() const { return probe && probe->effects.registers; }
};

// Returns the candidate for code of `image` at which this mechanism was chosen. `entry`: where the
// symbol of its function is.
Candidate candidate_at(const MechanismChoice& choice, const ImageView& image, uint64_t entry,
                       std::string function, const Resolver& resolver);

// The forms of a family's points, and the function that resolves a point of one of them. An empty
// list of candidates without a reported error means that nothing matches.
struct ProbeForms {
    // Alternatives and optional parts expand a pattern to several shapes:
    // "{kernel|module(STRING)}.function(STRING)[.call]".
    std::string_view pattern;
    bool (*resolve)(const ast::ProbePoint& point, Resolver& resolver, std::vector<Candidate>& out);
    uint32_t traits = 0; // enum PointTrait
};

// Where code is: with this, the patterns of all families of functions and statements begin.
#define DJS_CODE "{kernel|module(STRING)|process[({STRING|NUMBER})][.library(STRING)]}"

// The traits of points in code.
constexpr uint32_t code_traits = PointHasVariables | PointTellsOfTask;

// Each family is defined in a file of its own.
#define DJS_PROBE_FAMILY(name) extern const std::vector<ProbeForms> name##_family;
#include "probes/families.def"
#undef DJS_PROBE_FAMILY

// Finds the forms of a point. Reports what is wrong with a point that has none.
const ProbeForms* find_forms(const ast::ProbePoint& point, Resolver& resolver);

// Returns the names of the counters of perf events, sorted. Reports what is wrong with one.
std::vector<std::string> perf_counters(const program::Program& program, Diagnostics& diagnostics);

// Returns the kernel's ticks per second; if unknown, the value of most distributions.
uint64_t ticks_of(const Kernel& kernel);

// Opens the kernel and its debug information; reports the failure at the point.
const ImageView* need_kernel(const ast::ProbePoint& point, Resolver& resolver);
// Returns the image's types; reports at the point if it has none.
const DebugInfo* need_types(const ImageView& image, const ast::ProbePoint& point,
                            Resolver& resolver);
// Returns the kernel's types, to which probes that are in no image may refer, too.
const DebugInfo* need_kernel_types(const ast::ProbePoint& point, Resolver& resolver);

// Returns what the beginning of a point names: `kernel`, `module("PATTERN")` or `process("PATH")`,
// with its debug information opened. Nothing after reporting an error; empty if an optional point
// or a listing matches no module or program.
std::optional<std::vector<const ImageView*>> find_images(const ast::ProbePoint& point,
                                                         Resolver& resolver);

// Returns the programs that a point names by `process`, likewise: programs.cpp.
std::optional<std::vector<const ImageView*>> find_programs(const ast::ProbePoint& point,
                                                           Resolver& resolver);
// Returns the files of the programs that `process("PATH")` names, which need not be those for this
// processor. Nothing after reporting an error.
std::optional<std::vector<std::string>> find_program_files(const ast::ProbePoint& point,
                                                           Resolver& resolver);
// Sets the parameters of a candidate in a program: the process, or the program, to which
// the point limits it.
void note_process(const ast::ProbePoint& point, const Resolver& resolver, Candidate& candidate);
// Has the runtime compare the code of a candidate in a program that no build-id identifies.
void note_code(Candidate& candidate);

// Returns whether `name` is the path of a program: that of any file but a module's.
bool names_program(const std::string& name);
// Returns a value whose address is in another program than image `here` of the plan; null if there
// is none.
const program::Expression* value_of_other_program(const ProbePlan& plan, const AccessMap& accesses,
                                                  uint32_t here);

// Returns what `component`, module("PATTERN"), names, likewise.
std::optional<std::vector<const ImageView*>> find_modules(const ast::PointComponent& component,
                                                          bool optional, Resolver& resolver);

// Returns the link-time address that a point's number names: in the kernel the number itself, in a
// module an offset in its .text, as its symbol table has it.
uint64_t link_time_address(const Image& image, const ast::PointComponent& number);
// Tells what addresses mean to which nothing belongs.
std::string address_hint(const Image& image);
// Reports why the address in the second component cannot be probed; returns false.
bool refuse_address(const ast::ProbePoint& point, Resolver& resolver, const std::string& why,
                    const std::string& hint = {});

// Returns the component that names the function or the statement.
const ast::PointComponent& code_component(const ast::ProbePoint& point);
// Returns what a point says behind that: ".return", ".call".
std::string suffix_of(const ast::ProbePoint& point);

// Returns the component of that name, or null.
const ast::PointComponent* find_component(const ast::ProbePoint& point, std::string_view name);

} // namespace djstap
