// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/session.h"

#include "session/command.h"
#include "session/control_file.h"
#include "session/merge.h"
#include "session/module_loader.h"
#include "session/printer.h"
#include "session/recorder.h"
#include "session/remedies.h"
#include "session/session_output.h"
#include "session/signals.h"
#include "session/traced_process.h"
#include "session/typed_input.h"
#include "system/file.h"

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <optional>
#include <poll.h>
#include <thread>
#include <unistd.h>

namespace djstap {

namespace {

using Clock = std::chrono::steady_clock;
constexpr int shortest_sleep = 1, longest_sleep = 20; // ms
constexpr auto unload_patience = std::chrono::seconds(5);

class Session : public SessionControls {
  public:
    Session(const SessionOptions& options, ControlFile& control, Output& output, Command* command,
            SystemCommands& commands)
        : options_(options), control_(control), output_(output), command_(command),
          merger_(control.rings()), clock_(control.clock()),
          printer_(control.meta(), clock_, output, &commands, control.symbols()),
          began_(Clock::now()) {
        output.control(*this);
    }

    SessionOutcome run();
    int switch_probe(uint32_t probe, bool on) override { return control_.switch_probe(probe, on); }
    std::optional<djs_counts> counts() override { return control_.counts(); }

  private:
    void sweep();
    void take(const RecordMerger::Sweep& sweep);
    void rest();
    template <class Work> int while_reading(Work work);
    bool may_start();
    bool input_has_ended() const;
    bool start();
    bool is_over();
    void finish();
    void report_command();

