// SPDX-License-Identifier: GPL-2.0-or-later
#include "guest/hostroot.h"

#include "guest/files.h"
#include "system/temporary.h"

#include <cstdio>
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

// embedded.S
extern "C" const char djstap_guest_noatime_begin[], djstap_guest_noatime_end[];

namespace djstap::guest {

namespace {

std::string find_virtiofsd() {
    for (const char* path :
         {"/usr/lib/qemu/virtiofsd", "/usr/libexec/virtiofsd", "/usr/lib/virtiofsd"})
        if (access(path, X_OK) == 0)
            return path;
    return "";
}

// Makes the caller root of a user namespace that has no other users. Returns false if that is not
// permitted.
bool become_root(uid_t user, gid_t group) {
    const auto write_text = [](const char* path, const char* text, size_t size) {
        FileDescriptor fd(open(path, O_WRONLY | O_CLOEXEC));
        return fd && write(fd.get(), text, size) == static_cast<ssize_t>(size);
    };
    char map[32];
    if (unshare(CLONE_NEWUSER))
        return false;
    int size = snprintf(map, sizeof map, "0 %u 1", user);
    if (!write_text("/proc/self/uid_map", map, static_cast<size_t>(size)) ||
        !write_text("/proc/self/setgroups", "deny", 4))
        return false;
    size = snprintf(map, sizeof map, "0 %u 1", group);
    return write_text("/proc/self/gid_map", map, static_cast<size_t>(size));
}

// virtiofsd keeps each file open that the guest knows of, however few the command may have open.
void raise_file_limit() {
    rlimit files = {1 << 20, 1 << 20};
    if (setrlimit(RLIMIT_NOFILE, &files) == 0 || getrlimit(RLIMIT_NOFILE, &files))
        return;
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
}

// In the child: makes every mount read-only, for this process alone. A read-only mount in the guest
// would not suffice, because a command in the guest is root there and could undo it.
bool make_all_read_only() {
    const uid_t user = geteuid();
    raise_file_limit();
    if (user != 0 && !become_root(user, getegid()))
        return false;
    if (unshare(CLONE_NEWNS) || mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr))
        return false;
    mount_attr attributes = {};
    attributes.attr_set = MOUNT_ATTR_RDONLY;
    return mount_setattr(AT_FDCWD, "/", AT_RECURSIVE, &attributes, sizeof attributes) == 0;
}

} // namespace

Status can_share_host_root() {
    if (find_virtiofsd().empty())
        return Failure{
            "virtiofsd is not installed",
            "install the package qemu-system-common, or virtiofsd where it is a separate package"};
    // Root in a container may lack the permission, and an ordinary user may have it.
    ProcessOptions options = helper_options();
    options.in_child = make_all_read_only;
    Result<Process> tried = Process::start({"true"}, options);
    if (!tried)
        return Failure{"cannot create a mount namespace: " + tried.failure().message,
                       geteuid() == 0 ? "" : "run djstap as root"};
    return Done{};
}

namespace {

struct Connection {
    FileDescriptor listener, client;
};

// The listening socket has a name in a folder that no other user can enter, and only until djstap
// is connected: whoever connects to virtiofsd reads every file that it may read.
Result<Connection> connect_to_listener() {
    auto folder = TemporaryFolder::create_in_memory();
    if (!folder)
        return folder.failure();
    const std::string path = folder->file("socket");
    Connection made{FileDescriptor(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)),
                    FileDescriptor(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0))};
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path)
        return Failure{"cannot make " + path + ": its name is too long for a socket",
                       "set TMPDIR to a folder with a shorter name"};
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    const auto* generic = reinterpret_cast<sockaddr*>(&address);
    if (!made.listener || !made.client || bind(made.listener.get(), generic, sizeof address) ||
        listen(made.listener.get(), 1) || connect(made.client.get(), generic, sizeof address))
        return system_failure("make", "the socket of virtiofsd");
    return made;
}

// Returns the library that a user's virtiofsd preloads.
Result<FileDescriptor> noatime_library() {
    FileDescriptor fd(memfd_create("noatime", MFD_CLOEXEC));
    if (Status written =
            write_to(fd.get(), {djstap_guest_noatime_begin, djstap_guest_noatime_end}, "a library");
        !written)
        return written.failure();
    return fd;
}

// Newer versions of virtiofsd tell the guest what is mounted where by default; overlayfs takes no
// such folder as a lower one ("Object is remote"), and the guest does without.
bool tells_of_mounts(const std::string& program) {
    const auto help = run_program({program, "--help"}, {}, helper_options());
    return help && help->output.find("--no-announce-submounts") != std::string::npos;
}

} // namespace

Result<HostRoot> share_host_root() {
    const std::string program = find_virtiofsd();
    if (program.empty())
        return can_share_host_root().failure();
    Result<Connection> made = connect_to_listener();
    if (!made)
        return made.failure();
    const int listener = made->listener.get();
    ProcessOptions options = helper_options();
    options.inherited = {listener};
    options.in_child = make_all_read_only;
    std::vector<std::string> words = {program,
                                      "-f",
                                      "--fd=" + std::to_string(listener),
                                      "-o",
                                      "source=/",
                                      "-o",
                                      "sandbox=chroot",
                                      "-o",
                                      "cache=always",
                                      "--rlimit-nofile=0"};
    if (tells_of_mounts(program))
        words.push_back("--no-announce-submounts");
    FileDescriptor preloaded;
    if (geteuid() != 0) {
        Result<FileDescriptor> library = noatime_library();
        if (!library)
            return library.failure();
        preloaded = std::move(*library);
        options.inherited.push_back(preloaded.get());
        words.insert(words.begin(),
                     {"env", "LD_PRELOAD=/proc/self/fd/" + std::to_string(preloaded.get())});
    }
    Result<Process> daemon = Process::start(words, options);
    if (!daemon)
        return daemon.failure();
    return HostRoot{std::move(*daemon), std::move(made->client)};
}

} // namespace djstap::guest
