// SPDX-License-Identifier: GPL-2.0-or-later
// stays clone|exec PROGRAM: has a task stay in the kernel on its way to user space, says its
// number, and lets it go on when there is a line to be read. Says what becomes of it.
//
//   clone  a new process, whose number is to be stored in a page that nobody provides (userfaultfd)
//   exec   a process that has executed PROGRAM, and is stopped there by its debugger
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void fail(const char* what) {
    perror(what);
    exit(1);
}

static void say_and_wait(pid_t child) {
    char line[16];

    printf("%d\n", child);
    fflush(stdout);
    if (read(STDIN_FILENO, line, sizeof line) < 0)
        fail("read");
}

static void say_status(int status) {
    if (WIFSIGNALED(status))
        printf("killed by %d\n", WTERMSIG(status));
    else
        printf("status %d\n", WEXITSTATUS(status));
}

static int child_has_number(void* page) {
    return *(volatile pid_t*)page == getpid() ? 7 : 1;
}

static void stay_in_clone(void) {
    static char stack[65536] __attribute__((aligned(16)));
    long bytes = sysconf(_SC_PAGESIZE);
    int faults = syscall(SYS_userfaultfd, O_CLOEXEC), status;
    struct uffdio_api api = {.api = UFFD_API};
    char* page = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct uffdio_range range = {(unsigned long)page, bytes};
    struct uffdio_register missing = {.range = range, .mode = UFFDIO_REGISTER_MODE_MISSING};
    struct uffdio_zeropage zeros = {.range = range};
    pid_t child;

    if (ioctl(faults, UFFDIO_API, &api) || ioctl(faults, UFFDIO_REGISTER, &missing))
        fail("userfaultfd");
    child = clone(child_has_number, stack + sizeof stack, CLONE_VM | CLONE_CHILD_SETTID | SIGCHLD,
                  page, NULL, NULL, page);
    if (child < 0)
        fail("clone");
    say_and_wait(child);
    /* Nobody may be waiting any more. */
    ioctl(faults, UFFDIO_ZEROPAGE, &zeros);
    waitpid(child, &status, 0);
    say_status(status);
}

static void stay_in_exec(char** arguments) {
    pid_t child = fork();
    int status;

    if (child == 0) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        raise(SIGSTOP);
        execv(arguments[0], arguments);
        _exit(1);
    }
    waitpid(child, &status, 0);
    if (ptrace(PTRACE_SETOPTIONS, child, NULL, PTRACE_O_TRACEEXEC) ||
        ptrace(PTRACE_CONT, child, NULL, 0))
        fail("ptrace");
    waitpid(child, &status, 0);
    if (status >> 8 != (SIGTRAP | PTRACE_EVENT_EXEC << 8))
        fail("no exec");
    say_and_wait(child);
    ptrace(PTRACE_CONT, child, NULL, 0); /* it may have been killed */
    waitpid(child, &status, 0);
    say_status(status);
}

int main(int argc, char** argv) {
    if (argc > 2 && !strcmp(argv[1], "exec"))
        stay_in_exec(argv + 2);
    else
        stay_in_clone();
    return 0;
}
