# SPDX-License-Identifier: GPL-2.0-or-later
"""Mounts what this machine's NFS server (nfs_server.py) exports by versions 3 and 4, and uses files there."""
import fcntl, mmap
from nfs_server import *

def mountd(server):
    """Answers MNT: with the root's handle."""
    while True:
        stream = server.accept()[0]
        while True:
            try:
                call = whole(stream)
            except struct.error:
                break
            answer = struct.pack(">II", 0, len(root)) + root + bytes(-len(root) % 4) + struct.pack(">II", 1, 1)
            send(stream, call[:4] + struct.pack(">5I", 1, 0, 0, 0, 0) + (answer if struct.unpack(">I", call[20:24])[0] == 1 else b""))
mounts = socket.create_server(("127.0.0.1", 0))
threading.Thread(target=mountd, args=(mounts,), daemon=True).start()

tell("/proc/net/rpc/nfsd.export/channel",
     f"here /tmp/exported {expiry} {INSECURE | ASYNC | NO_SUBTREE_CHECK | FSID} 65534 65534 0\n")
tell("/proc/net/rpc/nfsd.fh/channel", f"here 1 \\x00000000 {expiry} /tmp/exported\n")
os.makedirs("/tmp/mounted", exist_ok=True)
for options in (f"vers=3,port=2049,nolock,mountproto=tcp,mountport={mounts.getsockname()[1]},mountaddr=127.0.0.1",
                "vers=4.1,clientaddr=127.0.0.1"):
    if libc.mount(b"127.0.0.1:/", b"/tmp/mounted", b"nfs", 0, f"addr=127.0.0.1,{options}".encode()):
        raise OSError(ctypes.get_errno(), f"mount {options}")
    os.chdir("/tmp/mounted")
    try:
        with open("made", "w+b", buffering=0) as file:
            file.write(b"thirteen byte")
            os.fsync(file.fileno())
        os.stat("below")
        with open("large", "w+b", buffering=0) as file:
            file.write(bytes(3 << 20))
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            fcntl.fcntl(file.fileno(), fcntl.F_SETFL, os.O_APPEND)
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 10, 5)
            os.pread(file.fileno(), 12, 4096)
            file.seek(3)
            mmap.mmap(file.fileno(), 13, prot=mmap.PROT_READ).close()
        os.rename("made", "renamed")
        os.unlink("renamed")
        os.unlink("large")
    finally:
        os.chdir("/")
        libc.umount(b"/tmp/mounted")
end()
