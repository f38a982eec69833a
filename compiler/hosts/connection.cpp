// SPDX-License-Identifier: GPL-2.0-or-later
#include "hosts/connection.h"

#include "diagnostics/plain_text.h"
#include "hosts/packed.h"
#include "system/file.h"
#include "system/number.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <protozero/varint.hpp>
#include <utility>

namespace djstap::hosts {

namespace {

constexpr size_t piece_bytes = 64 * 1024;
// The dialogue, with what a login may print before; djrun's exit status; the longest frame.
constexpr size_t longest_dialogue = 256 * 1024, longest_line = 64 * 1024, longest_frame = 256 << 20;
constexpr size_t most_error_lines = 20, longest_error_line = 500;
constexpr int clock_rounds = 3;
// What a connection says of its end comes with it.
constexpr auto end_patience = std::chrono::milliseconds(500);

int64_t realtime_ns() {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

void make_nonblocking(const FileDescriptor& fd) {
    fcntl(fd.get(), F_SETFL, fcntl(fd.get(), F_GETFL) | O_NONBLOCK);
}

} // namespace

void Connection::call(const RemoteShell& shell, Clock::time_point now) {
    heard_ = now;
    stage_ = Stage::Connecting;
    auto input = Pipe::open(), output = Pipe::open(), errors = Pipe::open();
    if (!input || !output || !errors)
        return give_up(std::string("it cannot be called: ") + std::strerror(errno));
    ProcessOptions options;
    options.input = input->reader.get();
    options.output = output->writer.get();
    options.errors = errors->writer.get();
    options.bound = true;
    auto process = Process::start(shell.command(node_, agent_command()), options);
    if (!process)
        return give_up(process.failure().message);
    process_ = std::move(*process);
    input_ = std::move(input->writer);
    output_ = std::move(output->reader);
    errors_ = std::move(errors->reader);
    for (const auto* fd : {&input_, &output_, &errors_})
        make_nonblocking(*fd);
}

void Connection::send(std::string line) {
    unsent_.push_back({std::move(line) + "\n", nullptr});
}

SharedFile shared_file(std::string bytes) {
    std::string packed = gzipped(bytes);
    SharedFile file{std::make_shared<const std::string>(std::move(bytes)), nullptr};
    if (!packed.empty())
        file.packed = std::make_shared<const std::string>(std::move(packed));
    return file;
}

void Connection::send_file(const std::string& name, const SharedFile& file) {
    files_.push_back(name + " " + std::to_string(file.bytes->size()));
    // The bytes follow the line, and the answer is awaited before anything else is sent.
    const bool is_packed = facts_.unpacks && file.packed;
    const SharedBytes& bytes = is_packed ? file.packed : file.bytes;
    send((is_packed ? "unpack " : "put ") + name + " " + std::to_string(bytes->size()));
    unsent_.push_back({"", bytes});
}

void Connection::push(const SharedFile& module, const SharedFile* djrun, Clock::time_point now) {
    heard_ = now;
    stage_ = Stage::Pushing;
    use_pushed_ = djrun != nullptr;
    send_file("script.ko", module);
    if (djrun)
        send_file("djrun", *djrun);
}

void Connection::load(const std::string& parameters, Clock::time_point now) {
    heard_ = now;
    stage_ = Stage::Loading;
    received_.clear();
    said_bytes_ = 0;
    send(std::string("use ") + (use_pushed_ ? "pushed" : facts_.has_own_djrun ? "own" : "found"));
    send("run " + parameters);
}

void Connection::go(Clock::time_point now) {
    heard_ = now;
    stage_ = Stage::Running;
    send("go");
}

void Connection::stop(Clock::time_point now) {
    if (is_ending() || stage_ == Stage::Ended)
        return;
    heard_ = now;
    ending_since_ = now;
    // What was not sent is not needed any more. The end of the input stops djrun.
    input_.reset();
    unsent_.clear();
    if (stage_ < Stage::Loading)
        give_up("it was not started");
}

void Connection::give_up(const std::string& why) {
    if (stage_ == Stage::Ended)
        return;
    failure_ = why;
    hang_up();
}

void Connection::hang_up() {
    stage_ = Stage::Ended;
    input_.reset();
    output_.reset();
    errors_.reset();
    unsent_.clear();
    received_ = {};
    process_.kill();
}

std::string Connection::last_words() const {
    const std::string last = error_text_.empty() ? last_error_ : without_controls(error_text_);
    return last.empty() ? "" : ": " + last;
}

void Connection::write_input(Clock::time_point now) {
    while (!unsent_.empty() && input_ && !awaits_answer_) {
        const std::string_view rest = unsent_.front().bytes().substr(sent_);
        const ssize_t written = write(input_.get(), rest.data(), rest.size());
        if (written < 0) {
            // That the other end is gone is noticed, with the reason, by its output.
            if (errno != EAGAIN && errno != EINTR)
                input_.reset();
            break;
        }
        heard_ = now;
        sent_ += static_cast<size_t>(written);
        if (sent_ < unsent_.front().bytes().size())
            continue;
        awaits_answer_ = unsent_.front().shared != nullptr;
        unsent_.pop_front();
        sent_ = 0;
    }
}

void Connection::read_errors() {
    char bytes[4096];
    const ssize_t count = read_some(errors_.get(), bytes, sizeof bytes);
    if (count < 0 && errno == EAGAIN)
        return;
    if (count <= 0) {
        errors_.reset();
        return;
    }
    for (const char c : std::string_view(bytes, static_cast<size_t>(count))) {
        if (c == '\n') {
            if (!error_text_.empty()) {
                last_error_ = without_controls(error_text_);
                if (error_lines_.size() < most_error_lines)
                    error_lines_.push_back(last_error_);
            }
            error_text_.clear();
        } else if (c != '\r' && error_text_.size() < longest_error_line) {
            error_text_ += c;
        }
    }
}

std::vector<std::string> Connection::take_error_lines() {
    return std::exchange(error_lines_, {});
}

void Connection::read_output(Clock::time_point now) {
    char bytes[piece_bytes];
    const ssize_t count = read_some(output_.get(), bytes, sizeof bytes);
    if (count < 0 && errno == EAGAIN)
        return;
    if (count > 0) {
        heard_ = now;
        if (stage_ == Stage::Leaving)
            return;
        received_.append(bytes, static_cast<size_t>(count));
        if (stage_ < Stage::Loading)
            take_lines();
        else
            take_frames();
        return;
    }
    output_.reset();
    has_hung_up_ = true;
    heard_ = now;
}

void Connection::tick(Clock::time_point now) {
    if (has_hung_up_ && stage_ != Stage::Ended && (!errors_ || now - heard_ >= end_patience))
        conclude();
}

void Connection::conclude() {
    if (stage_ == Stage::Leaving) {
        // All that it has said has come only now.
        if (status_)
            failure_ = "djrun ended with exit status " + std::to_string(status_) + last_words();
        return hang_up();
    }
    give_up((stage_ == Stage::Connecting ? "there is no connection"
             : stage_ >= Stage::Loading && !received_.empty()
                 ? "the connection broke off in the middle of a snapshot"
                 : "the connection broke off") +
            last_words());
}

void Connection::take_lines() {
    size_t begin = 0;
    for (size_t end;
         stage_ < Stage::Loading && (end = received_.find('\n', begin)) != std::string::npos;
         begin = end + 1) {
        take_line(without_controls(std::string_view(received_).substr(begin, end - begin)));
    }
    received_.erase(0, std::min(begin, received_.size()));
    // All of the dialogue: lines without end are no progress.
    said_bytes_ += begin;
    if (stage_ < Stage::Loading && std::max(received_.size(), said_bytes_) > longest_dialogue)
        give_up("it does not answer djstap's commands");
}

void Connection::take_line(std::string_view line) {
    if (stage_ == Stage::Connecting) {
        // A login may print something before.
        if (line == "djstap-host 1")
            stage_ = Stage::Connected;
    } else if (stage_ == Stage::Connected) {
        if (line == "facts")
            ask_clock();
        else if (line.starts_with("clock "))
            take_clock(line.substr(line.find(' ') + 1));
        else
            take_fact(facts_, line);
    } else if (stage_ == Stage::Pushing && !files_.empty() && line.starts_with("put ")) {
        // wc may print blanks before the number.
        std::string answer(line.substr(4));
        answer.erase(std::unique(answer.begin(), answer.end(),
                                 [](char a, char b) { return a == ' ' && b == ' '; }),
                     answer.end());
        if (answer != files_.front())
            return give_up("it cannot store djstap's files" + last_words());
        awaits_answer_ = false;
        files_.pop_front();
        if (files_.empty())
            stage_ = Stage::Ready;
    }
}

void Connection::ask_clock() {
    asked_ns_ = realtime_ns();
    send("clock");
    write_input(heard_);
}

// The moment of the answer lies between the question and its arrival; the shortest round tells it
// best.
void Connection::take_clock(std::string_view nanoseconds) {
    const int64_t now = realtime_ns();
    ClockOffset measured;
    measured.error_ns = (now - asked_ns_) / 2 + 1;
    std::string digits(nanoseconds);
    // Some versions of date only know seconds, and print the rest of the format.
    while (!digits.empty() && (digits.back() == 'N' || digits.back() == '%'))
        digits.pop_back();
    int64_t there = 0;
    if (!parse_number(digits, there) || there <= 0)
        return give_up("it does not tell the time: date +%s%N printed " + digits);
    constexpr int64_t second_ns = 1'000'000'000;
    // As seconds, this is in 2255: more of them would not fit into nanoseconds.
    if (there < 9 * second_ns) {
        there = there * second_ns + second_ns / 2;
        measured.error_ns += second_ns / 2;
    }
    measured.ns = there - (asked_ns_ + (now - asked_ns_) / 2);
    if (clock_rounds_ == 0 || measured.error_ns < clock_.error_ns)
        clock_ = measured;
    if (++clock_rounds_ < clock_rounds)
        ask_clock();
    else
        stage_ = Stage::Known;
}

void Connection::take_frames() {
    size_t at = 0;
    while (at < received_.size() && stage_ != Stage::Ended) {
        const char* const begin = received_.data() + at;
        const char* cursor = begin;
        const char* const end = received_.data() + received_.size();
        uint64_t length = 0;
        try {
            length = protozero::decode_varint(&cursor, end);
        } catch (const protozero::end_of_buffer_exception&) {
            break;
        } catch (const protozero::exception&) {
            length = longest_frame + 1;
        }
        if (length > longest_frame)
            return give_up("it sent something that is not a snapshot");
        // No frame is empty: djrun has ended.
        if (length == 0) {
            const std::string_view rest(cursor, static_cast<size_t>(end - cursor));
            const size_t line_end = rest.find('\n');
            if (line_end == std::string_view::npos && rest.size() < longest_line)
                break;
            return take_end(rest.substr(0, line_end));
        }
        const size_t whole = static_cast<size_t>(cursor - begin) + length;
        if (whole > received_.size() - at)
            break;
        SnapshotReader reader;
        reader.add(std::string_view(begin, whole));
        auto frame = reader.next();
        if (!frame || !*frame)
            return give_up("it sent a damaged snapshot");
        at += whole;
        if (stage_ == Stage::Loading) {
            // What djrun says of itself is short; frames without end are no progress.
            said_bytes_ += whole;
            if (std::holds_alternative<DescriptionFrame>(**frame))
                stage_ = Stage::Loaded;
            else if (said_bytes_ > longest_dialogue)
                return give_up("it does not say what its script shows");
        }
        take_(std::move(**frame));
    }
    received_.erase(0, at);
}

void Connection::take_end(std::string_view line) {
    int64_t status = 0;
    if (!line.starts_with("exit ") || !parse_number(std::string(line.substr(5)), status))
        return give_up("it sent something that is not a snapshot");
    status_ = status;
    stage_ = Stage::Leaving;
    ending_since_ = heard_;
    received_.clear();
    // The host removes its files when its input ends.
    input_.reset();
    unsent_.clear();
}

} // namespace djstap::hosts
