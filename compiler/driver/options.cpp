// SPDX-License-Identifier: GPL-2.0-or-later
#include "driver/options.h"

#include "diagnostics/suggest.h"
#include "driver/guest_options.h"
#include "driver/version.h"
#include "probes/mechanisms.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>

namespace djstap::driver {

namespace {

std::string listed(const std::vector<std::string>& words) {
    std::string list;
    for (const std::string& each : words)
        list += (list.empty() ? "" : ", ") + each;
    return list;
}

// Options of SystemTap that djstap recognizes but does not implement yet. Options that only add
// something get a warning, because a script also runs without them.
struct Unsupported {
    const char* names;
    bool has_value;
    bool only_adds;
    const char* what;
};
constexpr Unsupported unsupported[] = {
    {"-i,--interactive", false, false, "an interactive session"},
    {"-b", false, false, "a separate output file for each CPU (bulk mode)"},
    {"-S", true, false, "rotating the output file at a given size"},
    {"-t", false, true, "hit and time statistics of each probe"},
    {"-d", true, true, "symbol and unwind tables of further modules and programs"},
    {"--ldd", false, true, "symbol and unwind tables of shared libraries"},
    {"--all-modules", false, true, "symbol and unwind tables of all modules"},
    {"--remote", true, false, "running the script on another machine"},
    {"--monitor", false, false, "the interactive monitor"},
    {"--example", false, false, "running a packaged example by name"},
};

// Values as given on the command line, before they are checked.
struct Raw {
    std::vector<std::string> expressions, list, list_variables, positionals;
    std::vector<std::string> definitions, global_values, ignored;
    int ignored_flag = 0;
    std::string pass, pass_verbosity, seconds, compatible, runtime, color, mechanism, diagnostics,
        module_name, pid, buffer, guest, guest_memory, guest_disk;
    int verbose = 0;
    bool info = false, types = false, aliases = false, functions = false, no_warnings = false,
         help = false, version = false;
};

struct Parser {
    CLI::App app{
        "djstap compiles a probe script to a native kernel module, runs it and prints its output."};
    Options options;
    Raw raw;
    // CLI11 fills these; which of them were given is checked afterwards.
    std::vector<std::pair<const Unsupported*, CLI::Option*>> refused;
    CLI::Option* guest = nullptr;

    // An option that may be repeated takes one value each time.
    CLI::Option* many(const char* names, std::vector<std::string>& values, const char* help) {
        return app.add_option(names, values, help)
            ->type_size(1)
            ->expected(1)
            ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
            ->allow_extra_args(false);
    }
    CLI::Option* one(const char* names, std::string& value, const std::string& help) {
        return app.add_option(names, value, help)
            ->check([](const std::string& text) {
                return std::string(text.empty() ? "its value is empty" : "");
            })
            ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    }
    CLI::Option* flag(const char* names, bool& value, const char* help) {
        return app.add_flag(names, value, help)
            ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    }

    void declare() {
        app.name("djstap");
        app.set_help_flag();
        app.allow_extras();
        declare_script();
        declare_passes();
        declare_run();
        declare_where();
        declare_listing();
        for (const Unsupported& each : unsupported) {
            CLI::Option* option = each.has_value ? many(each.names, raw.ignored, each.what)
                                                 : app.add_flag(each.names, raw.ignored_flag);
            option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
                ->description(each.what)
                ->group("Options of SystemTap that are not supported yet");
            refused.emplace_back(&each, option);
        }
        app.add_option("script", raw.positionals,
                       "script file (- for standard input), followed by the script's arguments")
            ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
        app.footer(R"(Arguments after -- are passed to the script.

Examples:
  djstap -L 'kernel.function("vfs_*")'
      list probe points with their variables and mechanism, without running anything
  djstap --guest -c 'ls /' -e 'probe kernel.function("vfs_open") { printf("%s opens\n", execname()) }'
      try a script in a disposable virtual machine
  djstap -e 'global n probe kernel.function("vfs_read") { n[execname()]++ }' -T 5
      count reads on this machine for 5 seconds; globals that are never read are printed at the end)");
    }

    void declare_script() {
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
        flag("-g,--guru", options.guru, "guru mode: allow embedded C and writes to kernel memory")
            ->group(group);
        flag("-u", options.keep_unused, "keep unused code")->group(group);
        one("--compatible", raw.compatible,
            "interpret the script as this version of SystemTap does")
            ->type_name("VERSION")
            ->group(group);
        flag("--skip-badvars", options.skip_bad_variables,
             "substitute 0 for unavailable target variables")
            ->group(group);
    }

