// Passes 1 to 4: from the script's text to a module's file.
#include "driver/passes.h"

#include "cache/cache.h"
#include "diagnostics/suggest.h"
#include "driver/machine.h"
#include "driver/script.h"
#include "include/record.h"
#include "probes/families.h"
#include "probes/mechanisms.h"
#include "semantics/semantics.h"
#include "semantics/walk.h"
#include "syntax/lexing.h"
#include "system/hash.h"
#include "user/check.h"
#include "user/user.h"

#include <algorithm>
#include <bit>
#include <charconv>
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

// A script of several texts is one file whose parts keep their own places.
void append(ast::File& to, ast::File& from) {
    append(to.probes, from.probes);
    append(to.aliases, from.aliases);
    append(to.globals, from.globals);
    append(to.functions, from.functions);
    append(to.embedded, from.embedded);
}

// --suppress-handler-errors: an error ends its handler, and nothing else: try { … } catch { next }.
void suppress_errors(ast::File& script) {
    for (ast::Probe& probe : script.probes) {
        SourceRange range = probe.range;
        auto handler = std::make_unique<ast::Block>(range);
        handler->statements.push_back(std::make_unique<ast::Next>(range));
        auto attempt = std::make_unique<ast::TryCatch>(range);
        attempt->body = std::move(probe.body);
        attempt->handler = std::move(handler);
        probe.body = std::make_unique<ast::Block>(range);
        probe.body->statements.push_back(std::move(attempt));
    }
}

// --exclude-self: what stands before the handlers. A guest's first process is djstap's agent.
const ast::File* parse_exclusion(RunState& state) {
    const char* condition =
        state.options.guest ? "pid() == stp_pid() || pid() == 1" : "pid() == stp_pid()";
    const uint32_t id = state.sources.add("<--exclude-self>", std::string("probe never { if (") +
                                                                  condition + ") next }");
    state.exclusion = parse_file(state.sources, id, state.preprocessor(), {}, state.diagnostics);
    return state.exclusion ? &*state.exclusion : nullptr;
}

// Saves a pass's result beside the module when -k asks for it.
bool keep(RunState& state, const char* name, std::string_view bytes) {
    if (!state.options.keep_work_files)
        return true;
    Result<std::string> folder = state.work.path();
    Status saved =
        folder ? write_atomically(*folder + "/" + name, bytes) : Status(folder.failure());
    if (!saved)
        state.fail(DiagnosticKind::WorkFiles, saved.failure());
    return static_cast<bool>(saved);
}

// A name of its own for each run: two may be loaded at once.
std::string made_up_name(const RunState& state) {
    const uint64_t hash = hash_bytes(state.sources.file(state.script_source).text);
    char digits[17];
    snprintf(digits, sizeof digits, "%08x", static_cast<uint32_t>(hash ^ hash >> 32));
    return std::string("djstap_") + digits + "_" + std::to_string(getpid());
}

bool open_kit(RunState& state, const Target& target) {
    const RuntimeSources sources{state.places.runtime};
    if (Status agreed = check_agreement(sources); !agreed) {
        state.fail(DiagnosticKind::RuntimeUnavailable, agreed.failure());
        return false;
    }
    Result<RuntimeKit> kit = open_runtime_kit(target, sources, show_progress);
    if (!kit) {
        state.fail(DiagnosticKind::RuntimeUnavailable, kit.failure());
        return false;
    }
    state.kit = std::move(*kit);
    return true;
}

