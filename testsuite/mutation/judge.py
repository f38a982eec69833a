# SPDX-License-Identifier: GPL-2.0-or-later
"""One run of changes: what is drawn, which tests run it, whether one fails."""
import collections
import copy
import hashlib
import itertools
import json
import multiprocessing
import multiprocessing.pool
import os
import pickle
import re
import subprocess
import sys
import threading
import time

import equivalent
import mutants
import reach
import sources
import together
import trees

HERE = os.path.dirname(os.path.abspath(__file__))
KERNELS = os.environ.get("DJSTAP_KERNELS", "/var/lib/djstap/kernels")
# What prints no notes: it is built by commands of its own, runs in programs that know nothing of notes, or ends with the guest. Its tests are
# those with one of these in their names.
WITHOUT_NOTES = {"runtime/capi/": ("unit_runtime", "c-interface"), "runtime/injected/": ("unit_runtime", "injection"),
                 "compiler/guest/agent/": ("guest",), "compiler/guest/share/": ("guest",)}
KILLED, SURVIVED, UNREACHED = "killed", "survived", "no test runs it"
EQUIVALENT = "equivalent, with an argument"
ENOUGH = 7  # changes of a folder: one survivor of fewer would be more than 15 %


def say(text):
    print(text, flush=True)


def digest(*parts):
    value = hashlib.sha256()
    for part in parts:
        value.update(part if isinstance(part, bytes) else part.encode())
    return value.hexdigest()[:16]


def newest(root, series):
    """The fetched kernel of a series."""
    common = os.path.join(root, "scripts", "common.sh")
    release = subprocess.run(["sh", "-c", '. "$0"; whole_kernel "$1"', common, series], check=True, capture_output=True,
                             text=True).stdout.strip()
    return release or sys.exit(f"mutate: there is no kernel {series}; scripts/kernels fetches it")


def analyse(work):
    """(path, its blocks, its mutants) of one file; a process of its own does this."""
    root, build, release, path = work
    parser = analyse.parser = getattr(analyse, "parser", None) or sources.Parser(root, build, KERNELS, release)
    with open(os.path.join(root, path), "rb") as file:
        source = file.read()
    try:
        unit = parser.parse(path)
    except sources.cindex.TranslationUnitLoadError as error:
        return path, ([], []), [], [f"{error} {' '.join(parser.flags(path))}"]
    errors = [str(each) for each in unit.diagnostics if each.severity >= 3]
    return path, reach.of_unit(unit, source), mutants.in_file(unit, path, source), errors


def words_of(name):
    """The words of a test's or a file's name, without their endings: kernel.lean-clocks.6.1 and kernel_clock.c have {clock}."""
    words = re.split(r"[^a-z]+", name.lower())
    return {word.removesuffix("s") for word in words if len(word) > 3} - {"kernel", "unit", "language", "conformance", "parallel"}


