#include "guest/hostroot.h"

#include <cstddef>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace djstap::guest {

namespace {

std::string find_virtiofsd() {
    for (const char* path :
         {"/usr/lib/qemu/virtiofsd", "/usr/libexec/virtiofsd", "/usr/lib/virtiofsd"})
        if (access(path, X_OK) == 0)
            return path;
    return "";
}

// In the child: every mount becomes read-only, for this process alone. The guest's own read-only
// mount would not do, a command in the guest is root there and could undo it.
bool make_all_read_only() {
    if (unshare(CLONE_NEWNS) || mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr))
        return false;
    mount_attr attributes = {};
    attributes.attr_set = MOUNT_ATTR_RDONLY;
    return mount_setattr(AT_FDCWD, "/", AT_RECURSIVE, &attributes, sizeof attributes) == 0;
}

} // namespace

Result<HostRoot> share_host_root() {
    std::string program = find_virtiofsd();
    if (program.empty())
        return Failure{"there is no virtiofsd to share the host's files with a guest",
                       "install the package qemu-system-common"};
    if (geteuid() != 0)
        return Failure{"sharing the host's root with a guest needs root",
                       "run it as root, or copy what the "
                       "command needs with --guest"};
    // The kernel picks an abstract name: nothing to remove later, nobody else knows it.
    Descriptor listener(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    Descriptor client(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    socklen_t length = sizeof address;
    if (!listener || !client ||
        bind(listener.get(), reinterpret_cast<sockaddr*>(&address),
             offsetof(sockaddr_un, sun_path)) ||
        listen(listener.get(), 1) ||
        getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &length) ||
        connect(client.get(), reinterpret_cast<sockaddr*>(&address), length))
        return system_failure("make", "the socket of virtiofsd");
    SpawnOptions options;
    options.inherited = {listener.get()};
    options.in_child = make_all_read_only;
    Result<Process> daemon =
        Process::start({program, "-f", "--fd=" + std::to_string(listener.get()), "-o", "source=/",
                        "-o", "sandbox=chroot", "-o", "cache=always"},
                       options);
    if (!daemon)
        return daemon.failure();
    return HostRoot{std::move(*daemon), std::move(client)};
}

} // namespace djstap::guest
