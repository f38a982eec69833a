// SPDX-License-Identifier: GPL-2.0-or-later
#include "offered/client.h"

#include "offered/frames.h"
#include "system/descriptor.h"
#include "system/file.h"
#include "system/process.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstring>
#include <iterator>
#include <optional>
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

// The signals that stop the script.
class StopRequests {
  public:
    explicit StopRequests(int service) : service_(service) {
        sigset_t set;
        sigemptyset(&set);
        for (int each : {SIGINT, SIGTERM, SIGHUP})
            if (each != SIGHUP || !ignores_hangup()) // one that is blocked is not ignored
                sigaddset(&set, each);
        sigprocmask(SIG_BLOCK, &set, nullptr);
        signals_ = FileDescriptor(signalfd(-1, &set, SFD_CLOEXEC));
    }
    // Readable if there is one to take.
    int descriptor() const { return signals_.get(); }
    void take() {
        signalfd_siginfo signal;
        read_some(signals_.get(), &signal, sizeof signal);
        if (count_++ == 0)
            shutdown(service_, SHUT_WR);
    }
    // How long the reader of the output may take nothing: it may show a page to its user.
    std::optional<std::chrono::seconds> patience() const {
        return count_ == 0 ? std::nullopt
                           : std::optional(std::chrono::seconds(count_ > 1 ? 1 : 10));
    }

  private:
    int service_, count_ = 0;
    FileDescriptor signals_;
};

Status write_output(int fd, std::string_view bytes, StopRequests& stop) {
    using Clock = std::chrono::steady_clock;
    std::optional<Clock::time_point> stalled;
    while (!bytes.empty()) {
        pollfd polled[] = {{fd, POLLOUT, 0}, {stop.descriptor(), POLLIN, 0}};
        if (poll(polled, std::size(polled), stop.patience() ? 100 : -1) < 0)
            continue;
        if (polled[1].revents)
            stop.take();
        if (!polled[0].revents) {
            const auto now = Clock::now();
            if (!stalled || !stop.patience())
                stalled = now;
            else if (now - *stalled > *stop.patience())
                return Failure{"the reader of the script's output takes nothing",
                               "what it did not take is lost"};
            continue;
        }
        // A pipe that has room takes as much at once.
        const ssize_t written = write(fd, bytes.data(), std::min<size_t>(bytes.size(), PIPE_BUF));
        if (written >= 0) {
            bytes.remove_prefix(static_cast<size_t>(written));
            stalled.reset();
        } else if (errno != EINTR && errno != EAGAIN) {
            return Failure{"cannot write the script's output: " + std::string(std::strerror(errno)),
                           ""};
        }
    }
    return Done{};
}

} // namespace

Result<int> request(const std::string& socket, const std::string& name) {
    auto connection = connect_to(socket);
    if (!connection)
        return connection.failure();
    const int service = connection->get();
    StopRequests stop(service);
    if (!write_all(service, name + "\n"))
        return cannot_connect(socket, errno);
    const Failure ended{"the service ended before the script did",
                        "as root: journalctl -u 'djstap-run@*'"};
    FrameReader frames;
    for (;;) {
        while (const auto frame = frames.next()) {
            if (frame->stream == Stream::Status)
                return static_cast<unsigned char>(frame->bytes[0]);
            if (Status written =
                    write_output(frame->stream == Stream::Errors ? STDERR_FILENO : STDOUT_FILENO,
                                 frame->bytes, stop);
                !written)
                return written.failure();
        }
        if (frames.broken())
            return ended;
        pollfd polled[] = {{service, POLLIN, 0}, {stop.descriptor(), POLLIN, 0}};
        if (poll(polled, std::size(polled), -1) < 0)
            continue;
        if (polled[1].revents)
            stop.take();
        if (!polled[0].revents)
            continue;
        char bytes[8192];
        const ssize_t got = read_some(service, bytes, sizeof bytes);
        if (got <= 0)
            return ended;
        frames.add({bytes, static_cast<size_t>(got)});
    }
}

} // namespace djstap::offered
