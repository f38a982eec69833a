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
#include <sys/ptrace.h>
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
    options.in_child = [] { return ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) == 0; };
    return options;
}

TracedProgram::TracedProgram(TracedProgram&& other) noexcept
    : pid_(other.pid_), attached_(std::exchange(other.attached_, false)), entry_(other.entry_),
      entry_code_(std::move(other.entry_code_)), signal_mask_(other.signal_mask_),
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
    if (auto stopped = program.stop_at_entry(); !stopped)
        return stopped.failure();
    return program;
}

// A signal in the middle of call() would run the program's handler, or let the program go on, in
// code that is not whole. The trap of a single step cannot wait.
Status TracedProgram::hold_signals() {
    uint64_t mask = 0;
    auto* const size = reinterpret_cast<void*>(sizeof mask);
    if (ptrace(PTRACE_GETSIGMASK, pid_, size, &mask) != 0)
        return failed("the program's signals cannot be held");
    uint64_t held = ~(uint64_t{1} << (SIGTRAP - 1));
    if (ptrace(PTRACE_SETSIGMASK, pid_, size, &held) != 0)
        return failed("the program's signals cannot be held");
    signal_mask_ = mask;
    return Done{};
}

Status TracedProgram::wait_for_stop(int wanted, bool steps) {
    for (;;) {
        const int status = wait_for(pid_);
        if (!WIFSTOPPED(status)) {
            attached_ = false;
            return Failure{"the command ended before its program began: it " +
                               (status ? describe_status(status) : std::string("is gone")),
                           ""};
        }
        if (WSTOPSIG(status) == wanted)
            return Done{};
        if (ptrace(steps ? PTRACE_SINGLESTEP : PTRACE_CONT, pid_, nullptr,
                   static_cast<long>(WSTOPSIG(status))) != 0)
            return failed("the command cannot be continued");
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
    if (auto written = write(entry_, entry_code_); !written)
        return written;
    return hold_signals();
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
    if (auto stopped = wait_for_stop(SIGTRAP, true); !stopped)
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

Status TracedProgram::detach() {
    if (signal_mask_ && ptrace(PTRACE_SETSIGMASK, pid_,
                               reinterpret_cast<void*>(sizeof *signal_mask_), &*signal_mask_) != 0)
        return failed("the program's signals cannot be released");
    if (ptrace(PTRACE_DETACH, pid_, nullptr, nullptr) != 0)
        return failed("the program cannot be continued");
    attached_ = false;
    return Done{};
}

} // namespace djstap::injection
