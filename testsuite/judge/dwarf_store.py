# SPDX-License-Identifier: GPL-2.0-or-later
"""What llvm-dwarfdump says about the functions of a kernel, kept in a database.

llvm-dwarfdump prints some five gigabytes for a vmlinux. They are read once, as a stream, and what the judges need is
kept by build-id: each function and inline instance with its declaration, its code and its parameters, and of each
parameter the location that holds at the first instruction. Nothing here shares code with djstap, which reads the same
bytes through libdw.
"""
import os
import re
import sqlite3
import subprocess
import sys
import time

DWARFDUMP = "llvm-dwarfdump-19"
VERSION = 3

SCHEMA = """
create table function(die integer primary key, unit integer, name text, file text, line integer, language text,
                      varargs integer);
create table range(function integer, number integer, begin integer, end integer);
create table instance(die integer primary key, unit integer, name text, file text, line integer, function integer,
                      entry integer);
create table parameter(owner integer, number integer, name text, kind text, size integer, is_signed integer,
                       address integer, location text);
create table result(function integer primary key, kind text, size integer);
create table frame(begin integer primary key, end integer, rule text);
"""
INDICES = """
create index range_function on range(function);
create index range_begin on range(begin);
create index function_name on function(name);
create index instance_name on instance(name);
create index instance_function on instance(function);
create index parameter_owner on parameter(owner);
"""

LISTED = re.compile(rb"\[0x([0-9a-f]+), 0x([0-9a-f]+)\)(?:: (.*))?")
TAG = re.compile(rb"0x([0-9a-f]+):( +)DW_TAG_(\w+)")
TYPES = {b"base_type", b"pointer_type", b"structure_type", b"union_type", b"enumeration_type", b"typedef", b"const_type",
         b"volatile_type", b"restrict_type", b"atomic_type", b"array_type", b"subroutine_type", b"unspecified_type"}
WANTED = TYPES | {b"compile_unit", b"subprogram", b"inlined_subroutine", b"lexical_block", b"formal_parameter",
                  b"unspecified_parameters"}
TRANSPARENT = {b"typedef", b"const_type", b"volatile_type", b"restrict_type", b"atomic_type"}
SIGNED = {b"DW_ATE_signed", b"DW_ATE_signed_char"}


def pieces(stream):
    """The blocks of text between empty lines: one for each debugging information entry."""
    rest = b""
    while True:
        chunk = stream.read(1 << 22)
        if not chunk:
            break
        parts = (rest + chunk).split(b"\n\n")
        rest = parts.pop()
        yield from parts
    yield rest


def attributes(block):
    found = {}
    for line in block.split(b"\n")[1:]:
        line = line.lstrip(b" ")
        if line.startswith(b"DW_AT_"):
            name, _, value = line[6:].partition(b"\t(")
            found[name] = value
            last = name
        else:
            found[last] += b"\n" + line
    return found


def number(value, default=None):
    """A number, or an entry's offset, at the beginning of an attribute's value."""
    if value is None:
        return default
    text = re.match(rb"-?(?:0x)?[0-9a-f]+", value)
    return int(text.group(), 0) if text else default


def ranges_of(entry):
    if b"ranges" in entry:
        return [(int(a, 16), int(b, 16)) for a, b, _ in LISTED.findall(entry[b"ranges"])]
    if b"low_pc" in entry and b"high_pc" in entry:
        return [(number(entry[b"low_pc"]), number(entry[b"high_pc"]))]
    return []


def location_at(entry, address):
    """The location expression that holds at an address, as llvm-dwarfdump prints it; None if there is none."""
    if entry is None:
        return None
    if b"const_value" in entry:
        return b"const " + entry[b"const_value"].rstrip(b")")
    text = entry.get(b"location")
    if text is None:
        return None
    if not text.startswith(b"0x"):
        return closed(text)
    for line in text.split(b"\n")[1:]:
        listed = LISTED.match(line)
        if listed and int(listed.group(1), 16) <= address < int(listed.group(2), 16):
            return closed(listed.group(3))
    return None


def closed(text):
    """Without the parenthesis that closes the attribute."""
    return text[:-1] if text.count(b")") > text.count(b"(") else text


class Unit:
    """One compilation unit; its references stay inside it."""

    def __init__(self, offset, entry):
        self.offset = offset
        self.language = (entry.get(b"language") or b"").rstrip(b")").decode()
        self.folder = (entry.get(b"comp_dir") or b"").strip(b'")').decode()
        self.source = (entry.get(b"name") or b"").strip(b'")').decode()
        self.types = {}
        self.functions = {}
        self.instances = []
        self.parameters = {} # by their entries: (attributes, the function's or instance's entry)
        self.children = {}   # of a function or instance: its parameters' entries
        self.varargs = set()


