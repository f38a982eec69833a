# SPDX-License-Identifier: GPL-2.0-or-later
"""Starts this machine's NFS server, which exports a tmpfs, and tells the kernel what rpcbind and mountd would: no other program is
needed. `root` is the handle of the exported folder."""
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

def end():
    tell("/proc/fs/nfsd/threads", "0\n")
