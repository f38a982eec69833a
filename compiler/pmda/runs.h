// SPDX-License-Identifier: GPL-2.0-or-later
// A script that runs in a process of its own, and writes its globals to the agent.
#pragma once
#include "pmda/scripts.h"
#include "session/snapshot_frames.h"
#include "system/process.h"

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace djstap::pmda {

using Clock = std::chrono::steady_clock;

// Where the programs are that run scripts.
struct Programs {
    std::string djstap = "djstap", djrun = "djrun";
};

// The process ends when this one does, for whatever reason: its output is gone, it detaches all
// probes and unloads the module. If it is killed, too, djrun's watchdog does.
class ScriptRun {
  public:
    ScriptRun(ScriptFile file, const Programs& programs)
        : file_(std::move(file)), programs_(programs) {}
    ScriptRun(ScriptRun&&) = default;
    ScriptRun& operator=(ScriptRun&&) = delete;
    // Ends the process, and waits until it has detached everything.
    ~ScriptRun();

    const ScriptFile& file() const { return file_; }
    bool running() const { return process_.running(); }
    // Starts the process, unless it runs, has ended by itself, or was started too recently. Returns
    // an error if it cannot be started.
    Status start(Clock::time_point now, bool& started);
    // What becomes readable when the script shows something, or ends; -1: it does not run.
    int descriptor() const { return output_.get(); }
    // What it writes to standard error.
    int errors_descriptor() const { return errors_.get(); }
    // Reads what there is, and passes each frame on. Returns false if the process has ended, or
    // what it writes is damaged.
    bool read(const std::function<void(SnapshotFrame)>& take);
    // The same for standard error: returns the last line, if there is a new one.
    std::optional<std::string> read_errors();
    // Waits for the end. Returns whether the script ended by itself, and is not to run again.
    bool finish();

  private:
    ScriptFile file_;
    Programs programs_;
    Process process_;
    FileDescriptor output_, errors_;
    FrameReader frames_;
    std::string error_text_;
    Clock::time_point next_start_{};
    std::chrono::seconds pause_{1}; // before the next start after a failure
    bool is_over_ = false;
};

} // namespace djstap::pmda
