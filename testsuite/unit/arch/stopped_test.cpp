// SPDX-License-Identifier: GPL-2.0-or-later
// A thread that a tracer has stopped executes a system call, and goes on as it was.
#include "arch/injection.h"
#include "system/process.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <functional>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

// Loads numbers into all registers, stops, and returns the number of the first register that has
// another one behind that; 0 if there is none. Also compares the flags, and what is below the stack
// pointer.
extern "C" int djs_test_stop();
asm(R"(
    .text
    .type djs_test_stop, @function
djs_test_stop:
    push %rbx
    push %rbp
    push %r12
    push %r13
    push %r14
    push %r15
    movabs $0x1122334455667788, %rax
    mov %rax, -8(%rsp)
    mov %rax, -128(%rsp)
    mov $0x101, %eax
    mov $0x102, %ebx
    mov $0x103, %ecx
    mov $0x104, %edx
    mov $0x105, %esi
    mov $0x106, %edi
    mov $0x107, %ebp
    mov $0x108, %r8d
    mov $0x109, %r9d
    mov $0x10a, %r10d
    mov $0x10b, %r11d
    mov $0x10c, %r12d
    mov $0x10d, %r13d
    mov $0x10e, %r14d
    mov $0x10f, %r15d
    stc
    std
    int3
    jc 1f
    mov $16, %eax
    jmp 3f
1:  cmp $0x101, %eax
    mov $1, %eax
    jne 3f
    .macro check register, number
    cmp $0x100+\number, %\register
    mov $\number, %eax
    jne 3f
    .endm
    check rbx, 2
    check rcx, 3
    check rdx, 4
    check rsi, 5
    check rdi, 6
    check rbp, 7
    check r8, 8
    check r9, 9
    check r10, 10
    check r11, 11
    check r12, 12
    check r13, 13
    check r14, 14
    check r15, 15
    .purgem check
    movabs $0x1122334455667788, %rcx
    cmp %rcx, -8(%rsp)
    mov $17, %eax
    jne 3f
    cmp %rcx, -128(%rsp)
    mov $18, %eax
    jne 3f
    pushfq
    pop %rcx
    test $0x400, %ecx
    mov $19, %eax
    jz 3f
    xor %eax, %eax
3:  cld
    pop %r15
    pop %r14
    pop %r13
    pop %r12
    pop %rbp
    pop %rbx
    ret
    .size djs_test_stop, .-djs_test_stop
)");

namespace djstap::arch {
namespace {

// A child that this process traces.
class Traced {
  public:
    explicit Traced(const std::function<int()>& body) {
        pid_ = fork();
        if (pid_ == 0) {
            ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
            raise(SIGSTOP);
            _exit(body());
        }
        EXPECT_TRUE(wait_for_stop());
    }
    ~Traced() {
        if (pid_ > 0) {
            kill(pid_, SIGKILL);
            waitpid(pid_, nullptr, 0);
        }
    }
    Traced(const Traced&) = delete;
    Traced& operator=(const Traced&) = delete;

    pid_t pid() const { return pid_; }
    bool wait_for_stop() {
        int status = 0;
        return waitpid(pid_, &status, 0) == pid_ && WIFSTOPPED(status);
    }
    bool go_on() { return ptrace(PTRACE_CONT, pid_, nullptr, nullptr) == 0 && wait_for_stop(); }
    bool detach() const { return ptrace(PTRACE_DETACH, pid_, nullptr, nullptr) == 0; }
    void write_words(uint64_t address, const std::string& words) const {
        for (size_t i = 0; i < words.size(); i += sizeof(uint64_t)) {
            uint64_t word = 0;
            std::memcpy(&word, words.data() + i, sizeof word);
            EXPECT_EQ(ptrace(PTRACE_POKEDATA, pid_, address + i, word), 0);
        }
    }
    // Returns its exit status.
    int status() {
        int status = 0;
        waitpid(std::exchange(pid_, -1), &status, 0);
        return exit_status(status);
    }

