# SPDX-License-Identifier: GPL-2.0-or-later
"""The sources that mutants are made in, and their syntax trees (libclang)."""
import json
import os
import re
import shlex
import subprocess
import sys

try:
    import clang.cindex as cindex
    from clang.cindex import CursorKind
except ImportError:
    sys.exit("mutate: python3-clang-19 is needed; scripts/setup installs it")

RUNTIME, CODEGEN = "runtime", "compiler/codegen"


def own_sources(root):
    """Paths, relative to root, of what the product is made of."""
    listed = subprocess.run(["git", "-C", root, "ls-files", "-co", "--exclude-standard", "compiler", "runtime"],
                            check=True, capture_output=True, text=True).stdout.split("\n")
    return sorted(path for path in listed if path.endswith((".cpp", ".c")) and os.path.exists(os.path.join(root, path)))


def folder_of(path):
    """What results are counted by: the phase, or the runtime's part."""
    return "/".join(path.split("/")[:2])


def is_core(path):
    return path.startswith((RUNTIME + "/", CODEGEN + "/"))


def in_user_space(path):
    """Is this part of the runtimes of --runtime=user and --runtime=process alone?"""
    return path.startswith(("runtime/userspace/", "runtime/injected/"))


def with_header(name, macro):
    """The lines that make a source of the runtime include this header of the runtime's folder in modules, and define the macro where there is
    none. An option of the compiler would not reach all: parts of a kit that are added later are compiled without those that name Kbuild's
    folder, and authors build a part of the runtime into modules of their own (runtime/capi)."""
    return (f'#ifdef __KERNEL__\n#if __has_include("{name}")\n#include "{name}"\n#endif\n#endif\n'
            f"#ifndef {macro.split('(')[0]}\n#define {macro}\n#endif\n").encode()


def kernel_flags(root, kernels, release):
    """Options to parse a kernel's C with. What gcc alone knows is left out: the tree is there without it."""
    build = os.path.join(kernels, release, "lib/modules", release, "build")
    common = build
    with open(os.path.join(build, "Makefile"), encoding="utf-8") as file:
        match = re.search(r"^include .*?(/usr/src/|\.\./)([\w.+-]+)/Makefile$", file.read(), re.MULTILINE)
    if match:  # Debian's: the headers that all flavours share
        common = os.path.join(os.path.dirname(os.path.realpath(build)), match[2])
    flags = ["-nostdinc", "-std=gnu11", "-w", "-ferror-limit=0", "-D__KERNEL__", "-DMODULE", '-DKBUILD_MODNAME="djstap"', "-DCC_USING_FENTRY"]
    for place in (common, build):
        for name in ("arch/x86/include", "arch/x86/include/generated", "include", "arch/x86/include/uapi",
                     "arch/x86/include/generated/uapi", "include/uapi", "include/generated/uapi"):
            flags.append(f"-I{place}/{name}")
    for name in ("compiler-version.h", "kconfig.h", "compiler_types.h"):
        flags += ["-include", f"{common}/include/linux/{name}"]
    return flags + features(root, build, common) + [f"-I{root}/runtime"]


def features(root, build, common):
    """-D options for the lines of features.list that hold for this kernel, as runtime/Kbuild finds them."""
    found = []
    with open(os.path.join(build, "Module.symvers"), encoding="utf-8") as file:
        symbols = {line.split("\t")[1] for line in file if "\t" in line}
    with open(os.path.join(root, "runtime", "features.list"), encoding="utf-8") as file:
        lines = [line.rstrip("\n").split(None, 3) for line in file if line.strip() and not line.startswith("#")]
    for define, kind, what, *pattern in lines:
        if kind == "symbol":
            holds = what in symbols
        else:
            path = os.path.join(common, what)
            holds = os.path.exists(path) and subprocess.run(["grep", "-Eq", pattern[0], path], check=False).returncode == 0
        if holds:
            found.append(f"-D{define}=1")
    return found


class Parser:
    """Parses sources of a tree that CMake has configured."""

    def __init__(self, root, build, kernels, release):
        self.root = root
        self.index = cindex.Index.create()
        self.kernel = kernel_flags(root, kernels, release)
        self.folders = {}
        with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
            for command in json.load(file):
                words = shlex.split(command["command"])
                kept = [word for word in words if word.startswith(("-I", "-D", "-std"))]
                kept += ["-isystem" + words[i + 1] for i, word in enumerate(words)
                         # It is searched anyway, at its own place.
                         if word == "-isystem" and words[i + 1] != "/usr/include"]
                inside = os.path.relpath(command["directory"], build)
                target = command.get("output", "") or words[words.index("-o") + 1]
                known = self.folders.setdefault(target.split("/CMakeFiles/")[0] if "/CMakeFiles/" in target else inside, [])
                known += [flag for flag in kept if flag not in known]

    def flags(self, path):
        if path.startswith("runtime/") and not in_user_space(path):
            return self.kernel
        # The architecture's folder is built as the chosen one.
        folder = "compiler/arch/chosen" if path.startswith("compiler/arch/") else os.path.dirname(path)
        while folder and folder not in self.folders:
            folder = os.path.dirname(folder)
        flags = self.folders[folder or "compiler/driver"]
        return [flag for flag in flags if not flag.startswith("-std=")] + ["-std=gnu11"] if path.endswith(".c") else flags

    def parse(self, path):
        return self.index.parse(os.path.join(self.root, path), args=self.flags(path))


def inside(cursor, path):
    """Does it stand in this file, written out, not come from a macro?"""
    start = cursor.extent.start
    return start.file is not None and start.file.name == path


def functions(unit):
    """Definitions of functions in the unit's main file."""
    kinds = {CursorKind.FUNCTION_DECL, CursorKind.CXX_METHOD, CursorKind.CONSTRUCTOR, CursorKind.DESTRUCTOR,
             CursorKind.FUNCTION_TEMPLATE, CursorKind.CONVERSION_FUNCTION, CursorKind.LAMBDA_EXPR}
    containers = {CursorKind.NAMESPACE, CursorKind.CLASS_DECL, CursorKind.STRUCT_DECL, CursorKind.UNEXPOSED_DECL,
                  CursorKind.LINKAGE_SPEC, CursorKind.CLASS_TEMPLATE}
    pending = [each for each in unit.cursor.get_children() if inside(each, unit.spelling)]
    while pending:
        cursor = pending.pop()
        if cursor.kind in kinds:
            if cursor.is_definition():
                yield cursor
        elif cursor.kind in containers:
            pending += [each for each in cursor.get_children() if inside(each, unit.spelling)]
