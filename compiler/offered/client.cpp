// SPDX-License-Identifier: GPL-2.0-or-later
#include "offered/client.h"

#include "offered/frames.h"
#include "system/descriptor.h"
#include "system/file.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <iterator>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>

namespace djstap::offered {

namespace {

Failure cannot_connect(const std::string& socket, int error) {
    if (error == EACCES || error == EPERM)
        return {"only root and the members of the group djstap may run scripts this way",
                "as root: adduser USER djstap; the membership counts from the next login on"};
    if (error == ENOENT || error == ECONNREFUSED)
        return {"the service that runs scripts is not active (" + socket + ")",
                "as root: systemctl enable --now djstap-run.socket"};
    return {socket + ": " + std::strerror(error), ""};
}

Result<FileDescriptor> connect_to(const std::string& path) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path)
        return cannot_connect(path, ENAMETOOLONG);
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    FileDescriptor connection(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!connection ||
        connect(connection.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
        return cannot_connect(path, errno);
    return connection;
}

FileDescriptor signals_that_stop() {
    sigset_t set;
    sigemptyset(&set);
    for (int each : {SIGINT, SIGTERM, SIGHUP})
        sigaddset(&set, each);
    sigprocmask(SIG_BLOCK, &set, nullptr);
    return FileDescriptor(signalfd(-1, &set, SFD_CLOEXEC));
}

} // namespace

Result<int> request(const std::string& socket, const std::string& name) {
    auto connection = connect_to(socket);
    if (!connection)
        return connection.failure();
    const FileDescriptor signals = signals_that_stop();
    const int service = connection->get();
    if (!write_all(service, name + "\n"))
        return cannot_connect(socket, errno);
    const Failure ended{"the service ended before the script did",
                        "as root: journalctl -u 'djstap-run@*'"};
    FrameReader frames;
    bool stopping = false;
    for (;;) {
        while (const auto frame = frames.next()) {
            if (frame->stream == Stream::Status)
                return static_cast<unsigned char>(frame->bytes[0]);
            if (!write_all(frame->stream == Stream::Errors ? STDERR_FILENO : STDOUT_FILENO,
                           frame->bytes))
                return Failure{
                    "cannot write the script's output: " + std::string(std::strerror(errno)), ""};
        }
        if (frames.broken())
            return ended;
        pollfd polled[] = {{service, POLLIN, 0}, {stopping ? -1 : signals.get(), POLLIN, 0}};
        if (poll(polled, std::size(polled), -1) < 0)
            continue;
        if (polled[1].revents) {
            shutdown(service, SHUT_WR);
            stopping = true;
        }
        // It may wait: once told to stop, the service alone matters.
        char bytes[8192];
        const ssize_t got = read_some(service, bytes, sizeof bytes);
        if (got <= 0)
            return ended;
        frames.add({bytes, static_cast<size_t>(got)});
    }
}

} // namespace djstap::offered
