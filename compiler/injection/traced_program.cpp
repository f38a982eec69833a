// SPDX-License-Identifier: GPL-2.0-or-later
#include "injection/traced_program.h"

#include "arch/injection.h"
#include "system/file.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <elf.h>
#include <filesystem>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

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

constexpr uint64_t all_but_traps = ~(uint64_t{1} << (SIGTRAP - 1));

Result<uint64_t> entry_of(pid_t pid) {
    const std::string file = "/proc/" + std::to_string(pid) + "/auxv";
    auto bytes = read_file(file);
    if (!bytes)
        return bytes.failure();
    Elf64_auxv_t each{};
    for (size_t at = 0; at + sizeof each <= bytes->size(); at += sizeof each) {
        memcpy(&each, bytes->data() + at, sizeof each);
        if (each.a_type == AT_ENTRY)
            return each.a_un.a_val;
    }
    return Failure{file + " does not tell the program's entry", ""};
}

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
    : pid_(other.pid_), attached_(std::exchange(other.attached_, false)), entry_(other.entry_),
      entry_code_(std::move(other.entry_code_)), held_(other.held_), blocked_(other.blocked_),
      memory_(std::move(other.memory_)) {}

TracedProgram::~TracedProgram() {
    if (!attached_)
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

// Signals are blocked, but SIGSTOP cannot be: the program gets it when it goes on.
Status TracedProgram::wait_for_step() {
    for (;;) {
        const int status = wait_for(pid_);
        if (!WIFSTOPPED(status))
            return ended_early(status);
        if (WSTOPSIG(status) == SIGTRAP)
            return Done{};
        held_ = WSTOPSIG(status);
        if (ptrace(PTRACE_SINGLESTEP, pid_, nullptr, nullptr) != 0)
            return failed("the program cannot be stepped");
    }
}

Status TracedProgram::stop_at_entry() {
    const std::string folder = "/proc/" + std::to_string(pid_);
    auto entry = entry_of(pid_);
    if (!entry)
        return entry.failure();
    entry_ = *entry;
    memory_ = FileDescriptor(open((folder + "/mem").c_str(), O_RDWR | O_CLOEXEC));
    if (!memory_)
        return failed(folder + "/mem");
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
    std::error_code error;
    const auto threads =
        std::distance(std::filesystem::directory_iterator(folder + "/task", error), {});
    if (threads > 1)
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
    const auto before = arch::StoppedRegisters::of(pid_);
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
    if (auto stored = registers.store(pid_); !stored)
        return stored.failure();
    if (ptrace(PTRACE_SINGLESTEP, pid_, nullptr, nullptr) != 0)
        return failed("the program cannot be stepped");
    if (auto stopped = wait_for_step(); !stopped)
        return stopped.failure();
    auto after = arch::StoppedRegisters::of(pid_);
    if (!after)
        return after.failure();
    if (auto stored = before->store(pid_); !stored)
        return stored.failure();
    if (auto written = write(entry_, *code); !written)
        return written.failure();
    constexpr int64_t most_errors = 4095;
    if (after->result() < 0 && after->result() >= -most_errors)
        return Failure{std::strerror(static_cast<int>(-after->result())), ""};
    return static_cast<uint64_t>(after->result());
}

Status TracedProgram::set_slot_base(uint64_t distance) {
    auto registers = arch::StoppedRegisters::of(pid_);
    if (!registers)
        return registers.failure();
    registers->set_slot_base(distance);
    return registers->store(pid_);
}

Status TracedProgram::detach() {
    // From here on the program outlives djstap; until it is detached, EXITKILL ends it.
    if (auto done = call(SYS_prctl, {PR_SET_PDEATHSIG}); !done)
        return done.failure();
    if (auto unblocked = set_mask(pid_, blocked_); !unblocked)
        return unblocked;
    if (ptrace(PTRACE_DETACH, pid_, nullptr, static_cast<long>(held_)) != 0)
        return failed("the program cannot be continued");
    attached_ = false;
    return Done{};
}

} // namespace djstap::injection
