// SPDX-License-Identifier: GPL-2.0-or-later
// Pass 5: the module runs, in this machine's kernel or in a guest.
#include "driver/guest_run.h"
#include "driver/passes.h"
#include "guest/closure.h"
#include "injection/session.h"
#include "inprocess/session.h"
#include "session/command.h"
#include "session/session.h"
#include "system/process.h"

#include <cstdlib>

namespace djstap::driver {

namespace {

// The folder of djstap's programs is the last one in $PATH, so that -c finds gtodbench.
void extend_path(const Places& places) {
    const char* set = getenv("PATH");
    std::string path;
    if (set && *set)
        path = std::string(set) + ":";
    else if (!set) // execvp() searches the system's default path
        for (const std::string& folder : search_path())
            path += folder + ":";
    setenv("PATH", (path + places.programs).c_str(), 1);
}

SessionOptions session_options(const Options& options) {
    SessionOptions session;
    session.command = options.command;
    session.traced_pid = options.traced_pid;
    session.outputs = options.outputs();
    // The other formats only have their fields recorded.
    if (options.recorder)
        std::erase_if(session.outputs.requests,
                      [](const OutputRequest& request) { return !request.kind->has.lists; });
    session.time_limit = std::chrono::milliseconds(static_cast<int64_t>(options.seconds * 1e3));
    session.verbose = options.verbosity[4];
    session.warnings = options.warnings;
    session.recorder = options.recorder;
    session.buffer_mb = static_cast<unsigned>(options.buffer_megabytes);
    return session;
}

std::optional<FinishedRun> run_here(Invocation& invocation, const RunnableScript& runnable) {
    SessionOptions session = session_options(invocation.options);
    session.module = runnable.module_path;
    const auto run = [&]() -> Result<SessionOutcome> {
        if (!runnable.object)
            return run_session(session);
        if (invocation.options.in_process)
            if (const Status possible = check_injection_possible(); !possible)
                return possible.failure();
        const auto run_object = invocation.options.in_process ? run_in_program : run_in_user_space;
        return run_object(runnable.object->object, runnable.object->meta,
                          buffer_bytes(runnable.settings.limits), session);
    };
    Result<SessionOutcome> outcome = run();
    if (!outcome) {
        invocation.fail(DiagnosticKind::SessionFailed, outcome.failure());
        return std::nullopt;
    }
    return FinishedRun{outcome->status};
}

} // namespace

// A command that does not exist is an error before anything is compiled.
std::optional<GuestFiles> check_command(Invocation& invocation) {
    const auto guest_files = settle_guest_files(invocation);
    if (!guest_files)
        return std::nullopt;
    if (invocation.options.command.empty())
        return guest_files;
    extend_path(invocation.places);
    if (*guest_files == GuestFiles::Copied) {
        Result<std::vector<FileToCopy>> closure = command_closure(invocation.options.command);
        if (!closure)
            invocation.fail(DiagnosticKind::CommandMissing, closure.failure());
        return closure ? guest_files : std::nullopt;
    }
    Result<std::vector<std::string>> words = parse_command(invocation.options.command);
    if (!words)
        invocation.fail(DiagnosticKind::CommandMissing, words.failure());
    return words ? guest_files : std::nullopt;
}

std::optional<FinishedRun> run_module(Invocation& invocation, RunnableScript runnable) {
    return invocation.options.guest ? run_in_guest(invocation, runnable)
                                    : run_here(invocation, runnable);
}

} // namespace djstap::driver