class Store:
    def __init__(self, path):
        self.database = sqlite3.connect(path)
        self.database.executescript("pragma journal_mode=off; pragma synchronous=off;" + SCHEMA)

    def type_of(self, unit, entry):
        """(kind, size, signed): void, integer, float, pointer or aggregate."""
        at = number(entry.get(b"type")) if entry else None
        for _ in range(50):
            if at is None:
                return "void", 0, False
            tag, block = unit.types.get(at, (None, None))
            if tag is None:
                return "unknown", 0, False
            entry = attributes(block)
            if tag in TRANSPARENT:
                at = number(entry.get(b"type"))
                continue
            size = number(entry.get(b"byte_size"), 0)
            if tag == b"base_type":
                encoding = entry[b"encoding"].rstrip(b")")
                return "float" if b"float" in encoding else "integer", size, encoding in SIGNED
            if tag == b"pointer_type":
                return "pointer", 8, False
            if tag == b"enumeration_type":
                base = self.type_of(unit, entry) if b"type" in entry else ("integer", size, False)
                return "integer", size, base[2]
            return "aggregate", size, False
        return "unknown", 0, False

    def declaration(self, unit, entry):
        """The entry with its origins' attributes."""
        merged = dict(entry)
        for _ in range(5):
            origin = number(merged.pop(b"abstract_origin", merged.pop(b"specification", None)))
            if origin is None:
                break
            for name, value in (unit.functions.get(origin) or unit.parameters.get(origin) or {}).items():
                merged.setdefault(name, value)
        return merged

    def origin(self, unit, die):
        while True:
            entry = unit.functions.get(die) or {}
            up = number(entry.get(b"abstract_origin", entry.get(b"specification")))
            if up is None or up == die:
                return die
            die = up

    def place(self, unit, entry):
        file = (entry.get(b"decl_file") or b"").strip(b'")').decode()
        return tidy(file, unit), number(decimal(entry.get(b"decl_line")), 0)

    def add_parameters(self, unit, owner, origin, addresses):
        own = {}
        for die in unit.children.get(owner, []):
            own[number(unit.parameters[die].get(b"abstract_origin"), die)] = die
        order = unit.children.get(origin, []) if origin != owner else []
        order = order + [each for each in own if each not in order]
        rows = []
        for place, die in enumerate(order):
            concrete = unit.parameters[own[die]] if die in own else None
            declared = self.declaration(unit, unit.parameters.get(die) or concrete)
            name = (declared.get(b"name") or b"").strip(b'")').decode()
            kind, size, signed = self.type_of(unit, declared)
            for address in addresses:
                location = location_at(concrete if concrete is not None else declared, address)
                rows.append((owner, place, name, kind, size, signed, signed64(address),
                             location.decode() if location is not None else None))
        self.database.executemany("insert into parameter values(?,?,?,?,?,?,?,?)", rows)

    def finish(self, unit):
        is_c = "Assembler" not in unit.language
        for die, entry in unit.functions.items():
            code = ranges_of(entry)
            whole = self.declaration(unit, entry)
            name = (whole.get(b"name") or b"").strip(b'")').decode()
            file, line = self.place(unit, whole)
            origin = self.origin(unit, die)
            if not code or b"declaration" in entry:
                continue
            self.database.execute("insert into function values(?,?,?,?,?,?,?)", (
                die, unit.offset, name, file, line, unit.language, die in unit.varargs or origin in unit.varargs))
            kind, size, _ = self.type_of(unit, whole)
            self.database.execute("insert into result values(?,?,?)", (die, kind, size))
            self.database.executemany("insert into range values(?,?,?,?)", [
                (die, i, signed64(a), signed64(b)) for i, (a, b) in enumerate(code)])
            if is_c:
                self.add_parameters(unit, die, origin, sorted({begin for begin, end in code if begin < end}))
        for die, entry, function in unit.instances:
            whole = self.declaration(unit, entry)
            code = [each for each in ranges_of(entry) if each[0] < each[1]] or ranges_of(entry)
            start = number(entry.get(b"entry_pc")) or (code[0][0] if code else None)
            file, line = self.place(unit, whole)
            name = (whole.get(b"name") or b"").strip(b'")').decode()
            origin = self.origin(unit, number(entry.get(b"abstract_origin"), die))
            self.database.execute("insert into instance values(?,?,?,?,?,?,?)", (
                die, unit.offset, name, file, line, function, signed64(start) if start else None))
            if start:
                self.add_parameters(unit, die, origin, [start])

    def build(self, vmlinux):
        dump = subprocess.Popen(["nice", DWARFDUMP, "--debug-info", vmlinux], stdout=subprocess.PIPE)
        unit = None
        scopes = [None] * 1000 # by depth: the function or inline instance that an entry there belongs to
        inside = [None] * 1000 # by depth: the function with code
        for block in pieces(dump.stdout):
            tagged = TAG.match(block)
            if not tagged or tagged.group(3) not in WANTED:
                continue
            die, depth, tag = int(tagged.group(1), 16), len(tagged.group(2)), tagged.group(3)
            if tag == b"compile_unit":
                if unit:
                    self.finish(unit)
                unit = Unit(die, attributes(block))
                scopes[depth] = inside[depth] = None
                continue
            if tag == b"formal_parameter":
                owner = scopes[depth - 2]
                if owner is not None:
                    unit.parameters[die] = attributes(block)
                    unit.children.setdefault(owner, []).append(die)
                continue
            if tag == b"lexical_block":
                # Parameters are children of their function, never of a block.
                scopes[depth], inside[depth] = None, inside[depth - 2]
                continue
            if tag == b"unspecified_parameters":
                if scopes[depth - 2] is not None:
                    unit.varargs.add(scopes[depth - 2])
                continue
            if tag == b"subprogram":
                unit.functions[die] = attributes(block)
                scopes[depth] = inside[depth] = die
                continue
            if tag == b"inlined_subroutine":
                around = inside[depth - 2]
                unit.instances.append((die, attributes(block), around))
                scopes[depth], inside[depth] = die, around
                continue
            scopes[depth] = None
            unit.types[die] = (tag, block)
        if unit:
            self.finish(unit)
        if dump.wait() != 0:
            raise RuntimeError("llvm-dwarfdump failed")
        self.frames(vmlinux)
        self.database.executescript(INDICES)
        self.database.execute("pragma user_version=%d" % VERSION)
        self.database.commit()

    def frames(self, vmlinux):
        """The rule for the call frame address of each place in code."""
        dump = subprocess.Popen(["nice", DWARFDUMP, "--debug-frame", vmlinux], stdout=subprocess.PIPE, text=True)
        row = re.compile(r"\s+0x([0-9a-f]+): CFA=([^:]+)(?::|$)")
        header = re.compile(r"[0-9a-f]+ [0-9a-f]+ [0-9a-f]+ FDE .*pc=([0-9a-f]+)\.\.\.([0-9a-f]+)")
        rows, end = [], None

        def flush():
            for (begin, rule), after in zip(rows, [each[0] for each in rows[1:]] + [end]):
                if begin < after:
                    self.database.execute("insert or replace into frame values(?,?,?)",
                                          (signed64(begin), signed64(after), rule))
            rows.clear()

        for line in dump.stdout:
            found = header.match(line)
            if found:
                flush()
                end = int(found.group(2), 16)
                continue
            found = row.match(line)
            if found and end is not None:
                rows.append((int(found.group(1), 16), found.group(2)))
        flush()
        dump.wait()


