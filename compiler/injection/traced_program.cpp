// SPDX-License-Identifier: GPL-2.0-or-later
#include "injection/traced_program.h"

#include "arch/injection.h"
#include "injection/process_facts.h"
#include "injection/tracing.h"
#include "system/file.h"
#include "system/process_status.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <elf.h>
#include <filesystem>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace djstap::injection {

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
      held_details_(other.held_details_), has_moved_(other.has_moved_),
      is_to_stop_(other.is_to_stop_), blocked_(other.blocked_), memory_(std::move(other.memory_)),
      device_(other.device_), inode_(other.inode_) {}

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
    if (ptrace(PTRACE_SETOPTIONS, program.pid_, nullptr,
               PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD) != 0)
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

// A thread gets one signal when it is let go; this one stops all of them, whoever gets it. SIGCONT
// that has come since then ends it.
void TracedProgram::send_stop() {
    constexpr uint64_t go_on = uint64_t{1} << (SIGCONT - 1);
    const auto pending = field_of_status(pid_, "ShdPnd");
    const bool goes_on =
        held_ == SIGCONT || (pending && (strtoull(pending->c_str(), nullptr, 16) & go_on) != 0);
    if (std::exchange(is_to_stop_, false) && !goes_on)
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
    struct stat program{};
    if (stat((folder + "/exe").c_str(), &program) != 0)
        return failed(folder + "/exe");
    device_ = program.st_dev;
    inode_ = program.st_ino;
    auto code = read(entry_, arch::visit_code().size());
    if (!code)
        return code.failure();
    entry_code_ = std::move(*code);
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

bool TracedProgram::executes_same(pid_t process) const {
    struct stat program{};
    return stat(("/proc/" + std::to_string(process) + "/exe").c_str(), &program) == 0 &&
           program.st_dev == device_ && program.st_ino == inode_;
}

std::string why_not_stopped(std::string_view tracer, std::string_view scope) {
    if (!tracer.empty() && tracer != "0")
        return "another process traces it";
    if (!scope.empty() && !scope.starts_with('0'))
        return "kernel.yama.ptrace_scope is " + std::string(scope.substr(0, 1)) +
               ": start the program with -c, or as root, without --runtime=process, use uprobes";
    return "only its user can do that, with all of its rights";
}

Failure TracedProgram::cannot_stop(pid_t thread) const {
    const Failure failure = failed("process " + std::to_string(pid_) + " cannot be stopped");
    if (errno != EPERM && errno != EACCES)
        return failure;
    const auto tracer = field_of_status(thread, "TracerPid");
    const auto scope = read_file("/proc/sys/kernel/yama/ptrace_scope");
    return {failure.message, why_not_stopped(tracer ? *tracer : "", scope ? *scope : "")};
}

// Returns false if the thread has ended.
Result<bool> TracedProgram::stop_thread(pid_t thread) {
    if (ptrace(PTRACE_SEIZE, thread, nullptr, PTRACE_O_TRACESYSGOOD) != 0) {
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

Status TracedProgram::stop_all() {
    std::vector<pid_t> processes = {pid_};
    for (bool more = true; more;) {
        auto stopped = stop_threads(processes);
        if (!stopped)
            return stopped.failure();
        // Threads that run may create others. When none does, no child of vfork() is left.
        more = *stopped || add_sharing_processes(pid_, processes);
    }
    return choose_caller();
}

Status TracedProgram::stop() {
    if (was_started_ && attached_)
        return Done{};
    was_started_ = false;
    constexpr int attempts = 1000;
    bool is_visited = true;
    for (int i = 0; i < attempts; i++) {
        if (auto stopped = stop_all(); !stopped) {
            resume();
            return stopped;
        }
        if (!is_visiting()) {
            attached_ = true;
            mend_entry();
            return Done{};
        }
        is_visited = has_visit_code();
        resume();
        usleep(1000);
    }
    if (is_visited)
        return Failure{"a thread does not end a system call for another tracer", ""};
    return Failure{
        "a thread of the program stays in the code at its entry, where djstap has others "
        "execute system calls",
        "as root, without --runtime=process, uprobes do not need that"};
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
        return_held();
    if (attached_ && held_details_ && held_details_->si_signo == held_)
        ptrace(PTRACE_SETSIGINFO, caller_, nullptr, &*held_details_);
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
