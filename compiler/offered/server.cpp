// SPDX-License-Identifier: GPL-2.0-or-later
#include "offered/server.h"

#include "offered/frames.h"
#include "offered/module.h"
#include "system/file.h"
#include "system/process.h"

#include <csignal>
#include <cstdio>
#include <iterator>
#include <poll.h>
#include <sys/socket.h>

namespace djstap::offered {

namespace {

constexpr size_t longest_request = 100;
constexpr int refused = 1;

void finish(int connection, int status) {
    send(connection, Stream::Status, std::string(1, static_cast<char>(status)));
}

void refuse(int connection, const Failure& why) {
    std::string text = "djstap-run: " + why.message + "\n";
    if (!why.hint.empty())
        text += "  hint: " + why.hint + "\n";
    fprintf(stderr, "refused: %s\n", why.message.c_str());
    send(connection, Stream::Errors, text);
    finish(connection, refused);
}

// Returns the line without its end; nothing if none arrives in time.
std::optional<std::string> read_request(int connection, std::chrono::milliseconds patience) {
    using Clock = std::chrono::steady_clock;
    const auto end = Clock::now() + patience;
    std::string line;
    pollfd input = {connection, POLLIN, 0};
    while (line.size() <= longest_request) {
        const auto left =
            std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
        if (left <= 0 || poll(&input, 1, static_cast<int>(left)) <= 0)
            break;
        char byte = 0;
        if (read_some(connection, &byte, 1) != 1)
            return std::nullopt;
        if (byte == '\n')
            return line;
        line += byte;
    }
    return std::nullopt;
}

// Tells the journal who runs what.
void log_request(int connection, const std::string& name) {
    ucred peer = {};
    socklen_t size = sizeof peer;
    if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0)
        fprintf(stderr, "user %u runs %s\n", peer.uid, name.c_str());
}

// A run of the program, whose output goes to the connection.
class Run {
  public:
    Run(int connection, Process program, FileDescriptor output, FileDescriptor errors)
        : connection_(connection), program_(std::move(program)), output_(std::move(output)),
          errors_(std::move(errors)) {}

    int to_its_end() {
        while (output_ || errors_) {
            pollfd polled[] = {{stopped_ ? -1 : connection_, POLLIN, 0},
                               {output_.get(), POLLIN, 0},
                               {errors_.get(), POLLIN, 0}};
            if (poll(polled, std::size(polled), -1) < 0)
                continue;
            if (polled[0].revents && !stays_connected())
                stop();
            if (polled[1].revents)
                pass_on(output_, Stream::Output);
            if (polled[2].revents)
                pass_on(errors_, Stream::Errors);
        }
        return exit_status(program_.wait());
    }

  private:
    // What is sent behind the request means nothing.
    bool stays_connected() const {
        char ignored[64];
        return read_some(connection_, ignored, sizeof ignored) > 0;
    }

    // As Ctrl-C does: probes of `end` still run, and the module is unloaded.
    void stop() {
        if (!stopped_)
            kill(program_.pid(), SIGINT);
        stopped_ = true;
    }

    // What can be sent then fits into the socket's buffer.
    void wait_for_room() {
        pollfd polled = {connection_, POLLOUT, 0};
        do {
            polled.events = static_cast<short>(stopped_ ? POLLOUT : POLLIN | POLLOUT);
            polled.revents = 0;
            if (poll(&polled, 1, -1) >= 0 && !stopped_ && (polled.revents & POLLIN) &&
                !stays_connected())
                stop();
        } while (!(polled.revents & (POLLOUT | POLLERR | POLLHUP)));
    }

    void pass_on(FileDescriptor& from, Stream stream) {
        wait_for_room();
        char bytes[8192];
        const ssize_t got = read_some(from.get(), bytes, sizeof bytes);
        if (got <= 0)
            from.reset();
        else if (!send(connection_, stream, {bytes, static_cast<size_t>(got)}))
            stop();
    }

    int connection_;
    Process program_;
    FileDescriptor output_, errors_;
    bool stopped_ = false;
};

Status run(int connection, const std::string& path, const std::string& djrun) {
    auto output = Pipe::open(), errors = Pipe::open();
    if (!output || !errors)
        return path_failure(path, "cannot make pipes");
    ProcessOptions options;
    options.input = ProcessOptions::none;
    options.output = output->writer.get();
    options.errors = errors->writer.get();
    options.environment = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8"};
    options.bound = true;
    auto program = Process::start({djrun, path}, options);
    if (!program)
        return program.failure();
    output->writer.reset();
    errors->writer.reset();
    finish(connection, Run(connection, std::move(*program), std::move(output->reader),
                           std::move(errors->reader))
                           .to_its_end());
    return Done{};
}

} // namespace

void serve(int connection, const std::string& folder, const std::string& djrun,
           std::chrono::milliseconds patience) {
    signal(SIGPIPE, SIG_IGN);
    const auto request = read_request(connection, patience);
    if (!request)
        return;
    if (request->empty()) {
        for (const std::string& name : module_names(folder))
            send(connection, Stream::Output, name + "\n");
        finish(connection, 0);
        return;
    }
    const auto path = find_module(folder, *request);
    if (!path) {
        refuse(connection, path.failure());
        return;
    }
    log_request(connection, *request);
    if (Status ran = run(connection, *path, djrun); !ran)
        refuse(connection, ran.failure());
}

} // namespace djstap::offered
