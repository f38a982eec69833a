// SPDX-License-Identifier: GPL-2.0-or-later
#include "guest/run.h"

#include "guest/modules.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <poll.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace djstap::guest {

using std::chrono::duration_cast;
using std::chrono::milliseconds;

namespace {

constexpr size_t supply = 512 * 1024; // bytes of the archive that are queued in the channel

std::string in_seconds(milliseconds time) {
    char text[32];
    snprintf(text, sizeof text, "%g s", static_cast<double>(time.count()) / 1000);
    return text;
}

uint32_t number_at(const std::string& data, size_t at) {
    uint32_t number = 0;
    if (data.size() >= at + sizeof number)
        memcpy(&number, data.data() + at, sizeof number);
    return number;
}

std::string host_name() {
    char name[65] = "";
    return gethostname(name, sizeof name - 1) == 0 ? name : "guest";
}

} // namespace

Status Run::queue_start() {
    char seed[64];
    timespec now = {};
    if (getrandom(seed, sizeof seed, 0) != sizeof seed)
        return system_failure("read", "random bytes");
    for (const FileToCopy& file : job_.files)
        if (Status added = archive_.add(file); !added)
            return added;
    if (!job_.modules.empty() && !job_.host_root)
        if (Status added = add_for_modprobe(job_.kernel, job_.modules, archive_); !added)
            return added;
    if (job_.host_root) {
        machine_.channel().queue(GUEST_ROOT, job_.kernel.modules + '\0' + host_name() + '\0');
        ++awaited_;
    }
    // The clock is added last: it ages by less than a millisecond until it reaches the guest.
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t clock[2] = {static_cast<uint64_t>(now.tv_sec), static_cast<uint64_t>(now.tv_nsec)};
    std::string data(reinterpret_cast<const char*>(clock), sizeof clock);
    data.append(seed, sizeof seed);
    machine_.channel().queue(GUEST_CLOCK, data);
    return Done{};
}

void Run::queue_command() {
    std::vector<std::string> environment = job_.environment;
    if (environment.empty()) {
        environment = {"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                       "HOME=/root", "USER=root", "TERM=dumb"};
        if (getenv("DJSTAP_CHECK_REMAINS") != nullptr) // agent/command.c
            environment.emplace_back("DJSTAP_CHECK_REMAINS=1");
    }
    const mode_t mask = umask(0);
    umask(mask);
    const djstap_guest_command head = {static_cast<uint32_t>(job_.command.size()),
                                       static_cast<uint32_t>(environment.size()), RLIM_NLIMITS,
                                       mask};
    std::string data(reinterpret_cast<const char*>(&head), sizeof head);
    for (unsigned i = 0; i < RLIM_NLIMITS; ++i) {
        rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};
        getrlimit(static_cast<__rlimit_resource>(i), &limit);
        const uint64_t values[] = {limit.rlim_cur, limit.rlim_max};
        data.append(reinterpret_cast<const char*>(values), sizeof values);
    }
    auto add = [&](const std::string& text) { data.append(text.c_str(), text.size() + 1); };
    add(job_.directory);
    for (const std::string& word : job_.command)
        add(word);
    for (const std::string& variable : environment)
        add(variable);
    for (size_t at = 0; at < data.size(); at += DJSTAP_GUEST_MAX_FRAME)
        machine_.channel().queue(GUEST_COMMAND,
                                 std::string_view(data).substr(at, DJSTAP_GUEST_MAX_FRAME));
    machine_.channel().queue(GUEST_COMMAND, "");
    if (job_.input < 0)
        machine_.channel().queue(GUEST_INPUT, "");
}

Status Run::feed() {
    while (phase_ == Sending && machine_.channel().queued() < supply) {
        std::string piece;
        Result<bool> more = archive_.next(piece, 64 * 1024);
        if (!more)
            return more.failure();
        for (size_t at = 0; at < piece.size(); at += DJSTAP_GUEST_MAX_FRAME)
            machine_.channel().queue(GUEST_ARCHIVE,
                                     std::string_view(piece).substr(at, DJSTAP_GUEST_MAX_FRAME));
        if (!*more) {
            machine_.channel().queue(GUEST_ARCHIVE, "");
            phase_ = Unpacking;
        }
    }
    return Done{};
}

void Run::pass_signals() {
    unsigned char signals[64];
    ssize_t n = signals_ ? read(signals_->descriptor(), signals, sizeof signals) : 0;
    for (ssize_t i = 0; i < n; ++i)
        machine_.channel().queue_number(GUEST_SIGNAL, signals[i]);
}

