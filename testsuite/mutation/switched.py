# SPDX-License-Identifier: GPL-2.0-or-later
"""All changes of some files in one build, each behind a switch: thousands are judged by unit tests in an hour, where a build for each
would take days. Changes in C, of the runtime and of programs in guests, are not among them."""
import json
import multiprocessing.pool
import os
import random
import sys
import threading

import judge
import switches
import trees

SECONDS = 10  # of tests for one change


class Run(judge.Run):
    """`options.only` has the folders of compiler/ that are asked; results go to build/mutate/switched.jsonl."""

    def __init__(self, root, options):
        options.tests = options.tests or "^unit_"
        super().__init__(root, options)
        path = os.path.join(self.folder, "switched")
        self.tree = trees.Tree(root, path, judge.KERNELS, switches.flags(path))

    def main(self):
        if not self.options.only:
            sys.exit("mutate: --all needs --only")
        switches.configure(self.tree)
        self.programs = self.programs_asked()
        self.read_sources()
        found = [each for path in sorted(self.mutants) for each in self.mutants[path]
                 if path.endswith(".cpp") and not path.startswith(tuple(judge.WITHOUT_NOTES)) and each.key() not in self.equivalent]
        built = switches.Switches(self.tree, self.texts, dict(enumerate(found)), judge.say)
        built.build(self.programs)
        self.changes = built.changes
        judge.say(f"{len(self.changes)} changes in one build")
        self.note_tests()
        return self.judge_all()

    def note_tests(self):
        """self.runs_of: {number: [(seconds, program, test)]}."""
        self.runs_of, self.reached_by = {}, {}
        self.known_tests = {name: test for name, test in self.tree.tests().items() if name in self.programs}
        shared = os.path.join(self.tree.path, "tmp", "reached")
        size = max(self.changes, default=0) + 1
        for program, (command, folder, _) in self.known_tests.items():
            names = next(word.split("=", 1)[1] for word in command if word.startswith("--gtest_filter=")).split(":")
            for name in names:
                with open(shared, "wb") as file:
                    file.write(bytes(size))
                status, _, seconds = self.tree.run([command[0], "--gtest_brief=1", f"--gtest_filter={name}"], 120, folder,
                                                   {"DJSTAP_CHANGES_REACHED": "/tmp/reached"})
                if status:
                    judge.say(f"  {program} is asked without {name}, which fails without a change")
                    continue
                with open(shared, "rb") as file:
                    numbers = [number for number, byte in enumerate(file.read()) if byte]
                self.reached_by[program, name] = len(numbers)
                for number in numbers:
                    self.runs_of.setdefault(number, []).append((seconds, program, name))
            judge.say(f"{program}: {len(names)} tests")

    def judge_all(self):
        left = sorted(self.changes)
        random.Random(self.options.seed).shuffle(left)
        left = left[:self.options.count]
        results, turn = [], threading.Lock()
        free = list(range(self.options.jobs))
        for worker in free:
            os.makedirs(os.path.join(self.tree.path, f"tmp-{worker}"), exist_ok=True)
            os.chmod(os.path.join(self.tree.path, f"tmp-{worker}"), 0o1777)

        def judge_one(number):
            with turn:
                worker = free.pop()
            verdict, why = self.judge_switched(number, f"tmp-{worker}")
            with turn:
                free.append(worker)
                results.append((self.changes[number], verdict, why))
                mutant = self.changes[number]
                file.write(json.dumps({"key": mutant.key(), "path": mutant.path, "line": mutant.line, "verdict": verdict, "why": why}) + "\n")
                file.flush()

        with open(os.path.join(self.folder, "switched.jsonl"), "w", encoding="utf-8") as file, \
                multiprocessing.pool.ThreadPool(self.options.jobs) as pool:
            pool.map(judge_one, left, chunksize=1)
        for mutant, verdict, why in sorted(results, key=lambda each: (each[0].path, each[0].begin)):
            if verdict == judge.SURVIVED:
                judge.say(f"{mutant.path}:{mutant.line}: {mutant.function}: {mutant.kind}: {' '.join(mutant.old.split())[:80]} ({why})\n  {mutant.key()}")
        counts = {verdict: sum(each[1] == verdict for each in results) for verdict in (judge.KILLED, judge.SURVIVED, judge.UNREACHED)}
        judge.say(", ".join(f"{count} {verdict}" for verdict, count in counts.items()))
        asked = counts[judge.KILLED] + counts[judge.SURVIVED]
        return 0 if counts[judge.KILLED] >= self.options.least * asked else 1

    def judge_switched(self, number, tmp):
        """(verdict, the program that noticed it, or how many tests did not). First the tests that run few other changes."""
        runs = sorted(self.runs_of.get(number, []), key=lambda run: run[0] * self.reached_by[run[1:]])
        if not runs:
            return judge.UNREACHED, ""
        spent, asked = 0, {}
        for seconds, program, name in runs:
            if spent and spent + seconds > SECONDS:
                break
            spent += seconds
            asked.setdefault(program, []).append(name)
        for program, names in asked.items():
            command, folder, _ = self.known_tests[program]
            status, _, _ = self.tree.run([command[0], "--gtest_brief=1", "--gtest_fail_fast", "--gtest_filter=" + ":".join(names)],
                                         5 * spent + 10, folder, {"DJSTAP_CHANGE": str(number)}, tmp)
            if status != 0:
                return judge.KILLED, program
        return judge.SURVIVED, f"{sum(map(len, asked.values()))} of {len(runs)} tests"
