// SPDX-License-Identifier: GPL-2.0-or-later
// The part of a script that runs where the user is, on what hosts have counted (--hosts).
#pragma once
#include "diagnostics/result.h"
#include "semantics/program.h"
#include "session/session.h"
#include "session/snapshot_frames.h"
#include "session/writer.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace djstap {

class MergedScript {
  public:
    // `object` and `meta` are the script's, compiled for user space, and `globals` those of its
    // program. Writes what it prints to `output`, which outlives it, as the first output of
    // `options`.
    static Result<std::unique_ptr<MergedScript>>
    link(const std::string& object, const std::string& meta, uint64_t ring_bytes,
         const std::vector<std::unique_ptr<program::Global>>& globals,
         const SessionOptions& options, Writer& output);
    virtual ~MergedScript() = default;

    // Runs the begin probes.
    virtual void begin() = 0;
    // Whether a timer is due.
    virtual bool is_due() const = 0;
    // Runs the timers that are due.
    virtual void turn() = 0;
    // Whether it has called exit(), or has had too many errors.
    virtual bool exit_requested() const = 0;
    // Runs the end probes.
    virtual SessionOutcome finish() = 0;

    // Adds what a host has counted to a shared global. The elements have the global's keys, and
    // numbers or statistics. Fails if it does not fit.
    virtual Status add(const std::string& global, const std::vector<GlobalElement>& elements) = 0;
    // The same in place of what the global has.
    virtual Status replace(const std::string& global,
                           const std::vector<GlobalElement>& elements) = 0;
};

} // namespace djstap