void Run::wait_for_events() {
    Channel& channel = machine_.channel();
    auto now = Clock::now();
    if (phase_ == Running && !unanswered_ && now - last_ping_ > job_.silence_timeout / 8) {
        channel.queue(GUEST_PING, "");
        unanswered_ = last_ping_ = now;
    }
    size_t before = channel.queued();
    alive_ = channel.flush();
    if (channel.queued() < before)
        progress_ = now;
    bool wants_to_send = channel.queued() || phase_ == Sending;
    // Signals and input wait until a command can receive them.
    int signals = signals_ && phase_ == Running ? signals_->descriptor() : -1;
    int input = job_.input >= 0 && phase_ == Running ? input_.descriptor() : -1;
    pollfd polled[] = {
        {channel.descriptor(), static_cast<short>(POLLIN | (wants_to_send ? POLLOUT : 0)), 0},
        {machine_.process().descriptor(), POLLIN, 0},
        {signals, POLLIN, 0},
        {input, POLLIN, 0}};
    auto wait = std::min<milliseconds>(job_.silence_timeout / 8, milliseconds(1000));
    if (phase_ == Running && job_.command_timeout.count())
        wait = std::min(wait, duration_cast<milliseconds>(started_ + job_.command_timeout - now));
    poll(polled, std::size(polled), std::max(1, static_cast<int>(wait.count())));
    if (polled[2].revents & POLLIN)
        pass_signals();
    if (polled[3].revents)
        input_.pass(channel);
    // What a machine sent before its end counts: its channel is read to the end first.
    bool readable = polled[0].revents & POLLIN;
    if (readable) {
        progress_ = Clock::now();
        alive_ = channel.fill() && alive_;
    } else if (polled[1].revents || (polled[0].revents & (POLLHUP | POLLERR))) {
        alive_ = false;
    }
}

std::string Run::overdue() {
    auto now = Clock::now();
    if (phase_ == Running && job_.command_timeout.count() && now >= started_ + job_.command_timeout)
        return "the command did not end within " + in_seconds(job_.command_timeout);
    auto since = phase_ == Running ? unanswered_ : std::optional(progress_);
    if (since && now - *since > job_.silence_timeout && now - progress_ > job_.silence_timeout / 2)
        return "the guest has not answered for " + in_seconds(job_.silence_timeout);
    return "";
}

void Run::pass_output(const Frame& frame) {
    const GuestStream stream = frame.type == GUEST_STDOUT   ? GuestStream::Output
                               : frame.type == GUEST_STDERR ? GuestStream::Errors
                                                            : GuestStream::Trace;
    if (callbacks_.output && !callbacks_.output(stream, frame.data))
        machine_.channel().queue(GUEST_UNHEARD, {&frame.type, 1});
    // The consumer of the output may have been slow, not the guest.
    progress_ = Clock::now();
}

GuestOutcome Run::exited(const Frame& frame) {
    input_.give_back(number_at(frame.data, 4));
    GuestOutcome outcome;
    outcome.state = GuestOutcome::Exited;
    outcome.exit_code = static_cast<int>(number_at(frame.data, 0));
    const std::string log = machine_.console();
    outcome.kernel_log = log_tail(log);
    outcome.complaint = complaints(log);
    return outcome;
}

std::optional<Result<GuestOutcome>> Run::take(const Frame& frame) {
    switch (frame.type) {
    case GUEST_STDOUT:
    case GUEST_STDERR:
    case GUEST_TRACE:
        pass_output(frame);
        break;
    case GUEST_TAKEN:
        input_.taken(number_at(frame.data, 0));
        break;
    case GUEST_PONG:
        unanswered_.reset();
        break;
    case GUEST_DONE:
        if (!frame.data.empty())
            return Failure{
                "cannot transfer files into the guest: " + frame.data,
                frame.data.find(std::strerror(ENOSPC)) != std::string::npos
                    ? "the files exceed half of the guest's memory: use a larger --guest-memory"
                    : ""};
        if (--awaited_ == 0) {
            phase_ = Running;
            started_ = last_ping_ = Clock::now();
            queue_command();
        }
        break;
    case GUEST_EXIT:
        return exited(frame);
    default:
        break;
    }
    return std::nullopt;
}

GuestOutcome Run::lost(const Machine::End& end) {
    const std::string log = machine_.console();
    GuestOutcome outcome;
    outcome.state = end.by_emulator ? GuestOutcome::EmulatorDied : GuestOutcome::Lost;
    outcome.reason = end.reason;
    outcome.kernel_log = log_of_loss(log);
    outcome.complaint = complaints(log);
    return outcome;
}

Result<GuestOutcome> Run::go() {
    if (Status queued = queue_start(); !queued)
        return queued.failure();
    for (;;) {
        if (Status fed = feed(); !fed)
            return fed.failure();
        wait_for_events();
        while (std::optional<Frame> frame = machine_.channel().next())
            if (std::optional<Result<GuestOutcome>> outcome = take(*frame))
                return std::move(*outcome);
        if (!alive_)
            return lost(machine_.end());
        if (std::string reason = overdue(); !reason.empty()) {
            machine_.interrupt(Clock::now() + std::chrono::seconds(3));
            return lost({false, reason});
        }
    }
}

} // namespace djstap::guest
