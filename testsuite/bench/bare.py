# SPDX-License-Identifier: GPL-2.0-or-later
"""The least that attaching takes: a module that attaches one empty function to the functions of a module of djstap."""
import os
import re
import shutil
import struct
import subprocess

import guest
import page

# struct djs_site (runtime/include/contract.def): address; entry, fallback, handler, trampoline, next, segment; point, file, line,
# function, name; mechanism, forced, maxactive; code, its bytes.
SITE = struct.Struct("<Q2i9I2BH2I")

NO_INDEX = 0xffffffff


def _symbols(path):
    """{name: (address, size)} of an object or a kernel."""
    listing = subprocess.run(["nm", "-S", path], capture_output=True, text=True, check=True).stdout
    found = re.finditer(r"^([0-9a-f]+)(?: ([0-9a-f]+))? \w (\S+)$", listing, re.MULTILINE)
    return {match[3]: (int(match[1], 16), int(match[2] or "0", 16)) for match in found}


def site_addresses(path):
    """The link-time addresses of the fentry sites of a module that djstap made, in its order."""
    start, size = _symbols(path)["djs_script_sites"]
    sections = subprocess.run(["readelf", "-SW", path], capture_output=True, text=True, check=True).stdout
    offset = int(re.search(r"\s\.rodata\s+PROGBITS\s+[0-9a-f]+ ([0-9a-f]+)", sections)[1], 16)
    with open(path, "rb") as file:
        file.seek(offset + start)
        table = file.read(size)
    if size % SITE.size:
        raise guest.Failed("djs_script_sites is not a table of struct djs_site: SITE is outdated")
    return [site[0] for site in SITE.iter_unpack(table) if site[6] != NO_INDEX]


def build(release, djstap_module, folder):
    """Builds the module in `folder` and returns its path."""
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bare")
    for name in ("bare.c", "Kbuild"):
        shutil.copy(os.path.join(source, name), folder)
    build_folder = f"{guest.KERNELS}/{release}/lib/modules/{release}/build"
    base = _symbols(f"{guest.KERNELS}/{release}/usr/lib/debug/boot/vmlinux-{release}")["_printk"][0]
    addresses = site_addresses(djstap_module)
    with open(os.path.join(folder, "sites.h"), "w", encoding="utf-8") as file:
        file.writelines(f"{address - base},\n" for address in addresses)
    multi = subprocess.run(["grep", "-rqw", "register_ftrace_direct_multi", os.path.join(build_folder, "Module.symvers")])
    flags = "-DHAVE_FTRACE_DIRECT_MULTI" if multi.returncode == 0 else ""
    done = subprocess.run(["make", "-s", "-C", build_folder, "M=" + folder, "KCFLAGS=" + flags, "modules"],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode:
        raise guest.Failed(f"{page.ROOT}/testsuite/bench/bare does not build:\n{done.stdout}{done.stderr}")
    return os.path.join(folder, "bare.ko")
