#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Enrolls a key as the owner of a machine with Secure Boot does: djstap --enroll-key, the firmware's MokManager at the next start,
and then the kernel loads what djstap signs with that key.

    enroll_key.py --djstap build/release/bin/djstap [--kernel 6.1] [--install]

The firmware is OVMF with Microsoft's keys, which trusts Debian's signed shim; shim trusts Debian's GRUB and kernels. A console
on a serial line stands for keyboard and screen: this program types the password and chooses in MokManager's menus. Needs the
packages ovmf and mokutil, which --install installs, and downloads what shim starts; without them the exit status is 77.
"""
import argparse
import glob
import lzma
import os
import re
import selectors
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path[:0] = [HERE, os.path.join(HERE, "../bench")]
import guest  # noqa: E402
import run  # noqa: E402
import secure_boot  # noqa: E402

CODE, VARIABLES = "/usr/share/OVMF/OVMF_CODE_4M.ms.fd", "/usr/share/OVMF/OVMF_VARS_4M.ms.fd"
PACKAGES = ("ovmf", "mokutil")
# What starts the kernel, by package, and its name on the disk. Only unpacked: installing them would change how this machine starts.
STARTED = {"shim-signed": ("usr/lib/shim/shimx64.efi.signed", "EFI/BOOT/BOOTX64.EFI"),
           "shim-helpers-amd64-signed": ("usr/lib/shim/mmx64.efi.signed", "EFI/BOOT/mmx64.efi"),
           "grub-efi-amd64-signed": ("usr/lib/grub/x86_64-efi-signed/grubx64.efi.signed", "EFI/BOOT/grubx64.efi")}
GRUB = """\
set timeout=0
linux /vmlinuz console=ttyS0 quiet panic=-1 tsc=reliable no_timer_check
initrd /initrd
boot
"""
PASSWORD = "twelve-words"
DOWN, ENTER = "\x1b[B", "\r"
# What MokManager shows, and what its user types then.
MENUS = [("Press any key to perform MOK management", ENTER), ("Enroll MOK", DOWN + ENTER), ("View key 0", DOWN + ENTER),
         ("Enroll the key(s)?", DOWN + ENTER), ("Password:", PASSWORD + ENTER), ("Reboot", ENTER)]
INIT = """
insmod /modules/efivarfs.ko
mount -t efivarfs vars /sys/firmware/efi/efivars
mount -t securityfs security /sys/kernel/security
echo "lockdown: $(cat /sys/kernel/security/lockdown)"
echo "@ module"
djrun /modules/djstap_signed.ko 2>&1
echo "status $?"
echo "@ enroll"
djstap --enroll-key /modules/certificate.pem 2>&1
echo "status $?"
echo "@ end"
"""


class Lost(Exception):
    """A machine that does not do what it should."""


class Machine:
    """One start of the machine, until it is restarted."""

    def __init__(self, folder):
        self.process = subprocess.Popen(
            ["qemu-system-x86_64", "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-machine", "q35,smm=on",
             "-cpu", "max", "-m", "1024", "-accel", "tcg", "-serial", "stdio",
             "-global", "driver=cfi.pflash01,property=secure,value=on",
             "-drive", f"if=pflash,unit=0,format=raw,readonly=on,file={CODE}",
             "-drive", f"if=pflash,unit=1,format=raw,file={folder}/variables",
             "-drive", f"if=none,id=esp,format=raw,readonly=on,file=fat:{folder}/esp", "-device", "virtio-blk-pci,drive=esp"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.bytes = b""
        self.at = 0
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.process.stdout, selectors.EVENT_READ)
        self.until = time.monotonic() + secure_boot.PATIENCE

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def read(self):
        """Returns false if the machine has ended."""
        if not self.selector.select(max(0, self.until - time.monotonic())):
            raise Lost("the machine prints nothing more")
        data = os.read(self.process.stdout.fileno(), 65536)
        self.bytes += data
        return bool(data)

    @property
    def console(self):
        """All that it has printed, without what moves the cursor and sets colours."""
        return re.sub(r"\x1b\[[0-9;=?]*[A-Za-z]", "", self.bytes.decode("utf-8", "replace").replace("\r", ""))

    def shows(self, text):
        """Waits until it shows the text, behind what it had shown before."""
        while (found := self.console.find(text, self.at)) < 0:
            if not self.read():
                raise Lost(f"the machine ended before it showed '{text}'")
        self.at = found + len(text)

    def type(self, keys):
        self.process.stdin.write(keys.encode())
        self.process.stdin.flush()

    def ends(self):
        while self.read():
            pass


def prepare(djstap, kernel, folder):
    """Makes a key and a module that is signed with it, the disk that the machine starts from, and the firmware's variables."""
    def call(*words, where=folder):
        subprocess.run(words, cwd=where, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    call("openssl", "req", "-x509", "-new", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=its owner", "-keyout", "key.pem", "-out",
         "certificate.pem")
    call(djstap, "-r", kernel, "-p4", "-m", "djstap_signed", "--sign-with", "key.pem", "certificate.pem", "-e", secure_boot.SCRIPT)
    image = run.kernel_folder_in(os.environ, kernel)
    release = os.path.basename(image)
    archive = guest.base_archive()
    archive.program(os.path.join(os.path.dirname(djstap), "djrun"))
    archive.program(shutil.which("mokutil"))
    call("strip", "-o", f"{folder}/djstap", djstap)
    archive.program(f"{folder}/djstap")
    archive.file("modules/djstap_signed.ko", f"{folder}/djstap_signed.ko")
    archive.file("modules/certificate.pem", f"{folder}/certificate.pem")
    [efivarfs] = glob.glob(f"{image}/lib/modules/{release}/kernel/fs/efivarfs/efivarfs.ko*")
    with (lzma.open if efivarfs.endswith(".xz") else open)(efivarfs, "rb") as file:
        archive.data("modules/efivarfs.ko", file.read())
    archive.text("init", guest.INIT % (INIT, guest.DONE))
    archive.write(f"{folder}/initramfs")
    esp = f"{folder}/esp"
    os.makedirs(f"{esp}/EFI/BOOT")
    os.makedirs(f"{esp}/EFI/debian")
    call("zstd", "-q", "-o", f"{esp}/initrd", f"{folder}/initramfs")
    shutil.copy(f"{image}/boot/vmlinuz-{release}", f"{esp}/vmlinuz")
    with open(f"{esp}/EFI/debian/grub.cfg", "w", encoding="utf-8") as file:
        file.write(GRUB)
    os.mkdir(f"{folder}/packages")
    call("apt-get", "-o", "APT::Sandbox::User=root", "download", *STARTED, where=f"{folder}/packages")
    for package, (program, name) in STARTED.items():
        call("dpkg-deb", "-x", glob.glob(f"{folder}/packages/{package}_*.deb")[0], f"{folder}/{package}")
        shutil.copy(f"{folder}/{package}/{program}", f"{esp}/{name}")
    shutil.copy(VARIABLES, f"{folder}/variables")


def part(console, name):
    return re.search(rf"^@ {name}\n(.*?)(?=^@ )", console, re.MULTILINE | re.DOTALL)[1]


def steps(folder, consoles):
    """Starts the machine three times; yields what is wrong."""
    with Machine(folder) as machine:
        consoles.append(machine)
        for question in ("input password: ", "input password again: "):
            machine.shows(question)
            machine.type(PASSWORD + "\n")
        machine.shows(guest.DONE)
        machine.ends()
    if "lockdown: none [integrity] confidentiality" not in machine.console:
        yield "the kernel is not locked down"
    if "the kernel does not trust the key that signed it" not in part(machine.console, "module"):
        yield "the module is not refused before the key is enrolled"
    if "status 0" not in part(machine.console, "enroll") or "Restart this machine" not in part(machine.console, "enroll"):
        yield "--enroll-key fails"
    with Machine(folder) as machine:
        consoles.append(machine)
        for shown, keys in MENUS:
            machine.shows(shown)
            machine.type(keys)
        machine.ends()
    with Machine(folder) as machine:
        consoles.append(machine)
        machine.shows(guest.DONE)
        machine.ends()
    if "lockdown: none [integrity] confidentiality" not in machine.console:
        yield "the kernel is not locked down after the key was enrolled"
    if "runs\nstatus 0\n" not in part(machine.console, "module"):
        yield "the module is not loaded after the key was enrolled"
    if "/modules/certificate.pem is enrolled already\nstatus 0\n" not in part(machine.console, "enroll"):
        yield "--enroll-key does not tell that the key is enrolled"


def missing():
    return not os.path.exists(CODE) or not all(map(shutil.which, ("mokutil", "openssl", "zstd", "apt-get")))


def main():
    parser = argparse.ArgumentParser(description="Enrolls a key under Secure Boot.")
    parser.add_argument("--djstap", required=True)
    parser.add_argument("--kernel", default="6.12")
    parser.add_argument("--install", action="store_true")
    options = parser.parse_args()
    if options.install and missing():
        subprocess.run(["apt-get", "install", "-y", "-qq", "--no-install-recommends", *PACKAGES], check=True, stdout=subprocess.DEVNULL)
    if missing():
        print(f"skipped: it needs {', '.join(PACKAGES)}, openssl, zstd and apt")
        return 77
    consoles = []
    with tempfile.TemporaryDirectory(prefix="djstap-enroll-") as folder:
        prepare(os.path.abspath(options.djstap), options.kernel, folder)
        try:
            found = list(steps(folder, consoles))
        except Lost as lost:
            found = [str(lost)]
    for problem in found:
        print(f"FAILED: {problem}")
    if found:
        for number, machine in enumerate(consoles, 1):
            print(f"=== start {number}\n{machine.console[-6000:]}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
