// Pass 5: the module runs, in this machine's kernel or in a guest.
#include "driver/guest_run.h"
#include "driver/passes.h"
#include "guest/closure.h"
#include "session/command.h"
#include "session/session.h"
#include "user/user_session.h"

#include <cstdlib>

namespace djstap::driver {

namespace {

// The folder of djstap's programs comes last in $PATH, so that -c finds gtodbench.
void extend_path(const Places& places) {
    const char* set = getenv("PATH");
    std::string path = set && *set ? std::string(set) + ":" + places.programs : places.programs;
    setenv("PATH", path.c_str(), 1);
}

SessionOptions session_options(const Options& options) {
    SessionOptions session;
    session.command = options.command;
    session.target_pid = options.target_pid;
    session.output_file = options.output_file;
    session.time_limit = std::chrono::milliseconds(static_cast<int64_t>(options.seconds * 1e3));
    session.output = options.output;
    session.verbose = options.verbosity[4];
    session.warnings = options.warnings;
    session.recorder = options.recorder;
    session.buffer_mb = static_cast<unsigned>(options.buffer_megabytes);
    return session;
}

bool run_here(RunState& state) {
    SessionOptions session = session_options(state.options);
    session.module = state.module_path;
    Result<SessionOutcome> outcome =
        state.options.user_space ? run_in_user_space(state.object->object, state.object->meta,
                                                     buffer_bytes(state.limits), session)
                                 : run_session(session);
    if (!outcome) {
        state.fail(DiagnosticKind::SessionFailed, outcome.failure());
        return false;
    }
    state.exit_status = outcome->status;
    return true;
}

} // namespace

// A command that is not there is an error before anything is compiled.
bool check_command(RunState& state) {
    if (!settle_guest_files(state))
        return false;
    if (state.options.command.empty())
        return true;
    extend_path(state.places);
    if (state.guest_files == GuestFiles::Copied) {
        Result<std::vector<FileToCopy>> closure = command_closure(state.options.command);
        if (!closure)
            state.fail(DiagnosticKind::CommandMissing, closure.failure());
        return static_cast<bool>(closure);
    }
    Result<std::vector<std::string>> words = parse_command(state.options.command);
    if (!words)
        state.fail(DiagnosticKind::CommandMissing, words.failure());
    return static_cast<bool>(words);
}

bool run_module(RunState& state) {
    return state.options.guest ? run_in_guest(state) : run_here(state);
}

} // namespace djstap::driver
