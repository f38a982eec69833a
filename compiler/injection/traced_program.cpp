// SPDX-License-Identifier: GPL-2.0-or-later
#include "injection/traced_program.h"

#include "arch/injection.h"
#include "injection/process_facts.h"
#include "system/file.h"
#include "system/process_status.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <elf.h>
#include <filesystem>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

namespace djstap::injection {

namespace {

Failure failed(const std::string& what) {
    return {what + ": " + std::strerror(errno), ""};
}

// Waits for the thread, also if a signal arrives here.
int wait_for(pid_t pid) {
    int status = 0;
    while (waitpid(pid, &status, __WALL) < 0)
        if (errno != EINTR)
            return 0;
    return status;
}

// Of the kernel, whose sets have 64 signals.
Status set_mask(pid_t pid, uint64_t mask) {
    if (ptrace(PTRACE_SETSIGMASK, pid, sizeof mask, &mask) != 0)
        return failed("the command's signals cannot be blocked");
    return Done{};
}

// Whether a thread stopped as PTRACE_INTERRUPT asks for, or with all of its process.
bool is_interruption(int status) {
    return status >> 16 == PTRACE_EVENT_STOP;
}

constexpr uint64_t all_but_traps = ~(uint64_t{1} << (SIGTRAP - 1));

} // namespace

ProcessOptions TracedProgram::options(int inherited) {
    ProcessOptions options;
    options.inherited = {inherited};
    options.in_child = [parent = getpid()] {
        // A signal would stop a traced process before anybody waits for that.
        sigset_t most;
        sigfillset(&most);
        sigdelset(&most, SIGTRAP);
        sigprocmask(SIG_SETMASK, &most, nullptr);
        // Without djstap, the tracer would be process 1, which would never let it go on.
        return prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent &&
               ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) == 0;
    };
    return options;
}

TracedProgram::TracedProgram(TracedProgram&& other) noexcept
    : pid_(other.pid_), caller_(other.caller_), was_started_(other.was_started_),
      attached_(std::exchange(other.attached_, false)), stopped_(std::exchange(other.stopped_, {})),
      entry_(other.entry_), entry_code_(std::move(other.entry_code_)), held_(other.held_),
      held_details_(other.held_details_), is_to_stop_(other.is_to_stop_), blocked_(other.blocked_),
      memory_(std::move(other.memory_)) {}

TracedProgram::~TracedProgram() {
    if (!was_started_)
        resume();
    if (!attached_ || !was_started_)
        return;
    kill(pid_, SIGKILL);
    ptrace(PTRACE_DETACH, pid_, nullptr, nullptr);
}

Result<TracedProgram> TracedProgram::run_to_entry(Command& command) {
    if (auto released = command.release(); !released)
        return released.failure();
    TracedProgram program(command.pid());
    if (auto stopped = program.wait_for_stop(SIGTRAP); !stopped)
        return stopped.failure();
    // Until the program is whole again, it must not run without its tracer.
    if (ptrace(PTRACE_SETOPTIONS, program.pid_, nullptr, PTRACE_O_EXITKILL) != 0)
        return failed("the command cannot be traced");
    if (auto unblocked = set_mask(program.pid_, 0); !unblocked)
        return unblocked.failure();
    if (auto stopped = program.stop_at_entry(); !stopped)
        return stopped.failure();
    return program;
}

Failure TracedProgram::ended_early(int status) {
    attached_ = false;
    return {"the command ended before its program began: it " +
                (status ? describe_status(status) : std::string("is gone")),
            ""};
}

Status TracedProgram::wait_for_stop(int wanted) {
    for (;;) {
        const int status = wait_for(pid_);
        if (!WIFSTOPPED(status))
            return ended_early(status);
        if (WSTOPSIG(status) == wanted)
            return Done{};
        if (ptrace(PTRACE_CONT, pid_, nullptr, static_cast<long>(WSTOPSIG(status))) != 0)
            return failed("the command cannot be continued");
    }
}

// Keeps the signal of the caller's stop with its details: the stops of further steps take the place
// of this one.
void TracedProgram::hold(int signal) {
    held_ = signal;
    held_details_.emplace();
    if (signal == 0 || ptrace(PTRACE_GETSIGINFO, caller_, nullptr, &*held_details_) != 0)
        held_details_.reset();
}

// Signals are blocked, but SIGSTOP cannot be: the program gets it when it goes on, beside a signal
// that is held already. Nor is a fault of the program's own blocked that was on its way.
Status TracedProgram::wait_for_step() {
    for (;;) {
        const int status = wait_for(caller_);
        if (!WIFSTOPPED(status))
            return ended_early(status);
        if (WSTOPSIG(status) == SIGTRAP && !is_interruption(status))
            return Done{};
        if (!is_interruption(status) && WSTOPSIG(status) == SIGSTOP && held_ != 0)
            is_to_stop_ = true;
        else if (!is_interruption(status))
            hold(WSTOPSIG(status));
        if (ptrace(PTRACE_SINGLESTEP, caller_, nullptr, nullptr) != 0)
            return failed("the program cannot be stepped");
    }
}

