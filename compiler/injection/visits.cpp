// SPDX-License-Identifier: GPL-2.0-or-later
// System calls that a thread of the program executes for its tracer. The code is planted at the
// program's entry, where nothing else runs any more. Whenever the tracer is killed, the thread
// either has not begun, or finds its way back: it has the registers, the mask of signals and the
// memory that it had.
#include "injection/traced_program.h"

#include "arch/injection.h"
#include "injection/memory_map.h"
#include "injection/process_facts.h"
#include "injection/tracing.h"

#include <algorithm>
#include <cstddef>
#include <linux/rseq.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

namespace djstap::injection {

// Keeps the signal of the caller's stop with its details: the stops of further steps take the place
// of this one.
void TracedProgram::hold(int signal) {
    held_ = signal;
    has_moved_ = false;
    held_details_.emplace();
    if (signal == 0 || ptrace(PTRACE_GETSIGINFO, caller_, nullptr, &*held_details_) != 0)
        held_details_.reset();
}

// Lets the caller go on to its next stop: at a system call, or where PTRACE_INTERRUPT stops it.
// Signals are blocked, but SIGSTOP cannot be: the program gets it when it goes on, beside a signal
// that is held already. Nor is a fault of the program's own blocked that was on its way.
Status TracedProgram::run_to(Stop wanted) {
    const auto request = wanted == Stop::Call ? PTRACE_SYSCALL : PTRACE_CONT;
    for (;;) {
        if (ptrace(request, caller_, nullptr, nullptr) != 0)
            return failed("the program cannot be continued");
        const int status = wait_for(caller_);
        if (!WIFSTOPPED(status))
            return ended_early(status);
        has_moved_ = true;
        const int signal = WSTOPSIG(status);
        if (is_interruption(status) ? wanted == Stop::Interruption : signal == (SIGTRAP | 0x80))
            return Done{};
        if (is_interruption(status))
            continue;
        if (signal == SIGSTOP)
            is_to_stop_ = true;
        else
            hold(signal);
    }
}

// Has the caller, which ran since a signal was held, get that signal when it is let go: only where
// a thread stops to get one does the kernel take what its tracer passes on. It is sent once more,
// which it also gets if this process is killed. The instruction of a fault is repeated anyway.
void TracedProgram::return_held() {
    if (!has_moved_ || held_ == 0)
        return;
    const bool is_fault = held_ == SIGSEGV || held_ == SIGBUS || held_ == SIGILL || held_ == SIGFPE;
    if (held_ == SIGSTOP)
        is_to_stop_ = true;
    const bool is_sent = held_ != SIGSTOP &&
                         !(is_fault && held_details_ && held_details_->si_code > 0) &&
                         syscall(SYS_tgkill, pid_, caller_, held_) == 0;
    const int wanted = std::exchange(held_, 0);
    while (is_sent && ptrace(PTRACE_CONT, caller_, nullptr, nullptr) == 0) {
        const int status = wait_for(caller_);
        if (!WIFSTOPPED(status))
            break;
        if (is_interruption(status))
            continue;
        held_ = WSTOPSIG(status); // if it is another one, that which is wanted comes next
        break;
    }
    if (held_ != wanted)
        held_details_.reset();
}

// Lets the caller execute the system call that its registers prepare. Single steps would do, but
// without its tracer, a thread that is stepped gets SIGTRAP.
Status TracedProgram::execute_call() {
    for (int i = 0; i < 2; i++) // it stops when the call begins, and when it ends
        if (auto stopped = run_to(Stop::Call); !stopped)
            return stopped;
    // Only where signals are delivered does the kernel repeat a system call that was interrupted.
    // At the entry there is none.
    if (was_started_)
        return Done{};
    if (ptrace(PTRACE_INTERRUPT, caller_, nullptr, nullptr) != 0)
        return failed("the program cannot be stopped");
    return run_to(Stop::Interruption);
}

// Returns whether one of them executes a system call for a tracer that is gone, or is on its way
// back; or the program's own code in that place.
bool TracedProgram::is_visiting() const {
    const uint64_t end = entry_ + arch::visit_code().size();
    return std::any_of(stopped_.begin(), stopped_.end(), [&](const auto& each) {
        const auto registers = arch::StoppedRegisters::of(each.first);
        return registers && registers->instruction_pointer() >= entry_ &&
               registers->instruction_pointer() < end;
    });
}

// The way back leads through the entry as long as a thread is on it.
void TracedProgram::mend_entry() {
    if (has_visit_code())
        (void)write(entry_, entry_code_);
}

bool TracedProgram::has_visit_code() {
    const auto there = read(entry_, arch::visit_code().size());
    return there && *there == arch::visit_code();
}

// A thread that the kernel would take out of a restartable sequence (rseq) goes on where that
// leads. The kernel looks when the thread runs again: if it executes something else first, the
// sequence would be forgotten, and be finished after others have changed what it has read.
void TracedProgram::leave_sequence(arch::StoppedRegisters& registers, pid_t thread) {
    __ptrace_rseq_configuration registered{};
    if (ptrace(PTRACE_GET_RSEQ_CONFIGURATION, thread, sizeof registered, &registered) <= 0)
        return; // neither has the kernel any, or it does not tell
    const auto at = read_as<uint64_t>(registered.rseq_abi_pointer + offsetof(rseq, rseq_cs));
    const auto sequence = at && *at != 0 ? read_as<rseq_cs>(*at) : std::nullopt;
    if (!sequence ||
        registers.instruction_pointer() - sequence->start_ip >= sequence->post_commit_offset)
        return;
    registers.set_instruction_pointer(sequence->abort_ip);
    (void)registers.store(thread);
}

// A thread executes system calls that has room for the way back.
Status TracedProgram::choose_caller() {
    const auto map = MemoryMap::of(stopped_.empty() ? pid_ : stopped_.begin()->first);
    Failure none{"there is no process " + std::to_string(pid_), ""};
    for (const auto& [thread, signal] : stopped_) {
        if (!is_thread_of(pid_, thread))
            continue;
        none.message = "no thread of the program has room on its stack";
        auto registers = arch::StoppedRegisters::of(thread);
        const uint64_t at = registers ? registers->way_back(0).stack_pointer : 0;
        const Mapping* const stack = map && at ? map->at(at) : nullptr;
        if (!stack || !stack->writable || registers->stack_pointer() > stack->range.end)
            continue;
        leave_sequence(*registers, thread);
        caller_ = thread;
        hold(signal);
        if (ptrace(PTRACE_GETSIGMASK, caller_, sizeof blocked_, &blocked_) != 0)
            return failed("the program's signals are not known");
        return Done{};
    }
    return none;
}

// Each step leaves the thread able to go on without this process: the way back is there before the
// thread is on it, and it restores the mask whether it was changed or not. What is below the red
// zone may belong to somebody else: stacks of coroutines are small.
Result<uint64_t> TracedProgram::call(long number, const std::array<uint64_t, 6>& arguments) {
    const auto before = arch::StoppedRegisters::of(caller_);
    if (!before)
        return before.failure();
    const arch::WayBack back = before->way_back(blocked_);
    const auto below = read(back.stack_pointer, back.words.size());
    if (!below)
        return below.failure();
    if (auto written = write(back.stack_pointer, back.words); !written)
        return written.failure();
    if (auto written = write(entry_, arch::visit_code()); !written)
        return written.failure();
    arch::StoppedRegisters registers = *before;
    registers.set_instruction_pointer(entry_);
    registers.set_stack_pointer(back.stack_pointer);
    registers.set_call(number, arguments);
    if (auto stored = registers.store(caller_); !stored)
        return stored.failure();
    if (auto blocked = set_mask(caller_, all_but_traps); !blocked)
        return blocked.failure();
    if (auto executed = execute_call(); !executed)
        return executed.failure();
    auto after = arch::StoppedRegisters::of(caller_);
    if (!after)
        return after.failure();
    if (auto unblocked = set_mask(caller_, blocked_); !unblocked)
        return unblocked.failure();
    if (auto stored = before->store(caller_); !stored)
        return stored.failure();
    if (auto written = write(back.stack_pointer, *below); !written)
        return written.failure();
    if (auto written = write(entry_, entry_code_); !written)
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

} // namespace djstap::injection