    void declare_passes() {
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
        one("-r", options.kernel,
            "compile for this kernel: a release, a prefix of one, or a root folder")
            ->type_name("RELEASE")
            ->group(group);
        one("--mechanism", raw.mechanism, "force a mechanism: " + listed(mechanism_names()))
            ->type_name("NAME")
            ->group(group);
        one("--runtime", raw.runtime,
            "run in the kernel, or in this process (begin, end and timer probes only; needs "
            "neither root nor kernel files)")
            ->type_name("kernel|user")
            ->group(group);
        one("--diagnostics", raw.diagnostics,
            "print errors and warnings as text, or as json with one object per line")
            ->type_name("text|json")
            ->group(group);
        one("--color", raw.color, "color messages: auto, always, never")
            ->type_name("WHEN")
            ->group(group);
    }

    void declare_run() {
        const char* group = "Running";
        one("-c", options.command,
            "run this command and stop when it exits; target() is its process. In a guest it uses "
            "this machine's files, but what it writes is discarded")
            ->type_name("CMD")
            ->group(group);
        one("-x", raw.pid, "set the process that target() returns")->type_name("PID")->group(group);
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
        flag("--suppress-handler-errors", options.suppress_handler_errors,
             "a run-time error ends only the handler, not the session")
            ->group(group);
        flag("--exclude-self", options.exclude_self,
             "exclude hits by djstap's own processes: the reader and, in a guest, the agent")
            ->group(group);
        for (const OutputKind& kind : output_kinds().subspan(1))
            app.add_flag_callback(
                   "--" + std::string(kind.name), [this, &kind] { options.output = &kind; },
                   "print output, listings and --info as " + std::string(kind.title))
                ->group(group);
    }

