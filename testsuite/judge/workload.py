#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Calls many functions of the kernel, a few times each: files, processes, memory, sockets, timers, namespaces."""
import ctypes
import fcntl
import mmap
import os
import resource
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time

libc = ctypes.CDLL(None, use_errno=True)


def call(number, *arguments):
    return libc.syscall(number, *[ctypes.c_long(each) if isinstance(each, int) else each for each in arguments])


def files(folder):
    path = os.path.join(folder, "file")
    with open(path, "wb") as file:
        file.write(os.urandom(20000))
        file.flush()
        os.fsync(file.fileno())
        os.fdatasync(file.fileno())
        os.ftruncate(file.fileno(), 30000)
        fcntl.flock(file, fcntl.LOCK_EX)
        fcntl.lockf(file, fcntl.LOCK_UN)
        fcntl.fcntl(file, fcntl.F_SETFL, os.O_APPEND)
        os.posix_fallocate(file.fileno(), 0, 50000)
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        call(285, file.fileno(), 3, 4096, 8192) # fallocate: punch a hole
    descriptor = os.open(path, os.O_RDWR)
    os.pread(descriptor, 100, 7)
    os.pwrite(descriptor, b"x" * 10, 9)
    os.preadv(descriptor, [bytearray(10), bytearray(20)], 0)
    os.pwritev(descriptor, [b"abc", b"defgh"], 5)
    os.lseek(descriptor, 100, os.SEEK_SET)
    os.lseek(descriptor, 0, os.SEEK_HOLE)
    with mmap.mmap(descriptor, 16384) as memory:
        memory[0:3] = b"abc"
        memory.flush()
        memory.madvise(mmap.MADV_WILLNEED)
        memory.madvise(mmap.MADV_DONTNEED)
    other = os.open(path + "2", os.O_RDWR | os.O_CREAT)
    os.sendfile(other, descriptor, 0, 5000)
    os.copy_file_range(descriptor, other, 3000)
    readable, writable = os.pipe()
    os.splice(descriptor, writable, 1000, offset_src=0)
    call(276, readable, writable, 10, 0)
    os.splice(readable, other, 500, offset_dst=0)
    fcntl.fcntl(writable, 1031, 65536 * 2)
    for each in (readable, writable, other, descriptor):
        os.close(each)
    os.link(path, path + "3")
    os.symlink(path, path + "4")
    os.readlink(path + "4")
    os.rename(path + "3", path + "5")
    os.chmod(path, 0o640)
    os.chown(path, 1, 1)
    os.utime(path, (1, 2))
    os.stat(path), os.lstat(path + "4"), os.statvfs(folder), os.access(path, os.R_OK)
    for name in ("user.a", "trusted.b"):
        try:
            os.setxattr(path, name, b"value")
            os.getxattr(path, name), os.listxattr(path), os.removexattr(path, name)
        except OSError:
            pass
    os.mkdir(path + "d"), os.mkfifo(path + "f"), os.listdir(folder)
    os.mknod(path + "n", 0o20666, os.makedev(1, 3))
    call(316, -100, (path + "5").encode(), -100, (path + "2").encode(), 2) # renameat2: exchange
    statx = ctypes.create_string_buffer(512)
    call(332, -100, path.encode(), 0, 0xfff, statx)
    inotify = libc.inotify_init1(os.O_NONBLOCK)
    libc.inotify_add_watch(inotify, folder.encode(), 0xfff)
    open(path + "w", "w").close()
    os.read(inotify, 4096)
    os.close(inotify)
    for each in os.listdir(folder):
        each = os.path.join(folder, each)
        os.rmdir(each) if os.path.isdir(each) and not os.path.islink(each) else os.unlink(each)
    for name in ("/proc/self/maps", "/proc/self/status", "/proc/meminfo", "/proc/stat", "/proc/self/smaps", "/proc/mounts",
                 "/proc/net/tcp", "/proc/net/dev", "/proc/vmstat", "/proc/interrupts", "/proc/self/mountinfo", "/proc/modules",
                 "/proc/self/stat", "/proc/self/io", "/proc/cpuinfo", "/proc/partitions", "/proc/slabinfo", "/proc/zoneinfo",
                 "/proc/self/sched", "/proc/self/limits", "/proc/self/cgroup", "/proc/sys/kernel/osrelease", "/proc/loadavg",
                 "/proc/self/pagemap", "/proc/self/wchan", "/proc/self/stack", "/proc/net/unix", "/proc/net/route",
                 "/proc/locks", "/proc/filesystems", "/proc/uptime", "/proc/version", "/proc/swaps", "/proc/buddyinfo",
                 "/proc/net/udp", "/proc/net/netlink", "/proc/self/numa_maps", "/proc/self/environ", "/proc/self/cmdline",
                 "/proc/kpagecount", "/proc/diskstats", "/proc/devices", "/proc/iomem", "/proc/timer_list",
                 "/sys/kernel/mm/transparent_hugepage/enabled", "/sys/class/net/lo/statistics/rx_bytes", "/dev/zero",
                 "/dev/urandom", "/dev/kmsg", "/sys/devices/system/cpu/online", "/sys/kernel/debug/sleep_time"):
        try:
            descriptor = os.open(name, os.O_RDONLY | os.O_NONBLOCK)
            os.read(descriptor, 3000)
            os.close(descriptor)
        except OSError:
            pass


