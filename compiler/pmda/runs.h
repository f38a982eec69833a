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

    const ScriptFile& file() const { return file_; }
    bool running() const { return process_.running(); }
    // Starts the process, unless it runs, has ended by itself, or was started too recently. Returns
    // an error if it cannot be started.
    Status start(Clock::time_point now, bool& started);
    // What becomes readable when the script shows something, or ends; -1: it does not run.
    int descriptor() const { return output_.get(); }
    // What it writes to standard error.
    int errors_descriptor() const { return errors_.get(); }
    // Becomes readable when the process has ended; -1: it does not run.
    int end_descriptor() const { return process_.running() ? process_.descriptor() : -1; }
    // Reads what there is, and passes each frame on.
    void read(const std::function<void(SnapshotFrame)>& take);
    // The same for standard error: returns the last line, if there is a new one.
    std::optional<std::string> read_errors();
    // Asks the process to end, without waiting: it still has to detach its probes.
    void stop();
    // How the process has ended; nothing: it has not, or it has more to say. Asked once.
    enum class End : uint8_t { Script, Failure };
    std::optional<End> ended();

  private:
    ScriptFile file_;
    Programs programs_;
    Process process_;
    FileDescriptor output_, errors_;
    SnapshotReader frames_;
    std::string error_text_;
    Clock::time_point next_start_{};
    std::chrono::seconds pause_{1}; // before the next start after a failure
    bool is_over_ = false, is_damaged_ = false;
};

} // namespace djstap::pmda
