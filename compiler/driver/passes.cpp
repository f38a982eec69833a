// SPDX-License-Identifier: GPL-2.0-or-later
// Passes 1 to 4: from the script's text to a module's file.
#include "driver/passes.h"

#include "cache/cache.h"
#include "diagnostics/suggest.h"
#include "driver/described_kernel.h"
#include "driver/developer_switches.h"
#include "driver/fallback.h"
#include "driver/kit.h"
#include "driver/machine.h"
#include "driver/script.h"
#include "driver/user_kernel.h"
#include "include/record.h"
#include "inprocess/check.h"
#include "probes/families.h"
#include "probes/mechanisms.h"
#include "semantics/semantics.h"
#include "semantics/walk.h"
#include "syntax/lexing.h"
#include "system/hash.h"
#include "system/number.h"
#include "userspace/userspace.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <set>
#include <unistd.h>

namespace djstap::driver {

namespace {

template <class T> void append(std::vector<T>& to, std::vector<T>& from) {
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

// A script of several texts becomes one file whose parts keep their own places.
void append(ast::File& to, ast::File& from) {
    append(to.probes, from.probes);
    append(to.aliases, from.aliases);
    append(to.globals, from.globals);
    append(to.functions, from.functions);
    append(to.embedded, from.embedded);
}

// --exclude-self: the code that precedes the handlers. A guest's first process is djstap's agent.
std::optional<ast::File> parse_exclusion(Invocation& invocation) {
    const char* condition =
        invocation.options.guest ? "pid() == stp_pid() || pid() == 1" : "pid() == stp_pid()";
    const uint32_t id = invocation.sources.add(
        "<--exclude-self>", std::string("probe never { if (") + condition + ") next }");
    return parse_file(invocation.sources, id, invocation.preprocessor(), {},
                      invocation.diagnostics);
}

// Saves a pass's result next to the module if -k requests it.
bool keep(Invocation& invocation, const char* name, std::string_view bytes) {
    if (!invocation.options.keep_work_files)
        return true;
    Result<std::string> folder = invocation.work.path();
    Status saved =
        folder ? write_atomically(*folder + "/" + name, bytes) : Status(folder.failure());
    if (!saved)
        invocation.fail(DiagnosticKind::WorkFiles, saved.failure());
    return static_cast<bool>(saved);
}

// Returns a unique name for each run: two modules may be loaded at once.
std::string made_up_name(const Invocation& invocation, uint32_t source) {
    const uint64_t hash = hash_bytes(invocation.sources.file(source).text);
    char digits[17];
    snprintf(digits, sizeof digits, "%08x", static_cast<uint32_t>(hash ^ hash >> 32));
    return std::string("djstap_") + digits + "_" + std::to_string(getpid());
}

// Opens the kernel's files and the runtime that was built for it, which is stored in `kit`: the
// result refers to it.
std::optional<CodegenKernel> open_kernel(Invocation& invocation, std::optional<RuntimeKit>& kit) {
    Result<const Kernel*> kernel = invocation.images.kernel();
    if (!kernel) {
        invocation.fail(DiagnosticKind::KernelUnusable, kernel.failure());
        return std::nullopt;
    }
    Result<RuntimeKit> opened = invocation.kit.get();
    if (!opened) {
        invocation.fail(DiagnosticKind::RuntimeUnavailable, opened.failure());
        return std::nullopt;
    }
    kit = std::move(*opened);
    return describe_kernel(**kernel, *kit);
}

} // namespace

uint64_t buffer_bytes(const Limits& limits) {
    return std::bit_ceil(static_cast<uint64_t>(limits.RING_KB) * 1024);
}

namespace {

std::string upper_case(std::string text) {
    for (char& c : text)
        c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    return text;
}

// Takes limits from -D and -s.
std::optional<Limits> limits_of(Invocation& invocation) {
    Limits limits;
    std::vector<std::string> names = Limits::names();
    for (const auto& [name, value] : invocation.options.definitions) {
        if (std::find(names.begin(), names.end(), name) == names.end()) {
            const std::string upper = upper_case(name);
            const bool wrong_case = std::find(names.begin(), names.end(), upper) != names.end();
            std::string hint =
                wrong_case ? "did you mean '" + upper + "'?" : did_you_mean(upper, names);
            invocation.diagnostics.report(DiagnosticKind::UnknownLimit, {}, {name})
                .hint(hint.empty() ? "docs/language.md lists the limits" : hint);
            continue;
        }
        int64_t number = 0;
        if (!parse_number(value, number) || !limits.set(name, number))
            invocation.diagnostics.report(DiagnosticKind::BadLimit, {}, {name, value})
                .hint("it must be a number from " + Limits::range(name));
    }
    auto is_set = [&](std::string_view name) {
        const auto& all = invocation.options.definitions;
        return std::any_of(all.begin(), all.end(),
                           [&](const auto& each) { return each.first == name; });
    };
    if (!is_set("MAXACTION_INTERRUPTIBLE"))
        limits.MAXACTION_INTERRUPTIBLE = std::min<int64_t>(10 * limits.MAXACTION, INT32_MAX);
    // Stacks that lack their outermost functions would not be drawn upon these.
    if (!is_set("MAXBACKTRACE"))
        for (const OutputRequest& request : invocation.options.output_requests)
            limits.MAXBACKTRACE = std::max(limits.MAXBACKTRACE, request.kind->has.stack_depth);
    if (invocation.options.buffer_megabytes)
        limits.RING_KB = int64_t{invocation.options.buffer_megabytes} * 1024;
    return invocation.diagnostics.has_errors() ? std::nullopt : std::optional(limits);
}

// Warns about arguments that no text names; branches of %( that are not taken count as naming them,
// and argc and argv as naming all.
void warn_of_arguments(Invocation& invocation, const std::vector<uint32_t>& ids) {
    std::set<std::string> named;
    for (const uint32_t id : ids) {
        Diagnostics ignored(invocation.sources);
        syntax::Lexemes words;
        syntax::lex(invocation.sources.file(id).text, {id, 0, 0, 0}, false, words, ignored);
        for (const syntax::Lexeme& word : words) {
            constexpr std::string_view prefix = "argv_";
            if (word.text == "argc" || word.text == "argv")
                return;
            if (word.text.size() > 1 && (word.text[0] == '$' || word.text[0] == '@'))
                named.insert(std::string(word.text.substr(1)));
            else if (word.text.starts_with(prefix))
                named.insert(std::string(word.text.substr(prefix.size())));
        }
    }
    for (size_t i = 0; i < invocation.options.arguments.size(); i++)
        if (const std::string number = std::to_string(i + 1); !named.count(number))
            invocation.diagnostics.report(
                DiagnosticKind::OptionWithoutEffect, {},
                {"the script argument '" + invocation.options.arguments[i] +
                 "' is not used: the script does not refer to $" + number + " or @" + number});
}

} // namespace

std::optional<ParsedScript> parse(Invocation& invocation, Nothing) {
    ParsedScript parsed;
    std::optional<ast::File> script;
    auto ids = read_scripts(invocation.options, invocation.sources, invocation.diagnostics);
    std::optional<Limits> limits = ids ? limits_of(invocation) : std::nullopt;
    if (!limits)
        return std::nullopt;
    const MacroTable& macros = invocation.tapsets().macros();
    for (uint32_t id : *ids) {
        auto file = parse_file(invocation.sources, id, invocation.preprocessor(), macros,
                               invocation.diagnostics);
        // further texts may contain errors of their own
        if (!file)
            continue;
        if (script)
            append(*script, *file);
        else
            script = std::move(file);
    }
    if (invocation.diagnostics.has_errors())
        return std::nullopt;
    warn_of_arguments(invocation, *ids);
    if (invocation.options.suppress_handler_errors)
        limits->MAXSKIPPED = INT32_MAX; // errors and skipped hits may accumulate
    const bool nothing = script->probes.empty() && script->aliases.empty() &&
                         script->functions.empty() && script->globals.empty() &&
                         script->embedded.empty();
    if (nothing || (script->probes.empty() && invocation.options.last_pass > 1))
        invocation.diagnostics
            .report(nothing ? DiagnosticKind::EmptyScript : DiagnosticKind::NoProbes, {})
            .hint("the smallest script is: probe begin { println(\"hello\") }");
    parsed.settings.limits = *limits;
    parsed.file = std::move(*script);
    // Errors in the script are reported first: they can be fixed without the machine.
    if (!invocation.diagnostics.has_errors() && invocation.options.last_pass == 5) {
        const auto guest_files = check_command(invocation);
        if (!guest_files)
            return std::nullopt;
        parsed.settings.guest_files = *guest_files;
    }
    return parsed;
}

namespace {

// A stack as a string holds MAXBACKTRACE addresses, however short other strings may be.
void make_room_for_stacks(Invocation& invocation, const program::Program& program, Limits& limits) {
    constexpr int64_t address_bytes = sizeof("0xffffffffffffffff ") - 1;
    const int64_t needed = limits.MAXBACKTRACE * address_bytes + 1;
    const auto& functions = program.functions;
    const bool keeps_stacks = std::any_of(functions.begin(), functions.end(), [](const auto& each) {
        return each->intrinsic == "backtrace" || each->intrinsic == "ubacktrace";
    });
    if (!keeps_stacks || limits.MAXSTRINGLEN >= needed)
        return;
    for (const auto& [name, value] : invocation.options.definitions)
        if (name == "MAXSTRINGLEN")
            invocation.diagnostics.report(
                DiagnosticKind::OptionWithoutEffect, {},
                {"-D MAXSTRINGLEN=" + value + " has no effect: backtrace() needs strings of " +
                 std::to_string(needed) +
                 " bytes for MAXBACKTRACE=" + std::to_string(limits.MAXBACKTRACE)});
    limits.MAXSTRINGLEN = needed;
}

} // namespace

std::optional<AnalyzedScript> analyze(Invocation& invocation, ParsedScript parsed) {
    AnalyzedScript analyzed;
    analyzed.settings = parsed.settings;
    Limits& limits = analyzed.settings.limits;
    SemanticsOptions options;
    options.guru = invocation.options.guru;
    options.no_system = invocation.options.no_system;
    options.points = probe_shapes();
    options.keep_unused = invocation.options.keep_unused;
    options.times_probes = invocation.options.times_probes;
    options.shown_every_ms = invocation.options.shown_every_ms;
    options.shown_probes = invocation.options.shown_probes;
    options.shown_whole = invocation.options.shown_whole;
    // Whoever takes the snapshots has their values.
    options.prints_unread =
        !options.shown_whole ||
        std::ranges::any_of(invocation.options.output_requests,
                            [](const OutputRequest& each) { return !each.kind->has.shows_whole; });
    options.side = invocation.options.side;
    options.suppress_errors = invocation.options.suppress_handler_errors;
    // SystemTap 1.8 moved the arguments of C functions behind macros.
    options.unmangled = strverscmp(invocation.options.language_version.c_str(), "1.8") < 0;
    options.global_values = invocation.options.global_values;
    options.library_values = invocation.options.library_values;
    options.max_action = std::min(limits.MAXACTION, limits.MAXACTION_INTERRUPTIBLE);
    if (invocation.options.exclude_self) {
        analyzed.exclusion = parse_exclusion(invocation);
        if (!analyzed.exclusion)
            return std::nullopt;
        options.prologue = analyzed.exclusion->probes.front().body.get();
    }
    analyzed.source = parsed.file.source;
    if (!keep(invocation, "script.stp", invocation.sources.file(analyzed.source).text))
        return std::nullopt;
    auto program = djstap::analyze(std::move(parsed.file), invocation.tapsets(), options,
                                   invocation.diagnostics);
    if (!program)
        return std::nullopt;
    make_room_for_stacks(invocation, *program, limits);
    analyzed.program = std::move(*program);
    analyzed.program.language_version = invocation.options.language_version;
    return analyzed;
}

std::optional<ResolvedScript> resolve(Invocation& invocation, AnalyzedScript analyzed) {
    if (invocation.options.user_space) {
        if (!check_for_user_space(analyzed.program,
                                  invocation.options.in_process ? UserRuntime::InProgram
                                                                : UserRuntime::InDjstap,
                                  invocation.diagnostics))
            return std::nullopt;
    } else if (invocation.options.last_pass == 5 && !check_machine(invocation)) {
        return std::nullopt;
    }
    struct Settled {
        Invocation& invocation;
        ~Settled() {
            invocation.needs.settle(std::set<std::string>());
        } // whatever becomes of the probes
    } settled{invocation};
    if (!invocation.options.user_space && invocation.options.last_pass > 2)
        begin_kit(invocation);
    ProbeOptions options;
    if (invocation.options.user_space)
        options.hz = DJS_USER_HZ;
    options.in_process = invocation.options.in_process;
    options.notes_unreached = can_fall_back(invocation);
    if (options.notes_unreached)
        if (auto reasons = objections_to_jumps(invocation); !reasons.empty()) {
            fall_back(invocation, analyzed.source, std::move(reasons),
                      "with -W, it is refused instead");
            return std::nullopt;
        }
    if (!invocation.options.mechanism.empty())
        options.forced = mechanism_by_name(invocation.options.mechanism);
    options.max_kprobes = analyzed.settings.limits.MAXKPROBES;
    options.any_callers = analyzed.settings.limits.STAP_CALLEE_MATCHALL != 0;
    options.skip_bad_variables = invocation.options.skip_bad_variables;
    options.jumps = invocation.options.explain ||
                    (invocation.options.last_pass == 2 && invocation.options.verbose() > 0);
    auto plan =
        resolve_probes(analyzed.program, invocation.images, options, invocation.diagnostics);
    if (!plan)
        return std::nullopt;
    if (!plan->unreached.empty()) {
        fall_back(invocation, analyzed.source, std::move(plan->unreached),
                  "a ? behind a probe point, or a pattern, omits what cannot be patched");
        return std::nullopt;
    }
    auto needed = symbols_for_calls(analyzed.program);
    if (needed)
        needed->merge(symbols_for_tables(analyzed.program, *plan));
    invocation.needs.settle(std::move(needed));
    // A script of probes that are never hit is valid, too.
    if (plan->sites.empty() && !program::has_probe_of(analyzed.program, PointIsNeverHit))
        invocation.diagnostics.report(DiagnosticKind::NothingToProbe, {});
    return ResolvedScript{std::move(analyzed), std::move(*plan)};
}

std::optional<GeneratedScript> generate(Invocation& invocation, ResolvedScript resolved) {
    GeneratedScript generated;
    std::optional<CodegenKernel> kernel = invocation.options.user_space
                                              ? user_space_kernel(invocation.options.in_process)
                                              : open_kernel(invocation, generated.kit);
    if (!kernel)
        return std::nullopt;
    const Limits& limits = resolved.script.settings.limits;
    generated.module_name = invocation.options.module_name.empty()
                                ? made_up_name(invocation, resolved.script.source)
                                : invocation.options.module_name;
    CodegenOptions options;
    options.limits = limits;
    options.module_name = generated.module_name;
    options.dump_ir = invocation.options.last_pass == 3 || invocation.options.keep_work_files;
    options.explain = invocation.options.explain;
    options.script_name = invocation.options.script_name();
    options.plant = invocation.options.plant;
    options.event_fields = invocation.options.event_fields;
    options.lines = invocation.options.lines;
    if (auto failure = apply_switches(options, *kernel)) {
        invocation.fail(DiagnosticKind::KernelUnusable, *failure);
        return std::nullopt;
    }
    // A module of -p4 may be loaded with larger buffers.
    options.recorder = invocation.options.recorder;
    if (options.recorder)
        options.longest_record = DJS_RECORD_MAX;
    else if (invocation.options.last_pass == 5)
        options.longest_record = buffer_bytes(limits);
    auto object = djstap::generate(resolved.script.program, resolved.plan, *kernel, options,
                                   invocation.diagnostics);
    if (!object)
        return std::nullopt;
    for (const std::string& line : object->explanation)
        fprintf(stderr, "%s\n", line.c_str());
    const bool kept = keep(invocation, "script.ll", object->ir) &&
                      keep(invocation, "script.o", object->object) &&
                      keep(invocation, "meta.json", object->meta) &&
                      (object->c_source.empty() || keep(invocation, "script.c", object->c_source));
    if (!kept)
        return std::nullopt;
    generated.script = std::move(resolved);
    generated.object = std::move(*object);
    return generated;
}

std::optional<RunnableScript> link(Invocation& invocation, GeneratedScript generated) {
    RunnableScript runnable;
    runnable.settings = generated.script.script.settings;
    runnable.images = std::move(generated.script.plan.images);
    if (invocation.options.user_space) {
        runnable.object = std::move(generated.object); // linked where it runs
        return runnable;
    }
    ModuleRequest request;
    request.name = generated.module_name;
    request.object = generated.object.object;
    request.signing_key = signing_key(invocation.options);
    // A named module is for its user, in the current folder. Of the others, -p4 keeps its module in
    // the cache, and so does -F: reading a crash dump requires it.
    if (!invocation.options.module_name.empty()) {
        request.output = generated.module_name + ".ko";
    } else if (invocation.options.last_pass == 4 || invocation.options.recorder) {
        const std::string folder = cache_directory() + "/modules";
        if (Status made = make_cache_folder(folder); !made) {
            invocation.fail(DiagnosticKind::ModuleNotLinked, made.failure());
            return std::nullopt;
        }
        request.output = folder + "/" + generated.module_name + ".ko";
    } else {
        Result<std::string> folder = invocation.work.path();
        if (!folder) {
            invocation.fail(DiagnosticKind::WorkFiles, folder.failure());
            return std::nullopt;
        }
        request.output = *folder + "/" + generated.module_name + ".ko";
        invocation.work.will_hold(request.output);
    }
    if (Status complete = complete_kit(invocation, generated); !complete) {
        invocation.fail(DiagnosticKind::RuntimeUnavailable, complete.failure());
        return std::nullopt;
    }
    const RuntimeKit* kit = &*generated.kit;
    std::optional<EmbeddedObject> embedded;
    if (!generated.object.c_source.empty()) {
        auto joined = add_embedded_code(*generated.kit, RuntimeSources{invocation.places.runtime},
                                        generated.object.c_source, generated.object.object);
        if (!joined) {
            invocation.fail(DiagnosticKind::EmbeddedCode, joined.failure());
            return std::nullopt;
        }
        embedded = std::move(*joined);
        request.object = embedded->object;
        kit = &embedded->kit;
    }
    Result<BuiltModule> module = link_module(*kit, request);
    if (!module) {
        invocation.fail(DiagnosticKind::ModuleNotLinked, module.failure());
        return std::nullopt;
    }
    runnable.module_path = module->path;
    // What is loaded is this module, whoever may write to the current folder.
    if (!invocation.options.module_name.empty() && invocation.options.last_pass == 5) {
        Result<std::string> folder = invocation.work.path();
        runnable.module_path = folder ? *folder + "/" + generated.module_name + ".ko" : "";
        invocation.work.will_hold(runnable.module_path);
        if (const Status written =
                folder ? write_file(runnable.module_path, module->bytes) : Status(folder.failure());
            !written) {
            invocation.fail(DiagnosticKind::WorkFiles, written.failure());
            return std::nullopt;
        }
    }
    if (!keep(invocation, (generated.module_name + ".ko").c_str(), module->bytes))
        return std::nullopt;
    return runnable;
}

} // namespace djstap::driver
