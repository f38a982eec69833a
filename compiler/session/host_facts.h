// SPDX-License-Identifier: GPL-2.0-or-later
// What has to be known of a machine to compile modules for it elsewhere.
#pragma once
#include "diagnostics/result.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace djstap {

// `djrun --facts` prints them as JSON, and djstap --kernel-from reads them. A text is empty if the
// machine does not tell.
struct HostFacts {
    std::string host;         // the machine's name
    std::string machine;      // as uname -m: "x86_64"
    std::string distribution; // ID in os-release(5): "debian"
    std::string release;      // of the kernel, as uname -r
    std::string version;      // as uname -v; names the package's version on Debian
    std::string build_id;
    uint64_t processors = 0;
    bool calls_at_entries = true; // kernel.ftrace_enabled
    std::string refuses_modules;  // why no module can be loaded; "": it can
    std::string signatures;       // signature_demand()
};

// Returns those of this machine. Needs no privilege.
HostFacts read_host_facts();

std::string to_json(const HostFacts& facts);
// Fails with the first member that is missing or has another form than to_json() writes. Members
// that later versions add are ignored.
Result<HostFacts> parse_host_facts(std::string_view text);

} // namespace djstap
