// SPDX-License-Identifier: GPL-2.0-or-later
// The output of results: one interface, and a row of outputs.def for each class that implements it.
#pragma once
#include "documentation/documentation.h"
#include "include/control.h"
#include "session/event.h"
#include "session/writer.h"

#include <cstdint>
#include <memory>
#include <optional>
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
    uint64_t missed = 0; // hits, by the kernel's kprobes and kretprobes
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

// What an output may ask of the session while it runs.
class SessionControls {
  public:
    virtual ~SessionControls() = default;
    // Switches a probe (DJS_SHOWS_PROBE) off or on. Returns 0, or errno.
    virtual int switch_probe(uint32_t probe, bool on) = 0;
    // Returns what was lost and skipped so far; nothing: unknown.
    virtual std::optional<djs_counts> counts() = 0;
};

class Output {
  public:
    virtual ~Output() = default;

    // Called once, at the beginning of a session that can be controlled; `controls` lives as long
    // as events come.
    virtual void control(SessionControls& /*controls*/) {}

    // Called once, before any print(). Both live as long as the events.
    virtual void begin(const ModuleMeta&, const RecordClock&) {}
    // Sessions. Prints what the script printed, in the order of time; what speculate() kept is
    // printed when it is committed, with the time of the speculation.
    virtual void print(const Event& event) = 0;
    // Prints a stack of print_backtrace() or print_stack(), the innermost function first. Returns
    // false if it is to be printed by print(), an event for each line.
    virtual bool print_stack(const Event&, std::span<const std::string>) { return false; }
    // Reports a run-time error of the script, or an error of the session; `place` may be empty.
    virtual void error(std::string_view message, std::string_view place) = 0;
    virtual void warning(std::string_view message) = 0;
    // What follows belongs into the next file (switch_file()). An output whose file is one whole
    // ignores it.
    virtual void switch_file() {}
    // Called once, when the probes are attached.
    virtual void probes(const std::vector<AttachedProbe>& probes) = 0;
    // Reports what was lost or skipped; called once, at the end.
    virtual void counts(const djs_counts& counts) = 0;
    // Writes what is known only at the end; called once, after everything else.
    virtual void end() {}
    // Returns whether probes() also receives the probes that the module does not list.
    virtual bool wants_all_probes() const { return true; }

    // Returns whether print() also receives what a script prints regularly for --monitor.
    virtual bool wants_snapshots() const { return false; }

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
    // Writes what is collected.
    virtual void flush() { writer().flush(); }
    // Returns whether nothing more can be written.
    virtual bool is_closed() { return writer().error() != 0; }
};

// The streams that an output is created with.
struct OutputStreams {
    Writer& writer;   // of the kind's first file
    Writer& messages; // for outputs that do not include errors and warnings
    bool warnings = true;
    bool verbose = false;
    bool tells = true;              // false: another output of the session writes to `messages`
    bool same_boot = true;          // addresses are those of the running kernel
    std::vector<Writer*> more = {}; // of the kind's other files
};

// What is the same for all outputs of a kind.
struct OutputProperties {
    bool lists = false;      // listings and --info
    bool has_option = false; // --NAME stands for --output=NAME
    bool is_binary = false;  // it is not for terminals
    // It needs a terminal, and the globals of a script that prints them regularly (DJS_SHOWS_*).
    bool is_interactive = false;
    bool tells = true;         // its errors and warnings are messages: MessageOutput
    bool shows_fields = false; // it prints an event's fields: --event-fields
    bool for_hosts = false;    // what many hosts show can be written like this: --hosts
    bool shows_whole = false;  // it needs these globals with all elements and histograms
    uint32_t fields = 0;       // DJS_EVENT_*: recorded without being requested
    int64_t stack_depth = 0;   // the least MAXBACKTRACE, unless -D sets it
    std::span<const std::string_view> files = {}; // it is a folder with these
};

// A kind of output: a row of outputs.def.
struct OutputKind {
    std::string_view name;  // "json": --output=json
    std::string_view title; // "JSON"
    std::string_view unit;  // of what is written: "one JSON object per line"
    std::unique_ptr<Output> (*make)(const OutputStreams& streams);
    OutputProperties has = {};
};

// Returns all kinds. The first is text, which needs no option.
std::span<const OutputKind> output_kinds();
inline const OutputKind& text_kind() {
    return output_kinds().front();
}
// Returns the names of these kinds.
std::vector<std::string> output_names();

// Returns "12 records were lost because …", one for each count that is not zero; errors are
// omitted.
std::vector<std::string> describe_counts(const djs_counts& counts);
// Returns at which of several points hits were missed, and how many, the most first; nothing if
// there is only one point.
std::optional<std::string> describe_missed(const std::vector<AttachedProbe>& probes);
// Report what could not be read: the rest of the buffer of `owner` ("CPU 3"), and how many records
// (none: nothing is said).
void report_damaged_buffer(const std::string& owner, Output& output);
void report_damaged_records(uint64_t count, Output& output);

} // namespace djstap
