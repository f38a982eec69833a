// SPDX-License-Identifier: GPL-2.0-or-later
// Handlers that hold locks and have no context, executed: they take a free lock as
// runtime/globals/locks.h does, and leave everything else to the runtime.
#include "kernel_code.h"

#include "include/script.h"

#include <llvm/IR/Module.h>

namespace djstap {
namespace {

class LockedHandlers : public InKernel {
  protected:
    // What the body finds while it runs.
    struct Seen {
        int32_t holders;
        bool interrupts;
        int64_t alone;
        bool operator==(const Seen&) const = default;
    };
    void SetUp() override {
        InKernel::SetUp();
        test_ = this;
        code_.function(
            "djs_lock_enter", +[](const char* handler) { return test_->asked("enter", handler); });
        code_.function(
            "djs_lock_wait", +[](const char* handler) { return test_->asked("wait", handler); });
        code_.function(
            "djs_lock_leave", +[](const char* handler, uint64_t flags) {
                test_->tell("leave", handler);
                test_->log_ += "(" + std::to_string(flags) + ")";
                EXPECT_EQ(test_->of_cpu("locked_alone"), 0);
                PrivilegedInstructions::interrupts_are_on = true;
            });
        code_.function(
            "djs_fail_alone", +[](const char* message, uint32_t place) {
                test_->log_ += " fail:" + std::string(message) + "," + std::to_string(place);
            });
        code_.function(
            "djs_fail_read_alone", +[](uint64_t address, uint32_t size, uint32_t place) {
                test_->log_ += " unread:" + std::to_string(address) + "," + std::to_string(size) +
                               "," + std::to_string(place);
            });
        code_.function(
            "djs_fn_local_clock_ns", +[](void*) {
                test_->seen_.push_back({test_->has_lock_ ? test_->holders() : 0,
                                        PrivilegedInstructions::interrupts_are_on,
                                        test_->of_cpu("locked_alone")});
                return int64_t{5};
            });
        code_.function("djs_map_insert_slot", +[]() -> void* { return nullptr; });
        code_.function("djs_lacks_stack", +[](uint32_t) { return uint32_t{0}; });
    }
    uint64_t asked(const std::string& what, const char* handler) {
        tell(what, handler);
        if (!yielded_)
            PrivilegedInstructions::interrupts_are_on = true;
        return yielded_;
    }
    void tell(const std::string& what, const char* handler) {
        log_ += (log_.empty() ? "" : " ") + what;
        EXPECT_EQ(handler, code_.at("djs_script_handlers"));
    }
    // Readers, or -1: a writer.
    int32_t& holders() { return code_.as<int32_t>("djs_lock_of_test"); }

    // Adds a probe of a function: what += local_clock(), which is a call that may be probed.
    Probe* timing_probe(const Global* what) {
        return probe_of(HandlerKind::Entry, 0, add(what, clock()));
    }
    ExpressionPtr clock() {
        if (program_.functions.empty()) {
            auto function = std::make_unique<Function>();
            function->name = function->intrinsic = "local_clock_ns";
            function->return_type = Type::Long;
            program_.functions.push_back(std::move(function));
        }
        auto made = std::make_unique<Call>();
        made->function = program_.functions.front().get();
        return made;
    }
    // Compiles and loads; the address of the first lock is told by the tables.
    void load_locked() {
        options_.plant = [](llvm::Module& module) {
            if (auto* const locks = module.getNamedGlobal("djs_locks")) {
                locks->setName("djs_lock_of_test"); // private symbols are in no object
                locks->setLinkage(llvm::GlobalValue::InternalLinkage);
            }
        };
        load();
        has_lock_ = code_.has("djs_lock_of_test");
    }
    // Runs the function of the probe, and returns what the runtime was asked.
    std::string run() {
        log_.clear();
        seen_.clear();
        const PrivilegedInstructions executed;
        EXPECT_EQ(call(0, 30, 12), 42u);
        EXPECT_TRUE(PrivilegedInstructions::interrupts_are_on);
        changes_ = PrivilegedInstructions::changes;
        EXPECT_EQ(of_cpu("locked_alone"), nested_);
        return log_;
    }

