# SPDX-License-Identifier: GPL-2.0-or-later
"""A C library with static probes, built from Debian's package glibc-source: Debian's own has none."""
import glob
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "bench"))
import packages # noqa: E402

NEEDED = ("glibc-source", "systemtap-sdt-dev", "bison", "m4", "gawk")
FILES = {"libc.so": "libc.so.6", "elf/ld-linux-x86-64.so.2": "ld-linux-x86-64.so.2"}


def built():
    """Returns the folder with the library, building it if necessary; "" if packages are missing or it cannot be built."""
    folder = packages.cache("noted-libc")
    if all(os.path.exists(f"{folder}/{name}") for name in FILES.values()):
        return folder
    roots = [packages.unpacked(name) for name in NEEDED]
    if not all(roots) or not shutil.which("gcc"):
        return ""
    work = packages.cache("noted-libc-build")
    shutil.rmtree(work)
    headers = f"{work}/include/sys"
    os.makedirs(headers)
    os.makedirs(f"{work}/objects")
    archive = glob.glob(f"{roots[0]}/usr/src/glibc/glibc-*.tar.xz")
    subprocess.run(["tar", "xf", archive[0], "-C", work], check=True)
    for path in glob.glob(f"{roots[1]}/usr/include/**/sdt*.h", recursive=True):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        with open(f"{headers}/{os.path.basename(path)}", "w", encoding="utf-8") as file:
            # The library compiles assembly with -Werror=undef.
            file.write(text.replace("#if __STDC_VERSION__ >=", "#if defined __STDC_VERSION__ && __STDC_VERSION__ >="))
    environment = dict(os.environ, PATH=":".join([*(f"{root}/usr/bin" for root in roots), os.environ["PATH"]]), M4=f"{roots[3]}/usr/bin/m4",
                       BISON_PKGDATADIR=f"{roots[2]}/usr/share/bison", CFLAGS="-O2 -g0", CPPFLAGS=f"-I{work}/include")
    configure = glob.glob(f"{work}/glibc-*/configure")[0]
    with open(f"{work}/log", "w", encoding="utf-8") as log:
        for command in ([configure, "--prefix=/usr", "--enable-systemtap", "--disable-werror", "--disable-profile", "--disable-nscd",
                         "--without-selinux", "--disable-timezone-tools"], ["make", "-j2", "lib"]):
            done = subprocess.run(command, cwd=f"{work}/objects", env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, check=False)
            if done.returncode:
                print(f"the C library cannot be built: see {work}/log")
                return ""
    for path, name in FILES.items():
        shutil.copy(f"{work}/objects/{path}", f"{folder}/{name}")
    shutil.rmtree(work)
    return folder
