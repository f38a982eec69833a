// SPDX-License-Identifier: GPL-2.0-or-later
// The stub of a site, executed in this process, and as objdump reads it.
#include "arch/injection.h"

#include "machine_code.h"

#include <gtest/gtest.h>

#include <array>
#include <asm/prctl.h>
#include <cstring>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

// What the stub calls changes no register but the flags, as in the runtime.
extern "C" {
uint64_t djs_test_words[3]; // the return address of the handlers, and what is above it
uint64_t djs_test_handled;  // number of calls of the handlers
uint64_t djs_test_claimed;  // number of calls of the claim
uint64_t djs_test_allowed;  // whether a claim succeeds
uint64_t djs_test_owner;    // what the stub compares with the thread's base
void djs_test_handlers();
void djs_test_claim();
// Calls `code` with numbers in all registers, and stores those that are there afterwards.
void djs_test_call(const void* code, const uint64_t* numbers, uint64_t* found);
}
asm(R"(
    .text
    .type djs_test_handlers, @function
djs_test_handlers:
    push %rax
    mov 8(%rsp), %rax
    mov %rax, djs_test_words(%rip)
    mov 16(%rsp), %rax
    mov %rax, 8+djs_test_words(%rip)
    mov 24(%rsp), %rax
    mov %rax, 16+djs_test_words(%rip)
    incq djs_test_handled(%rip)
    pop %rax
    ret
    .size djs_test_handlers, .-djs_test_handlers
    .type djs_test_claim, @function
djs_test_claim:
    incq djs_test_claimed(%rip)
    cmpq $0, djs_test_allowed(%rip)
    ret
    .size djs_test_claim, .-djs_test_claim
    .type djs_test_call, @function
djs_test_call:
    push %rbx
    push %rbp
    push %r12
    push %r13
    push %r14
    push %r15
    push %rdx
    push %rdi
    mov %rsi, %rax
    mov 8(%rax), %rbx
    mov 16(%rax), %rcx
    mov 24(%rax), %rdx
    mov 32(%rax), %rsi
    mov 40(%rax), %rdi
    mov 48(%rax), %rbp
    mov 56(%rax), %r8
    mov 64(%rax), %r9
    mov 72(%rax), %r10
    mov 80(%rax), %r11
    mov 88(%rax), %r12
    mov 96(%rax), %r13
    mov 104(%rax), %r14
    mov 112(%rax), %r15
    mov (%rax), %rax
    call *(%rsp)
    mov %rax, (%rsp)
    mov 8(%rsp), %rax
    mov %rbx, 8(%rax)
    mov %rcx, 16(%rax)
    mov %rdx, 24(%rax)
    mov %rsi, 32(%rax)
    mov %rdi, 40(%rax)
    mov %rbp, 48(%rax)
    mov %r8, 56(%rax)
    mov %r9, 64(%rax)
    mov %r10, 72(%rax)
    mov %r11, 80(%rax)
    mov %r12, 88(%rax)
    mov %r13, 96(%rax)
    mov %r14, 104(%rax)
    mov %r15, 112(%rax)
    pop %rbx
    mov %rbx, (%rax)
    pop %rdx
    pop %r15
    pop %r14
    pop %r13
    pop %r12
    pop %rbp
    pop %rbx
    ret
    .size djs_test_call, .-djs_test_call
)");

namespace djstap::arch {
namespace {

uint64_t address_of(const void* what) {
    return reinterpret_cast<uint64_t>(what);
}

// Memory for code: beside this program, or where the kernel chooses.
class Room {
  public:
    explicit Room(bool near) {
        const uint64_t page = 4096;
        const uint64_t here = address_of(reinterpret_cast<const void*>(&djs_test_handlers));
        for (uint64_t pages = 0x100; pages < 0x40000 && !ok(); pages += near ? 61 : 0x40000)
            for (const uint64_t at : {here + pages * page, here - pages * page})
                if (!ok())
                    memory_ =
                        mmap(near ? reinterpret_cast<void*>(at / page * page) : nullptr, page,
                             PROT_READ | PROT_WRITE | PROT_EXEC,
                             MAP_PRIVATE | MAP_ANONYMOUS | (near ? MAP_FIXED_NOREPLACE : 0), -1, 0);
    }
    ~Room() {
        if (ok())
            munmap(memory_, 4096);
    }
    Room(const Room&) = delete;
    Room& operator=(const Room&) = delete;
    bool ok() const { return memory_ != MAP_FAILED; }
    char* bytes() const { return static_cast<char*>(memory_); }