// A thread gets one signal when it is let go; this one stops all of them, whoever gets it.
void TracedProgram::send_stop() {
    if (std::exchange(is_to_stop_, false))
        kill(pid_, SIGSTOP);
}

Status TracedProgram::open_memory() {
    const std::string folder = "/proc/" + std::to_string(pid_);
    const auto entry = auxiliary(pid_, AT_ENTRY);
    if (!entry)
        return failed(folder + "/auxv does not tell the program's entry");
    entry_ = *entry;
    memory_ = FileDescriptor(open((folder + "/mem").c_str(), O_RDWR | O_CLOEXEC));
    if (!memory_)
        return failed(folder + "/mem");
    return Done{};
}

Result<TracedProgram> TracedProgram::of_running(pid_t pid) {
    TracedProgram program(pid);
    program.was_started_ = program.attached_ = false;
    if (auto opened = program.open_memory(); !opened)
        return Failure{opened.failure().message, program.cannot_stop(pid).hint};
    if (auto process = check_is_process(pid); !process)
        return process.failure();
    return program;
}

// What was opened stays the memory of the program before. That of a process that ends is gone, too,
// but it has no program any more.
bool TracedProgram::has_executed() const {
    char byte = 0;
    std::error_code error;
    return pread(memory_.get(), &byte, 1, static_cast<off_t>(entry_)) == 0 &&
           !std::filesystem::read_symlink("/proc/" + std::to_string(pid_) + "/exe", error).empty();
}

Failure TracedProgram::cannot_stop(pid_t thread) const {
    Failure failure = failed("process " + std::to_string(pid_) + " cannot be stopped");
    if (errno != EPERM && errno != EACCES)
        return failure;
    const auto tracer = field_of_status(thread, "TracerPid");
    const auto scope = read_file("/proc/sys/kernel/yama/ptrace_scope");
    if (tracer && *tracer != "0")
        failure.hint = "another process traces it";
    else if (scope && !scope->starts_with('0'))
        failure.hint = "kernel.yama.ptrace_scope is " + scope->substr(0, 1) +
                       ": start the program with -c, or as root, without --runtime=process, use "
                       "uprobes";
    else
        failure.hint = "only its user can do that, with all of its rights";
    return failure;
}

// Returns false if the thread has ended.
Result<bool> TracedProgram::stop_thread(pid_t thread) {
    if (ptrace(PTRACE_SEIZE, thread, nullptr, nullptr) != 0) {
        const int error = errno;
        if (error == ESRCH || has_ended(thread))
            return false;
        errno = error;
        return cannot_stop(thread);
    }
    ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr);
    // A thread that waits for its child of vfork() stops when that has executed a program.
    constexpr int patience = 2000;
    for (int i = 0; i < patience; i++) {
        int status = 0;
        const pid_t found = waitpid(thread, &status, __WALL | WNOHANG);
        if (found == thread && WIFSTOPPED(status)) {
            stopped_[thread] = is_interruption(status) ? 0 : WSTOPSIG(status);
            return true;
        }
        if (found == thread || (found < 0 && errno == ECHILD))
            return false;
        usleep(1000);
    }
    // It is let go with the tracer, or with the next stop.
    stopped_[thread] = 0;
    return Failure{"a thread of process " + std::to_string(pid_) + " does not stop", ""};
}

// Returns whether any of them has a thread that was not stopped yet.
Result<bool> TracedProgram::stop_threads(const std::vector<pid_t>& processes) {
    bool any = false;
    for (const pid_t process : processes)
        for (const pid_t thread : threads_of(process)) {
            if (stopped_.count(thread))
                continue;
            auto stopped = stop_thread(thread);
            if (!stopped)
                return stopped;
            any |= *stopped;
        }
    return any;
}

Status TracedProgram::stop() {
    if (was_started_ && attached_)
        return Done{};
    was_started_ = false;
    std::vector<pid_t> processes = {pid_};
    for (bool more = true; more;) {
        auto stopped = stop_threads(processes);
        if (!stopped) {
            resume();
            return stopped.failure();
        }
        // Threads that run may create others. When none does, no child of vfork() is left.
        more = *stopped || add_sharing_processes(pid_, processes);
    }
    auto caller = stopped_.begin();
    while (caller != stopped_.end() && !is_thread_of(pid_, caller->first))
        ++caller;
    if (caller == stopped_.end()) {
        resume();
        return Failure{"there is no process " + std::to_string(pid_), ""};
    }
    caller_ = caller->first;
    hold(caller->second);
    if (ptrace(PTRACE_GETSIGMASK, caller_, sizeof blocked_, &blocked_) != 0 ||
        !set_mask(caller_, all_but_traps)) {
        const Failure failure = failed("the program's signals cannot be blocked");
        resume();
        return failure;
    }
    attached_ = true;
    return Done{};
}

std::vector<pid_t> TracedProgram::threads() const {
    if (was_started_)
        return {pid_};
    std::vector<pid_t> threads;
    for (const auto& [thread, signal] : stopped_)
        threads.push_back(thread);
    return threads;
}

