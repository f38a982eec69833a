// SPDX-License-Identifier: GPL-2.0-or-later
// Trampolines of direct calls, executed between functions of a made-up kernel and their callers.
#include "kernel_code.h"

#include "arch/arch.h"
#include "include/script.h"

namespace djstap {
namespace {

class Trampolines : public InKernel {
  public: // for the functions of the kernel
    using InKernel::counter;
    using InKernel::in_memory;
    using InKernel::of_cpu;

  protected:
    Trampolines() {
        n_ = global("n", Type::Long, Storage::PerCpu);
        m_ = global("m", Type::Long, Storage::PerCpu);
    }
    void SetUp() override {
        InKernel::SetUp();
        test_ = this;
        code_.function(
            "djs_lacks_stack", +[](uint32_t bytes) {
                test_->asked_.push_back(bytes);
                return test_->lacks_;
            });
        code_.function(
            "djs_load_alone", +[](uint64_t address, uint32_t size) {
                test_->reads_.push_back({address, size});
                return test_->loaded_;
            });
        code_.function(
            "djs_fail_read_alone", +[](uint64_t address, uint32_t size, uint32_t) {
                test_->unread_.push_back({address, size});
            });
    }
    static Access result() {
        Access access;
        access.base = Access::Base::ReturnValue;
        return access;
    }
    static Access argument(unsigned number) {
        Access access;
        access.base = Access::Base::Register;
        access.reg = arch::argument_registers()[number];
        return access;
    }
    static Access stack_pointer() {
        Access access;
        access.base = Access::Base::Register;
        access.reg = arch::stack_pointer();
        return access;
    }
    static ExpressionPtr entry_value(uint32_t slot) {
        auto made = std::make_unique<EntryValue>();
        made->slot = slot;
        return made;
    }
    // The second function of the first trampoline, and so on.
    void serve(unsigned function) {
        plan_.trampolines[0].functions.push_back(site_of(function) + 5);
        Site again = plan_.sites[0];
        again.address = site_of(function);
        plan_.sites.push_back(again);
    }

