# SPDX-License-Identifier: GPL-2.0-or-later
"""LTTng: builds its modules for a guest's kernel from Debian's source package, and adds its programs to the guest.

lttng-modules 2.13.9 in Debian 12 does not build for either kernel without changes. A copy in the cache is corrected:
names that the kernels changed are replaced, and probes that are not used here are removed.
"""
import glob
import os
import re
import shutil
import subprocess

import guest
import kernels
import packages

CONSUMER = "/usr/lib/x86_64-linux-gnu/lttng/libexec/lttng-consumerd"
SCHEMA = "/usr/share/xml/lttng/session.xsd"
PROBES = "sched,irq,x86-exceptions,x86-irq-vectors"

_ANYWHERE = re.MULTILINE
# The prototypes of the timer events changed in 6.1.y.
_EVERYWHERE = [("src/probes/Kbuild", re.compile(r"^.*lttng-probe-timer\.o\n", _ANYWHERE), "")]
_FOR_6_12 = [
    ("src/probes/Kbuild", re.compile(r"^.*lttng-probe-(skb|vmscan)\.o\n", _ANYWHERE), ""),
    ("src/probes/Kbuild", re.compile(r"lttng-probe-udp\.o"), ""),
    ("src/lib/ringbuffer/ring_buffer_backend.c", re.compile(r"\bstrlcpy\("), "strscpy("),
    ("src/lib/ringbuffer/ring_buffer_mmap.c", re.compile(r"vma->vm_flags \|= (\w+);"), r"vm_flags_set(vma, \1);"),
    ("include/lttng/events-internal.h", re.compile(r"\buuid_le\b"), "guid_t"),
    ("include/wrapper/uprobes.h", re.compile(r"return uprobe_register\(inode, offset, uc\);"), "return -ENOSYS;"),
    ("include/wrapper/uprobes.h", re.compile(r"^\tuprobe_unregister\(inode, offset, uc\);", _ANYWHERE), ""),
    ("include/wrapper/fdtable.h", re.compile(r"lookup_fd_rcu\(fd\);"), "files_lookup_fd_raw(current->files, fd);"),
    ("include/wrapper/fdtable.h", re.compile(r"return close_on_exec\(fd, fdt\);"),
     "return test_bit(fd, fdt->close_on_exec);"),
    ("include/instrumentation/events/lttng-statedump.h", re.compile(r"c->phys_proc_id"), "c->topo.pkg_id"),
    ("include/instrumentation/events/lttng-statedump.h", re.compile(r"c->cpu_core_id"), "c->topo.core_id"),
    ("include/instrumentation/events/sched.h", re.compile(r"^\t*ctf_integer\(u64, vruntime, .*\n", _ANYWHERE), ""),
    ("include/instrumentation/events/sched.h", re.compile(r"runtime, u64 vruntime\)"), "runtime)"),
    ("include/instrumentation/events/sched.h", re.compile(r"\(tsk, runtime, vruntime\)"), "(tsk, runtime)"),
    ("src/lttng-statedump-impl.c", re.compile(r"\bread_(un)?lock\(&dev_base_lock\)"), r"rcu_read_\1lock()"),
]
CORRECTIONS = {"6.1": _EVERYWHERE, "6.12": _EVERYWHERE + _FOR_6_12}


def version():
    return re.sub(r" - .*", "", kernels.first_line(["lttng", "--version"])).replace("lttng (LTTng Trace Control)", "LTTng")


def build(release):
    """Returns (the folder of the modules, "") or (None, why there are none)."""
    source = packages.unpacked("lttng-modules-dkms")
    if not source:
        return None, "not run here, the package lttng-modules-dkms cannot be fetched"
    folder = packages.cache("lttng", release)
    done = os.path.join(folder, "built")
    if not os.path.exists(done):
        copy = os.path.join(folder, "source")
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(glob.glob(source + "/usr/src/lttng-modules-*")[0], copy)
        packages.corrected(copy, CORRECTIONS.get(kernels.series_of(release), _EVERYWHERE))
        print(f"  building LTTng's modules for {release} …", flush=True)
        made = subprocess.run(["make", "-j2", "-C", f"{guest.KERNELS}/{release}/lib/modules/{release}/build", f"M={copy}",
                               "modules", "CONFIG_LTTNG=m"], stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if made.returncode:
            return None, f"does not build here ({packages.first_error(made.stdout + made.stderr)})"
        _stage(release, copy, os.path.join(folder, "root"))
        open(done, "w", encoding="utf-8").close()
    return os.path.join(folder, "root"), ""


def _stage(release, source, root):
    """Arranges the modules as modprobe expects them."""
    shutil.rmtree(root, ignore_errors=True)
    modules = os.path.join(root, "lib", "modules", release)
    os.makedirs(modules + "/extra")
    for name in ("modules.builtin", "modules.builtin.modinfo", "modules.order"):
        shutil.copy(f"{guest.KERNELS}/{release}/lib/modules/{release}/{name}", modules)
    wanted = re.compile(r"^lttng-(?!probe|test)|^lttng-probe-(" + PROBES.replace(",", "|") + ")")
    for path in glob.glob(source + "/**/*.ko", recursive=True):
        if wanted.match(os.path.basename(path)):
            subprocess.run(["strip", "--strip-debug", "-o", f"{modules}/extra/{os.path.basename(path)}", path], check=True)
    subprocess.run([shutil.which("depmod", path="/sbin:/usr/sbin:/bin:/usr/bin"), "-b", root, release], check=True)


def add(archive, root):
    """Adds LTTng's programs and modules to a guest's initramfs."""
    for folder, _, files in os.walk(root):
        for name in files:
            path = os.path.join(folder, name)
            archive.file(os.path.relpath(path, root), path)
    for name in ("lttng", "lttng-sessiond"):
        archive.program(shutil.which(name))
    archive.program(CONSUMER)  # for its libraries; the program itself is started from its installed path
    archive.file(CONSUMER.lstrip("/"), CONSUMER)
    archive.file(SCHEMA.lstrip("/"), SCHEMA)
    archive.text("etc/passwd", "root:x:0:0:root:/root:/bin/sh\n", 0o644)
    archive.text("etc/group", "root:x:0:\n", 0o644)
    archive.text("bin/lttng-begin", BEGIN)
    archive.text("bin/lttng-record", RECORD)
    archive.text("bin/lttng-end", END)


BEGIN = f"""#!/bin/sh
mkdir -p /var/run /root /dev/shm
mount -t tmpfs shm /dev/shm
export HOME=/root
lttng-sessiond --kmod-probes={PROBES} >/tmp/sessiond 2>&1 &
until lttng --no-sessiond list >/dev/null 2>&1; do usleep 100000; done
"""

# Runs a command while events are recorded: lttng-record "CONTEXT" "OPTIONS OF enable-event; …" COMMAND…
RECORD = """#!/bin/sh
export HOME=/root
context=$1 events=$2
shift 2
rm -rf /tmp/trace
lttng create bench --output=/tmp/trace
lttng enable-channel -k all --subbuf-size=4M --num-subbuf=4 || exit 1
IFS=';'
for each in $events; do
    (unset IFS; lttng enable-event -k -c all $each) || exit 1
done
unset IFS
[ -z "$context" ] || lttng add-context -k -c all $context || exit 1
lttng start || exit 1
"$@"
lttng stop
echo "discarded $(lttng list bench | sed -n 's/.*Discarded events: //p')"
lttng destroy
echo "recorded $(cat /tmp/trace/kernel/all_* | wc -c) bytes"
"""
END = """#!/bin/sh
kill $(pidof lttng-sessiond)
"""
