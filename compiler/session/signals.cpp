// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/signals.h"

#include "system/process.h"

#include <atomic>

namespace djstap {

namespace {
std::atomic<int> stop{0};
static_assert(std::atomic<int>::is_always_lock_free);

void on_signal(int) {
    StopSignals::request();
}
} // namespace

StopSignals::StopSignals() {
    stop = 0;
    for (size_t i = 0; i < handled_.size(); i++) {
        struct sigaction action{};
        action.sa_handler = handled_[i] == SIGPIPE ? SIG_IGN : on_signal;
        sigemptyset(&action.sa_mask);
        sigaction(handled_[i], nullptr, &before_[i]);
        if (handled_[i] != SIGHUP || !ignores_hangup())
            sigaction(handled_[i], &action, nullptr);
    }
}

StopSignals::~StopSignals() {
    for (size_t i = 0; i < handled_.size(); i++)
        sigaction(handled_[i], &before_[i], nullptr);
}

sigset_t StopSignals::requesting() {
    sigset_t signals;
    sigemptyset(&signals);
    for (const int signal : handled_)
        if (signal != SIGPIPE)
            sigaddset(&signals, signal);
    return signals;
}

int StopSignals::requests() {
    return stop;
}

void StopSignals::request() {
    stop++;
}

} // namespace djstap
