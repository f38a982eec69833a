// SPDX-License-Identifier: GPL-2.0-or-later
#include "codegen/images.h"

#include <algorithm>

namespace djstap::codegen {

ImageTable::ImageTable(const ProbePlan& plan, const CodegenKernel& kernel) : plan_(plan) {
    if (!kernel.user_space && !kernel.image.segments.empty())
        segments_.push_back({&kernel.image, &kernel.image.segments.front()});
}

std::optional<uint32_t> ImageTable::number_of(uint32_t image, uint64_t address) {
    const ProbedImage& wanted = plan_.images.at(image);
    if (wanted.kind == ImageKind::Kernel)
        return 0;
    const auto find = [&](const Segment& segment) {
        return std::find_if(segments_.begin(), segments_.end(),
                            [&](const Use& use) { return use.segment == &segment; });
    };
    // All code of a module is compared with that of the file that the addresses come from, also
    // where nothing is probed: the module that is loaded may be another build of it.
    // Of a program the file is compared, in which the build-id may be in any segment.
    for (const Segment& segment : wanted.segments)
        if ((segment.executable || wanted.kind == ImageKind::Program) &&
            find(segment) == segments_.end())
            segments_.push_back({&wanted, &segment});
    for (const Segment& segment : wanted.segments) {
        if (!segment.contains(address))
            continue;
        auto known = find(segment);
        if (known == segments_.end())
            known = segments_.insert(known, {&wanted, &segment});
        return static_cast<uint32_t>(known - segments_.begin());
    }
    return std::nullopt;
}

std::vector<const ProbedImage*> ImageTable::images() const {
    std::vector<const ProbedImage*> images;
    for (const Use& use : segments_)
        if (std::find(images.begin(), images.end(), use.image) == images.end())
            images.push_back(use.image);
    return images;
}

} // namespace djstap::codegen
