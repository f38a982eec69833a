// SPDX-License-Identifier: GPL-2.0-or-later
// One run of a script inside the program of -c (--runtime=process): start it, link, patch, read,
// end.
#pragma once
#include "diagnostics/result.h"
#include "session/session.h"

#include <string>

namespace djstap {

// Fails if handlers cannot run in programs on this machine, whatever the script.
Status check_injection_possible();

// Runs an object that was compiled for a probed program until the script, the command, a signal or
// the time limit ends it, and prints what it records, like run_session(). `meta`: the object's
// description (CompiledObject::meta). `ring_bytes`: of each thread, a power of two. Options that
// concern modules are ignored. The caller has asked check_injection_possible(). Fails if the
// session could not begin; the command has executed nothing then.
Result<SessionOutcome> run_in_program(const std::string& object, const std::string& meta,
                                      uint64_t ring_bytes, const SessionOptions& options);

} // namespace djstap
