// SPDX-License-Identifier: GPL-2.0-or-later
// Handlers without a context, executed: how they write records to the CPU's ring, read the kernel's
// clock, and what the kernel calls of them besides trampolines.
#include "kernel_code.h"
#include "kernel_handlers.h"

#include "arch/arch.h"
#include "include/kernel_clock.h"
#include "include/record.h"
#include "include/script.h"

#include <x86intrin.h>

namespace djstap {
namespace {

class Recorded : public InKernel {
  public: // for the functions of the kernel
    using InKernel::code_;
    using InKernel::of_cpu;
    static inline Recorded* test_ = nullptr;
    unsigned reschedules_ = 0;
    std::vector<uint32_t> rooms_;
    int64_t more_room_ = 0;

  protected:
    static constexpr uint32_t ring_bytes = 4096, record_bytes = sizeof(djs_record) + 8;

    void SetUp() override {
        InKernel::SetUp();
        test_ = this;
        of_cpu("data") = reinterpret_cast<int64_t>(code_.variable("ring", ring_bytes));
        of_cpu("mask") = ring_bytes - 1;
        of_cpu("limit") = ring_bytes;
        code_.function(
            "djs_make_room", +[](uint32_t size) {
                test_->rooms_.push_back(size);
                EXPECT_EQ(test_->code_.as<uint32_t>("__preempt_count"), 0x80000001);
                test_->of_cpu("limit") += test_->more_room_;
                return static_cast<uint32_t>(test_->more_room_ != 0);
            });
        code_.function("djs_reschedule", +[] { test_->reschedules_++; });
    }
    Probe* recording(unsigned function) {
        Probe* const made = printing_probe("kernel.function(\"f\")");
        place_last(HandlerKind::Entry, function);
        return made;
    }
    void expect_record(uint64_t place) const {
        const char* const here = code_.at("ring") + place;
        djs_record record;
        int64_t value;
        std::memcpy(&record, here, sizeof record);
        std::memcpy(&value, here + sizeof record, sizeof value);
        EXPECT_EQ(record.size, record_bytes);
        EXPECT_EQ(record.id, 0u);
        EXPECT_NE(record.time, 0u);
        EXPECT_EQ(value, 7);
    }
};

TEST_F(Recorded, RecordsFollowEachOther) {
    recording(0);
    load();
    const uint64_t before = __rdtsc();
    for (int i = 1; i <= 3; i++) {
        EXPECT_EQ(call(0, 30, 12), 42u);
        EXPECT_EQ(of_cpu("head"), i * record_bytes);
        expect_record((i - 1) * record_bytes);
    }
    uint64_t first;
    std::memcpy(&first, code_.at("ring") + offsetof(djs_record, time), sizeof first);
    EXPECT_GE(first, before);
    EXPECT_LE(first, __rdtsc());
    EXPECT_EQ(code_.as<uint32_t>("__preempt_count"), 0x80000000);
    EXPECT_EQ(reschedules_, 0u);
    EXPECT_TRUE(rooms_.empty());
    // The ring begins again at its end.
    of_cpu("head") = 5 * ring_bytes + 128;
    of_cpu("limit") = 6 * ring_bytes;
    EXPECT_EQ(call(0, 30, 12), 42u);
    expect_record(128);
    EXPECT_EQ(of_cpu("head"), 5 * ring_bytes + 128 + record_bytes);
}

TEST_F(Recorded, AFullRingIsToldAndMayHaveRoomThen) {
    recording(0);
    load();
    of_cpu("limit") = record_bytes; // just enough
    EXPECT_EQ(call(0, 30, 12), 42u);
    expect_record(0);
    EXPECT_TRUE(rooms_.empty());
    of_cpu("limit") = 2 * record_bytes - 1;
    EXPECT_EQ(call(0, 30, 12), 42u);
    EXPECT_EQ(rooms_, std::vector<uint32_t>{record_bytes});
    EXPECT_EQ(of_cpu("head"), record_bytes);
    more_room_ = 1;
    EXPECT_EQ(call(0, 30, 12), 42u);
    EXPECT_EQ(rooms_.size(), 2u);
    EXPECT_EQ(of_cpu("head"), 2 * record_bytes);
    expect_record(record_bytes);
    EXPECT_EQ(code_.as<uint32_t>("__preempt_count"), 0x80000000);
}

TEST_F(Recorded, NothingIsRecordedWhileTheGateIsClosed) {
    recording(0);
    load();
    code_.as<uint32_t>("djs_gate") = DJS_HANDLER_CHECKS_STATE;
    EXPECT_EQ(call(0, 30, 12), 42u);
    EXPECT_EQ(of_cpu("head"), 0);
    code_.as<uint32_t>("djs_gate") = ~DJS_HANDLER_CHECKS_STATE;
    EXPECT_EQ(call(0, 30, 12), 42u);
    EXPECT_EQ(of_cpu("head"), record_bytes);
}

// Which of several tracepoints was hit, their callback is told; the record has its number.
TEST_F(Recorded, TracepointsTellTheirSite) {
    recording(0);
    plan_.sites[0].mechanism = Mechanism::Tracepoint;
    plan_.sites[0].trampoline = no_index;
    plan_.trampolines.clear();
    plan_.variants[0].mechanisms = 1u << static_cast<unsigned>(Mechanism::Tracepoint);
    plan_.sites.push_back(plan_.sites[0]);
    options_.event_fields = DJS_EVENT_PROBE;
    load();
    using Tracepoint = void(const char*, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);
    auto* const hit = reinterpret_cast<Tracepoint*>(code_.at("djs_tracepoint_0"));
    const char* const sites = code_.at("djs_script_sites");
    const char* record = code_.at("ring");
    for (const auto& [site, number] : {std::pair{sites + sizeof(djs_site), uint64_t{1}},
                                       {sites, 0},
                                       {nullptr, DJS_EVENT_NO_SITE}}) {
        hit(site, 0, 0, 0, 0, 0);
        uint64_t words[2]; // the site and what is printed
        std::memcpy(words, record + sizeof(djs_record), sizeof words);
        EXPECT_EQ(words[0], number);
        EXPECT_EQ(words[1], 7u);
        record += sizeof(djs_record) + sizeof words;
        EXPECT_EQ(of_cpu("head"), record - code_.at("ring"));
    }
}

// Preemption is disabled once for handlers that follow each other, unless the first one can close
// the gate.
TEST_F(Recorded, WhatBecameDueIsDoneAfterwards) {
    for (const bool can_fail : {false, true}) {
        program_.probes.clear();
        plan_ = {};
        recording(0)->effects.can_fail = can_fail;
        recording(0);
        plan_.trampolines = {{{0, 1}, {site_of(0) + 5}}};
        plan_.sites[1].trampoline = plan_.sites[0].trampoline = 0;
        plan_.sites[0].next = 1;
        load();
        for (const uint32_t count : {0u, 1u}) {
            code_.as<uint32_t>("__preempt_count") = count;
            reschedules_ = 0;
            call(0, 30, 12);
            EXPECT_EQ(reschedules_, count ? 0u : can_fail ? 2u : 1u);
            EXPECT_EQ(code_.as<uint32_t>("__preempt_count"), count);
        }
    }
}

// In a program, a signal's handler may see a record that is being written: its size, which says so,
// is there before anything else.
TEST(RecordsInPrograms, HaveTheirSizeFirst) {
    for (const bool in_program : {false, true}) {
        test::KernelScript script;
        script.kernel.user_space = script.kernel.injected = in_program;
        script.options.dump_ir = true;
        const auto object = script.compile("global k = 3\nprobe timer.s(1) { println(k) }");
        ASSERT_TRUE(object);
        const auto in_flight =
            static_cast<int32_t>((sizeof(djs_record) + 8) | DJS_RECORD_IN_FLIGHT);
        const size_t size = object->ir.find("store i32 " + std::to_string(in_flight)),
                     fence = object->ir.find("fence syncscope(\"singlethread\") release");
        EXPECT_EQ(size != std::string::npos, in_program);
        EXPECT_EQ(fence != std::string::npos, in_program);
        EXPECT_TRUE(!in_program || size < fence);
    }
}

class Clocks : public InKernel {
  protected:
    struct TimeBase { // as in kernel/time/timekeeping.c, in an order of the test's own
        const void* clock;
        uint64_t cycle_last, xtime_nsec, base, base_real;
        uint32_t mult, shift;
    };
    void SetUp() override {
        InKernel::SetUp();
        kernel_.fast_clock = 0xffffffff82000000;
        for (const auto& [name, offset] : {std::pair{"clock", offsetof(TimeBase, clock)},
                                           {"cycle_last", offsetof(TimeBase, cycle_last)},
                                           {"xtime_nsec", offsetof(TimeBase, xtime_nsec)},
                                           {"base", offsetof(TimeBase, base)},
                                           {"base_real", offsetof(TimeBase, base_real)},
                                           {"mult", offsetof(TimeBase, mult)},
                                           {"shift", offsetof(TimeBase, shift)}})
            offsets_["tk_read_base." + std::string(name)] = {"", static_cast<int64_t>(offset)};
        for (const char* name : {"gettimeofday_ns", "ktime_get_ns"})
            code_.function(std::string("djs_fn_") + name, +[](void*) { return int64_t{-1}; });
        auto& clock = *reinterpret_cast<struct djs_kernel_clock*>(
            code_.variable("djs_kernel_clock", sizeof(struct djs_kernel_clock)));
        clock = {&latch_, {&bases_[0], &bases_[1]}, &source_, UINT64_MAX};
        bases_[0] = {&source_, 0, 1000, 50, 60, 0, 3};
        bases_[1] = {&source_, 0, 4000, 70, 80, 0, 2};
    }
    // Returns what a handler reads.
    int64_t read(const std::string& intrinsic) {
        if (program_.functions.empty() || program_.functions[0]->intrinsic != intrinsic) {
            program_ = {};
            plan_ = {};
            auto function = std::make_unique<Function>();
            function->name = function->intrinsic = intrinsic;
            function->return_type = Type::Long;
            program_.functions.push_back(std::move(function));
            Global* const n = global("n", Type::Long, Storage::PerCpu);
            auto made = std::make_unique<Call>();
            made->function = program_.functions[0].get();
            probe_of(HandlerKind::Entry, 0, add(n, std::move(made)));
            load();
        }
        const int64_t before = counter();
        const PrivilegedInstructions executed;
        call(0, 1, 2);
        return counter() - before;
    }
    struct djs_kernel_clock& clock_of_kernel() {
        return code_.as<struct djs_kernel_clock>("djs_kernel_clock");
    }

