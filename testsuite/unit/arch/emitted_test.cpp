// SPDX-License-Identifier: GPL-2.0-or-later
// What handlers contain verbatim, executed: clocks, reads that may fault, calls that preserve
// registers.
#include "emitted.h"

#include "arch/arch.h"

#include <array>
#include <climits>
#include <csignal>
#include <cstring>
#include <llvm/IR/Constants.h>
#include <llvm/IR/InlineAsm.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <x86intrin.h>

namespace djstap::arch {
namespace {

TEST_F(Emitted, ReadsTheClock) {
    add("store", 1, [&](const Values& values) {
        llvm::Value* const time = read_clock(builder_);
        store_clock(builder_, time, builder_.CreateIntToPtr(values[0], builder_.getPtrTy()));
        return number(0);
    });
    add("read", 0, [&](const Values&) { return read_clock_in_order(builder_); });
    load();
    std::array<uint64_t, 3> words{7, 0, 7};
    const uint64_t before = __rdtsc();
    call("store", reinterpret_cast<uint64_t>(&words[1]));
    const uint64_t between = __rdtsc();
    const uint64_t read = call("read");
    EXPECT_GE(words[1], before);
    EXPECT_LE(words[1], between);
    EXPECT_EQ(words[0] + words[2], 14U);
    EXPECT_GE(read, between);
    EXPECT_LE(read, __rdtsc());
}

TEST_F(Emitted, TestsTheStackPointerAndTheFlags) {
    add("aligned", 0, [&](const Values&) { return has_zero_stack_bits(builder_, 7); });
    add("far", 0, [&](const Values&) { return has_zero_stack_bits(builder_, 0xfffffff8); });
    add("enabled", 0, [&](const Values&) { return enabled_interrupts(builder_); });
    load();
    EXPECT_EQ(call("aligned"), 1U);
    EXPECT_EQ(call("far"), 0U);
    EXPECT_EQ(call("enabled"), interrupts_enabled()); // a program is always interrupted
    EXPECT_EQ(interrupts_enabled(), uint64_t{1} << 9);
}

// The kernel's half, except its last 10 MiB and what a load there may reach.
TEST_F(Emitted, GuardsReadsOfTheKernelsHalf) {
    add("allows", 1,
        [&](const Values& values) { return allows_guarded_load(builder_, values[0]); });
    add("half", 1, [&](const Values& values) { return in_process_half(builder_, values[0]); });
    load();
    constexpr uint64_t vsyscall = 0xffffffffff600000;
    constexpr uint64_t last = vsyscall - guarded_span - 8;
    for (const uint64_t address :
         {uint64_t{0x8000000000000000}, uint64_t{0xffffffff81000000}, last - 1})
        EXPECT_EQ(call("allows", address), 1U) << address;
    for (const uint64_t address :
         {uint64_t{0}, uint64_t{0x7fffffffffff}, uint64_t{INT64_MAX}, last, vsyscall, ~uint64_t{0}})
        EXPECT_EQ(call("allows", address), 0U) << address;
    EXPECT_EQ(call("half", 0x7fffffffffff), 0x7fffffffffffU);
    EXPECT_EQ(call("half", INT64_MAX), static_cast<uint64_t>(INT64_MAX));
    EXPECT_EQ(call("half", 0xffff800000000000), ~uint64_t{0});
}

// The kernel's part of a read that may fault: it continues at the fixup that the exception table
// has for the instruction. As it runs in user space, the two instructions around an access of a
// process's memory are illegal; here they only set a flag.
struct TableEntry {
    int32_t instruction, fixup, type;
};
const TableEntry* table; // NOLINT
size_t table_size;       // NOLINT
bool is_open;            // NOLINT
int open_count;          // NOLINT
uint32_t* no_faults;     // NOLINT
uint32_t count_at_fault; // NOLINT

uint64_t place_of(const int32_t& distance) {
    return reinterpret_cast<uint64_t>(&distance) + static_cast<uint64_t>(int64_t{distance});
}

void continue_at_fixup(int, siginfo_t*, void* context) {
    auto& place = static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP];
    for (size_t i = 0; i < table_size; i++)
        if (place_of(table[i].instruction) == static_cast<uint64_t>(place) && table[i].type == 1) {
            place = static_cast<greg_t>(place_of(table[i].fixup));
            count_at_fault = no_faults ? *no_faults : 0;
            return;
        }
    abort();
}

void open_or_close(int, siginfo_t*, void* context) {
    auto& place = static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP];
    const auto* code = reinterpret_cast<const char*>(place);
    const bool opens = std::memcmp(code, "\x0f\x01\xcb", 3) == 0; // stac
    if (!opens && std::memcmp(code, "\x0f\x01\xca", 3) != 0)      // clac
        abort();
    is_open = opens;
    open_count += opens;
    place += 3;
}

