# SPDX-License-Identifier: GPL-2.0-or-later
"""Judges the changes of a draw that one build contains, each behind a switch (switches.py), by tests of all kinds."""
import os
import re
import shutil
import subprocess

import switches
import trees

# What a worker's guests and kits are created by, before changes are asked.
FIRST_TESTS = re.compile(r"^kernel\.first-run\.")


class Together:
    """`changes`: mutants. Each worker has a cache of djstap's and a /tmp of its own."""

    def __init__(self, root, path, kernels, workers):
        self.tree = trees.Tree(root, path, kernels, switches.flags(path))
        self.workers = workers
        self.numbers = {}  # of a mutant's place in the sources
        self.known_tests = {}

    def build(self, changes, texts, kernels, say):
        """Leaves out what does not compile with its switch."""
        built = switches.Switches(self.tree, texts, dict(enumerate(changes)), say)
        switches.configure(self.tree)
        built.build(kernels=kernels)
        self.numbers = {each.place(): number for number, each in built.changes.items()}
        self.known_tests = self.tree.tests()
        for worker in range(self.workers):
            shutil.rmtree(self.cache(worker), ignore_errors=True)
            folder = os.path.join(self.tree.path, f"tmp-{worker}")
            os.makedirs(folder, exist_ok=True)
            os.chmod(folder, 0o1777)
            for name in sorted(filter(FIRST_TESTS.match, self.known_tests)):
                status, output, _ = self.run(name, [], 300, worker)
                if status != 0:
                    say(f"  {name} fails without a change: {output.strip().splitlines()[-1:]}")

    def contains(self, mutant):
        return mutant.place() in self.numbers

    def cache(self, worker):
        return os.path.join(self.tree.path, f"cache-{worker}")

    def choose(self, mutant, worker):
        """What run() runs is changed so; None: unchanged."""
        number = self.numbers[mutant.place()] if mutant else -1
        switches.choose(self.cache(worker), number)
        return number

    def run(self, name, left_out, timeout, worker, number=-1):
        """(status, output, seconds) of a test."""
        command, folder, _ = self.known_tests[name]
        return self.tree.run(trees.without(command, left_out), timeout, folder,
                             {"DJSTAP_CHANGE": str(number), "DJSTAP_CACHE": self.cache(worker)}, f"tmp-{worker}")

    def runs_in_guests(self, mutant):
        """Is it part of a program that guests run, too, where $DJSTAP_CHANGE is not set?"""
        inputs = subprocess.run(["ninja", "-C", self.tree.build, "-t", "inputs", "bin/djrun"], check=True, capture_output=True, text=True).stdout
        return re.search(rf"^{re.escape('/'.join(mutant.path.split('/')[:2]))}/", inputs, re.MULTILINE) is not None
