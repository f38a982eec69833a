// SPDX-License-Identifier: GPL-2.0-or-later
// The command line: options with SystemTap's meaning, and djstap's own.
#pragma once
#include "diagnostics/diagnostic.h"
#include "diagnostics/result.h"
#include "hosts/node_set.h"
#include "semantics/semantics.h"
#include "session/output_request.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace llvm {
class Module;
} // namespace llvm

namespace djstap::driver {

// What a command line requests.
enum class Action : uint8_t {
    Compile, // compile, and run unless last_pass says otherwise
    List,    // -l, -L
    Info,    // --info
    DumpProbeTypes,
    DumpProbeAliases,
    DumpFunctions,
    ListExamples, // --examples
    ShowHelp,     // --help NAME
    Complete,     // --complete
    ServeEditor,  // --lsp
    EnrollKey     // --enroll-key
};

using NameValue = std::pair<std::string, std::string>;

struct Options {
    Action action = Action::Compile;

    // The script: from -e, or a file ("-": standard input), and what -E adds to it.
    std::optional<std::string> expression;
    std::string script_file;
    std::vector<std::string> additional;
    std::string example; // --example: a name, or a path; its script becomes script_file
    // $1 … @1 …; with --example the words for it; with --examples those that it searches for,
    // with --help the names
    std::vector<std::string> arguments;
    std::string list_pattern;
    std::string unfinished;      // --complete: a script up to where it is being typed
    bool list_variables = false; // -L

    int last_pass = 5;
    int verbosity[5] = {0, 0, 0, 0, 0}; // of each pass: -v plus --vp

    bool guru = false;
    bool no_system = false;
    bool only_shows = false; // the script of somebody else, which nobody has decided to run
    bool keep_unused = false;
    bool warnings = true;
    bool warnings_are_errors = false;
    bool suppress_handler_errors = false;
    bool exclude_self = false;
    bool skip_bad_variables = false;
    std::string language_version = "4.8";    // --compatible lowers it
    std::vector<NameValue> definitions;      // -D
    std::vector<NameValue> global_values;    // -G
    std::vector<NameValue> library_values;   // the same for globals of the library
    std::vector<std::string> tapset_folders; // -I
    std::string module_name;                 // -m; empty: generated
    std::string mechanism;                   // --mechanism; empty: auto
    std::string kernel;                      // -r; empty: the running one, or the guest's
    std::string host_facts;                  // --kernel-from: a path
    bool keep_work_files = false;
    std::string signing_key;         // --sign-with: a path or a PKCS#11 URI
    std::string signing_certificate; // --sign-with, --enroll-key: a path

    std::string command; // -c
    int traced_pid = 0;  // -x
    double seconds = 0;  // -T; 0: until the script or the user ends it
    std::string output_file;
    bool recorder = false;      // -F
    bool explain = false;       // --explain
    bool times_probes = false;  // -t
    int64_t shown_every_ms = 0; // outputs that show the globals; 0: none is requested
    bool shown_probes = false;  // --monitor
    bool shown_whole = false;   // --output=snapshots
    int buffer_megabytes = 0;   // -s; 0: the default

    std::vector<hosts::Node> hosts; // --hosts
    // … of which this is the part that runs on a host, or where the user is
    SemanticsOptions::Side side = SemanticsOptions::Side::Everything;
    std::vector<std::string> remote_shell;          // --remote-shell: its words; empty: ssh
    std::chrono::milliseconds host_timeout{30'000}; // --host-timeout

    std::optional<std::string> guest; // --guest: the requested release, empty for the newest
    bool guest_root = false;
    unsigned guest_memory_mb = 0;          // --guest-memory; 0: as needed
    std::optional<unsigned> guest_disk_mb; // --guest-disk; 0: none
    bool user_space = false;               // --runtime=user, --runtime=process
    bool in_process = false;               // --runtime=process
    // A run of --runtime=process that has begun again as a kernel module.
    struct Fallback {
        std::vector<std::string> reasons;
        std::string hint;
        std::optional<std::string> script; // if it came from standard input
    };
    std::optional<Fallback> fallback;

    std::vector<OutputRequest> output_requests; // --output, --json; empty: text
    bool lines = false;                         // --lines
    uint32_t event_fields = 0;                  // --event-fields: DJS_EVENT_*
    const DiagnosticStyle* diagnostics = &text_style();
    enum class Color : uint8_t { Auto, Always, Never } color = Color::Auto;

    std::function<void(llvm::Module&)> plant; // for tests, see CodegenOptions

    int verbose() const; // the highest of verbosity[]
    // Returns the script's name for messages: "<input>", "<stdin>" or its path.
    std::string script_name() const;
    // Returns what a session writes, and where.
    OutputChoice outputs() const;
    // Returns the kind of listings and --info.
    const OutputKind& listing_kind() const;
    // Returns the kernel to compile for, in the form for find_kernel().
    const std::string& release() const { return guest ? *guest : kernel; }
};

// The output of a command line that only requests text (-h, -V).
struct Text {
    std::string text;
};

using ParsedOptions = std::variant<Options, Text, Failure>;

// Parses a command line without its first word. A Failure describes the error; its hint names the
// nearest option if one is near.
ParsedOptions parse_options(std::vector<std::string> arguments);

// Returns all long options with their dashes, for hints and for the test that help describes each.
std::vector<std::string> long_options();

} // namespace djstap::driver
