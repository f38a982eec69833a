# SPDX-License-Identifier: GPL-2.0-or-later
"""Guests in a network of their own: each runs Debian from a disk image, with sshd and pmcd.

The network is a bridge in a network namespace that only the calling process and what it starts are in: nothing outside can be
reached, and no name, address or port of the machine's is used. `with Network(): …` has to be entered by one that may create
namespaces and devices, that is root.
"""
import ctypes
import lzma
import os
import shutil
import socket
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.append(os.path.join(HERE, "..", "bench"))
import guest as small_guest  # noqa: E402

PACKAGES = "pcp,openssh-server,busybox-static"
NETWORK, CONTROLLER = "10.99.0", "10.99.0.1"
PORT = 44321  # of pmcd
PATIENCE = 1800  # for what must happen sooner or later, on the slowest machine
MODULES = "virtio_pci", "virtio_blk", "virtio_net"
# The root's own first process follows.
INITRAMFS = """#!/bin/sh
/bin/busybox --install -s /bin
export PATH=/bin
mount -t devtmpfs dev /dev
for module in %s; do insmod /modules/$module; done
until mount -t ext4 -o noatime /dev/vda /root; do sleep 0.1; done
exec switch_root /root /fleet/init
"""
CLONE_NEWNET = 0x40000000


def call(*words, **more):
    done = subprocess.run(words, capture_output=True, text=True, check=False, **more)
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)}: {done.stdout}{done.stderr}")
    return done.stdout


def until(condition, why, seconds=PATIENCE):
    """Waits for what must happen sooner or later; returns what is true. The limit is for what never does."""
    limit = time.monotonic() + seconds
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > limit:
            raise AssertionError(why() if callable(why) else why)
        time.sleep(0.1)


def missing_tools():
    """What this machine lacks; empty: nothing."""
    lacking = [name for name in ("mmdebstrap", "qemu-system-x86_64", "ip", "ssh", "ssh-keygen", "pminfo", "cc") if not shutil.which(name)]
    lacking += [] if os.path.exists("/sbin/mke2fs") else ["mke2fs"]
    lacking += [] if os.getuid() == 0 else ["the rights of root"]
    return lacking + ([] if os.path.exists("/dev/net/tun") else ["/dev/net/tun"])


def release_of(kernel):
    """The newest release of a series that scripts/kernels has fetched."""
    found = [name for name in os.listdir(small_guest.KERNELS) if name.startswith(kernel + ".") and "-rt-" not in name]
    return max(found, default=None)


