# SPDX-License-Identifier: GPL-2.0-or-later
"""Symbols, sections and tables of a vmlinux, as readelf prints them."""
import bisect
import glob
import os
import re
import struct
import subprocess

KERNELS = os.environ.get("DJSTAP_KERNELS", "/var/lib/djstap/kernels")


def release_of(series):
    """The installed kernel of a series: "6.1" is not "6.12"."""
    for folder in sorted(glob.glob(os.path.join(KERNELS, series + "*"))):
        release = os.path.basename(folder)
        if re.match(re.escape(series) + r"(?!\d)", release):
            return release
    return None


def vmlinux_of(release):
    return "%s/%s/usr/lib/debug/boot/vmlinux-%s" % (KERNELS, release, release)


class KernelImage:
    def __init__(self, path):
        self.path = path
        self.sections = {}
        for line in self._readelf("-SW"):
            found = re.match(r"\s+\[ *\d+\] (\S+)\s+(\S+)\s+([0-9a-f]{16}) ([0-9a-f]+) ([0-9a-f]+) ", line)
            if found:
                name, kind, address, offset, size = found.groups()
                self.sections[name] = (int(address, 16), int(offset, 16), int(size, 16), kind)
        self.symbols = {}  # by address: names
        self.address = {}  # of a name, if there is one
        self.local = set() # addresses of static functions
        functions = {}
        for line in self._readelf("-sW"):
            fields = line.split()
            if len(fields) < 8 or not re.fullmatch(r"\d+:", fields[0]) or fields[6] == "UND":
                continue
            value, size, kind, name = int(fields[1], 16), int(fields[2], 0), fields[3], fields[7]
            if kind in ("FUNC", "NOTYPE", "OBJECT") and fields[6] != "ABS":
                self.address.setdefault(name, value)
            if kind == "FUNC" or (kind == "NOTYPE" and self.in_section(".text", value)):
                self.symbols.setdefault(value, []).append(name)
                if kind == "FUNC":
                    if fields[4] == "LOCAL":
                        self.local.add(value)
                    functions[value] = max(size, functions.get(value, 0))
        self.functions = sorted(functions.items())
        self._starts = [begin for begin, _ in self.functions]
        self.fentry = set(self._words("__start_mcount_loc", "__stop_mcount_loc"))
        self.forbidden = [(self.address.get(a, 0), self.address.get(b, 0)) for a, b in (
            ("__entry_text_start", "__entry_text_end"), ("__kprobes_text_start", "__kprobes_text_end"),
            ("__noinstr_text_start", "__noinstr_text_end"), ("__irqentry_text_start", "__irqentry_text_end"),
            ("__static_call_text_start", "__static_call_text_end"))]
        for start in self._words("__start_kprobe_blacklist", "__stop_kprobe_blacklist"):
            self.forbidden.append((start, start + max(functions.get(start, 1), 1)))

        # Instructions that the kernel replaces while it runs: it refuses kprobes there. Both tables begin each entry with the
        # distance of the code from that word: struct jump_entry, struct static_call_site.
        self.replaced = {place for begin, end, size in (("__start___jump_table", "__stop___jump_table", 16),
                                                        ("__start_static_call_sites", "__stop_static_call_sites", 8))
                         for place in self._places(begin, end, size)}

    def _places(self, begin, end, size):
        first, last = self.address.get(begin, 0), self.address.get(end, 0)
        content = self.bytes_at(first, last - first)
        return [first + at + struct.unpack_from("<i", content, at)[0] for at in range(0, len(content), size)]

    def _readelf(self, option):
        return subprocess.run(["readelf", option, self.path], capture_output=True, text=True,
                              check=True).stdout.splitlines()

    def in_section(self, name, address):
        begin, _, size, _ = self.sections[name]
        return begin <= address < begin + size

    def section_at(self, address):
        for name, (begin, _, size, _) in self.sections.items():
            if begin and begin <= address < begin + size:
                return name
        return None

    def bytes_at(self, address, size):
        for begin, offset, length, kind in self.sections.values():
            if begin and kind != "NOBITS" and begin <= address and address + size <= begin + length:
                with open(self.path, "rb") as file:
                    file.seek(offset + address - begin)
                    return file.read(size)
        return b""

    def _words(self, begin, end):
        first, last = self.address.get(begin, 0), self.address.get(end, 0)
        return struct.unpack("<%dQ" % ((last - first) // 8), self.bytes_at(first, last - first))

    def function_at(self, address):
        """(begin, size) of the function symbol that contains an address."""
        place = bisect.bisect_right(self._starts, address) - 1
        if place < 0:
            return None
        begin, size = self.functions[place]
        return (begin, size) if address < begin + max(size, 1) else None

    def has_fentry(self, entry):
        """Where ftrace's call is: at the entry, or behind a landing pad."""
        return next((each for each in (entry, entry + 4) if each in self.fentry), None)

    def kprobe_forbidden(self, address):
        """By the kernel's blacklist, which also holds for a part that the compiler split off: "f.cold", of f."""
        around = self.function_at(address)
        whole = {self.address.get(symbol.split(".")[0]) for symbol in self.symbols.get(around[0], ())
                 if "." in symbol} if around else set()
        return any(begin <= each < end for begin, end in self.forbidden for each in whole | {address} if each)
