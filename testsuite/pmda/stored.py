# SPDX-License-Identifier: GPL-2.0-or-later
"""Scripts that users store with the agent: who may, who may not, and what becomes of them."""
import glob
import os
import pwd
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import own_pmcd  # noqa: E402

STORE = "djstap.agent.store"
SCRIPT = "global n # [counter]\nprobe timer.ms(5) { n++ }\nprobe never { println(n) }"
NOBODY = {"user": 65534, "group": 65534, "extra_groups": []}


def expect(what, found, expected):
    if found != expected:
        raise AssertionError(f"{what}:\n{found!r}\nexpected\n{expected!r}")


class Client:
    """A user's pmstore and pminfo, on the socket of this machine, by which pmcd knows the user; or over TCP, by which it does not."""

    def __init__(self, pcp, over_tcp=False, **user):
        self.pcp, self.user = pcp, user
        self.host = pcp.host if over_tcp else "unix:" + pcp.path("pmcd.socket")

    def run(self, *words):
        return subprocess.run([words[0], "-h", self.host, *words[1:]], env=self.pcp.environment, capture_output=True, text=True, check=False,
                              timeout=300, **self.user)

    def store(self, text, metric=STORE):
        """"": it was taken; else the error's text."""
        done = self.run("pmstore", metric, text)
        return "" if done.returncode == 0 else (done.stdout + done.stderr).rsplit("pmStore: ", 1)[-1].strip()

    def answer(self):
        return self.run("pminfo", "-f", STORE).stdout.split("value ", 1)[1].strip().strip('"')


def write(path, content, mode=0o644):
    with open(path, "w") as file:
        file.write(content)
    os.chmod(path, mode)
    return path


class Agent(own_pmcd.Pcp):
    def __init__(self, where, options, permissions, *more, djstap=None):
        self.scripts = os.path.join(where, "scripts")
        if not os.path.isdir(self.scripts):
            os.mkdir(self.scripts, 0o755)
        self.called = os.path.join(where, "called")
        # Scripts run in user space here, some of them at the same time: a line is written at once.
        program = djstap or write(os.path.join(where, "djstap"), '#!/bin/sh\nline=\nfor each; do line=$line$each"|"; done\n'
                                  f'printf "%s\\n" "$line" >>{self.called}\nexec {options.djstap} --runtime=user "$@"\n', 0o755)
        self.permissions = permissions
        super().__init__(where, options.agent, "--scripts", self.scripts, "--djstap", program, "--allow", permissions, *more)

    def ran(self):
        """The arguments with which the program that stands for djstap was called, but for --info."""
        if not os.path.exists(self.called):
            return []
        with open(self.called) as called:
            return [words for words in (line.rstrip("\n").split("|")[:-1] for line in called) if "--info" not in words]

    def status(self, name, metric="state"):
        found = self.values("djstap.agent.script." + metric)
        return found.get(name) if isinstance(found, dict) else None

    def counts(self, name):
        found = self.values(f"djstap.{name}.n")
        return isinstance(found, int) and found > 0


def check_each(parts, options):
    """Returns whether they could be checked."""
    if os.getuid() != 0:
        print("stored scripts: skipped, because only root can be several users")
        return False
    for part in parts:
        with tempfile.TemporaryDirectory() as where:
            os.chmod(where, 0o755)
            part(where, options)
    return True


def check_none_run(options):
    return check_each([check_off, check_without_djstap], options)


def check_runs(options):
    return check_each([check_users, check_scripts, check_revoked], options)


def check_off(where, options):
    """Without the file, or with one that others can change or that says something else, nobody may: neither root nor anybody."""
    path = os.path.join(where, "allow")
    with Agent(where, options, path) as pcp:
        for content, mode, reason in ((None, 0, "users may not store scripts on this machine"),
                                      ("user root\nuser nobody\n", 0o666, f"{path}: others than root can change it, so it permits nothing"),
                                      ("user root\nuser nobody\nuser *\n", 0o644,
                                       f"{path}:3: not 'user NAME' or 'group NAME', so the file permits nothing"),
                                      ("user root nobody\n", 0o644, f"{path}:1: not 'user NAME' or 'group NAME', so the file permits nothing")):
            if content is not None:
                write(path, content, mode)
            for client in Client(pcp), Client(pcp, **NOBODY), Client(pcp, over_tcp=True):
                expect("answer", client.answer(), "no: " + reason)
                expect("storing", client.store("mine: " + SCRIPT), "No permission to perform requested operation")
        expect("refusals", pcp.values("djstap.agent.refusals"), 12)
        expect("stores", pcp.values("djstap.agent.stores"), 0)
        expect("what runs", pcp.ran(), [])


