// SPDX-License-Identifier: GPL-2.0-or-later
// The modules of a script that runs on many hosts: one for each distinct kernel.
#pragma once
#include "driver/invocation.h"
#include "hosts/fan_out.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace djstap::driver {

class HostsModules {
  public:
    // Both outlive it.
    HostsModules(Invocation& invocation, hosts::FanOut& fan_out)
        : invocation_(invocation), fan_out_(fan_out), modules_(fan_out.size()) {}

    // Returns the release of one of the kernels; nothing if no host is known.
    std::optional<std::string> any_release() const;
    // Compiles the hosts' part of the script for each kernel. Gives hosts up for which that cannot
    // be done. Returns false if the script has errors for one of the kernels, which were reported.
    bool compile();
    // Whether there is no module for any host.
    bool empty() const;
    // Sends the modules, and djrun to the hosts that lack it, and waits until the hosts have them.
    void push();

  private:
    bool compile_for(const std::vector<size_t>& group);

    Invocation& invocation_;
    hosts::FanOut& fan_out_;
    std::vector<std::shared_ptr<const hosts::SharedFile>> modules_; // of each host
};

} // namespace djstap::driver
