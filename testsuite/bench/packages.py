# SPDX-License-Identifier: GPL-2.0-or-later
"""The programs of the peers: Debian's packages, installed, or unpacked to the cache if they need not be installed."""
import glob
import os
import shutil
import subprocess
import tempfile

NOT_INSTALLED = "not run here, it is not installed (--with-peers installs it)"
# package: the program that shows that it is installed
PROGRAMS = {"bpftrace": "bpftrace", "systemtap": "stap", "lttng-tools": "lttng"}


def cache(*parts):
    """Returns a folder below djstap's cache folder; creates it if it is missing."""
    root = os.environ.get("DJSTAP_CACHE") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "djstap")
    path = os.path.join(os.path.abspath(root), "bench", *parts)
    os.makedirs(path, exist_ok=True)
    return path


def add_arguments(parser):
    parser.add_argument("--with-peers", action="store_true",
                        help="install bpftrace, SystemTap and LTTng where they are missing")
    parser.add_argument("--without-peers", action="store_true", help="measure djstap alone; writes no page")


def install(wanted=PROGRAMS):
    """Installs the peers that are missing (root)."""
    missing = [package for package in wanted if not shutil.which(PROGRAMS[package])]
    if missing:
        print(f"installing {' and '.join(missing)} …", flush=True)
        subprocess.run(["apt-get", "install", "-y", "--no-install-recommends", *missing], check=True,
                       stdout=subprocess.DEVNULL, env=dict(os.environ, DEBIAN_FRONTEND="noninteractive"))


def unpacked(package):
    """Returns the folder of a package's files, downloading it to the cache if necessary; "" if it is unavailable."""
    folder = cache("packages")
    path = os.path.join(folder, package)
    if os.path.isdir(path):
        return path
    with tempfile.TemporaryDirectory(dir=folder) as work:
        done = subprocess.run(["apt-get", "-o", "APT::Sandbox::User=root", "download", package], cwd=work,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        files = glob.glob(os.path.join(work, "*.deb"))
        if done.returncode or not files:
            return ""
        subprocess.run(["dpkg-deb", "-x", files[0], os.path.join(work, "root")], check=True)
        os.rename(os.path.join(work, "root"), path)
    return path


def corrected(path, corrections):
    """Applies (file, compiled expression, replacement) to the files of a copy of a peer's source."""
    for name, expression, replacement in corrections:
        file = os.path.join(path, name)
        with open(file, encoding="utf-8") as source:
            text = source.read()
        changed = expression.sub(replacement, text)
        if changed != text:
            with open(file, "w", encoding="utf-8") as target:
                target.write(changed)


def first_error(text):
    """Returns "file.c: what is wrong" from a compiler's messages."""
    for line in text.split("\n"):
        place, found, message = line.partition(": error: ")
        if found:
            quotes = message.replace("‘", "'").replace("’", "'")
            return f"{os.path.basename(place.split(':')[0])}: {quotes}"
    return "the build fails"
