// SPDX-License-Identifier: GPL-2.0-or-later
#include "injection/keeper.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace djstap::injection {

namespace {

// Reads up to the end of the other side.
std::string read_all(int from) {
    std::string text;
    char bytes[256];
    for (;;) {
        const ssize_t count = read(from, bytes, sizeof bytes);
        if (count > 0)
            text.append(bytes, static_cast<size_t>(count));
        else if (count == 0 || errno != EINTR)
            return text;
    }
}

void close_others(const std::vector<int>& kept) {
    std::vector<int> open;
    std::error_code error;
    for (const auto& each : std::filesystem::directory_iterator("/proc/self/fd", error))
        open.push_back(atoi(each.path().filename().c_str()));
    for (const int each : open)
        if (std::find(kept.begin(), kept.end(), each) == kept.end())
            close(each);
}

} // namespace

Keeper::Keeper(Keeper&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), asks_(std::move(other.asks_)),
      answers_(std::move(other.answers_)) {}

Result<Keeper> Keeper::start(std::vector<int> descriptors, std::function<Status()> begin,
                             std::function<bool()> end) {
    auto asked = Pipe::open(), answer = Pipe::open();
    if (!asked || !answer)
        return Failure{std::string("no pipe: ") + std::strerror(errno), ""};
    Keeper keeper;
    keeper.asks_ = std::move(asked->writer);
    keeper.answers_ = std::move(answer->reader);
    keeper.pid_ = fork();
    if (keeper.pid_ < 0)
        return Failure{std::string("no process: ") + std::strerror(errno), ""};
    if (keeper.pid_ > 0)
        return keeper;

    keeper.pid_ = -1;
    setsid();
    (void)!chdir("/");
    for (const int each : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE})
        signal(each, SIG_IGN);
    signal(SIGCHLD, SIG_DFL);
    prctl(PR_SET_NAME, "djstap-keeper");
    descriptors.push_back(asked->reader.get());
    descriptors.push_back(answer->writer.get());
    close_others(descriptors);
    std::string answered = "+";
    if (const Status done = begin(); !done)
        answered = "-" + done.failure().message + "\n" + done.failure().hint;
    // If djstap is gone, the next read tells.
    (void)!write(answer->writer.get(), answered.data(), answered.size());
    close(answer->writer.get());
    read_all(asked->reader.get());
    _exit(end() ? 0 : 1);
}

Status Keeper::begun() {
    const std::string answer = read_all(answers_.get());
    if (answer.starts_with('+'))
        return Done{};
    if (answer.empty())
        return Failure{"the process that places the probes was ended", ""};
    const size_t line = answer.find('\n');
    return Failure{answer.substr(1, line - 1), answer.substr(line + 1)};
}

bool Keeper::end() {
    if (pid_ < 0)
        return true;
    asks_ = FileDescriptor();
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR)
        ;
    pid_ = -1;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

} // namespace djstap::injection
