// SPDX-License-Identifier: GPL-2.0-or-later
#include "system/print.h"

#include "system/file.h"

#include <cerrno>
#include <cstring>
#include <unistd.h>

namespace djstap {

Status print_whole(std::string_view text) {
    if (write_all(STDOUT_FILENO, text))
        return Done{};
    return Failure{std::string("the output: ") + std::strerror(errno), ""};
}

} // namespace djstap
