// SPDX-License-Identifier: GPL-2.0-or-later
#include "injection/session.h"

#include "arch/injection.h"
#include "injection/arena.h"
#include "injection/injection.h"
#include "injection/keeper.h"
#include "injection/linked_runtime.h"
#include "injection/refusals.h"
#include "injection/traced_program.h"
#include "inprocess/user_session.h"
#include "session/session_output.h"
#include "session/signals.h"
#include "session/traced_process.h"
#include "system/stopwatch.h"

#include <cstdio>
#include <optional>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace djstap {

using namespace injection;

namespace {

// The command of -c, at its entry, or the process of -x.
Result<TracedProgram> open_program(std::optional<Command>& command, pid_t running) {
    return command ? TracedProgram::run_to_entry(*command) : TracedProgram::of_running(running);
}

// Whether a process has ended, whoever is its parent.
class Liveness {
  public:
    explicit Liveness(pid_t pid) : process_(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))) {}
    bool has_ended() const {
        pollfd ended{process_.get(), POLLIN, 0};
        return !process_ || poll(&ended, 1, 0) > 0;
    }

  private:
    FileDescriptor process_;
};

// Has a process of its own take everything out of the program when the session ends, or when
// djstap is gone; places it, or has it placed by that process.
Status release(Injection& injection, int shared, bool was_started, std::optional<Keeper>& keeper) {
    const auto begin = [&]() -> Status {
        if (!was_started)
            return injection.release();
        injection.program().forget();
        return Done{};
    };
    const auto end = [&] {
        injection.linked().settle();
        injection.end_answer();
        // A program that was started is changed by djstap.
        if (!was_started && !injection.has_placed())
            return true;
        const bool withdrawn = injection.withdraw();
        injection.withdraw_from_heirs();
        return withdrawn;
    };
    auto started = Keeper::start({shared, injection.program().memory()}, begin, end);
    if (!started)
        return started.failure();
    keeper.emplace(std::move(*started));
    if (auto begun = keeper->begun(); !begun) {
        // It has withdrawn what it had placed, unless it was killed.
        if (!keeper->end() && !was_started)
            injection.withdraw();
        return Failure{begun.failure().message +
                           (begun.failure().hint.empty() ? "" : " (" + begun.failure().hint + ")"),
                       ""};
    }
    if (!was_started)
        return Done{};
    // Yama allows only a process's ancestors to trace it; without it, this is an error.
    (void)injection.program().call(SYS_prctl,
                                   {PR_SET_PTRACER, static_cast<uint64_t>(keeper->pid())});
    return injection.release();
}

} // namespace

Status check_injection_possible() {
    if (!arch::has_stub_instructions())
        return Failure{"this processor or kernel does not let programs read the base of their "
                       "threads' memory (FSGSBASE)",
                       "as root, without --runtime=process, uprobes do not need it"};
    return Done{};
}

Result<SessionOutcome> run_in_program(const std::string& object, const std::string& meta,
                                      uint64_t ring_bytes, const SessionOptions& options) {
    auto arguments = command_of(options);
    if (!arguments)
        return arguments.failure();
    auto description = parse_meta(meta);
    if (!description)
        return description.failure();
    auto opened = SessionOutput::open(options);
    if (!opened)
        return opened.failure();
    Output& output = (*opened)->output();
    const StopSignals signals;
    auto arena = Arena::create(ring_bytes);
    if (!arena)
        return arena.failure();
    std::optional<Command> command;
    if (!arguments->empty()) {
        auto prepared = Command::prepare(*arguments, TracedProgram::options(arena->file()));
        if (!prepared)
            return prepared.failure();
        command.emplace(std::move(*prepared));
    }
    auto program = open_program(command, options.traced_pid);
    if (!program)
        return program.failure();
    auto map = MemoryMap::of(program->pid());
    if (!map)
        return map.failure();
    auto code = code_around(*map, program->entry());
    if (!code)
        return code.failure();
    const Stopwatch patching;
    if (auto placed = arena->place_near(*code, *map); !placed)
        return placed.failure();
    auto linked = LinkedRuntime::link(object, *arena);
    if (!linked)
        return linked.failure();
    Injection injection(std::move(*program), *arena, std::move(*linked));
    const LinkedRuntime& here = injection.linked();
    const djs_arena parts = parts_of(*arena);
    here.init(&parts);

    SystemCommands commands;
    std::vector<AttachedProbe> probes;
    std::optional<Keeper> keeper;
    bool has_executed = false;
    const Liveness process(injection.program().pid());
    const UserSessionParts session_parts{
        .runtime = *here.runtime,
        .rings = DJS_SLOTS,
        .release =
            [&] {
                Status released = release(injection, arena->file(), command.has_value(), keeper);
                if (released && options.verbose > 0)
                    fprintf(stderr, "patch: %s, %s\n", describe_places(injection.images()).c_str(),
                            patching.describe().c_str());
                return released;
            },
        .turn =
            [&] {
                for (const std::string& complaint : injection.answer_loader())
                    output.warning(complaint);
                if (!has_executed && injection.program().has_executed()) {
                    has_executed = true;
                    here.gone();
                    output.warning("process " + std::to_string(injection.program().pid()) +
                                   " has executed another program, which is not probed");
                }
            },
        .before_end =
            [&] {
                here.wait_until_settled(process.has_ended() || injection.program().has_executed());
                // It may have been killed.
                if (keeper && !keeper->end() && !process.has_ended() && !injection.withdraw())
                    output.warning("process " + std::to_string(injection.program().pid()) +
                                   " cannot be stopped: the probes stay in its code");
                for (const pid_t heir : injection.withdraw_from_heirs())
                    output.warning("process " + std::to_string(heir) +
                                   ", which the program has created, cannot be stopped: the "
                                   "probes stay in its code, where they count nothing");
            },
        .has_ended = [&] { return !command && process.has_ended(); },
        .probes = [&] { return probes; }};
    UserSession session(options, *description, output, command ? &*command : nullptr, commands,
                        session_parts);
    djs_user_options runtime_options{};
    runtime_options.ring_bytes = ring_bytes;
    runtime_options.traced_pid = injection.program().pid();
    runtime_options.drain = UserSession::drain;
    runtime_options.data = &session;
    if (here.runtime->load(here.script, &runtime_options) != 0)
        return Failure{here.runtime->complaint(), ""};
    if (auto prepared = injection.prepare(*map); !prepared)
        return prepared.failure();
    probes = injection.probes(*description);
    const size_t most_names = options.verbose > 0 ? SIZE_MAX : 3;
    for (const std::string& refusal :
         describe_refusals(*here.script, injection.images(), most_names))
        output.warning(refusal);
    if (const Status begun = (*opened)->begin(); !begun)
        return begun.failure();
    SessionOutcome outcome = session.run();
    if (const u64 hits = here.unslotted())
        output.warning(std::to_string(hits) + " hits were not handled: more than " +
                       std::to_string(DJS_SLOTS - 1) + " threads ran at the same time");
    if (injection.has_missed_loader())
        output.warning("libraries that the program mapped later were not probed: djstap was not in "
                       "time");
    if (const u64 returns = here.unmatched())
        output.warning(std::to_string(returns) +
                       " returns were not handled: what their handlers kept from the entry had "
                       "to make room for later calls");
    commands.wait();
    (*opened)->finish(outcome);
    return outcome;
}

} // namespace djstap
