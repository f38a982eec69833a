# SPDX-License-Identifier: GPL-2.0-or-later
"""scripts/bench regions: where a jump may be planted, in programs and kernels; writes the tables of docs/regions.md.

Programs that are not installed are unpacked to the cache from Debian's packages; what is unavailable is left out.
"""
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

import packages
import plots

BEGIN, END = "<!-- written by scripts/bench regions -->\n", "<!-- end -->\n"
# The talk's table: kprobe %, with basic blocks %, overall gain %, average gain %.
PUBLISHED = {"firefox": (68.63, 86.22, 17.59, 3.35), "gcc": (72.66, 87.02, 14.37, 2.81),
             "guix": (74.39, 87.15, 12.75, 2.65), "kcachegrind": (76.07, 87.28, 11.21, 3.96),
             "lttng": (67.75, 85.64, 17.89, 4.73)}
# What the page calls it, the package (None: installed with the compiler), the file, the talk's name.
PROGRAMS = (("gcc, the driver", None, "/usr/bin/gcc", "gcc"),
            ("gcc, cc1", None, "/usr/lib/gcc/x86_64-linux-gnu/*/cc1", "gcc"),
            ("libxul (firefox-esr)", "firefox-esr", "usr/lib/firefox-esr/libxul.so", "firefox"),
            ("libguile (guile 3.0)", "guile-3.0-libs", "usr/lib/x86_64-linux-gnu/libguile-3.0.so.1", "guix"),
            ("kcachegrind", "kcachegrind", "usr/bin/kcachegrind", "kcachegrind"),
            ("lttng", "lttng-tools", "usr/bin/lttng", "lttng"),
            ("libc", None, "/lib/x86_64-linux-gnu/libc.so.6", None),
            ("libstdc++", None, "/usr/lib/x86_64-linux-gnu/libstdc++.so.6", None),
            ("gron (Go)", "gron", "usr/bin/gron", None),
            ("ripgrep (Rust)", "ripgrep", "usr/bin/rg", None),
            ("djstap", None, "{root}/build/release/bin/djstap", None))
# Those that run without more packages: uftrace patches a program that it runs.
RUNNING = ("gcc, cc1", "lttng", "ripgrep (Rust)", "djstap")
# It patches only functions that have a symbol.
STRIPPED = ("gcc, cc1", "lttng", "ripgrep (Rust)")


def add_arguments(parser):
    parser.add_argument("--kernels", nargs="+", default=["6.1", "6.12"])
    parser.add_argument("--installed", action="store_true", help="only what is installed: download no package")
    parser.add_argument("--output", help="default: docs/regions.md")


def found(package, pattern, options):
    """Returns the file's path, or "" if there is none."""
    if package and not os.path.exists("/" + pattern):
        folder = "" if options.installed else packages.unpacked(package)
        pattern = os.path.join(folder, pattern) if folder else ""
    elif package:
        pattern = "/" + pattern
    paths = sorted(glob.glob(pattern)) if pattern else []
    return paths[-1] if paths else ""


# A process of its own, since the kernel counts the memory of the process that forks, too.
MEASURE = """import resource, subprocess, sys
with open(sys.argv[1], "wb") as output:
    status = subprocess.run(sys.argv[2:], stdout=output).returncode
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(status, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
"""


def analyzed(djstap, words, model):
    """Returns (totals, seconds of CPU time, megabytes). `ftrace` of the totals: % of instructions that only ftrace patches."""
    with tempfile.NamedTemporaryFile() as output:
        command = [djstap, "regions", "--json", f"--model={model}", *words]
        done = subprocess.run([sys.executable, "-c", MEASURE, output.name, *command], stdout=subprocess.PIPE, text=True,
                              check=True)
        status, seconds, memory = done.stdout.split()
        if status != "0":
            raise SystemExit(f"bench: {' '.join(command)} failed")
        answer = json.load(output)
    totals = answer["totals"]
    sites = sum(each["reasons"].get("ftrace", 0) for each in answer["functions"]
                if each["I"] > 1 and each["reasons"].get("no-probes", 0) < each["I"])
    return dict(totals, ftrace=100 * sites / max(totals["instructions"], 1)), float(seconds), float(memory)


def plot(figures):
    """Returns a chart of (file, [K, B by each model])."""
    return plots.bars("Instructions at which a jump may be planted", ["K", "B, relocate", "B, short"], figures, "percent", 100)


def row(cells):
    return "| " + " | ".join(cells) + " |\n"


def uftrace(path, options):
    """Returns (functions that it knows, percent that it patches); None: it is not available, or patches none."""
    if options.installed:
        return None
    folders = [packages.unpacked(package) for package in ("uftrace", "libcapstone4")]
    if not all(folders):
        return None
    libraries = [os.path.join(folder, "usr/lib/x86_64-linux-gnu") for folder in folders]
    mcount = os.path.join(libraries[0], "uftrace")
    with tempfile.TemporaryDirectory() as work:
        done = subprocess.run(
            [os.path.join(folders[0], "usr/bin/uftrace"), "record", "--no-libcall", "-v", "-L", mcount, "-P.", "-d",
             os.path.join(work, "data"), path, "--version"], cwd=work, text=True, errors="replace",
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env=dict(os.environ, LD_LIBRARY_PATH=":".join([*libraries, mcount])))
    name = re.escape(os.path.basename(os.path.realpath(path)))
    stats = re.search(rf"patch stats for '{name}'.*?patched: *(\d+) \( *([\d.]+)%\)", done.stdout, re.DOTALL)
    if not stats or float(stats[2]) == 0:
        return None
    return round(100 * int(stats[1]) / float(stats[2])), float(stats[2])


