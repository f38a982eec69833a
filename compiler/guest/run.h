// SPDX-License-Identifier: GPL-2.0-or-later
// Runs one command in a guest that is ready: files in, command, output and exit code out.
#pragma once
#include "guest/archive.h"
#include "guest/input.h"
#include "guest/machine.h"

#include <optional>

namespace djstap::guest {

class Run {
  public:
    Run(Machine& machine, const GuestJob& job, const GuestCallbacks& callbacks,
        SignalMailbox* signals)
        : machine_(machine), job_(job), callbacks_(callbacks), signals_(signals),
          input_(job.input) {}

    Result<GuestOutcome> go();

  private:
    Status queue_start(); // clock, archive
    Status feed();        // keeps the channel filled with the archive, then the command
    void queue_command();
    void pass_signals();
    void wait_for_events();
    // Returns the outcome of the guest, once it is known.
    std::optional<Result<GuestOutcome>> take(const Frame& frame);
    void pass_output(const Frame& frame);
    GuestOutcome exited(const Frame& frame);
    GuestOutcome lost(const Machine::End& end);
    // Returns the reason to give up, or "".
    std::string overdue();

    Machine& machine_;
    const GuestJob& job_;
    const GuestCallbacks& callbacks_;
    SignalMailbox* signals_;
    Input input_;
    Archive archive_;
    enum { Sending, Unpacking, Running } phase_ = Sending;
    int awaited_ = 1;                             // answers until the command may start
    bool alive_ = true;                           // the machine's process and its channel
    std::optional<Clock::time_point> unanswered_; // since when a ping is unanswered
    Clock::time_point last_ping_ = Clock::now(), started_ = Clock::now(), progress_ = Clock::now();
};

} // namespace djstap::guest