  private:
    void* memory_ = MAP_FAILED;
};

// The distance of the thread's slot, which the stub adds by a segment register.
constexpr uint64_t slot_base = 0x2000;

StubTargets targets_with(std::optional<uint32_t> argument) {
    StubTargets targets;
    targets.owner = address_of(&djs_test_owner) - slot_base;
    targets.claim = address_of(reinterpret_cast<const void*>(&djs_test_claim));
    targets.handlers = address_of(reinterpret_cast<const void*>(&djs_test_handlers));
    targets.argument = argument;
    return targets;
}

constexpr std::optional<uint32_t> arguments[] = {std::nullopt, 0x12345678, 0x80000001};

class Stubs : public testing::TestWithParam<bool> {
  protected:
    void SetUp() override {
        if (!has_stub_instructions())
            GTEST_SKIP() << "this processor or kernel lacks what stubs need";
        ASSERT_TRUE(room_.ok());
        ASSERT_EQ(syscall(SYS_arch_prctl, ARCH_SET_GS, slot_base), 0);
    }
    void TearDown() override { syscall(SYS_arch_prctl, ARCH_SET_GS, 0); }
    // Puts the stub there, with a return behind it, and calls what is at `at`.
    void run(const Stub& stub, size_t at) {
        std::memcpy(room_.bytes() + begin, stub.code.data(), stub.code.size());
        room_.bytes()[begin + stub.code.size()] = '\xc3';
        djs_test_handled = djs_test_claimed = 0;
        std::memset(djs_test_words, 0, sizeof djs_test_words);
        std::array<uint64_t, 15> numbers{}, found{};
        for (size_t i = 0; i < numbers.size(); i++)
            numbers[i] = 0x1111111111111111 * (i + 1);
        djs_test_call(room_.bytes() + at, numbers.data(), found.data());
        EXPECT_EQ(found, numbers);
        r11_ = numbers[10];
    }
    uint64_t here() const { return address_of(room_.bytes()) + begin; }

