// SPDX-License-Identifier: GPL-2.0-or-later
// The part of a script on many machines that runs on the controller, where the user is, on the
// merged globals.
#pragma once
#include "driver/passes.h"
#include "fleet/merge.h"
#include "inprocess/merged_script.h"
#include "session/writer.h"

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace djstap::driver {

class ControllerPart {
  public:
    // Reports its failures there.
    explicit ControllerPart(Invocation& invocation) : invocation_(invocation) {}

    // Compiles the part for hosts with kernels such as this one; it prints to `output`. Returns
    // false if the script has errors, which were reported.
    bool compile(const std::string& release, Writer& output);
    // Globals that are written and never read, and whose values have no sum.
    const std::vector<std::string>& unread_by_host() const { return unread_by_host_; }

    // Runs the begin probes.
    void begin();
    // Adds what a snapshot took from a host, whose globals have these names.
    void add_taken(const std::vector<std::string>& names, const GlobalsFrame& frame);
    // Runs the timers that are due, on what `merge` has of the other globals. Returns whether any
    // was.
    bool run_timers(const fleet::Merge& merge);
    // Whether a probe has called exit(), or there were too many errors.
    bool is_over() const { return is_over_; }
    // Runs the end probes. Returns whether nothing failed in the whole run.
    bool finish(const fleet::Merge& merge);

  private:
    void replace_others(const fleet::Merge& merge);
    void report(const Status& status);

    Invocation& invocation_;
    // Its library has to live as long as the program.
    std::unique_ptr<Invocation> here_;
    std::optional<GeneratedScript> script_;
    std::vector<std::string> unread_by_host_;
    std::unique_ptr<MergedScript> merged_; // null: nothing runs here
    std::set<std::string> failures_;       // that were reported
    bool has_begun_ = false, is_over_ = false;
};

} // namespace djstap::driver
