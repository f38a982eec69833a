// SPDX-License-Identifier: GPL-2.0-or-later
// djstap's options as CLI11 declares them, and the values as they were given.
#pragma once
#include "driver/options.h"

#include <CLI/CLI.hpp>
#include <string>
#include <utility>
#include <vector>

namespace djstap::driver {

// Options of SystemTap that djstap recognizes but does not implement yet.
struct Unsupported {
    const char* names;
    bool has_value;
    const char* what;
};

// Values as given on the command line, before they are checked.
struct RawOptions {
    std::vector<std::string> expressions, list, list_variables, unfinished, positionals;
    std::vector<std::string> definitions, global_values, ignored, outputs;
    // No number: CLI11 2.4 counts flags of numbers as given even if they are not.
    bool ignored_flag = false;
    std::vector<std::string> signing;
    std::string enrolled;
    std::string pass, pass_verbosity, seconds, compatible, runtime, color, mechanism, diagnostics,
        module_name, pid, target_namespaces, buffer, guest, guest_memory, guest_disk, event_fields,
        monitor, hosts, remote_shell, host_timeout;
    int verbose = 0;
    bool info = false, types = false, aliases = false, functions = false, examples = false,
         lsp = false, no_warnings = false, help = false, version = false;
};

struct OptionParser {
    CLI::App app{
        "djstap compiles a probe script to a native kernel module, runs it and prints its output."};
    Options options;
    RawOptions raw;
    // CLI11 fills these; which of them were given is checked afterwards.
    std::vector<std::pair<const Unsupported*, CLI::Option*>> refused;
    CLI::Option* guest = nullptr;

    // Declares all options: --help prints them in this order.
    void declare();

  private:
    // An option that may be repeated takes one value each time.
    CLI::Option* many(const char* names, std::vector<std::string>& values, const std::string& help);
    CLI::Option* one(const char* names, std::string& value, const std::string& help);
    CLI::Option* flag(const char* names, bool& value, const char* help);
    void declare_script();
    void declare_passes();
    void declare_run();
    void declare_where();
    void declare_hosts();
    void declare_listing();
};

// Returns the names that --event-fields accepts.
std::vector<std::string> event_fields();
// Returns the options for the outputs that show these fields: "--json".
std::string outputs_with_fields();

// Returns "a, b, c".
std::string listed(const std::vector<std::string>& words);

} // namespace djstap::driver
