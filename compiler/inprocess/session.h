// SPDX-License-Identifier: GPL-2.0-or-later
// One run of a script in this process (--runtime=user): link, begin, timers, end.
#pragma once
#include "diagnostics/result.h"
#include "session/session.h"
#include "userspace/userspace.h"

#include <string>

namespace djstap {

// Runs an object that was compiled for user space until the script, the command, a signal or the
// time limit ends it, and prints what it records, like run_session(). `meta`: the object's
// description (CompiledObject::meta). `ring_bytes`: a power of two. Options that concern modules
// are ignored. Fails if the session could not begin.
Result<SessionOutcome> run_in_user_space(const std::string& object, const std::string& meta,
                                         uint64_t ring_bytes, const SessionOptions& options);

// The same with other calls of the runtime: a test runs probes of its own choice.
Result<SessionOutcome> run_with_runtime(const djs_user_calls& runtime, const std::string& object,
                                        const std::string& meta, uint64_t ring_bytes,
                                        const SessionOptions& options);

} // namespace djstap
