// SPDX-License-Identifier: GPL-2.0-or-later
#include "inprocess/session.h"

#include "inprocess/linked_script.h"
#include "inprocess/loaded_script.h"
#include "inprocess/user_session.h"
#include "session/session_output.h"
#include "session/signals.h"
#include "session/traced_process.h"

#include <optional>

namespace djstap {

Result<SessionOutcome> run_in_user_space(const std::string& object, const std::string& meta,
                                         uint64_t ring_bytes, const SessionOptions& options) {
    return run_with_runtime(djs_user_runtime, object, meta, ring_bytes, options);
}

Result<SessionOutcome> run_with_runtime(const djs_user_calls& runtime, const std::string& object,
                                        const std::string& meta, uint64_t ring_bytes,
                                        const SessionOptions& options) {
    if (auto traced = check_traced_process(options); !traced)
        return traced.failure();
    auto arguments = command_of(options);
    if (!arguments)
        return arguments.failure();
    auto description = parse_meta(meta);
    if (!description)
        return description.failure();
    const RuntimeMemory memory;
    if (!memory.made())
        return Failure{"no memory for the runtime", ""};
    auto script = LinkedScript::link(object);
    if (!script)
        return script.failure();
    auto opened = SessionOutput::open(options);
    if (!opened)
        return opened.failure();
    const StopSignals signals;
    std::optional<Command> command;
    if (!arguments->empty()) {
        auto prepared = Command::prepare(*arguments);
        if (!prepared)
            return prepared.failure();
        command.emplace(std::move(*prepared));
    }
    SystemCommands commands;
    UserSession session(options, *description, (*opened)->output(), command ? &*command : nullptr,
                        commands, {.runtime = runtime});
    djs_user_options runtime_options{};
    runtime_options.ring_bytes = ring_bytes;
    runtime_options.traced_pid = command ? command->pid() : options.traced_pid;
    runtime_options.drain = UserSession::drain;
    runtime_options.data = &session;
    const LoadedScript loaded(script->script(), runtime_options);
    if (!loaded.made())
        return Failure{djs_user_complaint(), ""};
    if (const Status begun = (*opened)->begin(); !begun)
        return begun.failure();
    SessionOutcome outcome = session.run();
    commands.wait();
    (*opened)->finish(outcome);
    return outcome;
}

} // namespace djstap
