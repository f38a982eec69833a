// SPDX-License-Identifier: GPL-2.0-or-later
#include "marked.h"

void call_from_other(void) {
    shared(300);
    DJSTAP_MARK(place, "%d", 3);
    DJSTAP_MARK(place, "%s", "a format of its own");
}
