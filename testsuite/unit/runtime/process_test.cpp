// SPDX-License-Identifier: GPL-2.0-or-later
// Lives of processes and their system calls: which moments handlers are told of, and in which
// order.
#include "kernel_for_test.h"
#include "process_for_test.h"
#include "programs_for_test.h"

#include <cerrno>
#include <climits>
#include <gtest/gtest.h>
#include <string>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <utility>

extern "C" {
extern s32 djs_traced_pid;
extern bool djs_traced_executes;
}

namespace {

std::string told; // the letters of handlers, and the numbers of threads

class Processes : public testing::Test {
  protected:
    static constexpr u32 most = 6;

    void SetUp() override {
        const struct test_file one{"/bin/one", S_IFREG | 0755, 17, 1, 1};
        const struct test_file two{"/bin/two", S_IFREG | 0755, 18, 1, 1};
        test_set_file(0, &one);
        test_set_file(1, &two);
        told.clear();
        test_process_ran = [](u32 handler, s32 thread) {
            told += names_[handler] + std::to_string(thread) + " ";
        };
        djs_script.handlers = handlers_;
        djs_script.sites = sites_;
        test_tasks_exist = 0;
    }
    void TearDown() override {
        const unsigned waits = test_rcu_waits + test_is_told("sched_process_exec");
        test_process_detach();
        EXPECT_GE(test_rcu_waits, waits); // for handlers that run
        EXPECT_FALSE(test_is_told("sched_process_exec") || test_is_told("sys_enter") ||
                     test_is_told("sys_exit"));
        EXPECT_FALSE(test_process_works_are_open());
        const u32 freed = test_process_works_freed;
        test_process_free();
        EXPECT_EQ(test_process_works_freed, freed + 1);
        EXPECT_EQ(guarded_count(), 0U);
        EXPECT_EQ(test_paths_held(), 0U);
        EXPECT_EQ(test_tasks_locked(), 0U);
        EXPECT_EQ(test_task_references(), 0U);
        EXPECT_EQ(test_rcu_depth, 0);
        EXPECT_EQ(test_atomic_depth, 0);
        EXPECT_EQ(test_preempt_depth, 0);
        test_allocations_left = LONG_MAX;
        test_events_error = test_works_error = 0;
        test_is_compat = false;
        test_process_has_context = true;
        djs_script = {};
        djs_traced_pid = 0;
        djs_traced_executes = false;
    }
    // A probe with a name.
    u32 add(char name, u64 moment, const char* program, u64 process = 0) {
        const u32 number = djs_script.site_count++;
        djs_script.handler_count = djs_script.site_count;
        names_[number] = name;
        handlers_[number].arguments[DJS_PROCESS_ID] = process;
        handlers_[number].arguments[DJS_PROCESS_MOMENT] = moment;
        handlers_[number].program = program;
        handlers_[number].body = [](djs_ctx* ctx) {
            if (ctx->saved)
                told += "(" + std::to_string(ctx->saved[0]) + ") ";
            if (changes_)
                ctx->return_value += 100;
        };
        sites_[number].mechanism = DJS_MECHANISM_PROCESS;
        sites_[number].handler = number;
        return number;
    }
    void keep_values(u32 number) {
        handlers_[number].saved = 1;
        handlers_[number].entry = [](djs_ctx* ctx) {
            ctx->saved[0] = ++values_;
            if (fails_)
                ctx->error = "it fails";
        };
    }
    // Of all four moments of a life.
    void add_lives(const char* program, u64 process = 0) {
        add('B', DJS_PROCESS_BEGIN, program, process);
        add('E', DJS_PROCESS_END, program, process);
        add('b', DJS_PROCESS_THREAD_BEGIN, program, process);
        add('e', DJS_PROCESS_THREAD_END, program, process);
    }
    void start() {
        test_process_sites();
        ASSERT_EQ(test_process_attach(), 0);
        test_process_begin();
    }
    // A thread of a process, which executed a file.
    static void task(u32 number, pid_t thread, pid_t process, u32 file, unsigned flags = 0) {
        struct test_task with;
        with.pid = thread;
        with.tgid = process;
        with.file = file;
        with.flags = flags;
        with.parent = with.leader = number;
        with.has_memory = !(flags & TEST_OF_KERNEL);
        test_set_task(number, &with);
        test_threads_live(number, 0);
    }
    // What handlers were told since this was asked last.
    static std::string take() { return std::exchange(told, ""); }
    static std::string goes_on(u32 number) {
        EXPECT_LE(test_to_user_mode(number), 1U);
        return take();
    }

