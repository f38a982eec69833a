// SPDX-License-Identifier: GPL-2.0-or-later
// Flight recorders: modules that stay loaded, whose last records can be read at any time.
#pragma once
#include "session/control_file.h"
#include "session/output.h"
#include "session/session.h"

#include <string>

namespace djstap {

// Runs the begin probes of a module that was loaded as a recorder and arms the others. If that
// fails, the status is not 0; if a begin probe ended the script, `ended` is set. In both cases the
// caller unloads the module.
struct RecorderStart {
    SessionOutcome outcome;
    bool ended = false;
};
RecorderStart start_recorder(ControlFile& control, const SessionOptions& options, Output& output);

// Prints what the recorder holds. `stop`: detaches its probes first, so that the output of the end
// probes is included.
SessionOutcome read_recorder(ControlFile& control, Output& output, bool stop);

// Prints what a module's rings held when the kernel crashed. `dump`: see find_rings().
Result<SessionOutcome> read_dump(const std::string& dump, const SessionOptions& options);

} // namespace djstap
