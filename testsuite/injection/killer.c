// SPDX-License-Identifier: GPL-2.0-or-later
// Runs djstap, and kills the process that places and withdraws its probes in the middle of its
// work:
//
//     killer N one|both|PROCESS:SIGNAL FILE COMMAND…
//
// kills it at the Nth stop of its system calls that change or wait for another process (each stops
// at its beginning and at its end); `both`: djstap, too, before it. With the number of a process,
// this signal is sent to that one instead. Writes to FILE how many stops there were. The exit
// status is that of the command, 128 after a signal.
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

static _Noreturn void fail(const char* what) {
    perror(what);
    exit(99);
}

static int is_named(pid_t pid, const char* name) {
    char path[64], text[32] = "";
    snprintf(path, sizeof path, "/proc/%d/comm", pid);
    FILE* file = fopen(path, "r");
    if (!file)
        return 0;
    const int found = fgets(text, sizeof text, file) && strncmp(text, name, strlen(name)) == 0;
    fclose(file);
    return found;
}

static int counts(long number) {
    return number == SYS_ptrace || number == SYS_pwrite64 || number == SYS_wait4;
}

int main(int argc, char** argv) {
    if (argc < 5)
        return 98;
    const long last = atol(argv[1]);
    const int both = strcmp(argv[2], "both") == 0;
    pid_t other = 0;
    int sent = SIGKILL;
    sscanf(argv[2], "%d:%d", &other, &sent);
    const pid_t command = fork();
    if (command < 0)
        fail("fork");
    if (command == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
            fail("ptrace");
        raise(SIGSTOP);
        execv(argv[4], argv + 4);
        fail(argv[4]);
    }
    long stops = 0;
    pid_t keeper = 0;
    int status, result = 0, begun = 0;
    for (;;) {
        const pid_t pid = waitpid(-1, &status, __WALL);
        if (pid < 0 && errno == EINTR)
            continue;
        if (pid < 0)
            break;
        if (!WIFSTOPPED(status)) {
            if (pid == command)
                result = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
            continue;
        }
        const int signal = WSTOPSIG(status), event = status >> 16;
        if (pid == command && !begun) {
            begun = 1;
            // Its threads and children are traced as well, until it is known what they are.
            ptrace(PTRACE_SETOPTIONS, pid, NULL,
                   PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACESYSGOOD |
                       PTRACE_O_TRACEEXEC);
            ptrace(PTRACE_CONT, pid, NULL, NULL);
            continue;
        }
        if (event == PTRACE_EVENT_EXEC && pid != command) { // another program
            ptrace(PTRACE_DETACH, pid, NULL, NULL);
            continue;
        }
        if (signal == (SIGTRAP | 0x80)) {
            if (!keeper && is_named(pid, "djstap-keeper"))
                keeper = pid;
            struct user_regs_struct registers;
            if (pid == keeper && ptrace(PTRACE_GETREGS, pid, NULL, &registers) == 0 &&
                counts((long)registers.orig_rax) && ++stops == last) {
                if (both)
                    kill(command, SIGKILL);
                kill(other ? other : keeper, sent);
                if (!other)
                    continue;
                usleep(20000); // it takes the signal meanwhile
            }
        }
        // Children that are not the keeper execute something before long.
        const long how = pid == command ? PTRACE_CONT : PTRACE_SYSCALL;
        const int passed =
            signal == (SIGTRAP | 0x80) || event != 0 || signal == SIGSTOP ? 0 : signal;
        ptrace(how, pid, NULL, (void*)(long)passed);
    }
    FILE* const file = fopen(argv[3], "w");
    if (!file || fprintf(file, "%ld", stops) < 0 || fclose(file))
        fail(argv[3]);
    return result;
}