    uint32_t latch_ = 0;
    int source_ = 0, other_source_ = 0;
    TimeBase bases_[2] = {};
};

// As ktime_get_mono_fast_ns() and ktime_get_real_fast_ns(), by the copy that the lowest bit of the
// latch names.
TEST_F(Clocks, AreReadFromTheKernelsLatch) {
    EXPECT_EQ(read("ktime_get_ns"), (1000 >> 3) + 50);
    latch_ = 7;
    EXPECT_EQ(read("ktime_get_ns"), (4000 >> 2) + 70);
    EXPECT_EQ(read("gettimeofday_ns"), (4000 >> 2) + 80);
    latch_ = 6;
    EXPECT_EQ(read("gettimeofday_ns"), (1000 >> 3) + 60);
}

TEST_F(Clocks, GoOnWithTheCyclesThatHavePassed) {
    const uint64_t before = __rdtsc();
    bases_[0] = {&source_, before, 256 * 5, 50, 60, 256, 8};
    const int64_t time = read("ktime_get_ns");
    EXPECT_GE(time, 55);
    EXPECT_LE(time, static_cast<int64_t>(__rdtsc() - before) + 55);
}

// Another source of the kernel's, or an update of long ago, is the kernel's own business.
TEST_F(Clocks, AskTheKernelWhereTheyCannotTell) {
    bases_[0].clock = &other_source_;
    EXPECT_EQ(read("ktime_get_ns"), -1);
    EXPECT_EQ(read("gettimeofday_ns"), -1);
    latch_ = 1;
    EXPECT_EQ(read("gettimeofday_ns"), (4000 >> 2) + 80);
    clock_of_kernel().limit = 1000;
    EXPECT_EQ(read("gettimeofday_ns"), -1);
}

class Callbacks : public InKernel {
  public: // for the functions of the kernel
    using InKernel::code_;
    static inline Callbacks* test_ = nullptr;
    std::vector<uint32_t> asked_;
    uint32_t lacks_ = 0;

