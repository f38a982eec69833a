// SPDX-License-Identifier: GPL-2.0-or-later
// What a script's module checks before it does anything, in which order the parts of the runtime
// begin, and that what has begun ends in reverse order.
#include "log_for_test.h"
#include "module_for_test.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace {

class ModuleLoad : public testing::Test {
  protected:
    void SetUp() override { begin({}); }
    void TearDown() override { djs_script = {}; }
    void begin(const test_module_parameters& parameters) {
        test_module_begin(&parameters);
        djs_script = {};
        djs_script.abi_version = DJS_ABI_VERSION;
        djs_script.segment_count = 1;
        djs_script.image_count = 1;
        djs_script.images = images_;
        djs_script.kernel_release = "6.1.0";
        djs_script.kernel_version = "#1 SMP";
        djs_script.ring_bytes = 1 << 20;
        djs_script.string_bytes = 128;
        image_ = {};
        image_.kind = DJS_IMAGE_KERNEL;
        image_.build_id_address = TEST_MODULE_ID_AT;
        image_.build_id = id_;
        image_.build_id_bytes = 20;
        for (u32 i = 0; i < sizeof id_; i++)
            id_[i] = test_module_id[i] = static_cast<u8>(i + 1);
    }
    static test_module_parameters parameters() { return {}; }
    static std::string log() { return taken_log(test_module_log); }
    // Loads it, which succeeds.
    static std::string loaded() {
        EXPECT_EQ(test_module_load(), 0);
        return log();
    }
    static std::string refused() {
        EXPECT_EQ(test_module_load(), -ENOEXEC);
        return log();
    }
    // The part that is named cannot begin.
    std::string failed(const char* name) {
        test_module_fails = name;
        EXPECT_EQ(test_module_load(), -ENOMEM);
        return log();
    }
    u64 rings_of(unsigned kb, bool overwrite, u32 script_bytes) {
        auto asked = parameters();
        asked.ring_kb = kb;
        asked.overwrite = overwrite;
        begin(asked);
        djs_script.ring_bytes = script_bytes;
        loaded();
        EXPECT_EQ(test_module_overwrites, overwrite);
        return test_module_ring_bytes;
    }

    djs_image images_[2]{};
    djs_image& image_ = images_[0];
    u8 id_[TEST_MODULE_ID_MOST]{};
    const std::string begun_ = "access deferred process rings symbols ustack contexts globals "
                               "arming clock session ";
};

// ---- the kernel ---------------------------------------------------------------------------------

TEST_F(ModuleLoad, NeedsTheRuntimesVersion) {
    djs_script.abi_version++;
    EXPECT_EQ(refused(), "djstap: compiled for version " + std::to_string(DJS_ABI_VERSION + 1) +
                             " of the runtime, this is " + std::to_string(DJS_ABI_VERSION) + "\n");
}

TEST_F(ModuleLoad, NeedsTablesThatDescribeTheKernel) {
    const std::string damaged = "djstap: the script is damaged: its tables do not describe the "
                                "kernel\n";
    djs_script.segment_count = 0;
    EXPECT_EQ(refused(), damaged);
    SetUp();
    djs_script.image_count = 0;
    djs_script.images = nullptr;
    EXPECT_EQ(refused(), damaged);
    SetUp();
    image_.kind = DJS_IMAGE_MODULE;
    EXPECT_EQ(refused(), damaged);
}

TEST_F(ModuleLoad, NeedsTheKernelThatItWasCompiledFor) {
    test_module_release = "6.1.1";
    EXPECT_EQ(refused(), "djstap: compiled for kernel 6.1.0, this is 6.1.1\n");
    djs_script.kernel_release = nullptr; // for any of them
    loaded();
    SetUp();
    test_module_version = "#2 SMP";
    EXPECT_EQ(refused(), "djstap: compiled for another build of kernel 6.1.0: #1 SMP, this is #2 "
                         "SMP\n");
    djs_script.kernel_version = nullptr;
    loaded();
}

TEST_F(ModuleLoad, NeedsTheKernelsBuildId) {
    const std::string other = "djstap: compiled for another build of kernel 6.1.0: ";
    loaded();
    test_module_id[19]++;
    EXPECT_EQ(refused().substr(0, other.size()), other);
    image_.build_id_bytes = 19;
    loaded();
    test_module_id[0]++;
    EXPECT_EQ(refused().substr(0, other.size()), other);
    image_.build_id_bytes = 0; // it is not identified by it
    loaded();
    SetUp();
    test_module_id_faults = true;
    EXPECT_EQ(refused().substr(0, other.size()), other);
    // Longer ones than any kernel has are not looked at.
    SetUp();
    image_.build_id_bytes = 64;
    loaded();
    image_.build_id_bytes = 65;
    EXPECT_EQ(refused().substr(0, other.size()), other);
}

// ---- beginning ----------------------------------------------------------------------------------

TEST_F(ModuleLoad, BeginsTheSessionAtOnce) {
    auto asked = parameters();
    asked.target = 77;
    begin(asked);
    EXPECT_EQ(loaded(), begun_ + "start proc ");
    EXPECT_EQ(test_module_traced, 77);
    EXPECT_EQ(test_module_control.clock.cycles, 111U);
    EXPECT_EQ(test_module_control.clock.monotonic_ns, 222U);
    EXPECT_EQ(test_module_control.clock.realtime_ns, 333U);
    EXPECT_EQ(test_module_control.symbol_pages, 44U);
    EXPECT_EQ(test_module_gate, 0U);
}