    const SessionOptions& options_;
    ControlFile& control_;
    Output& output_;
    Command* command_;
    RecordMerger merger_;
    RecordClock clock_;
    RecordPrinter printer_;
    Clock::time_point began_;
    SessionOutcome outcome_;
    int sleep_ = shortest_sleep;
    bool busy_ = false;
    bool stopping_ = false;
};

void Session::take(const RecordMerger::Sweep& sweep) {
    outcome_.records += sweep.records;
    for (uint32_t cpu : sweep.corrupt) {
        outcome_.status = 1;
        report_damaged_buffer("CPU " + std::to_string(cpu), output_);
    }
}

void Session::sweep() {
    // What a sweep passes on is older than the previous sweep: its times lie between two moments.
    const djs_clock now = read_clock();
    clock_.add(now);
    const auto done = merger_.sweep(now.cycles, [this](const Ring& ring) { printer_.print(ring); });
    take(done);
    busy_ = done.full;
    if (done.records || done.pending) {
        sleep_ = shortest_sleep;
    } else {
        output_.flush();
        sleep_ = std::min(2 * sleep_, longest_sleep);
    }
}

void Session::rest() {
    if (busy_)
        return;
    // A file that signals the end of the session wakes the reader immediately, which is useless
    // while the session ends.
    if (stopping_)
        std::this_thread::sleep_for(std::chrono::milliseconds(shortest_sleep));
    else
        control_.wait(sleep_);
}

// Runs an operation of the module that blocks, while another thread reads the records. This is the
// process's main thread: begin and end probes run in it, and their C code may walk the kernel's
// list of processes from there. Signals reach the other thread meanwhile. Returns what `work` does.
template <class Work> int Session::while_reading(Work work) {
    std::atomic<bool> done{false};
    std::thread reader([&] {
        while (!done.load(std::memory_order_acquire)) {
            sweep();
            rest();
        }
    });
    const sigset_t ending = StopSignals::requesting();
    sigset_t before;
    pthread_sigmask(SIG_BLOCK, &ending, &before);
    const int result = work();
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    done.store(true, std::memory_order_release);
    reader.join();
    return result;
}

// Waits for the standard input, if that is requested. Returns false if it ends, or a signal comes.
bool Session::may_start() {
    if (!options_.start_on_input)
        return true;
    output_.flush(); // that the module is loaded
    while (!StopSignals::stop_requested()) {
        pollfd input{STDIN_FILENO, POLLIN, 0};
        char byte;
        if (poll(&input, 1, longest_sleep) > 0)
            return read_some(STDIN_FILENO, &byte, 1) == 1;
    }
    return false;
}

// The end of the input is also the end of a session that its beginning has started.
bool Session::input_has_ended() const {
    pollfd input{STDIN_FILENO, POLLIN, 0};
    char byte;
    return options_.start_on_input && poll(&input, 1, 0) > 0 &&
           read_some(STDIN_FILENO, &byte, 1) == 0;
}

// Runs the begin probes and arms the others. Returns false if the session ends here.
bool Session::start() {
    // A module that was loaded without a reader already runs.
    if (control_.state() != DJS_STATE_LOADED)
        return true;
    const int traced = command_ ? static_cast<int>(command_->pid()) : options_.traced_pid;
    const int error = while_reading([&] { return control_.start(traced, command_ != nullptr); });
    if (error == 0)
        return true;
    outcome_.status = 1;
    output_.error(std::string("the probes could not be started: ") + std::strerror(error), "");
    return false;
}

bool Session::is_over() {
    if (StopSignals::stop_requested()) {
        outcome_.ended_by_signal = true;
        return true;
    }
    if (input_has_ended() || control_.exit_requested() || printer_.exit_requested() ||
        output_.is_closed())
        return true;
    if (control_.state() == DJS_STATE_STOPPED || (command_ && command_->ended()))
        return true;
    return options_.time_limit.count() > 0 && Clock::now() - began_ >= options_.time_limit;
}

void Session::report_command() {
    if (!command_)
        return;
    // Only an end of its own counts; a command that keeps running is not the session's concern.
    if (const std::string failure = command_->failure(); !failure.empty()) {
        outcome_.status = 1;
        output_.warning("the command " + failure);
    }
}

void Session::finish() {
    stopping_ = true;
    if (const int error = while_reading([this] { return control_.stop(); })) {
        outcome_.status = 1;
        output_.error(std::string("the probes could not be stopped: ") + std::strerror(error), "");
    }
    clock_.add(read_clock());
    const auto last = merger_.last_sweep([this](const Ring& ring) { printer_.print(ring); });
    take(last);
    printer_.finish();
    if (const auto counts = control_.counts()) {
        outcome_.counts = *counts;
        outcome_.counts.lost_records += last.unfinished;
        control_.report(outcome_.counts, output_);
    }
    report_damaged_records(printer_.damaged(), output_);
    if (control_.failed())
        if (const std::string remedy =
                remedy_of(printer_.last_error(), printer_.place_of_last_error(), false);
            !remedy.empty())
            output_.warning(remedy);
    report_command();
    outcome_.errors = printer_.errors();
    if (printer_.errors() || control_.failed() || printer_.damaged())
        outcome_.status = 1;
}

SessionOutcome Session::run() {
    if (may_start() && start()) {
        output_.probes(control_.probes(output_.wants_all_probes()));
        bool go_on = !is_over();
        if (go_on && command_) {
            // The output of begin probes precedes that of the command. A record is passed on by the
            // second sweep that sees it.
            sweep();
            sweep();
            output_.flush();
            if (auto released = command_->release(); !released) {
                outcome_.status = 1;
                output_.error(released.failure().message, "");
                go_on = false;
            }
        }
        std::optional<TypedInput> input;
        if (go_on && control_.meta().takes_input)
            input.emplace(control_.meta());
        while (go_on) {
            sweep();
            go_on = !is_over();
            if (go_on)
                rest();
        }
    }
    finish();
    return outcome_;
}

// Reads the module and checks what can be checked before it is loaded.
Result<ModuleFile> loadable_module(const SessionOptions& options) {
    auto module = read_module_file(options.module);
    if (!module)
        return module.failure();
    if (auto allowed = check_loading_allowed(); !allowed)
        return allowed.failure();
    if (auto fits = check_module_fits(*module); !fits)
        return fits.failure();
    return module;
}

// The local time zone, which the kernel does not know: for tz_gmtoff() and tz_name().
// A name that is longer than the kernel lets a parameter be would keep the module from loading.
std::string time_zone_parameters() {
    constexpr size_t longest_zone = 64;
    const std::time_t now = std::time(nullptr);
    std::tm local{};
    if (!localtime_r(&now, &local))
        return {};
    const std::string name = local.tm_zone ? local.tm_zone : "";
    const bool plain = std::all_of(name.begin(), name.end(), [](unsigned char character) {
        return std::isalnum(character) || character == '+' || character == '-';
    });
    std::string parameters = " tz_gmtoff=" + std::to_string(-local.tm_gmtoff);
    if (plain && !name.empty() && name.size() <= longest_zone)
        parameters += " tz_name=" + name;
    return parameters;
}

Status load(const SessionOptions& options, const ModuleFile& module) {
    std::string parameters = options.recorder ? "hold=1 overwrite=1 " : "hold=1 ";
    parameters += Watchdog::watched_parameters();
    parameters += time_zone_parameters();
    if (options.buffer_mb)
        parameters.append(" ring_kb=").append(std::to_string(uint64_t{options.buffer_mb} * 1024));
    if (!options.parameters.empty())
        parameters.append(" ").append(options.parameters);
    return load_module(module, parameters);
}

} // namespace

Result<SessionOutcome> run_session(const SessionOptions& options) {
    if (auto traced = check_traced_process(options); !traced)
        return traced.failure();
    auto arguments = command_of(options);
    if (!arguments)
        return arguments.failure();
    SessionOptions with_inputs = options;
    if (!options.attach)
        with_inputs.outputs.inputs.push_back(options.module);
    auto opened = SessionOutput::open(with_inputs);
    if (!opened)
        return opened.failure();
    Output* const output = &(*opened)->output();
    const StopSignals signals;
    std::string name = options.module;
    std::optional<ModuleFile> module;
    if (!options.attach) {
        auto loadable = loadable_module(options);
        if (!loadable)
            return loadable.failure();
        module = std::move(*loadable);
        name = module->name;
    }
    Watchdog watchdog(name, !options.attach);
    if (module)
        if (auto loaded = load(options, *module); !loaded)
            return loaded.failure();
    const auto give_up = [&](const Failure& failure) {
        if (options.attach)
            watchdog.dismiss();
        else if (unload_module(name, unload_patience))
            watchdog.dismiss();
        return failure;
    };

    std::optional<SessionOutcome> outcome;
    SystemCommands commands;
    bool stays = false;
    // The records of a recorder that is to be unloaded, which exist nowhere else.
    const auto read_stopped = [&](ControlFile& control) {
        outcome = read_recorder(control, *output, true);
        stays = !(*opened)->finish(*outcome);
        if (stays)
            output->warning("the recorder " + name +
                            " is stopped and stays loaded with its records: djrun --attach " +
                            name + " --stop reads them and unloads it");
    };
    {
        auto control = ControlFile::open(name);
        if (!control)
            return give_up(control.failure());
        if (options.attach && control->is_recorder() && !arguments->empty())
            return give_up({name + " is a flight recorder that is already running",
                            "djrun --attach " + name + " prints its records"});
        if (const Status begun = (*opened)->begin(); !begun)
            return give_up(begun.failure());
        std::optional<Command> command;
        if (options.recorder) {
            auto start = start_recorder(*control, options, *output);
            stays = start.outcome.status == 0 && !start.ended;
            outcome = start.outcome;
            if (stays) {
                output->line(name);
            } else {
                read_stopped(*control);
                outcome->status |= start.outcome.status;
            }
        } else if (options.attach && control->is_recorder()) {
            stays = !options.stop;
            if (options.stop)
                read_stopped(*control);
            else
                outcome = read_recorder(*control, *output, false);
        } else if (!arguments->empty()) {
            auto prepared = Command::prepare(*arguments);
            if (!prepared)
                return give_up(prepared.failure());
            command.emplace(std::move(*prepared));
        }
        if (!outcome)
            outcome =
                Session(options, *control, *output, command ? &*command : nullptr, commands).run();
    }
    if (stays) {
        watchdog.dismiss();
    } else if (outcome->counts.pinned) {
        output->warning("module " + name +
                        " stays loaded until the machine is restarted: not all of its probes could "
                        "be detached (see the kernel log)");
        watchdog.dismiss();
    } else if (outcome->counts.inside > 0) {
        output->warning("module " + name +
                        " stays loaded, detached from everything, until they have returned; then "
                        "it is unloaded");
        watchdog.hand_over();
    } else {
        if (auto unloaded = unload_module(name, unload_patience); !unloaded) {
            const Failure& why = unloaded.failure();
            output->warning(why.hint.empty() ? why.message : why.message + "; " + why.hint);
        }
        watchdog.dismiss();
    }
    commands.wait();
    (*opened)->finish(*outcome);
    return *outcome;
}

} // namespace djstap