  protected:
    Callbacks() { n_ = global("n", Type::Long, Storage::PerCpu); }
    void SetUp() override {
        InKernel::SetUp();
        test_ = this;
        code_.function(
            "djs_lacks_stack", +[](uint32_t bytes) {
                test_->asked_.push_back(bytes);
                return test_->lacks_;
            });
        for (size_t i = 0; i < arch::saved_register_count(); i++)
            registers_.push_back(1000 + i);
    }
    // A value of a register, of a probe that these mechanisms reach.
    void probe_by(Mechanism mechanism, HandlerKind kind, Access access) {
        program_.probes.clear();
        plan_ = {};
        probe_of(kind, 0);
        add_found(n_, std::move(access));
        plan_.sites[0].mechanism = mechanism;
        plan_.sites[0].trampoline = no_index;
        plan_.trampolines.clear();
        plan_.variants[0].mechanisms = 1u << static_cast<unsigned>(mechanism);
    }
    static Access in(PtReg reg) {
        Access access;
        access.base = Access::Base::Register;
        access.reg = reg;
        return access;
    }
    int64_t of_register(PtReg reg) const { return 1000 + static_cast<int64_t>(reg); }
    template <class Function> Function* code(const std::string& name) const {
        return reinterpret_cast<Function*>(code_.at(name));
    }

