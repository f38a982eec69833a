// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/privilege.h"

#include "system/file.h"

#include <cstdlib>
#include <linux/capability.h>
#include <sstream>
#include <unistd.h>

namespace djstap {

namespace {

uint64_t effective_capabilities() {
    const auto status = read_file("/proc/self/status");
    const size_t at = status ? status->find("\nCapEff:") : std::string::npos;
    if (at == std::string::npos)
        return geteuid() == 0 ? ~uint64_t{0} : 0;
    return std::strtoull(status->c_str() + at + std::string_view("\nCapEff:").size(), nullptr, 16);
}

// Every user namespace but the initial one maps only some IDs.
bool in_initial_user_namespace() {
    const auto map = read_file("/proc/self/uid_map");
    // a kernel without user namespaces
    if (!map)
        return true;
    std::istringstream words(*map);
    uint64_t inside = 1, outside = 1, count = 0;
    words >> inside >> outside >> count;
    return inside == 0 && outside == 0 && count == UINT32_MAX;
}

} // namespace

std::string missing_privilege() {
    if (!in_initial_user_namespace())
        return "this process is in a user namespace of its own (a container), whose capabilities "
               "do not count";
    const uint64_t has = effective_capabilities();
    for (const auto& [bit, name] :
         {std::pair(CAP_SYS_MODULE, "CAP_SYS_MODULE"), std::pair(CAP_SYS_ADMIN, "CAP_SYS_ADMIN")})
        if (!(has >> bit & 1))
            return geteuid() == 0
                       ? std::string("this process is root without ") + name + " (a container?)"
                       : std::string("this process has no ") + name;
    return {};
}

std::string privilege_hint() {
    return geteuid() == 0 ? "run it outside the container, or in a guest with --guest"
                          : "run it with sudo, or in a guest with --guest";
}

} // namespace djstap
