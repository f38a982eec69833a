#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Has systemd check the units of flight recorders and of scripts for a group: they are understood, and expose no more than they have to.

    recorder_unit.py --djrun build/release/bin/djrun

testsuite/kernel/recorder-unit.case and offered-scripts.case run their commands with the capabilities that they leave them. The exit status is 77
without systemd.
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile

PACKAGING = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../packaging")
UNIT = os.path.join(PACKAGING, "djstap-recorder@.service")
MOST_EXPOSED = 25  # of 100, in tenths of what systemd-analyze prints; a service without limits has 96


def analyze(*words):
    done = subprocess.run(["systemd-analyze", *words], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def main():
    parser = argparse.ArgumentParser(description="Checks the unit of flight recorders.")
    parser.add_argument("--djrun", required=True)
    options = parser.parse_args()
    if not shutil.which("systemd-analyze"):
        print("skipped: there is no systemd-analyze")
        return 77
    with open(UNIT, encoding="utf-8") as file:
        text = file.read()
    failures = []
    with tempfile.TemporaryDirectory(prefix="djstap-unit-") as folder:
        def write(name, content):
            path = os.path.join(folder, name)
            with open(path, "w", encoding="utf-8") as file:
                file.write(content)
            return path

        ours = text.replace("/usr/bin/djrun", os.path.abspath(options.djrun))
        assert ours != text
        path = write("djstap-recorder@opens.service", ours)
        status, output = analyze("verify", "--man=no", path)
        if status or output.strip():
            failures.append(f"systemd does not accept the unit: {output}")
        # A mistake is noticed.
        wrong = write("djstap-recorder@wrong.service", ours.replace("ProtectHome=yes", "ProtectHome=perhaps"))
        if not analyze("verify", "--man=no", wrong)[1].strip():
            failures.append("systemd-analyze accepts a wrong unit")
        status, output = analyze("security", "--offline=true", "--no-pager", f"--threshold={MOST_EXPOSED}", path)
        if status:
            failures.append(f"the service is exposed more than before: {output}")
        # A name without a module is no success.
        if "AssertPathExists=/etc/djstap/recorders/%i.ko" not in text:
            failures.append("the service succeeds without a module")
        # The same of the scripts for a group: only the group reaches the socket.
        with open(os.path.join(PACKAGING, "djstap-run@.service"), encoding="utf-8") as file:
            served = file.read()
        with open(os.path.join(PACKAGING, "djstap-run.socket"), encoding="utf-8") as file:
            socket = file.read()
        program = os.path.join(os.path.dirname(os.path.abspath(options.djrun)), "serve-script")
        write("djstap-run.socket", socket)
        path = write("djstap-run@.service", served.replace("/usr/libexec/djstap/serve-script", program))
        for unit in (path, os.path.join(folder, "djstap-run.socket")):
            status, output = analyze("verify", "--man=no", unit)
            if status or output.strip():
                failures.append(f"systemd does not accept {os.path.basename(unit)}: {output}")
        status, output = analyze("security", "--offline=true", "--no-pager", f"--threshold={MOST_EXPOSED}", path)
        if status:
            failures.append(f"the service of scripts for a group is exposed more than before: {output}")
        for line in ("SocketUser=root", "SocketGroup=djstap", "SocketMode=0660", "Accept=yes",
                     "MaxConnections=16", "MaxConnectionsPerSource=4"):  # as the documentation says
            if f"\n{line}\n" not in socket:
                failures.append(f"djstap-run.socket has no {line}")
        if "\nStandardInput=socket\n" not in served or "[Install]" in served:
            failures.append("djstap-run@.service is started by more than its socket")
        # What loads modules must remain.
        allowed = analyze("syscall-filter", "@module")[1]
        if "finit_module" not in allowed or "ProtectKernelModules=no" not in text:
            failures.append("the service may not load modules")
    for failure in failures:
        print(f"FAILED: {failure}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
