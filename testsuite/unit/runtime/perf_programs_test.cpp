// SPDX-License-Identifier: GPL-2.0-or-later
// Perf events of programs: in which threads they are, what they call and count, and when they are
// gone.
#include "made_up_perf.h"

#include <cerrno>

namespace {

class PerfEventsOfPrograms : public PerfEvents {
  protected:
    void SetUp() override {
        PerfEvents::SetUp();
        how(0, DJS_PERF_OF_PROGRAM);
        handlers_[0].program = "/a";
    }
    static void task(u32 number, const char* program) { test_perf_tasks[number].program = program; }
    // As the task that loads the module, which runs no program in question.
    static void attach() {
        test_perf_be_task(299);
        ASSERT_EQ(test_perf_attach(), 0);
    }
    static u32 existing() {
        u32 count = 0;
        for (u32 i = 0; i < 1000; i++)
            count += test_perf_event_exists(i);
        return count;
    }
};

TEST_F(PerfEventsOfPrograms, AreInEachThreadThatRunsThem) {
    task(3, "/a");
    task(4, "/b");
    task(5, "/a");
    attach();
    EXPECT_EQ(log(), "find /a\nevent 0 prepares task 299 of 1/0 every 100 disabled\n"
                     "events started\n"
                     "event 1 of task 3 of 1/0 every 100 inherit remove\n"
                     "event 2 of task 5 of 1/0 every 100 inherit remove\n");
    EXPECT_TRUE(test_perf_sites[0].armed);
    EXPECT_EQ(test_perf_not_followed(), 0U);
    test_perf_overflow(1, reinterpret_cast<pt_regs*>(7));
    EXPECT_EQ(log(), "handler 0 with 7\n");
    EXPECT_EQ(test_perf_attach(), 0); // nothing is left to be done
    test_perf_disarm();
    EXPECT_EQ(log(), "");
    test_perf_sites[0].wanted = false;
    test_perf_disarm();
    EXPECT_EQ(log(), "event 2 released\nevent 1 released\nevent 0 released\n"
                     "events stopped\nworks closed\n");
    EXPECT_FALSE(test_perf_sites[0].armed);
    test_perf_disarm();
    EXPECT_EQ(log(), "");
    // And again, without looking for the program.
    test_perf_sites[0].wanted = true;
    attach();
    EXPECT_EQ(log(), "event 3 prepares task 299 of 1/0 every 100 disabled\n"
                     "events started\n"
                     "event 4 of task 3 of 1/0 every 100 inherit remove\n"
                     "event 5 of task 5 of 1/0 every 100 inherit remove\n");
    test_perf_overflow(4, nullptr);
    EXPECT_EQ(log(), "handler 0 with 0\n");
}

TEST_F(PerfEventsOfPrograms, FireByFrequency) {
    how(0, DJS_PERF_OF_PROGRAM | DJS_PERF_BY_FREQUENCY);
    task(3, "/a");
    attach();
    EXPECT_EQ(log(), "find /a\nevent 0 prepares task 299 of 1/0 freq 100 disabled\n"
                     "events started\n"
                     "event 1 of task 3 of 1/0 freq 100 inherit remove\n");
}

TEST_F(PerfEventsOfPrograms, AreThoseOfTheTarget) {
    how(0, DJS_PERF_OF_TARGET);
    task(3, "/a");
    task(4, "/b");
    test_perf_tasks[4].is_target = true;
    attach();
    EXPECT_EQ(log(), "find the target\nevent 0 prepares task 299 of 1/0 every 100 disabled\n"
                     "events started\n"
                     "event 1 of task 4 of 1/0 every 100 inherit remove\n");
}

TEST_F(PerfEventsOfPrograms, AreAttachedByThoseWhoExecuteThem) {
    attach();
    log();
    test_perf_executes(7, "/b");
    EXPECT_EQ(test_perf_next_work(), -1);
    test_perf_executes(7, "/a");
    EXPECT_EQ(test_perf_next_work(), 7);
    EXPECT_EQ(log(), ""); // not where the kernel tells of it
    test_perf_do_works();
    EXPECT_EQ(log(), "event 1 of task 7 of 1/0 every 100 inherit remove\n");
    EXPECT_EQ(test_perf_next_work(), -1);
    test_perf_executes(7, "/a"); // it has the event
    EXPECT_EQ(test_perf_next_work(), -1);
    EXPECT_EQ(test_perf_not_followed(), 0U);
    // Nobody attaches events to anything afterwards.
    test_perf_sites[0].wanted = false;
    test_perf_disarm();
    test_perf_executes(8, "/a");
    EXPECT_EQ(test_perf_next_work(), -1);
}

TEST_F(PerfEventsOfPrograms, AreAttachedByChildrenThatDoNotInheritThem) {
    task(3, "/b");
    attach();
    test_perf_forks(3, 4);
    EXPECT_EQ(test_perf_next_work(), -1);
    task(3, "/a");
    test_perf_forks(3, 4);
    EXPECT_EQ(test_perf_next_work(), 4);
    log();
    test_perf_do_works();
    EXPECT_EQ(log(), "event 1 of task 4 of 1/0 every 100 inherit remove\n");
}

TEST_F(PerfEventsOfPrograms, AreFoundInEitherContext) {
    attach();
    for (const bool second : {false, true}) {
        const u32 number = second ? 8 : 7;
        test_perf_is_second = second;
        test_perf_executes(number, "/a");
        test_perf_do_works();
        test_perf_executes(number, "/a");
        EXPECT_EQ(test_perf_next_work(), -1) << number;
    }
    EXPECT_EQ(existing(), 3U);
}

TEST_F(PerfEventsOfPrograms, AreFoundInAContextThatIsExchanged) {
    attach();
    test_perf_executes(7, "/a");
    test_perf_do_works();
    // When that of 8 has been looked up, 8 gets the one of 7.
    test_perf_tasks[8].program = "/a";
    test_perf_opens(8, 0, 1);
    test_perf_exchanged[0] = 8;
    test_perf_exchanged[1] = 7;
    test_perf_executes(8, "/a");
    EXPECT_EQ(test_perf_next_work(), -1);
    test_perf_executes(7, "/a");
    EXPECT_EQ(test_perf_next_work(), 7);
}

TEST_F(PerfEventsOfPrograms, TellThatTheTargetHasExecuted) {
    how(0, DJS_PERF_OF_TARGET);
    attach();
    djs_traced_pid = 40;
    djs_traced_executes = true;
    test_perf_process = 41;
    test_perf_executes(7, "/a");
    EXPECT_TRUE(djs_traced_executes);
    test_perf_process = 40;
    test_perf_executes(7, "/a");
    EXPECT_FALSE(djs_traced_executes);
}

TEST_F(PerfEventsOfPrograms, AreNotKeptWhereAnotherProgramRunsMeanwhile) {
    task(3, "/a");
    test_perf_tasks[3].executes = "/b";
    attach();
    EXPECT_EQ(log(), "find /a\nevent 0 prepares task 299 of 1/0 every 100 disabled\n"
                     "events started\n"
                     "event 1 of task 3 of 1/0 every 100 inherit remove\nevent 1 released\n");
    EXPECT_EQ(test_perf_not_followed(), 0U);
    // A task that executes one itself is told of that when it has the event, as the kernel is.
    test_perf_executes(7, "/a");
    test_perf_tasks[7].executes = "/b";
    test_perf_do_works();
    EXPECT_EQ(existing(), 2U);
}

TEST_F(PerfEventsOfPrograms, MissThreadsThatCannotHaveThem) {
    task(3, "/a");
    task(4, "/a");
    task(5, "/a");
    test_perf_tasks[4].error = -ENOSPC;
    test_perf_tasks[5].error = -ESRCH; // it exits
    attach();
    EXPECT_EQ(existing(), 2U);
    EXPECT_EQ(test_perf_not_followed(), 1U);
    test_perf_executes(4, "/a");
    test_perf_do_works();
    EXPECT_EQ(test_perf_not_followed(), 2U);
    test_perf_work_error = -ENOSPC;
    test_perf_executes(6, "/a");
    EXPECT_EQ(test_perf_not_followed(), 3U);
    test_perf_work_error = -ESRCH;
    test_perf_executes(7, "/a");
    EXPECT_EQ(test_perf_not_followed(), 3U);
    // Nothing is kept of those: there are the probe, what is prepared, the one event and its root.
    EXPECT_EQ(guarded_count(), 4U);
}

TEST_F(PerfEventsOfPrograms, SayWhyTheProgramCannotBeFound) {
    const struct {
        int error;
        const char* why;
    } cases[] = {
        {-ENOENT, "there is no such program"},
        {-ENOTDIR, "there is no such program"},
        {-EACCES, "the path does not name a file"},
        {-ELOOP, "the path of the program cannot be looked up"},
    };
    for (const auto& [error, why] : cases) {
        test_perf_begin();
        test_perf_sites[0].wanted = true;
        test_perf_error = error;
        EXPECT_EQ(test_perf_attach(), error);
        EXPECT_EQ(log(),
                  "find /a\nfailed 0: " + std::string(why) + " (" + std::to_string(error) + ")\n");
        test_perf_free();
    }
    test_perf_begin();
    test_perf_sites[0].wanted = true;
    how(0, DJS_PERF_OF_TARGET);
    test_perf_error = -ESRCH;
    EXPECT_EQ(test_perf_attach(), -ESRCH);
    EXPECT_EQ(log(), "find the target\nfailed 0: there is no process of -c or -x (-3)\n");
}

TEST_F(PerfEventsOfPrograms, AreHandledWhenAllThreadsHaveThem) {
    test_perf_overflows = true;
    task(3, "/a");
    attach();
    EXPECT_EQ(log(), "find /a\nevent 0 prepares task 299 of 1/0 every 100 disabled\n"
                     "events started\n"
                     "event 1 of task 3 of 1/0 every 100 inherit remove\n");
    test_perf_executes(7, "/a");
    test_perf_do_works();
    EXPECT_EQ(log(), "event 2 of task 7 of 1/0 every 100 inherit remove\nhandler 0 with 0\n");
    test_perf_sites[0].wanted = false;
    test_perf_disarm(); // from then on, none is
    EXPECT_EQ(log(), "event 2 released\nevent 1 released\nevent 0 released\n"
                     "events stopped\nworks closed\n");
}

TEST_F(PerfEventsOfPrograms, OfSeveralProbesAreApart) {
    djs_script.site_count = 4;
    how(1, DJS_PERF_OF_PROGRAM);
    handlers_[1].program = "/a";
    how(2, DJS_PERF_OF_PROGRAM);
    handlers_[2].program = "/b";
    how(3, DJS_PERF_OF_PROGRAM);
    sites_[3].mechanism = DJS_MECHANISM_PROCFS; // whatever the argument says
    test_perf_sites[2].wanted = test_perf_sites[3].wanted = true;
    task(3, "/a");
    attach();
    EXPECT_EQ(log(), "find /a\nfind /a\nfind /b\n"
                     "event 0 prepares task 299 of 1/0 every 100 disabled\n"
                     "event 1 prepares task 299 of 1/2 every 100 disabled\n"
                     "events started\n"
                     "event 2 of task 3 of 1/0 every 100 inherit remove\n");
    EXPECT_FALSE(test_perf_sites[1].armed);
    test_perf_sites[1].wanted = true;
    attach();
    EXPECT_EQ(log(), "event 3 prepares task 299 of 1/1 every 100 disabled\n"
                     "events started\n"
                     "event 4 of task 3 of 1/1 every 100 inherit remove\n");
    EXPECT_EQ(guarded_count(), 1 + 5 + 2U); // events of a thread are found in two places then
    test_perf_executes(5, "/a");
    test_perf_do_works();
    EXPECT_EQ(log(), "event 5 of task 5 of 1/0 every 100 inherit remove\n"
                     "event 6 of task 5 of 1/1 every 100 inherit remove\n");
    test_perf_overflow(5, nullptr);
    test_perf_overflow(6, nullptr);
    EXPECT_EQ(log(), "handler 0 with 0\nhandler 1 with 0\n");
    test_perf_sites[0].wanted = false;
    test_perf_disarm();
    EXPECT_EQ(log(), "event 5 released\nevent 2 released\nevent 0 released\n");
    EXPECT_FALSE(test_perf_sites[0].armed);
    EXPECT_TRUE(test_perf_sites[1].armed);
    test_perf_executes(6, "/a"); // what is not armed is not attached
    test_perf_do_works();
    EXPECT_EQ(log(), "event 7 of task 6 of 1/1 every 100 inherit remove\n");
    test_perf_executes(6, "/a");
    EXPECT_EQ(test_perf_next_work(), -1);
    test_perf_sites[2].wanted = false;
    test_perf_disarm();
    EXPECT_EQ(log(), "event 1 released\n");
    test_perf_sites[1].wanted = false;
    test_perf_disarm();
    EXPECT_EQ(log(), "event 7 released\nevent 6 released\nevent 4 released\nevent 3 released\n"
                     "events stopped\nworks closed\n");
    EXPECT_EQ(guarded_count(), 1U); // which programs they are
}

TEST_F(PerfEventsOfPrograms, AreAttachedAsFarAsTheyCan) {
    djs_script.site_count = 2;
    how(1, DJS_PERF_OF_PROGRAM);
    handlers_[1].program = "/a";
    test_perf_sites[1].wanted = true;
    attach();
    log();
    // The first one of the thread gets the last memory.
    test_allocations_left = 2;
    test_perf_executes(3, "/a");
    test_perf_do_works();
    EXPECT_EQ(log(), "event 2 of task 3 of 1/0 every 100 inherit remove\n");
    EXPECT_EQ(test_perf_not_followed(), 1U);
    // None, and nothing is kept for it.
    test_allocations_left = 1;
    test_perf_executes(4, "/a");
    test_perf_do_works();
    EXPECT_EQ(test_perf_not_followed(), 2U);
    test_allocations_left = 0;
    test_perf_executes(5, "/a");
    test_perf_do_works();
    EXPECT_EQ(test_perf_not_followed(), 3U);
    EXPECT_EQ(log(), "");
    EXPECT_EQ(guarded_count(), 1 + 2 + 2U);
    // The others are attached later, because the thread lacks them.
    test_allocations_left = LONG_MAX;
    test_perf_executes(3, "/a");
    test_perf_do_works();
    EXPECT_EQ(log(), "event 3 of task 3 of 1/1 every 100 inherit remove\n");
    EXPECT_EQ(test_perf_not_followed(), 3U);
}

TEST_F(PerfEventsOfPrograms, NeedMemory) {
    task(3, "/a");
    test_allocations_left = 0; // for which programs they are
    EXPECT_EQ(test_perf_attach(), -ENOMEM);
    EXPECT_EQ(log(), "");
    test_allocations_left = 1; // for what is prepared
    attach();
    EXPECT_EQ(log(), "find /a\nfailed 0: this machine has no such perf event (-12)\n");
    test_allocations_left = LONG_MAX;
    test_perf_free();
    test_perf_begin();
    test_perf_sites[0].wanted = true;
    test_allocations_left = 2; // for the threads
    EXPECT_EQ(test_perf_attach(), -ENOMEM);
}

TEST_F(PerfEventsOfPrograms, AreNotAttachedIfTheMachineHasNoSuchEvent) {
    test_perf_anchor_error = -ENOENT;
    task(3, "/a");
    attach();
    EXPECT_EQ(log(), "find /a\nfailed 0: this machine has no such perf event (-2)\n");
    EXPECT_FALSE(test_perf_sites[0].armed);
    test_perf_anchor_error = 0;
    attach(); // it has failed
    EXPECT_EQ(log(), "");
    test_perf_sites[0].wanted = false;
    test_perf_disarm();
    EXPECT_EQ(log(), "");
}

TEST_F(PerfEventsOfPrograms, NeedWorksAndTracepoints) {
    test_perf_works_error = -EOPNOTSUPP;
    EXPECT_EQ(test_perf_attach(), -EOPNOTSUPP);
    EXPECT_EQ(log(), "failed 0: this kernel has no task_work_add (-95)\n");
    test_perf_free();
    log();
    test_perf_begin();
    test_perf_sites[0].wanted = true;
    test_perf_works_error = -ENOMEM;
    EXPECT_EQ(test_perf_attach(), -ENOMEM);
    EXPECT_EQ(log(), "");
    test_perf_free();
    log();
    test_perf_begin();
    task(3, "/a");
    test_perf_sites[0].wanted = true;
    test_perf_events_error = -EINVAL;
    EXPECT_EQ(test_perf_attach(), -EINVAL);
    EXPECT_EQ(log(), "find /a\nevent 0 prepares task 0 of 1/0 every 100 disabled\n"
                     "events started\nworks closed\n");
    test_perf_events_error = 0;
}

TEST_F(PerfEventsOfPrograms, AreCountedByThread) {
    djs_script.site_count = 2;
    how(0, DJS_PERF_OF_PROGRAM | DJS_PERF_COUNTER);
    how(1, DJS_PERF_OF_PROGRAM | (DJS_PERF_COUNTER + 1)); // a number that is odd is no frequency
    handlers_[1].program = "/a";
    test_perf_sites[1].wanted = true;
    task(3, "/a");
    attach();
    EXPECT_EQ(log(), "find /a\nfind /a\n"
                     "event 0 prepares task 299 of 1/0 every 100 disabled\n"
                     "event 1 prepares task 299 of 1/1 every 100 disabled\n"
                     "events started\n"
                     "event 2 of task 3 of 1/0 every 100 inherit stat remove\n"
                     "event 3 of task 3 of 1/1 every 100 inherit stat remove\n");
    test_perf_counts(2, 5, 7, 0);
    test_perf_counts(3, 11, 0, 0);
    test_perf_be_task(3);
    EXPECT_EQ(test_perf_read(0), 12);
    EXPECT_EQ(test_perf_read(1), 11);
    EXPECT_EQ(test_perf_read(2), 0);
    test_perf_be_task(4);
    EXPECT_EQ(test_perf_read(0), 0);
    // In the other context.
    test_perf_is_second = true;
    test_perf_executes(7, "/a");
    test_perf_do_works();
    test_perf_counts(4, 13, 0, 1);
    test_perf_be_task(7);
    EXPECT_EQ(test_perf_read(0), 13);
    // Of those that are not attached.
    test_perf_be_task(3);
    test_perf_sites[0].wanted = false;
    test_perf_disarm();
    EXPECT_EQ(test_perf_read(0), 0);
    EXPECT_EQ(test_perf_read(1), 11);
    test_perf_sites[1].wanted = false;
    test_perf_disarm();
    EXPECT_EQ(test_perf_read(1), 0);
}

TEST_F(PerfEventsOfPrograms, AreCountedBehindSomeOfTheProgramsOwn) {
    how(0, DJS_PERF_OF_PROGRAM | DJS_PERF_COUNTER);
    task(3, "/a");
    task(4, "/a");
    attach();
    test_perf_counts(1, 5, 0, 1);
    test_perf_counts(2, 6, 0, 1);
    test_perf_opens(3, 0, 255);
    test_perf_be_task(3);
    EXPECT_EQ(test_perf_read(0), 5);
    test_perf_opens(4, 0, 256);
    test_perf_be_task(4);
    EXPECT_EQ(test_perf_read(0), 0);
    test_perf_executes(4, "/a"); // it is there nevertheless
    EXPECT_EQ(test_perf_next_work(), -1);
}

TEST_F(PerfEventsOfPrograms, AreReleasedWhenAllWhoHaveThemAreGone) {
    for (u32 i = 0; i < 64; i++)
        task(i, "/a");
    attach();
    ASSERT_EQ(existing(), 65U); // event i + 1 is that of task i
    log();
    test_perf_is_over(1, -3, 0);
    test_perf_is_over(2, -3, 1); // a child still runs
    test_perf_is_over(3, -1, 0); // stopped
    test_perf_is_over(4, -4, 0);
    test_perf_is_over(5, 1, 0);
    test_perf_executes(100, "/a"); // there would be more than 64
    test_perf_do_works();
    EXPECT_EQ(log(), "event 4 released\nevent 1 released\n"
                     "event 65 of task 100 of 1/0 every 100 inherit remove\n");
    // 62 were left, so there are 64 more before the others are looked at again.
    test_perf_is_over(2, -3, 0);
    for (u32 i = 101; i < 101 + 63; i++) {
        test_perf_executes(i, "/a");
        test_perf_do_works();
    }
    EXPECT_TRUE(test_perf_event_exists(2));
    log();
    test_perf_executes(170, "/a");
    test_perf_do_works();
    EXPECT_EQ(log(), "event 2 released\n"
                     "event 129 of task 170 of 1/0 every 100 inherit remove\n");
    EXPECT_EQ(test_perf_not_followed(), 0U);
}

TEST_F(PerfEventsOfPrograms, AreLookedAtSeldomIfThereAreMany) {
    for (u32 i = 0; i < 192; i++) // they are looked at when there are 64, 128 and 192
        task(i, "/a");
    attach();
    test_perf_executes(200, "/a");
    test_perf_do_works();
    test_perf_is_over(1, -3, 0);
    for (u32 i = 201; i < 200 + 96; i++) {
        test_perf_executes(i, "/a");
        test_perf_do_works();
    }
    EXPECT_TRUE(test_perf_event_exists(1)); // there are 288 = 192 + 192 / 2
    test_perf_executes(297, "/a");
    test_perf_do_works();
    EXPECT_FALSE(test_perf_event_exists(1));
}

TEST_F(PerfEventsOfPrograms, AreNotMoreThanTheScriptAllows) {
    djs_script.max_perf_threads = 2;
    for (u32 i = 0; i < 5; i++)
        task(i, "/a");
    attach();
    EXPECT_EQ(existing(), 3U);
    EXPECT_EQ(test_perf_not_followed(), 3U);
    test_perf_executes(10, "/a");
    test_perf_do_works();
    EXPECT_EQ(existing(), 3U);
    EXPECT_EQ(test_perf_not_followed(), 4U);
    test_perf_is_over(1, -3, 0);
    test_perf_executes(10, "/a");
    test_perf_do_works();
    EXPECT_FALSE(test_perf_event_exists(1));
    EXPECT_TRUE(test_perf_event_exists(3));
    EXPECT_EQ(test_perf_not_followed(), 4U);
}

TEST_F(PerfEventsOfPrograms, AreInManyThreads) {
    for (u32 i = 0; i < 290; i++)
        task(i, "/a");
    test_perf_tasks[3].error = test_perf_tasks[200].error = -ENOSPC;
    attach();
    EXPECT_EQ(existing(), 1 + 288U);
    EXPECT_EQ(test_perf_not_followed(), 2U);
}

TEST_F(PerfEventsOfPrograms, AreNotTriedForEver) {
    for (u32 i = 0; i < 200; i++) {
        task(i, "/a");
        test_perf_tasks[i].error = -ENOSPC;
    }
    attach(); // none of the first ones gets one, so those behind them are not reached
    EXPECT_EQ(existing(), 1U);
    EXPECT_EQ(test_perf_not_followed(), 200U);
}

} // namespace
