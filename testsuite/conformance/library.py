#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks that the value of every function of the library is tested by a script whose output is compared.

Such scripts are the rows with output of the tables here and in beside/, and the kernel cases and examples that are
one script each (cases that are shell commands are skipped).

    library.py --djstap build/release/bin/djstap --calls
                    each function is called by one of them: -p2 shows what a script calls, without unreachable code.
                    Also checks that the library's functions have variables with names that are unlikely for a
                    script's globals (a global's name is visible in the library, too), and that the runtime has no
                    function that the library does not declare.
    library.py --djstap build/release/bin/djstap [--kernel 6.1] [--verbose] [FUNCTION…]
                    each function is replaced by minimal ones (which return 0, 1, a large number, no string or another
                    one, or do nothing): some script must notice each of them by failing. A script that defines a
                    function of the library hides it, so the compiler under test is the usual one.

The exit status is 1 if a function is called by no script, or one of its replacements goes unnoticed.
"""
import argparse
import contextlib
import glob
import importlib.util
import io
import os
import re
import shlex
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.dont_write_bytecode = True
sys.path.insert(0, HERE)
import run as tables  # noqa: E402

sys.path.append(os.path.join(ROOT, "testsuite/kernel"))  # behind the folder whose run.py is meant above
SPECIFICATION = importlib.util.spec_from_file_location("kernel_cases", os.path.join(ROOT, "testsuite/kernel/run.py"))
kernel_cases = importlib.util.module_from_spec(SPECIFICATION)
SPECIFICATION.loader.exec_module(kernel_cases)

# A procedure without a body does something on other machines only.
FUNCTION = re.compile(r"^function (?!__)(\w+)(?::(long|string))?\(([^)]*)\)(?! \{ \})", re.MULTILINE)
ANY_FUNCTION = re.compile(r"(?:private )?function (\w+)(?::(long|string))?\(([^)]*)\)")
BODIES = {"long": ["{ return 0 }", "{ return 1 }", "{ return 81985529216486895 }"],
          "string": ['{ return "" }', '{ return "x" }'], None: ["{ }"]}
# What these do is seen only in files, which testsuite/kernel/switch-file.case reads.
SEEN_IN_FILES = {"switch_file"}
TIMEOUT = 60  # of a script that does not end because it has lost its exit()


class Function:
    def __init__(self, name, result, parameters):
        self.name, self.result = name, result or None
        self.parameters = [each.strip() for each in parameters.split(",") if each.strip()]
        self.key = (name, len(self.parameters))

    def __str__(self):
        return f"{self.name}({', '.join(each.split(':')[0] for each in self.parameters)})"

    def replacements(self):
        declared = f"function {self.name}{':' + self.result if self.result else ''}({', '.join(self.parameters)})"
        return [f"{declared} {body}" for body in BODIES[self.result]]


def tapsets():
    """Returns the texts of the library's files."""
    for path in sorted(glob.glob(os.path.join(ROOT, "tapsets/**/*.stp"), recursive=True)):
        with open(path, encoding="utf-8") as file:
            yield file.read()


def functions():
    found = []
    for text in tapsets():
        found += [Function(*each) for each in FUNCTION.findall(text)]
    return found


class RowScript:
    """A row; it runs in user space if possible, which takes a hundredth of the time."""

    def __init__(self, row):
        self.row, self.name, self.text = row, row.name, row.fields["script"]
        self.options = shlex.split(row.fields.get("options", ""))
        self.cost = 2 if row.fields.get("needs") == "kernel" else 1

    def notices(self, replacement, options):
        fields = dict(self.row.fields, script=self.text + "\n" + replacement)
        row = tables.Row(self.row.path, self.row.number, fields)
        try:
            problems, actual = tables.run(row, options.djstap, options.kernel, self.cost == 1)
        except subprocess.TimeoutExpired:
            return True
        if problems and actual is None:
            check_compiled(self.name, replacement, problems[0])
        return bool(problems)


