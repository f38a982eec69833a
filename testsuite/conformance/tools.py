#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks the headers of examples/*.stp, the table that is made from them, and how a tool behaves on a terminal.

    tools.py --djstap build/release/bin/djstap [--update]

Each example has a header that djstap accepts, a subject of the list below, a test (.meta), and an explanation of each column
of its tables. examples/README.md has a row for each, which --update writes. With --runtime=user, a tool's table is
redrawn on a terminal and printed as lines into a pipe, and SIGINT ends it with the last table.
"""
import argparse
import json
import os
import pty
import re
import signal
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
EXAMPLES = os.path.join(ROOT, "examples")
PAGE = os.path.join(EXAMPLES, "README.md")
SUBJECTS = ["cpu", "disk", "files", "interrupts", "kernel", "locks", "memory", "network", "processes", "system calls"]
BEGIN, END = "<!-- from the headers, by testsuite/conformance/tools.py --update -->", "<!-- end -->"
LEAST = 50  # examples
CLEAR = b"\033[1;1H\033[J"
PATIENCE = 60

TABLE = """// @tool tests: a table
// @option interval seconds: time between two tables
// @column N: a number
global interval = 0, n
function table() { table_begin() printf("N\\n%d\\n", n) }
probe timer.ms(100) { n++ }
probe timer.s(1) { if (table_due(interval)) table() }
probe end { table() println("end") }
"""
# It ends when it has asked several times, however late, whether a table is due.
ENDING = TABLE + "global seconds probe timer.s(1) { if (++seconds == 3) exit() }"


def columns_of(script):
    """Returns the words of its tables' heads: literal arguments of printf() in capitals."""
    found = []
    for arguments in re.findall(r'printf\("[^"]*", (("[^"]*"(, |\)))+)', script):
        found += [word for word in re.findall(r'"([^"]*)"', arguments[0]) if re.fullmatch(r"[A-Z][A-Z' -]*", word)]
    return found


def problems_of(name, tool):
    with open(os.path.join(EXAMPLES, name + ".stp"), encoding="utf-8") as file:
        script = file.read()
    explained = re.findall(r"^// @column ([^:]+):", script, re.MULTILINE)
    if tool["subject"] not in SUBJECTS:
        yield f"the subject '{tool['subject']}' is not one of {', '.join(SUBJECTS)}"
    for column in columns_of(script):
        if column not in explained:
            yield f"the column {column} is not explained"
    for wanted in ("@cost:", "@example"):
        if f"\n// {wanted}" not in script:
            yield f"its header has no {wanted}"
    for option in tool["options"]:
        used = re.sub(r"^//.*$", "", script, flags=re.MULTILINE)
        if len(re.findall(rf"\b{option['name'].replace('-', '_')}\b", used)) < 2:
            yield f"the option --{option['name']} has no effect: its global is only declared"
    if not os.path.exists(os.path.join(EXAMPLES, name + ".meta")):
        yield "it has no test (.meta)"


def rows(tools):
    text = "| subject | tool | what it answers |\n|---|---|---|\n"
    for tool in tools:
        text += f"| {tool['subject']} | [{tool['name']}]({tool['name']}.stp) | {tool['summary']} |\n"
    return text


def check_page(tools, update):
    with open(PAGE, encoding="utf-8") as file:
        page = file.read()
    before, rest = page.split(BEGIN + "\n", 1)
    wanted = f"{before}{BEGIN}\n{rows(tools)}{END}{rest.split(END, 1)[1]}"
    if wanted == page:
        return []
    if update:
        with open(PAGE, "w", encoding="utf-8") as file:
            file.write(wanted)
        return []
    return ["examples/README.md is not what the headers say: --update writes it"]


def on_terminal(command, until):
    """Returns what a command prints on a terminal, and its status: SIGINT ends it when it has printed `until`."""
    main, terminal = pty.openpty()
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=terminal, stderr=subprocess.STDOUT) as process:
        os.close(terminal)
        output, last, sent = b"", time.monotonic() + PATIENCE, False
        while time.monotonic() < last:
            try:
                part = os.read(main, 4096)
            except OSError:  # the other side is closed
                break
            if not part:
                break
            output += part
            if not sent and output.count(until) >= 2:
                process.send_signal(signal.SIGINT)
                sent = True
        else:
            process.kill()
        os.close(main)
        return output.replace(b"\r\n", b"\n"), process.wait()


def check_tables(djstap):
    """Yields how a table that a person watches, and one in a pipe, are not as they should be."""
    with tempfile.TemporaryDirectory() as folder:
        commands = []
        for name, script in ("table.stp", TABLE), ("ending.stp", ENDING):
            path = os.path.join(folder, name)
            with open(path, "w", encoding="utf-8") as file:
                file.write(script)
            commands.append([djstap, "--runtime=user", "--example", path])
        output, status = on_terminal(commands[0], CLEAR)
        if status or not re.fullmatch(rb"N\n\d+\n(\033\[1;1H\033\[JN\n\d+\n){3,}end\n", output):
            yield f"a terminal: status {status}, {output!r}"
        done = subprocess.run(commands[1], capture_output=True, timeout=PATIENCE, check=False)
        if done.returncode or not re.fullmatch(rb"N\n\d+\nend\n", done.stdout):
            yield f"a pipe: status {done.returncode}, {done.stdout!r}"
        done = subprocess.run(commands[1] + ["--", "--interval", "1000ms"], capture_output=True, timeout=PATIENCE, check=False)
        if done.returncode or not re.fullmatch(rb"(N\n\d+\n\n)+N\n\d+\nend\n", done.stdout):
            yield f"a pipe with an interval: status {done.returncode}, {done.stdout!r}"


def main():
    parser = argparse.ArgumentParser(description="Checks the examples' headers.")
    parser.add_argument("--djstap", required=True)
    parser.add_argument("--update", action="store_true", help="write the table of examples/README.md")
    options = parser.parse_args()
    djstap = os.path.abspath(options.djstap)
    done = subprocess.run([djstap, "--examples", "--json"], capture_output=True, text=True, check=False)
    tools = [json.loads(line) for line in done.stdout.splitlines()]
    problems = [done.stderr] if done.returncode or done.stderr else []
    if len(tools) < LEAST:
        problems.append(f"there are only {len(tools)} examples")
    for tool in tools:
        problems += [f"{tool['name']}: {problem}" for problem in problems_of(tool["name"], tool)]
    problems += check_page(tools, options.update)
    problems += check_tables(djstap)
    for problem in problems:
        print(f"FAILED {problem}")
    print(f"{len(tools)} examples, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
