#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Judges the values of $$parms by kprobes of a module of its own and by llvm-dwarfdump's location lists.

    values.py --djstap PROGRAM --kernel 6.1 [--functions 1000] [--inlined 300] [--seed N]

A guest runs workload.py and counts which functions it calls (with ftrace, and with kprobes where ftrace has no call).
From these, functions and inline instances are drawn at random. Guests then run the workload again, in batches: a script
of djstap prints $$parms at each hit, and the module in witness/ saves all registers at kprobes of its own at the same
places, with the memory that the locations name. The hits are paired by place, task and sequence. What each parameter
must have been follows from the saved registers: at the entry of a function that is no optimizer's clone by the System V
calling convention, else by llvm-dwarfdump's location at that address. Not one value may differ.

Hits in interrupts could be seen in another order by the two; the places where they occur are not drawn.
"""
import argparse
import base64
import collections
import gzip
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

import dwarf_store
import listing
import locations
from dwarf_store import signed64, unsigned64
from kernel_image import KERNELS, KernelImage, release_of, vmlinux_of

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
MOST_HITS = 300      # of a place in the recorded run
SPARE = 1.35         # more are drawn than are wanted: the workload does not come to each place each time
MOST_REQUESTS = 6    # READS of the witness
MOST_INSTANCES = 40  # of an inlined function: its probe point has all of them
# Called by the witness itself, while it reads memory.
BY_THE_WITNESS = re.compile(r"copy_from_kernel_nofault|.*ftrace.*|.*kprobe.*|.*trampoline.*")

# gcc's location at the entry of a function that assigns to a parameter in its first statement (copy_strings(): argc--).
# That of a clone cannot be told from a value that the caller of the original passed.
AFTER_THE_FIRST_STATEMENT = re.compile(r"DW_OP_breg\d+ [A-Z0-9]+[+-][1-9]\d*, DW_OP_stack_value")

Parameter = collections.namedtuple("Parameter", "name kind size is_signed location")


class Site:
    """A place to probe: a function's entry, or an inline instance."""

    def __init__(self, address, point, name, parameters, rule, inlined, is_clone, note=""):
        self.address, self.point, self.name = address, point, name
        self.parameters, self.rule, self.inlined, self.is_clone = parameters, rule, inlined, is_clone
        self.note = note
        self.aliases = {address}
        self.requests = []
        for each in parameters:
            try:
                place = self.place(each, lambda register: 0)
                if place.memory and place.memory not in self.requests and each.kind != "aggregate" \
                        and len(self.requests) < MOST_REQUESTS:
                    self.requests.append(place.memory)
            except locations.Unavailable:
                pass

    def place(self, parameter, registers):
        if parameter.location is None:
            raise locations.Unavailable("optimized away")
        if self.is_clone and AFTER_THE_FIRST_STATEMENT.fullmatch(parameter.location):
            raise locations.Unavailable("computed at a clone's entry, perhaps after its first statement")
        return locations.evaluate(parameter.location, registers, self.rule, not self.inlined)

    def expected(self, parameter, words, memory):
        """The value of a parameter, extended to 64 bits as its type says."""
        place = self.place(parameter, lambda register: words[locations.WORDS[register]])
        if parameter.kind in ("float", "unknown", "void"):
            raise locations.Unavailable("of type " + parameter.kind)
        if parameter.kind == "aggregate":
            if not place.memory:
                raise locations.Unavailable("a structure in registers")
            word, offset = place.memory
            return ((words[word] if word >= 0 else 0) + offset) & locations.MASK
        if place.memory:
            if place.memory not in self.requests:
                raise locations.Unavailable("in memory that the witness did not save")
            value = memory[self.requests.index(place.memory)]
            if value is None:
                raise locations.Unavailable("in memory that cannot be read")
        else:
            value = place.value
        bits = min(parameter.size or 8, 8) * 8
        value &= (1 << bits) - 1
        return locations.signed(value, bits) & locations.MASK if parameter.is_signed else value


