#include "probes/probes.h"

namespace djstap {

Result<const Target*> KernelView::target() {
    if (target_failure_)
        return *target_failure_;
    if (!target_) {
        auto files = find_kernel(release_);
        if (!files) {
            target_failure_ = files.failure();
            return *target_failure_;
        }
        if (Status complete = complete_ ? complete_(*files) : Status(Done{}); !complete) {
            target_failure_ = complete.failure();
            return *target_failure_;
        }
        auto opened = Target::open(std::move(*files), progress_);
        if (!opened) {
            target_failure_ = opened.failure();
            return *target_failure_;
        }
        target_ = std::move(*opened);
    }
    return target_.get();
}

Result<const DebugInfo*> KernelView::debuginfo() {
    if (debuginfo_failure_)
        return *debuginfo_failure_;
    if (!debuginfo_) {
        auto kernel = target();
        if (!kernel)
            return kernel.failure();
        auto opened = DebugInfo::open(**kernel, progress_);
        if (!opened) {
            debuginfo_failure_ = opened.failure();
            return *debuginfo_failure_;
        }
        debuginfo_ = std::move(*opened);
    }
    return debuginfo_.get();
}

} // namespace djstap