class Image:
    """The disk that all guests start from, and the keys to enter them."""

    def __init__(self, folder, programs, modules, kept=None):
        """`programs`: of djstap, that are in each guest's /fleet. `modules`: {kernel release: the folder of those that are in /fleet/modules
        there}. `kept`: where a former run left its root of Debian, or this one leaves it."""
        self.folder, self.disk = folder, os.path.join(folder, "disk")
        root = os.path.join(kept or folder, "root")
        if not os.path.exists(os.path.join(root, "usr/sbin/sshd")):
            self.make_root(root)
        own = os.path.join(folder, "own")  # what is added to it
        fleet = os.path.join(own, "fleet")
        os.makedirs(os.path.join(fleet, "modules"))
        self.tsc_khz = int(call(self.compile("tsc_khz")))
        for path in (*programs, os.path.join(HERE, "init"), self.compile("load", "fleet-load")):
            shutil.copy(path, os.path.join(fleet, os.path.basename(path)))
        for release, built in modules.items():
            shutil.copytree(built, os.path.join(fleet, "modules", release))
        self.make_keys(own)
        # Hard links: the root stays as it is.
        both = os.path.join(folder, "both")
        call("cp", "-al", root, both) if os.stat(root).st_dev == os.stat(folder).st_dev else call("cp", "-a", root, both)
        call("cp", "-a", "--remove-destination", own + "/.", both)
        with open(self.disk, "wb") as disk:
            disk.truncate(2 << 30)
        call("/sbin/mke2fs", "-q", "-t", "ext4", "-d", both, self.disk)
        for each in (both, own):
            shutil.rmtree(each)

    @staticmethod
    def make_root(root):
        suite = call("sh", "-c", ". /etc/os-release && echo $VERSION_CODENAME").strip()
        mirror = call("sh", "-c", "apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -m 1 '/debian/*$'").strip()
        os.makedirs(os.path.dirname(root), exist_ok=True)
        call("mmdebstrap", "--variant=apt", "--quiet", "--include=" + PACKAGES, suite, root, f"deb {mirror} {suite} main")

    def compile(self, name, program=None):
        path = os.path.join(self.folder, program or name)
        call("cc", "-O2", "-static", "-o", path, os.path.join(HERE, name + ".c"))
        return path

    def make_keys(self, own):
        """A key for the guests and one for who enters them, and how ssh finds both."""
        for folder, name in (self.folder, "key"), (os.path.join(own, "etc/ssh"), "ssh_host_ed25519_key"):
            os.makedirs(folder, exist_ok=True)
            call("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "fleet", "-f", os.path.join(folder, name))
        os.makedirs(os.path.join(own, "root/.ssh"), mode=0o700)
        shutil.copy(os.path.join(self.folder, "key.pub"), os.path.join(own, "root/.ssh/authorized_keys"))
        with open(os.path.join(own, "etc/ssh/ssh_host_ed25519_key.pub")) as public, \
             open(os.path.join(self.folder, "known_hosts"), "w") as known:
            known.write("* " + public.read())


class Network:
    """A bridge in a network namespace of the process's own, whose members are the guests."""

    def __enter__(self):
        libc = ctypes.CDLL(None, use_errno=True)
        self.outside = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        if libc.unshare(CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "unshare")
        call("ip", "link", "set", "lo", "up")
        call("ip", "link", "add", "fleet", "type", "bridge", "forward_delay", "0")
        call("ip", "address", "add", CONTROLLER + "/24", "dev", "fleet")
        call("ip", "link", "set", "fleet", "up")
        return self

    def __exit__(self, *_):
        ctypes.CDLL(None).setns(self.outside, CLONE_NEWNET)
        os.close(self.outside)

    @staticmethod
    def add(device):
        call("ip", "tuntap", "add", "dev", device, "mode", "tap")
        call("ip", "link", "set", device, "master", "fleet", "up")


class Guest:
    """One machine of the network: `with Guest(…) as guest`."""

    def __init__(self, image, number, kernel, memory_mb=512):
        self.image, self.number, self.kernel, self.memory_mb = image, number, kernel, memory_mb
        self.release = release_of(kernel)
        self.name, self.address = f"guest{number}", f"{NETWORK}.{10 + number}"
        self.console = os.path.join(image.folder, self.name + ".console")
        self.process = None

    def initramfs(self):
        folder = f"{small_guest.KERNELS}/{self.release}/lib/modules/{self.release}"
        archive, names = small_guest.base_archive(), []
        with open(f"{folder}/modules.dep") as table:
            needs = {path: rest.split() for path, rest in (line.rstrip("\n").split(":", 1) for line in table)}

        def add(path):
            name = os.path.basename(path).split(".ko")[0]
            if name in names:
                return
            for other in reversed(needs[path]):
                add(other)
            names.append(name)
            with open(os.path.join(folder, path), "rb") as file:
                content = file.read()
            archive.data("modules/" + name, lzma.decompress(content) if path.endswith(".xz") else content)
        for path in [each for each in needs if os.path.basename(each).split(".ko")[0] in MODULES]:
            add(path)
        archive.text("init", INITRAMFS % " ".join(names))
        path = os.path.join(self.image.folder, self.name + ".initramfs")
        archive.write(path)
        return path

    def __enter__(self):
        Network.add(self.name)
        with open(self.console, "wb") as console:
            self.process = subprocess.Popen(
                ["qemu-system-x86_64", "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-machine", "q35", "-cpu", "max",
                 "-m", str(self.memory_mb), "-accel", "tcg", "-serial", "stdio",
                 "-kernel", f"{small_guest.KERNELS}/{self.release}/boot/vmlinuz-{self.release}", "-initrd", self.initramfs(),
                 "-drive", f"file={self.image.disk},format=raw,if=virtio,snapshot=on",
                 "-netdev", f"tap,id=net,ifname={self.name},script=no,downscript=no",
                 "-device", f"virtio-net-pci,netdev=net,mac=52:54:00:99:00:{10 + self.number:02x}",
                 "-append", "console=ttyS0 loglevel=5 panic=-1 tsc=reliable no_timer_check net.ifnames=0 "
                            f"tsc_early_khz={self.image.tsc_khz} fleet.name={self.name} fleet.address={self.address}/24"],
                stdin=subprocess.DEVNULL, stdout=console, stderr=subprocess.STDOUT)
        return self

    def __exit__(self, *_):
        self.kill()

    def kill(self):
        self.process.kill()
        self.process.wait()

    def log(self):
        with open(self.console, errors="replace") as console:
            return f"--- {self.name}\n{console.read()[-4000:]}"

    def is_reachable(self):
        if self.process.poll() is not None:
            raise AssertionError("the guest was lost\n" + self.log())
        try:
            socket.create_connection((self.address, PORT), 5).close()
        except OSError:
            return False
        return subprocess.run(self.ssh("true"), stdin=subprocess.DEVNULL, capture_output=True, check=False).returncode == 0

    def wait(self):
        until(self.is_reachable, lambda: f"{self.name} cannot be reached\n" + self.log())

    def ssh(self, command):
        """The words that run a shell command in the guest."""
        return [*remote_shell(self.image.folder), self.name, command]

    def start(self, command, **more):
        return subprocess.Popen(self.ssh(command), stdin=subprocess.DEVNULL, text=True, **more)

    def run(self, command):
        """What a shell command of the guest prints. It must succeed."""
        return call(*self.ssh(command), stdin=subprocess.DEVNULL, timeout=PATIENCE)

    def modules(self):
        """The names of the modules that are loaded."""
        return {line.split()[0] for line in self.run("cat /proc/modules").splitlines()}


def remote_shell(folder):
    return ["ssh", "-F", os.path.join(folder, "ssh_config")]


def write_ssh_config(folder, guests):
    with open(os.path.join(folder, "ssh_config"), "w") as config:
        for each in guests:
            config.write(f"Host {each.name}\n    HostName {each.address}\n")
        config.write(f"Host *\n    User root\n    IdentityFile {folder}/key\n    IdentitiesOnly yes\n    BatchMode yes\n"
                     f"    UserKnownHostsFile {folder}/known_hosts\n    GlobalKnownHostsFile none\n    StrictHostKeyChecking yes\n"
                     "    ConnectTimeout 600\n    ServerAliveInterval 5\n    ServerAliveCountMax 12\n    LogLevel ERROR\n")
