// SPDX-License-Identifier: GPL-2.0-or-later
#include "pmda/runs.h"

#include "system/file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <sys/resource.h>

namespace djstap::pmda {

namespace {

constexpr std::chrono::seconds longest_pause{60};
constexpr size_t piece = 256 * 1024;
// Then other scripts and pmcd have their turn.
constexpr int most_pieces = 16;
// Of a script's error; what a line has more is dropped.
constexpr size_t longest_line = 4096;
// Of a process that compiles what a user has stored: many patterns that match everything would
// take all of it.
constexpr rlim_t most_memory = 4ULL << 30;

bool limit_memory() {
    rlimit limit{};
    if (getrlimit(RLIMIT_DATA, &limit) != 0)
        return false;
    limit.rlim_max = std::min(limit.rlim_max, most_memory);
    limit.rlim_cur = std::min(limit.rlim_cur, limit.rlim_max);
    return setrlimit(RLIMIT_DATA, &limit) == 0;
}

} // namespace

// No shell is involved: the words are the arguments.
Status ScriptRun::start(Clock::time_point now, bool& started) {
    started = false;
    if (process_.running() || is_over_ || now < next_start_ || !file_.refusal.empty())
        return Done{};
    next_start_ = now + pause_;
    pause_ = std::min(2 * pause_, longest_pause);
    auto output = Pipe::open(), errors = Pipe::open();
    if (!output || !errors)
        return Failure{std::string("no pipe: ") + strerror(errno), ""};
    fcntl(output->reader.get(), F_SETFL, O_NONBLOCK);
    fcntl(errors->reader.get(), F_SETFL, O_NONBLOCK);
    ProcessOptions options;
    options.input = ProcessOptions::none;
    options.output = output->writer.get();
    options.errors = errors->writer.get();
    options.bound = true;
    const std::string& program = file_.is_module ? programs_.djrun : programs_.djstap;
    if (!file_.is_module && find_program(program).empty())
        return Failure{"a script is compiled by djstap, which is not installed on this machine; "
                       "without it, only modules (.ko) run",
                       ""};
    std::vector<std::string> words{program, "--output=snapshots"};
    // What a user stores has no commands run as root.
    if (!file_.user.empty()) {
        options.in_child = limit_memory;
        words.emplace_back("--no-system");
    }
    words.push_back(file_.path);
    auto process = Process::start(words, options);
    if (!process)
        return process.failure();
    process_ = std::move(*process);
    output_ = std::move(output->reader);
    errors_ = std::move(errors->reader);
    frames_ = {};
    is_damaged_ = false;
    error_text_.clear();
    started = true;
    return Done{};
}

void ScriptRun::read(const std::function<void(SnapshotFrame)>& take) {
    std::string bytes(piece, '\0');
    for (int pieces = 0; pieces < most_pieces; pieces++) {
        const ssize_t size = read_some(output_.get(), bytes.data(), bytes.size());
        if (size < 0 && errno == EAGAIN)
            return;
        if (size <= 0)
            return output_.reset();
        frames_.add(std::string_view(bytes).substr(0, static_cast<size_t>(size)));
        while (true) {
            auto frame = frames_.next();
            if (!frame) {
                // The process ends when nobody reads what it writes.
                is_damaged_ = true;
                return output_.reset();
            }
            if (!*frame)
                break;
            if (std::holds_alternative<GlobalsFrame>(**frame))
                pause_ = std::chrono::seconds(1); // it works
            take(std::move(**frame));
        }
    }
}

std::optional<std::string> ScriptRun::read_errors() {
    std::array<char, longest_line> bytes{};
    const ssize_t size = read_some(errors_.get(), bytes.data(), bytes.size());
    if (size < 0 && errno == EAGAIN)
        return std::nullopt;
    if (size <= 0) {
        errors_.reset();
        return std::nullopt;
    }
    error_text_.append(bytes.data(), static_cast<size_t>(size));
    const size_t end = error_text_.rfind('\n');
    if (end == std::string::npos) {
        error_text_.resize(std::min(error_text_.size(), longest_line));
        return std::nullopt;
    }
    const std::string lines = error_text_.substr(0, end);
    error_text_.erase(0, end + 1);
    // The first line of a diagnostic says what is wrong; the others where and what to do.
    for (size_t begin = 0; begin < lines.size();) {
        const size_t stop = std::min(lines.find('\n', begin), lines.size());
        const std::string line = lines.substr(begin, stop - begin);
        if (line.find("error") != std::string::npos || line.find("ERROR") != std::string::npos)
            return line;
        begin = stop + 1;
    }
    return lines.substr(lines.rfind('\n') + 1);
}

void ScriptRun::stop() {
    output_.reset();
    errors_.reset();
    if (process_.running())
        ::kill(process_.pid(), SIGTERM);
}

std::optional<ScriptRun::End> ScriptRun::ended() {
    if (output_ || !process_.running())
        return std::nullopt;
    const auto status = process_.poll_status();
    if (!status)
        return std::nullopt;
    is_over_ = exit_status(*status) == 0 && !is_damaged_;
    return is_over_ ? End::Script : End::Failure;
}

} // namespace djstap::pmda
