// SPDX-License-Identifier: GPL-2.0-or-later
// The segments of images that contain a script's sites and values, numbered in the order of first
// use.
#pragma once
#include "codegen/codegen.h"

#include <optional>
#include <vector>

namespace djstap::codegen {

class ImageTable {
  public:
    // The kernel's segment is the first one; in user space there is none.
    ImageTable(const ProbePlan& plan, const CodegenKernel& kernel);

    struct Use {
        const ProbedImage* image;
        const Segment* segment;
    };
    // Returns the number of the segment of ProbePlan::images[image] that contains `address`;
    // nothing if none does.
    std::optional<uint32_t> number_of(uint32_t image, uint64_t address);
    // By number. Those of one image need not be adjacent.
    const std::vector<Use>& segments() const { return segments_; }
    // Returns the images of these segments, the kernel first, each once.
    std::vector<const ProbedImage*> images() const;

  private:
    const ProbePlan& plan_;
    std::vector<Use> segments_;
};

} // namespace djstap::codegen
