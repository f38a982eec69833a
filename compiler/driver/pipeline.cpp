// SPDX-License-Identifier: GPL-2.0-or-later
#include "driver/pipeline.h"

#include "driver/caches.h"
#include "driver/info.h"
#include "driver/listing.h"
#include "driver/passes.h"
#include "guest/guest.h"
#include "system/stopwatch.h"

#include <cstdio>
#include <optional>
#include <tuple>
#include <utility>

namespace djstap::driver {

namespace {

// SystemTap's five passes; two of them have two steps here.
template <class From, class To> struct Pass {
    int number;
    const char* name;
    std::optional<To> (*run)(RunContext&, From);
    // Prints the result if the run ends here; null: a later step of the same pass does.
    void (*print)(RunContext&, const To&) = nullptr;
};
template <class From, class To>
Pass(int, const char*, std::optional<To> (*)(RunContext&, From)) -> Pass<From, To>;
template <class From, class To>
Pass(int, const char*, std::optional<To> (*)(RunContext&, From), void (*)(RunContext&, const To&))
    -> Pass<From, To>;

// Each takes the result of the previous one.
constexpr std::tuple passes = {
    Pass{1, "parse", parse, print_script},   Pass{2, "analyze", analyze},
    Pass{2, "resolve", resolve, print_plan}, Pass{3, "generate", generate, print_ir},
    Pass{4, "link", link, print_module},     Pass{5, "run", run_module},
};

// Runs the passes from `index` on. Returns the exit status; nothing after an error.
template <size_t index = 0, class From> std::optional<int> compile(RunContext& context, From from) {
    if constexpr (index == std::tuple_size_v<decltype(passes)>) {
        return from.exit_status;
    } else {
        const auto& pass = std::get<index>(passes);
        if (pass.number > context.options.last_pass)
            return 0;
        Stopwatch time;
        auto made = pass.run(context, std::move(from));
        bool failed = context.failed();
        context.show_diagnostics();
        if (context.options.verbosity[pass.number - 1] > 0)
            fprintf(stderr, "pass %d, %s: %s\n", pass.number, pass.name, time.describe().c_str());
        if (!made || failed)
            return std::nullopt;
        if (pass.number == context.options.last_pass && pass.print)
            pass.print(context, *made);
        return compile<index + 1>(context, std::move(*made));
    }
}

// Returns the exit status; nothing after an error.
std::optional<int> carry_out(RunContext& context) {
    const auto success = [](bool done) { return done ? std::optional(0) : std::nullopt; };
    switch (context.options.action) {
    case Action::Compile:
        return compile(context, Nothing());
    case Action::List:
        return success(list_points(context));
    case Action::Info:
        return success(print_info(context));
    case Action::DumpProbeTypes:
        return success(print_probe_types(context));
    case Action::DumpProbeAliases:
        return success(print_aliases(context));
    case Action::DumpFunctions:
        return success(print_functions(context));
    }
    return std::nullopt;
}

} // namespace

int run(Options options) {
    RunContext context(std::move(options));
    for (const std::string& text : context.options.without_effect)
        context.diagnostics.report(DiagnosticKind::OptionWithoutEffect, {}, {text});
    std::optional<int> status = carry_out(context);
    const bool printed = context.flush_output();
    context.show_diagnostics();
    if (context.options.keep_work_files && !context.work.made().empty())
        fprintf(stderr, "djstap: the temporary files were kept in %s\n",
                context.work.made().c_str());
    clean_caches();
    if (!printed)
        fprintf(stderr, "djstap: error: cannot write to standard output\n");
    if (!status || (!printed && *status == 0))
        status = 1;
    report_status(*status);
    return *status;
}

int refuse(const Failure& failure) {
    RunContext context{Options()};
    context.fail(DiagnosticKind::BadOption, failure);
    context.show_diagnostics();
    report_status(1);
    return 1;
}

} // namespace djstap::driver
