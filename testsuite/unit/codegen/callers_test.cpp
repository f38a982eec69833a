// SPDX-License-Identifier: GPL-2.0-or-later
// Probes of callees with certain callers, executed with stacks of the test's own.
#include "kernel_code.h"

#include "arch/arch.h"
#include "include/script.h"

namespace djstap {
namespace {

class CallersOnStacks : public InKernel {
  protected:
    static constexpr uint64_t first = linked + 0x100, second = linked + 0x200,
                              third = linked + 0x300;

    CallersOnStacks() {
        n_ = global("n", Type::Long, Storage::PerCpu);
        ProbedImage kernel;
        kernel.name = "kernel";
        plan_.images.push_back(kernel);
        registers_.resize(arch::saved_register_count());
        probe_of(HandlerKind::Entry, 0, increment(n_));
        plan_.sites[0].mechanism = Mechanism::Kprobe;
        plan_.sites[0].trampoline = no_index;
        plan_.trampolines.clear();
        plan_.variants[0].mechanisms = 1u << static_cast<unsigned>(Mechanism::Kprobe);
        callers().reg = arch::stack_pointer();
        callers().image = 0;
    }
    Callers& callers() { return plan_.variants[0].callers; }
    // The last frame: a call in the code behind this address, of 16 bytes.
    static CallerFrame in(uint64_t begin) {
        CallerFrame frame;
        frame.code = {{begin, begin + 16}};
        return frame;
    }
    static CallerFrame by(std::vector<CallerFrame::Call> calls) {
        CallerFrame frame;
        frame.calls = std::move(calls);
        return frame;
    }
    uint64_t loaded_at(uint64_t linked_address) const {
        return reinterpret_cast<uint64_t>(in_memory(linked_address));
    }
    uint64_t place(size_t word) const { return reinterpret_cast<uint64_t>(&stack_[word]); }
    // Whether the handler runs, with the stack pointer at the stack's beginning.
    bool runs() {
        registers_[static_cast<size_t>(arch::stack_pointer())] = place(0);
        const int64_t before = counter();
        using ByRegs = int(void*, void*);
        EXPECT_EQ(reinterpret_cast<ByRegs*>(code_.at("djs_by_regs_0"))(nullptr, registers_.data()),
                  0);
        return counter() != before;
    }