    static inline LockedHandlers* test_ = nullptr;
    uint64_t yielded_ = 77;
    std::string log_;
    std::vector<Seen> seen_;
    unsigned changes_ = 0;
    int64_t nested_ = 0;
    bool has_lock_ = false;
};

TEST_F(LockedHandlers, AFreeLockIsTakenAndReleased) {
    Global* const n = global("n", Type::Long, Storage::Locked);
    timing_probe(n)->effects.writes = {n};
    load_locked();
    EXPECT_EQ(run(), "");
    ASSERT_EQ(seen_.size(), 1u);
    EXPECT_EQ(seen_[0], (Seen{-1, false, 1}));
    EXPECT_EQ(changes_, 2u); // off and on
    EXPECT_EQ(holders(), 0);
    EXPECT_EQ(code_.as<int64_t>("djs_global_n"), 5);
}

TEST_F(LockedHandlers, AWriterWaitsForOthers) {
    Global* const n = global("n", Type::Long, Storage::Locked);
    timing_probe(n)->effects.writes = {n};
    load_locked();
    for (const int32_t others : {-1, 1, 2}) {
        holders() = others;
        EXPECT_EQ(run(), "wait leave(77)");
        ASSERT_EQ(seen_.size(), 1u);
        EXPECT_EQ(seen_[0].alone, 1);
        EXPECT_EQ(holders(), others) << "the runtime has taken it";
    }
}

TEST_F(LockedHandlers, ReadersShareALock) {
    Global* const n = global("n", Type::Long, Storage::Locked);
    n->initial_number = 100;
    Global* const m = global("m", Type::Long, Storage::PerCpu);
    probe_of(HandlerKind::Entry, 0, add(m, clock()), add(m, value_of(n)))->effects.reads = {n};
    load_locked();
    int64_t sum = 0;
    for (const int32_t others : {0, 1, 7}) {
        holders() = others;
        EXPECT_EQ(run(), "");
        ASSERT_EQ(seen_.size(), 1u);
        EXPECT_EQ(seen_[0], (Seen{others + 1, false, 1}));
        EXPECT_EQ(holders(), others);
        EXPECT_EQ(counter(), sum += 105);
    }
    holders() = -1;
    EXPECT_EQ(run(), "wait leave(77)");
    EXPECT_EQ(counter(), sum += 105);
    yielded_ = 0; // it cannot be taken
    EXPECT_EQ(run(), "wait");
    EXPECT_EQ(counter(), sum);
}

// The bits of the gate are those that handlers with locks, or any that print, are stopped by.
TEST_F(LockedHandlers, TheRuntimeDecidesWhereTheGateIsClosed) {
    Global* const n = global("n", Type::Long, Storage::Locked);
    timing_probe(n)->effects.writes = {n};
    load_locked();
    int64_t sum = 0;
    for (const uint32_t gate :
         {DJS_HANDLER_CHECKS_STATE, DJS_HANDLER_MAY_LINGER, DJS_GATE_NO_INLINE_LOCKS}) {
        code_.as<uint32_t>("djs_gate") = gate;
        yielded_ = 9;
        EXPECT_EQ(run(), "enter leave(9)") << gate;
        EXPECT_EQ(changes_, 0u) << gate;
        EXPECT_EQ(code_.as<int64_t>("djs_global_n"), sum += 5);
        yielded_ = 0;
        EXPECT_EQ(run(), "enter") << gate;
        EXPECT_EQ(code_.as<int64_t>("djs_global_n"), sum);
        EXPECT_EQ(seen_.size(), 0u);
    }
    for (const uint32_t gate : {DJS_HANDLER_IRQS_OFF, DJS_HANDLER_IN_TASK, DJS_HANDLER_SYSCALL}) {
        code_.as<uint32_t>("djs_gate") = gate;
        EXPECT_EQ(run(), "") << gate;
        EXPECT_EQ(code_.as<int64_t>("djs_global_n"), sum += 5);
    }
}

// What a handler calls may be probed by a handler that needs a lock.
TEST_F(LockedHandlers, TheRuntimeDecidesInsideAnother) {
    Global* const n = global("n", Type::Long, Storage::Locked);
    timing_probe(n)->effects.writes = {n};
    load_locked();
    for (const int64_t nested : {1, 2}) {
        of_cpu("locked_alone") = nested_ = nested;
        log_.clear();
        yielded_ = 0;
        EXPECT_EQ(run(), "enter");
    }
}

// One that calls nothing is inside no other.
TEST_F(LockedHandlers, WithoutCallsNobodyCounts) {
    Global* const n = global("n", Type::Long, Storage::Locked);
    probe_of(HandlerKind::Entry, 0, increment(n))->effects.writes = {n};
    load_locked();
    of_cpu("locked_alone") = nested_ = 1;
    EXPECT_EQ(run(), "");
    EXPECT_EQ(changes_, 2u);
    EXPECT_EQ(holders(), 0);
    EXPECT_EQ(code_.as<int64_t>("djs_global_n"), 1);
}

TEST_F(LockedHandlers, SeveralLocksAreTheRuntimes) {
    Global* const n = global("n", Type::Long, Storage::Locked);
    Global* const m = global("m", Type::Long, Storage::Locked);
    probe_of(HandlerKind::Entry, 0, add(n, clock()), increment(m))->effects.writes = {n, m};
    load_locked();
    yielded_ = 3;
    EXPECT_EQ(run(), "enter leave(3)");
    EXPECT_EQ(changes_, 0u);
    ASSERT_EQ(seen_.size(), 1u);
    EXPECT_EQ(seen_[0], (Seen{0, true, 1}));
    EXPECT_EQ(code_.as<int64_t>("djs_global_n"), 5);
    EXPECT_EQ(code_.as<int64_t>("djs_global_m"), 1);
    yielded_ = 0;
    EXPECT_EQ(run(), "enter");
    EXPECT_EQ(code_.as<int64_t>("djs_global_m"), 1);
}

// A clock that is no lock's still needs interrupts to be off.
TEST_F(LockedHandlers, NoLockIsTakenWhereNoneIsNeeded) {
    Global* const n = global("n", Type::Long, Storage::PerCpu);
    timing_probe(n);
    load_locked();
    EXPECT_EQ(run(), "");
    ASSERT_EQ(seen_.size(), 1u);
    EXPECT_EQ(seen_[0], (Seen{0, false, 1}));
    EXPECT_EQ(changes_, 2u);
    EXPECT_EQ(counter(), 5);
    code_.as<uint32_t>("djs_gate") = DJS_HANDLER_CHECKS_STATE;
    EXPECT_EQ(run(), "enter leave(77)");
}

// The runtime releases the lock, and only then is the error told.
TEST_F(LockedHandlers, ErrorsAreToldWithoutTheLock) {
    Global* const a = global("a", Type::Long, Storage::Locked, {Type::Long});
    Global* const n = global("n", Type::Long, Storage::PerCpu);
    Probe* const made =
        probe_of(HandlerKind::Entry, 0, add(n, clock()), increment_element(a, -1), increment(n));
    made->effects.writes = {a};
    made->effects.can_fail = true;
    load_locked();
    alignas(64) static char map[DJS_MAP_SLOTS_AT];
    code_.as<char*>("djs_global_a") = map;
    // The flag of interrupts, RFLAGS.IF: the handler took the lock itself.
    EXPECT_EQ(run(), "leave(512) fail:Array overflow, check MAXMAPENTRIES,0");
    EXPECT_EQ(counter(), 5) << "what follows does not run";
    holders() = -1;
    EXPECT_EQ(run(), "wait leave(77) fail:Array overflow, check MAXMAPENTRIES,0");
}

} // namespace
} // namespace djstap