class Kernel:
    def __init__(self, series, store):
        self.series, self.release = series, release_of(series)
        vmlinux = vmlinux_of(self.release)
        self.database = dwarf_store.open_store(vmlinux, store)
        self.image = KernelImage(vmlinux)
        self.witness = self._build_witness(store)

    def _build_witness(self, store):
        folder = os.path.join(store, "witness-" + self.release)
        os.makedirs(folder, exist_ok=True)
        for name in os.listdir(os.path.join(HERE, "witness")):
            source, copy = os.path.join(HERE, "witness", name), os.path.join(folder, name)
            if not os.path.exists(copy) or os.path.getmtime(copy) != os.path.getmtime(source):
                shutil.copy2(source, copy)
        build = os.path.realpath("%s/%s/lib/modules/%s/build" % (KERNELS, self.release, self.release))
        made = subprocess.run(["make", "-s", "-C", build, "M=" + folder, "modules"], capture_output=True, text=True)
        if made.returncode:
            sys.exit("the witness does not compile:\n" + made.stderr)
        return os.path.join(folder, "witness.ko")

    def rule_at(self, address):
        row = self.database.execute("select end, rule from frame where begin <= ? order by begin desc limit 1",
                                    (signed64(address),)).fetchone()
        return row[1] if row and signed64(address) < row[0] else None

    def parameters(self, owner, address):
        return [Parameter(*row) for row in self.database.execute(
            "select name, kind, size, is_signed, location from parameter where owner=? and address=? order by number",
            (owner, signed64(address)))]

    def functions(self):
        """{entry: [(entry in DWARF, name, file, line)]} of those with code in C that can be probed."""
        found = collections.defaultdict(list)
        for die, name, file, line, begin in self.database.execute(
                "select die, name, file, line, begin from function, range on function = die"
                " where begin < end and language not like '%Assembler%' order by die, number"):
            begin = unsigned64(begin)
            if any(symbol.endswith(".cold") for symbol in self.image.symbols.get(begin, [])):
                continue
            if begin in self.image.symbols and self.image.in_section(".text", begin):
                found[begin].append((die, name, file, line))
        return found

    def function_site(self, entry, die, name, file, line):
        parameters = self.parameters(die, entry)
        is_clone = name not in self.image.symbols[entry]
        if not is_clone:
            # Where DWARF differs, it tells of the value that the first statement assigns to the parameter.
            result = self.database.execute("select kind, size from result where function=?", (die,)).fetchone()
            convention = locations.by_convention([(each.kind, each.size) for each in parameters], result)
            parameters = [each._replace(location=location or each.location)
                          for each, location in zip(parameters, convention)]
        site = Site(entry, 'kernel.function("%s@%s:%d").call' % (name, file, line), name, parameters, "RSP+8", False,
                    is_clone)
        fentry = self.image.has_fentry(entry)
        site.aliases.add(fentry or entry)
        site.probed = fentry or entry
        return site


class GuestLost(Exception):
    """A guest that did not return what the witness saw."""


def run_guest(kernel, options, script, lines, then, memory="1G", extra=()):
    """Runs a script in a guest with the witness, which gets these commands. Returns djstap's output and the witness's data."""
    with tempfile.TemporaryDirectory(prefix="judge-") as folder:
        with open(os.path.join(folder, "sites"), "w") as file:
            file.write("".join(line + "\n" for line in lines))
        with open(os.path.join(folder, "run.sh"), "w") as file:
            file.write("""insmod %(witness)s || exit 9
control=/sys/kernel/debug/witness/control
echo 0 >/proc/sys/debug/kprobes-optimization
while read line; do echo "$line" >$control || echo "refused: $line" >&2; done <%(folder)s/sites
sh -c 'echo "%(then)s $$" >/sys/kernel/debug/witness/control'
timeout 300 taskset -c 0 /usr/bin/python3 -S -E %(here)s/workload.py >/dev/null
ls -lR /etc /proc/1 >/dev/null 2>&1
find /sys/kernel /sys/bus -name 'a*' >/dev/null 2>&1
tar cf - /etc 2>/dev/null | gzip >/tmp/archive
dd if=/tmp/archive of=/tmp/copy bs=3000 conv=fsync 2>/dev/null
ps >/dev/null
sleep 0.5
echo stop >$control
cat /sys/kernel/debug/witness/data >%(folder)s/data.out
gzip -c %(folder)s/data.out | base64 -w 0 >&2
""" % {"witness": kernel.witness, "folder": folder, "then": then, "here": HERE})
        command = [options.djstap, "--guest=" + kernel.series, "--guest-memory=" + memory, "-s", "32", "-w",
                   "-c", "sh %s/run.sh" % folder, *extra, "-o", os.path.join(folder, "out"), "-e", script]
        try:
            ran = subprocess.run(command, capture_output=True, text=True, timeout=1200, errors="replace")
        except subprocess.TimeoutExpired:
            raise GuestLost("the guest did not end in 20 minutes") from None
        output = ""
        if os.path.exists(os.path.join(folder, "out")):
            with open(os.path.join(folder, "out"), errors="replace") as file:
                output = file.read()
    data, rest = [], []
    for line in ran.stderr.splitlines():
        if line.startswith("H4sI"):
            data = gzip.decompress(base64.b64decode(line)).decode().splitlines()
        else:
            rest.append(line)
    if not data:
        raise GuestLost("the guest returned no data (%d):\n%s\n%s" % (ran.returncode, "\n".join(rest)[-3000:], ran.stdout[-500:]))
    return output, data, rest


