#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares the .rpm in a folder with the .deb beside them: the same files with the same content, modes and owners, and what the
packages require.

    rpm.py build/package
"""
import glob
import hashlib
import io
import os
import re
import subprocess
import sys
import tarfile

PACKAGES = {"djstap": "x86_64", "djrun": "x86_64", "djstap-dev": "noarch"}
ONLY_DEBIAN = re.compile(r"/usr/share/doc/[^/]+/changelog\.Debian\.gz$|/usr/share/lintian/")
MOVED = {"/usr/share/zsh/vendor-completions/": "/usr/share/zsh/site-functions/"}
REQUIRED = {"djstap": ["djrun = {version}", "make", "gcc", "binutils", "libc.so.6()(64bit)"], "djrun": [],
            "djstap-dev": ["djstap >= {number}"]}


def output_of(*command, text=True):
    return subprocess.run(command, stdout=subprocess.PIPE, text=text, check=True).stdout


def files_of_tar(data):
    """Returns {path: (hash or target of a link, mode, owner)} of the files in a tar archive."""
    found = {}
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        for member in archive:
            if not member.isdir():
                content = archive.extractfile(member).read() if member.isfile() else member.linkname.encode()
                found["/" + member.name.lstrip("./")] = (hashlib.sha256(content).hexdigest(), member.mode & 0o7777)
    return found


def of_debian(path):
    files = files_of_tar(output_of("dpkg-deb", "--fsys-tarfile", path, text=False))
    renamed = {}
    for name, what in files.items():
        for old, new in MOVED.items():
            name = name.replace(old, new)
        if not ONLY_DEBIAN.search(name):
            renamed[name] = what
    return renamed


def of_rpm(path):
    """The same of an .rpm."""
    folder_free = subprocess.run(["rpm2archive", "-n", "-"], stdin=open(path, "rb"), stdout=subprocess.PIPE, check=True).stdout
    return files_of_tar(folder_free)


def query(path, text):
    return output_of("rpm", "-qp", "--qf", text, path)


def problems(folder):
    for package, architecture in PACKAGES.items():
        rpms, debs = (glob.glob(os.path.join(folder, pattern)) for pattern in (f"{package}-[0-9]*.rpm", f"{package}_*.deb"))
        if len(rpms) != 1 or len(debs) != 1:
            yield f"{package}: {len(rpms)} .rpm, {len(debs)} .deb"
            continue
        rpm, deb = rpms[0], debs[0]
        name, version, arch, licence = query(rpm, "%{NAME} %{VERSION}-%{RELEASE} %{ARCH} %{LICENSE}").split()
        if (name, arch, licence) != (package, architecture, "GPL-2.0-or-later"):
            yield f"{package}: it is called {name}, for {arch}, {licence}"
        if version != output_of("dpkg-deb", "-f", deb, "Version").strip():
            yield f"{package}: its version is {version}"
        ours, theirs = of_rpm(rpm), of_debian(deb)
        for path in sorted(set(ours) ^ set(theirs)):
            yield f"{package}: only the {'.rpm' if path in ours else '.deb'} has {path}"
        for path in sorted(set(ours) & set(theirs)):
            if ours[path] != theirs[path]:
                yield f"{package}: {path} differs: {ours[path]}, {theirs[path]}"
        if len(ours) < 2:
            yield f"{package}: it has only {len(ours)} files"
        owners = set(query(rpm, "[%{FILEUSERNAME}:%{FILEGROUPNAME}\n]").split())
        if owners != {"root:root"}:
            yield f"{package}: files belong to {owners}"
        requires = output_of("rpm", "-qp", "--requires", rpm).splitlines()
        for wanted in REQUIRED[package]:
            wanted = wanted.format(version=version, number=version.split("-")[0])
            if wanted not in requires:
                yield f"{package}: it does not require {wanted}, but {requires}"
        shared = [path for path in query(rpm, "[%{FILEMODES:perms} %{FILENAMES}\n]").splitlines()
                  if path.startswith("d") and path.split()[1] in ("/usr", "/usr/bin", "/usr/share", "/usr/lib/systemd/system")]
        for path in shared:
            yield f"{package}: it owns the folder {path}"
    if "groupadd --system djstap" not in output_of("rpm", "-qp", "--scripts", *glob.glob(os.path.join(folder, "djrun-[0-9]*.rpm"))):
        yield "djrun: nothing makes the group djstap"


def main():
    found = list(problems(sys.argv[1]))
    for problem in found:
        print(f"FAILED: {problem}")
    if not found:
        print("the .rpm contain what the .deb do")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
