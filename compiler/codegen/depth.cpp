// SPDX-License-Identifier: GPL-2.0-or-later
#include "codegen/depth.h"

#include <algorithm>

namespace djstap::codegen {

uint64_t Depth::deepest(uint64_t own, const std::vector<ScratchCall>& calls) {
    return deepest(own, calls, script_.max_nesting());
}

uint64_t Depth::deepest(uint64_t own, const std::vector<ScratchCall>& calls, int64_t nesting) {
    uint64_t most = own;
    for (const auto& [scratch_begin, callee, counted] : calls) {
        const int64_t left = nesting - counted;
        if (left < 0)
            continue; // that call fails
        const std::pair<const program::Function*, int64_t> key{callee, left};
        auto known = known_.find(key);
        if (known == known_.end()) {
            const CompiledFunction& compiled = script_.functions.at(callee);
            const uint64_t inner =
                what_ == Of::Scratch
                    ? deepest(compiled.own_scratch, compiled.calls, left)
                    : deepest(compiled.frame + sizeof(void*), compiled.calls, left);
            known = known_.emplace(key, inner).first;
        }
        most = std::max(most, (what_ == Of::Scratch ? scratch_begin : own) + known->second);
    }
    return most;
}

} // namespace djstap::codegen
