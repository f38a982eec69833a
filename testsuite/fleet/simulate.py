#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Measures djstap --hosts with up to 1,000 simulated hosts: what it costs the controller.

    simulate.py --djstap build/release/bin/djstap [--hosts 1 4 10 100 1000] [--elements 100] [--seconds 10] [--steps]

A simulated host is a shell on this machine that runs the commands which djstap sends to a host, with a program in place of djrun that
plays a recording of a script's snapshots, one a second. The recording is of a script with a counter, an array of --elements elements
and a statistic with a histogram, which runs in user space for it. Everything else is as with real hosts: the script is compiled, its
module is sent to each host, and the snapshots are merged every second.

The columns: from the command to the first line that is printed about all hosts, which contains what the simulated hosts themselves need
of this machine; the CPU time of djstap itself until then, and for each second afterwards; its largest memory. --steps prints how the time
to the first line is spent.
"""
import argparse
import os
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
GLOBALS = """
global calls # [counter]
global by
global sizes
probe never { println(calls, by[""]) print(@hist_log(sizes)) }
"""
RECORDED = GLOBALS + """
probe timer.ms(20) {
    for (i = 0; i < %d; i++) by[sprintf("program-%%d", i)]++
    calls++
    sizes <<< calls * 7919 %% 100000
}
"""
SCRIPT = GLOBALS + """
probe kernel.function("__x64_sys_getsid") { calls++ by[execname()]++ sizes <<< $regs->di }
probe timer.s(1) { printf("merged %d\\n", calls) }
"""
SHELL = """#!/bin/sh
export PATH={folder}/bin:$PATH DJSTAP_DJRUN={folder}/simulated_djrun DJSTAP_RECORDING={folder}/recording TMPDIR={folder}/hosts
exec sh -c "$2"
"""
UNAME = """#!/bin/sh
case $1 in
-r) echo {release} ;;
*) exec /bin/uname "$@" ;;
esac
"""
GLOBALS_FRAME, END_FRAME = 2, 5


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            return value, at


def pieces(stream):
    """The frames of a stream as simulated_djrun reads them: the description, the snapshots, the end."""
    at, first, shots, last = 0, None, [], None
    while at < len(stream):
        length, body = varint(stream, at)
        end = body + length
        kind = varint(stream, body)[0] >> 3
        # The field's tag, the message's length, and the first time behind its tag.
        times = varint(stream, varint(stream, body)[1])[1] + 1 - at
        piece = struct.pack("=II", end - at, times if kind == GLOBALS_FRAME else 0) + stream[at:end]
        if first is None:
            first = piece
        elif kind == GLOBALS_FRAME:
            if stream[at + times - 1] != 1 << 3 | 1:
                raise ValueError("a snapshot does not begin with its time")
            shots.append(piece)
        elif kind == END_FRAME:
            last = piece
        at = end
    return first + b"".join(shots) + last


def prepare(options, folder):
    """Writes what a simulated host consists of."""
    def program(name, text):
        path = os.path.join(folder, name)
        with open(path, "w") as file:
            file.write(text)
        os.chmod(path, 0o755)
        return path
    info = subprocess.run([options.djstap, "--info", "-r", options.kernel], capture_output=True, text=True, check=False).stdout
    release = re.search(r"Compiling for kernel (\S+)", info)[1]
    for name in "bin", "hosts":
        os.mkdir(os.path.join(folder, name))
    program("bin/uname", UNAME.format(release=release))
    program("bin/od", "#!/bin/sh\n")  # the build-id is this machine's own
    program("remote", SHELL.format(folder=folder))
    subprocess.run(["cc", "-O2", "-static", "-o", os.path.join(folder, "simulated_djrun"), os.path.join(HERE, "simulated_djrun.c")], check=True)
    recorded = subprocess.run([options.djstap, "--runtime=user", "--output=snapshots", "-T", "10", "-e", RECORDED % options.elements],
                              capture_output=True, check=True).stdout
    with open(os.path.join(folder, "recording"), "wb") as file:
        file.write(pieces(recorded))
    return program("script.stp", SCRIPT)


def status_of(process):
    """(CPU seconds, megabytes at most) of the process itself."""
    with open(f"/proc/{process.pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    with open(f"/proc/{process.pid}/status") as file:
        largest = re.search(r"VmHWM:\s+(\d+)", file.read())[1]
    return sum(int(each) for each in fields[11:13]) / os.sysconf("SC_CLK_TCK"), int(largest) / 1024


def measure(options, folder, script, hosts):
    command = [options.djstap, "-v", "--hosts", f"sim[1-{hosts}]", "--remote-shell", os.path.join(folder, "remote"), "--host-timeout", "3600", script]
    errors_path = os.path.join(folder, "errors")
    with open(errors_path, "w") as errors:
        began = time.monotonic()
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, text=True, cwd=folder)
        try:
            first = process.stdout.readline()
            seconds = time.monotonic() - began
            if not first:
                raise ValueError("djstap printed nothing")
            until_first, _ = status_of(process)
            end, at = time.monotonic() + options.seconds, time.monotonic()
            while time.monotonic() < end:
                if not process.stdout.readline():
                    raise ValueError("djstap has ended")
            whole, largest = status_of(process)
            each = (whole - until_first) / (time.monotonic() - at)
        except BaseException:
            process.kill()
            with open(errors_path) as said:
                print(said.read()[-3000:])
            raise
        process.send_signal(signal.SIGINT)
        process.stdout.read()
        process.wait()
    with open(errors_path) as said:
        text = said.read()
    if process.returncode:
        raise ValueError(text[-3000:])
    return seconds, until_first, each, largest, [line for line in text.splitlines() if line.startswith("hosts, ")]


def main():
    parser = argparse.ArgumentParser(description="Measures djstap --hosts with simulated hosts.")
    parser.add_argument("--djstap", required=True, type=os.path.abspath)
    parser.add_argument("--hosts", type=int, nargs="+", default=[1, 4, 10, 100, 1000])
    parser.add_argument("--elements", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--kernel", default="6.1")
    parser.add_argument("--steps", action="store_true")
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    folder = tempfile.mkdtemp(prefix="djstap-simulate-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
    try:
        script = prepare(options, folder)
        print(f"{'hosts':>6} {'first line':>11} {'CPU until then':>15} {'CPU a second':>13} {'memory':>8}")
        measure(options, folder, script, 1)  # fills the caches
        for hosts in options.hosts:
            seconds, until_first, each, largest, steps = measure(options, folder, script, hosts)
            print(f"{hosts:6} {seconds:9.1f} s {until_first * 1e3:12.0f} ms {each * 1e3:10.1f} ms {largest:5.0f} MB", flush=True)
            if options.steps:
                print("\n".join("       " + step for step in steps))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
