// SPDX-License-Identifier: GPL-2.0-or-later
#include "driver/options.h"

#include "diagnostics/suggest.h"
#include "driver/guest_options.h"
#include "driver/hosts_options.h"
#include "driver/option_parser.h"
#include "driver/version.h"
#include "probes/mechanisms.h"
#include "system/number.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <sstream>

namespace djstap::driver {

namespace {

Failure bad(std::string message, std::string hint = {}) {
    return Failure{std::move(message), std::move(hint)};
}

std::optional<int64_t> number(const std::string& text, int64_t low, int64_t high) {
    int64_t value = 0;
    if (!parse_number(text, value) || value < low || value > high)
        return std::nullopt;
    return value;
}

// Whether it consists of numbers with a dot between them.
bool is_version(std::string_view text) {
    while (!text.empty()) {
        const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
        if (digits == text.size())
            return true;
        if (digits == 0 || text[digits] != '.')
            return false;
        text.remove_prefix(digits + 1);
    }
    return false;
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

// Converts the given values and checks them, alone and in combination.
class OptionChecks {
  public:
    explicit OptionChecks(OptionParser& parser)
        : parser_(parser), options_(parser.options), raw_(parser.raw) {}
    std::optional<Failure> check();

  private:
    std::optional<Failure> check_script();
    std::optional<Failure> check_verbosity();
    std::optional<Failure> check_names();
    std::optional<Failure> check_event_fields();
    std::optional<Failure> check_outputs();
    std::optional<Failure> check_monitor();

    OptionParser& parser_;
    Options& options_;
    const RawOptions& raw_;
};

std::optional<Failure> OptionChecks::check_script() {
    if (raw_.expressions.size() > 1)
        return bad("-e is given " + std::to_string(raw_.expressions.size()) +
                       " times, but takes only one script",
                   "-E appends to the script of -e");
    if (raw_.list.size() + raw_.list_variables.size() > 1)
        return bad("-l and -L list only one probe point", "braces combine alternatives: {a,b}");
    bool other = raw_.info || raw_.types || raw_.aliases || raw_.functions || raw_.examples;
    const bool lists[] = {!raw_.list.empty() || !raw_.list_variables.empty(),
                          raw_.lsp,
                          !raw_.enrolled.empty(),
                          !raw_.unfinished.empty(),
                          raw_.info,
                          raw_.types,
                          raw_.aliases,
                          raw_.functions,
                          raw_.examples};
    if (std::ranges::count(lists, true) > 1)
        return bad("two options are given of which each lists or does something on its own",
                   "give one of them");
    if (!raw_.list.empty() || !raw_.list_variables.empty()) {
        options_.action = Action::List;
        options_.list_variables = raw_.list.empty();
        options_.list_pattern = raw_.list.empty() ? raw_.list_variables[0] : raw_.list[0];
    } else if (raw_.lsp) {
        options_.action = Action::ServeEditor;
    } else if (!raw_.enrolled.empty()) {
        options_.action = Action::EnrollKey;
        options_.signing_certificate = raw_.enrolled;
    } else if (!raw_.unfinished.empty()) {
        options_.action = Action::Complete;
        options_.unfinished = raw_.unfinished.back();
    } else if (other) {
        options_.action = raw_.info       ? Action::Info
                          : raw_.types    ? Action::DumpProbeTypes
                          : raw_.aliases  ? Action::DumpProbeAliases
                          : raw_.examples ? Action::ListExamples
                                          : Action::DumpFunctions;
    }
    auto first = raw_.positionals.begin();
    // `djstap FILE.stp --help` describes a script by its header.
    std::error_code ignored;
    if (raw_.help && options_.example.empty() && raw_.positionals.size() == 1 &&
        raw_.positionals[0].ends_with(".stp") &&
        std::filesystem::exists(raw_.positionals[0], ignored)) {
        const std::string& file = raw_.positionals[0];
        options_.example = file.find('/') == std::string::npos ? "./" + file : file;
    }
    if (raw_.help && options_.example.empty()) {
        options_.action = Action::ShowHelp;
        options_.arguments = raw_.positionals;
        return std::nullopt;
    }
    if (!options_.example.empty()) {
        if (options_.action != Action::Compile || !raw_.expressions.empty())
            return bad("--example runs a script of its own and cannot be combined with -e or an "
                       "option that lists",
                       "-E appends to its script");
        options_.arguments.assign(first, raw_.positionals.end());
        if (raw_.help)
            options_.arguments = {"--help"};
        return std::nullopt;
    }
    if (!raw_.expressions.empty())
        options_.expression = raw_.expressions[0];
    else if (options_.action == Action::Compile && first != raw_.positionals.end())
        options_.script_file = *first++;
    options_.arguments.assign(first, raw_.positionals.end());
    if (options_.action == Action::Compile && !options_.expression &&
        options_.script_file.empty()) {
        if (options_.additional.empty())
            return bad("no script was given",
                       "name a file, or use -e 'probe begin { println(\"hello\") }'; djstap --help "
                       "lists the options");
        options_.expression = options_.additional.front();
        options_.additional.erase(options_.additional.begin());
    }
    return std::nullopt;
}

std::optional<Failure> OptionChecks::check_verbosity() {
    if (!raw_.pass.empty()) {
        auto pass = number(raw_.pass, 1, 5);
        if (!pass)
            return bad("-p " + raw_.pass + ": no such pass",
                       "the passes are 1 parse, 2 resolve, 3 generate, 4 link, 5 run");
        options_.last_pass = static_cast<int>(*pass);
    }
    if (raw_.pass_verbosity.size() > 5 ||
        !std::all_of(raw_.pass_verbosity.begin(), raw_.pass_verbosity.end(),
                     [](unsigned char c) { return isdigit(c); }))
        return bad("--vp " + raw_.pass_verbosity +
                   ": expected at most five digits, one for each pass");
    for (size_t i = 0; i < 5; i++)
        options_.verbosity[i] =
            raw_.verbose + (i < raw_.pass_verbosity.size() ? raw_.pass_verbosity[i] - '0' : 0);
    return std::nullopt;
}

std::optional<Failure> one_of(const char* option, const std::string& value,
                              const std::vector<std::string>& values) {
    if (value.empty() || std::find(values.begin(), values.end(), value) != values.end())
        return std::nullopt;
    std::string hint = did_you_mean(value, values);
    return bad(std::string(option) + "=" + value + " is not one of " + listed(values), hint);
}

std::optional<Failure> OptionChecks::check_names() {
    if (auto failure = split("-D", raw_.definitions, "1", options_.definitions))
        return failure;
    if (auto failure = split("-G", raw_.global_values, nullptr, options_.global_values))
        return failure;
    if (auto failure = one_of("--mechanism", raw_.mechanism, mechanism_names()))
        return failure;
    options_.mechanism = raw_.mechanism == "auto" ? "" : raw_.mechanism;
    if (auto failure =
            one_of("--runtime", raw_.runtime, {"kernel", "user", "process", "dyninst", "bpf"}))
        return failure;
    if (raw_.runtime == "dyninst" || raw_.runtime == "bpf")
        return bad("--runtime=" + raw_.runtime + " is not supported",
                   "scripts run as kernel modules, with --runtime=user in djstap's own process, or "
                   "with --runtime=process in the program of -c");
    options_.in_process = raw_.runtime == "process";
    options_.user_space = raw_.runtime == "user" || options_.in_process;
    std::vector<std::string> styles;
    for (const DiagnosticStyle& style : diagnostic_styles()) {
        styles.emplace_back(style.name);
        if (raw_.diagnostics == style.name)
            options_.diagnostics = &style;
    }
    if (auto failure = one_of("--diagnostics", raw_.diagnostics, styles))
        return failure;
    if (auto failure = one_of("--color", raw_.color, {"auto", "always", "never"}))
        return failure;
    options_.color = raw_.color == "always"  ? Options::Color::Always
                     : raw_.color == "never" ? Options::Color::Never
                                             : Options::Color::Auto;
    if (!raw_.compatible.empty()) {
        if (!is_version(raw_.compatible))
            return bad("--compatible=" + raw_.compatible + ": expected a version such as 4.8");
        if (strverscmp(raw_.compatible.c_str(), options_.language_version.c_str()) > 0)
            return bad("--compatible=" + raw_.compatible +
                       ": the language is SystemTap's, version " + options_.language_version +
                       "; it can be made an earlier one");
        options_.language_version = raw_.compatible;
    }
    options_.module_name = raw_.module_name;
    if (options_.module_name.ends_with(".ko"))
        options_.module_name.resize(options_.module_name.size() - 3);
    if (!raw_.module_name.empty() &&
        (options_.module_name.empty() || options_.module_name.size() > 55 ||
         !std::all_of(options_.module_name.begin(), options_.module_name.end(),
                      [](unsigned char c) { return isalnum(c) || c == '_'; })))
        return bad("-m " + raw_.module_name + ": not a valid module name",
                   "a module name consists of at most 55 letters, digits and _");
    return std::nullopt;
}

std::optional<Failure> OptionChecks::check_event_fields() {
    if (raw_.event_fields.empty())
        return std::nullopt;
    std::istringstream names(raw_.event_fields + ",");
    for (std::string name; std::getline(names, name, ',');) {
        const auto fields = event_field_names();
        const auto field = std::ranges::find(
            fields, name, [](const auto& each) { return std::string(each.name); });
        if (field == fields.end())
            return bad("--event-fields=" + raw_.event_fields + ": '" + name + "' is not one of " +
                           listed(event_fields()),
                       did_you_mean(name, event_fields()));
        options_.event_fields |= field->bit;
    }
    // What reads a module of -p4 or a flight recorder has its own output.
    const auto& requests = options_.output_requests;
    if (options_.last_pass == 5 && !options_.recorder &&
        std::ranges::none_of(requests,
                             [](const OutputRequest& each) { return each.kind->has.shows_fields; }))
        return bad("--event-fields: " +
                       std::string((requests.empty() ? text_kind() : *requests[0].kind).title) +
                       " output does not show these fields",
                   "use " + outputs_with_fields());
    return std::nullopt;
}

// Outputs that show the globals also need code in the module.
std::optional<Failure> OptionChecks::check_monitor() {
    for (const OutputRequest& each : options_.output_requests) {
        options_.shown_probes |= each.kind->has.is_interactive;
        options_.shown_whole |= each.kind->has.shows_whole;
    }
    if (!options_.shown_probes && !options_.shown_whole)
        return std::nullopt;
    constexpr double ms_a_second = 1000, shortest = 0.1, longest = 3600;
    double seconds = 1;
    if (!raw_.monitor.empty()) {
        char* end = nullptr;
        seconds = strtod(raw_.monitor.c_str(), &end);
        if (*end || !(seconds >= shortest) || seconds > longest)
            return bad("--monitor=" + raw_.monitor +
                       ": expected a number of seconds from 0.1 to "
                       "3600");
    }
    options_.shown_every_ms = static_cast<int64_t>(seconds * ms_a_second);
    if (options_.recorder)
        return bad(std::string(options_.shown_probes ? "--monitor" : "--output=snapshots") +
                   " shows a script while it runs, but -F leaves it loaded");
    if (options_.shown_probes && parser_.guest->count() && options_.last_pass == 5)
        return bad("--monitor needs a terminal, which a guest does not have",
                   "without --guest, it monitors this machine");
    return std::nullopt;
}

std::optional<Failure> OptionChecks::check_outputs() {
    std::vector<std::string> outputs = raw_.outputs;
    if (!raw_.monitor.empty())
        outputs.emplace_back("monitor");
    for (const std::string& text : outputs) {
        auto request = parse_output(text);
        if (!request)
            return request.failure();
        const bool lists = options_.action != Action::Compile;
        if (lists && (!request->kind->has.lists || !request->file.empty()))
            return bad("--output=" + text +
                           ": what only lists or informs is printed as text or JSON",
                       "use --output=json without a file, or none");
        if (options_.recorder && !request->file.empty())
            return bad("--output=" + text +
                           ": -F leaves the script loaded and prints only its name",
                       "djrun --attach NAME --output=" + text +
                           " reads what it has recorded; here "
                           "the format alone has the fields recorded that it shows");
        options_.event_fields |= request->kind->has.fields;
        options_.output_requests.push_back(std::move(*request));
    }
    if (auto failure = check_monitor())
        return failure;
    if (!options_.output_file.empty() &&
        (options_.action != Action::Compile || options_.last_pass < 5))
        return bad("-o " + options_.output_file +
                       ": it takes what a script prints, and nothing runs here",
                   "redirect what is listed: >" + options_.output_file);
    // What only makes a module, or leaves one loaded, writes no such files.
    if (options_.action != Action::Compile || options_.last_pass < 5 || options_.recorder)
        return std::nullopt;
    const Status checked = djstap::check_outputs(options_.outputs());
    return checked ? std::nullopt : std::optional(checked.failure());
}

std::optional<Failure> OptionChecks::check() {
    for (auto [what, option] : parser_.refused) {
        if (option->count() == 0)
            continue;
        std::string name = option->get_name().substr(0, option->get_name().find(','));
        return bad(name + ": " + what->what + " is not supported yet",
                   name == "--remote" ? "--hosts runs it on other machines" : "");
    }
    for (auto failure : {check_script(), check_verbosity(), check_names(), check_outputs(),
                         check_event_fields()}) {
        if (failure)
            return failure;
    }
    options_.warnings = !raw_.no_warnings;
    if (!raw_.signing.empty()) {
        options_.signing_key = raw_.signing[raw_.signing.size() - 2];
        options_.signing_certificate = raw_.signing.back();
        if (options_.user_space)
            return bad("--sign-with signs a module, but --runtime=" + raw_.runtime + " makes none");
    }
    if (!raw_.pid.empty()) {
        auto pid = number(raw_.pid, 1, 4194304);
        if (!pid)
            return bad("-x " + raw_.pid + ": not a process ID");
        options_.traced_pid = static_cast<int>(*pid);
    }
    if (!raw_.target_namespaces.empty()) {
        if (!number(raw_.target_namespaces, 1, 4194304))
            return bad("--target-namespaces=" + raw_.target_namespaces + ": not a process ID");
        options_.library_values.emplace_back("__target_namespaces", raw_.target_namespaces);
    }
    if (!raw_.buffer.empty()) {
        auto megabytes = number(raw_.buffer, 1, 1024);
        if (!megabytes)
            return bad("-s " + raw_.buffer + ": a buffer size must be from 1 to 1024 megabytes");
        options_.buffer_megabytes = static_cast<int>(*megabytes);
    }
    if (!raw_.seconds.empty()) {
        char* end = nullptr;
        options_.seconds = strtod(raw_.seconds.c_str(), &end);
        if (*end || !(options_.seconds > 0) || options_.seconds > 1e9)
            return bad("-T " + raw_.seconds + ": expected a number of seconds above 0");
        // Limits are whole milliseconds, and none is no limit.
        constexpr double shortest = 0.001;
        options_.seconds = std::max(options_.seconds, shortest);
    }
    if (!options_.command.empty() && options_.traced_pid)
        return bad("-c and -x both set the traced process", "give one of them");
    if (options_.recorder && (!options_.command.empty() || options_.seconds > 0))
        return bad("-F leaves the script loaded and cannot be combined with -c or -T");
    if (options_.recorder && (parser_.guest->count() || options_.guest_root))
        return bad("-F leaves the script loaded, but a guest is discarded after the run",
                   "in a guest, -c can run djrun -F with a module made by -p4");
    const GuestWords words{parser_.guest->count() > 0, raw_.guest, raw_.guest_memory,
                           raw_.guest_disk};
    if (auto failure = take_guest(words, options_))
        return failure;
    if (auto failure = take_hosts({raw_.hosts, raw_.remote_shell, raw_.host_timeout}, options_))
        return failure;
    if (options_.user_space) {
        const std::string runtime = "--runtime=" + raw_.runtime;
        if (options_.guest)
            return bad("--guest and " + runtime + " exclude each other", "give one of them");
        if (!options_.host_facts.empty())
            return bad("--kernel-from names a kernel, but " + runtime + " needs none");
        if (options_.recorder)
            return bad("-F leaves a module in the kernel, but " + runtime + " makes none");
        if (options_.last_pass == 4)
            return bad("-p4 makes a module, but " + runtime + " has none",
                       "-p3 compiles, -p5 runs");
    }
    if (options_.in_process && !options_.kernel.empty())
        return bad("-r " + options_.kernel + " names a kernel, but --runtime=process has none");
    if (options_.in_process && options_.last_pass == 5 && options_.command.empty() &&
        !options_.traced_pid && options_.list_pattern.empty())
        return bad("--runtime=process probes the program that -c starts, or a process (-x), and "
                   "there is neither",
                   "for example -c ./program");
    if (options_.guest && options_.traced_pid)
        return bad("-x " + raw_.pid + ": this machine's processes do not exist in a guest",
                   "-c CMD runs a command in the guest");
    return std::nullopt;
}

// `--guest`, `--monitor` and `--color` take a value only after "=", so that a script's name may
// follow them. An empty value is none; of the other options, it is refused: CLI11 would take the
// next word for it.
std::optional<Failure> close_optional_values(std::vector<std::string>& arguments) {
    for (std::string& argument : arguments) {
        if (argument == "--")
            return std::nullopt;
        if (argument == "--guest" || argument == "--guest=")
            argument = "--guest=newest";
        else if (argument == "--monitor" || argument == "--monitor=")
            argument = "--monitor=1";
        else if (argument == "--color" || argument == "--colour" || argument == "--color=" ||
                 argument == "--colour=")
            argument = "--color=always";
        else if (argument.starts_with("--") && argument.find('=') == argument.size() - 1)
            return Failure{argument + ": the value is missing", "djstap --help lists the options"};
    }
    return std::nullopt;
}

} // namespace

int Options::verbose() const {
    return *std::max_element(std::begin(verbosity), std::end(verbosity));
}

const OutputKind& Options::listing_kind() const {
    for (const OutputRequest& request : output_requests)
        if (request.kind->has.lists && request.file.empty())
            return *request.kind;
    return text_kind();
}

std::string Options::script_name() const {
    return expression ? "<input>" : script_file == "-" ? "<stdin>" : script_file;
}

std::vector<std::string> long_options() {
    OptionParser parser;
    parser.declare();
    std::vector<std::string> names;
    for (const CLI::Option* option : parser.app.get_options()) {
        for (const std::string& name : option->get_lnames())
            names.push_back("--" + name);
    }
    return names;
}

ParsedOptions parse_options(std::vector<std::string> arguments) {
    if (auto failure = close_optional_values(arguments))
        return *failure;
    OptionParser parser;
    parser.declare();
    try {
        std::reverse(arguments.begin(), arguments.end()); // the order that CLI11 expects
        parser.app.parse(arguments);
    } catch (const CLI::ParseError& error) {
        return Failure{error.what(), "djstap --help lists the options"};
    }
    if (parser.raw.help && parser.options.example.empty() && parser.raw.positionals.empty())
        return Text{parser.app.help()};
    if (parser.raw.version)
        return Text{version_text()};
    for (const std::string& extra : parser.app.remaining()) {
        if (extra == "--")
            continue;
        std::string name = extra.substr(0, extra.find('='));
        if (!parser.options.example.empty())
            return Failure{"unknown option " + name,
                           "options of the example follow --: djstap --example " +
                               parser.options.example + " -- " + extra};
        std::string hint = name.starts_with("--") ? did_you_mean(name, long_options()) : "";
        return Failure{"unknown option " + name,
                       hint.empty() ? "djstap --help lists the options" : hint};
    }
    if (auto failure = OptionChecks(parser).check())
        return *failure;
    return parser.options;
}

} // namespace djstap::driver
