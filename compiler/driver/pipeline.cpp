#include "driver/pipeline.h"

#include "driver/caches.h"
#include "driver/info.h"
#include "driver/listing.h"
#include "driver/passes.h"
#include "guest/guest.h"
#include "system/stopwatch.h"

#include <cstdio>

namespace djstap::driver {

namespace {

// SystemTap's five passes; two of them have two steps here.
struct Pass {
    int number;
    const char* name;
    bool (*run)(RunState&);
    // What is printed when the run ends here; null: the pass goes on.
    void (*print)(RunState&);
};

constexpr Pass passes[] = {
    {1, "parse", parse, print_script},   {2, "analyze", analyze, nullptr},
    {2, "resolve", resolve, print_plan}, {3, "generate", generate, print_ir},
    {4, "link", link, print_module},     {5, "run", run_module, nullptr},
};

bool compile(RunState& state) {
    for (const Pass& pass : passes) {
        if (pass.number > state.options.last_pass)
            break;
        Stopwatch time;
        bool done = pass.run(state);
        bool failed = state.failed();
        state.show_diagnostics();
        if (state.options.verbosity[pass.number - 1] > 0)
            fprintf(stderr, "pass %d, %s: %s\n", pass.number, pass.name, time.describe().c_str());
        if (!done || failed)
            return false;
        if (pass.number == state.options.last_pass && pass.print)
            pass.print(state);
    }
    return true;
}

bool carry_out(RunState& state) {
    switch (state.options.action) {
    case Action::Compile:
        return compile(state);
    case Action::List:
        return list_points(state);
    case Action::Info:
        return print_info(state);
    case Action::DumpProbeTypes:
        return print_probe_types(state);
    case Action::DumpProbeAliases:
        return print_aliases(state);
    case Action::DumpFunctions:
        return print_functions(state);
    }
    return false;
}

} // namespace

int run(Options options) {
    RunState state(std::move(options));
    for (const std::string& text : state.options.without_effect)
        state.diagnostics.report(DiagnosticKind::OptionWithoutEffect, {}, {text});
    bool done = carry_out(state);
    const bool printed = state.flush_output();
    state.show_diagnostics();
    if (state.options.keep_work_files && !state.work.made().empty())
        fprintf(stderr, "djstap: the working files are kept in %s\n", state.work.made().c_str());
    clean_caches();
    if (!printed)
        fprintf(stderr, "djstap: error: cannot write to standard output\n");
    const int status = done && printed     ? state.exit_status
                       : state.exit_status ? state.exit_status
                                           : 1;
    report_status(status);
    return status;
}

int refuse(const Failure& failure) {
    RunState state{Options()};
    state.fail(DiagnosticKind::BadOption, failure);
    state.show_diagnostics();
    report_status(1);
    return 1;
}

} // namespace djstap::driver