TEST_F(ModuleLoad, MayWaitForAReader) {
    auto asked = parameters();
    asked.hold = true;
    begin(asked);
    EXPECT_EQ(loaded(), begun_ + "proc ");
}

// Where a hypervisor is asked to disable interrupts, handlers call for it.
TEST_F(ModuleLoad, HandlersTakeLocksByCallsWhereInterruptsAreVirtual) {
    test_module_interrupts_are_virtual = true;
    test_module_gate = DJS_HANDLER_CHECKS_STATE;
    loaded();
    EXPECT_EQ(test_module_gate, DJS_HANDLER_CHECKS_STATE | DJS_GATE_NO_INLINE_LOCKS);
}

TEST_F(ModuleLoad, RingsHaveTheSizeThatIsAskedFor) {
    EXPECT_EQ(rings_of(0, false, 1 << 20), 1U << 20); // the script's own
    EXPECT_EQ(rings_of(0, false, (1 << 20) + 1024), 2U << 20);
    EXPECT_EQ(rings_of(256, false, 1 << 20), 256U << 10);
    EXPECT_EQ(rings_of(257, false, 1 << 20), 512U << 10);
    EXPECT_EQ(rings_of(4, false, 1 << 20), 4096U);
    EXPECT_EQ(rings_of(3, false, 1 << 20), 4096U);
    EXPECT_EQ(rings_of(0, false, 1023), 4096U);
    EXPECT_EQ(rings_of(~0U, false, 0), 1ULL << 30);
    // A flight recorder's have four parts, each with room for any record.
    EXPECT_EQ(rings_of(3, true, 1 << 20), 4U * DJS_RECORD_MAX);
    EXPECT_EQ(rings_of(65, true, 1 << 20), 8U * DJS_RECORD_MAX);
}

TEST_F(ModuleLoad, EndsWhatHasBegunIfAPartFails) {
    const std::string refused = "djstap: not loaded: error -12\n", rings = "-rings " + refused,
                      symbols = "-symbols " + rings, stacks = "-ustack " + symbols,
                      contexts = "-contexts " + stacks, globals = "-globals " + contexts,
                      sites = "-arming " + globals;
    EXPECT_EQ(failed("rings"), "access deferred process rings djstap: no memory for the record "
                               "buffers (1024 KB per CPU)\n");
    EXPECT_EQ(failed("symbols"), "access deferred process rings symbols djstap: no memory for the "
                                 "table of symbols\n" +
                                     rings);
    EXPECT_EQ(failed("ustack"), "access deferred process rings symbols ustack djstap: cannot find "
                                "out what processes run: error -12\n" +
                                    symbols);
    EXPECT_EQ(failed("contexts"),
              "access deferred process rings symbols ustack contexts " + stacks);
    EXPECT_EQ(failed("globals"),
              "access deferred process rings symbols ustack contexts globals " + contexts);
    EXPECT_EQ(failed("arming"),
              "access deferred process rings symbols ustack contexts globals arming " + globals);
    EXPECT_EQ(failed("session"), begun_ + sites);
    const std::string stopped =
        "stop -procfs log(100) -inside -deferred -conditions -session " + sites;
    EXPECT_EQ(failed("start"), begun_ + "start " + stopped);
    EXPECT_EQ(failed("proc"), begun_ + "start proc " + stopped);
}

// What is attached for ever keeps the module.
TEST_F(ModuleLoad, StaysIfSomethingCannotBeDetached) {
    test_module_pinned = true;
    test_module_fails = "start";
    EXPECT_EQ(test_module_load(), 0);
    EXPECT_EQ(log(), begun_ + "start stop -procfs djstap: not started: error -12\n");
}

// ---- the end ------------------------------------------------------------------------------------

TEST_F(ModuleLoad, EndsInReverseOrder) {
    loaded();
    const std::string ended = "-procfs pin-wait -inside -deferred -conditions -session -arming "
                              "-globals -contexts -ustack -symbols -rings ";
    test_module_unload();
    EXPECT_EQ(log(), "stop -proc log(100) " + ended); // nobody has read it
    test_module_had_reader = true;
    test_module_unload();
    EXPECT_EQ(log(), "stop -proc " + ended);
}

// ---- parameters ---------------------------------------------------------------------------------

TEST_F(ModuleLoad, TellsWhatItWasLoadedWith) {
    char text[128];
    auto asked = parameters();
    asked.tz_gmtoff = -7200;
    asked.tz_name = "EET";
    begin(asked);
    EXPECT_EQ(test_module_zone_offset(), -7200);
    test_module_zone_name(text);
    EXPECT_STREQ(text, "EET");
    EXPECT_STREQ(test_module_zone(), "EET");
    test_module_host_name(text);
    EXPECT_STREQ(text, "node");
    asked.host = "known";
    begin(asked);
    test_module_host_name(text);
    EXPECT_STREQ(text, "known");
}

} // namespace
