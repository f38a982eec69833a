// SPDX-License-Identifier: GPL-2.0-or-later
// Makes many different system calls with known arguments, in the folder that it is started in. What
// they return does not matter: some of them fail on purpose. Linked statically, it makes few
// others.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/futex.h>
#include <linux/openat2.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>
#include <utime.h>

#define CALL(name, ...) syscall(SYS_##name, ##__VA_ARGS__)

static char buffer[4096];
static struct stat status;

static void files(void) {
    struct iovec parts[2] = {{"one", 3}, {"and two\n", 8}};
    struct iovec place = {buffer, 16};
    struct timespec times[2] = {{1000, 5}, {0, UTIME_NOW}};
    struct timeval old_times[2] = {{1000, 5}, {2000, 6}};
    struct utimbuf oldest = {1000, 2000};
    struct open_how how = {O_RDONLY | O_CLOEXEC, 0, RESOLVE_NO_SYMLINKS};
    struct flock lock = {F_WRLCK, SEEK_SET, 1, 10, 0};
    loff_t from = 2, to = 0;

    CALL(mkdir, "folder", 0750);
    CALL(mkdirat, AT_FDCWD, "folder/inner", 0700);
    CALL(chdir, "folder");
    int folder = CALL(open, ".", O_RDONLY | O_DIRECTORY);
    int file = CALL(open, "a \"file\"\n", O_RDWR | O_CREAT | O_TRUNC, 0644);
    int other =
        CALL(openat, folder, "other", O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
    CALL(creat, "created", 0);
    CALL(openat2, AT_FDCWD, "other", &how, sizeof how);
    CALL(open, "missing", O_RDONLY | O_NONBLOCK);
    CALL(open, NULL, O_RDONLY);
    CALL(write, file, "some bytes\0and\0007 more than fit into what is shown of them", 60);
    CALL(write, file, "\33[1m\t\377\\", 7);
    CALL(write, 99, "x", 1);
    CALL(pwrite64, file, "at", 2, 4);
    CALL(writev, file, parts, 2);
    CALL(pwritev, file, parts, 2, 100L, 0L);
    CALL(pwritev2, file, parts, 1, 7L, 0L, RWF_DSYNC);
    CALL(lseek, file, 0L, SEEK_SET);
    CALL(lseek, file, -3L, SEEK_END);
    CALL(read, file, buffer, 10);
    CALL(pread64, file, buffer, 10, 2);
    CALL(readv, file, &place, 1);
    CALL(preadv, file, &place, 1, 1L, 0L);
    CALL(preadv2, file, &place, 1, 1L, 0L, 0);
    CALL(copy_file_range, file, &from, other, &to, 4L, 0);
    CALL(sendfile, other, file, &from, 4L);
    CALL(sendfile, other, file, NULL, 4L);
    int copy = CALL(dup, file);
    CALL(dup2, copy, 50);
    CALL(dup3, copy, 51, O_CLOEXEC);
    CALL(fcntl, copy, F_GETFD);
    CALL(fcntl, copy, F_SETFD, FD_CLOEXEC);
    CALL(fcntl, copy, F_GETFL);
    CALL(fcntl, copy, F_SETFL, O_APPEND | O_NONBLOCK);
    CALL(fcntl, copy, F_DUPFD_CLOEXEC, 60);
    CALL(fcntl, copy, F_SETLK, &lock);
    CALL(ioctl, copy, FIONREAD, buffer);
    CALL(ioctl, copy, TCGETS, buffer);
    CALL(ioctl, copy, _IOW('x', 5, int), 7);
    CALL(close, copy);
    CALL(close, -1);
    CALL(close_range, 50, 60, 0);
    CALL(stat, "other", &status);
    CALL(lstat, "other", &status);
    CALL(fstat, file, &status);
    CALL(newfstatat, AT_FDCWD, "other", &status, AT_SYMLINK_NOFOLLOW);
    CALL(statx, AT_FDCWD, "other", AT_SYMLINK_NOFOLLOW | AT_STATX_DONT_SYNC,
         STATX_SIZE | STATX_MTIME, buffer);
    CALL(access, "other", R_OK | W_OK);
    CALL(access, "missing", F_OK);
    CALL(faccessat, folder, "other", X_OK);
    CALL(faccessat2, folder, "other", R_OK, AT_EACCESS);
    CALL(chmod, "other", 0400);
    CALL(fchmod, file, 04755);
    CALL(fchmodat, AT_FDCWD, "other", 0640);
    CALL(chown, "other", 1, 2);
    CALL(lchown, "other", -1, 2);
    CALL(fchown, file, 3, -1);
    CALL(fchownat, AT_FDCWD, "other", 0, 0, AT_SYMLINK_NOFOLLOW);
    CALL(utime, "other", &oldest);
    CALL(utimes, "other", old_times);
    CALL(futimesat, folder, "other", old_times);
    CALL(utimensat, AT_FDCWD, "other", times, 0);
    CALL(utimensat, AT_FDCWD, "other", NULL, AT_SYMLINK_NOFOLLOW);
    CALL(truncate, "other", 5L);
    CALL(ftruncate, file, 50L);
    CALL(fallocate, file, FALLOC_FL_KEEP_SIZE, 0L, 100L);
    CALL(fsync, file);
    CALL(fdatasync, file);
    CALL(sync_file_range, file, 0L, 10L, SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
    CALL(syncfs, file);
    CALL(fadvise64, file, 0L, 10L, POSIX_FADV_WILLNEED);
    CALL(readahead, file, 0L, 10L);
    CALL(flock, file, LOCK_EX | LOCK_NB);
    CALL(flock, file, LOCK_UN);
    CALL(link, "other", "linked");
    CALL(linkat, AT_FDCWD, "other", folder, "linked too", AT_SYMLINK_FOLLOW);
    CALL(symlink, "other", "symbolic");
    CALL(symlinkat, "other", AT_FDCWD, "symbolic too");
    CALL(readlink, "symbolic", buffer, 100L);
    CALL(readlinkat, AT_FDCWD, "symbolic", buffer, 100L);
    CALL(rename, "linked", "renamed");
    CALL(renameat, AT_FDCWD, "renamed", folder, "again");
    CALL(renameat2, AT_FDCWD, "again", AT_FDCWD, "other", RENAME_NOREPLACE);
    CALL(unlink, "again");
    CALL(unlinkat, AT_FDCWD, "linked too", 0);
    CALL(unlinkat, AT_FDCWD, "inner", AT_REMOVEDIR);
    CALL(rmdir, "missing");
    CALL(mknod, "pipe", S_IFIFO | 0600, 0);
    CALL(mknodat, AT_FDCWD, "null", S_IFCHR | 0666, 0x103);
    CALL(fchdir, folder);
    CALL(getcwd, buffer, 4096L);
    CALL(getdents64, folder, buffer, 4096);
    CALL(setxattr, "other", "user.name", "value", 5L, XATTR_CREATE);
    CALL(lsetxattr, "other", "user.name", "value", 5L, 0);
    CALL(fsetxattr, file, "user.name", "value", 5L, XATTR_REPLACE);
    CALL(getxattr, "other", "user.name", buffer, 100L);
    CALL(fgetxattr, file, "user.name", buffer, 100L);
    CALL(listxattr, "other", buffer, 100L);
    CALL(removexattr, "other", "user.name");
    CALL(statfs, "/proc", buffer);
    CALL(fstatfs, file, buffer);
    CALL(mount, "none", "missing", "tmpfs", 6L, "size=1m");
    CALL(umount2, "missing", 2L);
    CALL(umask, 027);
    CALL(inotify_init);
    int notices = CALL(inotify_init1, IN_NONBLOCK);
    int watch = CALL(inotify_add_watch, notices, ".", IN_CREATE | IN_DELETE | IN_ONESHOT);
    CALL(inotify_rm_watch, notices, watch);
    CALL(memfd_create, "in memory", 1);
    CALL(swapoff, "missing");
    CALL(chroot, "missing");
    CALL(acct, "missing");
}

static void descriptors(void) {
    int ends[2], all[2];
    struct iovec part = {"spliced", 7};
    struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.u64 = 5};
    struct itimerspec timer = {{0, 0}, {100, 0}};
    struct timespec moment = {0, 1000000};
    struct timeval old_moment = {0, 1000};
    sigset_t signals;
    fd_set readable;
    struct {
        const void* set;
        size_t size;
    } last = {&signals, 8};

    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR1);
    sigaddset(&signals, SIGINT);
    CALL(pipe, ends);
    CALL(pipe2, all, O_NONBLOCK | O_CLOEXEC);
    CALL(vmsplice, ends[1], &part, 1L, 0);
    CALL(tee, ends[0], all[1], 7L, 2);
    CALL(splice, ends[0], NULL, all[1], NULL, 7L, 1);
    CALL(eventfd, 3);
    CALL(eventfd2, 3, O_CLOEXEC);
    CALL(signalfd, -1, &signals, 8L);
    CALL(signalfd4, -1, &signals, 8L, O_NONBLOCK);
    int clock = CALL(timerfd_create, CLOCK_MONOTONIC, TFD_CLOEXEC);
    CALL(timerfd_settime, clock, TFD_TIMER_ABSTIME, &timer, NULL);
    CALL(timerfd_gettime, clock, buffer);
    CALL(epoll_create, 5);
    int queue = CALL(epoll_create1, EPOLL_CLOEXEC);
    CALL(epoll_ctl, queue, EPOLL_CTL_ADD, ends[0], &event);
    CALL(epoll_wait, queue, buffer, 3, 0);
    CALL(epoll_pwait, queue, buffer, 3, 0, &signals, 8L);
    struct pollfd polled[2] = {{ends[0], POLLIN | POLLPRI, 0}, {-1, POLLOUT, 0}};
    CALL(poll, polled, 2, 0);
    CALL(ppoll, polled, 1, &moment, &signals, 8L);
    FD_ZERO(&readable);
    FD_SET(ends[0], &readable);
    CALL(select, ends[0] + 1, &readable, NULL, NULL, &old_moment);
    FD_SET(ends[0], &readable);
    CALL(pselect6, ends[0] + 1, &readable, NULL, NULL, &moment, &last);
}

