// SPDX-License-Identifier: GPL-2.0-or-later
// The workload that scripts/bench tools observes.
//
//     toolload ROUNDS [PART]           makes the same calls in each round: one of `parts` (below),
//     or
//                                      all but `memory`
//     toolload --cost COMMAND WORD…    runs a command, and prints the CPU time of it and of all its
//                                      children, in microseconds
//
// Where QEMU counts instructions, a microsecond is 1000 of them.
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    OPENED = 10,
    MISSING = 5,
    SIGNALS = 5,
    CHECKS = 5,
    SYNCS = 3,
    EXCHANGES = 10,
    ALLOCATED = 8 << 20
};

#define FOLDER "/tmp/toolload/"
static const char group[] = "/cgroup/toolload/cgroup.procs";

static void check(int good, const char* what) {
    if (good)
        return;
    perror(what);
    exit(1);
}

static void on_signal(int number) {
    (void)number;
}

// What the parts use.
static struct sockaddr_in address;
static int listener, file, there[2], back[2];

static void open_files(void) {
    for (int i = 0; i < OPENED; i++) {
        int opened = open(FOLDER "there", O_RDONLY);

        check(opened >= 0, "open");
        close(opened);
    }
    for (int i = 0; i < MISSING; i++)
        check(open(FOLDER "missing", O_RDONLY) < 0 && errno == ENOENT, "open of a missing file");
}

static void send_signals(void) {
    for (int i = 0; i < SIGNALS; i++)
        check(!kill(getpid(), SIGUSR1), "kill");
}

static void need_capabilities(void) {
    for (int i = 0; i < CHECKS; i++)
        check(!setpriority(PRIO_PROCESS, 0, -1) && !setpriority(PRIO_PROCESS, 0, 0), "setpriority");
}

static void make_durable(void) {
    for (int i = 0; i < SYNCS; i++)
        check(!fsync(file), "fsync");
}

static void exchange_bytes(void) {
    char byte = 0;

    for (int i = 0; i < EXCHANGES; i++)
        check(write(there[1], &byte, 1) == 1 && read(back[0], &byte, 1) == 1, "pipe");
}

static void connect_once(void) {
    int here = socket(AF_INET, SOCK_STREAM, 0), accepted;

    check(here >= 0, "socket");
    check(!connect(here, (const struct sockaddr*)&address, sizeof(address)), "connect");
    accepted = accept(listener, NULL, NULL);
    check(accepted >= 0, "accept");
    close(here);
    close(accepted);
}

static void start_program(void) {
    // On the stack, as a shell's are: bpftrace reads only what is mapped.
    char word[] = "/bin/toolload", argument[] = "0";
    char* words[] = {word, argument, NULL};
    pid_t child = fork();
    int status;

    check(child >= 0, "fork");
    if (!child) {
        execv(word, words);
        _exit(1);
    }
    check(waitpid(child, &status, 0) == child && status == 0, word);
}

// A process that needs more memory than its cgroup may have, for which the kernel kills it.
static void exhaust_memory(void) {
    pid_t child = fork();
    int status;

    check(child >= 0, "fork");
    if (!child) {
        volatile char* memory = malloc(ALLOCATED);
        int processes = open(group, O_WRONLY);

        if (processes < 0 || write(processes, "0", 1) != 1)
            _exit(1);
        for (int i = 0; memory && i < ALLOCATED; i += 4096)
            memory[i] = 1;
        _exit(2);
    }
    check(waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL,
          "out of memory");
}

static const struct {
    const char* name;
    void (*run)(void);
} parts[] = {
    {"opens", open_files},       {"signals", send_signals},     {"checks", need_capabilities},
    {"syncs", make_durable},     {"exchanges", exchange_bytes}, {"connections", connect_once},
    {"programs", start_program}, {"memory", exhaust_memory},
};
enum { PARTS = sizeof(parts) / sizeof(parts[0]) };

// The other end of the two pipes: a task that wakes up and answers for each byte.
static void answer(int from, int to) {
    char byte;

    while (read(from, &byte, 1) == 1)
        check(write(to, &byte, 1) == 1, "write");
    _exit(0);
}

static pid_t prepare(void) {
    int yes = 1;
    pid_t partner;

    signal(SIGUSR1, on_signal);
    address = (struct sockaddr_in){
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(7777)};
    listener = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    check(!bind(listener, (struct sockaddr*)&address, sizeof(address)) && !listen(listener, 8),
          "listen");
    file = open(FOLDER "there", O_CREAT | O_RDWR, 0600);
    check(file >= 0 && !pipe(there) && !pipe(back), FOLDER "there");
    partner = fork();
    check(partner >= 0, "fork");
    if (!partner) {
        close(there[1]);
        answer(there[0], back[1]);
    }
    return partner;
}

// `part`: PARTS stands for all that "all" means.
static int run_rounds(int rounds, int part) {
    const pid_t partner = prepare();

    for (int i = 0; i < rounds; i++)
        for (int each = 0; each < PARTS; each++)
            if (part == each || (part == PARTS && parts[each].run != exhaust_memory))
                parts[each].run();
    close(there[1]);
    check(waitpid(partner, NULL, 0) == partner, "wait");
    return 0;
}

static long microseconds(struct timeval time) {
    return time.tv_sec * 1000000L + time.tv_usec;
}

static int cost(char** command) {
    struct rusage used;
    pid_t child = fork();
    int status;

    check(child >= 0, "fork");
    if (!child) {
        execvp(command[0], command);
        perror(command[0]);
        _exit(127);
    }
    check(waitpid(child, &status, 0) == child, "wait");
    getrusage(RUSAGE_CHILDREN, &used);
    printf("@cost %ld\n", microseconds(used.ru_utime) + microseconds(used.ru_stime));
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int main(int count, char** words) {
    if (count > 2 && !strcmp(words[1], "--cost"))
        return cost(words + 2);
    int part = 0;

    while (part < PARTS && count == 3 && strcmp(words[2], parts[part].name))
        part++;
    if (count < 2 || count > 3 || (count == 3 && part == PARTS)) {
        fprintf(stderr, "usage: toolload ROUNDS [PART] | toolload --cost COMMAND WORD...\n");
        return 2;
    }
    return atoi(words[1]) ? run_rounds(atoi(words[1]), count == 3 ? part : PARTS) : 0;
}
