#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Does for djstap-run.socket and djstap-run@.service what systemd does, in a guest that has none, while a command runs.

    listen.py UNITS SERVICE COMMAND…    UNITS: the folder of both units; SERVICE: the program that serves a connection
"""
import grp
import os
import re
import socket
import subprocess
import sys
import threading


def value(unit, name):
    with open(unit, encoding="utf-8") as file:
        return re.search(rf"^{name}=(.*)$", file.read(), re.MULTILINE)[1]


def limits(service):
    """Returns setpriv's words for the unit's capabilities."""
    bits = [word.lower().removeprefix("cap_") for word in value(service, "CapabilityBoundingSet").split()]
    return ["setpriv", "--no-new-privs", "--inh-caps", "-all", "--bounding-set", "-all," + ",".join("+" + bit for bit in bits)]


def main():
    units, program, *command = sys.argv[1:]
    unit, service = os.path.join(units, "djstap-run.socket"), os.path.join(units, "djstap-run@.service")
    path = value(unit, "ListenStream")
    os.makedirs(os.path.dirname(path), int(value(unit, "DirectoryMode"), 8), exist_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    os.chown(path, 0, grp.getgrnam(value(unit, "SocketGroup")).gr_gid)
    os.chmod(path, int(value(unit, "SocketMode"), 8))
    listener.listen()

    def serve():
        while True:
            connection, _ = listener.accept()
            with connection:
                subprocess.Popen([*limits(service), program], stdin=connection, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                 env={"PATH": "/usr/bin:/bin"}, cwd="/")

    threading.Thread(target=serve, daemon=True).start()
    status = subprocess.run(command, check=False).returncode
    listener.close()
    os._exit(status)


if __name__ == "__main__":
    main()
