# SPDX-License-Identifier: GPL-2.0-or-later
"""A client of this machine's NFS server (nfs_server.py) that knows the protocol's few requests. It creates, looks up, writes,
reads, renames and removes files of a tmpfs by version 3, tries to remove one that is missing, and looks one up by version 4."""
import socket, struct
from nfs_server import *

server = socket.create_connection(("127.0.0.1", 2049))
def opaque(text):
    return struct.pack(">I", len(text)) + text + bytes(-len(text) % 4)
credentials = struct.pack(">I", 0) + opaque(b"client") + struct.pack(">III", 1000, 1001, 0)
def call(version, procedure, body):
    send(server, struct.pack(">6I", 99, 0, 2, 100003, version, procedure) + struct.pack(">I", 1) + opaque(credentials) +
         struct.pack(">II", 0, 0) + body)
    return whole(server)[24:]
def done(what, reply, expected=0):
    status = struct.unpack(">I", reply[:4])[0]
    if status != expected:
        print(f"{what} failed: {status}", flush=True)
    return reply[4:]

LOOKUP, READ, WRITE, CREATE, MKDIR, REMOVE, RENAME, READDIR, COMMIT = 3, 6, 7, 8, 9, 12, 14, 16, 21
made = done("create", call(3, CREATE, opaque(root) + opaque(b"made") + struct.pack(">I", 0) + struct.pack(">6I", 0, 0, 0, 0, 0, 0)))
length = struct.unpack(">I", made[4:8])[0]
made = made[8:8 + length]
done("lookup", call(3, LOOKUP, opaque(root) + opaque(b"below")))
done("write", call(3, WRITE, opaque(made) + struct.pack(">QII", 100, 13, 0) + opaque(b"thirteen byte")))
done("commit", call(3, COMMIT, opaque(made) + struct.pack(">QI", 100, 13)))
done("read", call(3, READ, opaque(made) + struct.pack(">QI", 96, 12)))
done("rename", call(3, RENAME, opaque(root) + opaque(b"made") + opaque(root) + opaque(b"renamed")))
done("remove", call(3, REMOVE, opaque(root) + opaque(b"renamed")))
done("mkdir", call(3, MKDIR, opaque(root) + opaque(b"above") + struct.pack(">7I", 1, 0o750, 0, 0, 0, 0, 0)))
done("readdir", call(3, READDIR, opaque(root) + struct.pack(">QQI", 0, 0, 4096)))
done("missing", call(3, REMOVE, opaque(root) + opaque(b"missing")), 2)
PUTFH, LOOKUP4 = 22, 15
done("version 4", call(4, 1, opaque(b"tag") + struct.pack(">II", 0, 2) + struct.pack(">I", PUTFH) + opaque(root) +
                       struct.pack(">I", LOOKUP4) + opaque(b"below")))
end()
