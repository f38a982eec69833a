// SPDX-License-Identifier: GPL-2.0-or-later
#include "driver/option_parser.h"
#include "probes/mechanisms.h"

namespace djstap::driver {

namespace {

constexpr Unsupported unsupported[] = {
    {"-i,--interactive", false, "an interactive session"},
    {"-b", false, "a separate output file for each CPU (bulk mode)"},
    {"-S", true, "rotating the output file at a given size"},
    {"--remote", true, "running the script on another machine"},
};

// Symbols are found when they are shown, and unwind information where programs have it.
struct Needless {
    const char* names;
    bool has_value;
    const char* what;
};
constexpr Needless needless[] = {
    {"-d", true, "symbols and unwind information of a module or a program"},
    {"--ldd", false, "the same of shared libraries"},
    {"--all-modules", false, "the same of all modules"},
};

} // namespace

std::vector<std::string> event_fields() {
    std::vector<std::string> names;
    for (const EventFieldName& field : event_field_names())
        names.emplace_back(field.name);
    return names;
}

std::string outputs_with_fields() {
    std::vector<std::string> names;
    for (const OutputKind& kind : output_kinds())
        if (kind.has.shows_fields)
            names.push_back("--output=" + std::string(kind.name));
    return listed(names);
}

std::string listed(const std::vector<std::string>& words) {
    std::string list;
    for (const std::string& each : words)
        list += (list.empty() ? "" : ", ") + each;
    return list;
}

CLI::Option* OptionParser::many(const char* names, std::vector<std::string>& values,
                                const std::string& help) {
    return app.add_option(names, values, help)
        ->type_size(1)
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->allow_extra_args(false);
}

CLI::Option* OptionParser::one(const char* names, std::string& value, const std::string& help) {
    return app.add_option(names, value, help)
        ->check([](const std::string& text) {
            return std::string(text.empty() ? "its value is empty" : "");
        })
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

CLI::Option* OptionParser::flag(const char* names, bool& value, const char* help) {
    return app.add_flag(names, value, help)->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

void OptionParser::declare() {
    app.name("djstap");
    app.set_help_flag();
    app.allow_extras();
    declare_script();
    declare_passes();
    declare_run();
    declare_where();
    declare_hosts();
    declare_listing();
    for (const Unsupported& each : unsupported) {
        CLI::Option* option = each.has_value ? many(each.names, raw.ignored, each.what)
                                             : app.add_flag(each.names, raw.ignored_flag);
        option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
            ->description(each.what)
            ->group("Options of SystemTap that are not supported yet");
        refused.emplace_back(&each, option);
    }
    for (const Needless& each : needless) {
        CLI::Option* option = each.has_value ? many(each.names, raw.ignored, each.what)
                                             : app.add_flag(each.names, raw.ignored_flag);
        option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
            ->description(each.what)
            ->group("Options of SystemTap that are not needed: they have no effect");
    }
    app.add_option("script", raw.positionals,
                   "script file (- for standard input), followed by the script's arguments")
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    app.footer(R"(Arguments after -- are passed to the script.

Examples:
  djstap --example opens -T 10 -- --failed
  run a tool; djstap --examples lists them, djstap --example opens -- --help describes this one
  djstap -L 'kernel.function("vfs_*")'
  list probe points with their variables and mechanism, without running anything
  djstap --guest -c 'ls /' -e 'probe kernel.function("vfs_open") { printf("%s opens\n", execname()) }'
  try a script in a disposable virtual machine
  djstap -e 'global n probe kernel.function("vfs_read") { n[execname()]++ }' -T 5
  count reads on this machine for 5 seconds; globals that are never read are printed at the end
  djstap regions /bin/true
  where a jump may be planted in a program, a kernel or a module; djstap regions --help)");
}

void OptionParser::declare_script() {
    const char* group = "Script";
    many("-e", raw.expressions, "use this argument as the script")
        ->type_name("SCRIPT")
        ->group(group);
    many("-E", options.additional, "append this text to the script (repeatable)")
        ->type_name("SCRIPT")
        ->group(group);
    many("-D", raw.definitions,
         "set a limit or define a macro: MAXACTION, MAXMAPENTRIES, MAXSTRINGLEN …")
        ->type_name("NAME=VALUE")
        ->group(group);
    many("-G", raw.global_values, "set the initial value of a global variable")
        ->type_name("NAME=VALUE")
        ->group(group);
    many("-I", options.tapset_folders, "add this folder to the tapset library")
        ->type_name("DIR")
        ->group(group);
    one("--example", options.example,
        "run the example with this name, or your own script by its path (./FILE); options of the "
        "example follow --, and -- --help describes them")
        ->type_name("NAME")
        ->group(group);
    flag("-g,--guru", options.guru,
         "guru mode: allow embedded C and writes to the memory of the kernel and of probed "
         "programs")
        ->group(group);
    flag("--no-system", options.no_system,
         "refuse scripts that run commands by system(), or whose @cast has files "
         "outside the compiler's folders compiled as headers")
        ->group(group);
    flag("-u", options.keep_unused, "keep unused code")->group(group);
    one("--compatible", raw.compatible, "interpret the script as this version of SystemTap does")
        ->type_name("VERSION")
        ->group(group);
    flag("--skip-badvars", options.skip_bad_variables,
         "substitute 0 for unavailable target variables")
        ->group(group);
}

void OptionParser::declare_passes() {
    const char* group = "Passes and diagnostics";
    one("-p", raw.pass, "stop after this pass: 1 parse, 2 resolve, 3 generate, 4 link, 5 run")
        ->type_name("N")
        ->group(group);
    app.add_flag("-v,--verbose", raw.verbose,
                 "print the time and memory of each pass, and how each probe is attached")
        ->group(group);
    one("--vp", raw.pass_verbosity, "set the verbosity of each pass: --vp 00120")
        ->type_name("DIGITS")
        ->group(group);
    flag("--explain", options.explain,
         "print the execution environment, locks and stack usage of each handler")
        ->group(group);
    flag("-w", raw.no_warnings, "suppress warnings")->group(group);
    flag("-W", options.warnings_are_errors, "treat warnings as errors")->group(group);
    flag("-k", options.keep_work_files, "keep the temporary files and print their location")
        ->group(group);
    one("-m", raw.module_name, "set the name of the module")->type_name("NAME")->group(group);
    app.add_option(
           "--sign-with", raw.signing,
           "sign the module with this key and its certificate, for a kernel that loads only "
           "signed modules (Secure Boot)")
        ->type_name("KEY CERT")
        ->type_size(2)
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast)
        ->allow_extra_args(false)
        ->group(group);
    one("-r", options.kernel,
        "compile for this kernel: a release, a prefix of one, or a root folder")
        ->type_name("RELEASE")
        ->group(group);
    one("--kernel-from", options.host_facts,
        "compile for the kernel of the host whose facts (djrun --facts) this file contains; its "
        "build-id must be that of the kernel here")
        ->type_name("FACTS")
        ->group(group);
    one("--mechanism", raw.mechanism, "force a mechanism: " + listed(mechanism_names()))
        ->type_name("NAME")
        ->group(group);
    one("--runtime", raw.runtime,
        "run in the kernel, in djstap's process (begin, end and timer probes only), or in the "
        "program of -c or -x (also entries and returns of its functions, by jumps); the last two "
        "need neither root nor kernel files, but if a script names a function that cannot be "
        "patched, process falls back to kernel where that is possible: kernel, user, process")
        ->type_name("WHERE")
        ->group(group);
    one("--diagnostics", raw.diagnostics,
        "print errors and warnings as text, or as json with one object per line")
        ->type_name("text|json")
        ->group(group);
    one("--color", raw.color, "color messages: auto, always, never")
        ->type_name("WHEN")
        ->group(group);
}

void OptionParser::declare_run() {
    const char* group = "Running";
    one("-c", options.command,
        "run this command and stop when it exits; target() is its process. In a guest it uses "
        "this machine's files, but what it writes is discarded")
        ->type_name("CMD")
        ->group(group);
    one("-x", raw.pid,
        "set the process that target() returns; with --runtime=process, the one that is probed")
        ->type_name("PID")
        ->group(group);
    one("--target-namespaces", raw.target_namespaces,
        "show IDs of ns_pid(), ns_uid() and their like as in this process's namespaces instead of "
        "the reader's")
        ->type_name("PID")
        ->group(group);
    one("-T", raw.seconds, "stop after this many seconds")->type_name("SECONDS")->group(group);
    one("-o", options.output_file, "write the script's output to this file")
        ->type_name("FILE")
        ->group(group);
    flag("-F", options.recorder,
         "leave the script loaded as a flight recorder: new records overwrite the oldest, "
         "djrun --attach reads them")
        ->group(group);
    one("-s", raw.buffer, "set the size of each CPU's ring buffer in megabytes")
        ->type_name("MB")
        ->group(group);
    flag("-t", options.times_probes,
         "print the hits of each probe at the end, and the cycles that its handler took")
        ->group(group);
    flag("--suppress-handler-errors", options.suppress_handler_errors,
         "a run-time error ends only the handler, not the session")
        ->group(group);
    flag("--exclude-self", options.exclude_self,
         "exclude hits by djstap's own processes: the reader and, in a guest, the agent")
        ->group(group);
    many("--output", raw.outputs,
         "write the output in this format, in place of text on standard output (repeatable): " +
             listed(output_names()))
        ->type_name("FORMAT[:FILE]")
        ->group(group);
    for (const OutputKind& kind : output_kinds())
        if (kind.has.has_option && !kind.has.is_interactive)
            app.add_flag_callback(
                   "--" + std::string(kind.name),
                   [this, &kind] { raw.outputs.emplace_back(kind.name); },
                   "print output, listings and --info as " + std::string(kind.title) +
                       ": --output=" + std::string(kind.name))
                ->group(group);
    one("--monitor", raw.monitor,
        "show the globals and the probes with their hits and cost while the script runs, as tables "
        "on the terminal that change every second, or at this interval")
        ->type_name("[=SECONDS]")
        ->group(group);
    flag("--lines", options.lines,
         "show files and lines of the source code with the symbols of programs: ubacktrace(), "
         "usymdata() and their kin")
        ->group(group);
    one("--event-fields", raw.event_fields,
        "record these, with commas between them, with everything that the script prints, for " +
            outputs_with_fields() + ": " + listed(event_fields()))
        ->type_name("NAMES")
        ->group(group);
}

void OptionParser::declare_where() {
    const char* group = "Guests (disposable virtual machines)";
    guest = one("--guest", raw.guest,
                "run in a virtual machine with this installed kernel (default: the newest)")
                ->type_name("[=RELEASE]")
                ->group(group);
    one("--guest-memory", raw.guest_memory,
        "memory of the guest (default: 512M, or more if the buffers require it)")
        ->type_name("SIZE")
        ->group(group);
    one("--guest-disk", raw.guest_disk,
        "disk of the guest (default: 8G); with 0, written files are kept in memory")
        ->type_name("SIZE")
        ->group(group);
    flag("--guest-root", options.guest_root,
         "let the guest see this machine's files even without -c")
        ->group(group);
}

void OptionParser::declare_hosts() {
    const char* group = "Many machines";
    one("--hosts", raw.hosts,
        "run the script on these hosts at once, and merge what it counts: web[1-20],db1")
        ->type_name("SET")
        ->group(group);
    one("--remote-shell", raw.remote_shell,
        "reach the hosts by this command instead of ssh; it is called as COMMAND HOST COMMAND-LINE")
        ->type_name("COMMAND")
        ->group(group);
    one("--host-timeout", raw.host_timeout,
        "give up on a host that makes no progress for this many seconds (default: 30)")
        ->type_name("SECONDS")
        ->group(group);
}

void OptionParser::declare_listing() {
    const char* group = "Listing and information";
    many("-l", raw.list, "list matching probe points")->type_name("PROBE")->group(group);
    many("-L", raw.list_variables, "list matching probe points with their variables and mechanism")
        ->type_name("PROBE")
        ->group(group);
    flag("--dump-probe-types", raw.types, "list the kinds of probe points")->group(group);
    flag("--dump-probe-aliases", raw.aliases, "list the aliases that tapsets define")->group(group);
    flag("--dump-functions", raw.functions, "list the functions that tapsets define")->group(group);
    many("--complete", raw.unfinished,
         "list what may follow in a script that is being typed, for shells and editors")
        ->type_name("SCRIPT")
        ->group(group);
    flag("--lsp", raw.lsp, "serve an editor by the Language Server Protocol")->group(group);
    flag("--examples", raw.examples,
         "list the examples by subject, or those that contain a word: --examples tcp")
        ->group(group);
    flag("--info", raw.info, "report what this machine and kernel support and what is missing")
        ->group(group);
    one("--enroll-key", raw.enrolled,
        "ask the firmware to let the kernel trust this certificate of modules from the next start "
        "on "
        "(mokutil)")
        ->type_name("CERT")
        ->group(group);
    flag("-h,--help", raw.help,
         "print this help, or tell what these names mean: --help errno_str vfs.read 'syscall.*'")
        ->group(group);
    flag("-V,--version", raw.version, "print the version")->group(group);
}

OutputChoice Options::outputs() const {
    OutputChoice choice{output_requests, output_file};
    if (!expression && script_file != "-")
        choice.inputs.push_back(script_file);
    if (!module_name.empty())
        choice.inputs.push_back(module_name + ".ko"); // pass 4 has just written it
    return choice;
}

} // namespace djstap::driver