static void memory(void) {
    char* page =
        (char*)CALL(mmap, NULL, 8192L, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0L);
    CALL(mprotect, page, 4096L, PROT_READ);
    CALL(mprotect, page, 4096L, PROT_NONE);
    CALL(madvise, page, 4096L, MADV_DONTNEED);
    CALL(mincore, page, 4096L, buffer);
    CALL(msync, page, 4096L, MS_SYNC | MS_INVALIDATE);
    CALL(mlock, page + 4096, 4096L);
    CALL(mlock2, page + 4096, 4096L, 1);
    CALL(mlock2, page + 4096, 4096L, -1);
    CALL(munlock, page + 4096, 4096L);
    CALL(mlockall, MCL_FUTURE);
    CALL(munlockall);
    page = (char*)CALL(mremap, page, 8192L, 16384L, MREMAP_MAYMOVE);
    CALL(munmap, page, 16384L);
    CALL(mmap, NULL, 0L, PROT_READ | PROT_EXEC, MAP_SHARED | MAP_FIXED, 3, 0x1000L);
    CALL(brk, 0L);
    CALL(membarrier, 0, 0);
    CALL(process_vm_readv, getpid(), NULL, 0L, NULL, 0L, 0L);
}

static void sockets(void) {
    struct sockaddr_in here = {
        .sin_family = AF_INET, .sin_port = htons(7777), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    struct sockaddr_in6 six = {
        .sin6_family = AF_INET6, .sin6_port = htons(7778), .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    struct sockaddr_un path = {AF_UNIX, "a socket"}, hidden = {AF_UNIX, "\0abstract"};
    struct iovec parts[2] = {{"mes", 3}, {"sage", 4}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    socklen_t length = sizeof here;
    int pair[2], one = 1;

    CALL(socketpair, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair);
    int server = CALL(socket, AF_INET, SOCK_STREAM, IPPROTO_TCP);
    CALL(setsockopt, server, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    CALL(setsockopt, server, SOL_TCP, TCP_NODELAY, &one, sizeof one);
    CALL(getsockopt, server, SOL_SOCKET, SO_TYPE, buffer, &length);
    CALL(bind, server, &here, sizeof here);
    CALL(listen, server, 5);
    CALL(getsockname, server, buffer, &length);
    CALL(getpeername, server, buffer, &length);
    CALL(accept4, pair[0], NULL, NULL, SOCK_NONBLOCK);
    CALL(accept, pair[0], NULL, NULL);
    int client = CALL(socket, AF_INET6, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    CALL(connect, client, &six, sizeof six);
    int local = CALL(socket, AF_UNIX, SOCK_DGRAM, 0);
    CALL(bind, local, &path, sizeof path);
    CALL(connect, local, &hidden, (int)(sizeof(sa_family_t) + 9));
    CALL(socket, AF_NETLINK, SOCK_RAW, 0);
    CALL(sendto, local, "datagram", 8L, MSG_DONTWAIT | MSG_NOSIGNAL, &path, sizeof path);
    CALL(sendto, pair[0], "stream", 6L, 0, NULL, 0);
    CALL(recvfrom, pair[1], buffer, 6L, MSG_PEEK, NULL, NULL);
    CALL(sendmsg, pair[0], &message, MSG_NOSIGNAL);
    message.msg_iov = &(struct iovec){buffer, 20};
    message.msg_iovlen = 1;
    CALL(recvmsg, pair[1], &message, 0);
    CALL(shutdown, pair[0], SHUT_RDWR);
    CALL(shutdown, pair[0], -1);
}

static void nothing(int signal) {
    (void)signal;
}

static void signals_and_times(void) {
    struct {
        void (*handler)(int);
        unsigned long flags;
        void* restorer;
        unsigned long mask;
    } action = {nothing, SA_RESTART | SA_NODEFER, NULL, 1 << (SIGHUP - 1) | 1UL << 33};
    struct sigaction usual = {.sa_handler = nothing};
    struct timespec moment = {0, 1000}, none = {0, 0};
    struct timeval past = {-1, 0};
    struct itimerval interval = {{0, 0}, {50, 7}};
    struct itimerspec timer = {{1, 2}, {3000, 4}};
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR2};
    stack_t stack = {buffer, 0, sizeof buffer};
    unsigned long set = 1 << (SIGTERM - 1), all = ~0UL;
    int timer_id = 0;

    sigaction(SIGUSR1, &usual, NULL);
    CALL(rt_sigaction, SIGHUP, &action, NULL, 8L);
    CALL(rt_sigaction, SIGHUP, NULL, buffer, 8L);
    CALL(rt_sigprocmask, SIG_BLOCK, &set, NULL, 8L);
    CALL(rt_sigprocmask, SIG_SETMASK, &all, buffer, 8L);
    CALL(rt_sigprocmask, SIG_SETMASK, &(unsigned long){0}, NULL, 8L);
    CALL(rt_sigpending, buffer, 8L);
    CALL(rt_sigtimedwait, &set, NULL, &none, 8L);
    CALL(sigaltstack, &stack, NULL);
    CALL(kill, getpid(), 0);
    CALL(kill, 99999, SIGTERM);
    CALL(tkill, 99999, SIGUSR1);
    CALL(tgkill, 99999, 99999, 34);
    CALL(alarm, 0);
    CALL(getitimer, ITIMER_REAL, buffer);
    CALL(setitimer, ITIMER_VIRTUAL, &interval, NULL);
    CALL(timer_create, CLOCK_REALTIME, &event, &timer_id);
    CALL(timer_settime, timer_id, 0, &timer, NULL);
    CALL(timer_gettime, timer_id, buffer);
    CALL(timer_getoverrun, timer_id);
    CALL(timer_delete, timer_id);
    CALL(nanosleep, &moment, NULL);
    CALL(clock_gettime, CLOCK_BOOTTIME, buffer);
    CALL(clock_getres, CLOCK_PROCESS_CPUTIME_ID, buffer);
    CALL(clock_nanosleep, CLOCK_MONOTONIC, TIMER_ABSTIME, &none, NULL);
    CALL(clock_settime, CLOCK_MONOTONIC, &none);
    CALL(gettimeofday, buffer, NULL);
    CALL(settimeofday, &past, NULL);
    CALL(time, NULL);
    CALL(times, buffer);
}

// A forked process has no page that is not its own until it reads from it.
static void touch(char* const* texts) {
    volatile size_t length = 0;
    for (; *texts; texts++)
        length += strlen(*texts);
}

static void processes(char** arguments) {
    struct rlimit limit = {1024, RLIM_INFINITY}, sizes = {8 << 20, 16 << 20};
    struct sched_param parameter = {0};
    struct {
        unsigned version;
        int pid;
    } header = {_LINUX_CAPABILITY_VERSION_3, 0};
    unsigned groups[2] = {4, 5};
    unsigned long processors = 1;
    char *list[] = {"workload", "child", "a b", NULL}, *environment[] = {"A=1", "B=2", NULL};
    int word = 0;

    CALL(getpid);
    CALL(getppid);
    CALL(gettid);
    CALL(getuid);
    CALL(geteuid);
    CALL(getgid);
    CALL(getegid);
    CALL(getpgrp);
    CALL(getpgid, 0);
    CALL(getsid, 0);
    CALL(setpgid, 0, 0);
    CALL(setsid);
    CALL(getresuid, buffer, buffer + 4, buffer + 8);
    CALL(getresgid, buffer, buffer + 4, buffer + 8);
    CALL(getgroups, 0, NULL);
    CALL(setgroups, 2L, groups);
    CALL(setfsuid, 0);
    CALL(setfsgid, 0);
    CALL(setuid, 0);
    CALL(setgid, 0);
    CALL(setreuid, 0, -1);
    CALL(setregid, -1, 0);
    CALL(setresuid, -1, 0, -1);
    CALL(setresgid, -1, -1, -1);
    CALL(getrlimit, RLIMIT_NOFILE, buffer);
    CALL(setrlimit, RLIMIT_CORE, &sizes);
    CALL(prlimit64, 0, RLIMIT_CPU, &limit, NULL);
    CALL(getrusage, RUSAGE_SELF, buffer);
    CALL(getrusage, RUSAGE_CHILDREN, buffer);
    CALL(getpriority, PRIO_PROCESS, 0);
    CALL(setpriority, PRIO_PGRP, 0, 5);
    CALL(sched_yield);
    CALL(sched_getscheduler, 0);
    CALL(sched_setscheduler, 0, SCHED_BATCH, &parameter);
    CALL(sched_getparam, 0, buffer);
    CALL(sched_get_priority_max, SCHED_FIFO);
    CALL(sched_get_priority_min, SCHED_RR);
    CALL(sched_rr_get_interval, 0, buffer);
    CALL(sched_getaffinity, 0, 128L, buffer);
    CALL(sched_setaffinity, 0, 8L, &processors);
    CALL(ioprio_get, 1, 0);
    CALL(ioprio_set, 1, 0, 2 << 13 | 4);
    CALL(uname, buffer);
    CALL(sysinfo, buffer);
    CALL(getrandom, buffer, 8L, 1);
    CALL(getcpu, buffer, buffer + 4, NULL);
    CALL(prctl, PR_SET_NAME, "workload", 0, 0, 0);
    CALL(prctl, PR_SET_DUMPABLE, 1, 0, 0, 0);
    CALL(prctl, PR_GET_DUMPABLE, 0, 0, 0, 0);
    CALL(arch_prctl, 0x1003, buffer);
    CALL(personality, 0xffffffff);
    CALL(capget, &header, buffer);
    CALL(unshare, CLONE_FS | CLONE_FILES);
    CALL(setns, -1, CLONE_NEWNET);
    CALL(kcmp, getpid(), getpid(), 0, 0L, 0L);
    CALL(sethostname, "a name", 6L);
    CALL(setdomainname, "a domain", 8L);
    CALL(futex, &word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1, NULL, NULL, 0);
    CALL(futex, &word, FUTEX_WAIT, 1, NULL, NULL, 0);
    CALL(get_robust_list, 0, buffer, buffer + 8);
    CALL(sync);
    CALL(vhangup);
    CALL(iopl, 0);
    CALL(ioperm, 0x80L, 1L, 0);
    CALL(pivot_root, "missing", "gone");
    CALL(delete_module, "missing", O_NONBLOCK);
    CALL(seccomp, 2, 0, &word);
    CALL(syslog, 10, NULL, 0);
    CALL(ptrace, 99L, 1L, 0L, 0L);
    int child = CALL(clone, (unsigned long)SIGCHLD, NULL, NULL, NULL, 0UL);
    if (child == 0)
        CALL(exit, 3);
    CALL(wait4, child, &word, 0, NULL);
    child = CALL(fork);
    if (child == 0) {
        touch(list);
        touch(environment);
        touch((char* const[]){"missing", NULL});
        CALL(execve, "missing", list, environment);
        CALL(execveat, AT_FDCWD, arguments[0], list, environment, 0);
        CALL(exit_group, 1);
    }
    CALL(pidfd_open, child, 0);
    CALL(waitid, P_PID, child, NULL, WEXITED | WNOWAIT, NULL);
    CALL(wait4, -1, &word, WNOHANG | __WALL, buffer);
    CALL(wait4, -1, &word, WNOHANG, NULL);
}

static void messages(void) {
    struct {
        long type;
        char text[8];
    } message = {1, "text"};
    struct sembuf operation = {0, 1, IPC_NOWAIT};
    struct timespec moment = {1, 0};
    int id = CALL(shmget, IPC_PRIVATE, 4096L, IPC_CREAT | 0600);
    char* place = (char*)CALL(shmat, id, NULL, SHM_RDONLY);
    CALL(shmctl, id, IPC_RMID, NULL);
    CALL(shmdt, place);
    id = CALL(semget, 0x1234, 1, IPC_CREAT | IPC_EXCL | 0644);
    CALL(semop, id, &operation, 1L);
    CALL(semtimedop, id, &operation, 1L, &moment);
    CALL(semctl, id, 0, GETVAL, 0L);
    CALL(semctl, id, 0, IPC_RMID, 0L);
    id = CALL(msgget, IPC_PRIVATE, 0600);
    CALL(msgsnd, id, &message, 5L, IPC_NOWAIT);
    CALL(msgrcv, id, &message, 8L, 0L, MSG_NOERROR);
    CALL(msgctl, id, IPC_RMID, NULL);
    int queue = CALL(mq_open, "queue", O_RDWR | O_CREAT, 0600, NULL);
    CALL(mq_timedsend, queue, "sent", 4L, 3, NULL);
    CALL(mq_timedreceive, queue, buffer, 8192L, NULL, &moment);
    CALL(mq_unlink, "queue");
}

int main(int count, char** arguments) {
    if (count > 1 && !strcmp(arguments[1], "32")) { // getpid of 32-bit programs
        long result;
        asm volatile("int $0x80" : "=a"(result) : "a"(20L) : "memory", "r8", "r9", "r10", "r11");
        return result != getpid();
    }
    if (count > 1 &&
        !strcmp(arguments[1], "long")) { // the longest that is shown of lists, bits and bytes
        struct iovec parts[40];
        unsigned long signals = 0x5555555555555555, all[16];
        for (int i = 0; i < 40; i++)
            parts[i] = (struct iovec){buffer, 32};
        memset(all, 0xff, sizeof all);
        struct {
            const void* set;
            size_t size;
        } last = {&signals, 8};
        CALL(writev, -1, parts, 40);
        CALL(write, -1, buffer, 4096);
        CALL(sendmsg, -1, &(struct msghdr){.msg_iov = parts, .msg_iovlen = 40}, 0);
        CALL(pselect6, 1024, all, all, all, &(struct timespec){0, 0}, &last);
        return 0;
    }
    if (count > 1) // by its own execveat
        return 4;
    files();
    descriptors();
    memory();
    sockets();
    signals_and_times();
    messages();
    processes(arguments);
    return 0;
}