void TracedProgram::resume() {
    if (attached_)
        (void)set_mask(caller_, blocked_);
    if (attached_ && held_details_ && held_details_->si_signo == held_)
        ptrace(PTRACE_SETSIGINFO, caller_, nullptr, &*held_details_);
    held_details_.reset();
    send_stop();
    for (const auto& [thread, signal] : stopped_)
        ptrace(PTRACE_DETACH, thread, nullptr,
               static_cast<long>(attached_ && thread == caller_ ? held_ : signal));
    attached_ = false;
    stopped_.clear();
}

Status TracedProgram::stop_at_entry() {
    if (auto opened = open_memory(); !opened)
        return opened;
    const std::string_view stop = arch::stop_instruction();
    auto code = read(entry_, std::max(stop.size(), arch::kernel_call_instruction().size()));
    if (!code)
        return code.failure();
    entry_code_ = std::move(*code);
    if (auto written = write(entry_, stop); !written)
        return written;
    if (ptrace(PTRACE_CONT, pid_, nullptr, nullptr) != 0)
        return failed("the command cannot be continued");
    if (auto stopped = wait_for_stop(SIGTRAP); !stopped)
        return stopped;
    auto registers = arch::StoppedRegisters::of(pid_);
    if (!registers)
        return registers.failure();
    if (registers->instruction_pointer() != entry_ + stop.size())
        return Failure{"the program stopped before its entry", ""};
    if (registers->has_slot_base())
        return Failure{"the program uses the register that finds a thread's counters", ""};
    registers->set_instruction_pointer(entry_);
    if (auto stored = registers->store(pid_); !stored)
        return stored;
    if (threads_of(pid_).size() > 1)
        return Failure{"a library has started threads before the program began",
                       "as root, without --runtime=process, uprobes reach it"};
    if (ptrace(PTRACE_GETSIGMASK, pid_, sizeof blocked_, &blocked_) != 0)
        return failed("the command's signals cannot be blocked");
    if (auto blocked = set_mask(pid_, all_but_traps); !blocked)
        return blocked;
    return write(entry_, entry_code_);
}

Status TracedProgram::write(uint64_t address, std::string_view bytes) {
    if (pwrite(memory_.get(), bytes.data(), bytes.size(), static_cast<off_t>(address)) !=
        static_cast<ssize_t>(bytes.size()))
        return failed("the program's memory cannot be written");
    return Done{};
}

Result<std::string> TracedProgram::read(uint64_t address, size_t size) {
    std::string bytes(size, '\0');
    if (pread(memory_.get(), bytes.data(), size, static_cast<off_t>(address)) !=
        static_cast<ssize_t>(size))
        return failed("the program's memory cannot be read");
    return bytes;
}

// The instruction is planted at the entry, where nothing else runs meanwhile.
Result<uint64_t> TracedProgram::call(long number, const std::array<uint64_t, 6>& arguments) {
    const auto before = arch::StoppedRegisters::of(caller_);
    if (!before)
        return before.failure();
    const std::string_view instruction = arch::kernel_call_instruction();
    auto code = read(entry_, instruction.size());
    if (!code)
        return code.failure();
    if (auto written = write(entry_, instruction); !written)
        return written.failure();
    arch::StoppedRegisters registers = *before;
    registers.set_instruction_pointer(entry_);
    registers.set_call(number, arguments);
    if (auto stored = registers.store(caller_); !stored)
        return stored.failure();
    if (ptrace(PTRACE_SINGLESTEP, caller_, nullptr, nullptr) != 0)
        return failed("the program cannot be stepped");
    if (auto stopped = wait_for_step(); !stopped)
        return stopped.failure();
    auto after = arch::StoppedRegisters::of(caller_);
    if (!after)
        return after.failure();
    if (auto stored = before->store(caller_); !stored)
        return stored.failure();
    if (auto written = write(entry_, *code); !written)
        return written.failure();
    constexpr int64_t most_errors = 4095;
    if (after->result() < 0 && after->result() >= -most_errors)
        return Failure{std::strerror(static_cast<int>(-after->result())), ""};
    return static_cast<uint64_t>(after->result());
}

Status TracedProgram::set_slot_base(uint64_t distance) {
    for (const pid_t thread : threads()) {
        auto registers = arch::StoppedRegisters::of(thread);
        if (!registers)
            return registers.failure();
        registers->set_slot_base(distance);
        if (auto stored = registers->store(thread); !stored)
            return stored;
    }
    return Done{};
}

Status TracedProgram::detach() {
    if (!was_started_) {
        resume();
        return Done{};
    }
    // From here on the program outlives djstap; until it is detached, EXITKILL ends it.
    if (auto done = call(SYS_prctl, {PR_SET_PDEATHSIG}); !done)
        return done.failure();
    if (auto unblocked = set_mask(pid_, blocked_); !unblocked)
        return unblocked;
    send_stop();
    if (ptrace(PTRACE_DETACH, pid_, nullptr, static_cast<long>(held_)) != 0)
        return failed("the program cannot be continued");
    attached_ = false;
    return Done{};
}

} // namespace djstap::injection