NOTHING = 'probe begin { println("begun") }'


def recorded_functions(kernel, options):
    """{entry: calls} of the functions that the workload calls a few times, and never in an interrupt."""
    _, data, _ = run_guest(kernel, options, NOTHING, [], "functions")
    calls = {}
    for line in data:
        words = line.split()
        if words[0] == "function":
            address, tasks, interrupts = int(words[1], 16), int(words[2]), int(words[3])
            entry = address if address in kernel.image.symbols else address - 4
            calls[entry] = (tasks, interrupts)
    return calls


def recorded_hits(kernel, options, addresses, batch=1200):
    """{address: hits} of places that the workload comes to, and never in an interrupt."""
    hits = {}
    for first in range(0, len(addresses), batch):
        _, data, _ = run_guest(kernel, options, NOTHING, ["site %x" % each for each in addresses[first:first + batch]],
                               "hits")
        for line in data:
            words = line.split()
            if words[0] == "site" and int(words[3]) == 0 and int(words[4]) > 0 and int(words[5]) == 0 and int(words[4]) <= MOST_HITS:
                hits[int(words[2], 16)] = int(words[4])
    return hits


def drawn_functions(kernel, calls, listed, options, random_):
    functions = kernel.functions()
    plain = sorted(entry for entry, (tasks, interrupts) in calls.items()
                   if 0 < tasks <= MOST_HITS and not interrupts and entry in functions)
    # What ftrace has no call in: functions that are declared inline, mostly.
    without = sorted(entry for entry in functions if kernel.image.has_fentry(entry) is None
                     and not kernel.image.kprobe_forbidden(entry))
    random_.shuffle(without)
    without = sorted(recorded_hits(kernel, options, without[:options.candidates])) if options.functions > 20 else []
    usable = []
    for entry in plain + without:
        if len(functions[entry]) != 1:
            continue
        die, name, file, line = functions[entry][0]
        if (name, file, line, False) not in listed or BY_THE_WITNESS.fullmatch(name):
            continue
        usable.append(kernel.function_site(entry, *functions[entry][0]))
    local = kernel.image.local
    chosen = []

    def draw(condition, count):
        pool = [each for each in usable if each not in chosen and condition(each)]
        chosen.extend(random_.sample(pool, min(count, len(pool))))

    wanted = round(options.functions * SPARE)
    share = wanted / 1000
    draw(lambda site: len(site.parameters) > 3, round(150 * share))
    draw(lambda site: site.address in local, round(300 * share))
    draw(lambda site: kernel.image.has_fentry(site.address) is None, round(60 * share))
    draw(lambda site: site.is_clone, round(60 * share))
    draw(lambda site: True, wanted - len(chosen))
    print("drawn from %d functions that the workload calls" % len(usable), flush=True)
    return chosen


def drawn_instances(kernel, calls, listed, options, random_):
    functions = {die: entry for entry, each in kernel.functions().items() for die, *_ in each}
    instances, number = {}, collections.Counter()
    for die, name, file, line, function, entry in kernel.database.execute(
            "select die, name, file, line, function, entry from instance where entry is not null order by die"):
        entry = unsigned64(entry)
        number[name, file, line] += 1
        tasks, interrupts = calls.get(functions.get(function), (0, 0))
        if 0 < tasks <= MOST_HITS and not interrupts and not kernel.image.kprobe_forbidden(entry) \
                and kernel.image.in_section(".text", entry) and kernel.parameters(die, entry):
            instances.setdefault((entry, name, file, line), []).append(die)
    places = sorted({key[0] for key in instances})
    random_.shuffle(places)
    hits = recorded_hits(kernel, options, places[:options.candidates])
    usable = []
    for (entry, name, file, line), dies in sorted(instances.items()):
        # Two instances of a function at one address have one probe point, but may have two sets of values.
        if entry not in hits or len(dies) != 1 or (name, file, line, True) not in listed:
            continue
        if number[name, file, line] <= MOST_INSTANCES:
            usable.append((entry, 'kernel.function("%s@%s:%d").inline' % (name, file, line), name, dies[0]))
    chosen, seen = [], set()
    random_.shuffle(usable)
    for entry, point, name, die in usable:
        if entry in seen or len(chosen) == round(options.inlined * SPARE):
            continue
        seen.add(entry)
        site = Site(entry, point, name, kernel.parameters(die, entry), kernel.rule_at(entry), True, False)
        site.probed = entry
        chosen.append(site)
    print("drawn from %d inline instances that the workload comes to" % len(usable), flush=True)
    return chosen


