# SPDX-License-Identifier: GPL-2.0-or-later
"""scripts/bench programs: what probes inside a program cost (--runtime=process), beside other tracers; writes docs/benchmarks-programs.md.

No root, and no guest but for uprobes. The other tracers are Debian's packages, unpacked to the cache; what is unavailable is left out.
"""
import glob
import os
import re
import shutil
import subprocess
import tempfile

import packages
import page
import uprobes

HEAD = """# What probes inside a program cost

Written by `scripts/bench programs`, on the machine itself: `--runtime=process` needs neither root nor a guest
([processes.md](processes.md#without-root-jumps-in-the-process-itself)).

"""
REPETITIONS = 40
SCRIPTS = (("djstap, `n++`", 'global n probe process.function("four") { n++ }', 15, 3),
           ("djstap, a record of the four arguments", 'probe process.function("four") { printf("%d %d %d %d\\n", $a, $b, $c, $d) }', None, 25))
FUNCTIONS = 'global n probe process.function("*").call { n++ } probe end { println(n) }'
LIBRARIES = {"uftrace": ["uftrace", "libcapstone4"], "ltrace": ["ltrace"], "lttng": ["liblttng-ust1", "liblttng-ust-common1"]}


def add_arguments(parser):
    parser.add_argument("--installed", action="store_true", help="without other tracers: download no package")
    parser.add_argument("--kernels", nargs="*", default=["6.1", "6.12"], metavar="RELEASE", help="of the guests with uprobes; none: no guest")
    parser.add_argument("--output", help="default: docs/benchmarks-programs.md")


def unpacked(tracer, options):
    """Returns (the folder of the tracer's package, an environment with its libraries); None: it is not available."""
    folders = [] if options.installed else [packages.unpacked(package) for package in LIBRARIES[tracer]]
    if not folders or not all(folders):
        return None
    paths = [path for folder in folders for path in glob.glob(os.path.join(folder, "usr/lib/x86_64-linux-gnu"))]
    return folders[0], dict(os.environ, LD_LIBRARY_PATH=":".join(paths + glob.glob(os.path.join(folders[0], "usr/lib/*/uftrace"))))


def compiled(root, folder, *more):
    path = os.path.join(folder, "program" + "".join(more).replace("-", "_"))
    subprocess.run(["c++", "-pthread", "-g", "-O2", "-rdynamic", *more, os.path.join(root, "testsuite/injection/program.cpp"), "-o", path],
                   check=True)
    return path


def output(command, **more):
    return subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, timeout=1200, **more).stdout


def number(text):
    """Returns the number that the program has printed on a line of its own; None: none."""
    lines = [line for line in text.splitlines() if line.isdigit()]
    return int(lines[0]) if lines else None


