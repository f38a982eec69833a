// SPDX-License-Identifier: GPL-2.0-or-later
// What /proc tells of processes of each kind: threads that have ended, copies that share memory,
// other users, filters of system calls.
#include "injection/memory_map.h"
#include "injection/process_facts.h"

#include "becomes.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <elf.h>
#include <functional>
#include <gtest/gtest.h>
#include <linux/kcmp.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <string>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace djstap::injection {
namespace {

// A child that has told that it is prepared, and is killed with the object.
class Child {
  public:
    // `prepare` runs in the child, which then waits in read(): a filter of seccomp's strict mode
    // permits that. `flags`: those of clone().
    explicit Child(const std::function<bool()>& prepare, unsigned long flags = 0) {
        int told[2], held[2];
        if (pipe(told) != 0 || pipe(held) != 0)
            return;
        pid_ = static_cast<pid_t>(syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0));
        if (pid_ == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            close(held[1]);
            const char is_ready = prepare() ? '+' : '-';
            (void)!write(told[1], &is_ready, 1);
            char byte = 0;
            (void)!read(held[0], &byte, 1);
            _exit(0);
        }
        close(told[1]);
        char answer = 0;
        is_ready_ = pid_ > 0 && read(told[0], &answer, 1) == 1 && answer == '+';
        for (const int each : {told[0], held[0]})
            close(each);
        held_ = held[1];
    }
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;
    ~Child() {
        if (pid_ > 0) {
            kill(pid_, SIGKILL);
            waitpid(pid_, nullptr, 0);
        }
        close(held_);
    }
    pid_t pid() const { return pid_; }
    bool is_ready() const { return is_ready_; }

  private:
    pid_t pid_ = -1;
    int held_ = -1;
    bool is_ready_ = false;
};

bool prepare_nothing() {
    return true;
}

pid_t thread_number() {
    return static_cast<pid_t>(syscall(SYS_gettid));
}

TEST(ProcessFacts, TellOfThreads) {
    int held[2];
    ASSERT_EQ(pipe(held), 0);
    int started[2];
    ASSERT_EQ(pipe(started), 0);
    std::thread other([&] {
        const pid_t number = thread_number();
        (void)!write(started[1], &number, sizeof number);
        char byte = 0;
        (void)!read(held[0], &byte, 1);
    });
    pid_t number = 0;
    ASSERT_EQ(read(started[0], &number, sizeof number), static_cast<ssize_t>(sizeof number));
    const std::vector<pid_t> threads = threads_of(getpid());
    EXPECT_EQ(std::count(threads.begin(), threads.end(), number), 1);
    EXPECT_EQ(std::count(threads.begin(), threads.end(), getpid()), 1);
    EXPECT_TRUE(is_thread_of(getpid(), number));
    EXPECT_FALSE(is_thread_of(getppid(), number));
    EXPECT_FALSE(has_ended(number));
    close(held[1]);
    other.join();
    EXPECT_TRUE(becomes([&] { return has_ended(number) && !is_thread_of(getpid(), number); }));
    for (const int each : {held[0], started[0], started[1]})
        close(each);
    EXPECT_EQ(threads_of(-1), std::vector<pid_t>());
}

// The name of a process may look like the end of the name, and like a state behind it.
TEST(ProcessFacts, ANameIsNoState) {
    const Child child([] { return prctl(PR_SET_NAME, "a) Z b) X") == 0; });
    ASSERT_TRUE(child.is_ready());
    EXPECT_FALSE(has_ended(child.pid()));
    EXPECT_TRUE(exists(child.pid()));
}

TEST(ProcessFacts, AProcessThatNobodyHasWaitedForHasEnded) {
    const pid_t child = fork();
    if (child == 0)
        _exit(0);
    ASSERT_GT(child, 0);
    siginfo_t info{};
    ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
    EXPECT_TRUE(has_ended(child));
    EXPECT_FALSE(exists(child));
    EXPECT_EQ(parent_of(child), getpid()); // it is still listed
    const auto map = MemoryMap::of(child);
    ASSERT_FALSE(map);
    EXPECT_EQ(map.failure().message,
              "/proc/" + std::to_string(child) + "/maps tells of no memory: the process has ended");
    ASSERT_EQ(waitpid(child, nullptr, 0), child);
    EXPECT_TRUE(has_ended(child));
    EXPECT_FALSE(exists(child));
    EXPECT_EQ(parent_of(child), 0);
}

// /proc/PID/maps is that of the first thread: it is empty when that has ended.
TEST(ProcessFacts, AProcessWithoutItsFirstThreadExists) {
    const pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        std::thread([] {
            for (;;)
                pause();
        }).detach();
        syscall(SYS_exit, 0);
    }
    ASSERT_GT(child, 0);
    EXPECT_TRUE(becomes([&] { return has_ended(child); }));
    EXPECT_TRUE(exists(child));
    const auto map = MemoryMap::of(child);
    EXPECT_TRUE(map && map->at(reinterpret_cast<uint64_t>(&thread_number))) << child;
    kill(child, SIGKILL);
    EXPECT_EQ(waitpid(child, nullptr, 0), child);
    EXPECT_FALSE(exists(child));
}

