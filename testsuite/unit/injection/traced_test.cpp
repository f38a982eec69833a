// SPDX-License-Identifier: GPL-2.0-or-later
// A process that runs, stopped and let go again.
#include "injection/traced_program.h"

#include <csignal>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace djstap::injection {
namespace {

// Ends with 1 as soon as one of the signals that its second thread sends itself does not arrive.
[[noreturn]] void send_itself_signals() {
    static volatile sig_atomic_t handled;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGUSR1, [](int) { handled = 1; });
    std::thread([] {
        for (;;) {
            handled = 0;
            syscall(SYS_tgkill, getpid(), gettid(), SIGUSR1);
            if (!handled)
                _exit(1);
        }
    }).detach();
    for (;;)
        pause();
}

// Now and then it is such a signal that stops the second thread, while the first one is that which
// would execute system calls.
TEST(Traced, ASignalThatStopsAThreadIsDeliveredWhenItGoesOn) {
    const pid_t process = fork();
    if (process == 0)
        send_itself_signals();
    ASSERT_GT(process, 0);
    {
        auto program = TracedProgram::of_running(process);
        ASSERT_TRUE(program) << program.failure().message;
        for (int i = 0; i < 300; i++) {
            const Status stopped = program->stop();
            ASSERT_TRUE(stopped) << stopped.failure().message << ", the time " << i;
            program->resume();
        }
    }
    kill(process, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(process, &status, 0), process);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
}

TEST(Traced, WhatTheKernelRefusesIsExplained) {
    const std::string rights = "only its user can do that, with all of its rights";
    EXPECT_EQ(why_not_stopped("", ""), rights);
    EXPECT_EQ(why_not_stopped("0", "0\n"), rights);
    EXPECT_EQ(why_not_stopped("17", "1\n"), "another process traces it");
    for (const std::string tracer : {"", "0"})
        EXPECT_EQ(why_not_stopped(tracer, "1\n"),
                  "kernel.yama.ptrace_scope is 1: start the program with -c, or as root, without "
                  "--runtime=process, use uprobes");
}

} // namespace
} // namespace djstap::injection
