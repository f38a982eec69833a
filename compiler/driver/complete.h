// SPDX-License-Identifier: GPL-2.0-or-later
// --complete: what a shell or an editor offers where a script is being typed.
#pragma once
#include "driver/invocation.h"

namespace djstap::driver {

// Prints, for each way to go on, a line with three fields between tabs: the last line of
// options.unfinished with the name completed, that name, and a few words about it. Prints nothing
// where nothing is known. Errors of the script are no errors here.
void complete(Invocation& invocation);

} // namespace djstap::driver
