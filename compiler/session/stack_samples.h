// SPDX-License-Identifier: GPL-2.0-or-later
// Call stacks with their counts, from what a script prints: for outputs that show nothing else.
#pragma once
#include "session/event.h"
#include "session/kernel_symbols.h"
#include "session/message_output.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace djstap {

// The base of such outputs. A sample is
// - an element of an array with a stack among its keys, printed at the end: its value counts it, or
//   the sum of a statistic;
// - a print with a stack among its arguments: the last number behind the stack counts it, or 1;
// - a stack of print_backtrace() or print_stack(): 1.
// Texts and numbers before the stack are its outermost frames.
class StackOutput : public MessageOutput {
  public:
    static constexpr size_t usual_most_bytes = size_t{64} << 20; // as docs/outputs.md says
    explicit StackOutput(const OutputStreams& streams, size_t most_bytes = usual_most_bytes)
        : MessageOutput(streams), same_boot_(streams.same_boot), most_bytes_(most_bytes) {}

    void print(const Event& event) final;
    bool print_stack(const Event& event, std::span<const std::string> lines) final;
    void end() final;

  protected:
    // "outermost;…;innermost" and the count.
    using Samples = std::map<std::string, int64_t, std::less<>>;
    // Writes samples. `last`: nothing follows; otherwise they exceeded the memory for samples, and
    // more of the same stacks may follow.
    virtual void write(const Samples& samples, bool last) = 0;
    // Returns whether write() can be called more than once. Otherwise samples of stacks that exceed
    // the memory are counted as one stack "[other stacks]".
    virtual bool writes_in_parts() const { return true; }
    // When the first and the last event occurred: CLOCK_REALTIME in ns.
    uint64_t first_ns() const { return first_ns_; }
    uint64_t last_ns() const { return last_ns_; }

  private:
    void add(const std::string& stack, int64_t count);
    void take_frames(std::string_view addresses, std::string& stack);
    void note_time(const Event& event);

    const bool same_boot_;
    const size_t most_bytes_;
    std::optional<KernelSymbols> symbols_; // read when the first address is seen
    Samples samples_;
    size_t bytes_ = 0; // of samples_
    uint64_t first_ns_ = 0, last_ns_ = 0;
    uint64_t found_ = 0, not_positive_ = 0, unnamed_ = 0, unnamed_of_programs_ = 0, other_ = 0;
};

// Returns the function's name in what a reader prints of an address: "vfs_read" of
// " 0xffffffff81234567 : vfs_read+0x10/0x120 [module]" or "vfs_read+0x10 [module]"; of a program's
// code without symbols the file and the place in it: "[/usr/bin/program+0x1234]".
std::string_view function_of(std::string_view symbol);

} // namespace djstap