class Hits:
    """Calls of four() with each tracer: nanoseconds of one, and instructions."""

    def __init__(self, root, djstap, folder, options):
        self.djstap, self.folder, self.options = djstap, folder, options
        self.program = compiled(root, folder)
        self.instrumented = compiled(root, folder, "-finstrument-functions")

    def both(self, run):
        """run: a function of the program's arguments that returns what was printed."""
        nanoseconds = number(run(["nanoseconds", str(REPETITIONS)]))
        return (nanoseconds / 100 if nanoseconds else None), number(run(["steps"]))

    def alone(self):
        return self.both(lambda words: output([self.program, *words]))

    def scripted(self, script):
        return self.both(lambda words: output([self.djstap, "--runtime=process", "-o", "/dev/null", "-c", " ".join([self.program, *words]),
                                               "-e", script]))

    def uftrace(self):
        found = unpacked("uftrace", self.options)
        if not found:
            return None
        package, environment = found
        tool = os.path.join(package, "usr/bin/uftrace")
        libraries = glob.glob(os.path.join(package, "usr/lib/*/uftrace"))[0]
        return self.both(lambda words: output([tool, "record", "--no-libcall", "-L", libraries, "-P", "^four$", "-d",
                                               os.path.join(self.folder, "uftrace"), self.program, *words], env=environment))

    def ltrace(self):
        found = unpacked("ltrace", self.options)
        if not found:
            return None
        tool = os.path.join(found[0], "usr/bin/ltrace")
        # It traces the program itself, so the program's instructions cannot be counted.
        nanoseconds = number(output([tool, "-o", "/dev/null", "-x", "four", "-L", self.program, "nanoseconds", "2"], env=found[1]))
        return (nanoseconds / 100, None) if nanoseconds else None

    def lttng(self):
        found = unpacked("lttng", self.options)
        if not found or not shutil.which("lttng-sessiond"):
            return None
        home = os.path.join(self.folder, "lttng")
        os.makedirs(home)
        preload = glob.glob(os.path.join(found[0], "usr/lib/*/liblttng-ust-cyg-profile-fast.so*"))[0]
        environment = dict(found[1], LTTNG_HOME=home, LTTNG_UST_REGISTER_TIMEOUT="10000")
        daemon = subprocess.Popen(["lttng-sessiond", "--no-kernel", "--quiet"], env=dict(os.environ, LTTNG_HOME=home),
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            for words in (["create", "bench"], ["enable-channel", "-u", "--subbuf-size", "4M", "c"], ["enable-event", "-u", "-a", "-c", "c"],
                          ["start"]):
                for _ in range(100):  # the daemon begins
                    if subprocess.run(["lttng", "--no-sessiond", *words], env=environment, capture_output=True, check=False).returncode == 0:
                        break
            # A child of a traced program does not get along with its library, so the instructions cannot be counted.
            command = [self.instrumented, "nanoseconds", str(REPETITIONS)]
            plain, traced = number(output(command)), number(output(command, env=dict(environment, LD_PRELOAD=preload)))
            subprocess.run(["lttng", "destroy", "-a"], env=environment, capture_output=True, check=False)
        finally:
            daemon.terminate()
            daemon.wait()
        return ((traced - plain) / 100, None) if plain and traced else None


def hits_section(hits):
    base = hits.alone()
    rows = []

    def row(name, found, limits=(None, None), is_added=False):
        if not found or found[0] is None:
            rows.append([name, "not available", "", ""])
            return
        added = [None if value is None else value - (0 if is_added else before) for value, before in zip(found, base)]
        aims = [(value, limit, unit) for value, limit, unit in ((added[1], limits[0], "instructions"), (added[0], limits[1], "ns")) if limit]
        aim = ", ".join(page.aim(f"≤ {limit} {unit}", value is not None and value <= limit) for value, limit, unit in aims)
        rows.append([name, f"{added[0]:,.1f}", "" if added[1] is None else str(added[1]), aim])
    for name, script, *limits in SCRIPTS:
        row(name, hits.scripted(script), limits)
    row("uftrace -P, entry and return", hits.uftrace())
    row("LTTng-UST, -finstrument-functions, entry and return", hits.lttng(), is_added=True)
    row("ltrace -x", hits.ltrace())
    return (f"## A hit\n\nWhat is added to a call of a function with four parameters, which takes {base[0]:.1f} ns and {base[1]} instructions "
            "without probes: the least of many\nmeasurements of the thread's CPU time in one run, and instructions by single steps, where the tracer "
            "allows them. What a hit costs in\nother processes (ltrace) is not in the CPU time of the thread.\n\n" +
            page.table(["tracer", "ns", "instructions", "aim"], rows))


def uprobes_section(hits, djstap, folder, beginnings):
    rows, series = uprobes.rows(djstap, hits.program, folder, beginnings)
    return ("## A hit of a uprobe\n\nThe same calls with uprobes, which need root and the kernel, in a guest: the instructions that are added to a call, "
            "the kernel's\nincluded. What an exception costs the processor beside its instructions is not in them.\n\n" +
            page.table(["tracer", "instructions on " + " / ".join(series)], rows))


def source(folder, root):
    """Returns a preprocessed C file of djstap's own runtime."""
    path = os.path.join(folder, "source.i")
    runtime = os.path.join(root, "runtime")
    subprocess.run(["gcc", "-E", "-O2", "-I" + runtime, "-include", os.path.join(runtime, "userspace/kernel.h"),
                    os.path.join(runtime, "map/map.c"), "-o", path], check=True)
    return path


def compile_job(djstap, root, folder, script=FUNCTIONS):
    """Compiles a file by cc1 without and with probes. Returns (whether the outputs are equal, functions patched, all, the text of -v's line)."""
    compiler = subprocess.run(["gcc", "-print-prog-name=cc1"], capture_output=True, text=True, check=True).stdout.strip()
    preprocessed = source(folder, root)
    plain, probed = (os.path.join(folder, name) for name in ("plain.s", "probed.s"))
    command = [compiler, "-quiet", "-fpreprocessed", preprocessed, "-O2", "-o"]
    subprocess.run([*command, plain], check=True)
    done = subprocess.run([djstap, "--runtime=process", "-v", "-w", "-D", "MAXKPROBES=100000", "-D", "MAXMAPENTRIES=32768", "-c", " ".join([*command, probed]), "-e", script],
                          capture_output=True, text=True, check=False)
    line = re.search(r"^patch: (\d+) of (\d+) functions, (.*)$", done.stderr, re.MULTILINE)
    if done.returncode or not line:
        raise SystemExit(f"bench: status {done.returncode}: {done.stderr[-2000:]}")
    with open(plain, "rb") as one, open(probed, "rb") as other:
        return one.read() == other.read(), int(line[1]), int(line[2]), line[3], int(done.stdout.split()[0])


def compiler_section(djstap, root, folder):
    equal, patched, functions, took, hits = compile_job(djstap, root, folder)
    user, system = (int(word) for word in re.search(r"\((\d+) user, (\d+) system\)", took).groups())
    percent = 100 * patched / functions
    rows = [["functions patched", f"{patched:,} of {functions:,}: {percent:.1f} %", page.aim("≥ 92 %", percent >= 92)],
            ["analysis and patching, CPU time", f"{(user + system) / 1000:.1f} s", page.aim("≤ 2 s", user + system <= 2000)],
            ["hits of the job", f"{hits:,}", ""],
            ["the compiler's output", "the same as without probes" if equal else "another one", "" if equal else page.MISSED]]
    return ("## All functions of a compiler\n\n`n++` at all functions of Debian's `cc1`, which compiles a file of djstap's runtime (`map/map.c`) with `-O2`.\n\n" +
            page.table(["what", "", "aim"], rows))


def run(options, root):
    djstap = os.path.join(root, "build", "release", "bin", "djstap")
    with tempfile.TemporaryDirectory() as folder:
        hits = Hits(root, djstap, folder, options)
        sections = [hits_section(hits), *([uprobes_section(hits, djstap, folder, options.kernels)] if options.kernels else []),
                    compiler_section(djstap, root, folder)]
    text = HEAD + "\n".join(sections)
    with open(options.output or os.path.join(root, "docs", "benchmarks-programs.md"), "w", encoding="utf-8") as file:
        file.write(text)
    print(text[len(HEAD):])
    return page.is_missed(text)