class CaseScript:
    def __init__(self, path, fields):
        self.path, self.name, self.text, self.cost = path, os.path.basename(path), fields["script"], 3
        self.options = shlex.split(fields.get("options", ""))
        self.kernels = kernel_cases.kernels_of(fields)

    def notices(self, replacement, options):
        kernel = options.kernel if options.kernel in self.kernels else self.kernels[0]
        runner = kernel_cases.Runner(self.path, options.djstap, kernel)
        runner.fields["script"] = self.text + "\n" + replacement
        printed = io.StringIO()
        try:
            with contextlib.redirect_stdout(printed):
                noticed = runner.check() == kernel_cases.FAILED
        except subprocess.TimeoutExpired:
            return True
        check_compiled(self.name, replacement, printed.getvalue())
        return noticed


# A script that the compiler rejects notices nothing.
def check_compiled(name, replacement, printed):
    if re.search(r"^\S+:\d+:\d+: error: ", printed, re.MULTILINE):
        raise SystemExit(f"{name} with `{replacement}`: {printed}")


# A script that fails anyway notices nothing either.
def passes(script, options, known={}):
    if script not in known:
        known[script] = not script.notices("", options)
        if not known[script]:
            print(f"FAILED {script.name} fails as it is", flush=True)
    return known[script]


def scripts():
    found = []
    for folder in (HERE, os.path.join(HERE, "beside")):
        for name in sorted(os.listdir(folder)):
            if name.endswith(".table"):
                found += [RowScript(row) for row in tables.read_table(os.path.join(folder, name)) if row.goal == "output"]
    for folder, ending in (("testsuite/kernel", ".case"), ("examples", ".meta")):
        for name in sorted(os.listdir(os.path.join(ROOT, folder))):
            if not name.endswith(ending):
                continue
            path = os.path.join(ROOT, folder, name)
            fields = kernel_cases.read_case(path)
            if "file" in fields:
                with open(os.path.join(ROOT, folder, fields["file"]), encoding="utf-8") as file:
                    fields["script"] = file.read()
            if re.search(r"-- .*--\w", fields.get("options", "")):
                continue  # options of the example: -e does not know them
            if "script" in fields and fields["output"].replace("...", "").strip():
                found.append(CaseScript(path, fields))
    return sorted(found, key=lambda script: script.cost)


def called_by(script, options):
    """Returns the library's functions that the script calls, by name and number of parameters."""
    words = [word.replace("$KERNEL", options.kernel) for word in script.options]
    end = words.index("--") if "--" in words else len(words)
    command = [options.djstap, "-w", *words[:end], "-p2", "-r", options.kernel, "-e", script.text, *words[end:]]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
    part = re.search(r"^# functions\n(.*?)(?=^# |\Z)", done.stdout, re.MULTILINE | re.DOTALL)
    calls = re.findall(r"^(\w+):\w+ \(([^)]*)\)", part[1] if part else "", re.MULTILINE)
    return {(name, parameters.count(":")) for name, parameters in calls}


def bodies():
    """Returns (name, names that are not its own variables, text) of each function that is written in the language itself: its
    parameters, and the globals of its file."""
    for text in tapsets():
        text = re.sub(r'"(\\.|[^"\\])*"|//.*', "", text)
        shared = {name for line in re.findall(r"^global (.*)", text, re.MULTILINE) for name in re.findall(r"[A-Za-z]\w*", line)}
        for part in re.split(r"^(?=function |private |probe |global |@define )", text, flags=re.MULTILINE):
            if found := ANY_FUNCTION.match(part):
                yield found[1], shared | {each.split(":")[0].strip() for each in found[3].split(",")}, part[found.end():]


def declared_marks():
    """Returns {intrinsic: its marks}, as the tapsets declare it."""
    marks = {}
    folder = os.path.join(ROOT, "tapsets")
    for name in sorted(os.listdir(folder)):
        if name.endswith(".stp"):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                for function, body in re.findall(r"^function (\w+)[^\n{]*%\{(.*)%\}$", file.read(), re.MULTILINE):
                    words = set(re.findall(r"/\* (.*?) \*/", body))
                    if "intrinsic" in words:
                        marks[function] = words - {"intrinsic", "unprivileged"}
    return marks