def check_users(where, options):
    """Who is listed may; who is not, whom pmcd does not know, or who is a service that asks for others, may not."""
    denied = "No permission to perform requested operation"
    path = write(os.path.join(where, "allow"), "# Those who trace\nuser nobody\nuser pcp\ngroup pcp  # of its services\n\n")
    with Agent(where, options, path) as pcp:
        nobody, root, unknown = Client(pcp, **NOBODY), Client(pcp), Client(pcp, over_tcp=True)
        expect("the listed one", nobody.answer(), "yes")
        expect("root, who is not listed", root.answer(), f"no: user root is not listed in {path}")
        expect("over TCP", unknown.answer(), "no: this connection is not authenticated")
        service = pwd.getpwnam("pcp")
        proxy = Client(pcp, user=service.pw_uid, group=service.pw_gid, extra_groups=[])
        expect("pmproxy's user", proxy.answer(), "no: this connection is that of Performance Co-Pilot's own services, which pass on what others ask")
        nameless = Client(pcp, user=54321, group=54321, extra_groups=[])
        expect("nameless", nameless.answer(), "no: the user of this connection has no name on this machine")
        claimed = Client(pcp, over_tcp=True)
        claimed.host = f"pcp://127.0.0.1:{pcp.port}?username=nobody"
        for refused in root, unknown, proxy, nameless, claimed:
            # One after the other: connections have the numbers of those that have ended, but not their users.
            expect("the listed one", nobody.answer(), "yes")
            expect("refused", refused.store("other: " + SCRIPT) != "", True)
            expect("other metrics", refused.store("0", "djstap.agent.stores") != "", True)
        expect("another metric", nobody.store("0", "djstap.agent.stores"), denied)
        expect("what runs", pcp.ran(), [])
        expect("stored", nobody.store("mine: " + SCRIPT), "")
        pcp.until(lambda: pcp.counts("mine"), "the script does not count")
        expect("whose it is", pcp.status("mine", "owner"), "nobody")
        # What djstap tells of the machine.
        pcp.until(lambda: "kernel_headers" in pcp.values("djstap.agent.info.value"), "djstap --info is not shown")
        expect("the same instances", sorted(pcp.values("djstap.agent.info.value")), sorted(pcp.values("djstap.agent.info.present")))
        expect("djstap", pcp.values("djstap.agent.info.present")["djstap"], 1)
        expect("guests", "QEMU" in pcp.values("djstap.agent.info.value"), False)
        # A group.
        write(path, "group root\n")
        expect("by group", (root.answer(), nobody.answer()), ("yes", f"no: user nobody is not listed in {path}"))


