# SPDX-License-Identifier: GPL-2.0-or-later
"""A pmcd of a test's own, with djstap's agent and the metrics about pmcd itself: no file, port or name of the machine's is used."""
import os
import shutil
import signal
import socket
import subprocess
import time

PMCD = "/usr/lib/pcp/bin/pmcd"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Pcp:
    """with Pcp(folder, agent, "--recorded", file) as pcp: pcp.values("djstap.x.n")"""

    def __init__(self, folder, agent, *arguments, user="root"):
        self.folder, self.agent, self.arguments, self.user = folder, agent, arguments, user
        self.port = free_port()
        self.host = f"127.0.0.1:{self.port}"

    def path(self, name):
        return os.path.join(self.folder, name)

    def log(self):
        found = ""
        for name in ("pmcd.log", "djstap.log"):
            if os.path.exists(self.path(name)):
                with open(self.path(name), errors="replace") as log:
                    found += f"--- {name}\n{log.read()}"
        return found

    def __enter__(self):
        with open(self.path("root"), "w") as names:
            with open("/var/lib/pcp/pmns/root_pmcd") as of_pmcd:
                names.write(of_pmcd.read().replace("root {", "root {\n    djstap 444:*:*", 1))
        words = [self.agent, "-d", "444", "-l", self.path("djstap.log"), *self.arguments]
        with open(self.path("pmcd.conf"), "w") as conf:
            # pmproxy needs what pmcd tells of itself.
            conf.write("pmcd 2 dso pmcd_init /var/lib/pcp/pmdas/pmcd/pmda_pmcd.so\n")
            conf.write(f"djstap 444 pipe binary {' '.join(words)}\n")
        # pmcd takes itself for the machine's only one by the file of its process id.
        self.environment = {**os.environ, "PCP_RUN_DIR": self.folder, "PCP_LOG_DIR": self.folder, "PCP_TMP_DIR": self.folder,
                            "PCP_PYTHON_PROG": "/usr/bin/python3"}  # the one that has its modules
        # By itself, pmcd gives up an agent that does not answer for 3 seconds at its start, and 5 later.
        self.pmcd = subprocess.Popen(
            [PMCD, "-f", "-A", "-q", "300", "-t", "300", "-U", self.user, "-c", self.path("pmcd.conf"), "-l", self.path("pmcd.log"), "-n", self.path("root"),
             "-i", "127.0.0.1", "-p", str(self.port), "-s", self.path("pmcd.socket")],
            env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            self.until(lambda: self.run("pminfo", "djstap.agent.version").returncode == 0, "pmcd does not answer")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.pmcd.send_signal(signal.SIGTERM)
        self.pmcd.wait()

    def until(self, condition, why, seconds=120):
        """Waits for what must happen sooner or later; the limit is for what never does."""
        limit = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > limit:
                raise AssertionError(f"{why}\n{self.log()}")
            time.sleep(0.05)

    def run(self, program, *arguments, **more):
        return subprocess.run([program, "-h", self.host, *arguments], env=self.environment, capture_output=True, text=True,
                              errors="replace", check=False, timeout=300, **more)

    def names(self, *more):
        return self.run("pminfo", *more, "djstap").stdout.split()

    def values(self, metric):
        """The value of a metric, or its values by instance; nothing: it has none.

        pminfo asks for the values first and for the instances' names behind it. An instance that goes in between has a value
        and no name (`inst [2 or ???] value "running"`): it is left out, as if it had been asked for a moment later."""
        lines = self.run("pminfo", "-f", metric).stdout.splitlines()
        found = {}
        for line in lines:
            line = line.strip()
            if line.startswith("value "):
                return self.value(line[len("value "):])
            if line.startswith("inst [") and " or ???] value " not in line.split('"', 1)[0]:
                assert '"] value ' in line, f"pminfo says of an instance: {line}"
                name, value = line.split('"] value ', 1)
                found[name.split(' or "', 1)[1]] = self.value(value)
        return found

    @staticmethod
    def value(text):
        return text[1:-1] if text.startswith('"') else int(text)

    def agent_id(self):
        """The process id of the agent; nothing: it does not run."""
        children = subprocess.run(["ps", "--ppid", str(self.pmcd.pid), "-o", "pid=,comm="], capture_output=True, text=True, check=False)
        for line in children.stdout.splitlines():
            number, name = line.split(None, 1)
            if name.strip() == os.path.basename(self.agent)[:15]:
                return int(number)
        return None


def is_installed():
    return os.path.exists(PMCD) and shutil.which("pminfo") is not None
