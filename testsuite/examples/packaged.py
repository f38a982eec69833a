# SPDX-License-Identifier: GPL-2.0-or-later
"""SystemTap's packaged examples (Debian's systemtap-doc), and the test commands that their descriptions (.meta) give."""
import argparse
import glob
import os
import re
import shlex
import subprocess

EXAMPLES = "/usr/share/systemtap/examples"
HERE = os.path.dirname(os.path.abspath(__file__))
KERNELS = os.environ.get("DJSTAP_KERNELS", "/var/lib/djstap/kernels")


def parser(description):
    """Returns a parser of the options that each program here has."""
    made = argparse.ArgumentParser(description=description)
    made.add_argument("--djstap", required=True, type=os.path.abspath)
    made.add_argument("--kernel", default="6.1")
    made.add_argument("--every", type=int, default=1)
    made.add_argument("examples", nargs="*")
    return made


def names():
    """Returns the scripts with a description, as paths in the folder of examples: the others are parts or templates."""
    found = glob.glob(f"{EXAMPLES}/**/*.stp", recursive=True)
    return sorted(os.path.relpath(path, EXAMPLES) for path in found if os.path.exists(path.removesuffix(".stp") + ".meta"))


def address_of(symbol, series):
    """Returns the address of a symbol of the test's kernel as linked, in hexadecimal; "0" if it is not known."""
    for path in glob.glob(f"{KERNELS}/{series}.*/usr/lib/debug/boot/vmlinux-*"):
        if "-rt-" in path:
            continue
        done = subprocess.run(["nm", path], capture_output=True, text=True, check=False)
        found = re.search(rf"^([0-9a-f]+) \w {re.escape(symbol)}$", done.stdout, re.MULTILINE)
        if found:
            return found[1]
    return "0"


class Command:
    """A test command: the script's arguments, djstap's options before and behind it, and the command of -c, if any."""
    WITH_VALUE = {"-T", "-c", "-x", "-d", "-G", "-D", "-I", "-o", "-m"}

    def __init__(self, name, key, series):
        with open(f"{EXAMPLES}/{name.removesuffix('.stp')}.meta", encoding="utf-8", errors="replace") as file:
            found = re.search(rf"^{key}:\s*(.*)$", file.read(), re.MULTILINE)
        text = found[1] if found else ""
        text = re.sub(r'`grep "(\w+)" /proc/kallsyms[^`]*`', lambda match: address_of(match[1], series), text)
        text = re.sub(r"`[^`]*`|\$\$(?!\w)", "1", text)
        self.options, self.arguments, self.command, self.limit = [], [], None, None
        base = os.path.basename(name)
        lexer = shlex.shlex(text, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        words = []
        try:
            for word in lexer:
                if set(word) <= set("|&;<>()"):
                    if base in words:
                        break
                    words = []
                else:
                    words.append(word)
        except ValueError:
            pass
        self.known = base in words
        if self.known:
            self.take(words[words.index("stap") + 1 if "stap" in words else 0:], base, os.path.dirname(f"{EXAMPLES}/{name}"))

    def take(self, words, base, folder):
        rest = iter(words)
        for word in rest:
            if word.startswith("-I"):
                self.options += ["-I", os.path.join(folder, word[2:] or next(rest))]
            elif word in ("--all-modules", "--ldd") or word.startswith("-p"):
                pass  # what djstap needs neither
            elif word.startswith("-gp"):
                self.options.append("-g")
            elif word in self.WITH_VALUE:
                value = next(rest, "")
                if word == "-c":
                    self.command = value
                elif word == "-T":
                    self.limit = value
                elif word not in ("-x", "-d", "-o"):
                    self.options += [word, value]
            elif word.startswith("-"):
                self.options.append(word)
            elif word != base:
                self.arguments.append(word)


def has_debug_symbols(module, series):
    """Returns whether a module of the test's kernel has debug information of its own; scripts/kernels fetches that of a few."""
    return bool(glob.glob(f"{KERNELS}/{series}.*/usr/lib/debug/lib/modules/*/kernel/**/{module}.ko*", recursive=True))


def exceptions(series):
    """Returns {example: (class, reason)} for a kernel from exceptions.list."""
    found = {}
    with open(f"{HERE}/exceptions.list", encoding="utf-8") as file:
        for line in file:
            if not line.strip() or line.startswith("#"):
                continue
            kind, name, reason = line.split(None, 2)
            kind, _, kernel = kind.partition("@")
            kind, _, module = kind.partition("/")
            if kernel in ("", series) and not (module and has_debug_symbols(module, series)):
                found[name] = (kind, reason.strip())
    return found