def lines_row(djstap, name, words):
    """Returns a row of the table of line programs; "" if the file has none."""
    done = subprocess.run([djstap, "regions", "--json", "--lines", *words], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, check=False)
    if done.returncode:
        return ""
    found = json.loads(done.stdout)
    kinds = [found[kind] for kind in ("every_row", "is_stmt", "basic_block")]
    cells = [f"{kind['planted_percent']:.2f}, {kind['unsafe_percent']:.2f}, {kind['missed_percent']:.2f}" for kind in kinds]
    more = 100 * (found["bytes_with_blocks"] / found["bytes"] - 1)
    return row([name, f"{found['B_percent']:.2f}", *cells, f"{kinds[2]['rows']:,}", f"{found['bytes']:,}",
                f"{found['bytes_with_blocks']:,} (+{more:.2f} %)"])


def report(djstap, options, root):
    subjects = []
    for name, package, pattern, published in PROGRAMS:
        path = found(package, pattern.format(root=root), options)
        if path:
            subjects.append((name, [path], published))
        else:
            print(f"  {name}: not available", flush=True)
    subjects += [(f"vmlinux {kernel}", ["-r", kernel], None) for kernel in options.kernels]
    table = row(["file", "functions", "entries %", "instructions", "K %", "B %", "overall gain %", "average gain %", "the talk: K, B, gains"])
    table += row(["---"] * 9)
    entries = row(["file", "functions", "can be patched at the entry", "functions that uftrace knows", "it patches"]) + row(["---"] * 5)
    lines = row(["file", "B %", "believing every row", "is_stmt rows", "basic_block rows", "of these there are",
                 ".debug_line, bytes", "with a row for each leader"]) + row(["---"] * 8)
    copied = row(["file", "K %", "B %", "overall gain %", "average gain %"]) + row(["---"] * 5)
    short = row(["file", "B %", "with ftrace's sites", "overall gain %", "average gain %"]) + row(["---"] * 5)
    costs = row(["file", "CPU time, s", "memory, MB"]) + row(["---"] * 3)
    figures = []
    for name, words, published in subjects:
        print(f"  {name} …", flush=True)
        totals, seconds, memory = analyzed(djstap, words, "relocate")
        shares = [totals["K_percent"], totals["B_percent"]]
        cells = [f"{totals[key]:.2f}" for key in ("K_percent", "B_percent", "overall_gain_percent", "average_gain_percent")]
        talk = ", ".join(f"{value:.2f}" for value in PUBLISHED[published]) if published else ""
        share = f"{100 * totals['entries'] / totals['functions']:.2f}"
        table += row([name, f"{totals['functions']:,}", share, f"{totals['instructions']:,}", *cells, talk])
        known = uftrace(words[0], options) if name in RUNNING else None
        if known:
            entries += row([name, f"{totals['functions']:,}", f"{share} %",
                            f"{known[0]:,}" + (" (with a symbol)" if name in STRIPPED else ""), f"{known[1]:.2f} %"])
        lines += lines_row(djstap, name, words)
        costs += row([name, f"{seconds:.1f}", f"{memory:.0f}"])
        totals, _, _ = analyzed(djstap, words, "short")
        figures.append((name, [*shares, totals["B_percent"]]))
        short += row([name, f"{totals['B_percent']:.2f}", f"{totals['B_percent'] + totals['ftrace']:.2f}" if totals["ftrace"] else "",
                      f"{totals['overall_gain_percent']:.2f}", f"{totals['average_gain_percent']:.2f}"])
        totals, _, _ = analyzed(djstap, words, "kernel")
        copied += row([name] + [f"{totals[key]:.2f}" for key in
                                ("K_percent", "B_percent", "overall_gain_percent", "average_gain_percent")])
    return plot(figures), ("![The shares of the instructions](regions.svg)\n\n"
            f"### What can be encoded again (`--model=relocate`)\n\n{table}\n"
            f"### Also by a short jump (`--model=short`)\n\n{short}\n"
            f"### What the kernel copies (`--model=kernel`)\n\n{copied}\n"
            f"### Functions that can be patched at the entry\n\n{entries}\n"
            "### The line program\n\nOf each kind of rows: jumps %, unsafe %, missed %.\n\n"
            f"{lines}\n"
            f"### Time and memory\n\nOf one run with its output as JSON, of all threads.\n\n{costs}")


def run(options, root):
    djstap = os.path.join(root, "build", "release", "bin", "djstap")
    path = options.output or os.path.join(root, "docs", "regions.md")
    chart, text = report(djstap, options, root)
    with open(path, encoding="utf-8") as file:
        page = file.read()
    page, count = re.subn(re.escape(BEGIN) + ".*?" + re.escape(END), lambda _: BEGIN + "\n" + text + "\n" + END, page, flags=re.DOTALL)
    if count != 1:
        raise SystemExit(f"bench: {path} has no place for the tables")
    with open(path, "w", encoding="utf-8") as file:
        file.write(page)
    with open(os.path.join(os.path.dirname(os.path.abspath(path)), "regions.svg"), "w", encoding="utf-8") as file:
        file.write(chart)
    print(f"wrote {path} and its plot")
