# SPDX-License-Identifier: GPL-2.0-or-later
"""SystemTap's modules, many at once.

stap's pass 4 runs one make for one C file of a script: most of its time goes into make and modpost. Here stap
translates each script (pass 3), and one make compiles all of them, with the flags and the header that pass 4 created
for a first script.
"""
import concurrent.futures
import glob
import os
import re
import shutil
import subprocess

import guest
import packages
import systemtap

# Since 5.11 a function returns the kretprobe of an instance.
_RETURNS = re.compile(r"\bpi->rp->data_size\b"), "get_kretprobe(pi)->data_size"
_FLAGS = re.compile(r"^EXTRA_CFLAGS \+= (.*)$", re.MULTILINE)


class Translator:
    """Translates scripts to C, and the C of many to modules."""

    def __init__(self, release):
        self.release = release
        self.runtime = systemtap.runtime()
        self.kit = packages.cache("beside", release, "kit")
        self._prepare()

    def _prepare(self):
        """Takes the flags and the configuration header (stapconf_….h) of pass 4 from a first script."""
        self.flags = os.path.join(self.kit, "flags")
        self.header = os.path.join(self.kit, "stapconf.h")
        if os.path.exists(self.flags):
            return
        work = os.path.join(self.kit, "work")
        shutil.rmtree(work, ignore_errors=True)
        os.makedirs(work)
        done = self._stap(["-p4", "-k", "-m", "first", "-e", "probe begin { exit() }"], work)
        makefiles = glob.glob(os.path.join(work, "stap*", "Makefile"))
        headers = glob.glob(os.path.join(work, "stap*", "stapconf_[0-9a-f]*_*.h"))
        if done.returncode or not makefiles or not headers:
            raise RuntimeError(f"SystemTap does not build a module for {self.release}:\n{done.stderr}")
        shutil.copy(headers[0], self.header)
        with open(makefiles[0], encoding="utf-8") as file:
            flags = [flag for flag in _FLAGS.findall(file.read()) if not flag.startswith("-include ")]
        with open(self.flags + ".new", "w", encoding="utf-8") as file:
            file.write("\n".join(flags))
        os.rename(self.flags + ".new", self.flags)
        shutil.rmtree(work)

    def _stap(self, arguments, work):
        environment = systemtap.environment(self.release)
        environment["TMPDIR"] = work
        return subprocess.run(systemtap.command(self.release, ["-R", self.runtime, "-r", self.release, *arguments]),
                              cwd=work, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True, errors="replace")

    def translate(self, item, folder, name):
        """Returns "" if the C code of a (script, options) is in folder/name, else the reason why it is not."""
        script, options = item
        end = options.index("--") if "--" in options else len(options)
        work = os.path.join(folder, name + ".work")
        os.makedirs(work)
        done = self._stap(["-p3", "-k", "-m", name, *options[:end], "-e", script, *options[end + 1:]], work)
        sources = glob.glob(os.path.join(work, "stap*", f"{name}_src.c"))
        if done.returncode or not sources:
            return " ".join(re.findall(r"^(?:\w+ )?error: (.*)", done.stderr, re.MULTILINE)) or done.stderr.strip()
        packages.corrected(os.path.dirname(sources[0]), [(os.path.basename(sources[0]), *_RETURNS)])
        os.rename(os.path.dirname(sources[0]), os.path.join(folder, name))
        shutil.rmtree(work)
        defined = [options[at + 1] for at in range(end - 1) if options[at] == "-D"] + \
                  [option[2:] for option in options[:end] if option.startswith("-D") and option != "-D"]
        self._write_kbuild(os.path.join(folder, name), name, [f"-D{macro}" for macro in defined])
        return ""

    def compile(self, folder, names):
        """Returns {name: module} of those in `names` that compile, and {name: reason} of the others."""
        build = os.path.realpath(f"{guest.KERNELS}/{self.release}/lib/modules/{self.release}/build")
        modules = {name: os.path.join(folder, name, name + ".ko") for name in names}
        failed, silent = {}, 0
        while names:
            with open(os.path.join(folder, "Kbuild"), "w", encoding="utf-8") as file:
                file.write("".join(f"obj-m += {name}/\n" for name in names))
            done = subprocess.run(["make", "-k", f"-j{os.cpu_count()}", "-C", build, f"M={folder}", "modules"],
                                  stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            missing = [name for name in names if not os.path.exists(modules[name])]
            if not missing:
                break
            # One that does not compile prevents all from being linked.
            errors = [line for line in done.stderr.split("\n") if ": error: " in line]
            bad = {name: [line for line in errors if f"{name}_src" in line] for name in missing}
            if not any(bad.values()):  # an error in a header
                bad = {name: errors for name in missing if not os.path.exists(os.path.join(folder, name, name + ".o"))}
            bad = {name: packages.first_error("\n".join(lines)) for name, lines in bad.items() if lines}
            silent = 0 if bad else silent + 1
            if silent > 1:
                raise RuntimeError(f"no module for {', '.join(missing)}:\n{done.stderr[-2000:]}")
            failed.update(bad)
            names = [name for name in names if name not in failed]
        return {name: modules[name] for name in names}, failed

    def _write_kbuild(self, path, name, own_flags):
        with open(self.flags, encoding="utf-8") as file:
            flags = file.read().split("\n") + own_flags
        sources = sorted(os.path.basename(source)[:-2] for source in glob.glob(os.path.join(path, "*.c"))
                         if not source.endswith(".mod.c"))
        with open(os.path.join(path, "Kbuild"), "w", encoding="utf-8") as file:
            file.write(f"ccflags-y := -I{path} -include {self.header}\n")
            file.writelines(f"ccflags-y += {flag}\n" for flag in flags)
            # Without debug information and at -O1, which takes a third of the time, and without errors for unusual C
            # code of random programs ("'<<' in boolean context"): scripts are not affected.
            file.write("ccflags-y += -g0 -O1 -Wno-error\n")
            file.write(f"obj-m := {name}.o\n{name}-y := {' '.join(source + '.o' for source in sources)}\n")


def build(translator, items, folder):
    """Returns {name: module} of the (script, options) in items, by name, and {name: (state, reason)} of those without one."""
    failed = {}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for name, why in zip(items, pool.map(lambda name: translator.translate(items[name], folder, name), items)):
            if why:
                failed[name] = ("refused", why)
    modules, unbuilt = translator.compile(folder, [name for name in items if name not in failed])
    failed.update({name: ("unbuilt", why) for name, why in unbuilt.items()})
    return modules, failed
