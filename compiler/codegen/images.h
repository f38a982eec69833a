// SPDX-License-Identifier: GPL-2.0-or-later
// Which segments of which images a script's sites and values lie in, numbered as they are met.
#pragma once
#include "codegen/codegen.h"

#include <optional>
#include <vector>

namespace djstap::codegen {

class ImageTable {
  public:
    // The kernel's segment is the first; in user space there is none.
    ImageTable(const ProbePlan& plan, const CodegenKernel& kernel);

    struct Use {
        const ProbedImage* image;
        const Segment* segment;
    };
    // The number of the segment that holds `address`, of ProbePlan::images[image]. Nothing where
    // none does.
    std::optional<uint32_t> number_of(uint32_t image, uint64_t address);
    // By number. Those of one image need not stand together.
    const std::vector<Use>& segments() const { return segments_; }
    // The images of these, the kernel first, each once.
    std::vector<const ProbedImage*> images() const;

  private:
    const ProbePlan& plan_;
    std::vector<Use> segments_;
};

} // namespace djstap::codegen