    void declare_where() {
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

    void declare_listing() {
        const char* group = "Listing and information";
        many("-l", raw.list, "list matching probe points")->type_name("PROBE")->group(group);
        many("-L", raw.list_variables,
             "list matching probe points with their variables and mechanism")
            ->type_name("PROBE")
            ->group(group);
        flag("--dump-probe-types", raw.types, "list the kinds of probe points")->group(group);
        flag("--dump-probe-aliases", raw.aliases, "list the aliases that tapsets define")
            ->group(group);
        flag("--dump-functions", raw.functions, "list the functions that tapsets define")
            ->group(group);
        flag("--info", raw.info, "report what this machine and kernel support and what is missing")
            ->group(group);
        flag("-h,--help", raw.help, "print this help")->group(group);
        flag("-V,--version", raw.version, "print the version")->group(group);
    }

    std::optional<Failure> check();
    std::optional<Failure> check_script();
    std::optional<Failure> check_verbosity();
    std::optional<Failure> check_names();
};

Failure bad(std::string message, std::string hint = {}) {
    return Failure{std::move(message), std::move(hint)};
}

std::optional<int64_t> number(const std::string& text, int64_t low, int64_t high) {
    int64_t value = 0;
    const char* end = text.data() + text.size();
    auto [rest, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || rest != end || value < low || value > high)
        return std::nullopt;
    return value;
}

// Parses NAME=VALUE, or NAME alone if `alone` gives its meaning.
std::optional<Failure> split(const char* option, const std::vector<std::string>& texts,
                             const char* alone, std::vector<NameValue>& out) {
    for (const std::string& text : texts) {
        size_t equal = text.find('=');
        std::string name = text.substr(0, equal);
        bool valid = !name.empty() && !isdigit(static_cast<unsigned char>(name[0])) &&
                     std::all_of(name.begin(), name.end(),
                                 [](unsigned char c) { return isalnum(c) || c == '_'; });
        if (!valid || (equal == std::string::npos && !alone))
            return bad(std::string(option) + " " + text + ": expected NAME=VALUE");
        out.emplace_back(name, equal == std::string::npos ? alone : text.substr(equal + 1));
    }
    return std::nullopt;
}

std::optional<Failure> Parser::check_script() {
    if (raw.expressions.size() > 1)
        return bad("-e is given " + std::to_string(raw.expressions.size()) +
                       " times, but takes only one script",
                   "-E appends to the script of -e");
    if (raw.list.size() + raw.list_variables.size() > 1)
        return bad("-l and -L list only one probe point", "braces combine alternatives: {a,b}");
    bool other = raw.info || raw.types || raw.aliases || raw.functions;
    if (!raw.list.empty() || !raw.list_variables.empty()) {
        options.action = Action::List;
        options.list_variables = raw.list.empty();
        options.list_pattern = raw.list.empty() ? raw.list_variables[0] : raw.list[0];
    } else if (other) {
        options.action = raw.info      ? Action::Info
                         : raw.types   ? Action::DumpProbeTypes
                         : raw.aliases ? Action::DumpProbeAliases
                                       : Action::DumpFunctions;
    }
    auto first = raw.positionals.begin();
    if (!raw.expressions.empty())
        options.expression = raw.expressions[0];
    else if (options.action == Action::Compile && first != raw.positionals.end())
        options.script_file = *first++;
    options.arguments.assign(first, raw.positionals.end());
    if (options.action == Action::Compile && !options.expression && options.script_file.empty()) {
        if (options.additional.empty())
            return bad("no script was given",
                       "name a file, or use -e 'probe begin { println(\"hello\") }'; djstap --help "
                       "lists the options");
        options.expression = options.additional.front();
        options.additional.erase(options.additional.begin());
    }
    return std::nullopt;
}

std::optional<Failure> Parser::check_verbosity() {
    if (!raw.pass.empty()) {
        auto pass = number(raw.pass, 1, 5);
        if (!pass)
            return bad("-p " + raw.pass + ": no such pass",
                       "the passes are 1 parse, 2 resolve, 3 generate, 4 link, 5 run");
        options.last_pass = static_cast<int>(*pass);
    }
    if (raw.pass_verbosity.size() > 5 ||
        !std::all_of(raw.pass_verbosity.begin(), raw.pass_verbosity.end(),
                     [](unsigned char c) { return isdigit(c); }))
        return bad("--vp " + raw.pass_verbosity +
                   ": expected at most five digits, one for each pass");
    for (size_t i = 0; i < 5; i++)
        options.verbosity[i] =
            raw.verbose + (i < raw.pass_verbosity.size() ? raw.pass_verbosity[i] - '0' : 0);
    return std::nullopt;
}

std::optional<Failure> one_of(const char* option, const std::string& value,
                              const std::vector<std::string>& values) {
    if (value.empty() || std::find(values.begin(), values.end(), value) != values.end())
        return std::nullopt;
    std::string hint = did_you_mean(value, values);
    return bad(std::string(option) + "=" + value + " is not one of " + listed(values), hint);
}

std::optional<Failure> Parser::check_names() {
    if (auto failure = split("-D", raw.definitions, "1", options.definitions))
        return failure;
    if (auto failure = split("-G", raw.global_values, nullptr, options.global_values))
        return failure;
    if (auto failure = one_of("--mechanism", raw.mechanism, mechanism_names()))
        return failure;
    options.mechanism = raw.mechanism == "auto" ? "" : raw.mechanism;
    if (auto failure = one_of("--runtime", raw.runtime, {"kernel", "user", "dyninst", "bpf"}))
        return failure;
    if (raw.runtime == "dyninst" || raw.runtime == "bpf")
        return bad("--runtime=" + raw.runtime + " is not supported",
                   "scripts run as kernel modules, or with --runtime=user in djstap's own process");
    options.user_space = raw.runtime == "user";
    std::vector<std::string> styles;
    for (const DiagnosticStyle& style : diagnostic_styles()) {
        styles.emplace_back(style.name);
        if (raw.diagnostics == style.name)
            options.diagnostics = &style;
    }
    if (auto failure = one_of("--diagnostics", raw.diagnostics, styles))
        return failure;
    if (auto failure = one_of("--color", raw.color, {"auto", "always", "never"}))
        return failure;
    options.color = raw.color == "always"  ? Options::Color::Always
                    : raw.color == "never" ? Options::Color::Never
                                           : Options::Color::Auto;
    if (!raw.compatible.empty()) {
        if (raw.compatible.find_first_not_of("0123456789.") != std::string::npos)
            return bad("--compatible=" + raw.compatible + ": expected a version such as 4.8");
        options.language_version = raw.compatible;
    }
    options.module_name = raw.module_name;
    if (options.module_name.ends_with(".ko"))
        options.module_name.resize(options.module_name.size() - 3);
    if (!raw.module_name.empty() &&
        (options.module_name.empty() || options.module_name.size() > 55 ||
         !std::all_of(options.module_name.begin(), options.module_name.end(),
                      [](unsigned char c) { return isalnum(c) || c == '_'; })))
        return bad("-m " + raw.module_name + ": not a valid module name",
                   "a module name consists of at most 55 letters, digits and _");
    return std::nullopt;
}

std::optional<Failure> Parser::check() {
    for (auto [what, option] : refused) {
        if (option->count() == 0)
            continue;
        std::string name = option->get_name().substr(0, option->get_name().find(','));
        if (!what->only_adds)
            return bad(name + ": " + what->what + " is not supported yet");
        options.without_effect.push_back(name + " has no effect: djstap does not support " +
                                         what->what);
    }
    for (auto failure : {check_script(), check_verbosity(), check_names()}) {
        if (failure)
            return failure;
    }
    options.warnings = !raw.no_warnings;
    if (!raw.pid.empty()) {
        auto pid = number(raw.pid, 1, 4194304);
        if (!pid)
            return bad("-x " + raw.pid + ": not a process ID");
        options.traced_pid = static_cast<int>(*pid);
    }
    if (!raw.buffer.empty()) {
        auto megabytes = number(raw.buffer, 1, 1024);
        if (!megabytes)
            return bad("-s " + raw.buffer + ": a buffer size must be from 1 to 1024 megabytes");
        options.buffer_megabytes = static_cast<int>(*megabytes);
    }
    if (!raw.seconds.empty()) {
        char* end = nullptr;
        options.seconds = strtod(raw.seconds.c_str(), &end);
        if (*end || !(options.seconds > 0) || options.seconds > 1e9)
            return bad("-T " + raw.seconds + ": not a number of seconds");
    }
    if (!options.command.empty() && options.traced_pid)
        return bad("-c and -x both set the traced process", "give one of them");
    if (options.recorder && (!options.command.empty() || options.seconds > 0))
        return bad("-F leaves the script loaded and cannot be combined with -c or -T");
    if (options.recorder && (guest->count() || options.guest_root))
        return bad("-F leaves the script loaded, but a guest is discarded after the run",
                   "in a guest, -c can run djrun -F with a module made by -p4");
    const GuestWords words{guest->count() > 0, raw.guest, raw.guest_memory, raw.guest_disk};
    if (auto failure = take_guest(words, options))
        return failure;
    if (options.user_space) {
        if (options.guest)
            return bad("--guest and --runtime=user exclude each other", "give one of them");
        if (options.recorder)
            return bad("-F leaves a module in the kernel, but --runtime=user makes none");
        if (options.last_pass == 4)
            return bad("-p4 makes a module, but --runtime=user has none", "-p3 compiles, -p5 runs");
    }
    if (options.guest && options.traced_pid)
        return bad("-x " + raw.pid + ": this machine's processes do not exist in a guest",
                   "-c CMD runs a command in the guest");
    return std::nullopt;
}

// `--guest` and `--color` take a value only after "=", so that a script's name may follow them.
void close_optional_values(std::vector<std::string>& arguments) {
    for (std::string& argument : arguments) {
        if (argument == "--")
            return;
        if (argument == "--guest")
            argument = "--guest=newest";
        else if (argument == "--color" || argument == "--colour")
            argument = "--color=always";
    }
}

} // namespace

int Options::verbose() const {
    return *std::max_element(std::begin(verbosity), std::end(verbosity));
}

std::string Options::script_name() const {
    return expression ? "<input>" : script_file == "-" ? "<stdin>" : script_file;
}

std::vector<std::string> long_options() {
    Parser parser;
    parser.declare();
    std::vector<std::string> names;
    for (const CLI::Option* option : parser.app.get_options()) {
        for (const std::string& name : option->get_lnames())
            names.push_back("--" + name);
    }
    return names;
}

ParsedOptions parse_options(std::vector<std::string> arguments) {
    close_optional_values(arguments);
    Parser parser;
    parser.declare();
    try {
        std::reverse(arguments.begin(), arguments.end()); // the order that CLI11 expects
        parser.app.parse(arguments);
    } catch (const CLI::ParseError& error) {
        return Failure{error.what(), "djstap --help lists the options"};
    }
    if (parser.raw.help)
        return Text{parser.app.help()};
    if (parser.raw.version)
        return Text{version_text()};
    for (const std::string& extra : parser.app.remaining()) {
        if (extra == "--")
            continue;
        std::string name = extra.substr(0, extra.find('='));
        std::string hint = name.starts_with("--") ? did_you_mean(name, long_options()) : "";
        return Failure{"unknown option " + name,
                       hint.empty() ? "djstap --help lists the options" : hint};
    }
    if (auto failure = parser.check())
        return *failure;
    return parser.options;
}

} // namespace djstap::driver
