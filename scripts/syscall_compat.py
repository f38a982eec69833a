# SPDX-License-Identifier: GPL-2.0-or-later
"""The aliases of the system calls of 32-bit programs (and of int $0x80), for scripts/syscall-tapset.

unistd_32.h tells their names. The function of a name is the kernel's function of its own for 32-bit programs, if there is
one, else that of 64-bit programs behind another entry. Arguments are in the registers of the program.
"""
import json
import re
import subprocess

from syscall_aliases import ENTRIES, Argument, Call

REGISTERS = ["bx", "cx", "dx", "si", "di", "bp"]
# Functions that neither have the call's name nor add one of the usual endings to it: arch/x86/entry/syscalls/syscall_32.tbl.
FUNCTIONS = {
    "oldstat": "stat", "oldfstat": "fstat", "oldlstat": "lstat", "umount": "oldumount", "fcntl": "compat_fcntl64",
    "oldolduname": "olduname", "olduname": "uname", "getrlimit": "compat_old_getrlimit", "ugetrlimit": "compat_getrlimit",
    "select": "compat_old_select", "_newselect": "compat_select", "readdir": "compat_old_readdir", "_llseek": "llseek",
    "mmap2": "mmap_pgoff", "sendfile": "compat_sendfile"}
# Arguments that DWARF has no name of, because the compiler removed them.
ARGUMENTS = {"compat_io_setup": [("nr_events", "unsigned int"), ("ctx32p", "u32 *")],
             "compat_old_readdir": [("fd", "unsigned int"), ("dirent", "struct compat_old_linux_dirent *"), ("count", "unsigned int")]}
# What has the same form for 32-bit and 64-bit programs, also where the kernel reads it in a function for 32-bit programs.
SAME_FORM = {"s", "text", "d", "u", "x", "o", "fd", "id", "p", "out", "mode", "dirfd", "buffer", "sockaddr", "ioctl", "protocol",
             "sockopt", "ipc_key", "ipc_mode", "shm_mode", "device", "node_mode", "clone_flags", "futex_op", "quota_cmd", "sigset",
             "pollfds", "epoll_event", "processors", "fd_set", "sembufs", "sched_param", "sched_attr"}
# What has a form of its own there, which a decoder in tapsets/structures/narrow.stp shows, if the type tells so.
NARROW_FORM = {"timespec", "timeval", "timeval_pair", "timespec_pair", "itimerspec", "itimerval", "utimbuf", "timex", "argv",
               "environment"}
NARROW_TYPE = re.compile(r"\bold_\w+32\b|\bcompat_uptr_t\b")
WIDE_TYPE = re.compile(r"\b__kernel_\w+\b")  # what 32-bit programs have, too
# Further variables, by the kernel's function: those that SystemTap has, of numbers in two registers and of narrow structures.
ALSO = {
    "compat_execve": ["args = __narrow_strings_str(argv_uaddr)", "env_str = __narrow_strings_str(envp_uaddr)"],
    "compat_execveat": ["args = __narrow_strings_str(argv_uaddr)", "env_str = __narrow_strings_str(envp_uaddr)"],
    "ia32_fadvise64": ["offset = offset_hi << 32 | offset_lo"],
    "ia32_fadvise64_64": ["offset = offset_high << 32 | offset_low", "len = len_high << 32 | len_low",
                          "advice_str = __fadvice(advice)"],
    "ia32_fallocate": ["offset = offset_hi << 32 | offset_lo", "len = len_hi << 32 | len_lo"],
    "ia32_ftruncate64": ["length = offset_high << 32 | offset_low"],
    "ia32_readahead": ["offset = off_hi << 32 | off_lo"],
    "ia32_truncate64": ["length = offset_high << 32 | offset_low", "path = filename", "path_uaddr = filename_uaddr",
                        "path_unquoted = filename_unquoted"],
    "utime32": ["actime = user_int(buf_uaddr)", "modtime = user_int(buf_uaddr + 4)"],
    "utimes_time32": ["timeval = tvp_uaddr"],
}
# Texts of arguments that only use such.
SAME_TEXTS = {"open", "openat", "mq_open"}
SIGNED = re.compile(r"(const )?(int|pid_t|key_t|key_serial_t|mqd_t|clockid_t|timer_t|__s32|s32|compat_(long|off|pid|ssize|clock|timer)_t)")


class CompatArgument(Argument):
    """An argument in a register of a 32-bit program."""

    def __init__(self, usual, register):
        super().__init__(usual.name, usual.type, usual.variable, usual.decoder)
        self.register = register

    def value(self):
        return self.raw()

    def raw(self):
        if SIGNED.fullmatch(self.type) or self.narrow():
            return f"($regs->{self.register} << 32) >> 32"
        return f"$regs->{self.register} & {'0xffff' if self.type in ('umode_t', 'compat_mode_t') else '0xffffffff'}"