CodegenKernel describe_kernel(const Target& target, const RuntimeKit& kit) {
    CodegenKernel kernel;
    kernel.release = target.release();
    kernel.version = target.version();
    kernel.build_id = target.build_id();
    kernel.build_id_address = target.build_id_address();
    if (auto anchor = target.symbol("_printk"))
        kernel.anchor = anchor->address;
    if (auto table = target.symbol("direct_functions"))
        kernel.direct_table = table->address;
    if (auto stack = target.symbol("hardirq_stack_ptr"))
        kernel.irq_stack = stack->address;
    if (auto reference = target.symbol(CodegenKernel::reference_symbol))
        kernel.reference = reference->address;
    kernel.ibt = target.has_ibt();
    // Both names: kernels up to 6.8 and later ones (6.9 renamed the mitigations).
    auto set = [&](const char* older, const char* newer) {
        return target.config(older) == "y" || target.config(newer) == "y";
    };
    std::string padding = target.config("CONFIG_FUNCTION_PADDING_BYTES");
    if (target.config("CONFIG_CALL_PADDING") == "y")
        std::from_chars(padding.data(), padding.data() + padding.size(), kernel.call_padding);
    kernel.return_thunks = set("CONFIG_RETHUNK", "CONFIG_MITIGATION_RETHUNK");
    kernel.retpolines = set("CONFIG_RETPOLINE", "CONFIG_MITIGATION_RETPOLINE");
    if (target.config("CONFIG_KASAN_GENERIC") == "y")
        kernel.sanitizer = Sanitizer::Address;
    else if (target.config("CONFIG_KCSAN") == "y")
        kernel.sanitizer = Sanitizer::Thread;
    kernel.offset =
        [&kit](std::string_view name) -> std::optional<std::pair<std::string, int64_t>> {
        if (auto found = kit.offset(name))
            return std::pair(found->symbol, found->value);
        return std::nullopt;
    };
    return kernel;
}

// The kernel's files and the runtime that was built for it.
std::optional<CodegenKernel> open_kernel(RunState& state) {
    Result<const Target*> target = state.kernel.target();
    if (!target) {
        state.fail(DiagnosticKind::KernelUnusable, target.failure());
        return std::nullopt;
    }
    if (!open_kit(state, **target))
        return std::nullopt;
    return describe_kernel(**target, *state.kit);
}

CodegenKernel user_space_kernel() {
    CodegenKernel kernel;
    kernel.user_space = true;
    kernel.return_thunks = kernel.retpolines = false;
    return kernel;
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

// From -D and -s.
bool set_limits(RunState& state) {
    std::vector<std::string> names = Limits::names();
    for (const auto& [name, value] : state.options.definitions) {
        if (std::find(names.begin(), names.end(), name) == names.end()) {
            const std::string upper = upper_case(name);
            const bool wrong_case = std::find(names.begin(), names.end(), upper) != names.end();
            std::string hint =
                wrong_case ? "did you mean '" + upper + "'?" : did_you_mean(upper, names);
            state.diagnostics.report(DiagnosticKind::UnknownLimit, {}, {name})
                .hint(hint.empty() ? "docs/language.md lists the limits" : hint);
            continue;
        }
        int64_t number = 0;
        auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
        if (error != std::errc() || end != value.data() + value.size() ||
            !state.limits.set(name, number))
            state.diagnostics.report(DiagnosticKind::BadLimit, {}, {name, value})
                .hint("it takes a number from " + Limits::range(name));
    }
    auto is_set = [&](std::string_view name) {
        const auto& all = state.options.definitions;
        return std::any_of(all.begin(), all.end(),
                           [&](const auto& each) { return each.first == name; });
    };
    if (!is_set("MAXACTION_INTERRUPTIBLE"))
        state.limits.MAXACTION_INTERRUPTIBLE =
            std::min<int64_t>(10 * state.limits.MAXACTION, INT32_MAX);
    if (state.options.buffer_megabytes)
        state.limits.RING_KB = int64_t{state.options.buffer_megabytes} * 1024;
    return !state.diagnostics.has_errors();
}

// Of those that no text names, be it in a branch of %( that is not taken.
void warn_of_arguments(RunState& state, const std::vector<uint32_t>& ids) {
    std::set<std::string> named;
    for (const uint32_t id : ids) {
        Diagnostics ignored(state.sources);
        syntax::Lexemes words;
        syntax::lex(state.sources.file(id).text, {id, 0, 0, 0}, false, words, ignored);
        for (const syntax::Lexeme& word : words)
            if (word.text.size() > 1 && (word.text[0] == '$' || word.text[0] == '@'))
                named.insert(std::string(word.text.substr(1)));
    }
    for (size_t i = 0; i < state.options.arguments.size(); i++)
        if (const std::string number = std::to_string(i + 1); !named.count(number))
            state.diagnostics.report(DiagnosticKind::OptionWithoutEffect, {},
                                     {"the script argument '" + state.options.arguments[i] +
                                      "' is not used: nothing names $" + number + " or @" +
                                      number});
}

} // namespace