STRUCTURE = "{...}"
PARAMETER = re.compile(r"(\w*)=(\?|0x[0-9a-f]+|0|\{\.\.\.\})(?: |$)")


class Verdict:
    def __init__(self):
        self.equal = self.hits = 0
        self.sites = set()
        self.wrong, self.refused, self.unpaired = [], collections.Counter(), []
        self.not_judged = collections.Counter()
        self.neither = 0

    def compare(self, site, text, words, memory):
        shown = dict(PARAMETER.findall(text))
        names = {each.name for each in site.parameters if each.name}
        if names != set(shown) - {""}:
            self.wrong.append((site, "parameters %s instead of %s" % (sorted(shown), sorted(names)), ""))
            return
        self.hits += 1
        self.sites.add(site)
        for parameter in site.parameters:
            if not parameter.name:
                continue
            value = shown[parameter.name]
            if (value == STRUCTURE) != (parameter.kind == "aggregate") and value != "?":
                self.wrong.append((site, "%s=%s is of kind %s" % (parameter.name, value, parameter.kind), ""))
                continue
            if value == STRUCTURE:
                self.not_judged["a structure, whose members $$parms does not show"] += 1
                continue
            try:
                expected = site.expected(parameter, words, memory)
            except locations.Unavailable as why:
                if value == "?":
                    self.neither += 1
                else:
                    self.not_judged["%s" % why] += 1
                    if "optimized away" in str(why):
                        self.wrong.append((site, "%s=%s although it has no location" % (parameter.name, value), ""))
                continue
            if value == "?":
                self.refused[(site.point, parameter.name, parameter.location)] += 1
            elif int(value, 0) == expected:
                self.equal += 1
            else:
                self.wrong.append((site, "%s=%s instead of 0x%x" % (parameter.name, value, expected), parameter.location))


def judge(kernel, options, sites, verdict):
    """One guest: the sites' hits by djstap and by the witness."""
    points = list(dict.fromkeys(site.point for site in sites))
    script = "probe %s {\n if (tid() > target()) printf(\"%%x %%d %%s\\n\", addr(), tid(), $$parms) }" % (
        ",\n ".join(point + "?" for point in points))
    lines = ["site %x%s" % (site.probed, "".join(" %d:%d" % request for request in site.requests)) for site in sites]
    output, data, messages = run_guest(kernel, options, script, lines, "record", extra=("-D", "MAXSTRINGLEN=1024", "-D", "MAXKPROBES=5000"))
    trouble = [line for line in messages if re.search("lost|skipped|error", line)]
    if trouble:
        print("    " + "\n    ".join(trouble[:5]), file=sys.stderr)
    by_address = {alias: site for site in sites for alias in site.aliases}
    seen = collections.defaultdict(list)
    for line in output.splitlines():
        words = line.split(" ", 2)
        site = by_address.get(int(words[0], 16)) if re.fullmatch("[0-9a-f]+", words[0]) else None
        if site:
            seen[site, int(words[1])].append(words[2] if len(words) > 2 else "")
    saved, missed, interrupted = collections.defaultdict(list), set(), set()
    for line in data:
        words = line.split()
        if words[0] == "site":
            site = sites[int(words[1])]
            if int(words[3]) or int(words[6]):
                missed.add(site)
        elif words[0] == "records" and int(words[1]) > int(words[2]):
            print("    the witness had no room for all records")
        elif words[0] == "hit":
            site, task, in_task, failed = sites[int(words[1])], int(words[2]), int(words[3]), int(words[4])
            if not in_task:
                interrupted.add(site)
            end = words.index(":")
            registers = [int(each, 16) for each in words[5:end]]
            memory = [None if failed >> i & 1 else int(each, 16) for i, each in enumerate(words[end + 1:])]
            saved[site, task].append((registers, memory))
    hit = {site for site, _ in saved}
    for site in sites:
        if site not in hit:
            verdict.unpaired.append((site, "not hit"))
        elif site in missed:
            verdict.unpaired.append((site, "missed hits of the witness"))
        elif site in interrupted:
            verdict.unpaired.append((site, "hit in an interrupt"))
        elif not any(each is site for each, _ in seen):
            verdict.unpaired.append((site, "no hit by djstap"))
        else:
            for (each, task), records in saved.items():
                if each is not site:
                    continue
                texts = seen.get((site, task), [])
                if len(texts) != len(records):
                    verdict.unpaired.append((site, "%d hits instead of %d" % (len(texts), len(records))))
                    continue
                for text, (registers, memory) in zip(texts, records):
                    verdict.compare(site, text, registers, memory)


