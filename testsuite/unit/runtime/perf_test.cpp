// SPDX-License-Identifier: GPL-2.0-or-later
// Perf events of CPUs: on which they are, what they call and count, and when they are gone.
#include "made_up_perf.h"

#include <cerrno>

namespace {

TEST_F(PerfEvents, AreOnEachCpuThatIsOnline) {
    test_perf_cpus[1].online = false;
    EXPECT_EQ(test_perf_attach(), 0);
    EXPECT_EQ(log(), "event 0 on cpu 0 of 1/0 every 100\nevent 1 on cpu 2 of 1/0 every 100\n");
    EXPECT_TRUE(test_perf_sites[0].armed);
    EXPECT_TRUE(test_perf_sites[0].has_data);
    EXPECT_EQ(test_perf_attach(), 0); // they are there
    test_perf_disarm();               // and wanted
    EXPECT_EQ(log(), "");
    test_perf_sites[0].wanted = false;
    test_perf_disarm();
    EXPECT_EQ(log(), "event 0 released\nevent 1 released\nwaited\n");
    EXPECT_EQ(test_count_at_wait, 1U); // a handler may still look at what belongs to them
    EXPECT_FALSE(test_perf_sites[0].armed);
    EXPECT_FALSE(test_perf_sites[0].has_data);
    EXPECT_EQ(guarded_count(), 0U);
    EXPECT_EQ(test_perf_attach(), 0); // not wanted
    test_perf_disarm();               // gone, so there is nothing to wait for
    EXPECT_EQ(log(), "");
}

TEST_F(PerfEvents, OfSeveralProbesGoTogether) {
    djs_script.site_count = 3;
    test_perf_sites[1].wanted = test_perf_sites[2].wanted = true;
    test_perf_cpus[1].online = test_perf_cpus[2].online = false;
    how(1, DJS_PERF_BY_FREQUENCY);
    sites_[2].mechanism = DJS_MECHANISM_TIMER;
    EXPECT_EQ(test_perf_attach(), 0);
    EXPECT_EQ(log(), "event 0 on cpu 0 of 1/0 every 100\nevent 1 on cpu 0 of 1/1 freq 100\n");
    test_perf_sites[0].wanted = test_perf_sites[1].wanted = false;
    test_perf_disarm();
    EXPECT_EQ(log(), "event 0 released\nevent 1 released\nwaited\n");
}

TEST_F(PerfEvents, CallTheirHandlersWithTheRegisters) {
    EXPECT_EQ(test_perf_attach(), 0);
    log();
    test_perf_overflow(2, reinterpret_cast<pt_regs*>(7));
    EXPECT_EQ(log(), "handler 0 with 7\n");
    handlers_[0].by_regs = [](void* unused, pt_regs* regs) {
        calls += unused == nullptr && regs == reinterpret_cast<pt_regs*>(8);
        return 0;
    };
    test_perf_overflow(0, reinterpret_cast<pt_regs*>(8));
    EXPECT_EQ(calls, 1U);
    EXPECT_EQ(log(), "");
}

TEST_F(PerfEvents, NeedNoCpuThatGoes) {
    test_perf_cpus[1].leaves = true;
    EXPECT_EQ(test_perf_attach(), 0);
    EXPECT_EQ(log(), "event 0 on cpu 0 of 1/0 every 100\nevent 1 on cpu 2 of 1/0 every 100\n");
    EXPECT_TRUE(test_perf_sites[0].armed);
    EXPECT_EQ(test_perf_sites[0].error, 0);
}

TEST_F(PerfEvents, FailOnAllCpusOrOnNone) {
    for (const int error : {-ENOENT, -ENODEV}) {
        test_perf_begin();
        test_perf_sites[0].wanted = true;
        test_perf_cpus[1].error = error; // it has no such event, though it is online
        EXPECT_EQ(test_perf_attach(), 0);
        EXPECT_EQ(log(), "event 0 on cpu 0 of 1/0 every 100\nevent 0 released\nwaited\n"
                         "failed 0: this machine has no such perf event (" +
                             std::to_string(error) + ")\n");
        EXPECT_FALSE(test_perf_sites[0].armed);
        EXPECT_EQ(guarded_count(), 0U);
        test_perf_cpus[1].error = 0;
        EXPECT_EQ(test_perf_attach(), 0); // it is not tried again
        EXPECT_EQ(log(), "");
    }
}

TEST_F(PerfEvents, NeedMemory) {
    test_allocations_left = 0;
    EXPECT_EQ(test_perf_attach(), -ENOMEM);
    EXPECT_EQ(log(), "");
    EXPECT_EQ(test_perf_sites[0].error, 0);
    EXPECT_FALSE(test_perf_sites[0].armed);
}

TEST_F(PerfEvents, AreCounted) {
    djs_script.site_count = 2;
    test_perf_sites[1].wanted = true;
    how(0, DJS_PERF_COUNTER);
    how(1, DJS_PERF_COUNTER + DJS_MOST_PERF_COUNTERS - 1);
    EXPECT_EQ(test_perf_attach(), 0);
    for (u32 i = 0; i < 6; i++)
        EXPECT_FALSE(test_perf_can_overflow(i)) << i;
    test_perf_cpu = 1;
    test_perf_counts(1, 5, 7, 1);
    EXPECT_EQ(test_perf_read(0), 12);
    EXPECT_EQ(test_perf_read(0), 12);
    test_perf_counts(1, 5, 7, 0); // the event does not run here, so nobody may update it
    EXPECT_EQ(test_perf_read(0), 5);
    test_perf_counts(4, 9, 0, 1);
    EXPECT_EQ(test_perf_read(DJS_MOST_PERF_COUNTERS - 1), 9);
    EXPECT_EQ(test_perf_read(1), 0);
    log();
    // Nobody reads an event that is released.
    test_perf_sites[1].wanted = false;
    test_perf_disarm();
    EXPECT_EQ(log(), "waited\nevent 3 released\nevent 4 released\nevent 5 released\nwaited\n");
    EXPECT_EQ(test_perf_read(DJS_MOST_PERF_COUNTERS - 1), 0);
    EXPECT_EQ(test_perf_read(0), 5);
}

// What tasks are to do for them is freed once, and only if some could be told to.
TEST_F(PerfEvents, OfProgramsAreFreedWithTheirWorks) {
    EXPECT_EQ(test_perf_attach(), 0);
    test_perf_sites[0].wanted = false;
    test_perf_disarm();
    log();
    test_perf_free(); // those of CPUs have none
    EXPECT_EQ(log(), "");
    how(0, DJS_PERF_OF_PROGRAM);
    handlers_[0].program = "/a";
    test_perf_sites[0].wanted = true;
    EXPECT_EQ(test_perf_attach(), 0);
    test_perf_sites[0].wanted = false;
    test_perf_disarm();
    log();
    test_perf_free();
    EXPECT_EQ(log(), "works closed\nworks freed\n");
    EXPECT_EQ(guarded_count(), 0U);
    test_perf_free();
    EXPECT_EQ(log(), "");
}

TEST_F(PerfEvents, AreNotCountedOnCpusThatCameLater) {
    how(0, DJS_PERF_COUNTER);
    test_perf_cpus[2].online = false;
    EXPECT_EQ(test_perf_attach(), 0);
    test_perf_cpu = 2;
    EXPECT_EQ(test_perf_read(0), 0);
}

TEST_F(PerfEvents, WithoutSuchAnEventAreNoCounters) {
    how(0, DJS_PERF_COUNTER);
    test_perf_cpus[2].error = -EOPNOTSUPP;
    EXPECT_EQ(test_perf_attach(), 0);
    // Nobody could have read it, so only the release waits.
    EXPECT_EQ(log(), "event 0 on cpu 0 of 1/0 every 100\nevent 1 on cpu 1 of 1/0 every 100\n"
                     "event 0 released\nevent 1 released\nwaited\n"
                     "failed 0: this machine has no such perf event (-95)\n");
    EXPECT_EQ(test_perf_read(0), 0);
}

} // namespace
