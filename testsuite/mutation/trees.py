# SPDX-License-Identifier: GPL-2.0-or-later
"""Copies of the project that are built and tested apart from it, where nothing else can be written to."""
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import time

# What a changed program may do is not known: it sees the machine read-only but for its own tree, has a /tmp of its own, and
# no process of it lives on.
SANDBOX = """
mount --make-rprivate /
mount --bind "$1" "$1"
mount --bind "$1/$2" /tmp
# djstap removes what is left there by processes that are gone, and those of others are not seen here.
mount -t tmpfs tmpfs /dev/shm
mount -o remount,bind,ro /
for place in $(awk '$2 != "/" && $2 !~ "^/(proc|sys|dev|tmp)" { print $2 }' /proc/self/mounts); do
    case "$place" in "$1"*) ;; *) mount -o remount,bind,ro "$place" 2>/dev/null ;; esac
done
mount -t proc proc /proc
cd "$PWD" # as it is mounted now
shift 2
exec "$@"
"""


def listed(root, *folders):
    """Paths of the project's files, relative to root."""
    names = subprocess.run(["git", "-C", root, "ls-files", "-z", "-co", "--exclude-standard", *folders], check=True,
                           capture_output=True).stdout.decode().split("\0")
    return sorted(name for name in set(names) if name and os.path.isfile(os.path.join(root, name)))


def contents(root, *folders):
    """Names and contents of the project's files below these folders, one after the other."""
    for name in listed(root, *folders):
        yield name
        with open(os.path.join(root, name), "rb") as file:
            yield file.read()


def failing_tests(output):
    """Names of the tests that fail, of what a GoogleTest program prints."""
    return sorted(set(re.findall(r"^\[  FAILED  \] ([\w./]+)(?:, where .*)? \(\d+ ms\)$", output, re.MULTILINE)))


def without(command, names):
    """The command of a GoogleTest program that runs several tests, without these."""
    kept = [":".join(each for each in word.split("=", 1)[1].split(":") if each not in names) if word.startswith("--gtest_filter=") else ""
            for word in command]
    return ["--gtest_filter=" + left if left else word for word, left in zip(command, kept)] if names else command


