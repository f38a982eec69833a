// SPDX-License-Identifier: GPL-2.0-or-later
#include "guest/qmp.h"

#include <cerrno>
#include <cstring>
#include <poll.h>
#include <sys/socket.h>

namespace djstap::guest {

using nlohmann::json;

namespace {

bool send_line(int socket, const std::string& line, int descriptor) {
    iovec data = {const_cast<char*>(line.data()), line.size()};
    msghdr message = {};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    if (descriptor >= 0) {
        message.msg_control = control;
        message.msg_controllen = sizeof control;
        cmsghdr* header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
    }
    // Commands are far shorter than a socket's buffer: they are sent completely or not at all.
    return sendmsg(socket, &message, MSG_NOSIGNAL) == static_cast<ssize_t>(line.size());
}

} // namespace

Result<json> Qmp::receive(Clock::time_point deadline) {
    for (;;) {
        size_t end = input_.find('\n');
        if (end != std::string::npos) {
            json message = json::parse(input_.substr(0, end), nullptr, false);
            input_.erase(0, end + 1);
            if (message.is_discarded() || !message.is_object())
                return Failure{"QEMU sent invalid JSON", ""};
            return message;
        }
        auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
        pollfd p = {socket_.get(), POLLIN, 0};
        int ready = poll(&p, 1, left.count() > 0 ? static_cast<int>(left.count()) : 0);
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready == 0)
            return Failure{"QEMU did not answer in time", ""};
        char buffer[16384];
        ssize_t n = recv(socket_.get(), buffer, sizeof buffer, 0);
        if (n <= 0)
            return Failure{"QEMU ended unexpectedly", ""};
        input_.append(buffer, static_cast<size_t>(n));
    }
}

Status Qmp::open(Clock::time_point deadline) {
    Result<json> greeting = receive(deadline);
    if (!greeting)
        return greeting.failure();
    Result<json> answer = run("qmp_capabilities", json::object(), deadline);
    if (!answer)
        return answer.failure();
    return Done{};
}

Result<json> Qmp::run(const std::string& command, const json& arguments, Clock::time_point deadline,
                      int descriptor) {
    json request = {{"execute", command}, {"arguments", arguments}};
    if (!send_line(socket_.get(), request.dump() + "\n", descriptor))
        return Failure{"QEMU ended unexpectedly", ""};
    for (;;) {
        Result<json> message = receive(deadline);
        if (!message)
            return message;
        if (message->contains("error"))
            return Failure{"QEMU rejected " + command + ": " +
                               (*message)["error"].value("desc", std::string("no reason given")),
                           ""};
        if (message->contains("return"))
            return (*message)["return"];
    }
}

} // namespace djstap::guest
