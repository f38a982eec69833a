// SPDX-License-Identifier: GPL-2.0-or-later
#include "inprocess/user_session.h"

#include "session/remedies.h"
#include "session/signals.h"

#include <algorithm>
#include <ctime>

namespace djstap {

namespace {

// A signal that arrives just before a sleep, and the end of the command, are noticed after at most
// this time.
constexpr uint64_t longest_sleep_ns = 20'000'000, longest_sleep_with_command_ns = 2'000'000;
constexpr uint64_t second_ns = 1'000'000'000;

uint64_t now_ns() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<uint64_t>(now.tv_sec) * second_ns + static_cast<uint64_t>(now.tv_nsec);
}

void sleep_until(uint64_t time_ns) {
    const timespec until{static_cast<time_t>(time_ns / second_ns),
                         static_cast<long>(time_ns % second_ns)};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
}

std::vector<AttachedProbe> planned_probes(const ModuleMeta& meta) {
    std::vector<AttachedProbe> probes;
    for (const ModuleMeta::Probe& probe : meta.probes)
        probes.push_back({.point = probe.point,
                          .mechanism = probe.mechanism,
                          .planned = probe.mechanism,
                          .reason = ""});
    return probes;
}

} // namespace

void UserSession::take_records(bool all) {
    const djs_clock now = read_clock();
    clock_.add(now);
    const RecordSink print = [this](const Ring& ring) { printer_.print(ring); };
    const auto done = all ? merger_->last_sweep(print) : merger_->sweep(now.cycles, print);
    outcome_.records += done.records;
    abandoned_ += done.abandoned;
    for (const uint32_t ring : done.corrupt) {
        outcome_.status = 1;
        report_damaged_buffer("thread slot " + std::to_string(ring), output_);
    }
}

bool UserSession::is_over() {
    if (StopSignals::stop_requested()) {
        outcome_.ended_by_signal = true;
        return true;
    }
    if (parts_.runtime.exit_requested() || command_failed_ || output_.is_closed() ||
        (command_ && command_->ended()) || (parts_.has_ended && parts_.has_ended()))
        return true;
    const auto limit = static_cast<uint64_t>(options_.time_limit.count()) * 1'000'000;
    return limit > 0 && now_ns() - began_ >= limit;
}

// Waits until the next timer, or until something may have changed.
void UserSession::wait() {
    const uint64_t now = now_ns();
    const uint64_t longest =
        command_ || parts_.has_ended ? longest_sleep_with_command_ns : longest_sleep_ns;
    uint64_t until = std::min(parts_.runtime.next_timer(), now + longest);
    if (options_.time_limit.count() > 0)
        until = std::min(until,
                         began_ + static_cast<uint64_t>(options_.time_limit.count()) * 1'000'000);
    if (until <= now)
        return;
    output_.flush();
    sleep_until(until);
}

void UserSession::release_command() {
    if (auto released = parts_.release ? parts_.release() : command_->release(); !released) {
        outcome_.status = 1;
        output_.error(released.failure().message, "");
        command_failed_ = true;
    }
    others_write_ = parts_.rings > 1;
}

SessionOutcome UserSession::finish() {
    if (parts_.before_end)
        parts_.before_end();
    others_write_ = false;
    parts_.runtime.stop();
    take_records(true);
    printer_.finish();
    parts_.runtime.counts(&outcome_.counts);
    output_.counts(outcome_.counts);
    if (abandoned_ > 0)
        output_.warning(std::to_string(abandoned_) +
                        (abandoned_ == 1 ? " record was" : " records were") +
                        " never completed: a signal's handler left a probe's handler for good");
    report_damaged_records(printer_.damaged(), output_);
    if (parts_.runtime.failed())
        if (const std::string remedy =
                remedy_of(printer_.last_error(), printer_.place_of_last_error(), true);
            !remedy.empty())
            output_.warning(remedy);
    if (command_)
        if (const std::string failure = command_->failure(); !failure.empty()) {
            outcome_.status = 1;
            output_.warning("the command " + failure);
        }
    outcome_.errors = printer_.errors();
    if (printer_.errors() || parts_.runtime.failed() || printer_.damaged())
        outcome_.status = 1;
    return outcome_;
}

void UserSession::begin() {
    began_ = now_ns();
    std::vector<Ring> rings;
    for (uint32_t i = 0; i < parts_.rings; i++) {
        uint64_t* tail = nullptr;
        char* data = nullptr;
        uint64_t bytes = 0;
        parts_.runtime.ring(i, &tail, &data, &bytes);
        rings.emplace_back(tail, data, bytes, i, parts_.runtime.ring_head(i));
    }
    merger_.emplace(std::move(rings));
    if (parts_.runtime.start()) {
        outcome_.status = 1;
        output_.error("the probes could not be started", "");
    }
    take_records(true);
    output_.probes(parts_.probes ? parts_.probes() : planned_probes(meta_));
    output_.flush(); // before the command's output
}

bool UserSession::is_due() const {
    return parts_.runtime.next_timer() <= now_ns();
}

void UserSession::turn() {
    if (parts_.turn)
        parts_.turn();
    parts_.runtime.run_due(now_ns());
    take_records(!others_write_);
}

SessionOutcome UserSession::run() {
    begin();
    if ((command_ || parts_.release) && !is_over())
        release_command();
    while (!is_over()) {
        turn();
        if (!parts_.runtime.exit_requested())
            wait();
    }
    return finish();
}

} // namespace djstap
