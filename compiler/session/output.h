// SPDX-License-Identifier: GPL-2.0-or-later
// Where results go: one interface, and a row of outputs.def for each class behind it.
#pragma once
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

// A probe as it was attached, or all that were attached alike of those that a module does not list.
struct AttachedProbe {
    std::string point; // empty: `sites` probes that are not listed
    uint64_t sites = 1;
    std::string mechanism; // in use
    std::string planned;   // by the compiler; empty: not told
    std::string reason; // why these differ, or why it is not attached; empty where it is as planned
    bool attached = true;
    uint64_t missed = 0;
};

// A probe point that can be probed: -l, -L.
struct ListedPoint {
    std::string point;
    std::string mechanism; // empty: not told
    std::string reason;    // of the mechanism; may be empty
    std::vector<std::string> variables;
    bool variables_wanted = false; // -L
    bool mechanism_wanted = false;
};

// One thing that a machine or a kernel has, or lacks: --info.
struct Fact {
    std::string name; // "kernel headers"
    bool present = false;
    std::string value;  // a path, a version; why it is absent
    std::string remedy; // what to do where it is absent; may be empty
    bool needed_to_compile = false;
    bool needed_to_run = false; // in the running kernel
};
struct FactChapter {
    std::string title;
    std::vector<Fact> facts;
};

class Output {
  public:
    virtual ~Output() = default;

    // Of a session. What the script printed, in the order of time; what speculate() kept comes
    // where it is committed, with the time at which it was printed.
    virtual void print(const Event& event) = 0;
    // A run-time error of the script, or an error of the session; `place` may be empty.
    virtual void error(std::string_view message, std::string_view place) = 0;
    virtual void warning(std::string_view message) = 0;
    // Called once, when they are attached.
    virtual void probes(const std::vector<AttachedProbe>& probes) = 0;
    // What was lost or skipped; called once, at the end.
    virtual void counts(const djs_counts& counts) = 0;
    // Whether probes() is to be told of those that the module does not list, too.
    virtual bool wants_all_probes() const { return true; }

    // Whether listed() shows the mechanism even where only the points are asked for.
    virtual bool lists_mechanisms() const { return false; }
    // Of listings; text where an output has no form of its own for them.
    virtual void listed(const ListedPoint& point);
    // `version`: the program's, `title`: the same as a text for people.
    virtual void facts(const std::string& version, const std::string& title,
                       const std::vector<FactChapter>& chapters);
    // A line that is the same for all: a name, a path.
    virtual void line(std::string_view text);

    virtual Writer& writer() = 0;
    // Whether the text of an event goes to writer() as it is: then readers write most of them
    // there themselves (plain_format.h), and print() sees the others only.
    virtual bool prints_text() const { return false; }
};

// What an output is made with.
struct OutputStreams {
    Writer& writer;
    Writer& messages; // for outputs whose errors and warnings are not part of them
    bool warnings = true;
    bool verbose = false;
};

// A kind of output: a row of outputs.def.
struct OutputKind {
    std::string_view name;  // "json": the option is --json
    std::string_view title; // "JSON"
    std::string_view unit;  // of what is written: "one JSON object a line"
    std::unique_ptr<Output> (*make)(const OutputStreams& streams);
};

// All kinds. The first is text, which needs no option.
std::span<const OutputKind> output_kinds();
inline const OutputKind& text_kind() {
    return output_kinds().front();
}

// What is said when a session ended because its script read where no memory is.
inline constexpr const char* ended_by_fault =
    "that ended the session: try { … } catch { … } handles what cannot be read where it happens, "
    "--suppress-handler-errors goes on without that hit";

// "12 records were lost because …", one for each count that is not zero; errors are left out.
std::vector<std::string> describe_counts(const djs_counts& counts);

} // namespace djstap
