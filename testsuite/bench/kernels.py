# SPDX-License-Identifier: GPL-2.0-or-later
"""Shared by the commands of scripts/bench: the djstap that is measured, and the kernels it is measured on."""
import os
import re
import subprocess
import sys

import guest
import page

PROGRAMS = ("djstap", "djrun", "gtodbench")


def add_arguments(parser):
    parser.add_argument("--kernels", nargs="+", default=["6.1", "6.12"], metavar="RELEASE",
                        help="kernels, or their beginnings; docs/benchmarks.md is written when both 6.1 and 6.12 ran")
    parser.add_argument("--djstap", metavar="PATH", help="use this djstap, with djrun and gtodbench beside it; "
                        "without this option build/release is built first")


def first_line(command):
    done = subprocess.run(command, capture_output=True, text=True)
    return (done.stdout or done.stderr).split("\n")[0].strip()


def djstap_of(options):
    """Returns the djstap to measure; builds the release version if none is named."""
    if options.djstap:
        djstap = os.path.abspath(options.djstap)
    else:
        common = os.path.join(page.ROOT, "scripts", "common.sh")
        subprocess.run(["sh", "-c", '. "$0"; build_preset release', common], check=True)
        djstap = os.path.join(page.ROOT, "build", "release", "bin", "djstap")
    for program in PROGRAMS:
        if not os.access(os.path.join(os.path.dirname(djstap), program), os.X_OK):
            sys.exit(f"bench: there is no {program} beside {djstap}")
    return djstap


def release_of(djstap, beginning):
    text = subprocess.run([djstap, "--info", "-r", beginning], capture_output=True, text=True).stdout
    match = re.search(r"Compiling for kernel (\S+)", text)
    if not match:
        sys.exit(f"bench: there is no kernel {beginning}: scripts/kernels fetches 6.1 and 6.12")
    return match[1]


def releases_of(djstap, options):
    return [release_of(djstap, kernel) for kernel in options.kernels]


def series_of(release):
    """Returns "6.1" for "6.1.0-56-cloud-amd64"."""
    return re.match(r"\d+\.\d+", release)[0]


def both_ran(releases):
    """Returns whether the page may be written."""
    return [series_of(release) for release in releases] == ["6.1", "6.12"]


def measured_with(djstap, releases):
    """Returns "djstap 0.1.0, Linux …, QEMU …"."""
    names = " and ".join(f"Linux {release}" for release in releases)
    return (f"djstap {first_line([djstap, '--version']).split()[-1]}, {names}, "
            f"{first_line(['qemu-system-x86_64', '--version']).split(' (')[0]}")


def measured(options, name, measure_kernel, section):
    """Runs measure_kernel(release, djstap) on each kernel, and writes the section that section([(release, its result)])
    returns."""
    djstap = djstap_of(options)
    releases = releases_of(djstap, options)
    try:
        everything = [(release, measure_kernel(release, djstap)) for release in releases]
    except (guest.Failed, guest.GuestLost) as problem:
        sys.exit(f"bench: {problem}")
    if both_ran(releases):
        page.put(name, section(everything))
    return 0
