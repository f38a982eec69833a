# SPDX-License-Identifier: GPL-2.0-or-later
"""A client of this machine's NFS server that knows the protocol's few requests, and tells the kernel what rpcbind and mountd
would: no other program is needed. It creates, looks up, writes, reads, renames and removes files of a tmpfs by version 3, tries to
remove one that is missing, and looks one up by version 4."""
import ctypes, os, socket, struct, threading, time

libc = ctypes.CDLL(None, use_errno=True)
os.makedirs("/tmp/exported")
os.system("modprobe nfsd")
for kind, where in (b"nfsd", b"/proc/fs/nfsd"), (b"tmpfs", b"/tmp/exported"):
    if not os.path.ismount(where) and libc.mount(kind, where, kind, 0, None):
        raise OSError(ctypes.get_errno(), "mount")

def whole(stream):
    mark = struct.unpack(">I", stream.recv(4, socket.MSG_WAITALL))[0]
    return stream.recv(mark & 0x7fffffff, socket.MSG_WAITALL)
def send(stream, text):
    stream.sendall(struct.pack(">I", 0x80000000 | len(text)) + text)

def rpcbind(server):
    while True:
        stream = server.accept()[0]
        def serve(stream=stream):
            while True:
                try:
                    call = whole(stream)
                except struct.error:
                    return
                send(stream, call[:4] + struct.pack(">6I", 1, 0, 0, 0, 0, 1))
        threading.Thread(target=serve, daemon=True).start()
threading.Thread(target=rpcbind, args=(socket.create_server(("127.0.0.1", 111)),), daemon=True).start()

def tell(path, text):
    with open(path, "w") as file:
        file.write(text)
os.mkdir("/tmp/exported/below")
os.chmod("/tmp/exported", 0o777)
expiry = int(time.time()) + 10000
INSECURE, ASYNC, NO_SUBTREE_CHECK, FSID = 0x2, 0x10, 0x400, 0x2000
tell("/proc/net/rpc/auth.unix.ip/channel", f"nfsd 127.0.0.1 {expiry} here\n")
tell("/proc/net/rpc/nfsd.export/channel",
     f"here /tmp/exported {expiry} {INSECURE | ASYNC | NO_SUBTREE_CHECK | FSID} 65534 65534 7\n")
tell("/proc/net/rpc/nfsd.fh/channel", f"here 1 \\x07000000 {expiry} /tmp/exported\n")
tell("/proc/fs/nfsd/nfsv4gracetime", "10")
tell("/proc/fs/nfsd/portlist", "tcp 2049\n")
tell("/proc/fs/nfsd/threads", "1\n")
with open("/proc/fs/nfsd/filehandle", "r+") as file:
    file.write("here /tmp/exported 64\n")
    file.flush()
    file.seek(0)
    root = bytes.fromhex(file.read().strip().removeprefix("\\x"))

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

LOOKUP, READ, WRITE, CREATE, REMOVE, RENAME, COMMIT = 3, 6, 7, 8, 12, 14, 21
made = done("create", call(3, CREATE, opaque(root) + opaque(b"made") + struct.pack(">I", 0) + struct.pack(">6I", 0, 0, 0, 0, 0, 0)))
length = struct.unpack(">I", made[4:8])[0]
made = made[8:8 + length]
done("lookup", call(3, LOOKUP, opaque(root) + opaque(b"below")))
done("write", call(3, WRITE, opaque(made) + struct.pack(">QII", 100, 13, 0) + opaque(b"thirteen byte")))
done("commit", call(3, COMMIT, opaque(made) + struct.pack(">QI", 100, 13)))
done("read", call(3, READ, opaque(made) + struct.pack(">QI", 96, 12)))
done("rename", call(3, RENAME, opaque(root) + opaque(b"made") + opaque(root) + opaque(b"renamed")))
done("remove", call(3, REMOVE, opaque(root) + opaque(b"renamed")))
done("missing", call(3, REMOVE, opaque(root) + opaque(b"missing")), 2)
PUTFH, LOOKUP4 = 22, 15
done("version 4", call(4, 1, opaque(b"tag") + struct.pack(">II", 0, 2) + struct.pack(">I", PUTFH) + opaque(root) +
                       struct.pack(">I", LOOKUP4) + opaque(b"below")))
tell("/proc/fs/nfsd/threads", "0\n")
