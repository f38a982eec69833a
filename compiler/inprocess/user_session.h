// SPDX-License-Identifier: GPL-2.0-or-later
// A session of a script that runs in user space: in this process, or inside a program (injection/).
#pragma once
#include "session/command.h"
#include "session/merge.h"
#include "session/output.h"
#include "session/printer.h"
#include "session/session.h"
#include "session/system_commands.h"
#include "userspace/userspace.h"

#include <functional>
#include <optional>

namespace djstap {

// What differs between the two.
struct UserSessionParts {
    const djs_user_calls& runtime;
    uint32_t rings = 1; // the first is written by this process
    // Lets the command run, after the begin probes; the command is released by default.
    std::function<Status()> release = {};
    // Called again and again while the command runs.
    std::function<void()> turn = {};
    // Called before the end probes, which run in this process.
    std::function<void()> before_end = {};
    // Whether what is probed has ended; by default, whether the command has.
    std::function<bool()> has_ended = {};
    // How each of the script's probes is attached; those of the description by default.
    std::function<std::vector<AttachedProbe>()> probes = {};
};

class UserSession {
  public:
    // All of them outlive the session; `command` may be null.
    UserSession(const SessionOptions& options, const ModuleMeta& meta, Output& output,
                Command* command, SystemCommands& commands, UserSessionParts parts)
        : options_(options), meta_(meta), output_(output), command_(command),
          parts_(std::move(parts)), printer_(meta, clock_, output, &commands) {}

    // djs_user_options.drain: the runtime calls this in this process when the first ring is full.
    static void drain(void* session) {
        auto& self = *static_cast<UserSession*>(session);
        self.take_records(!self.others_write_);
    }

    // Runs until the script, the command, a signal or the time limit ends it.
    SessionOutcome run();

    // The same in steps, for a caller with a loop of its own. Runs the begin probes.
    void begin();
    // Runs the timers that are due, and prints.
    void turn();
    // Whether a timer is due.
    bool is_due() const;
    bool exit_requested() const { return parts_.runtime.exit_requested() != 0; }
    // Runs the end probes, and prints what is left.
    SessionOutcome finish();

  private:
    // `all`: also those that others may still precede.
    void take_records(bool all);
    bool is_over();
    void wait();
    void release_command();

    const SessionOptions& options_;
    const ModuleMeta& meta_;
    Output& output_;
    Command* command_;
    const UserSessionParts parts_;
    std::optional<RecordMerger> merger_;
    RecordClock clock_{read_clock()};
    RecordPrinter printer_;
    uint64_t began_ = 0;
    size_t abandoned_ = 0; // records
    bool command_failed_ = false;
    bool others_write_ = false; // the program runs
    SessionOutcome outcome_;
};

} // namespace djstap
