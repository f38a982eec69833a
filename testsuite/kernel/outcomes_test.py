#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Which ends of guests fail a case: run.py with a program that reports what djstap would, and no guest."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, HERE)
import outcomes  # noqa: E402

EXITED = {"kernel": "6.1", "end": "exited", "reason": "", "exit_code": 0, "complaint": "", "log": ""}
COMPLAINED = dict(EXITED, complaint="[ 1.0] WARNING: CPU: 0 PID: 1 at kernel/fork.c:1 f+0x1/0x2\n")
LOST = dict(EXITED, end="lost", reason="the kernel panicked", log="[ 1.0] Kernel panic - not syncing: none\n")
DIED = dict(EXITED, end="emulator-died", reason="killed by signal 9")
NOT_STARTED = {"kernel": "6.1", "end": "not-started", "reason": "no answer"}
PATCHED = dict(LOST, log="[ 1.0] int3: 0000 [#1] PREEMPT SMP\n[ 1.0] RIP: 0010:f+0x1/0x20\n"
                         "[ 1.0] Code: 90 90 0f <1f> 44 00 00 c3\n")
UNPATCHED = dict(LOST, log=PATCHED["log"].replace("0f <1f> 44", "cc <55> 89"))
FELL = dict(EXITED, complaint="[ 1.5] traps: sh[70] general protection fault ip:1 sp:2 error:0\n", log="[ 1.0] boots\n")
FELL_LATER = dict(FELL, log="[ 1.0] m: loading out-of-tree module taints kernel.\n")

CASE = "title: a test\nscript:\n    probe begin { }\noutput:\n    said\n"
REPEATED = "retried"


class Cases(unittest.TestCase):
    """Each runs a case whose djstap prints what is expected and ends with 0, so that only its report can fail it."""

    def ran(self, guests, fields="", case=CASE, parallel=False, crash=""):
        """Returns (exit status, notes)."""
        with tempfile.TemporaryDirectory(prefix="djstap-outcomes-") as folder:
            def path(name):
                return os.path.join(folder, name)

            report = "".join(json.dumps(each) + "\n" for each in [{"begins": True}, *guests, {"status": 0}][:-1 if crash else None])
            for name, text in (("told", report), ("a.case", case + fields),
                               ("djstap", f'#!/bin/sh\ncat {path("told")} >>"$DJSTAP_REPORT"; echo said\n')):
                with open(path(name), "w", encoding="utf-8") as file:
                    file.write(text)
            os.chmod(path("djstap"), 0o755)
            done = subprocess.run([sys.executable, os.path.join(HERE, "run.py"), "--djstap", path("djstap"), "--kernel", "6.1",
                                   *(["--parallel"] if parallel else []), path("a.case")],
                                  env=dict(os.environ, DJSTAP_TEST_NOTES=path("notes")), capture_output=True, check=False)
            notes = ""
            if os.path.exists(path("notes")):
                with open(path("notes"), encoding="utf-8") as file:
                    notes = file.read()
            return done.returncode, notes

    def test_a_whole_guest_passes(self):
        self.assertEqual(self.ran([EXITED]), (0, ""))

    def test_a_guest_that_is_lost_or_complains_fails_at_once(self):
        for guest in LOST, COMPLAINED, NOT_STARTED, PATCHED, FELL:
            status, notes = self.ran([EXITED, guest])
            self.assertEqual(status, 1, guest)
            self.assertNotIn(REPEATED, notes, guest)
            self.assertEqual(notes.count("\n"), 1, notes)

    def test_what_a_case_is_about_does_not_fail_it(self):
        self.assertEqual(self.ran([LOST], "ends: lost\n"), (0, ""))
        self.assertEqual(self.ran([COMPLAINED], "ends: complained\n"), (0, ""))
        self.assertEqual(self.ran([DIED], "ends: emulator-died\n"), (0, ""))
        self.assertEqual(self.ran([COMPLAINED], "ends: lost\n")[0], 1)

    def test_the_emulators_end_is_tried_again_and_noted(self):
        status, notes = self.ran([DIED])
        self.assertEqual((status, notes.count(REPEATED)), (1, 3))

    def test_the_emulators_end_excuses_no_other_guest(self):
        for guests in [LOST, DIED], [DIED, LOST], [DIED, COMPLAINED]:
            status, notes = self.ran(guests)
            self.assertEqual(status, 1)
            self.assertNotIn(REPEATED, notes)
        for excused in PATCHED, NOT_STARTED, FELL:
            for guests in [LOST, excused], [excused, UNPATCHED]:
                self.assertNotIn(REPEATED, self.ran(guests, parallel=True)[1], excused)

    def test_processors_in_parallel_may_meet_the_emulators_fault(self):
        for guest in PATCHED, NOT_STARTED, FELL:
            self.assertEqual(self.ran([guest], parallel=True)[1].count("retried in parallel"), 3, guest)
        for guest in LOST, UNPATCHED, COMPLAINED, FELL_LATER:
            status, notes = self.ran([guest], parallel=True)
            self.assertEqual(status, 1, guest)
            self.assertNotIn(REPEATED, notes, guest)

    def test_a_djstap_that_crashes_behind_a_pipe_fails(self):
        case = "title: a test\nrun:\n    $DJSTAP | cat\noutput:\n    said\n"
        self.assertEqual(self.ran([EXITED], case=case)[0], 0)
        self.assertEqual(self.ran([EXITED], case=case, crash="yes")[0], 1)
        self.assertEqual(self.ran([EXITED], "killed: 1\n", case=case, crash="yes")[0], 0)
        self.assertEqual(self.ran([EXITED], "killed: 1\n", case=case)[0], 1)


class Faults(unittest.TestCase):
    def test_the_place_is_told(self):
        self.assertEqual(outcomes.fault_while_patched(PATCHED["log"]), "f+0x1/0x20")

    def test_other_faults_are_the_kernels(self):
        self.assertIsNone(outcomes.fault_while_patched(UNPATCHED["log"]))
        self.assertIsNone(outcomes.fault_while_patched(LOST["log"]))
        self.assertIsNone(outcomes.fault_while_patched(PATCHED["log"].replace("int3: 0000", "general protection fault: 0000")))

    def test_a_loop_is_the_emulators_only_at_a_breakpoint_that_is_gone(self):
        stuck = PATCHED["log"].replace("int3: 0000 [#1]", "watchdog: BUG: soft lockup").replace("0f <1f>", "<0f> 1f")
        self.assertIsNone(outcomes.fault_while_patched(stuck))
        self.assertEqual(outcomes.fault_while_patched(stuck + "[ 1.0]  asm_exc_int3+0x1/0x2\n"), "f+0x1/0x20")
        called = stuck.replace("<0f> 1f 44", "<e8> 1f 44") + "[ 1.0]  asm_exc_int3+0x1/0x2\n"
        self.assertIsNone(outcomes.fault_while_patched(called))


if __name__ == "__main__":
    unittest.main()
