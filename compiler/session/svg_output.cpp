// SPDX-License-Identifier: GPL-2.0-or-later
// Writes a flame graph of the call stacks.
#include "session/flame_graph.h"
#include "session/outputs.h"
#include "session/stack_samples.h"

namespace djstap {

namespace {

class SvgOutput : public StackOutput {
  public:
    using StackOutput::StackOutput;

    void begin(const ModuleMeta& meta, const RecordClock&) override { name_ = meta.name; }

  private:
    bool writes_in_parts() const override { return false; }
    void write(const Samples& samples, bool) override {
        writer().append(flame_graph(samples, "Flame graph: " + name_));
    }

    std::string name_;
};

} // namespace

std::unique_ptr<Output> make_svg_output(const OutputStreams& streams) {
    return std::make_unique<SvgOutput>(streams);
}

} // namespace djstap
