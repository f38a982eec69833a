// SPDX-License-Identifier: GPL-2.0-or-later
// What --hosts prints of hosts: what they print themselves, their values that have no sum, and what
// is missing of them.
#pragma once
#include "fleet/merge.h"
#include "session/output.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace djstap::driver {

class HostsOutput {
  public:
    virtual ~HostsOutput() = default;
    // What a host has printed, with the time by this machine's clock.
    virtual void printed(const std::string& host, int64_t time_ns, const std::string& text) = 0;
    // An error or a warning of a host's script. `place` may be empty.
    virtual void message(const std::string& host, bool is_error, const std::string& text,
                         const std::string& place) = 0;
    // At the end: globals that the script writes and never reads, and that have no sum.
    virtual void values(const std::vector<fleet::MergedGlobal>& globals) = 0;
    virtual void missing(const fleet::Missing& missing) = 0;
};

// For a kind that is for hosts (OutputProperties). `writer` outlives it. Messages, and what is
// missing, are shown on the terminal anyway: only an output that includes them writes them.
std::unique_ptr<HostsOutput> make_hosts_output(const OutputKind& kind, Writer& writer);

} // namespace djstap::driver