def check_scripts(where, options):
    """What may be stored, what runs of it, and how it is removed."""
    path = write(os.path.join(where, "allow"), "user nobody\nuser root\n")
    evidence = os.path.join(where, "evidence")
    with Agent(where, options, path) as pcp:
        nobody, root = Client(pcp, **NOBODY), Client(pcp)
        write(os.path.join(pcp.scripts, "of-root.stp"), SCRIPT)
        pcp.until(lambda: pcp.counts("of_root"), "root's script does not count")
        for text in ("", SCRIPT, "mine", ":x", "Mine: x", "1st: x", "_x: x", "agent: x", "../x: x", "a/b: x", "a b: x", "a.b: x", "a-b: x",
                     "$(id): x", "\u00e4: x", "a" * 33 + ": x"):
            expect(f"name in {text[:40]!r}", nobody.store(text), "Invalid argument")
        expect("too long", nobody.store("mine: " + "#" * (32 * 1024)), "Argument list too long")
        expect("root's name", nobody.store("of_root: " + SCRIPT), "File exists")
        expect("nothing to remove", nobody.store("mine: "), "No such file or directory")
        expect("stored", nobody.store("mine:" + SCRIPT), "")
        expect("of another user", root.store("mine: " + SCRIPT), "No permission to perform requested operation")
        expect("to remove another user's", root.store("mine:"), "No permission to perform requested operation")
        for name in "b", "c", "d":
            expect("stored", nobody.store(f"{name}: probe begin {{}}"), "")
        expect("too many", nobody.store("e: probe begin {}"), "No space left on device")
        expect("another user's", root.store("e: probe begin {}"), "")
        # What would run a command, needs -g, or would be one for a shell.
        for name, script, tag in (("b", f'probe begin {{ system("touch {evidence}") exit() }}', "system-refused"),
                                  ("c", "probe begin { raise(9) }", "guru-function"),
                                  ("d", f"%{{ #include <x> %}} probe begin {{}} // $(touch {evidence}); `touch {evidence}`", "embedded-c-needs-guru")):
            expect(name, nobody.store(f"{name}: {script}"), "")
            pcp.until(lambda name=name: pcp.status(name) == "failed", "the script does not fail")
            pcp.until(lambda name=name, tag=tag: tag in (pcp.status(name, "message") or ""), "the error is not told")
        expect("a command", os.path.exists(evidence), False)
        pcp.until(lambda: pcp.counts("mine"), "the script does not count")
        # Another text takes the first one's place, and an empty one removes it.
        expect("replaced", nobody.store("mine: global other probe begin { other = 7 exit() } probe never { println(other) }"), "")
        pcp.until(lambda: pcp.values("djstap.mine.other") == 7, "the new text does not run")
        expect("removed", nobody.store("mine: \n\t "), "")
        pcp.until(lambda: pcp.status("mine") is None and "djstap.mine.other" not in pcp.names(), "the script is not removed")
        words = pcp.ran()
        for line in words:
            is_stored = not line[-1].startswith(pcp.scripts)
            expect("options", line[:-1], ["--output=snapshots"] + ["--no-system"] * is_stored)
        folder = os.path.dirname(next(line[-1] for line in words if "--no-system" in line))
        expect("the agent's folder", os.stat(folder).st_mode & 0o777, 0o700)
        expect("what is in it", sorted(os.listdir(folder)), ["b.stp", "c.stp", "d.stp", "e.stp"])
        # A file of root's takes the name.
        write(os.path.join(pcp.scripts, "e.ko"), "no module")
        pcp.until(lambda: pcp.status("e", "owner") == "root", "root's file does not take the name")
        # Nothing outlives the agent.
        os.kill(pcp.agent_id(), 9)
        agent = pcp.agent_id()
        pcp.run("pminfo", "-f", "djstap.agent.version")
        pcp.pmcd.send_signal(1)
        pcp.until(lambda: pcp.agent_id() not in (None, agent) and pcp.counts("of_root"), "the agent does not come back")
        expect("stored scripts", [pcp.status(name) for name in ("b", "c", "d")], [None] * 3)
        pcp.until(lambda: not os.path.exists(folder), "its files are left")
    expect("files", [each for each in glob.glob("/dev/shm/djstap-*/*.stp") if each.startswith(folder)], [])


def check_revoked(where, options):
    """Scripts of a user who may not store any more end."""
    path = write(os.path.join(where, "allow"), "user nobody\nuser root\n")
    with Agent(where, options, path) as pcp:
        expect("stored", (Client(pcp, **NOBODY).store("mine: " + SCRIPT), Client(pcp).store("other: " + SCRIPT)), ("", ""))
        pcp.until(lambda: pcp.counts("mine") and pcp.counts("other"), "the scripts do not count")
        write(path, "user root\n")
        pcp.until(lambda: pcp.status("mine") is None, "the script goes on")
        expect("the other user's", pcp.status("other"), "running")
        os.unlink(path)
        pcp.until(lambda: pcp.status("other") is None, "the script goes on")


def check_without_djstap(where, options):
    """A machine that only has djrun says so."""
    path = write(os.path.join(where, "allow"), "user root\n")
    with Agent(where, options, path, djstap=os.path.join(where, "nothing")) as pcp:
        expect("stored", Client(pcp).store("mine: " + SCRIPT), "")
        pcp.until(lambda: pcp.status("mine") == "failed", "the failure is not seen")
        info = pcp.values("djstap.agent.info.present"), pcp.values("djstap.agent.info.value")
        expect("what the machine has", (info[0]["djstap"], info[0]["djrun"] in (0, 1), info[1]["djstap"]), (0, True, "not installed"))
        expect("what it can do", {"permission", "module_loading", "signatures_of_modules"} <= set(info[1]), True)
        expect("the reason", "a script is compiled by djstap, which is not installed on this machine" in pcp.status("mine", "message"), True)
