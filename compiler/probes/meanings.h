// SPDX-License-Identifier: GPL-2.0-or-later
// The points that a point with * in the names of its components stands for.
#pragma once
#include "diagnostics/diagnostic.h"

#include <utility>
#include <vector>

namespace djstap {

// One of the meanings must exist; if none does, the errors of the first are reported.
class Meanings {
  public:
    void note_existing() { any_exists_ = true; }

    // Withdraws the errors of a meaning, the messages after the first `count`.
    void leave_out(Diagnostics& diagnostics, size_t count) {
        std::vector<Diagnostic> errors = diagnostics.take_back(count);
        if (errors_.empty())
            errors_ = std::move(errors);
    }

    // Returns whether a meaning exists, or reports the errors.
    bool check(Diagnostics& diagnostics) {
        if (!any_exists_)
            diagnostics.restore(std::move(errors_));
        return any_exists_;
    }

  private:
    bool any_exists_ = false;
    std::vector<Diagnostic> errors_;
};

} // namespace djstap
