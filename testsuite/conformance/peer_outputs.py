# SPDX-License-Identifier: GPL-2.0-or-later
"""What SystemTap prints for scripts: modules compiled on this machine, many of them run in one guest, outputs kept.

An output is kept under the hash of everything that determines it: the script, its options, the kernel, SystemTap's
version and the corrections of its runtime. A run that was interrupted therefore continues where it was, and after a
small change only what changed is compiled.
"""
import base64
import concurrent.futures
import hashlib
import json
import os
import re
import shlex
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "bench"))
import guest  # noqa: E402
import packages  # noqa: E402
import peer_modules  # noqa: E402
import systemtap  # noqa: E402

BATCH = 40  # modules per guest: an initramfs of 5 MB
SECONDS = 15  # a script that does not end on its own is interrupted, as by ^C
FORMAT = 1  # of the kept outputs

_RUN_ALL = """
cd /modules
for m in *.ko; do
    echo "=== $m begins"
    eval "timeout -s INT %d staprun $m $(cat $m.options)" >/tmp/out 2>/tmp/err </dev/null
    echo "=== $m ended $?"
    base64 /tmp/out
    echo "=== errors"
    base64 /tmp/err
    echo "=== $m done"
done
"""


class Outputs:
    """What SystemTap does with a (script, options): a dict with `state`:

        ran       `output`, `errors` (strings), `status`
        refused   by passes 1 to 3; `why`
        unbuilt   its C code does not compile for this kernel; `why`
        lost      its guest did not survive it; `why`: not kept, since it may be the guest's fault
    """

    def __init__(self, release, say=print):
        self.release = release
        self.say = say
        self.version = systemtap.version()
        self.folder = packages.cache("beside", release)
        self.translator = None
        self.lost = {}  # in this process

    def _path(self, item):
        script, options = item
        decides = [FORMAT, script, options, self.release, self.version, systemtap.CORRECTION, SECONDS]
        return os.path.join(self.folder, hashlib.sha256(json.dumps(decides).encode()).hexdigest() + ".json")

    def known(self, item):
        """Returns the output, kept or lost, or None."""
        if item in self.lost:
            return self.lost[item]
        try:
            with open(self._path(item), encoding="utf-8") as file:
                kept = json.load(file)
        except (OSError, ValueError):
            return None
        return kept if kept["state"] != "lost" else None

    def _keep(self, item, output):
        if output["state"] == "lost":
            self.lost[item] = output
            return
        path = self._path(item)
        with open(path + ".new", "w", encoding="utf-8") as file:
            json.dump(dict(output, script=item[0], options=item[1]), file)
        os.rename(path + ".new", path)

    def produce(self, items):
        """Produces the outputs that are not kept yet."""
        missing = [item for item in dict.fromkeys(items) if self.known(item) is None]
        if not missing:
            return
        self.translator = self.translator or peer_modules.Translator(self.release)
        self.say(f"{len(missing)} scripts for {self.version} to compile and run")
        # One batch runs while the next one is compiled.
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            running = None
            for first in range(0, len(missing), BATCH):
                names = {f"m{number:04}": item for number, item in enumerate(missing[first:first + BATCH])}
                folder = tempfile.TemporaryDirectory(prefix="djstap-beside-")
                modules, failed = peer_modules.build(self.translator, names, folder.name)
                for name, (state, why) in failed.items():
                    self._keep(names[name], {"state": state, "why": why})
                if running:
                    running.result()
                running = pool.submit(self._run_batch, names, modules, folder, first + len(names))
            running.result()

    def _run_batch(self, names, modules, folder, done):
        with folder:
            while modules:
                console = self._run(modules, names)
                for name in list(modules):
                    output = _output_of(console, name)
                    if not output and f"=== {name}.ko begins" in console:
                        output = {"state": "lost", "why": guest.tail(console.encode())}
                    if output:
                        self._keep(names[name], output)
                        del modules[name]
                if not re.search(r"=== m\d+\.ko begins", console):
                    raise guest.GuestLost(f"no module was loaded:\n{console[-2000:]}")
        self.say(f"  {done} done")

    def _run(self, modules, names):
        archive = guest.base_archive()
        systemtap.add(archive)
        for name, path in modules.items():
            archive.file(f"modules/{name}.ko", path)
            archive.text(f"modules/{name}.ko.options", run_options(names[name][1]))
        try:
            return guest.run(self.release, archive, _RUN_ALL % SECONDS, count_instructions=False,
                             timeout=120 + 2 * SECONDS * len(modules))
        except guest.GuestLost as lost:
            return lost.console


def run_options(options):
    """Returns the script's options that a module receives when it is run, parsed like a shell does."""
    given = list(options[:options.index("--")] if "--" in options else options)
    words = [given[at + i] for at in range(len(given) - 1) if given[at] in ("-c", "-x") for i in (0, 1)]
    return shlex.join(words + [given[at + 1] for at in range(len(given) - 1) if given[at] == "-G"])


def _output_of(console, name):
    found = re.search(rf"=== {name}\.ko ended (\d+)\n(.*?)=== errors\n(.*?)=== {name}\.ko done\n", console, re.DOTALL)
    if not found:
        return None
    try:
        output, errors = (base64.b64decode(text).decode("utf-8", "backslashreplace") for text in found.groups()[1:])
    except ValueError:  # the kernel wrote to the console between the lines
        return {"state": "lost", "why": "its output was mixed with the kernel's messages"}
    return {"state": "ran", "output": output, "errors": errors, "status": int(found[1])}
