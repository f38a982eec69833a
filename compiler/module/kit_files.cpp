// SPDX-License-Identifier: GPL-2.0-or-later
#include "module/kit_files.h"

#include <unistd.h>

namespace djstap::module {

std::string KitFiles::path(std::string_view name) const {
    std::string usual = folder_ + "/" + std::string(name);
    const auto found = files_.find(name);
    if (found == files_.end())
        return usual;
    std::string open =
        "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(found->second.get());
    return access(open.c_str(), R_OK) == 0 ? open : usual; // without /proc
}

} // namespace djstap::module
