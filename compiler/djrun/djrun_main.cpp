// SPDX-License-Identifier: GPL-2.0-or-later
// djrun: runs a module that djstap built, on machines without a compiler.
#include "diagnostics/plain_text.h"
#include "diagnostics/suggest.h"
#include "fleet/recordings.h"
#include "session/host_facts.h"
#include "session/module_file.h"
#include "session/recorder.h"
#include "session/session.h"
#include "system/print.h"
#include "system/streams.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <climits>
#include <cmath>
#include <cstdio>
#include <sstream>

using namespace djstap;

namespace {

int report(const Failure& failure) {
    std::fprintf(stderr, "djrun: %s\n", failure.message.c_str());
    if (!failure.hint.empty())
        std::fprintf(stderr, "  hint: %s\n", failure.hint.c_str());
    return 1;
}

// For options that djrun does not accept.
int refuse(const Failure& failure) {
    report(failure);
    return 2;
}

// Prints a text, which is all that djrun was asked for.
int print(std::string_view text) {
    const Status printed = print_whole(text);
    return printed ? 0 : report(printed.failure());
}

// Reports options that do not exist, or cannot be given like this; returns the exit status.
int report_usage(const CLI::App& app, const CLI::ParseError& error) {
    std::string message = error.what(), hint;
    if (const std::vector<std::string> unknown = app.remaining(); !unknown.empty()) {
        const std::string name = unknown.front().substr(0, unknown.front().find('='));
        std::vector<std::string> names;
        for (const CLI::Option* option : app.get_options())
            for (const std::string& each : option->get_lnames())
                names.push_back("--" + each);
        message = (name.starts_with('-') ? "unknown option " : "unexpected argument ") + name;
        hint = did_you_mean(name, names);
    }
    if (hint.empty() && message.find("\n  hint: ") == std::string::npos)
        hint = "djrun --help lists the options";
    return refuse({message, hint});
}

std::string quoted(const std::string& text) {
    std::string out;
    for (char c : text) {
        if (c == '\n')
            out.append("\\n");
        else if (c == '\t')
            out.append("\\t");
        else if (c == '"' || c == '\\')
            out.append(1, '\\').append(1, c);
        else
            out.append(1, c);
    }
    return "\"" + out + "\"";
}

CLI::Option* add_text(CLI::App& app, const std::string& name, std::string& text,
                      const std::string& help) {
    return app.add_option(name, text, help)->check([](const std::string& given) {
        return std::string(given.empty() ? "its value is empty" : "");
    });
}

// A decimal number.
template <class Number>
CLI::Option* add_number(CLI::App& app, const std::string& name, Number& number, Number low,
                        Number high, const std::string& help) {
    return app.add_option_function<std::string>(
        name,
        [=, &number](const std::string& text) {
            const char* const end = text.data() + text.size();
            const auto [rest, error] = std::from_chars(text.data(), end, number);
            if (error == std::errc() && rest == end && number >= low && number <= high)
                return; // not a number is in no range
            std::ostringstream range;
            range << low << " to " << high;
            throw CLI::ValidationError(name, text + " is not a number from " + range.str());
        },
        help);
}

constexpr size_t left_column = 14; // of --describe

// Describes a module without loading it.
int describe(const std::string& path) {
    const auto module = read_module_file(path);
    if (!module)
        return report(module.failure());
    const ModuleMeta& meta = module->meta;
    std::string text;
    // Somebody else may have made the module.
    const auto add_line = [&text](const std::string& line) {
        text += with_octal_controls(line) + "\n";
    };
    add_line("module   " + module->name);
    add_line("kernel   " + meta.release);
    add_line("build-id " + meta.build_id);
    add_line(std::string("signed   ") + (module->is_signed ? "yes" : "no"));
    if (!meta.script.empty())
        add_line("script   " + meta.script);
    if (meta.fields) {
        std::string names;
        for (const EventFieldName& field : event_field_names())
            if (meta.fields & field.bit)
                names.append(" ").append(field.name);
        add_line("fields  " + names);
    }
    const auto add_row = [&](std::string left, const std::string& right) {
        left.resize(std::max(left.size(), left_column), ' ');
        add_line("  " + left + " " + right);
    };
    add_line("probes   " + std::to_string(meta.probes.size()));
    for (const auto& probe : meta.probes)
        add_row(probe.mechanism, probe.point);
    add_line("formats  " + std::to_string(meta.formats.size()));
    for (const auto& format : meta.formats)
        add_row(format.types.empty() ? "-" : format.types, quoted(format.text));
    return print(text);
}

void declare_running(CLI::App& app, SessionOptions& options, double& seconds, bool& no_warnings) {
    const char* group = "Running";
    add_text(app, "-c", options.command,
             "run this command and stop when it exits; target() is its process")
        ->type_name("CMD")
        ->group(group);
    add_number(app, "-x", options.traced_pid, 1, INT_MAX, "set the process that target() returns")
        ->type_name("PID")
        ->group(group);
    add_number(app, "-T", seconds, 0.001, 1e9, "stop after this many seconds")
        ->type_name("SECONDS")
        ->group(group);
    add_text(app, "-o", options.outputs.file, "write the script's output to this file")
        ->type_name("FILE")
        ->group(group);
    app.add_flag("-F", options.recorder,
                 "leave the module loaded as a flight recorder: new records overwrite the oldest, "
                 "djrun --attach reads them")
        ->group(group);
    add_number<decltype(options.buffer_mb)>(app, "-s", options.buffer_mb, 1, 1024,
                                            "set the size of each CPU's ring buffer in megabytes")
        ->type_name("MB")
        ->group(group);
    app.add_flag("-v", options.verbose, "print how each probe is attached")->group(group);
    app.add_flag("-w", no_warnings, "suppress warnings")->group(group);
    std::string formats;
    for (const std::string& name : output_names())
        formats += (formats.empty() ? "" : ", ") + name;
    const auto request = [&options](const std::string& text) {
        auto output = parse_output(text);
        if (!output) {
            const Failure& why = output.failure();
            throw CLI::ValidationError(why.message + "\n  hint: " + why.hint);
        }
        options.outputs.requests.push_back(*output);
    };
    app.add_option_function<std::vector<std::string>>(
           "--output",
           [request](const std::vector<std::string>& texts) {
               for (const std::string& text : texts)
                   request(text);
           },
           "write the output as " + formats)
        ->type_name("FORMAT[:FILE]")
        ->type_size(1)
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->allow_extra_args(false)
        ->group(group);
    for (const OutputKind& kind : output_kinds())
        if (kind.has.has_option)
            app.add_flag_callback(
                   "--" + std::string(kind.name),
                   [&options, &kind] { options.outputs.requests.push_back({&kind, ""}); },
                   "print " + std::string(kind.unit))
                ->group(group);
    // For djstap, which writes the files of a guest's outputs; an empty group hides it.
    app.add_option("--channels", options.outputs.channels)->group("");
    // For djstap --hosts, which starts the script on all hosts when each has loaded it.
    app.add_flag("--start-on-input", options.start_on_input)->group("");
}

} // namespace