    Global* n_;
    std::vector<uint64_t> registers_;
    uint64_t stack_[16] = {};
};

TEST_F(CallersOnStacks, TheFirstReturnAddressIsWhereTheFunctionHasIt) {
    callers().offset = 24;
    callers().frames = {in(first)};
    load();
    EXPECT_EQ(object_.find("djs_replaced_return"), std::string::npos); // this kernel has no rethook
    EXPECT_FALSE(runs());
    for (size_t word = 0; word < 6; word++) {
        stack_[word] = loaded_at(first + 5);
        EXPECT_EQ(runs(), word == 3) << word;
        stack_[word] = 0;
    }
}

// The return has taken it off the stack.
TEST_F(CallersOnStacks, AfterTheReturnItIsWhereTheProgramGoesOn) {
    plan_.variants[0].kind = HandlerKind::Return;
    plan_.variants[0].mechanisms = 1u << static_cast<unsigned>(Mechanism::Kretprobe);
    plan_.sites[0].mechanism = Mechanism::Kretprobe;
    callers().frames = {by({{first + 5, 16, false, {}}}), in(second)};
    load();
    stack_[1] = loaded_at(second + 5); // 16 bytes above where the first one was
    EXPECT_FALSE(runs());
    registers_[static_cast<size_t>(arch::instruction_pointer())] = loaded_at(first + 5);
    EXPECT_TRUE(runs());
    stack_[2] = std::exchange(stack_[1], 0);
    EXPECT_FALSE(runs());
}

// Each call tells where the next return address is.
TEST_F(CallersOnStacks, FramesHaveTheSizeAtTheCall) {
    callers().frames = {by({{first + 5, 16, false, {}}, {first + 13, 40, false, {}}}),
                        by({{second + 5, -8, false, {}}}), in(third)};
    load();
    for (const auto& [call, next] : {std::pair{first + 5, 2}, {first + 13, 5}}) {
        for (uint64_t& word : stack_)
            word = 0;
        stack_[0] = loaded_at(call);
        stack_[next] = loaded_at(second + 5);
        EXPECT_FALSE(runs());
        stack_[next - 1] = loaded_at(third + 5);
        EXPECT_TRUE(runs());
        stack_[0] = loaded_at(first + 6);
        EXPECT_FALSE(runs());
    }
}

TEST_F(CallersOnStacks, FramePointersAreThoseOfTheRegister) {
    callers().frames = {by({{first + 5, 8, true, {}}, {first + 13, 24, false, {}}}), in(second)};
    load();
    registers_[static_cast<size_t>(*arch::register_of_dwarf(arch::frame_pointer_in_dwarf()))] =
        place(6);
    stack_[0] = loaded_at(first + 5);
    stack_[7] = loaded_at(second + 5);
    EXPECT_TRUE(runs());
    stack_[0] = loaded_at(first + 13);
    EXPECT_FALSE(runs());
    stack_[3] = std::exchange(stack_[7], 0);
    EXPECT_TRUE(runs());
}

// Functions save it: where, is known from the return address on.
TEST_F(CallersOnStacks, FramePointersAreSaved) {
    callers().frame_pointer = 16; // from the first return address
    callers().frames = {by({{first + 5, 8, true, -24}}), by({{second + 5, 16, true, {}}}),
                        in(third)};
    load();
    registers_[static_cast<size_t>(*arch::register_of_dwarf(arch::frame_pointer_in_dwarf()))] =
        place(15);
    stack_[0] = loaded_at(first + 5);
    stack_[2] = place(8); // what the register was
    stack_[9] = loaded_at(second + 5);
    stack_[6] = place(3); // 24 bytes below that
    stack_[5] = loaded_at(third + 5);
    EXPECT_TRUE(runs());
    stack_[6] = place(4);
    EXPECT_FALSE(runs());
    stack_[6] = place(3);
    stack_[2] = place(7);
    EXPECT_FALSE(runs());
}

// A call that saves nothing leaves the frame pointer as it is.
TEST_F(CallersOnStacks, FramePointersMayStay) {
    callers().frames = {by({{first + 5, 8, false, {}}, {first + 13, 8, false, 16}}),
                        by({{second + 5, 8, true, {}}}), in(third)};
    load();
    registers_[static_cast<size_t>(*arch::register_of_dwarf(arch::frame_pointer_in_dwarf()))] =
        place(10);
    stack_[1] = loaded_at(second + 5);
    stack_[3] = place(12);
    stack_[0] = loaded_at(first + 5);
    stack_[11] = loaded_at(third + 5);
    EXPECT_TRUE(runs());
    stack_[0] = loaded_at(first + 13);
    EXPECT_FALSE(runs());
    stack_[13] = std::exchange(stack_[11], 0);
    EXPECT_TRUE(runs());
}

// Addresses of a module are known while it is loaded.
TEST_F(CallersOnStacks, ModulesAreLoadedAnywhere) {
    ProbedImage own;
    own.kind = ImageKind::Module;
    own.name = "own";
    own.segments = {{"code", "code", 0x1000, 0x1000, 0x1000, 0x2000, true, 0}};
    plan_.images.push_back(own);
    callers().image = 1;
    callers().frames = {in(0x1000)};
    load();
    uint64_t biases[] = {0, 0x7000};
    code_.as<uint64_t*>("djs_biases") = biases;
    stack_[0] = 0x8005;
    EXPECT_TRUE(runs());
    stack_[0] = 0x1005;
    EXPECT_FALSE(runs());
    biases[1] = 0;
    EXPECT_FALSE(runs());
}

} // namespace
} // namespace djstap