TEST(ProcessFacts, TheAuxiliaryVectorIsThatOfTheProcess) {
    EXPECT_EQ(auxiliary(getpid(), AT_PAGESZ), std::optional<uint64_t>(getauxval(AT_PAGESZ)));
    EXPECT_EQ(auxiliary(getpid(), AT_ENTRY), std::optional<uint64_t>(getauxval(AT_ENTRY)));
    EXPECT_EQ(auxiliary(getpid(), 0xfffff), std::nullopt); // no such type
    EXPECT_EQ(auxiliary(-1, AT_ENTRY), std::nullopt);
    // The last entry, which ends the vector, is one that is told, too.
    EXPECT_EQ(auxiliary(getpid(), AT_NULL), std::optional<uint64_t>(0));
}

TEST(ProcessFacts, AFilterConfinesAProcess) {
    const Child strict([] { return prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0; });
    ASSERT_TRUE(strict.is_ready());
    EXPECT_TRUE(is_confined(strict.pid()));
    EXPECT_EQ(objection_to(strict.pid()),
              "a filter of system calls (seccomp) confines the program");
    EXPECT_TRUE(is_confined(-1)); // what is not known
    if (prctl(PR_GET_SECCOMP) == 0) {
        EXPECT_FALSE(is_confined(getpid()));
        EXPECT_EQ(objection_to(getpid()), "");
    }
}

// One of the four is enough: a process that may become another user does so when it wants.
TEST(ProcessFacts, AnyOtherUserOfAProcessCounts) {
    EXPECT_TRUE(runs_as_this_user(getpid()));
    EXPECT_FALSE(runs_as_this_user(-1));
    if (geteuid() != 0)
        GTEST_SKIP() << "only root may be somebody else";
    constexpr uid_t other = 65534;
    constexpr auto same = static_cast<uid_t>(-1);
    constexpr uid_t users[][3] = {{other, same, same}, {same, other, same}, {same, same, other}};
    for (const auto& each : users) {
        // What changes its users gets no signal of its parent's end any more: it is killed here.
        const Child child([&] { return syscall(SYS_setresuid, each[0], each[1], each[2]) == 0; });
        ASSERT_TRUE(child.is_ready());
        EXPECT_FALSE(runs_as_this_user(child.pid()));
        EXPECT_EQ(objection_to(child.pid()),
                  "the program runs as another user, who could change what djstap executes");
    }
    const Child same_user(prepare_nothing);
    ASSERT_TRUE(same_user.is_ready());
    EXPECT_TRUE(runs_as_this_user(same_user.pid()));
}

TEST(ProcessFacts, AForkedCopyHasMemoryOfItsOwn) {
    const Child child(prepare_nothing);
    ASSERT_TRUE(child.is_ready());
    EXPECT_EQ(parent_of(child.pid()), getpid());
    EXPECT_FALSE(share_memory(child.pid(), getpid()));
    std::vector<pid_t> processes = {getpid()};
    EXPECT_FALSE(add_sharing_processes(getpid(), processes));
    EXPECT_EQ(processes, std::vector<pid_t>{getpid()});
}

int wait_in_shared_memory(void* from) {
    char byte = 0;
    (void)!read(*static_cast<int*>(from), &byte, 1);
    _exit(0);
}

TEST(ProcessFacts, AChildInTheSameMemoryIsAddedOnce) {
    if (syscall(SYS_kcmp, getpid(), getpid(), KCMP_VM, 0, 0) != 0)
        GTEST_SKIP() << "this kernel does not compare processes";
    int held[2];
    ASSERT_EQ(pipe2(held, O_CLOEXEC), 0);
    alignas(16) static char stack[65536];
    const pid_t child =
        clone(wait_in_shared_memory, stack + sizeof stack, CLONE_VM | SIGCHLD, &held[0]);
    ASSERT_GT(child, 0);
    EXPECT_TRUE(share_memory(child, getpid()));
    std::vector<pid_t> processes = {getpid()};
    EXPECT_TRUE(add_sharing_processes(getpid(), processes));
    EXPECT_EQ(processes, (std::vector<pid_t>{getpid(), child}));
    EXPECT_FALSE(add_sharing_processes(getpid(), processes));
    EXPECT_EQ(processes.size(), 2u);
    kill(child, SIGKILL);
    EXPECT_EQ(waitpid(child, nullptr, 0), child);
    close(held[0]);
    close(held[1]);
}

TEST(ProcessFacts, AProcessKnowsItselfByTheNumberOfItsNamespace) {
    EXPECT_EQ(own_number(getpid()), getpid());
    if (geteuid() != 0)
        GTEST_SKIP() << "only root may create a namespace";
    const Child first(prepare_nothing, CLONE_NEWPID);
    if (first.pid() < 0)
        GTEST_SKIP() << "no namespace may be created here";
    ASSERT_TRUE(first.is_ready());
    EXPECT_GT(first.pid(), 1);
    EXPECT_EQ(own_number(first.pid()), 1); // as it is the first one there
}

} // namespace
} // namespace djstap::injection
