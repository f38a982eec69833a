#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Types into interactive shells and compares what their completion makes of it.

    completions.py --djstap PROGRAM --djrun PROGRAM --kernel RELEASE [--shell NAME]
"""
import argparse
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# What is typed before the tabulator, and what must be in the line, or on the screen, afterwards.
IN_ALL = [
    ("djstap --expl", "djstap --explain"),
    ("djstap --mechanism kprobe-j", "djstap --mechanism kprobe-jump"),
    ("djstap --color nev", "djstap --color never"),
    ("djstap --runtime us", "djstap --runtime user"),
    ("djstap --example off-c", "djstap --example off-cpu"),
    ("djrun --from-d", "djrun --from-dump"),
    ("djstap own-scr", "djstap own-script.stp"),
    ("djrun own-mod", "djrun own-module.ko"),
    ("djstap -r KERNEL -e 'probe kernel.function(\"vfs_readl", "djstap -r KERNEL -e 'probe kernel.function(\"vfs_readlink\")"),
    ("djstap -r KERNEL -e 'probe kern", "djstap -r KERNEL -e 'probe kernel"),
    ("djstap -e 'probe begin { task_cwd_p", "djstap -e 'probe begin { task_cwd_path("),
    ("djstap -r KERNEL -L 'kernel.trace(\"sched_swi", "djstap -r KERNEL -L 'kernel.trace(\"sched_switch\")"),
    ("djstap -r KERNEL -e 'probe kernel.function(\"vfs_read\") { x = $coun", "{ x = $count"),
]
# Several possibilities: all are shown.
LISTED = [
    ("djstap -r KERNEL -e 'probe kernel.function(\"vfs_rea", ["vfs_read", "vfs_readlink", "vfs_readv"]),
    ("djstap --diagnostics ", ["text", "json"]),
]


class Shell:
    """An interactive shell at a terminal of its own, in a folder with two files."""

    def __init__(self, command, environment, folder):
        self.child, self.terminal = pty.fork()
        if self.child == 0:
            os.chdir(folder)
            os.execvpe(command[0], command, environment)
        self.text = ""

    def read_until(self, wanted, seconds=60):
        """Reads until `wanted` is true of what is on the screen; returns whether it became so."""
        until = time.monotonic() + seconds
        while not wanted(self.screen()):
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.terminal], [], [], left)[0]:
                return False
            try:
                self.text += os.read(self.terminal, 65536).decode(errors="replace")
            except OSError:
                return wanted(self.screen())
        return True

    def screen(self):
        """What was written, without the terminal's control sequences."""
        text = re.sub(r"\x1b\[[0-9;?=>]*[A-Za-z]|\x1b[=>()][A-Z0-9]?|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x0f", "", self.text)
        while "\b" in text:  # a shell goes back to write over what it wrote
            text = re.sub(r"[^\b]?\b", "", text, count=1)
        return text

    def type(self, text):
        self.text = ""
        os.write(self.terminal, text.encode())

    def end(self):
        os.kill(self.child, 9)
        os.waitpid(self.child, 0)
        os.close(self.terminal)


def shells(completions, programs, folder):
    """Returns for each shell its command and its environment."""
    base = {"PATH": programs + ":" + os.environ["PATH"], "HOME": folder, "TERM": "dumb", "LANG": "C.UTF-8", "COLUMNS": "400",
            "DJSTAP_CACHE": os.environ.get("DJSTAP_CACHE", os.path.join(os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache")), "djstap")),
            **{name: os.environ[name] for name in ("DJSTAP_KERNELS",) if name in os.environ}}
    with open(os.path.join(folder, ".bashrc"), "w", encoding="utf-8") as file:
        file.write("PS1='ready> '; bind 'set enable-bracketed-paste off' 'set show-all-if-ambiguous on' 'set completion-query-items 0'\n"
                   "stty cols 400\n"
                   f". {completions}/bash/djstap; . {completions}/bash/djrun\n")
    with open(os.path.join(folder, ".zshrc"), "w", encoding="utf-8") as file:
        file.write(f"PS1='ready> '; fpath=({completions}/zsh $fpath); autoload -U compinit; compinit -u -D; unsetopt zle_bracketed_paste\n"
                   "stty cols 400; setopt auto_list list_ambiguous; unsetopt list_beep\nunset zle_bracketed_paste\n")
    os.makedirs(os.path.join(folder, ".config/fish/completions"))
    for name in ("djstap.fish", "djrun.fish"):
        shutil.copy(os.path.join(completions, "fish", name), os.path.join(folder, ".config/fish/completions", name))
    with open(os.path.join(folder, ".config/fish/config.fish"), "w", encoding="utf-8") as file:
        file.write("function fish_prompt; printf 'ready> '; end\nset -g fish_autosuggestion_enabled 0\nfunction fish_greeting; end\n")
    return {
        "bash": (["bash", "--noprofile", "--rcfile", os.path.join(folder, ".bashrc"), "-i"], base),
        "zsh": (["zsh", "-i"], {**base, "ZDOTDIR": folder}),
        # It draws nothing on a terminal that cannot move its cursor.
        "fish": (["fish", "-i"], {**base, "TERM": "xterm"}),
    }


def failures_of(name, command, environment, folder, kernel):
    wrong = []
    # The second tabulator lists what the first one left open.
    once = [(typed, [wanted], "\t") for typed, wanted in IN_ALL]
    for typed, wanted, keys in once + [(typed, wanted, "\t\t") for typed, wanted in LISTED]:
        typed, wanted = typed.replace("KERNEL", kernel), [each.replace("KERNEL", kernel) for each in wanted]
        shell = Shell(command, environment, folder)
        shell.read_until(lambda screen: "ready> " in screen)
        shell.type(typed + keys)
        found = shell.read_until(lambda screen: all(each in screen for each in wanted))
        if not found:
            wrong.append(f"{name}: {typed!r} and a tabulator: not found: {wanted}, but {shell.screen()!r}")
        shell.end()
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    for name in ("--djstap", "--djrun", "--kernel"):
        parser.add_argument(name, required=True)
    parser.add_argument("--shell", action="append")
    options = parser.parse_args()
    djstap = os.path.abspath(options.djstap)
    # From here on, no shell waits for an index to be built.
    subprocess.run([djstap, "-r", options.kernel, "-l", 'kernel.function("vfs_read")'], check=True, stdout=subprocess.DEVNULL)
    wrong = []
    with tempfile.TemporaryDirectory(prefix="djstap-completions-") as folder:
        completions = os.path.join(folder, "completions")
        subprocess.run([sys.executable, os.path.join(ROOT, "scripts/completions"), "--djstap", djstap, "--djrun",
                        os.path.abspath(options.djrun), "--into", completions], check=True)
        work = os.path.join(folder, "home")
        os.mkdir(work)
        for file in ("own-script.stp", "own-module.ko", "own-other.txt"):
            open(os.path.join(work, file), "w", encoding="utf-8").close()
        for name, (command, environment) in shells(completions, os.path.dirname(djstap), work).items():
            if options.shell and name not in options.shell:
                continue
            if not shutil.which(name):
                wrong.append(f"{name} is not installed")
                continue
            wrong += failures_of(name, command, environment, work, options.kernel)
    print("\n".join(wrong) or "every line was completed")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
