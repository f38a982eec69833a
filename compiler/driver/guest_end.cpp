// SPDX-License-Identifier: GPL-2.0-or-later
#include "driver/guest_end.h"

namespace djstap::driver {

bool report_end(Invocation& invocation, const GuestOutcome& outcome) {
    if (outcome.lost()) {
        Diagnostic& lost = invocation.diagnostics.report(outcome.state == GuestOutcome::EmulatorDied
                                                             ? DiagnosticKind::EmulatorDied
                                                             : DiagnosticKind::GuestLost,
                                                         {}, {outcome.reason});
        if (!outcome.kernel_log.empty())
            lost.note({}, "its kernel log ends with:\n" + outcome.kernel_log);
        return false;
    }
    if (!outcome.complaint.empty()) {
        invocation.diagnostics.report(DiagnosticKind::GuestComplained, {})
            .note({}, "its kernel log says:\n" + outcome.complaint);
        return false;
    }
    return true;
}

} // namespace djstap::driver
