// SPDX-License-Identifier: GPL-2.0-or-later
#include "driver/pipeline.h"

#include "driver/caches.h"
#include "driver/complete.h"
#include "driver/enroll_key.h"
#include "driver/examples.h"
#include "driver/fallback.h"
#include "driver/help.h"
#include "driver/host_kernel.h"
#include "driver/hosts_run.h"
#include "driver/info.h"
#include "driver/language_server.h"
#include "driver/listing.h"
#include "driver/passes.h"
#include "guest/guest.h"
#include "system/file.h"
#include "system/stopwatch.h"

#include <cstdio>
#include <memory>
#include <optional>
#include <set>
#include <tuple>
#include <type_traits>
#include <utility>

namespace djstap::driver {

namespace {

// SystemTap's five passes; two of them have two steps here.
template <class From, class To> struct Pass {
    int number;
    const char* name;
    std::optional<To> (*run)(Invocation&, From);
    // Prints the result if the run ends here; null: a later step of the same pass does.
    void (*print)(Invocation&, const To&) = nullptr;
};
template <class From, class To>
Pass(int, const char*, std::optional<To> (*)(Invocation&, From)) -> Pass<From, To>;
template <class From, class To>
Pass(int, const char*, std::optional<To> (*)(Invocation&, From), void (*)(Invocation&, const To&))
    -> Pass<From, To>;

// Each takes the result of the previous one.
constexpr std::tuple passes = {
    Pass{1, "parse", parse, print_script},   Pass{2, "analyze", analyze},
    Pass{2, "resolve", resolve, print_plan}, Pass{3, "generate", generate, print_ir},
    Pass{4, "link", link, print_module},     Pass{5, "run", run_module},
};

// Runs one pass. Returns nothing after an error.
template <class From, class To>
std::optional<To> run_pass(Invocation& invocation, const Pass<From, To>& pass, From from) {
    Stopwatch time;
    auto made = pass.run(invocation, std::move(from));
    const bool failed = invocation.failed();
    invocation.show_diagnostics();
    if (invocation.options.verbosity[pass.number - 1] > 0)
        fprintf(stderr, "pass %d, %s: %s\n", pass.number, pass.name, time.describe().c_str());
    return failed ? std::nullopt : std::move(made);
}

// Runs the passes from `index` on. Returns the exit status; nothing after an error.
template <size_t index = 0, class From>
std::optional<int> compile(Invocation& invocation, From from) {
    if constexpr (index == std::tuple_size_v<decltype(passes)>) {
        return from.exit_status;
    } else {
        const auto& pass = std::get<index>(passes);
        if (pass.number > invocation.options.last_pass)
            return 0;
        auto made = run_pass(invocation, pass, std::move(from));
        if (!made)
            return std::nullopt;
        if (pass.number == invocation.options.last_pass && pass.print)
            pass.print(invocation, *made);
        return compile<index + 1>(invocation, std::move(*made));
    }
}

// Runs the passes from `index` on up to the one that makes this.
template <class Wanted, size_t index = 0, class From>
std::optional<Wanted> make(Invocation& invocation, From from) {
    if constexpr (std::is_same_v<From, Wanted>) {
        return from;
    } else {
        auto made = run_pass(invocation, std::get<index>(passes), std::move(from));
        return made ? make<Wanted, index + 1>(invocation, std::move(*made)) : std::nullopt;
    }
}

// Returns the exit status; nothing after an error.
std::optional<int> carry_out(Invocation& invocation) {
    const auto success = [](bool done) { return done ? std::optional(0) : std::nullopt; };
    switch (invocation.options.action) {
    case Action::Compile:
        if (!check_host(invocation))
            return std::nullopt;
        if (!invocation.options.example.empty()) {
            const auto next = take_example(invocation);
            if (next != ExampleStep::Run)
                return success(next == ExampleStep::Described);
        }
        return invocation.options.hosts.empty() ? compile(invocation, Nothing())
                                                : run_on_hosts(invocation);
    case Action::List:
        return success(check_host(invocation) && list_points(invocation));
    case Action::Info:
        return success(check_host(invocation) && print_info(invocation));
    case Action::DumpProbeTypes:
        return success(print_probe_types(invocation));
    case Action::DumpProbeAliases:
        return success(print_aliases(invocation));
    case Action::DumpFunctions:
        return success(print_functions(invocation));
    case Action::ListExamples:
        return success(list_examples(invocation));
    case Action::ShowHelp:
        return success(show_help(invocation));
    case Action::Complete:
        complete(invocation);
        return 0;
    case Action::EnrollKey:
        return success(enroll_key(invocation));
    case Action::ServeEditor:
        return serve_editor(invocation.options);
    }
    return std::nullopt;
}

// Tells that standard output did not take what djstap printed.
void tell_unwritten() {
    fprintf(stderr, "djstap: error: cannot write to standard output\n");
}

} // namespace

int print(const Text& text) {
    if (write_all(STDOUT_FILENO, text.text))
        return 0;
    tell_unwritten();
    return 1;
}

std::optional<ParsedScript> parse_script(Invocation& invocation) {
    return make<ParsedScript>(invocation, Nothing());
}

std::optional<AnalyzedScript> analyze_script(Invocation& invocation) {
    return make<AnalyzedScript>(invocation, Nothing());
}

std::optional<GeneratedScript> generate_object(Invocation& invocation, AnalyzedScript analyzed) {
    constexpr size_t resolve_pass = 2;
    return make<GeneratedScript, resolve_pass>(invocation, std::move(analyzed));
}

std::optional<RunnableScript> make_module(Invocation& invocation) {
    return make<RunnableScript>(invocation, Nothing());
}

int run(Options options) {
    report_begin();
    auto invocation = std::make_unique<Invocation>(std::move(options));
    std::optional<int> status = carry_out(*invocation);
    if (invocation->next) {
        Options next = std::move(*invocation->next);
        std::set<std::string> told = std::move(invocation->told);
        invocation = std::make_unique<Invocation>(std::move(next));
        invocation->told = std::move(told);
        tell_of_fallback(*invocation);
        invocation->show_diagnostics();
        status = carry_out(*invocation);
    }
    const bool printed = invocation->flush_output();
    invocation->show_diagnostics();
    if (invocation->options.keep_work_files && !invocation->work.made().empty())
        fprintf(stderr, "djstap: the temporary files were kept in %s\n",
                invocation->work.made().c_str());
    clean_caches();
    if (!printed)
        tell_unwritten();
    if (!status || (!printed && *status == 0))
        status = 1;
    report_status(*status);
    return *status;
}

void warn(const std::string& text, DiagnosticKind kind) {
    Invocation invocation{Options()};
    invocation.diagnostics.report(kind, {}, {text});
    invocation.show_diagnostics();
}

int refuse(const Failure& failure, DiagnosticKind kind) {
    report_begin();
    Invocation invocation{Options()};
    invocation.fail(kind, failure);
    invocation.show_diagnostics();
    report_status(1);
    return 1;
}

} // namespace djstap::driver