def helpers_that_fail():
    """Returns functions and macros of the runtime's C files that may fail themselves: an intrinsic that calls one may
    fail, too."""
    found = {"djs_load"}
    for folder in ("access", "context", "regex"):
        for name in sorted(os.listdir(os.path.join(ROOT, "runtime", folder))):
            if not name.endswith((".c", ".h")):
                continue
            with open(os.path.join(ROOT, "runtime", folder, name), encoding="utf-8") as file:
                text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.DOTALL)
            for helper, body in re.findall(r"^static [^;{]*?\b(\w+)\([^)]*\)\n\{\n(.*?)^\}", text, re.MULTILINE | re.DOTALL):
                if re.search(r"\bdjs_v?fail", body):
                    found.add(helper)
            for helper, body in re.findall(r"^#define (\w+)\([^)]*\)((?:.*\\\n)*.*)$", text, re.MULTILINE):
                if re.search(r"\bdjs_(?:v?fail|load)", body):
                    found.add(helper)
    return found


def mistakes_in_the_sources():
    problems = []
    for name, parameters, body in bodies():
        assigned = re.findall(r"(\w+)\s*(?:[-+*/%|&^.]|<<|>>)?=(?!=)|(\w+)(?:\+\+|--)|catch \((\w+)\)", body)
        for variable in sorted({each for names in assigned for each in names if each} - parameters):
            if not variable.startswith("__"):
                problems.append(f"{name}() has a variable {variable}: a script's global may have that name")
    marks = declared_marks()
    with open(os.path.join(ROOT, "tapsets/README.md"), encoding="utf-8") as file:
        rows = {name: set(filter(None, listed.split(", "))) for name, listed in
                re.findall(r"^\| `(\w+)` \| .* \| \w* \| (.*?) ?\| \w+\.stp \|$", file.read(), re.MULTILINE)}
    problems += [f"{name}() is marked {marks.get(name)}, tapsets/README.md says {rows.get(name)}"
                 for name in sorted(marks.keys() | rows.keys()) if marks.get(name) != rows.get(name)]
    failing = re.compile(r"\b(?:djs_v?fail\w*|%s)\b" % "|".join(sorted(helpers_that_fail())))
    for folder, _, names in os.walk(os.path.join(ROOT, "runtime")):
        for name in names:
            if name.endswith((".c", ".h")):
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.DOTALL)
                implemented = set(re.findall(r"\bdjs_fn_(\w+)\(", text))
                # A failing intrinsic does not end the handler unless it is marked: the code continues with its value.
                for function, body in re.findall(r"^[^\s].*\bdjs_fn_(\w+)\([^)]*\)\n\{\n(.*?)^\}", text, re.MULTILINE | re.DOTALL):
                    if failing.search(body) and "fails" not in marks.get(function, {"fails"}):
                        problems.append(f"djs_fn_{function} fails, and {function}() is not marked so")
                problems += [f"runtime/{os.path.relpath(os.path.join(folder, name), os.path.join(ROOT, 'runtime'))} has "
                             f"djs_fn_{each}, which is no intrinsic" for each in sorted(implemented - marks.keys())]
    return problems


def main():
    parser = argparse.ArgumentParser(description="Checks that the value of every function of the library is checked.")
    parser.add_argument("--djstap", required=True)
    parser.add_argument("--kernel", default="6.1")
    parser.add_argument("--calls", action="store_true", help="only check that each function is called")
    parser.add_argument("--verbose", action="store_true", help="tell for each replacement who noticed it")
    parser.add_argument("functions", nargs="*", help="default: all")
    options = parser.parse_args()
    options.djstap = os.path.abspath(options.djstap)
    tables.TIMEOUT = kernel_cases.TIMEOUT = TIMEOUT
    every = [each for each in functions() if not options.functions or each.name in options.functions]
    callers = {each.key: [] for each in every}
    for script in scripts():
        for key in called_by(script, options) & set(callers):
            callers[key].append(script)
    problems = 0
    for problem in mistakes_in_the_sources() if options.calls else []:
        print(f"FAILED {problem}")
        problems += 1
    for function in every:
        if not callers[function.key]:
            print(f"FAILED no script whose output is compared calls {function}")
            problems += 1
        for replacement in [] if options.calls or function.name in SEEN_IN_FILES else function.replacements():
            witness = next((each for each in callers[function.key] if each.notices(replacement, options)
                            and passes(each, options)), None)
            if not witness:
                print(f"FAILED of {len(callers[function.key])} scripts none notices `{replacement}`", flush=True)
                problems += 1
            elif options.verbose:
                print(f"`{replacement}`: {witness.name}", flush=True)
    print(f"{len(every)} functions, {problems} problems")
    return 1 if problems or not every else 0


if __name__ == "__main__":
    sys.exit(main())