    djs_handler handlers_[most]{};
    djs_site sites_[most]{};
    static inline char names_[most];
    static inline u64 values_;
    static inline bool fails_, changes_;
};

TEST_F(Processes, BeginAndEndWithTheirThreads) {
    add_lives("/bin/one");
    start();
    task(1, 10, 10, 0);
    EXPECT_TRUE(test_executes(1, 10));
    EXPECT_EQ(take(), "B10 ");
    task(2, 11, 10, 0);
    EXPECT_TRUE(test_forks(1, 2));
    EXPECT_FALSE(test_process_add_may_sleep || test_process_add_warns);
    EXPECT_EQ(take(), "");
    EXPECT_EQ(goes_on(2), "b11 ");
    EXPECT_EQ(goes_on(2), ""); // once
    task(3, 20, 20, 0);
    test_forks(1, 3);
    EXPECT_EQ(goes_on(3), "B20 ");
    task(4, 12, 10, 0);
    test_forks(1, 4);
    test_threads_live(4, 2);
    test_exits(4); // before it got to user mode
    EXPECT_EQ(take(), "b12 e12 ");
    EXPECT_EQ(goes_on(4), "");
    test_threads_live(2, 1);
    test_exits(2);
    EXPECT_EQ(take(), "e11 ");
    test_exits(1);
    EXPECT_EQ(take(), "E10 ");
    // It goes on to what nobody wants, and back.
    task(3, 20, 20, 1);
    test_executes(3, 20);
    EXPECT_EQ(take(), "E20 ");
    task(5, 21, 20, 1);
    test_forks(3, 5);
    EXPECT_EQ(goes_on(5), "");
    test_exits(5);
    task(3, 20, 20, 0);
    test_executes(3, 20);
    EXPECT_EQ(take(), "B20 ");
    test_executes(3, 20); // the same again
    EXPECT_EQ(take(), "E20 B20 ");
    test_exits(3);
    EXPECT_EQ(take(), "E20 ");
}

TEST_F(Processes, AreThoseOfOneProgramAndOneNumber) {
    add_lives("/bin/one", 20);
    start();
    task(1, 10, 10, 0);
    task(2, 20, 20, 1);
    task(3, 20, 20, 0);
    for (const u32 other : {1U, 2U}) {
        test_executes(other, 10 * static_cast<s32>(other));
        test_exits(other);
        EXPECT_EQ(take(), "");
    }
    test_executes(3, 20);
    test_exits(3);
    EXPECT_EQ(take(), "B20 E20 ");
}

// Those that exist begin on their way to user mode: no threads of the kernel, and none that exit.
TEST_F(Processes, ThatExistBeginWhenTheyGoOn) {
    add_lives("/bin/one");
    task(0, 10, 10, 0);
    task(1, 11, 10, 0);
    task(2, 12, 10, 0, 0x10); // a worker of io_uring
    task(3, 13, 10, 0, TEST_EXITING);
    task(4, 30, 30, TEST_FILES, TEST_OF_KERNEL);
    task(5, 20, 20, 1);
    for (u32 i = 6; i < 106; i++)
        task(i, static_cast<pid_t>(1000 + i), static_cast<pid_t>(1000 + i), 1);
    test_tasks_exist = 106;
    start();
    const u32 left = guarded_count();
    EXPECT_TRUE(test_process_add_may_sleep);
    EXPECT_EQ(test_task_references(), 0U);
    EXPECT_EQ(take(), "");
    EXPECT_EQ(goes_on(1), "B11 b11 ");
    EXPECT_EQ(goes_on(0), "");
    for (const u32 other : {2U, 3U, 4U, 5U, 6U})
        EXPECT_EQ(test_to_user_mode(other), 0U) << other;
    test_threads_live(1, 1);
    test_exits(1);
    test_exits(0);
    EXPECT_EQ(take(), "e11 E10 ");
    // The end of its last thread is enough: nothing is remembered of who exits later.
    test_executes(0, 10);
    EXPECT_EQ(take(), "B10 ");
    test_exits(0);
    EXPECT_EQ(take(), "E10 ");
    EXPECT_EQ(guarded_count(), left);
}

TEST_F(Processes, WithoutMemoryThoseThatExistAreNotFollowed) {
    add_lives("/bin/one");
    task(0, 10, 10, 0);
    test_tasks_exist = 1;
    test_process_sites();
    ASSERT_EQ(test_process_attach(), 0);
    test_allocations_left = 0;
    test_process_begin();
    test_allocations_left = LONG_MAX;
    EXPECT_EQ(test_to_user_mode(0), 0U);
    test_executes(0, 10);
    EXPECT_EQ(take(), "B10 ");
    test_exits(0);
}

// A condition leaves out what happens meanwhile, and breaks no pair.
TEST_F(Processes, AreFollowedWhateverConditionsSay) {
    add_lives("/bin/one");
    start();
    test_process_want(0, false);
    test_process_want(3, false);
    const unsigned waits = test_rcu_waits;
    test_process_disarm();
    EXPECT_EQ(test_rcu_waits, waits + 1);
    test_process_disarm();
    EXPECT_EQ(test_rcu_waits, waits + 1);
    EXPECT_FALSE(test_process_armed(0));
    EXPECT_TRUE(test_process_armed(1));
    task(1, 10, 10, 0);
    task(2, 11, 10, 0);
    test_executes(1, 10);
    test_forks(1, 2);
    EXPECT_EQ(goes_on(2), "b11 ");
    test_process_want(0, true);
    ASSERT_EQ(test_process_attach(), 0);
    test_threads_live(2, 1);
    test_exits(2);
    test_exits(1);
    EXPECT_EQ(take(), "E10 ");
    test_executes(1, 10);
    EXPECT_EQ(take(), "B10 ");
    test_exits(1);
}

// Whoever is created does something on its way to user mode only if a handler waits for that.
TEST_F(Processes, DoNothingThatNobodyWants) {
    add('E', DJS_PROCESS_END, "/bin/one");
    add('b', DJS_PROCESS_THREAD_BEGIN, "/bin/one");
    start();
    task(1, 10, 10, 0);
    task(2, 20, 20, 0);
    task(3, 11, 10, 0);
    test_executes(1, 10);
    test_forks(1, 2);
    test_forks(1, 3);
    EXPECT_EQ(test_to_user_mode(2), 0U);
    EXPECT_EQ(test_to_user_mode(3), 1U);
    EXPECT_EQ(take(), "b11 ");
    test_exits(2);
    test_threads_live(3, 1);
    test_exits(3);
    test_exits(1);
    EXPECT_EQ(take(), "E20 E10 ");
}

TEST_F(Processes, TheTargetBeginsWhenItExecutes) {
    djs_traced_pid = 10;
    djs_traced_executes = true;
    add('B', DJS_PROCESS_BEGIN, nullptr);
    start();
    task(1, 20, 20, 0);
    task(2, 10, 10, 0, TEST_FORKED);
    test_executes(1, 20); // it is no descendant
    EXPECT_TRUE(djs_traced_executes);
    task(2, 10, 10, 0);
    test_executes(2, 10);
    EXPECT_FALSE(djs_traced_executes);
    EXPECT_EQ(take(), "B10 ");
    test_exits(2);
}

TEST_F(Processes, CannotBeFollowed) {
    add_lives("/bin/one");
    test_works_error = -EOPNOTSUPP;
    test_process_sites();
    EXPECT_EQ(test_process_attach(), 0);
    for (u32 i = 0; i < 4; i++)
        EXPECT_EQ(test_process_error(i), -EOPNOTSUPP);
    EXPECT_FALSE(test_process_armed(0));
    test_process_begin();
    test_process_free();
    test_works_error = 0;
    test_events_error = -ENOENT;
    test_process_sites();
    EXPECT_EQ(test_process_attach(), 0);
    EXPECT_EQ(test_process_error(0), -ENOENT);
    test_process_free();
    test_events_error = -ENOMEM;
    test_process_sites();
    EXPECT_EQ(test_process_attach(), -ENOMEM);
    test_process_free();
    test_events_error = 0;
    // The sites, and the members.
    for (const long allocations : {0L, 1L}) {
        test_allocations_left = allocations;
        test_process_sites();
        EXPECT_EQ(test_process_attach(), -ENOMEM);
        test_process_free();
    }
    test_allocations_left = LONG_MAX;
    // Nobody follows for programs that are not there.
    for (djs_handler& handler : handlers_)
        handler.program = "/bin/nowhere";
    test_process_sites();
    EXPECT_EQ(test_process_attach(), 0);
    EXPECT_EQ(test_process_error(0), -ENOENT);
    EXPECT_FALSE(test_is_told("sched_process_exec"));
}

TEST_F(Processes, OtherMechanismsAreLeftAlone) {
    add('B', DJS_PROCESS_BEGIN, nullptr);
    sites_[0].mechanism = DJS_MECHANISM_KPROBE;
    start();
    EXPECT_EQ(guarded_count(), 0U);
    EXPECT_FALSE(test_process_armed(0));
}

// ---- system calls -------------------------------------------------------------------------------

TEST_F(Processes, MakeSystemCalls) {
    const u32 calls = add('c', DJS_PROCESS_SYSCALL, "/bin/one");
    const u32 returns = add('r', DJS_PROCESS_SYSCALL_RETURN, "/bin/one", 10);
    start();
    EXPECT_FALSE(test_is_told("sched_process_exec"));
    task(1, 10, 10, 0);
    task(2, 20, 20, 0);
    task(3, 10, 10, 1);
    EXPECT_TRUE(test_calls(1, SYS_getpid));
    EXPECT_EQ(take(), "c10 ");
    EXPECT_EQ(test_call_returns(1, SYS_getpid, 7), 7);
    EXPECT_EQ(take(), "r10 ");
    changes_ = true;
    EXPECT_EQ(test_call_returns(1, SYS_getpid, 7), 107);
    changes_ = false;
    EXPECT_EQ(test_call_returns(1, SYS_clone, 0), 0); // of a new task
    EXPECT_EQ(take(), "r10 r10 ");
    test_calls(2, SYS_getpid);
    test_call_returns(2, SYS_getpid, 7);
    EXPECT_EQ(take(), "c20 ");
    test_calls(3, SYS_getpid); // another program
    test_call_returns(3, SYS_getpid, 7);
    test_is_compat = true; // with numbers of their own
    test_calls(1, SYS_getpid);
    test_call_returns(1, SYS_getpid, 7);
    test_is_compat = false;
    EXPECT_EQ(take(), "");
    test_process_has_context = false;
    EXPECT_EQ(test_call_returns(1, SYS_getpid, 7), 7);
    EXPECT_EQ(take(), "");
    test_process_has_context = true;
    // The kernel tells only of what is wanted.
    test_process_want(calls, false);
    test_process_disarm();
    EXPECT_FALSE(test_is_told("sys_enter"));
    EXPECT_TRUE(test_is_told("sys_exit"));
    test_process_want(calls, true);
    test_process_want(returns, false);
    test_process_disarm();
    ASSERT_EQ(test_process_attach(), 0);
    EXPECT_TRUE(test_is_told("sys_enter"));
    EXPECT_FALSE(test_is_told("sys_exit"));
    test_calls(1, SYS_getpid);
    EXPECT_EQ(take(), "c10 ");
}

TEST_F(Processes, RunFormsWithoutAContext) {
    add('c', DJS_PROCESS_SYSCALL, "/bin/one");
    add('r', DJS_PROCESS_SYSCALL_RETURN, "/bin/one");
    add('B', DJS_PROCESS_BEGIN, "/bin/one");
    for (djs_handler& handler : handlers_)
        handler.by_regs = [](void*, pt_regs* regs) {
            told += regs ? "call " : "life ";
            EXPECT_GT(test_preempt_depth, 0);
            return 0;
        };
    start();
    task(1, 10, 10, 0);
    test_calls(1, SYS_getpid);
    EXPECT_EQ(take(), "call ");
    EXPECT_EQ(test_call_returns(1, SYS_getpid, 7), 7);
    EXPECT_EQ(take(), "call ");
    test_executes(1, 10);
    EXPECT_EQ(take(), "life ");
    test_exits(1);
}

TEST_F(Processes, ReturnFromCallsWithValuesOfTheirEntry) {
    const u32 returns = add('r', DJS_PROCESS_SYSCALL_RETURN, "/bin/one");
    keep_values(returns);
    values_ = 0;
    fails_ = false;
    start();
    EXPECT_TRUE(test_is_told("sys_enter") && test_is_told("sys_exit"));
    task(1, 10, 10, 0);
    task(2, 20, 20, 0);
    test_calls(1, SYS_read);
    test_calls(2, SYS_read);
    EXPECT_EQ(take(), "r10 r20 ");
    test_call_returns(1, SYS_read, 0);
    test_call_returns(2, SYS_read, 0);
    EXPECT_EQ(take(), "r10 (1) r20 (2) ");
    test_call_returns(1, SYS_read, 0); // its entry was not seen
    EXPECT_EQ(take(), "");
    // What does not return, and a task that did not begin the call.
    for (const long number : {SYS_exit, SYS_exit_group}) {
        test_calls(1, number);
        EXPECT_EQ(take(), "");
    }
    for (const long number : {SYS_clone, SYS_clone3, SYS_fork, SYS_vfork}) {
        values_ = 7;
        test_calls(1, number);
        test_call_returns(1, number, 0);
        EXPECT_EQ(take(), "r10 ");
        test_call_returns(1, number, 33);
        EXPECT_EQ(take(), "r10 (8) ");
    }
    fails_ = true;
    test_calls(1, SYS_read);
    test_call_returns(1, SYS_read, 0);
    EXPECT_EQ(take(), "r10 ");
    fails_ = false;
    test_process_has_context = false;
    test_calls(1, SYS_read);
    test_process_has_context = true;
    test_call_returns(1, SYS_read, 0);
    EXPECT_EQ(take(), "");
    // Calls from before the probe was armed again have no values.
    test_calls(1, SYS_read);
    test_process_want(returns, false);
    test_process_disarm();
    EXPECT_FALSE(test_is_told("sys_enter") || test_is_told("sys_exit"));
    test_process_want(returns, true);
    ASSERT_EQ(test_process_attach(), 0);
    take();
    test_call_returns(1, SYS_read, 0);
    EXPECT_EQ(take(), "");
    // Those that are armed already have theirs.
    test_calls(1, SYS_read);
    ASSERT_EQ(test_process_attach(), 0);
    take();
    test_call_returns(1, SYS_read, 0);
    EXPECT_EQ(take(), "r10 (" + std::to_string(values_) + ") ");
}

TEST_F(Processes, SystemCallsAreNotToldOf) {
    add('c', DJS_PROCESS_SYSCALL, "/bin/one");
    const u32 returns = add('r', DJS_PROCESS_SYSCALL_RETURN, "/bin/one");
    test_events_error = -ENOENT;
    test_process_sites();
    EXPECT_EQ(test_process_attach(), 0);
    EXPECT_EQ(test_process_error(0), -ENOENT);
    EXPECT_EQ(test_process_error(1), -ENOENT);
    EXPECT_FALSE(test_process_armed(0) || test_process_armed(1));
    test_process_free();
    test_events_error = 0;
    keep_values(returns);
    for (const long allocations : {0L, 1L, 2L, 3L}) { // the sites, the calls
        test_allocations_left = allocations;
        test_process_sites();
        EXPECT_EQ(test_process_attach(), -ENOMEM);
        test_process_free();
        EXPECT_EQ(guarded_count(), 0U);
    }
    test_allocations_left = LONG_MAX;
}

} // namespace
