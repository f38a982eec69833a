# SPDX-License-Identifier: GPL-2.0-or-later
"""The cost of a fetch: 100 arrays with 1,000 elements each, from a recording. Prints the CPU time that the agent and pmcd take for
one fetch of all 100,000 values, and the same for a single value.

    fetch.py --agent build/release/bin/pmdadjstap --client build/release/bin/pcp_fetch_client [--arrays N] [--elements N] [--fetches N]
"""
import argparse
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import frames  # noqa: E402
import own_pmcd  # noqa: E402


def recording(path, arrays, elements):
    with open(path, "wb") as out:
        out.write(frames.description("many", [(f"a{i}", "number", 1, False, "") for i in range(arrays)]))
        out.write(frames.variables_at(1, [frames.values(i, [frames.element([f"key{j}"], [i * elements + j]) for j in range(elements)])
                                          for i in range(arrays)]))
        out.write(frames.end())


def cpu_ns(process):
    """The CPU time that a process has taken, by the scheduler's clock."""
    return sum(int(open(f"/proc/{process}/task/{thread}/schedstat").read().split()[0]) for thread in os.listdir(f"/proc/{process}/task"))


def measure(server, client, names, fetches):
    """CPU milliseconds of the agent and of pmcd for one fetch, and the number of values."""
    with subprocess.Popen([client, server.host, *names], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as fetching:
        def fetch(times):
            fetching.stdin.write(f"{times}\n")
            fetching.stdin.flush()
            return int(fetching.stdout.readline())
        found = fetch(1)  # connects, and gets the memory that is kept
        processes = server.agent_id(), server.pmcd.pid
        before = [cpu_ns(each) for each in processes]
        fetch(fetches)
        taken = [(cpu_ns(each) - was) / fetches / 1e6 for each, was in zip(processes, before)]
        fetching.stdin.close()
    return taken, found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--agent", required=True)
    parser.add_argument("--client", required=True)
    parser.add_argument("--arrays", type=int, default=100)
    parser.add_argument("--elements", type=int, default=1000)
    parser.add_argument("--fetches", type=int, default=20)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "many.snapshots")
        recording(path, options.arrays, options.elements)
        with own_pmcd.Pcp(folder, os.path.abspath(options.agent), "--recorded", path) as server:
            all_names = [f"djstap.many.a{i}" for i in range(options.arrays)]
            for names in all_names, ["djstap.agent.version"]:
                (agent, pmcd), found = measure(server, os.path.abspath(options.client), names, options.fetches)
                print(f"{found:7} values of {len(names):3} metrics: agent {agent:7.2f} ms, pmcd {pmcd:7.2f} ms of CPU a fetch")
                expected = options.arrays * options.elements if names is all_names else 1
                if found != expected:
                    sys.exit(f"expected {expected} values")


if __name__ == "__main__":
    main()