def memory():
    for flags in (mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, mmap.MAP_SHARED | mmap.MAP_ANONYMOUS):
        with mmap.mmap(-1, 1 << 20, flags=flags) as area:
            for i in range(0, 1 << 18, 4096):
                area[i] = 1
            for advice in (mmap.MADV_DONTNEED, mmap.MADV_SEQUENTIAL, 8, 12, 14, 15, 20, 21, 22, 23):
                try:
                    area.madvise(advice)
                except OSError:
                    pass
            try:
                area.resize(1 << 21)
            except (OSError, SystemError, ValueError):
                pass
    libc.mmap.restype = ctypes.c_void_p
    area = libc.mmap(None, ctypes.c_size_t(1 << 16), 3, 0x22, -1, ctypes.c_long(0))
    for number, *rest in ((10, 1 << 13, 1), (10, 1 << 13, 3), (149, 1 << 13), (150, 1 << 13), (26, 1 << 13, 4)):
        call(number, area, *rest)
    vector = ctypes.create_string_buffer(64)
    call(27, area, 1 << 16, vector)
    call(237, area, 1 << 13, 1, 0, 0, 0) # mbind
    call(279, 0, 1, ctypes.byref(ctypes.c_long(area)), 0, ctypes.byref(ctypes.c_int()), 0)
    call(11, area, 1 << 16)
    descriptor = libc.memfd_create(b"m", 2)
    os.ftruncate(descriptor, 10000)
    fcntl.fcntl(descriptor, 1033, 2)
    os.close(descriptor)
    segment = call(29, 0, 8192, 0o1600)
    libc.shmat.restype = ctypes.c_void_p
    attached = libc.shmat(segment, None, 0)
    libc.shmdt(ctypes.c_void_p(attached))
    call(31, segment, 0, 0)
    semaphore = call(64, 0, 2, 0o1600)
    call(65, semaphore, struct.pack("HhH", 0, 1, 0), 1)
    call(66, semaphore, 0, 0, 0)
    queue = call(68, 0, 0o1600)
    call(69, queue, struct.pack("l", 1) + b"message", 7, 0)
    call(70, queue, ctypes.create_string_buffer(64), 7, 0, 0)
    call(71, queue, 0, 0)
    local, remote = ctypes.create_string_buffer(b"a" * 64), ctypes.create_string_buffer(64)
    vectors = [struct.pack("QQ", ctypes.addressof(each), 64) for each in (local, remote)]
    call(310, os.getpid(), vectors[0], 1, vectors[1], 1, 0)
    call(311, os.getpid(), vectors[0], 1, vectors[1], 1, 0)