class Tree:
    """A copy of the tracked files with a build of its own: little optimized units as large as the release build's, LLVM not
    linked in. Its containers check their bounds, in the place of the sanitizers' build, which would take too long."""

    def __init__(self, root, path, kernels, flags=""):
        self.root, self.path, self.kernels, self.flags = root, path, kernels, flags
        self.build = os.path.join(path, "build", "release")
        self.log = os.path.join(path, "build.log")

    def copy(self):
        """Brings the tree to the state of the project's files; what is as it was keeps its time."""
        for name in listed(self.root):
            source, target = os.path.join(self.root, name), os.path.join(self.path, name)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with open(source, "rb") as file:
                content = file.read()
            self.write(name, content)
            shutil.copymode(source, target)
        for name in ("tmp", "home"):
            os.makedirs(os.path.join(self.path, name), exist_ok=True)
        os.chmod(os.path.join(self.path, "tmp"), 0o1777)  # it is /tmp to what runs there

    def write(self, name, content):
        """A file, unless it has this content already."""
        target = os.path.join(self.path, name)
        if os.path.exists(target):
            with open(target, "rb") as file:
                if file.read() == content:
                    return
        with open(target, "wb") as file:
            file.write(content)

    def configure(self):
        self.logged(["cmake", "-S", self.path, "-B", self.build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=None",
                     "-DCMAKE_C_COMPILER=clang-19", "-DCMAKE_CXX_COMPILER=clang++-19", f"-DCMAKE_C_FLAGS=-O1 -Wno-error=frame-larger-than {self.flags}",
                     f"-DCMAKE_CXX_FLAGS=-O1 -D_GLIBCXX_ASSERTIONS {self.flags}", "-DCMAKE_UNITY_BUILD=ON", "-DCMAKE_UNITY_BUILD_BATCH_SIZE=0",
                     "-DDJSTAP_STATIC_LLVM=OFF", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"]).check_returncode()

    def compile(self, targets=()):
        """Do these, or all, compile?"""
        return self.logged(["cmake", "--build", self.build] + (["--target", *targets] if targets else [])).returncode == 0

    def generate(self):
        """Writes the sources that others include (the grammar's parser, the agent in an array), without compiling what includes them: each of
        the build's targets has one that stands for what it waits for."""
        waited_for = self.targets(r"cmake_object_order_depends_target_\w+")
        return bool(waited_for) and self.compile(waited_for)

    def targets(self, name):
        """Names of the build's targets that match this."""
        listed = subprocess.run(["ninja", "-C", self.build, "-t", "targets", "all"], check=True, capture_output=True, text=True).stdout
        return sorted(set(re.findall(rf"^({name}): phony$", listed, re.MULTILINE)))

    def unit_programs(self):
        """Names of the programs of unit tests, built or not."""
        return self.targets(r"unit_\w+")

    def logged(self, command):
        with open(self.log, "ab") as log:
            # What another tree compiled already is in the cache, whatever folder it is in.
            environment = dict(os.environ, CCACHE_BASEDIR=self.path, CCACHE_NOHASHDIR="1")
            return subprocess.run(command, stdout=log, stderr=log, check=False, env=environment)

    def objects(self):
        """{object file: hash} of the build."""
        found = {}
        for folder, _, names in os.walk(self.build):
            for name in names:
                if name.endswith(".o"):
                    with open(os.path.join(folder, name), "rb") as file:
                        found[os.path.join(folder, name)] = hashlib.sha256(file.read()).hexdigest()
        return found

    def kits(self, releases):
        """What the runtime's code is for these kernels: {release: hash of its instructions}; None where it does not compile."""
        found = {}
        for release in releases:
            shutil.rmtree(os.path.join(self.path, "cache", "runtime"), ignore_errors=True)
            done = self.run([os.path.join(self.build, "bin", "djstap"), "-r", release, "-p4", "-m", "kit", "-e", "probe begin { exit() }"], 300,
                            folder=os.path.join(self.path, "tmp"))
            if done[0] != 0:
                return None
            folder = os.path.join(self.path, "cache", "runtime")
            digest = hashlib.sha256()
            for kit in sorted(os.listdir(folder)):
                for name in sorted(os.listdir(os.path.join(folder, kit))) if not kit.startswith(".") else []:
                    if name.endswith(".o"):
                        code = subprocess.run(["objdump", "-drs", "--no-show-raw-insn", name], cwd=os.path.join(folder, kit),
                                              capture_output=True, check=True).stdout
                        digest.update(code)
            found[release] = digest.hexdigest()
        return found

    def content(self, test):
        """What a program of unit tests is, to see that it is another one; of others only their names are known."""
        program = test[0][0]
        if not os.path.basename(program).startswith("unit_"):
            return ""
        with open(program, "rb") as file:
            return hashlib.sha256(file.read()).hexdigest()[:16]

    def environment(self, more=None):
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "TERM") if name in os.environ}
        return kept | {"HOME": os.path.join(self.path, "home"), "DJSTAP_CACHE": os.path.join(self.path, "cache"),
                       "DJSTAP_KERNELS": self.kernels, "TMPDIR": "/tmp", "CCACHE_DISABLE": "1"} | (more or {})

    def run(self, command, timeout, folder=None, environment=None, tmp="tmp"):
        """(status, output, seconds); the status is None when it took too long. `tmp` is the tree's folder that is /tmp to it."""
        began = time.monotonic()
        sandboxed = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", SANDBOX, "sh", self.path, tmp] + command
        with subprocess.Popen(sandboxed, cwd=folder or self.path, env=self.environment(environment), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True) as process:
            try:
                output, _ = process.communicate(timeout=timeout)
                status = process.returncode
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                output, status = process.communicate()[0], None
        return status, output.decode("utf-8", "replace"), time.monotonic() - began

    def tests(self):
        """{name: (command, folder, whether it needs a guest)}: CTest's, those of one GoogleTest program together.

        Those of --nightly are among them if they only take long; most of the others repeat what scripts/test runs elsewhere."""
        known = json.loads(subprocess.run(["ctest", "--test-dir", self.build, "-C", "nightly", "--show-only=json-v1"], check=True,
                                           capture_output=True).stdout)["tests"]
        found, programs = {}, {}
        for test in known:
            properties = {each["name"]: each["value"] for each in test.get("properties", [])}
            command = test.get("command")
            labels = properties.get("LABELS", [])
            if not command or properties.get("DISABLED") or test["name"].endswith("_NOT_BUILT"):
                continue
            if any(label.endswith("nightly") for label in labels) and "long" not in labels:
                continue
            kernel = "kernel" in labels
            folder = properties.get("WORKING_DIRECTORY", self.build)
            filters = [word for word in command if word.startswith("--gtest_filter=")]
            if filters and not kernel:
                programs.setdefault((command[0], folder), []).append(filters[0].split("=", 1)[1])
            else:
                found[test["name"]] = (command, folder, kernel)
        for (program, folder), names in programs.items():
            found[os.path.basename(program)] = ([program, "--gtest_brief=1", "--gtest_filter=" + ":".join(names)], folder, False)
        return found
