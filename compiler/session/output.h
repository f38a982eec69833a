// SPDX-License-Identifier: GPL-2.0-or-later
// The output of results: one interface, and a row of outputs.def for each class that implements it.
#pragma once
#include "documentation/documentation.h"
#include "include/control.h"
#include "session/event.h"
#include "session/writer.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace djstap {

// An attached probe, or all that are attached in the same way, of those that a module does not
// list.
struct AttachedProbe {
    std::string point; // empty: `sites` probes that are not listed
    uint64_t sites = 1;
    std::string mechanism; // in use
    std::string planned;   // by the compiler; empty: unknown
    std::string reason;    // why these differ, or why it is not attached; empty if it is as planned
    bool attached = true;
    uint64_t missed = 0;
};

// A probe point that exists: -l, -L.
struct ListedPoint {
    std::string point;
    std::string mechanism; // empty: unknown
    std::string reason;    // of the mechanism; may be empty
    std::vector<std::string> variables;
    bool variables_wanted = false; // -L
    bool mechanism_wanted = false;
};

// A property of a machine or a kernel, or its absence: --info.
struct Fact {
    std::string name; // "kernel headers"
    bool present = false;
    std::string value;  // a path, a version; or why it is absent
    std::string remedy; // what to do if it is absent; may be empty
    bool needed_to_compile = false;
    bool needed_to_run = false; // for the running kernel
};
struct FactChapter {
    std::string title;
    std::vector<Fact> facts;
};

// A script that --example runs: --examples.
struct ListedTool {
    std::string name;
    std::string subject; // "files"
    std::string summary; // what it answers
    struct Option {
        std::string name; // "interval"
        std::string type; // "seconds"
        std::string initial, text;
    };
    std::vector<Option> options;
};

class Output {
  public:
    virtual ~Output() = default;

    // Sessions. Prints what the script printed, in the order of time; what speculate() kept is
    // printed when it is committed, with the time of the speculation.
    virtual void print(const Event& event) = 0;
    // Reports a run-time error of the script, or an error of the session; `place` may be empty.
    virtual void error(std::string_view message, std::string_view place) = 0;
    virtual void warning(std::string_view message) = 0;
    // Called once, when the probes are attached.
    virtual void probes(const std::vector<AttachedProbe>& probes) = 0;
    // Reports what was lost or skipped; called once, at the end.
    virtual void counts(const djs_counts& counts) = 0;
    // Returns whether probes() also receives the probes that the module does not list.
    virtual bool wants_all_probes() const { return true; }

    // Returns whether listed() shows the mechanism even if only the points are requested.
    virtual bool lists_mechanisms() const { return false; }
    // Listings; text if an output has no form of its own for them.
    virtual void listed(const ListedPoint& point);
    // `version`: the program's; `title`: the same for display.
    virtual void facts(const std::string& version, const std::string& title,
                       const std::vector<FactChapter>& chapters);
    // The tools, those with the same subject in a row.
    virtual void tools(const std::vector<ListedTool>& tools);
    // What a name means; with `brief` a line for each.
    virtual void documented(const std::vector<Documentation>& names, bool brief);
    // Prints a line that is the same in all outputs: a name, a path.
    virtual void line(std::string_view text);

    virtual Writer& writer() = 0;
    // Returns whether the text of an event is written to writer() unchanged: readers then write
    // most events there themselves (plain_format.h), and print() receives only the others.
    virtual bool prints_text() const { return false; }
};

// The streams that an output is created with.
struct OutputStreams {
    Writer& writer;
    Writer& messages; // for outputs that do not include errors and warnings
    bool warnings = true;
    bool verbose = false;
};

// A kind of output: a row of outputs.def.
struct OutputKind {
    std::string_view name;  // "json": the option is --json
    std::string_view title; // "JSON"
    std::string_view unit;  // of what is written: "one JSON object per line"
    std::unique_ptr<Output> (*make)(const OutputStreams& streams);
    bool shows_fields = false; // it prints an event's fields: --event-fields
};

// Returns all kinds. The first is text, which needs no option.
std::span<const OutputKind> output_kinds();
inline const OutputKind& text_kind() {
    return output_kinds().front();
}

// The message after a session that ended because its script accessed unmapped memory.
inline constexpr const char* ended_by_fault =
    "that ended the session: try { … } catch { … } handles a failed access where it happens, "
    "--suppress-handler-errors ends only the handler";

// Returns "12 records were lost because …", one for each count that is not zero; errors are
// omitted.
std::vector<std::string> describe_counts(const djs_counts& counts);

} // namespace djstap