def sockets():
    for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
        try:
            server = socket.socket(family, socket.SOCK_STREAM)
            server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            server.bind((address, 0))
            server.listen(3)
            client = socket.socket(family, socket.SOCK_STREAM)
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            client.connect(server.getsockname()[:2])
            accepted, _ = server.accept()
            client.sendall(b"x" * 20000)
            accepted.recv(5000), accepted.recv(100, socket.MSG_PEEK)
            client.sendmsg([b"a", b"bc"])
            accepted.recvmsg(100)
            client.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 200)
            client.getpeername(), fcntl.ioctl(accepted, termios.FIONREAD, b"1234")
            poll = select.epoll()
            poll.register(accepted, select.EPOLLIN | select.EPOLLET)
            poll.poll(0.01), poll.modify(accepted, select.EPOLLOUT), poll.poll(0.01), poll.close()
            select.select([accepted], [client], [], 0.01)
            client.shutdown(socket.SHUT_WR)
            for each in (client, accepted, server):
                each.close()
            for kind in (socket.SOCK_DGRAM, socket.SOCK_RAW):
                datagram = socket.socket(family, kind, 0 if kind == socket.SOCK_DGRAM else 200)
                datagram.bind((address, 0))
                datagram.settimeout(0.2)
                datagram.sendto(b"hello", datagram.getsockname()[:2])
                datagram.recvfrom(100)
                datagram.close()
        except OSError:
            pass
    a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    socket.send_fds(a, [b"fd"], [0, 1])
    _, received, _, _ = socket.recv_fds(b, 10, 5)
    for each in received:
        os.close(each)
    a.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 10000)
    b.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
    a.send(b"c"), b.recvmsg(10, 100)
    a.close(), b.close()
    netlink = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
    netlink.settimeout(0.2)
    netlink.bind((0, 0))
    for kind in (18, 22, 26, 30, 34, 38, 66): # links, addresses, routes, neighbours, rules, disciplines, statistics
        netlink.send(struct.pack("IHHIIBxxxIII", 32, kind, 0x301, kind, 0, 0, 0, 0, 0))
        try:
            netlink.recv(16000)
        except OSError:
            pass
    netlink.close()
    for family, kind, protocol in ((17, 3, 0x0300), (16, 3, 9), (16, 3, 15), (16, 3, 4), (38, 5, 0), (40, 1, 0)):
        try:
            each = socket.socket(family, kind, protocol)
            each.close()
        except OSError:
            pass
    probe = socket.socket()
    for request in (0x8912, 0x8913, 0x8915, 0x8927, 0x8933):
        try:
            fcntl.ioctl(probe, request, b"lo".ljust(40, b"\0"))
        except OSError:
            pass
    probe.close()


