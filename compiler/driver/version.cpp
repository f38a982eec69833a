// SPDX-License-Identifier: GPL-2.0-or-later
#include "driver/version.h"

namespace djstap::driver {

std::string version_text() {
    return "djstap " DJSTAP_VERSION
           "\nLanguage: SystemTap's, version 4.8. License: GPL-2.0-or-later; no warranty.\n";
}

} // namespace djstap::driver
