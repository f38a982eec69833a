# SPDX-License-Identifier: GPL-2.0-or-later
"""A disposable guest for measurements: one boot of a stock kernel with an initramfs of its own.

djstap's own guests are restored from a saved state and talk to an agent; a benchmark needs neither. Here only a shell
script runs, and QEMU can count instructions (`-icount shift=0,sleep=off`): one instruction is then one nanosecond of
the guest's clock, whatever else the machine does at the same time.
"""
import os
import re
import shutil
import stat
import subprocess
import tempfile

KERNELS = os.environ.get("DJSTAP_KERNELS", "/var/lib/djstap/kernels")
DONE = "=== everything ran"

INIT = """#!/bin/sh
/bin/busybox --install -s /bin
export PATH=/bin
mount -t devtmpfs dev /dev
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t debugfs debug /sys/kernel/debug
mount -t tracefs trace /sys/kernel/tracing
mount -t tmpfs tmp /tmp
%s
echo '%s'
sleep 1 # the console is written behind the programs
echo b >/proc/sysrq-trigger
"""


class GuestLost(Exception):
    """The guest ended, or was ended, before its script did. Contains the end of its console, and all of it as `console`."""

    def __init__(self, message, console=""):
        super().__init__(message)
        self.console = console


class Failed(Exception):
    """A guest that did not measure what it should. Contains its output."""


class Archive:
    """An initramfs: a cpio archive in the "newc" format."""

    def __init__(self):
        self.pieces = []
        self.names = set()

    def _entry(self, name, mode, data=b""):
        if name in self.names:
            return
        self.names.add(name)
        path = name.encode() + b"\0"
        fields = (len(self.names), mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(path), 0)
        header = b"070701" + b"".join(b"%08X" % field for field in fields) + path
        self.pieces += [header, bytes(-len(header) % 4), data, bytes(-len(data) % 4)]

    def folder(self, name):
        """Adds a folder and its parents."""
        parent = os.path.dirname(name)
        if parent:
            self.folder(parent)
        self._entry(name, stat.S_IFDIR | 0o755)

    def text(self, name, text, mode=0o755):
        self.folder(os.path.dirname(name)) if "/" in name else None
        self._entry(name, stat.S_IFREG | mode, text.encode())

    def data(self, name, content):
        if "/" in name:
            self.folder(os.path.dirname(name))
        self._entry(name, stat.S_IFREG | 0o755, content)

    def file(self, name, path):
        """Adds a file of this machine under another name."""
        with open(path, "rb") as file:
            self.data(name, file.read())

    def program(self, path, name=None):
        """Adds a program to /bin, and the shared libraries that it needs at the paths where it searches for them."""
        self.file("bin/" + (name or os.path.basename(path)), path)
        listing = subprocess.run(["ldd", path], capture_output=True, text=True).stdout
        for library in re.findall(r"(/\S+) \(0x", listing):
            self.file(library.lstrip("/"), library)

    def write(self, path):
        self._entry("TRAILER!!!", 0)
        with open(path, "wb") as file:
            file.write(b"".join(self.pieces))


def base_archive():
    """Returns an initramfs with busybox and the folders that INIT mounts on."""
    archive = Archive()
    for name in ("bin", "dev", "etc", "proc", "sys", "tmp", "root"):
        archive.folder(name)
    busybox = shutil.which("busybox", path="/bin:/usr/bin:/sbin:/usr/sbin")
    if not busybox:
        raise FileNotFoundError("there is no busybox: install the package busybox-static")
    archive.file("bin/busybox", busybox)
    archive.file("bin/sh", busybox)
    return archive


def run(release, archive, script, count_instructions=True, cpus=1, memory_mb=1024, timeout=3600, threads="single", plugin=None,
        plugin_output=None):
    """Boots kernel `release`, runs the shell `script` as init, and returns its output on the console.

    `plugin`: for QEMU's translator, with its arguments; its output goes to the file `plugin_output`.

    Raises GuestLost if the script does not end within `timeout` seconds.
    """
    archive.text("init", INIT % (script, DONE))
    with tempfile.TemporaryDirectory(prefix="djstap-bench-") as folder:
        initramfs = os.path.join(folder, "initramfs")
        archive.write(initramfs)
        command = ["qemu-system-x86_64", "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
                   "-machine", "q35", "-cpu", "max", "-smp", str(cpus), "-m", str(memory_mb),
                   "-accel", f"tcg,thread={threads}", "-serial", "stdio",
                   "-kernel", f"{KERNELS}/{release}/boot/vmlinuz-{release}", "-initrd", initramfs,
                   "-append", "console=ttyS0 quiet panic=-1 oops=panic tsc=reliable no_timer_check" + (" nokaslr" if plugin else "")]
        if plugin:
            command += ["-plugin", plugin, "-d", "plugin", "-D", plugin_output]
        if count_instructions:
            command += ["-icount", "shift=0,sleep=off"]
        try:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout)
        except subprocess.TimeoutExpired as late:
            console = (late.stdout or b"").decode("utf-8", "replace").replace("\r", "")
            raise GuestLost(f"not done after {timeout} s:\n{tail(late.stdout or b'')}", console) from None
    console = done.stdout.decode("utf-8", "replace").replace("\r", "")
    if DONE not in console:
        raise GuestLost(tail(done.stdout) + done.stderr.decode("utf-8", "replace"), console)
    return console.split(DONE)[0]


def tail(data):
    return "\n".join(data.decode("utf-8", "replace").replace("\r", "").split("\n")[-30:])