def processes():
    signal.signal(signal.SIGUSR1, lambda *_: None)
    os.kill(os.getpid(), signal.SIGUSR1)
    signal.setitimer(signal.ITIMER_REAL, 0.005)
    signal.signal(signal.SIGALRM, lambda *_: None)
    time.sleep(0.01)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])
    os.kill(os.getpid(), signal.SIGUSR2)
    signal.sigtimedwait([signal.SIGUSR2], 0.1)
    child = os.fork()
    if child == 0:
        time.sleep(0.002)
        os._exit(3)
    descriptor = os.pidfd_open(child)
    select.select([descriptor], [], [], 1)
    signal.pidfd_send_signal(descriptor, 0)
    os.waitid(os.P_PIDFD, descriptor, os.WEXITED)
    subprocess.run(["/bin/sh", "-c", "echo a | cat | sort"], stdout=subprocess.DEVNULL)
    child = os.fork()
    if child == 0:
        signal.pause()
        os._exit(0)
    os.kill(child, signal.SIGSTOP)
    os.waitpid(child, os.WUNTRACED)
    os.kill(child, signal.SIGCONT), os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    threads = [threading.Thread(target=lambda: time.sleep(0.002)) for _ in range(3)]
    [each.start() for each in threads], [each.join() for each in threads]
    os.setpriority(os.PRIO_PROCESS, 0, 1), os.nice(1), os.getloadavg(), os.times(), os.uname()
    os.sched_setaffinity(0, {0}), os.sched_getaffinity(0), os.sched_yield()
    os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(3))
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    resource.getrusage(resource.RUSAGE_SELF)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for option, argument in ((15, b"name"), (16, ctypes.create_string_buffer(16)), (3, 0), (38, 0), (23, 1), (36, 0)):
        libc.prctl(option, argument, 0, 0, 0)
    os.getgroups(), os.setgroups([1, 2]), os.getresuid(), os.setresgid(0, 0, 0), os.getsid(0), os.getpgid(0)
    for clock in range(0, 10):
        try:
            time.clock_gettime(clock), time.clock_getres(clock)
        except OSError:
            pass
        call(228, clock, ctypes.create_string_buffer(16))
    timer = call(283, 1, 0)
    call(286, timer, 0, struct.pack("llll", 0, 0, 0, 1000000), 0)
    os.read(timer, 8)
    os.close(timer)
    number = ctypes.c_int()
    call(222, 1, 0, ctypes.byref(number))
    call(223, number.value, 0, struct.pack("llll", 0, 0, 1, 0), 0)
    call(226, number.value)
    event = call(290, 0, 0)
    os.write(event, struct.pack("Q", 3)), os.read(event, 8), os.close(event)
    call(202, ctypes.byref(ctypes.c_int(0)), 0, 0, struct.pack("ll", 0, 1000000), 0, 0)
    call(202, ctypes.byref(ctypes.c_int(0)), 1, 1, 0, 0, 0)
    call(250, 0, -3, 0) # keyctl
    call(248, b"user", b"a", b"payload", 7, -1)
    call(298, struct.pack("IIQQ", 1, 112, 0, 0) + bytes(88), 0, -1, -1, 0) # perf_event_open
    call(321, 0, struct.pack("IIIIIQ", 2, 4, 8, 10, 0, 0) + bytes(40), 72) # a BPF map
    call(425, 4, ctypes.create_string_buffer(120)) # io_uring_setup
    call(318, ctypes.create_string_buffer(64), 64, 0)
    call(309, ctypes.byref(number), 0, 0)
    call(324, 0, 0) # membarrier
    call(312, os.getpid(), os.getpid(), 0, 0, 0)
    call(436, 900, 950, 0) # close_range
    call(305, 0, struct.pack("I", 0) + bytes(250))
    call(103, 10, 0, 0)
    call(99, ctypes.create_string_buffer(128))


def namespaces(folder):
    if os.fork() == 0:
        try:
            call(272, 0x00020000 | 0x04000000 | 0x08000000 | 0x40000000 | 0x02000000)
            libc.sethostname(b"other", 5)
            for kind, options in ((b"tmpfs", b"size=1m"), (b"proc", None), (b"sysfs", None)):
                if libc.mount(b"none", folder.encode(), kind, 0, options) == 0:
                    if kind == b"tmpfs":
                        files(folder)
                    os.listdir(folder)
                    libc.umount2(folder.encode(), 2)
            libc.mount(b"/tmp", folder.encode(), None, 4096, None)
            libc.mount(None, folder.encode(), None, 0x1021, None)
            libc.umount2(folder.encode(), 2)
            os.chroot("/")
            if os.fork() == 0:
                os._exit(0)
            os.wait()
        finally:
            os._exit(0)
    os.wait()


def terminals():
    leader, follower = os.openpty()
    termios.tcgetattr(follower)
    settings = termios.tcgetattr(leader)
    termios.tcsetattr(leader, termios.TCSANOW, settings)
    os.write(leader, b"text\n"), os.read(follower, 100), os.write(follower, b"back"), os.read(leader, 100)
    fcntl.ioctl(leader, termios.TIOCGWINSZ, b"12345678")
    os.close(leader), os.close(follower)


def main():
    failed = 0
    for folder in sys.argv[1:] or ("/tmp", "/dev/shm"):
        with tempfile.TemporaryDirectory(dir=folder) as inside:
            for part in (lambda: files(inside), memory, sockets, processes, lambda: namespaces(inside), terminals):
                try:
                    part()
                except Exception as error: # what one kernel lacks must not end the rest
                    print("workload: %r" % error, file=sys.stderr)
                    failed += 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