class Run:
    def __init__(self, root, options):
        self.root, self.options = root, options
        self.folder = os.path.join(root, "build", "mutate")
        os.makedirs(os.path.join(self.folder, "seeds"), exist_ok=True)
        self.releases = [newest(root, series) for series in ("6.1", "6.12")]
        self.paths = sources.own_sources(root)
        self.texts = {}
        for path in self.paths:
            with open(os.path.join(root, path), "rb") as file:
                self.texts[path] = file.read()
        self.state = digest(*[part for path in self.paths for part in (path, self.texts[path])])
        self.tests_state = digest(*trees.contents(root, "testsuite", ":!testsuite/mutation"))
        self.equivalent = equivalent.read(root)
        self.tree = trees.Tree(root, os.path.join(self.folder, "changed"), KERNELS)
        self.noting = trees.Tree(root, os.path.join(self.folder, "noting"), KERNELS, "-include " + os.path.join(self.folder, "noting", "reach.h"))

    def main(self):
        if self.options.report:
            return self.report(sorted(name for name in os.listdir(os.path.join(self.folder, "seeds")) if "-" not in name))
        say(f"seed {self.options.seed}, {self.options.count} changes")
        self.tree.copy()
        self.tree.configure()
        self.programs = self.programs_asked()
        self.read_sources()
        draw = self.make_draw()
        if self.options.show:
            while draw.drawn < self.options.count and (mutant := draw.next()):
                say(f"{mutant.path}:{mutant.line}: {mutant.function}: {mutant.kind}: {' '.join(mutant.old.split())[:100]}")
            return 0
        self.note_blocks()
        self.judge_all(draw)
        return self.report([self.name_of_results()])

    def build_together(self, draw, known):
        """Changes that are likely to be drawn, in one build; with one that few tests are asked of, each has a build of its own."""
        if self.programs:
            return None
        say("building the changes together")
        draw, chosen = copy.deepcopy(draw), []
        for _ in range(self.options.count * 3 // 2):
            mutant = draw.next()
            if mutant and not mutant.path.startswith(tuple(WITHOUT_NOTES)) and mutant.place() not in known and mutant.key() not in self.equivalent:
                chosen.append(mutant)
        built = together.Together(self.root, os.path.join(self.folder, "together"), KERNELS, self.options.jobs)
        built.build(chosen, self.texts, [os.path.join(KERNELS, release, "lib/modules", release, "build") for release in self.releases], say)
        return built

    def build_unchanged(self):
        """The tree for a change alone, with what its objects and tests are before."""
        self.tree.copy()
        if not self.tree.compile(self.programs):
            sys.exit(f"mutate: the unchanged sources do not compile: {self.tree.log}")
        self.tree.known_objects, self.tree.known_kits = self.tree.objects(), {} if self.programs else self.tree.kits(self.releases)

    def programs_asked(self):
        """What is to be built for the tests that are asked: their programs, where --tests leaves programs of unit tests alone;
        otherwise everything."""
        if not self.options.tests or any(re.search(self.options.tests, name) for name in self.tree.tests() if not name.startswith("unit_")):
            return []
        return [name for name in self.tree.unit_programs() if re.search(self.options.tests, name)]

    def paths_read(self):
        """Where a few unit tests are asked, only what is drawn from: the others' blocks would have to be compiled, too."""
        only = tuple(self.options.only)
        return [path for path in self.paths if path.startswith(only)] if self.programs and only else self.paths

    def name_of_results(self):
        """Those of some tests alone tell nothing of what survives the others."""
        return f"{self.options.seed}-{digest(self.options.tests)}.jsonl" if self.options.tests else f"{self.options.seed}.jsonl"

    def read_sources(self):
        """Blocks and mutants of all files; those that are as they were are known."""
        path = os.path.join(self.folder, "sources.pickle")
        known = {}
        if os.path.exists(path):
            with open(path, "rb") as file:
                known = pickle.load(file)
        finders = [open(os.path.join(HERE, name), "rb").read() for name in ("mutants.py", "reach.py", "sources.py")]
        wanted = {each: digest(each, self.texts[each], *finders) for each in self.paths}
        read = self.paths_read()
        missing = [(self.tree.path, self.tree.build, self.releases[0], each) for each in read if wanted[each] not in known]
        if missing:
            say(f"reading {len(missing)} sources")
            if not self.tree.generate():
                sys.exit(f"mutate: what sources include cannot be made: {self.tree.log}")
            try:
                with multiprocessing.Pool(os.cpu_count()) as pool:
                    for name, blocks, found, errors in pool.imap_unordered(analyse, missing):
                        for error in errors[:1]:
                            say(f"  {name}: {error}")
                        known[wanted[name]] = (blocks, found)
            finally:
                with open(path, "wb") as file:
                    pickle.dump({key: value for key, value in known.items() if key in wanted.values()}, file)
        self.files = {each: known[wanted[each]][0] for each in read}
        self.mutants = {each: known[wanted[each]][1] for each in read}
        possible = {each.key() for found in self.mutants.values() for each in found}
        unread = tuple(f"{each}:" for each in self.paths if each not in self.files)
        stale = sorted(each for each in self.equivalent.keys() - possible if not each.startswith(unread))
        if stale:
            sys.exit("\n  ".join([f"mutate: {equivalent.PATH} names changes that nobody can make:", *stale]))
        say(f"{sum(map(len, self.mutants.values()))} changes are possible in {len(read)} files, "
            f"{sum(len(blocks) for _, blocks in self.files.values())} blocks")

    def make_draw(self):
        chosen = {path: found for path, found in self.mutants.items()
                  if not self.options.only or path.startswith(tuple(self.options.only))}
        lines = {path: self.texts[path].count(b"\n") for path in self.paths}
        return mutants.Draw(self.options.seed, chosen, lines, self.options.core)

    # Which test runs what

    def note_blocks(self):
        """self.reached: {test: blocks}, self.seconds: {test: its time}; those that fail unchanged are left out."""
        self.noting.copy()
        self.firsts, total = reach.make_tree(self.noting.path, {path: found for path, found in self.files.items()
                                                                if not path.startswith(tuple(WITHOUT_NOTES))})
        notes = os.path.join(self.folder, f"reached-{digest(self.state, *self.files) if self.programs else self.state}.jsonl")
        self.reached, self.seconds, self.without = {}, {}, {}
        self.runs = collections.Counter()  # how many tests run a block
        done = set()
        self.noting.configure()
        if not self.noting.compile(self.programs):
            sys.exit(f"mutate: the sources with their notes do not compile: {self.noting.log}")
        tests = self.unchanged = self.noting.tests()
        if os.path.exists(notes):
            with open(notes, encoding="utf-8") as file:
                for note in map(json.loads, file):
                    if note["test"] in tests and note["of"] == self.noting.content(tests[note["test"]]):
                        self.take_note(note, done)
        left = [name for name in sorted(tests, key=lambda name: (tests[name][2], "first-run" not in name))
                if name not in done and re.search(self.options.tests, name)]
        if left:
            say(f"running {len(left)} tests to learn what each runs")
        first = [name for name in left if "first-run" in name]
        with open(notes, "a", encoding="utf-8") as file:
            for group, workers in ((first, 1), ([name for name in left if name not in first], self.options.jobs)):
                with multiprocessing.pool.ThreadPool(workers) as pool:
                    free = list(range(workers))
                    for note in pool.imap_unordered(lambda name: self.note_test(name, tests[name], total, free), group):
                        file.write(json.dumps(note) + "\n")
                        file.flush()
                        self.take_note(note, done)

    def take_note(self, note, done):
        done.add(note["test"])
        self.seconds[note["test"]] = note["seconds"]
        self.without[note["test"]] = note.get("without", [])
        if note["status"] == 0:
            self.reached[note["test"]] = set(note["blocks"])
            self.runs.update(note["blocks"])

    def note_test(self, name, test, total, free):
        command, folder, _ = test
        worker = free.pop()
        shared = os.path.join(self.noting.path, "tmp", f"reached-{worker}")
        console = os.path.join(self.noting.path, "tmp", f"console-{worker}")
        with open(shared, "wb") as file:
            file.write(bytes(total))
        with open(console, "wb"):
            pass
        environment = {"DJSTAP_REACH": "/tmp/" + os.path.basename(shared), "DJSTAP_KERNEL_ARGUMENTS": "earlyprintk=ttyS1,115200,keep",
                       "DJSTAP_QEMU_ARGUMENTS": f"-chardev file,id=reach,path=/tmp/console-{worker},append=on -serial chardev:reach"}
        status, output, seconds = self.noting.run(command, 600, folder, environment)
        failing = trees.failing_tests(output) if status else []
        if failing:  # some of a program's many
            say(f"  {name} is asked without {', '.join(failing)}, which fail without a change")
            status, output, seconds = self.noting.run(trees.without(command, failing), 600, folder, environment)
        with open(console, encoding="utf-8", errors="replace") as file:
            blocks = reach.of_file(shared) | reach.of_log(file.read())
        free.append(worker)
        if status:
            say(f"  {name} fails without a change: {output.strip().splitlines()[-1:] or status}")
        return {"test": name, "of": self.noting.content(test), "status": status, "seconds": round(seconds, 2), "without": failing,
                "blocks": sorted(blocks)}

    def tests_of(self, mutant):
        """Names of the tests that run its block: first its folder's own unit tests, then those that are named like its file, then those
        that run most of what few tests run in the file, for the seconds that they take."""
        parts = next((texts for folder, texts in WITHOUT_NOTES.items() if mutant.path.startswith(folder)), None)
        if parts:
            names = [name for name in self.reached if any(part in name for part in parts)]
            of_file = range(0)
        else:
            number = reach.smallest(self.files[mutant.path][1], mutant.begin)
            block = -1 if number is None else self.firsts[mutant.path] + number
            names = [name for name, blocks in self.reached.items() if block in blocks]
            of_file = range(self.firsts[mutant.path], self.firsts[mutant.path] + len(self.files[mutant.path][1]))
        own = "unit_runtime" if mutant.path.startswith("runtime/") else "unit_" + mutant.path.split("/")[1]

        def worth(name):
            share = sum(1 / self.runs[block] for block in of_file if block in self.reached[name])
            return (share if of_file else 1) / max(self.seconds[name], 0.5)

        subject = words_of(os.path.splitext(os.path.basename(mutant.path))[0])

        return sorted((name for name in names if re.search(self.options.tests, name)),
                      key=lambda name: (name != own, not words_of(name) & subject, -worth(name)))

    # Judging

    def judge_all(self, draw):
        path = os.path.join(self.folder, "seeds", self.name_of_results())
        known = {}
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                for result in map(json.loads, file):
                    # What survived is asked of tests that are new; what was killed stays so.
                    asked_again = result["verdict"] in (SURVIVED, UNREACHED) and result.get("tests") != self.tests_state
                    if result["state"] == self.state and not asked_again:
                        known[result["place"]] = result
        counted = itertools.count(1)
        turn = threading.Lock()  # of the draw and of the file
        self.together = self.build_together(draw, known)
        alone, workers = [], range(1 if self.programs else self.options.jobs)

        def judge_some(worker):
            while True:
                with turn:
                    mutant = draw.next() if draw.drawn < self.options.count else None
                if not mutant:
                    return
                result = known.get(mutant.place())
                if argument := self.equivalent.get(mutant.key()):
                    result = self.result(mutant, EQUIVALENT, argument, 0)
                elif result is None and self.together and self.together.contains(mutant):
                    result = self.judge_together(mutant, worker)
                with turn:
                    if result is None or (result["verdict"] != KILLED and mutant.place() not in known and not argument):
                        alone.append((mutant, result))
                        # Else what is killed would be all that one hears of an interrupted run.
                        say(f"not killed so far, to be built alone: {mutant.path}:{mutant.line}: {mutant.kind} "
                            f"({result['why'] if result else 'not in the build'})")
                    else:
                        take(mutant, result)

        def take(mutant, result):
            if known.get(mutant.place()) is not result:
                file.write(json.dumps(result) + "\n")
                file.flush()
            if result["verdict"] in (KILLED, SURVIVED, UNREACHED):
                say(f"{next(counted)}: {mutant.path}:{mutant.line}: {mutant.kind}: {result['verdict']} ({result['why']})")
                return
            draw.give_back(mutant)
            if result["verdict"] == EQUIVALENT:
                say(f"{mutant.path}:{mutant.line}: {mutant.kind}: {EQUIVALENT}, drawn again")

        with open(path, "a", encoding="utf-8") as file, multiprocessing.pool.ThreadPool(len(workers)) as pool:
            while draw.drawn < self.options.count:
                pool.map(judge_some, workers)
                if alone:
                    say(f"{len(alone)} changes are built alone")
                    self.build_unchanged()
                for mutant, result in alone:
                    take(mutant, self.judge_alone(mutant, result))
                alone.clear()

    def result(self, mutant, verdict, why, seconds):
        """What is kept of it in the file of results."""
        return {"state": self.state, "tests": self.tests_state, "place": mutant.place(), "line": mutant.line, "path": mutant.path,
                "kind": mutant.kind, "function": mutant.function, "old": mutant.old, "new": mutant.text, "verdict": verdict, "why": why,
                "seconds": round(seconds), "key": mutant.key()}

    def judge_together(self, mutant, worker):
        began = time.monotonic()
        number = self.together.choose(mutant, worker)

        def run(name, timeout):
            return self.together.run(name, self.without[name], timeout, worker, number)

        def passes_unchanged(name, timeout):
            self.together.choose(None, worker)
            status = self.together.run(name, self.without[name], timeout, worker)[0]
            self.together.choose(mutant, worker)
            return status == 0

        return self.result(mutant, *self.ask(mutant, run, passes_unchanged), time.monotonic() - began)

    def judge_alone(self, mutant, before):
        """In a build of its own: its code may be the same. `before` is what judge_together() said, which did not run it in guests' programs."""
        began = time.monotonic()
        try:
            verdict, why = self.build_alone(mutant), ""
            if not verdict and before and not self.together.runs_in_guests(mutant):
                verdict, why = before["verdict"], before["why"]
            elif not verdict:
                verdict, why = self.ask(mutant, self.run_alone, self.passes_in_noting)
        finally:
            self.tree.write(mutant.path, self.texts[mutant.path])
        return self.result(mutant, verdict, why, time.monotonic() - began)

    def build_alone(self, mutant):
        """Why it does not count; nothing if it does."""
        self.tree.write(mutant.path, mutant.apply(self.texts[mutant.path]))
        if not self.tree.compile(self.programs):
            return "does not compile"
        same = self.tree.objects() == self.tree.known_objects
        if not self.programs and mutant.path.startswith("runtime/") and not sources.in_user_space(mutant.path):
            kits = self.tree.kits(self.releases)
            if kits is None:
                return "does not compile"
            same = same and kits == self.tree.known_kits
        return "same code" if same else ""

    def run_alone(self, name, timeout):
        command, folder, _ = self.unchanged[name]
        return self.tree.run(trees.without([word.replace(self.noting.path, self.tree.path) for word in command], self.without[name]), timeout,
                             folder.replace(self.noting.path, self.tree.path))

    def passes_in_noting(self, name, timeout):
        command, folder, _ = self.unchanged[name]
        return self.noting.run(command, timeout, folder)[0] == 0

    def ask(self, mutant, run, passes_unchanged):
        """(verdict, the test that killed it or what else is to be said). What needs a guest is asked of the unchanged code again: a
        machine may be too busy for both."""
        names = self.tests_of(mutant)
        if not names:
            return UNREACHED, ""
        spent, ran = 0, 0
        for name in names:
            timeout = 5 * self.seconds[name] + 30
            if ran and spent + self.seconds[name] > 60 * self.options.minutes:
                break
            status, output, seconds = run(name, timeout)
            spent += seconds
            ran += 1
            if status != 0 and (not self.unchanged[name][2] or passes_unchanged(name, timeout)):
                return KILLED, f"{name}{': lost' if 'a guest: lost' in output else ': too long' if status is None else ''}"
        return SURVIVED, f"{ran} of {len(names)} tests"

    # The report

    def report(self, names):
        results, equivalent_ones = [], set()
        for name in names:
            last = {}
            with open(os.path.join(self.folder, "seeds", name), encoding="utf-8") as file:
                for each in map(json.loads, file):
                    last[each["state"], each["place"]] = each
            if not self.options.report:
                last = {key: each for key, each in last.items() if each["state"] == self.state}
            for each in last.values():
                if each["key"] in self.equivalent:
                    equivalent_ones.add(each["key"])
                elif each["verdict"] in (KILLED, SURVIVED, UNREACHED):
                    results.append(each)
        folders = {}
        for each in results:
            folders.setdefault(sources.folder_of(each["path"]), []).append(each)
        below = []
        say(f"{'folder':28} {'changes':>8} {'killed':>8}")
        for folder in sorted(folders):
            found = folders[folder]
            noticed = sum(each["verdict"] == KILLED for each in found)
            too_few = len(found) >= ENOUGH and noticed < self.options.least_of_a_folder * len(found)
            below += [folder] if too_few else []
            say(f"{folder:28} {len(found):8} {noticed:8}{'  too few' if too_few else ''}")
        killed = sum(each["verdict"] == KILLED for each in results)
        say(f"{'all':28} {len(results):8} {killed:8}")
        say(f"{EQUIVALENT + ', not counted:':37} {len(equivalent_ones):8}")
        for each in results:
            if each["verdict"] != KILLED:
                say(f"\n{each['path']}:{each['line']}: {each['function']}: {each['kind']}: {each['verdict']} ({each['why']})\n"
                    f"  - {each['old']}\n  + {each['new']}\n  {each['key']}")
        return 0 if results and killed >= self.options.least * len(results) and not below else 1
