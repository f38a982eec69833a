// SPDX-License-Identifier: GPL-2.0-or-later
#include "driver/version.h"

namespace djstap::driver {

std::string version_text() {
    return "djstap " DJSTAP_VERSION "\n"
           "Language: SystemTap's, version 4.8. License: GPL-2.0-or-later; there is no warranty.\n";
}

} // namespace djstap::driver
