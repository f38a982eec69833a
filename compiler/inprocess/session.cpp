// SPDX-License-Identifier: GPL-2.0-or-later
#include "inprocess/session.h"

#include "inprocess/linked_script.h"
#include "session/command.h"
#include "session/merge.h"
#include "session/printer.h"
#include "session/session_output.h"
#include "session/signals.h"
#include "session/traced_process.h"
#include "userspace/userspace.h"

#include <algorithm>
#include <cstring>
#include <ctime>
#include <optional>
#include <unistd.h>

namespace djstap {

namespace {

// A signal that arrives just before a sleep, and the end of the command, are noticed after at most
// this time.
constexpr uint64_t longest_sleep_ns = 20'000'000, longest_sleep_with_command_ns = 2'000'000;
constexpr uint64_t second_ns = 1'000'000'000;

uint64_t now_ns() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<uint64_t>(now.tv_sec) * second_ns + static_cast<uint64_t>(now.tv_nsec);
}

void sleep_until(uint64_t time_ns) {
    const timespec until{static_cast<time_t>(time_ns / second_ns),
                         static_cast<long>(time_ns % second_ns)};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
}

// The runtime's own memory: allocated before a script is linked, which refers to it.
class RuntimeMemory {
  public:
    RuntimeMemory() : error_(djs_user_init(1)) {}
    ~RuntimeMemory() { djs_user_exit(); }
    RuntimeMemory(const RuntimeMemory&) = delete;
    RuntimeMemory& operator=(const RuntimeMemory&) = delete;
    bool made() const { return error_ == 0; }

  private:
    int error_;
};

// What the runtime allocates for a script: freed before the script, because the script's tables
// refer to it.
class LoadedScript {
  public:
    LoadedScript(const djs_script& script, const djs_user_options& options)
        : error_(djs_user_load(&script, &options)) {}
    ~LoadedScript() {
        if (error_ == 0)
            djs_user_unload();
    }
    LoadedScript(const LoadedScript&) = delete;
    LoadedScript& operator=(const LoadedScript&) = delete;
    bool made() const { return error_ == 0; }

  private:
    int error_;
};

class UserSession {
  public:
    UserSession(const SessionOptions& options, const ModuleMeta& meta, Output& output,
                Command* command, SystemCommands& commands)
        : options_(options), meta_(meta), output_(output), command_(command),
          printer_(meta, clock_, output, &commands) {}

    // The runtime calls this when a ring is full.
    static void drain(void* session) { static_cast<UserSession*>(session)->take_records(); }

    SessionOutcome run();

  private:
    void take_records();
    bool is_over();
    void wait();
    void release_command();
    void finish();

    const SessionOptions& options_;
    const ModuleMeta& meta_;
    Output& output_;
    Command* command_;
    std::optional<RecordMerger> merger_;
    RecordClock clock_{read_clock()};
    RecordPrinter printer_;
    uint64_t began_ = now_ns();
    bool command_failed_ = false;
    SessionOutcome outcome_;
};

void UserSession::take_records() {
    clock_.add(read_clock());
    outcome_.records +=
        merger_->last_sweep([this](const Ring& ring) { printer_.print(ring); }).records;
}

bool UserSession::is_over() {
    if (StopSignals::stop_requested()) {
        outcome_.ended_by_signal = true;
        return true;
    }
    if (djs_user_exit_requested() || command_failed_ || output_.is_closed() ||
        (command_ && command_->ended()))
        return true;
    const auto limit = static_cast<uint64_t>(options_.time_limit.count()) * 1'000'000;
    return limit > 0 && now_ns() - began_ >= limit;
}

// Waits until the next timer, or until something may have changed.
void UserSession::wait() {
    const uint64_t now = now_ns();
    const uint64_t longest = command_ ? longest_sleep_with_command_ns : longest_sleep_ns;
    uint64_t until = std::min(djs_user_next_timer(), now + longest);
    if (options_.time_limit.count() > 0)
        until = std::min(until,
                         began_ + static_cast<uint64_t>(options_.time_limit.count()) * 1'000'000);
    if (until <= now)
        return;
    output_.flush();
    sleep_until(until);
}

void UserSession::release_command() {
    if (auto released = command_->release(); !released) {
        outcome_.status = 1;
        output_.error(released.failure().message, "");
        command_failed_ = true;
    }
}

void UserSession::finish() {
    djs_session_stop();
    take_records();
    printer_.finish();
    djs_user_counts(&outcome_.counts);
    output_.counts(outcome_.counts);
    if (printer_.faults() && djs_user_failed())
        output_.warning(ended_by_fault);
    if (command_)
        if (const std::string failure = command_->failure(); !failure.empty()) {
            outcome_.status = 1;
            output_.warning("the command " + failure);
        }
    outcome_.errors = printer_.errors();
    if (printer_.errors() || djs_user_failed() || printer_.damaged())
        outcome_.status = 1;
}

SessionOutcome UserSession::run() {
    uint64_t* tail = nullptr;
    char* data = nullptr;
    uint64_t bytes = 0;
    djs_user_ring(0, &tail, &data, &bytes);
    merger_.emplace(std::vector<Ring>{Ring(tail, data, bytes)});
    if (djs_session_start()) {
        outcome_.status = 1;
        output_.error("the probes could not be started", "");
    }
    take_records();
    std::vector<AttachedProbe> probes;
    for (const ModuleMeta::Probe& probe : meta_.probes)
        probes.push_back({.point = probe.point,
                          .mechanism = probe.mechanism,
                          .planned = probe.mechanism,
                          .reason = ""});
    output_.probes(probes);
    output_.flush(); // before the command's output
    if (command_ && !is_over())
        release_command();
    while (!is_over()) {
        djs_user_run_due(now_ns());
        take_records();
        if (!djs_user_exit_requested())
            wait();
    }
    finish();
    return outcome_;
}

} // namespace

Result<SessionOutcome> run_in_user_space(const std::string& object, const std::string& meta,
                                         uint64_t ring_bytes, const SessionOptions& options) {
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
                        commands);
    djs_user_options runtime_options{};
    runtime_options.ring_bytes = ring_bytes;
    runtime_options.traced_pid = command ? command->pid() : options.traced_pid;
    runtime_options.drain = UserSession::drain;
    runtime_options.data = &session;
    const LoadedScript loaded(script->script(), runtime_options);
    if (!loaded.made())
        return Failure{djs_user_complaint(), ""};
    SessionOutcome outcome = session.run();
    commands.wait();
    (*opened)->finish(outcome);
    return outcome;
}

} // namespace djstap