    static inline Trampolines* test_ = nullptr;
    Global *n_, *m_;
    uint32_t lacks_ = 0;
    std::vector<uint32_t> asked_;
    djs_loaded loaded_ = {};
    std::vector<std::pair<uint64_t, uint32_t>> reads_, unread_;
};

TEST_F(Trampolines, HandlersSeeArguments) {
    probe_of(HandlerKind::Entry, 0);
    add_found(n_, argument(0));
    add_found(m_, argument(1));
    load();
    EXPECT_EQ(call(0, 30, 12), 42u);
    EXPECT_EQ(counter(0), 30);
    EXPECT_EQ(counter(1), 12);
}

// The stack pointer is that of the entry: where the return address to the caller is.
TEST_F(Trampolines, HandlersSeeTheStackOfTheEntry) {
    probe_of(HandlerKind::Entry, 0);
    add_found(n_, stack_pointer());
    load();
    char* const stack = code_.variable("stack", 65536) + 32768;
    EXPECT_EQ(call_on(stack, 0, 1, 2), 3u);
    EXPECT_EQ(counter(), reinterpret_cast<int64_t>(stack - 8));
    EXPECT_EQ(*reinterpret_cast<char**>(stack - 8), after_call_);
}

TEST_F(Trampolines, ReturnHandlersSeeTheResult) {
    probe_of(HandlerKind::Return, 0);
    add_found(n_, result());
    load();
    EXPECT_EQ(call(0, 30, 12), 42u);
    EXPECT_EQ(call(0, 1, 1), 2u);
    EXPECT_EQ(counter(), 44);
    EXPECT_EQ(of_cpu("inside"), 0);
}

// While the function runs, the count says that somebody will return to the trampoline.
TEST_F(Trampolines, CallsAreCountedWhileTheyLast) {
    probe_of(HandlerKind::Return, 0, increment(n_));
    load();
    code_.function(
        "function_of_test", +[] {
            EXPECT_EQ(test_->of_cpu("inside"), 1);
            EXPECT_EQ(test_->counter(), 0);
            return uint64_t{9};
        });
    call_from(in_memory(site_of(0)) + 5, code_.at("function_of_test"));
    in_memory(site_of(0))[10] = '\xc3';
    EXPECT_EQ(call(0, 0, 0), 9u);
    EXPECT_EQ(counter(), 1);
    EXPECT_EQ(of_cpu("inside"), 0);
}

TEST_F(Trampolines, EntryValuesAreKeptForTheReturn) {
    Probe* const made = probe_of(HandlerKind::Return, 0);
    for (const unsigned number : {0, 1})
        made->entry_values.push_back(found_by(argument(number)));
    made->body->statements.push_back(add(n_, entry_value(0)));
    made->body->statements.push_back(add(m_, entry_value(1)));
    load();
    EXPECT_EQ(call(0, 30, 12), 42u);
    EXPECT_EQ(counter(0), 30);
    EXPECT_EQ(counter(1), 12);
}

TEST_F(Trampolines, HandlersOfBothKindsShareOne) {
    probe_of(HandlerKind::Return, 0);
    add_found(n_, result());
    probe_of(HandlerKind::Entry, 0);
    add_found(n_, argument(0));
    plan_.trampolines = {{{0, 1}, {site_of(0) + 5}}};
    plan_.sites[1].trampoline = plan_.sites[0].trampoline = 0;
    load();
    EXPECT_EQ(call(0, 30, 12), 42u);
    EXPECT_EQ(counter(), 72);
}

// Each function is continued after its own call.
TEST_F(Trampolines, FunctionsShareOne) {
    probe_of(HandlerKind::Return, 0);
    add_found(n_, result());
    for (unsigned function = 1; function < 5; function++)
        serve(function);
    // In any order.
    std::swap(plan_.trampolines[0].functions[0], plan_.trampolines[0].functions[4]);
    std::swap(plan_.trampolines[0].functions[1], plan_.trampolines[0].functions[2]);
    load();
    const unsigned order[] = {4, 2, 1, 3, 0}; // in which they yield one more each
    int64_t sum = 0;
    for (unsigned more = 0; more < 5; more++) {
        EXPECT_EQ(call(order[more], 20, 10), 30u + more);
        EXPECT_EQ(counter(), sum += 30 + more);
    }
}

// A livepatch may call the trampoline from elsewhere: it goes on behind that call.
TEST_F(Trampolines, CallsFromElsewhereGoOnThere) {
    for (const unsigned functions : {1, 2}) {
        program_.probes.clear();
        plan_ = {};
        probe_of(HandlerKind::Return, 0);
        add_found(n_, result());
        if (functions == 2)
            serve(1);
        more_ = 0;
        load();
        patch(site_of(7), "djs_direct_0", 50);
        EXPECT_EQ(call(7, 20, 10), 80u);
        EXPECT_EQ(call(0, 20, 10), 30u);
        EXPECT_EQ(counter(), 110);
        EXPECT_EQ(of_cpu("inside"), 0);
    }
}

// THREAD_SIZE is 16 KB: the last quarter of it, where both bits are 0, is asked about.
TEST_F(Trampolines, AQuarterOfTheStackIsKept) {
    probe_of(HandlerKind::Return, 0);
    add_found(n_, result());
    load();
    auto at = reinterpret_cast<uint64_t>(code_.variable("stack", 65536) + 49152);
    at = (at & ~uint64_t{16383}) + 2048;
    for (unsigned quarter = 0; quarter < 4; quarter++) {
        char* const stack = reinterpret_cast<char*>(at) + quarter * 4096 - 16384;
        for (lacks_ = 0; lacks_ < 2; lacks_++) {
            asked_.clear();
            const int64_t before = counter();
            EXPECT_EQ(call_on(stack, 0, 30, 12), 42u);
            EXPECT_EQ(asked_, quarter == 0 ? std::vector<uint32_t>{4096} : std::vector<uint32_t>{});
            EXPECT_EQ(counter() - before, quarter == 0 && lacks_ ? 0 : 42);
            EXPECT_EQ(of_cpu("inside"), 0);
        }
    }
}

// Their stacks begin anywhere.
TEST_F(Trampolines, InterruptsAreAskedForTheirStack) {
    probe_of(HandlerKind::Return, 0);
    add_found(n_, result());
    load();
    for (const uint32_t count : {0x100u, 0x10000u, 0x100000u}) {
        code_.as<uint32_t>("__preempt_count") = count;
        asked_.clear();
        lacks_ = 1;
        EXPECT_EQ(call(0, 30, 12), 42u);
        EXPECT_EQ(asked_, std::vector<uint32_t>{4096});
        EXPECT_EQ(counter(), 0);
    }
}

// What a trampoline keeps for longer than three words is asked about wherever it is.
TEST_F(Trampolines, LargeFramesAlwaysAsk) {
    Probe* const made = probe_of(HandlerKind::Return, 0);
    auto at = reinterpret_cast<uint64_t>(code_.variable("stack", 65536) + 49152);
    at = (at & ~uint64_t{16383}) + 8192; // not in the last quarter
    for (size_t values = 1; values <= 4; values++) {
        made->entry_values.push_back(found_by(argument(0)));
        made->body->statements.push_back(
            add(n_, entry_value(static_cast<uint32_t>(made->entry_values.size() - 1))));
        load();
        asked_.clear();
        EXPECT_EQ(call_on(reinterpret_cast<char*>(at), 0, 30, 12), 42u + values - 1);
        EXPECT_EQ(counter(), static_cast<int64_t>(30 * values));
        EXPECT_EQ(asked_.size(), values > 3 ? 1u : 0u) << values;
    }
}

// Those that may fail look whether the session runs, those that read memory whether they have
// stack. What the kernel reads for them is there, is not, or is nobody's to read now.
TEST_F(Trampolines, HandlersThatFailAreStoppedByTheGate) {
    Probe* const made = probe_of(HandlerKind::Entry, 0);
    Access memory;
    memory.base = Access::Base::Constant;
    memory.constant = 4096; // of the current process
    memory.steps = {{AccessStep::Kind::Load, 0, nullptr, 2}};
    add_found(n_, memory);
    made->body->statements.push_back(increment(m_));
    made->effects.can_fail = true;
    load();
    using Reads = std::vector<std::pair<uint64_t, uint32_t>>;
    const Reads once{{4096, 2}};
    const auto run = [&] {
        reads_.clear();
        unread_.clear();
        EXPECT_EQ(call(0, 30, 12), 42u);
    };
    loaded_ = {7, 0};
    run();
    EXPECT_EQ(reads_, once);
    EXPECT_EQ(unread_, Reads{});
    EXPECT_EQ(counter(0), 7);
    EXPECT_EQ(counter(1), 1);
    loaded_ = {7, -14};
    run();
    EXPECT_EQ(reads_, once);
    EXPECT_EQ(unread_, once);
    loaded_ = {7, 1};
    run();
    EXPECT_EQ(reads_, once);
    EXPECT_EQ(unread_, Reads{}) << "it was counted";
    loaded_ = {7, 0};
    code_.as<uint32_t>("djs_gate") = DJS_HANDLER_CHECKS_STATE;
    run();
    EXPECT_EQ(reads_, Reads{});
    code_.as<uint32_t>("djs_gate") = ~DJS_HANDLER_CHECKS_STATE;
    run();
    EXPECT_EQ(reads_, once);
    EXPECT_EQ(counter(0), 14);
    EXPECT_EQ(counter(1), 2);
    code_.as<uint32_t>("__preempt_count") = 0x10000;
    for (lacks_ = 0; lacks_ < 2; lacks_++) {
        asked_.clear();
        run();
        EXPECT_EQ(asked_, std::vector<uint32_t>{DJS_FAULT_STACK});
        EXPECT_EQ(reads_, lacks_ ? Reads{} : once);
    }
    EXPECT_EQ(counter(1), 3);
}

class CallersOfFunctions : public Trampolines {
  protected:
    // Code that calls function 0, at this distance from the kernel's beginning.
    uint64_t caller_at(uint64_t offset) {
        call_from(in_memory(linked + offset), in_memory(site_of(0)));
        in_memory(linked + offset)[5] = '\xc3';
        return linked + offset;
    }
    void call_from_caller(uint64_t caller) {
        using Function = uint64_t(uint64_t, uint64_t);
        EXPECT_EQ(reinterpret_cast<Function*>(in_memory(caller))(30, 12), 42u);
    }
    void SetUp() override {
        Trampolines::SetUp();
        ProbedImage kernel;
        kernel.name = "kernel";
        plan_.images.push_back(kernel);
    }
    Callers& callers() {
        auto& made = plan_.variants.back().callers;
        made.reg = arch::stack_pointer();
        made.image = 0;
        return made;
    }
};

// The return address follows the call, so that it may be the first one behind a range, but not the
// first one in it.
TEST_F(CallersOfFunctions, CallsComeFromTheirCode) {
    constexpr uint64_t code = 2048, behind = linked + code + 5;
    struct Range {
        uint64_t begin, end;
        bool runs;
    };
    const Range ranges[] = {{behind - 5, behind + 9, true}, {behind - 5, behind, true},
                            {behind - 1, behind, true},     {behind - 5, behind - 1, false},
                            {behind, behind + 9, false},    {behind + 1, behind + 9, false}};
    probe_of(HandlerKind::Entry, 0, increment(n_));
    probe_of(HandlerKind::Entry, 0, increment(m_));
    plan_.trampolines = {{{0, 1}, {site_of(0) + 5}}};
    plan_.sites[1].trampoline = plan_.sites[0].trampoline = 0;
    plan_.sites[0].next = 1;
    callers().frames.resize(1);
    for (const Range& range : ranges) {
        callers().frames[0].code = {{range.begin, range.end}};
        more_ = 0;
        load();
        call_from_caller(caller_at(code));
        EXPECT_EQ(counter(0), 1) << "it has no callers";
        EXPECT_EQ(counter(1), range.runs) << range.begin - behind << " " << range.end - behind;
    }
    // One of several ranges is enough.
    callers().frames[0].code = {{linked, linked + 16}, {behind - 5, behind + 9}};
    more_ = 0;
    load();
    call_from_caller(caller_at(code));
    EXPECT_EQ(counter(1), 1);
    EXPECT_EQ(call(0, 1, 1), 2u);
    EXPECT_EQ(counter(1), 1) << "called by the test";
}

// A call that is known tells where the next return address is.
TEST_F(CallersOfFunctions, CallersHaveCallers) {
    constexpr uint64_t inner = 2048, outer = 2112;
    probe_of(HandlerKind::Entry, 0, increment(n_));
    auto& made = callers();
    made.frames.resize(2);
    made.frames[0].calls = {{linked + inner + 5, 8, false, {}}};
    made.frames[1].code = {{linked + outer, linked + outer + 16}};
    load();
    caller_at(inner);
    call_from(in_memory(linked + outer), in_memory(linked + inner));
    in_memory(linked + outer)[5] = '\xc3';
    call_from_caller(linked + outer);
    EXPECT_EQ(counter(), 1);
    call_from_caller(linked + inner);
    EXPECT_EQ(counter(), 1) << "called by the test";
    // The same code, called from elsewhere.
    call_from(in_memory(linked + outer + 64), in_memory(linked + inner));
    in_memory(linked + outer + 64)[5] = '\xc3';
    call_from_caller(linked + outer + 64);
    EXPECT_EQ(counter(), 1);
    // Another call of it.
    caller_at(inner + 16);
    call_from(in_memory(linked + outer), in_memory(linked + inner + 16));
    call_from_caller(linked + outer);
    EXPECT_EQ(counter(), 1);
}

// In whose place a kretprobe has its own.
TEST_F(CallersOfFunctions, ReplacedReturnAddressesAreAskedFor) {
    constexpr uint64_t code = 2048;
    kernel_.rethook = linked + code + 5; // as if what is on the stack were that
    probe_of(HandlerKind::Entry, 0, increment(n_));
    callers().frames.resize(1);
    callers().frames[0].code = {{linked + 3000, linked + 3010}};
    code_.function(
        "djs_replaced_return",
        +[](uint64_t) { return reinterpret_cast<uint64_t>(test_->in_memory(linked + 3005)); });
    load();
    call_from_caller(caller_at(code));
    EXPECT_EQ(counter(), 1);
    call_from_caller(caller_at(code + 64));
    EXPECT_EQ(counter(), 1);
}

} // namespace
} // namespace djstap