  private:
    pid_t pid_ = -1;
};

class Visit : public testing::Test {
  protected:
    void SetUp() override {
        page_ = mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
                     -1, 0);
        ASSERT_NE(page_, MAP_FAILED);
        std::memcpy(page_, visit_code().data(), visit_code().size());
        ASSERT_EQ(pipe(pipe_), 0);
    }
    void TearDown() override {
        munmap(page_, 4096);
        close(pipe_[0]);
        close(pipe_[1]);
    }
    // Has the thread write six letters into the pipe, and leaves it.
    void visit(const Traced& child, uint64_t blocked) {
        auto registers = StoppedRegisters::of(child.pid());
        ASSERT_TRUE(registers);
        const WayBack back = registers->way_back(blocked);
        child.write_words(back.stack_pointer, back.words);
        registers->set_stack_pointer(back.stack_pointer);
        registers->set_instruction_pointer(reinterpret_cast<uint64_t>(page_));
        registers->set_call(SYS_write, {static_cast<uint64_t>(pipe_[1]),
                                        reinterpret_cast<uint64_t>(text), 6, 0, 0, 0});
        ASSERT_TRUE(registers->store(child.pid()));
        ASSERT_TRUE(child.detach());
        char got[16] = {};
        EXPECT_EQ(read(pipe_[0], got, sizeof got), 6);
        EXPECT_STREQ(got, text);
    }
    // Stops the thread while it waits in a system call, and returns what the kernel has in the
    // place of the call's result.
    static int64_t interrupted_result(Traced& child) {
        for (int tries = 0; tries < 500; tries++) {
            ptrace(PTRACE_CONT, child.pid(), nullptr, nullptr);
            usleep(2000);
            kill(child.pid(), SIGSTOP);
            if (!child.wait_for_stop())
                break;
            const auto registers = StoppedRegisters::of(child.pid());
            if (registers && registers->repeats_call())
                return registers->result();
        }
        ADD_FAILURE() << "it waits in no system call";
        return 0;
    }
    static constexpr const char* text = "visits";
    void* page_ = MAP_FAILED;
    int pipe_[2] = {-1, -1};
};

constexpr uint64_t mask_of(int signal) {
    return uint64_t{1} << (signal - 1);
}

bool has_blocked(int wanted) {
    sigset_t now;
    sigprocmask(SIG_BLOCK, nullptr, &now);
    for (int signal = 1; signal < 32; signal++)
        if (sigismember(&now, signal) != (signal == wanted))
            return false;
    return true;
}

TEST_F(Visit, LeavesEverythingAsItWas) {
    Traced child([] {
        const int changed = djs_test_stop();
        return changed ? 100 + changed : has_blocked(SIGUSR1) ? 0 : 99;
    });
    ASSERT_TRUE(child.go_on()); // to the stop
    visit(child, mask_of(SIGUSR1));
    EXPECT_EQ(child.status(), 0);
}

TEST_F(Visit, RepeatsASystemCallThatWasInterrupted) {
    int wait_for[2];
    ASSERT_EQ(pipe(wait_for), 0);
    Traced child([&] {
        char byte = 0;
        return syscall(SYS_read, wait_for[0], &byte, 1) == 1 && byte == 'x' ? 0 : 1;
    });
    EXPECT_EQ(interrupted_result(child), -512); // ERESTARTSYS
    visit(child, 0);
    ASSERT_EQ(write(wait_for[1], "x", 1), 1);
    EXPECT_EQ(child.status(), 0);
    close(wait_for[0]);
    close(wait_for[1]);
}

// The rest of a sleep is a system call of its own.
TEST_F(Visit, ContinuesASleep) {
    Traced child([] {
        timespec before{}, after{};
        clock_gettime(CLOCK_MONOTONIC, &before);
        const timespec time{0, 200'000'000};
        if (syscall(SYS_nanosleep, &time, nullptr) != 0)
            return 1;
        clock_gettime(CLOCK_MONOTONIC, &after);
        const int64_t passed =
            (after.tv_sec - before.tv_sec) * 1'000'000'000 + after.tv_nsec - before.tv_nsec;
        return passed >= 200'000'000 ? 0 : 2;
    });
    EXPECT_EQ(interrupted_result(child), -516); // ERESTART_RESTARTBLOCK
    visit(child, 0);
    EXPECT_EQ(child.status(), 0);
}

TEST_F(Visit, TellsWhatARegisterHolds) {
    Traced child([] {
        djs_test_stop();
        return 0;
    });
    ASSERT_TRUE(child.go_on());
    auto registers = StoppedRegisters::of(child.pid());
    ASSERT_TRUE(registers);
    EXPECT_EQ(registers->result(), 0x101);
    EXPECT_FALSE(registers->repeats_call()); // it is in none
    EXPECT_FALSE(registers->has_slot_base());
    registers->set_slot_base(0x1000);
    ASSERT_TRUE(registers->store(child.pid()));
    auto changed = StoppedRegisters::of(child.pid());
    ASSERT_TRUE(changed);
    EXPECT_TRUE(changed->has_slot_base());
    EXPECT_EQ(changed->stack_pointer(), registers->stack_pointer());
    // The instruction before is the one that stopped it.
    const long stop = ptrace(PTRACE_PEEKTEXT, child.pid(), changed->instruction_pointer() - 1, 0);
    EXPECT_EQ(std::string(1, static_cast<char>(stop)), stop_instruction());
    EXPECT_FALSE(StoppedRegisters::of(getpid()));
    EXPECT_FALSE(registers->store(getpid()));
}

ucontext_t interrupted; // NOLINT

void note_context(int, siginfo_t*, void* context) {
    std::memcpy(&interrupted, context, sizeof interrupted);
}

// As the kernel has saved it: the registers, of which three follow each other.
TEST(InterruptedPlace, IsWhereTheKernelHasSavedIt) {
    struct sigaction action = {}, before = {};
    action.sa_sigaction = note_context;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGUSR1, &action, &before);
    raise(SIGUSR1);
    sigaction(SIGUSR1, &before, nullptr);
    std::vector<uint64_t> stack;
    for (const greg_t each : interrupted.uc_mcontext.gregs)
        stack.push_back(static_cast<uint64_t>(each));
    for (size_t i = 0; i < stack.size(); i++)
        EXPECT_EQ(is_interrupted_place(stack, i), i == REG_RIP) << i;
    EXPECT_EQ(interrupted_stack_pointer(stack, REG_RIP), stack[REG_RSP]);
    EXPECT_EQ(interrupted_stack_pointer(stack, 1), stack[0]);
    EXPECT_EQ(interrupted_stack_pointer(stack, 0), 0U);
    // The last word of what is known of the stack.
    const std::span<const uint64_t> known(stack);
    EXPECT_TRUE(is_interrupted_place(known.first(REG_CSGSFS + 1), REG_RIP));
    EXPECT_FALSE(is_interrupted_place(known.first(REG_CSGSFS), REG_RIP));
    // All flags that there are; one that there is not; none at all.
    stack[REG_EFL] = 0x3fffff;
    EXPECT_TRUE(is_interrupted_place(stack, REG_RIP));
    stack[REG_EFL] = 0x400002;
    EXPECT_FALSE(is_interrupted_place(stack, REG_RIP));
    stack[REG_EFL] = 0x201;
    EXPECT_FALSE(is_interrupted_place(stack, REG_RIP));
    stack[REG_EFL] = 0x202;
    stack[REG_CSGSFS] = stack[REG_CSGSFS] | uint64_t{0x2b} << 48; // ss
    EXPECT_TRUE(is_interrupted_place(stack, REG_RIP));
    stack[REG_CSGSFS] |= 0x10000; // gs, which is 0
    EXPECT_FALSE(is_interrupted_place(stack, REG_RIP));
}

} // namespace
} // namespace djstap::arch
