// SPDX-License-Identifier: GPL-2.0-or-later
// Several outputs of one session.
#pragma once
#include "session/output.h"

#include <memory>
#include <vector>

namespace djstap {

// Passes everything on to each of its outputs.
class OutputGroup : public Output {
  public:
    // At least one.
    explicit OutputGroup(std::vector<std::unique_ptr<Output>> outputs)
        : outputs_(std::move(outputs)) {}

    void control(SessionControls& controls) override;
    void begin(const ModuleMeta& meta, const RecordClock& clock) override;
    void print(const Event& event) override;
    // Always takes it: an output that does not gets the lines.
    bool print_stack(const Event& event, std::span<const std::string> lines) override;
    void error(std::string_view message, std::string_view place) override;
    void warning(std::string_view message) override;
    void switch_file() override;
    void probes(const std::vector<AttachedProbe>& probes) override;
    void counts(const djs_counts& counts) override;
    void end() override;
    bool wants_all_probes() const override;
    bool wants_snapshots() const override;
    // Lines that are the same in all outputs are written by the first one.
    Writer& writer() override { return outputs_.front()->writer(); }
    void flush() override;
    // A reader that is gone concerns only its own output; any other failure ends the session, so
    // that it is reported when it occurs.
    bool is_closed() override;

  private:
    std::vector<std::unique_ptr<Output>> outputs_;
    std::string text_; // of a line of a stack; its memory is kept
};

} // namespace djstap