def decimal(value):
    """Lines are printed as decimal numbers."""
    return value.rstrip(b")").lstrip(b"0") or b"0" if value is not None else None


def signed64(value):
    """As SQLite's integers are."""
    return value - (1 << 64) if value is not None and value >= 1 << 63 else value


def unsigned64(value):
    return value & ((1 << 64) - 1)


def tidy(path, unit):
    """The path below the source tree. Debian's kernels are built in a folder inside it, for which the compiler is told
    to write relative names."""
    root = re.match(r"/.*?/linux-[^/]*/", unit.folder)
    for prefix in (unit.folder + "/", root.group() if root else "/dev/null/"):
        if path.startswith(prefix):
            path = path[len(prefix):]
    return os.path.normpath(path) if path else path


def build_id(vmlinux):
    notes = subprocess.run(["readelf", "-n", vmlinux], capture_output=True, text=True).stdout
    return re.search(r"Build ID: ([0-9a-f]+)", notes).group(1)


def open_store(vmlinux, folder):
    """The database of a vmlinux, which is made the first time."""
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, build_id(vmlinux) + ".sqlite")
    if os.path.exists(path):
        database = sqlite3.connect(path)
        if database.execute("pragma user_version").fetchone()[0] == VERSION:
            return database
        database.close()
    print("reading %s with %s: some minutes, once" % (vmlinux, DWARFDUMP), file=sys.stderr)
    started = time.time()
    temporary = "%s.%d" % (path, os.getpid())
    try:
        Store(temporary).build(vmlinux)
        os.rename(temporary, path)
    finally:
        if os.path.exists(temporary):
            os.unlink(temporary)
    print("read in %.0f s" % (time.time() - started), file=sys.stderr)
    return sqlite3.connect(path)
