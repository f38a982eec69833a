# SPDX-License-Identifier: GPL-2.0-or-later
"""Generated scripts: all combinations of something, and random programs."""
import os
import subprocess
import tempfile

FLAGS = ["", "-", "+", " ", "#", "0"]  # more than one: beside/formats.table
WIDTHS = ["", "1", "7", "12"]
PRECISIONS = ["", ".0", ".3", ".9"]
NUMBERS = [0, 1, -1, 10, 255, -4096, 9223372036854775807, -9223372036854775808]
CHARACTERS = [0, 7, 9, 10, 34, 39, 65, 92, 127, 128, 255, 65 + 256]
TEXTS = ["", "a", "abc", "ten\\nletters", "longer than any width"]
PER_LINE = 8


def _lines(conversion, argument):
    """Returns printf statements with every combination for one argument."""
    formats = [f"%{flags}{width}{precision}{conversion}" for flags in FLAGS for width in WIDTHS for precision in PRECISIONS]
    for at in range(0, len(formats), PER_LINE):
        some = formats[at:at + PER_LINE]
        yield f'    printf("[{"][".join(some)}]\\n", {", ".join([argument] * len(some))})'


def _script(conversion, kind, values):
    calls = " ".join(f"show({value})" for value in values)
    return "\n".join([f"function show(v:{kind}) {{", *_lines(conversion, "v"), "}", f"probe begin {{ {calls} exit() }}"])


def formats():
    """Yields (name, script): every conversion with every combination of flags, width and precision."""
    for conversion in "diuoxXpb":
        yield f"formats of %{conversion}", _script(conversion, "long", NUMBERS)
    yield "formats of %c", _script("c", "long", CHARACTERS)
    yield "formats of %s", _script("s", "string", [f'"{text}"' for text in TEXTS])


def stars():
    """Yields (name, script): widths and precisions that are arguments."""
    for conversion, value in (("d", "-42"), ("x", "255"), ("s", '"abcdef"'), ("c", "65")):
        formats = [f"[%*{conversion}]", f"[%-*{conversion}]", f"[%0*{conversion}]", f"[%.*{conversion}]"]
        yield (f"widths of %{conversion} by argument",
               f"probe begin {{ for (n = -12; n <= 12; n += 3) printf(\"{''.join(formats)}[%*.*{conversion}]\\n\", "
               f"{f'n, {value}, ' * len(formats)}n, n, {value}) exit() }}")


def operators():
    """Yields (name, script): each operator with each pair of numbers at the ends of their ranges."""
    edges = [0, 1, -1, 2, -2, 63, 64, 65, 4294967295, 4294967296, 9223372036854775807, -9223372036854775808]
    for sign in ("+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>", "<", "<=", ">", ">=", "==", "!=", "&&", "||"):
        values = " ".join(f"a[{number}] = {edge};" for number, edge in enumerate(edges))
        attempt = f'try {{ print(a[i] {sign} a[j], " ") }} catch (e) {{ print(e, " ") }}'
        yield (f"operator {sign} at the ends",
               f"global a\nprobe begin {{ {values}\n    for (i = 0; i < {len(edges)}; i++) {{ for (j = 0; j < {len(edges)}; j++) "
               f"{attempt} println() }} exit() }}")


def all_scripts():
    """Returns (name, script) of all."""
    yield from formats()
    yield from stars()
    yield from operators()


def random_programs(differential, count, first):
    """Yields (name, script, options) of random programs whose meaning SystemTap defines (testsuite/differential)."""
    with tempfile.TemporaryDirectory(prefix="djstap-random-") as folder:
        subprocess.run([differential, "--portable", "--write", folder, "--programs", str(count), "--first", str(first)],
                       check=True)
        for name in sorted(os.listdir(folder)):
            if name.endswith(".stp"):
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    script = file.read()
                with open(os.path.join(folder, name[:-4] + ".options"), encoding="utf-8") as file:
                    options = file.read().split()
                yield f"random program {name[:-4].rpartition('_')[2]}", script, options