bool parse(RunState& state) {
    auto ids = read_scripts(state.options, state.sources, state.diagnostics);
    if (!ids || !set_limits(state))
        return false;
    const MacroTable& macros = state.tapsets().macros();
    for (uint32_t id : *ids) {
        auto file = parse_file(state.sources, id, state.preprocessor(), macros, state.diagnostics);
        if (!file)
            continue; // further texts may have errors of their own
        if (state.script)
            append(*state.script, *file);
        else
            state.script = std::move(file);
    }
    if (state.diagnostics.has_errors())
        return false;
    warn_of_arguments(state, *ids);
    if (state.options.suppress_handler_errors) {
        suppress_errors(*state.script);
        state.limits.MAXSKIPPED = INT32_MAX; // errors and skipped hits may add up
    }
    const ast::File& script = *state.script;
    const bool nothing = script.probes.empty() && script.aliases.empty() &&
                         script.functions.empty() && script.globals.empty() &&
                         script.embedded.empty();
    if (nothing || (script.probes.empty() && state.options.last_pass > 1))
        state.diagnostics
            .report(nothing ? DiagnosticKind::EmptyScript : DiagnosticKind::NoProbes, {})
            .hint("the smallest script is: probe begin { println(\"hello\") }");
    // What is wrong with the script comes first: it can be mended without the machine.
    return state.diagnostics.has_errors() || state.options.last_pass < 5 || check_command(state);
}

namespace {

// A stack as text holds MAXBACKTRACE addresses, however short other texts are wanted.
void make_room_for_stacks(RunState& state) {
    constexpr int64_t address_bytes = sizeof("0xffffffffffffffff ") - 1;
    const int64_t needed = state.limits.MAXBACKTRACE * address_bytes + 1;
    const auto& functions = state.program->functions;
    const bool keeps_stacks = std::any_of(functions.begin(), functions.end(), [](const auto& each) {
        return each->intrinsic == "backtrace";
    });
    if (!keeps_stacks || state.limits.MAXSTRINGLEN >= needed)
        return;
    for (const auto& [name, value] : state.options.definitions)
        if (name == "MAXSTRINGLEN")
            state.diagnostics.report(
                DiagnosticKind::OptionWithoutEffect, {},
                {"-D MAXSTRINGLEN=" + value + " has no effect: backtrace() needs texts of " +
                 std::to_string(needed) +
                 " bytes for MAXBACKTRACE=" + std::to_string(state.limits.MAXBACKTRACE)});
    state.limits.MAXSTRINGLEN = needed;
}

} // namespace

bool analyze(RunState& state) {
    SemanticsOptions options;
    options.guru = state.options.guru;
    options.points = probe_shapes();
    options.keep_unused = state.options.keep_unused;
    // SystemTap 1.8 hid the arguments of C functions behind macros.
    options.unmangled = strverscmp(state.options.language_version.c_str(), "1.8") < 0;
    options.global_values = state.options.global_values;
    options.max_action = std::min(state.limits.MAXACTION, state.limits.MAXACTION_INTERRUPTIBLE);
    if (state.options.exclude_self) {
        const ast::File* exclusion = parse_exclusion(state);
        if (!exclusion)
            return false;
        options.prologue = exclusion->probes.front().body.get();
    }
    state.script_source = state.script->source;
    if (!keep(state, "script.stp", state.sources.file(state.script_source).text))
        return false;
    state.program =
        djstap::analyze(std::move(*state.script), state.tapsets(), options, state.diagnostics);
    if (state.program)
        make_room_for_stacks(state);
    return state.program.has_value();
}

bool resolve(RunState& state) {
    if (state.options.user_space) {
        if (!check_for_user_space(*state.program, state.diagnostics))
            return false;
    } else if (state.options.last_pass == 5 && !check_machine(state)) {
        return false;
    }
    ProbeOptions options;
    if (state.options.user_space)
        options.hz = DJS_USER_HZ;
    if (!state.options.mechanism.empty())
        options.forced = mechanism_by_name(state.options.mechanism);
    options.max_kprobes = state.limits.MAXKPROBES;
    options.skip_bad_variables = state.options.skip_bad_variables;
    state.plan = resolve_probes(*state.program, state.kernel, options, state.diagnostics);
    // A script of probes that are never hit is one, too.
    if (state.plan && state.plan->sites.empty() && !program::has_probe_of(*state.program, PointIsNeverHit))
        state.diagnostics.report(DiagnosticKind::NothingToProbe, {});
    return state.plan.has_value();
}