int main(int argc, char** argv) {
    prepare_streams();
    SessionOptions options;
    bool show = false, facts = false, no_warnings = false, version = false;
    double seconds = 0;
    // What --from-dump goes with.
    std::string dump_options = "module -o --output -v -w --channels";
    for (const OutputKind& kind : output_kinds())
        dump_options.append(" --").append(kind.name);
    std::string attach, module, dump;
    std::vector<std::string> parameters, recordings;

    CLI::App app("djrun loads a module that djstap built, prints its output and unloads it.",
                 "djrun");
    declare_running(app, options, seconds, no_warnings);
    const char* group = "Modules that are already loaded";
    add_text(app, "--attach", attach, "read from this module instead of loading one")
        ->type_name("NAME")
        ->group(group);
    app.add_flag("--stop", options.stop,
                 "with --attach: stop the flight recorder and unload its module")
        ->group(group);
    group = "Information";
    app.add_flag("--describe", show, "print the contents of the module without loading it")
        ->group(group);
    app.add_flag("--facts", facts,
                 "print what djstap --kernel-from has to know of this machine to compile modules "
                 "for it elsewhere, as JSON")
        ->group(group);
    add_text(app, "--from-dump", dump,
             "print the records of the module's buffers in a crash dump (an ELF core file)")
        ->type_name("VMCORE")
        ->group(group);
    app.add_option(
           "--merge", recordings,
           "print the globals of one script that ran on several machines as one: HOST.snapshots "
           "of each, which --output=snapshots wrote")
        ->type_name("FILE")
        ->group(group);
    app.set_help_flag("-h,--help", "print this help")->group(group);
    app.add_flag("-V,--version", version, "print the version")->group(group);
    app.add_option("module", module, "file of the module to load")->type_name("MODULE.ko");
    app.add_option("parameters", parameters, "module parameters: NAME=VALUE")
        ->type_name("PARAMETER");
    app.positionals_at_end(false);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        std::ostringstream text; // --help
        if (error.get_exit_code() != 0)
            return report_usage(app, error);
        app.exit(error, text);
        return print(text.str());
    }

    if (version)
        return print("djrun " DJSTAP_VERSION "\n");
    // Returns what was given that `alone` does not go with: everything but `others`, which are
    // separated by blanks.
    const auto besides = [&app](const std::string& alone, const std::string& others) {
        const std::string allowed = " " + alone + " " + others + " ";
        for (const CLI::Option* option : app.get_options())
            if (option->count() > 0 && allowed.find(" " + option->get_name() + " ") == allowed.npos)
                return (option->get_name() == "module"       ? "a module"
                        : option->get_name() == "parameters" ? "a module's parameter"
                                                             : option->get_name()) +
                       " cannot be combined with " + alone;
        return std::string();
    };
    if (facts) {
        if (const std::string other = besides("--facts", ""); !other.empty())
            return refuse({other, "--facts prints facts of this machine, and loads nothing"});
        return print(to_json(read_host_facts()));
    }
    if (!recordings.empty()) {
        if (const std::string other = besides("--merge", ""); !other.empty())
            return refuse(
                {other, "--merge takes only files of --output=snapshots, and prints text"});
        const auto merged = fleet::merge_recordings(recordings);
        if (!merged)
            return report(merged.failure());
        const int status = print(merged->text);
        std::fputs(merged->missing.c_str(), stderr);
        return merged->missing.empty() ? status : 1;
    }
    if (module.empty() == attach.empty())
        return refuse({module.empty() ? "no module was given"
                                      : "a module file and --attach exclude each other",
                       "djrun --help lists the options"});
    if (show) {
        if (const std::string other = besides("--describe", "module"); !other.empty())
            return refuse({other, "--describe MODULE.ko prints what the file contains"});
        return describe(module);
    }
    if (!dump.empty())
        if (const std::string other = besides("--from-dump", dump_options); !other.empty())
            return refuse({other, "--from-dump VMCORE MODULE.ko prints what was recorded"});
    options.attach = !attach.empty();
    options.module = options.attach ? attach : module;
    options.warnings = !no_warnings;
    options.time_limit = std::chrono::milliseconds(std::llround(seconds * 1000));
    for (const std::string& each : parameters)
        options.parameters.append(options.parameters.empty() ? "" : " ").append(each);

    const bool bounded = !options.command.empty() || seconds > 0;
    if (options.recorder && (options.attach || bounded))
        return refuse({"-F leaves the loaded module in the kernel and cannot be combined with "
                       "--attach, -c or -T",
                       ""});
    if (options.stop && !options.attach)
        return refuse({"--stop requires --attach", ""});
    if (!options.command.empty() && options.traced_pid)
        return refuse({"-c and -x both set the traced process", "give one of them"});

    for (const OutputRequest& each : options.outputs.requests)
        if (options.recorder && (!each.kind->has.lists || !each.file.empty()))
            return refuse({"--output=" + std::string(each.kind->name) +
                               ": -F leaves the module loaded and prints only its name",
                           "djrun --attach NAME --output=… reads what it has recorded"});
    if (auto outputs = check_outputs(options.outputs); !outputs)
        return refuse(outputs.failure());
    const auto outcome = dump.empty() ? run_session(options) : read_dump(dump, options);
    return outcome ? outcome->status : report(outcome.failure());
}