    static constexpr size_t begin = 256;
    const Room room_{GetParam()};
    uint64_t r11_ = 0;
};

TEST_P(Stubs, CallTheHandlersIfTheThreadHasASlotOrClaimsOne) {
    const auto self = address_of(__builtin_thread_pointer());
    for (const auto& argument : arguments) {
        const Stub stub = stub_code(targets_with(argument), here());
        for (const uint64_t owner : {self, uint64_t{0}})
            for (const uint64_t allowed : {0, 1}) {
                djs_test_owner = owner;
                djs_test_allowed = allowed;
                run(stub, begin + stub.entry_at);
                EXPECT_EQ(djs_test_claimed, owner != self);
                EXPECT_EQ(djs_test_handled, owner == self || allowed);
                if (!djs_test_handled)
                    continue;
                // What the handlers find on the stack.
                const uint64_t* word = djs_test_words;
                EXPECT_EQ(*word++, here() + stub.return_at);
                if (argument) {
                    EXPECT_EQ(static_cast<uint32_t>(*word++), *argument);
                }
                EXPECT_EQ(*word++, r11_);
                EXPECT_EQ(stub_stack_bytes(), sizeof r11_);
            }
    }
}

TEST_P(Stubs, AreEnteredFromWhatPrecedesThem) {
    djs_test_owner = address_of(__builtin_thread_pointer());
    const Stub stub = stub_code(targets_with({}), here());
    const std::string approach = stub_approach(stub);
    std::memcpy(room_.bytes() + begin - approach.size(), approach.data(), approach.size());
    run(stub, begin - approach.size());
    EXPECT_EQ(djs_test_handled, 1U);
    EXPECT_EQ(djs_test_claimed, 0U);
}

INSTANTIATE_TEST_SUITE_P(Distances, Stubs, testing::Values(true, false),
                         [](const auto& each) { return each.param ? "Near" : "Far"; });

// What objdump reads in a stub, also where the processor lacks what it needs. Its instructions in
// lines, without the comments that repeat the address of an operand.
std::string instructions_of(const Stub& stub, uint64_t at) {
    std::string shown;
    for (const auto& [address, line] : test::listing(stub.code, at)) {
        std::string one = line.text.substr(0, line.text.find('#'));
        one.erase(one.find_last_not_of(' ') + 1);
        shown += one + "\n";
    }
    return shown;
}

constexpr uint64_t stub_at = 0x40000000;

// The first jumps lead from a claim that succeeded to the call of the handlers, and from one that
// failed behind it.
TEST(StubCode, NearOnesNameEverythingByItsDistance) {
    StubTargets targets;
    targets.claim = 0x40010000;
    targets.owner = 0x40020000;
    targets.handlers = 0x40030000;
    const Stub plain = stub_code(targets, stub_at);
    EXPECT_EQ(instructions_of(plain, stub_at), "call   0x40010000\n"
                                               "jne    0x4000001a\n"
                                               "jmp    0x4000001f\n"
                                               "push   %r11\n"
                                               "rdfsbase %r11\n"
                                               "cmp    %gs:0x1ffe8(%rip),%r11\n"
                                               "jne    0x40000000\n"
                                               "call   0x40030000\n"
                                               "pop    %r11\n");
    EXPECT_EQ(plain.entry_at, 9U);
    EXPECT_EQ(plain.return_at, 0x1fU);
    targets.argument = 0x12345678;
    const Stub passes = stub_code(targets, stub_at);
    EXPECT_EQ(instructions_of(passes, stub_at), "call   0x40010000\n"
                                                "jne    0x4000001a\n"
                                                "jmp    0x40000026\n"
                                                "push   %r11\n"
                                                "rdfsbase %r11\n"
                                                "cmp    %gs:0x1ffe8(%rip),%r11\n"
                                                "jne    0x40000000\n"
                                                "push   $0x12345678\n"
                                                "call   0x40030000\n"
                                                "pop    %r11\n"
                                                "pop    %r11\n");
    EXPECT_EQ(passes.entry_at, 9U);
    EXPECT_EQ(passes.return_at, 0x24U);
}

TEST(StubCode, FarOnesNameEverythingByItsAddress) {
    StubTargets targets;
    targets.claim = 0x1122334455667788;
    targets.owner = 0x2233445566778899;
    targets.handlers = 0x33445566778899aa;
    const Stub plain = stub_code(targets, stub_at);
    EXPECT_EQ(instructions_of(plain, stub_at), "movabs $0x1122334455667788,%r11\n"
                                               "call   *%r11\n"
                                               "jne    0x4000002a\n"
                                               "jmp    0x40000037\n"
                                               "push   %r11\n"
                                               "push   %rax\n"
                                               "movabs $0x2233445566778899,%rax\n"
                                               "rdfsbase %r11\n"
                                               "cmp    %gs:(%rax),%r11\n"
                                               "pop    %rax\n"
                                               "jne    0x40000000\n"
                                               "movabs $0x33445566778899aa,%r11\n"
                                               "call   *%r11\n"
                                               "pop    %r11\n");
    EXPECT_EQ(plain.entry_at, 0x11U);
    EXPECT_EQ(plain.return_at, 0x37U);
    targets.argument = 0x12345678;
    const Stub passes = stub_code(targets, stub_at);
    EXPECT_EQ(instructions_of(passes, stub_at), "movabs $0x1122334455667788,%r11\n"
                                                "call   *%r11\n"
                                                "jne    0x4000002a\n"
                                                "jmp    0x4000003e\n"
                                                "push   %r11\n"
                                                "push   %rax\n"
                                                "movabs $0x2233445566778899,%rax\n"
                                                "rdfsbase %r11\n"
                                                "cmp    %gs:(%rax),%r11\n"
                                                "pop    %rax\n"
                                                "jne    0x40000000\n"
                                                "push   $0x12345678\n"
                                                "movabs $0x33445566778899aa,%r11\n"
                                                "call   *%r11\n"
                                                "pop    %r11\n"
                                                "pop    %r11\n");
    EXPECT_EQ(passes.entry_at, 0x11U);
    EXPECT_EQ(passes.return_at, 0x3cU);
}

TEST(StubRoom, SufficesForThreeAndWhatIsMoved) {
    constexpr uint64_t far = uint64_t{1} << 40;
    StubTargets targets{far, far, far, 1};
    const size_t stub = stub_code(targets, 0).code.size();
    constexpr size_t longest_call = 18, longest_instruction = 15, short_instructions = 4;
    EXPECT_GE(stub_room(), 3 * stub + short_instructions * longest_call + longest_instruction);
}

// The code is near only if all that it names is.
TEST(StubRoom, EachTargetDecidesTheForm) {
    constexpr uint64_t at = uint64_t{1} << 40, reach = uint64_t{1} << 31;
    const size_t near = stub_code({at, at, at, {}}, at).code.size(),
                 far = stub_code({0, 0, 0, {}}, at).code.size();
    EXPECT_LT(near, far);
    EXPECT_EQ(stub_code({0, at, at, {}}, at).code.size(), far);
    EXPECT_EQ(stub_code({at, 0, at, {}}, at).code.size(), far);
    EXPECT_EQ(stub_code({at, at, 0, {}}, at).code.size(), far);
    for (const uint64_t edge : {at + reach, at - reach}) {
        EXPECT_EQ(stub_code({at, at, edge, {}}, at).code.size(), far);
        EXPECT_EQ(stub_code({at, edge, at, {}}, at).code.size(), far);
        EXPECT_EQ(stub_code({edge, at, at, {}}, at).code.size(), far);
    }
}

} // namespace
} // namespace djstap::arch