class Faults : public Emitted {
  protected:
    static constexpr size_t page = 4096;
    void SetUp() override {
        struct sigaction action = {};
        action.sa_flags = SA_SIGINFO;
        action.sa_sigaction = continue_at_fixup;
        sigaction(SIGSEGV, &action, &before_[0]);
        action.sa_sigaction = open_or_close;
        sigaction(SIGILL, &action, &before_[1]);
        memory_ = static_cast<char*>(
            mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        ASSERT_NE(memory_, MAP_FAILED);
        ASSERT_EQ(mprotect(memory_ + page, page, PROT_NONE), 0);
        open_count = 0;
        no_faults = nullptr;
    }
    void TearDown() override {
        sigaction(SIGSEGV, &before_[0], nullptr);
        sigaction(SIGILL, &before_[1], nullptr);
        munmap(memory_, 2 * page);
    }
    void load_with_table() {
        for (const char* const edge : {"start", "stop"})
            add(edge, 0, [&](const Values&) {
                auto* type = llvm::FunctionType::get(builder_.getInt64Ty(), false);
                return builder_.CreateCall(
                    type, llvm::InlineAsm::get(
                              type, std::string("leaq __") + edge + "___ex_table(%rip), $0", "=r",
                              false));
            });
        load();
        table = reinterpret_cast<const TableEntry*>(call("start"));
        table_size = (call("stop") - call("start")) / sizeof(TableEntry);
    }
    uint64_t address(size_t offset) const { return reinterpret_cast<uint64_t>(memory_ + offset); }

    struct sigaction before_[2] = {};
    char* memory_ = nullptr;
};

constexpr int64_t offsets[] = {0, 8, -8, 65535, -65535};
constexpr unsigned sizes[] = {1, 2, 4, 8};

std::string name_of(unsigned bytes, bool is_signed, int64_t offset) {
    return "read" + std::to_string(bytes) + (is_signed ? "s" : "u") + std::to_string(offset);
}

// What C reads there.
uint64_t value_of(const char* at, unsigned bytes, bool is_signed) {
    int64_t value = 0;
    std::memcpy(&value, at, bytes);
    const unsigned unused = 64 - 8 * bytes;
    return is_signed ? static_cast<uint64_t>(value << unused >> unused)
                     : static_cast<uint64_t>(value);
}

TEST_F(Faults, OfReadsContinueElsewhere) {
    for (const unsigned bytes : sizes)
        for (const bool is_signed : {false, true})
            for (const int64_t offset : offsets)
                for (const bool shares : {false, true})
                    add(name_of(bytes, is_signed, offset) + (shares ? "_sum" : ""), 1,
                        [&](const Values& values) {
                            llvm::BasicBlock *const read = block(), *const fault = block();
                            llvm::Value* const base =
                                shares ? builder_.CreateAdd(values[0], number(1)) : values[0];
                            const GuardedLoad loaded =
                                guarded_load(builder_, base, offset, bytes, is_signed, read, fault);
                            builder_.SetInsertPoint(fault);
                            finish(builder_.CreateNot(loaded.base));
                            builder_.SetInsertPoint(read);
                            return loaded.result;
                        });
    load_with_table();
    const char digits[] = "\x81\x92\xa3\xb4\xc5\xd6\xe7\xf8";
    std::memcpy(memory_ + page - 8, digits, 8);
    for (const unsigned bytes : sizes)
        for (const bool is_signed : {false, true})
            for (const int64_t offset : offsets) {
                const std::string name = name_of(bytes, is_signed, offset);
                SCOPED_TRACE(name);
                const uint64_t at = address(page - 8) - static_cast<uint64_t>(offset);
                EXPECT_EQ(call(name, at), value_of(digits, bytes, is_signed));
                EXPECT_EQ(call(name + "_sum", at - 1), value_of(digits, bytes, is_signed));
                // Its last byte is beyond the end.
                const uint64_t beyond = at + 9 - bytes;
                EXPECT_EQ(call(name, beyond), ~beyond);
                EXPECT_EQ(call(name + "_sum", beyond - 1), ~beyond);
            }
}

TEST_F(Faults, OfReadsOfAProcessAreCountedAndClosed) {
    constexpr int64_t count_at = 24;
    for (const unsigned bytes : sizes)
        for (const bool is_signed : {false, true})
            for (const int64_t offset : {int64_t{0}, int64_t{8}})
                add(name_of(bytes, is_signed, offset), 2, [&](const Values& values) {
                    llvm::BasicBlock *const read = block(), *const fault = block();
                    const ProcessMemory memory{values[1], count_at};
                    llvm::Value* const result = process_load(builder_, memory, values[0], offset,
                                                             bytes, is_signed, read, fault);
                    builder_.SetInsertPoint(fault);
                    end_process_load(builder_, memory);
                    finish(number(0x0badbad));
                    builder_.SetInsertPoint(read);
                    return result;
                });
    load_with_table();
    const char digits[] = "\x81\x92\xa3\xb4\xc5\xd6\xe7\xf8";
    std::memcpy(memory_ + page - 8, digits, 8);
    std::array<uint32_t, 8> task{};
    no_faults = &task[count_at / sizeof(uint32_t)];
    *no_faults = 5;
    const std::array<uint32_t, 8> unchanged = task;
    int calls = 0;
    for (const unsigned bytes : sizes)
        for (const bool is_signed : {false, true})
            for (const int64_t offset : {int64_t{0}, int64_t{8}}) {
                const std::string name = name_of(bytes, is_signed, offset);
                SCOPED_TRACE(name);
                const uint64_t at = address(page - 8) - static_cast<uint64_t>(offset);
                const auto of_task = reinterpret_cast<uint64_t>(task.data());
                EXPECT_EQ(call(name, at, of_task), value_of(digits, bytes, is_signed));
                EXPECT_EQ(task, unchanged);
                EXPECT_FALSE(is_open);
                count_at_fault = 0;
                EXPECT_EQ(call(name, at + 9 - bytes, of_task), 0x0badbadU);
                EXPECT_EQ(count_at_fault, 6U);
                EXPECT_EQ(task, unchanged);
                EXPECT_FALSE(is_open);
                EXPECT_EQ(open_count, calls += 2);
            }
}

// A function that notes what it is passed, changes every register that a function may, and returns
// two numbers.
class RareCalls : public Emitted {
  protected:
    RareCalls() {
        module_.setModuleInlineAsm(R"(
            .data
            .balign 8
            .globl djs_seen, djs_returned
            .protected djs_seen, djs_returned
        djs_seen: .fill 8, 8, 0
        djs_returned: .fill 2, 8, 0
            .set djs_place, 0x12345678
            .set djs_kernel_place, -0x7f000000
            .text
        djs_rare:
            mov %rdi, djs_seen(%rip)
            mov %rsi, 8+djs_seen(%rip)
            mov %rdx, 16+djs_seen(%rip)
            mov %rcx, 24+djs_seen(%rip)
            mov %r8, 32+djs_seen(%rip)
            mov %r9, 40+djs_seen(%rip)
            mov %rax, 48+djs_seen(%rip)
            mov %r11, 56+djs_seen(%rip)
            mov $-1, %rcx
            mov %rcx, %rsi
            mov %rcx, %rdi
            mov %rcx, %r8
            mov %rcx, %r9
            mov %rcx, %r10
            mov %rcx, %r11
            mov djs_returned(%rip), %rax
            mov 8+djs_returned(%rip), %rdx
            ret
        )");
    }
    // What distinguishes the values that a function has kept in its registers.
    llvm::Value* mixed(const Values& values) {
        llvm::Value* sum = number(1);
        for (llvm::Value* value : values)
            sum = builder_.CreateAdd(builder_.CreateMul(sum, number(31)), value);
        return sum;
    }
    static uint64_t mixed(const std::vector<uint64_t>& values) {
        uint64_t sum = 1;
        for (const uint64_t value : values)
            sum = sum * 31 + value;
        return sum;
    }
    std::vector<uint64_t> seen(size_t count) {
        const auto* words = static_cast<const uint64_t*>(symbol("djs_seen"));
        return {words, words + count};
    }
    void return_from_rare(uint64_t first, uint64_t second) {
        auto* words = static_cast<uint64_t*>(symbol("djs_returned"));
        words[0] = first;
        words[1] = second;
    }
    static constexpr uint64_t n[] = {0x1122334455667788, 2, 3, 4, 5, 6};
    uint64_t call_with_numbers(const std::string& name) {
        return call(name, n[0], n[1], n[2], n[3], n[4], n[5]);
    }
    static uint64_t kept() { return mixed(std::vector<uint64_t>(std::begin(n), std::end(n))); }
};

TEST_F(RareCalls, PreserveRegisters) {
    add("none", 6, [&](const Values& values) {
        call_rarely(builder_, "djs_rare", {});
        return mixed(values);
    });
    add("values", 6, [&](const Values& values) {
        call_rarely(builder_, "djs_rare",
                    {{values[5]}, {values[0], 3}, {values[1], -3}, {values[2], INT32_MAX}});
        return mixed(values);
    });
    add("constants", 6, [&](const Values& values) {
        call_rarely(builder_, "djs_rare",
                    {{number(-7)}, {number(7), 3}, {values[0]}, {number(INT32_MIN)}});
        return mixed(values);
    });
    add("large", 6, [&](const Values& values) {
        call_rarely(builder_, "djs_rare",
                    {{number(int64_t{INT32_MAX} + 1)},
                     {number(INT32_MAX), 1},
                     {number(INT32_MIN), -1},
                     {number(INT32_MAX - 1), 1}});
        return mixed(values);
    });
    load();
    return_from_rare(111, 222);
    EXPECT_EQ(call_with_numbers("none"), kept());
    EXPECT_EQ(call_with_numbers("values"), kept());
    EXPECT_EQ(seen(4), (std::vector<uint64_t>{n[5], n[0] + 3, n[1] - 3, n[2] + INT32_MAX}));
    EXPECT_EQ(call_with_numbers("constants"), kept());
    EXPECT_EQ(seen(4), (std::vector<uint64_t>{static_cast<uint64_t>(-7), 10, n[0],
                                              static_cast<uint64_t>(int64_t{INT32_MIN})}));
    EXPECT_EQ(call_with_numbers("large"), kept());
    EXPECT_EQ(seen(4),
              (std::vector<uint64_t>{0x80000000, 0x80000000,
                                     static_cast<uint64_t>(int64_t{INT32_MIN} - 1), INT32_MAX}));
}

TEST_F(RareCalls, ContinueAsTheSecondNumberSays) {
    for (const size_t arguments : {0, 1, 2})
        add("ask" + std::to_string(arguments), 6, [&](const Values& values) {
            llvm::BasicBlock *const zero = block(), *const below = block(), *const above = block();
            const SignBranches next{zero, below, above};
            llvm::Value* const first =
                arguments == 0 ? ask_rarely(builder_, "djs_rare", {}, next)
                : arguments == 1
                    ? ask_rarely(builder_, "djs_rare", {{values[3]}}, next)
                    : ask_rarely(builder_, "djs_rare", {{values[3], 1}, {values[4]}}, next);
            builder_.SetInsertPoint(below);
            finish(builder_.CreateAdd(mixed(values), number(1)));
            builder_.SetInsertPoint(above);
            finish(builder_.CreateAdd(mixed(values), number(2)));
            builder_.SetInsertPoint(zero);
            return builder_.CreateAdd(mixed(values), first);
        });
    load();
    for (const std::string name : {"ask0", "ask1", "ask2"}) {
        return_from_rare(1000, 0);
        EXPECT_EQ(call_with_numbers(name), kept() + 1000) << name;
        return_from_rare(1000, 1);
        EXPECT_EQ(call_with_numbers(name), kept() + 2) << name;
        return_from_rare(1000, ~uint64_t{0});
        EXPECT_EQ(call_with_numbers(name), kept() + 1) << name;
        return_from_rare(1000, uint64_t{1} << 63);
        EXPECT_EQ(call_with_numbers(name), kept() + 1) << name;
    }
    EXPECT_EQ(seen(2), (std::vector<uint64_t>{n[3] + 1, n[4]}));
}

TEST_F(RareCalls, ContinueAsANumberSays) {
    for (const size_t arguments : {0, 2})
        add("branch" + std::to_string(arguments), 6, [&](const Values& values) {
            llvm::BasicBlock *const zero = block(), *const otherwise = block();
            if (arguments)
                branch_rarely(builder_, "djs_rare", {{values[3], 1}, {values[4]}}, zero, otherwise);
            else
                branch_rarely(builder_, "djs_rare", {}, zero, otherwise);
            builder_.SetInsertPoint(otherwise);
            finish(builder_.CreateAdd(mixed(values), number(1)));
            builder_.SetInsertPoint(zero);
            return mixed(values);
        });
    load();
    for (const std::string name : {"branch0", "branch2"})
        for (const auto& [returned, more] :
             {std::pair{uint64_t{0}, 0U}, {1, 1U}, {0x80000000, 1U}, {0x100000000, 0U}}) {
            return_from_rare(returned, 99);
            EXPECT_EQ(call_with_numbers(name), kept() + more) << name << ", " << returned;
        }
    EXPECT_EQ(seen(2), (std::vector<uint64_t>{n[3] + 1, n[4]}));
}

TEST_F(RareCalls, OfTheKernelPassEverything) {
    for (const char* const half : {"low", "high"})
        add(half, 6, [&](const Values& values) {
            const FunctionResult result =
                call_kernel(builder_, "djs_rare", values, builder_.CreateAdd(values[0], number(1)),
                            builder_.CreateAdd(values[1], number(1)));
            return *half == 'l' ? result.low : result.high;
        });
    load();
    return_from_rare(0x1111, 0x2222);
    EXPECT_EQ(call_with_numbers("low"), 0x1111U);
    EXPECT_EQ(call_with_numbers("high"), 0x2222U);
    EXPECT_EQ(seen(8),
              (std::vector<uint64_t>{n[0], n[1], n[2], n[3], n[4], n[5], n[0] + 1, n[1] + 1}));
}

// Whoever calls it has a result in its register, with landing pads and without.
TEST_F(RareCalls, KeepTheResult) {
    for (const bool pads : {false, true}) {
        const std::string name = pads ? "with_pads" : "without";
        auto* type = llvm::FunctionType::get(builder_.getInt64Ty(),
                                             {builder_.getInt64Ty(), builder_.getPtrTy()}, false);
        llvm::Function* const keeps = declare("keeps_" + name, type);
        builder_.SetInsertPoint(llvm::BasicBlock::Create(context_, "", keeps));
        finish(builder_.CreatePtrToInt(keeps->getArg(1), builder_.getInt64Ty()));
        keeps->setVisibility(llvm::GlobalValue::ProtectedVisibility);
        keep_result(*keeps, 1, {pads, false, false});
        // endbr64, of which LLVM must not add another one behind it; mov %rax, %r10.
        const auto* const code = llvm::dyn_cast<llvm::ConstantDataArray>(keeps->getPrologueData());
        ASSERT_TRUE(code);
        EXPECT_EQ(code->getRawDataValues().str(),
                  std::string(pads ? "\xf3\x0f\x1e\xfa" : "") + "\x49\x89\xc2");
        EXPECT_EQ(keeps->doesNoCfCheck(), pads);
        add(name, 6, [&](const Values& values) {
            return call_kernel(builder_, "keeps_" + name, values,
                               builder_.CreateAdd(values[0], number(1)), values[1])
                .low;
        });
    }
    load();
    EXPECT_EQ(call_with_numbers("without"), n[0] + 1);
    EXPECT_EQ(call_with_numbers("with_pads"), n[0] + 1);
}

TEST_F(RareCalls, CompareAddressesOfTheKernel) {
    add("place", 1,
        [&](const Values& values) { return is_kernel_address(builder_, values[0], "djs_place"); });
    add("kernel", 1, [&](const Values& values) {
        return is_kernel_address(builder_, values[0], "djs_kernel_place");
    });
    load();
    EXPECT_EQ(call("place", 0x12345678), 1U);
    EXPECT_EQ(call("place", 0x12345679), 0U);
    EXPECT_EQ(call("place", 0x112345678), 0U);
    EXPECT_EQ(call("kernel", 0xffffffff81000000), 1U);
    EXPECT_EQ(call("kernel", 0x81000000), 0U);
}

TEST_F(Emitted, CountsInstructionsBesideTheFirst) {
    const auto further = [&](const std::function<void()>& body) {
        llvm::Function* const function = declare("f", of_numbers(0));
        builder_.SetInsertPoint(llvm::BasicBlock::Create(context_, "", function));
        body();
        finish(number(0));
        const uint64_t count = further_in_assembly(*function);
        function->eraseFromParent();
        return count;
    };
    EXPECT_EQ(further([] {}), 0U);
    EXPECT_EQ(further([&] { emit_nothing(builder_); }), 0U);
    EXPECT_EQ(further([&] { read_clock(builder_); }), 0U);
    EXPECT_EQ(further([&] { read_clock_in_order(builder_); }), 1U); // lfence; rdtsc
    EXPECT_EQ(further([&] {
                  read_clock_in_order(builder_);
                  read_clock_in_order(builder_);
              }),
              2U);
}

} // namespace
} // namespace djstap::arch
