#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Boots a kernel under UEFI Secure Boot, which locks it down: a module that djstap signed with a key of the firmware's is
loaded, others are refused with a message that says what to do.

    secure_boot.py --djstap build/release/bin/djstap [--kernel 6.1] [--install]

The firmware is OVMF with the test key that Debian's package has in its database (snakeoil): the kernel is signed with that
key too, and trusts it for modules. Needs the packages ovmf and sbsigntool, which --install installs; without them the exit
status is 77.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path[:0] = [HERE, os.path.join(HERE, "../bench")]
import guest  # noqa: E402
import run  # noqa: E402

PACKAGES = ("ovmf", "sbsigntool")
CODE = "/usr/share/OVMF/OVMF_CODE_4M.snakeoil.fd"
VARIABLES = "/usr/share/OVMF/OVMF_VARS_4M.snakeoil.fd"
KEY, CERTIFICATE = "/usr/share/ovmf/PkKek-1-snakeoil.key", "/usr/share/ovmf/PkKek-1-snakeoil.pem"
PATIENCE = 3000
SCRIPT = 'probe begin { println("runs"); exit() }'
HINT = "  hint: sign it: djstap --sign-with KEY CERT, where djstap --enroll-key CERT has made the kernel trust the key"
INIT = """
mount -t securityfs security /sys/kernel/security
echo "lockdown: $(cat /sys/kernel/security/lockdown)"
for module in unsigned unknown signed changed; do
    echo "@ $module"
    djrun /modules/djstap_$module.ko 2>&1
    echo "status $?"
done
echo "@ end"
"""


def qemu(folder):
    return ["qemu-system-x86_64", "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-machine", "q35,smm=on",
            "-cpu", "max", "-m", "1024", "-accel", "tcg", "-serial", "stdio",
            "-global", "driver=cfi.pflash01,property=secure,value=on",
            "-drive", f"if=pflash,unit=0,format=raw,readonly=on,file={CODE}",
            "-drive", f"if=pflash,unit=1,format=raw,file={folder}/variables",
            "-kernel", f"{folder}/vmlinuz", "-initrd", f"{folder}/initramfs",
            "-append", "console=ttyS0 quiet panic=-1 tsc=reliable no_timer_check"]


def prepare(djstap, kernel, folder):
    """Writes a signed kernel, an initramfs with modules, and the firmware's variables."""
    def call(*words):
        subprocess.run(words, cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def compile_module(name, *options):
        subprocess.run([djstap, "-r", kernel, "-p4", "-m", f"djstap_{name}", *options, "-e", SCRIPT], cwd=folder, check=True,
                       stdout=subprocess.DEVNULL)

    call("openssl", "rsa", "-passin", "pass:snakeoil", "-in", KEY, "-out", "key.pem")
    call("openssl", "req", "-x509", "-new", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=unknown", "-keyout", "unknown.key",
         "-out", "unknown.pem")
    compile_module("unsigned")
    compile_module("unknown", "--sign-with", "unknown.key", "unknown.pem")
    compile_module("signed", "--sign-with", "key.pem", CERTIFICATE)
    with open(f"{folder}/djstap_signed.ko", "rb") as file:
        bytes_of_module = bytearray(file.read())
    bytes_of_module[bytes_of_module.index(b"license=") + len(b"license=")] ^= 1
    with open(f"{folder}/djstap_changed.ko", "wb") as file:
        file.write(bytes_of_module)
    image = run.kernel_folder_in(os.environ, kernel)
    call("sbsign", "--key", "key.pem", "--cert", CERTIFICATE, "--output", "vmlinuz", f"{image}/boot/vmlinuz-{os.path.basename(image)}")
    archive = guest.base_archive()
    archive.program(os.path.join(os.path.dirname(djstap), "djrun"))
    for name in ("unsigned", "unknown", "signed", "changed"):
        archive.file(f"modules/djstap_{name}.ko", f"{folder}/djstap_{name}.ko")
    archive.text("init", guest.INIT % (INIT, guest.DONE))
    archive.write(f"{folder}/initramfs")
    shutil.copy(VARIABLES, f"{folder}/variables")


def problems(console):
    parts = dict(re.findall(r"^@ (\w+)\n(.*?)(?=^@ )", console, re.MULTILINE | re.DOTALL))
    if "lockdown: none [integrity] confidentiality" not in console:
        yield "the kernel is not locked down"
    if "\nruns\nstatus 0\n" not in "\n" + parts.get("signed", ""):
        yield "the signed module does not run"
    unsigned = parts.get("unsigned", "")
    if "this kernel is locked down (integrity) and /modules/djstap_unsigned.ko is not signed" not in unsigned or HINT not in unsigned:
        yield "no clear message for the module without a signature"
    for name in ("unsigned", "unknown", "changed"):
        if "status 1" not in parts.get(name, "") or "runs" in parts.get(name, ""):
            yield f"the module '{name}' is not refused"
    if "the kernel does not trust the key that signed it" not in parts.get("unknown", ""):
        yield "no clear message for the module of an unknown key"


def main():
    parser = argparse.ArgumentParser(description="Loads modules under Secure Boot.")
    parser.add_argument("--djstap", required=True)
    parser.add_argument("--kernel", default="6.12")
    parser.add_argument("--install", action="store_true")
    options = parser.parse_args()
    if options.install and not (os.path.exists(CODE) and shutil.which("sbsign")):
        subprocess.run(["apt-get", "install", "-y", "-qq", "--no-install-recommends", *PACKAGES], check=True, stdout=subprocess.DEVNULL)
    if not (os.path.exists(CODE) and shutil.which("sbsign") and shutil.which("openssl")):
        print(f"skipped: it needs {', '.join(PACKAGES)} and openssl")
        return 77
    with tempfile.TemporaryDirectory(prefix="djstap-secure-") as folder:
        prepare(os.path.abspath(options.djstap), options.kernel, folder)
        done = subprocess.run(qemu(folder), stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE, check=False)
    console = done.stdout.decode("utf-8", "replace").replace("\r", "")
    found = list(problems(console)) if guest.DONE in console else ["the guest was lost"]
    for problem in found:
        print(f"FAILED: {problem}")
    if found:
        print(console[-6000:], done.stderr.decode("utf-8", "replace"))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
