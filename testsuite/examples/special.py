# SPDX-License-Identifier: GPL-2.0-or-later
"""Workloads of single examples: special.py NAME. What worker.py does is not enough for them."""
import ctypes
import mmap
import os
import select
import socket
import struct
import sys
import threading
import time

libc = ctypes.CDLL(None, use_errno=True)


def opens(*paths):
    """Calls open(2), which the C library does not."""
    OPEN = 2
    for path in paths:
        libc.syscall(OPEN, path.encode(), os.O_RDONLY)


def overcommits():
    with open("/proc/sys/vm/overcommit_memory", "w") as file:
        file.write("2")
    try:
        mmap.mmap(-1, 1 << 40)
    except OSError:
        pass
    with open("/proc/sys/vm/overcommit_memory", "w") as file:
        file.write("0")


def fills():
    """Sends more than the receiver takes, until that takes it."""
    server = socket.create_server(("127.0.0.1", 0))
    client = socket.create_connection(server.getsockname())
    client.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 20000)
    connection = server.accept()[0]

    def take():
        time.sleep(1)
        rest = 10 << 20
        while rest:
            rest -= len(connection.recv(1 << 20))
    taker = threading.Thread(target=take)
    taker.start()
    client.sendall(bytes(10 << 20))
    taker.join()


def semaphores():
    IPC_PRIVATE, SETVAL = 0, 16
    number = libc.semget(IPC_PRIVATE, 1, 0o600)
    libc.semctl(number, 0, SETVAL, 2)
    take = ctypes.create_string_buffer(struct.pack("Hhh", 0, -1, 0))
    libc.semop(number, take, 1)
    libc.semop(number, take, 1)


def wanders():
    for turn in range(10):
        os.sched_setaffinity(0, {turn % 2})
        time.sleep(0.01)


def splices():
    VMSPLICE = 278
    libc.syscall(VMSPLICE, 1, 0, 0, 0)


def tells(port):
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    for _ in range(3):
        sender.sendto(b"to nobody", ("127.0.0.1", int(port)))
    time.sleep(6)


def spins():
    end = time.time() + 7
    while time.time() < end:
        pass


def overflows():
    """Connects to a server that does not accept: packets are sent again."""
    server = socket.create_server(("127.0.0.1", 0), backlog=0)
    clients = [socket.socket() for _ in range(4)]
    for client in clients:
        client.setblocking(False)
        client.connect_ex(server.getsockname())
    time.sleep(3)


def polls():
    poller = select.poll()
    for _ in range(4):
        poller.poll(3)
    time.sleep(3)


def waits_for_all():
    """Waits until each processor has passed through the scheduler."""
    MEMBARRIER, GLOBAL = 324, 1
    for _ in range(10):
        libc.syscall(MEMBARRIER, GLOBAL, 0)


def misses():
    opens(*["/missing"] * 5)
    time.sleep(3)


def exhausts_files():
    import resource
    resource.setrlimit(resource.RLIMIT_NOFILE, (20, 20))
    for _ in range(40):
        try:
            os.open("/", os.O_RDONLY)
        except OSError:
            time.sleep(0.01)


def kills_itself():
    os.kill(os.getpid(), 9)


def frees():
    """Frees memory, as the last call of free()."""
    libc.malloc.restype = ctypes.c_void_p
    libc.free(ctypes.c_void_p(libc.malloc(100)))
    os._exit(0)


def asks_too_much():
    libc.aligned_alloc.argtypes = [ctypes.c_size_t, ctypes.c_size_t]
    libc.aligned_alloc(64, (1 << 64) - 60000)


def watches_variable():
    for _ in range(3):
        with open("/proc/sys/vm/dirty_ratio") as file:
            value = file.read()
    with open("/proc/sys/vm/dirty_ratio", "w") as file:
        file.write(value)


globals()[sys.argv[1]](*sys.argv[2:])