    Global* n_;
    std::vector<uint64_t> registers_;
};

// A kprobe goes on as if nothing had happened: its handler yields 0.
TEST_F(Callbacks, KprobesPassRegisters) {
    using ByRegs = int(void*, void*);
    for (const PtReg reg : {arch::argument_registers()[0], arch::argument_registers()[5],
                            arch::stack_pointer(), arch::instruction_pointer()}) {
        probe_by(Mechanism::Kprobe, HandlerKind::Entry, in(reg));
        load();
        EXPECT_EQ(code<ByRegs>("djs_by_regs_0")(nullptr, registers_.data()), 0);
        EXPECT_EQ(counter(), of_register(reg));
        EXPECT_FALSE(code_.has("djs_by_ftrace_0"));
    }
    Access result;
    result.base = Access::Base::ReturnValue;
    probe_by(Mechanism::Kretprobe, HandlerKind::Return, result);
    load();
    EXPECT_EQ(code<ByRegs>("djs_by_regs_0")(nullptr, registers_.data()), 0);
    EXPECT_EQ(counter(), of_register(arch::result_register()));
}

// Where ftrace has saved the registers of arguments, and no others.
TEST_F(Callbacks, FtracePassesArguments) {
    using ByFtrace = void(uint64_t, uint64_t, void*, void*);
    offsets_["ftrace_regs.regs"] = {"", 16};
    const PtReg first = arch::argument_registers()[0];
    probe_by(Mechanism::Ftrace, HandlerKind::Entry, in(first));
    load();
    code<ByFtrace>("djs_by_ftrace_0")(0, 0, nullptr,
                                      reinterpret_cast<char*>(registers_.data()) - 16);
    EXPECT_EQ(counter(), of_register(first));
    EXPECT_FALSE(code_.has("djs_by_regs_0"));
    const auto has_form = [&](Access access) {
        probe_by(Mechanism::Ftrace, HandlerKind::Entry, std::move(access));
        const auto object = generate();
        EXPECT_TRUE(object) << render_all(diagnostics_);
        return object && object->object.find("djs_by_ftrace_0") != std::string::npos;
    };
    EXPECT_TRUE(has_form(in(first)));
    EXPECT_FALSE(has_form(in(arch::instruction_pointer())));
    Access computed;
    computed.base = Access::Base::Computed;
    computed.operations = {{.kind = LocationOperation::Kind::Register, .reg = first}};
    EXPECT_TRUE(has_form(computed));
    computed.operations[0].reg = arch::instruction_pointer();
    EXPECT_FALSE(has_form(computed));
    Access constant;
    constant.base = Access::Base::Constant;
    EXPECT_TRUE(has_form(constant));
    offsets_.erase("ftrace_regs.regs");
    EXPECT_FALSE(has_form(in(first)));
}

// The first argument is the site, those of the tracepoint follow it.
TEST_F(Callbacks, TracepointsPassTheirArguments) {
    using Tracepoint = void(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);
    for (unsigned number = 0; number < 6; number++) {
        probe_by(Mechanism::Tracepoint, HandlerKind::Entry, in(arch::argument_registers()[number]));
        load();
        code<Tracepoint>("djs_tracepoint_0")(10, 11, 12, 13, 14, 15);
        EXPECT_EQ(counter(), 10 + number);
    }
    // Longer ones first ask for all the stack that a handler may have.
    options_.forms = HandlerForms::Separate;
    for (lacks_ = 0; lacks_ < 2; lacks_++) {
        static djs_ctx context;
        static unsigned left;
        left = 0;
        code_.function(
            "djs_enter", +[](const void* handler, uint64_t site) {
                EXPECT_EQ(handler, test_->code_.at("djs_script_handlers"));
                EXPECT_EQ(site, 10u);
                return &context;
            });
        code_.function("djs_leave", +[](djs_ctx*) { left++; });
        load();
        asked_.clear();
        code<Tracepoint>("djs_tracepoint_0")(10, 11, 12, 13, 14, 15);
        EXPECT_EQ(asked_, std::vector<uint32_t>{DJS_STACK_MAX});
        EXPECT_EQ(counter(), lacks_ ? 0 : 15);
        EXPECT_EQ(left, lacks_ ? 0u : 1u);
    }
}

// Those that registers do not hold are on the caller's stack, for a handler in a function of its
// own, too.
TEST_F(Callbacks, TracepointsPassMoreThanRegistersHold) {
    using Tracepoint =
        void(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);
    static djs_ctx context;
    context = {};
    context.scratch = code_.variable("scratch", 4096);
    static const auto read = [](uint64_t address) {
        return *reinterpret_cast<const uint64_t*>(address);
    };
    code_.function("djs_enter", +[](const void*, uint64_t) { return &context; });
    code_.function("djs_leave", +[](djs_ctx*) {});
    code_.function(
        "djs_load", +[](djs_ctx*, uint64_t address, uint32_t, uint32_t) { return read(address); });
    code_.function(
        "djs_load_alone", +[](uint64_t address, uint32_t) { return djs_loaded{read(address), 0}; });
    FunctionInfo info;
    info.parameters.resize(7);
    for (const HandlerForms form : {HandlerForms::Chosen, HandlerForms::Separate})
        for (const int64_t word : {0, 1}) {
            options_.forms = form;
            Access on_stack = in(arch::stack_pointer());
            on_stack.steps = {{AccessStep::Kind::Add, 8 + 8 * word},
                              {AccessStep::Kind::Load, 0, nullptr, 8}};
            probe_by(Mechanism::Tracepoint, HandlerKind::Entry, on_stack);
            plan_.sites[0].info = &info;
            load();
            code<Tracepoint>("djs_tracepoint_0")(10, 11, 12, 13, 14, 15, 16, 17);
            EXPECT_EQ(counter(), 16 + word) << static_cast<int>(form);
        }
}

} // namespace
} // namespace djstap