bool generate(RunState& state) {
    std::optional<CodegenKernel> kernel =
        state.options.user_space ? user_space_kernel() : open_kernel(state);
    if (!kernel)
        return false;
    state.module_name =
        state.options.module_name.empty() ? made_up_name(state) : state.options.module_name;
    CodegenOptions options;
    options.limits = state.limits;
    options.module_name = state.module_name;
    options.dump_ir = state.options.last_pass == 3 || state.options.keep_work_files;
    options.explain = state.options.explain;
    options.script_name = state.options.script_name();
    options.plant = state.options.plant;
    // A developer's: the kernel's sanitizer looks at the handlers, too.
    const char* sanitize = getenv("DJSTAP_SANITIZE");
    options.sanitize = sanitize && std::string_view(sanitize) == "1" && !state.options.user_space;
    if (options.sanitize && kernel->sanitizer == Sanitizer::None) {
        state.fail(DiagnosticKind::KernelUnusable,
                   Failure{"the kernel " + kernel->release + " has no sanitizer",
                           "DJSTAP_SANITIZE wants CONFIG_KASAN_GENERIC or CONFIG_KCSAN"});
        return false;
    }
    // A module of -p4 may be loaded with larger buffers.
    options.recorder = state.options.recorder;
    if (options.recorder)
        options.longest_record = DJS_RECORD_MAX;
    else if (state.options.last_pass == 5)
        options.longest_record = buffer_bytes(state.limits);
    state.object =
        djstap::generate(*state.program, *state.plan, *kernel, options, state.diagnostics);
    if (state.object)
        for (const std::string& line : state.object->explanation)
            fprintf(stderr, "%s\n", line.c_str());
    return state.object && keep(state, "script.ll", state.object->ir) &&
           keep(state, "script.o", state.object->object) &&
           keep(state, "meta.json", state.object->meta) &&
           (state.object->c_source.empty() || keep(state, "script.c", state.object->c_source));
}

bool link(RunState& state) {
    if (state.options.user_space)
        return true; // where it runs
    ModuleRequest request;
    request.name = state.module_name;
    request.object = state.object->object;
    request.signing_key = signing_key_from_environment();
    // A named module is for its user, in the current folder. Of others -p4 leaves one in the cache,
    // and so does -F: a crash dump is read with it.
    if (!state.options.module_name.empty()) {
        request.output = state.module_name + ".ko";
    } else if (state.options.last_pass == 4 || state.options.recorder) {
        const std::string folder = cache_directory() + "/modules";
        if (Status made = make_cache_folder(folder); !made) {
            state.fail(DiagnosticKind::ModuleNotLinked, made.failure());
            return false;
        }
        request.output = folder + "/" + state.module_name + ".ko";
    } else {
        Result<std::string> folder = state.work.path();
        if (!folder) {
            state.fail(DiagnosticKind::WorkFiles, folder.failure());
            return false;
        }
        request.output = *folder + "/" + state.module_name + ".ko";
        state.work.will_hold(request.output);
    }
    const RuntimeKit* kit = &*state.kit;
    std::optional<EmbeddedObject> embedded;
    if (!state.object->c_source.empty()) {
        auto joined = add_embedded_code(*state.kit, RuntimeSources{state.places.runtime},
                                        state.object->c_source, state.object->object);
        if (!joined) {
            state.fail(DiagnosticKind::EmbeddedCode, joined.failure());
            return false;
        }
        embedded = std::move(*joined);
        request.object = embedded->object;
        kit = &embedded->kit;
    }
    Result<BuiltModule> module = link_module(*kit, request);
    if (!module) {
        state.fail(DiagnosticKind::ModuleNotLinked, module.failure());
        return false;
    }
    state.module_path = module->path;
    return keep(state, (state.module_name + ".ko").c_str(), module->bytes);
}

} // namespace djstap::driver
