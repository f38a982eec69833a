# SPDX-License-Identifier: GPL-2.0-or-later
"""What the packaged examples observe: a program that does a known number of each thing, as the task "worker"."""
import ctypes
import fcntl
import mmap
import os
import select
import signal
import socket
import struct
import subprocess
import threading
import time

libc = ctypes.CDLL(None, use_errno=True)
libc.prctl(15, b"worker", 0, 0, 0)  # PR_SET_NAME
FOLDER = "/tmp/work"
PAGE = 4096


def files():
    os.makedirs(FOLDER, exist_ok=True)
    path = FOLDER + "/known"
    fd = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    for _ in range(10):
        os.write(fd, b"w" * PAGE)
    os.fsync(fd)
    os.lseek(fd, 0, os.SEEK_SET)
    for _ in range(10):
        os.read(fd, PAGE)
    os.fchmod(fd, 0o640)
    os.close(fd)
    for _ in range(5):
        try:
            os.open(FOLDER + "/missing", os.O_RDONLY)
        except FileNotFoundError:
            pass
    os.rename(path, FOLDER + "/renamed")
    os.unlink(FOLDER + "/renamed")


def network():
    server = socket.create_server(("127.0.0.1", 7007))
    client = socket.create_connection(("127.0.0.1", 7007))
    connection = server.accept()[0]
    for _ in range(5):
        client.sendall(b"n" * 1000)
        rest = 1000
        while rest:
            rest -= len(connection.recv(rest))
    connection.close()
    client.close()
    server.close()
    receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    receiver.bind(("127.0.0.1", 7009))
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    for _ in range(4):
        sender.sendto(b"u" * 300, ("127.0.0.1", 7009))
        receiver.recv(1000)


def processes():
    for _ in range(3):
        child = os.fork()
        if child == 0:
            os._exit(3)
        os.waitpid(child, 0)
    for _ in range(2):
        subprocess.run(["/bin/true"], check=True)
    child = os.fork()
    if child == 0:
        signal.pause()
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def signals():
    signal.signal(signal.SIGUSR1, lambda *_: None)
    for _ in range(6):
        os.kill(os.getpid(), signal.SIGUSR1)


def memory():
    area = mmap.mmap(-1, 64 * PAGE)
    for page in range(64):
        area[page * PAGE] = 1
    area.close()


def threads():
    lock = threading.Lock()

    def contend():
        for _ in range(5):
            with lock:
                time.sleep(0.002)
    all_threads = [threading.Thread(target=contend) for _ in range(2)]
    for thread in all_threads:
        thread.start()
    for thread in all_threads:
        thread.join()


def waits():
    for _ in range(7):
        time.sleep(0.003)
    reader, writer = os.pipe()
    for _ in range(4):
        select.select([reader], [], [], 0.003)
    poller = select.poll()
    poller.register(reader, select.POLLIN)
    for _ in range(4):
        poller.poll(3)
    TIOCGWINSZ = 0x5413
    for _ in range(3):
        try:
            fcntl.ioctl(reader, TIOCGWINSZ, struct.pack("8x"))
        except OSError:
            pass


for work in (files, network, processes, signals, memory, threads, waits):
    work()
time.sleep(0.3)
print("worker did it", flush=True)
