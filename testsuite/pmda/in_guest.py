#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""In a guest: the agent with a module, what clients see of it, and what is left when the agent or pmcd ends.

    in_guest.py AGENT DJRUN FOLDER-WITH-counts.ko
"""
import os
import signal
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import own_pmcd  # noqa: E402


def loaded():
    with open("/proc/modules") as modules:
        return any(line.startswith("counts ") for line in modules)


def hits(number):
    for _ in range(number):
        os.getsid(0)


def main():
    agent, djrun, scripts = sys.argv[1:]
    subprocess.run(["ip", "link", "set", "lo", "up"], check=False)
    with tempfile.TemporaryDirectory() as where:
        os.chmod(where, 0o755)
        with own_pmcd.Pcp(where, agent, "--scripts", scripts, "--djrun", djrun) as pmcd:
            def shown():
                return pmcd.values("djstap.counts.calls")
            pmcd.until(lambda: shown() == 0, "the module does not count")
            hits(1000)
            pmcd.until(lambda: shown() == 1000, "the calls are not counted")
            print(pmcd.run("pminfo", "-f", "djstap.counts").stdout.strip())
            print(pmcd.run("pmrep", "-p", "-s", "1", "djstap.counts.last").stdout.split()[-1])
            print("lost", pmcd.values("djstap.agent.script.lost"))
            os.kill(pmcd.agent_id(), signal.SIGKILL)
            pmcd.until(lambda: not loaded(), "the module outlives the agent")
            print("unloaded")
            pmcd.run("pminfo", "-f", "djstap.counts.calls")
            pmcd.pmcd.send_signal(signal.SIGHUP)
            pmcd.until(lambda: shown() == 0, "the module does not count again")
            hits(10)
            pmcd.until(lambda: shown() == 10, "the calls are not counted again")
            print("counted again")
        pmcd.until(lambda: not loaded(), "the module outlives pmcd")
        print("unloaded")


if __name__ == "__main__":
    main()