def report(kernel, verdict, title, sites):
    judged = verdict.sites
    print("%s: %d of %d places judged, %d hits, %d values equal, %d unavailable to both, %d wrong" % (
        title, len(judged), len(sites), verdict.hits, verdict.equal, verdict.neither, len(verdict.wrong)))
    print("    of the judged: %d static, %d with more than three parameters, %d clones, %d without an fentry site, %d whose "
          "parameters all have locations" % (
              sum(site.address in kernel.image.local for site in judged), sum(len(site.parameters) > 3 for site in judged),
              sum(site.is_clone for site in judged), sum(kernel.image.has_fentry(site.address) is None for site in judged),
              sum(all(each.location for each in site.parameters) for site in judged)))
    if verdict.refused:
        print("    djstap has no value, where llvm-dwarfdump's location has one: %d parameters" % len(verdict.refused))
        for (point, name, location) in sorted(verdict.refused):
            print("        %s $%s: %s" % (point, name, location))
    if verdict.not_judged:
        print("    values that the judge cannot know: %s" % dict(verdict.not_judged))
    if verdict.unpaired:
        print("    not judged: %s" % dict(collections.Counter(re.sub(r"\d+", "N", why) for _, why in verdict.unpaired)))
        for site, why in verdict.unpaired[:30]:
            if not why.startswith("not hit"):
                print("        %s: %s" % (site.point, why))
    shown = collections.Counter()
    for site, what, location in verdict.wrong:
        shown[site] += 1
        if shown[site] <= 2:
            print("    WRONG %s at %x: %s [%s]" % (site.point, site.address, what, location))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--djstap", required=True)
    parser.add_argument("--kernel", required=True)
    parser.add_argument("--store", default=os.path.join(ROOT, "build", "judge"), help="the folder of the databases")
    parser.add_argument("--functions", type=int, default=1000)
    parser.add_argument("--inlined", type=int, default=300)
    parser.add_argument("--candidates", type=int, default=2400, help="so many places get a kprobe to find out whether they are hit")
    parser.add_argument("--batch", type=int, default=200)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 30))
    options = parser.parse_args()
    if not release_of(options.kernel):
        print("no kernel %s is installed" % options.kernel)
        sys.exit(77)
    kernel = Kernel(options.kernel, options.store)
    print("kernel %s, seed %d" % (kernel.release, options.seed), flush=True)
    random_ = random.Random(options.seed)
    listed = listing.listed_by(options.djstap, options.kernel)
    calls = recorded_functions(kernel, options)
    print("the workload calls %d functions" % len(calls), flush=True)
    failed = False
    for title, count, draw in (("functions", options.functions, drawn_functions), ("inline instances", options.inlined, drawn_instances)):
        if not count:
            continue
        sites = draw(kernel, calls, listed, options, random_)
        verdict = Verdict()
        random_.shuffle(sites)
        tried = 0
        while tried < len(sites) and len(verdict.sites) < count:
            batch = sites[tried:tried + options.batch]
            tried += len(batch)
            try:
                judge(kernel, options, batch, verdict)
            except GuestLost as lost:
                print("    %s" % lost, file=sys.stderr)
                verdict.unpaired += [(site, "not hit: the guest was lost") for site in batch]
            print("    %d of %d tried, %d judged, %d wrong" % (tried, len(sites), len(verdict.sites), len(verdict.wrong)),
                  file=sys.stderr, flush=True)
        report(kernel, verdict, title, sites[:tried])
        failed |= bool(verdict.wrong) or len(verdict.sites) < 0.8 * count
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
