// SPDX-License-Identifier: GPL-2.0-or-later
// The dialogue with one host (agent.h), without blocking.
#pragma once
#include "diagnostics/result.h"
#include "hosts/agent.h"
#include "hosts/node_set.h"
#include "hosts/remote_shell.h"
#include "session/snapshot_frames.h"
#include "system/process.h"

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace djstap::hosts {

// How far a host is.
enum class Stage : uint8_t {
    Waiting,    // not called yet
    Connecting, // called
    Connected,  // it has answered: its facts are expected
    Known,      // its facts and its clock are known
    Pushing,    // it takes files
    Ready,      // it has them
    Loading,    // djrun was started
    Loaded,     // the module is loaded and waits
    Running,
    Leaving, // djrun has ended; it removes its files
    Ended,   // as it should, or not: failure()
};

// What a host's clock shows when the controller's shows 0, and by how much this may be wrong.
struct ClockOffset {
    int64_t ns = 0, error_ns = 0;
};

// Bytes that many hosts are sent.
using SharedBytes = std::shared_ptr<const std::string>;

// A file that many hosts are sent. `packed` may be null: it is sent as it is.
struct SharedFile {
    SharedBytes bytes, packed;
};
// Packs a file for the hosts that can unpack it.
SharedFile shared_file(std::string bytes);

class Connection {
  public:
    using Clock = std::chrono::steady_clock;
    // Frames are passed to `take`, which outlives the connection.
    using Take = std::function<void(SnapshotFrame)>;
    Connection(Node node, Take take) : node_(std::move(node)), take_(std::move(take)) {}

    const Node& node() const { return node_; }
    Stage stage() const { return stage_; }
    const AgentFacts& facts() const { return facts_; }
    const ClockOffset& clock() const { return clock_; }
    // Why it has ended; nothing: as it should, or not yet.
    const std::optional<std::string>& failure() const { return failure_; }
    // When it last made progress. When it is to end, only its end is.
    Clock::time_point heard() const { return ending_since_.value_or(heard_); }
    bool is_ending() const { return ending_since_.has_value(); }
    // It is not its fault that it makes none.
    void excuse(Clock::time_point now) {
        heard_ = now;
        if (ending_since_)
            ending_since_ = now;
    }

    // Calls the host.
    void call(const RemoteShell& shell, Clock::time_point now);
    // Sends files; `djrun` may be null: the host has it.
    void push(const SharedFile& module, const SharedFile* djrun, Clock::time_point now);
    // Loads the module, with parameters of letters that no shell interprets.
    void load(const std::string& parameters, Clock::time_point now);
    // Starts the loaded module.
    void go(Clock::time_point now);
    // Asks the host to stop. It has ended when its last frames have come.
    void stop(Clock::time_point now);
    // Gives the host up.
    void give_up(const std::string& why);

    // The descriptors to wait for; -1: none.
    int output_descriptor() const { return output_.get(); }
    int errors_descriptor() const { return errors_.get(); }
    // What can take more input; -1: there is none to send.
    int input_descriptor() const { return unsent_.empty() || awaits_answer_ ? -1 : input_.get(); }
    // Reads what there is, and sends what fits.
    void read_output(Clock::time_point now);
    void read_errors();
    void write_input(Clock::time_point now);
    // Concludes what has ended.
    void tick(Clock::time_point now);
    // Takes the lines that the host's standard error had since the last call.
    std::vector<std::string> take_error_lines();

  private:
    // A piece of the input: of its own, or shared.
    struct Piece {
        std::string own;
        SharedBytes shared;
        std::string_view bytes() const { return shared ? std::string_view(*shared) : own; }
    };
    void send(std::string line);
    void send_file(const std::string& name, const SharedFile& file);
    void take_line(std::string_view line);
    void take_lines();
    void take_frames();
    void ask_clock();
    void take_clock(std::string_view nanoseconds);
    void take_end(std::string_view line);
    void conclude();
    void hang_up();
    std::string last_words() const;

    Node node_;
    Take take_;
    Stage stage_ = Stage::Waiting;
    AgentFacts facts_;
    ClockOffset clock_;
    int clock_rounds_ = 0;
    int64_t asked_ns_ = 0;
    bool use_pushed_ = false;
    bool awaits_answer_ = false; // a file was sent
    bool has_hung_up_ = false;   // the other end has
    std::optional<std::string> failure_;
    int64_t status_ = 0; // of djrun
    Clock::time_point heard_{};
    std::optional<Clock::time_point> ending_since_;
    Process process_;
    FileDescriptor input_, output_, errors_;
    std::deque<Piece> unsent_;
    size_t sent_ = 0;               // of the first piece
    std::deque<std::string> files_; // whose answers are missing
    std::string received_, error_text_, last_error_;
    size_t said_bytes_ = 0; // lines of the dialogue, then frames before the description
    std::vector<std::string> error_lines_;
};

} // namespace djstap::hosts
