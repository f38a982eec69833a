// SPDX-License-Identifier: GPL-2.0-or-later
// Writes call stacks as flame graph programs read them: "outermost;…;innermost COUNT".
#include "session/outputs.h"
#include "session/stack_samples.h"

namespace djstap {

namespace {

class FoldedOutput : public StackOutput {
  public:
    using StackOutput::StackOutput;

  private:
    void write(const Samples& samples, bool) override {
        for (const auto& [stack, count] : samples) {
            writer().append(stack);
            writer().append(" " + std::to_string(count) + "\n");
        }
    }
};

} // namespace

std::unique_ptr<Output> make_folded_output(const OutputStreams& streams) {
    return std::make_unique<FoldedOutput>(streams);
}

} // namespace djstap