class CompatCall(Call):
    """A system call of 32-bit programs. `base`: that of 64-bit programs with the same meaning, or None."""
    FAMILIES = ("compat_syscall",)

    def __init__(self, name, function, source, arguments, rules, base):
        self.entry, self.own, self.source, self.rules = name, function, source, rules
        self.shared = base is not None and base.entry == function
        settings = rules.calls.get(base.entry, {}) if base else {}
        same = base is not None and ENTRIES.get(name, name) == base.entry
        self.alias, self.name = (base.alias, base.name) if same else (name, name)
        self.result = base.result if base else "d"
        known = dict(arguments)
        if base and len(arguments) < len(base.arguments) and known.keys() <= {each.name for each in base.arguments}:
            arguments = [(each.name, known.get(each.name, each.type)) for each in base.arguments]
        parallel = base is not None and len(base.arguments) == len(arguments)
        made = []
        for i, (argument, ctype) in enumerate(arguments):
            usual = self.argument(argument, ctype, settings.get(argument, ":"), rules)
            if parallel:
                like = base.arguments[i]
                usual = Argument(argument, ctype, like.variable, like.decoder)
            usual.decoder = self.decoder_of(usual)
            made.append(CompatArgument(usual, REGISTERS[i]))
        self.arguments = made
        values = {like.name: f"({each.raw()})" for like, each in zip(base.arguments if parallel else made, made)}

        def moved(statement):
            return re.sub(r"\$(?!return\b)(\w+)", lambda match: values[match[1]], statement)

        known = {line.split(" = ")[0] for each in made for line in each.statements()}
        self.also, self.returns, self.argstr = [], [], None
        if parallel or self.shared:
            for statement in base.also:
                if self.shared or statement.split(" = ", 1)[1] in known | {"0", '"0x0"'}:
                    self.also.append(moved(statement))
            self.returns = [moved(each) for each in base.returns]
            if self.shared or base.entry in SAME_TEXTS:
                self.argstr = base.argstr
        self.also += ALSO.get(function, [])
        if name not in rules.does and base:
            self.rules.does[name] = rules.does[base.entry]

    def decoder_of(self, argument):
        """Returns the decoder of an argument that is what a 64-bit program's argument is."""
        form = argument.decoder.partition("/")[0]
        if form == "iovec" or (form in NARROW_FORM and NARROW_TYPE.search(argument.type)):
            return "narrow_" + argument.decoder
        same = self.shared or form.startswith("n:") or form in SAME_FORM or WIDE_TYPE.search(argument.type)
        return argument.decoder if same else "p"

    def function(self):
        return f"__ia32_compat_sys_{self.own[7:]}" if self.own.startswith("compat_") else f"__ia32_sys_{self.own}"


def listed_compat_calls(djstap, kernel):
    """Returns {"compat_NAME": (source file, [(argument, type)])}: the functions for 32-bit programs alone."""
    calls, types = {}, {}
    for inner in ("do", "se"):
        done = subprocess.run([djstap, "-r", kernel, "--json", "-L", f'kernel.function("__{inner}_compat_sys_*")'],
                              capture_output=True, text=True, check=True)
        for line in done.stdout.splitlines():
            point = json.loads(line)
            match = re.match(r'kernel\.function\("__\w\w_compat_sys_(\w+)(?:@(.*):\d+)?"\)(\.inline)?', point["point"])
            pairs = [tuple(each[1:].split(":", 1)) for each in point["variables"]]
            if inner == "do":  # which has the types, but also variables, and may lack arguments
                types[match[1]] = dict(pairs)
            else:
                known = types.get(match[1], {})
                names = [name for name, _ in pairs]
                calls["compat_" + match[1]] = (match[2], ARGUMENTS.get("compat_" + match[1]) or [
                    (name, known.get(name, "u32")) for name in (reversed(names) if match[3] else names)])
            if inner == "do" and any(name == "__unused" for name, _ in pairs):
                calls["compat_" + match[1]] = (match[2], [])
    return calls


def function_of(name, functions):
    """Returns the kernel's function of a call of 32-bit programs, or None."""
    if name in FUNCTIONS:
        return FUNCTIONS[name] if FUNCTIONS[name] in functions else None
    entry = ENTRIES.get(name, name)
    shorter = re.sub(r"(_time64|64|32)$", "", name)
    tried = [f"compat_{entry}", f"compat_ia32_{name}", f"compat_{name}_time32", f"ia32_{name}", f"{name}_time32", f"{name}32",
             f"{name}16", entry, shorter]
    return next((each for each in tried if each in functions), None)


def base_of(function, calls):
    """Returns the call of 64-bit programs with the meaning of a function, or None."""
    name = re.sub(r"^(compat_)?(ia32_|old_)?", "", function)
    tried = [name, *(re.sub(ending + "$", "", name) for ending in ("_time32", "_time64", "32", "16", "64", "64_64")),
             {"mmap_pgoff": "mmap", "oldumount": "umount", "fstatat64": "newfstatat"}.get(name, name)]
    return next((calls[ENTRIES.get(each, each)] for each in tried if ENTRIES.get(each, each) in calls), None)


def compat_calls(names, listed, calls, rules):
    """Returns the calls of 32-bit programs. `listed`: the functions of each kernel; `calls`: those of 64-bit programs."""
    by_entry = {call.entry: call for call in calls}
    known = {}
    for each in listed:
        known.update(each)
    made = []
    for name in sorted(names):
        function = function_of(name, known)
        if function and known[function][0]:
            made.append(CompatCall(name, function, *known[function], rules, base_of(function, by_entry)))
    return made
