// SPDX-License-Identifier: GPL-2.0-or-later
// --lsp: a server of the Language Server Protocol 3.17 on standard input and output.
#pragma once
#include "driver/options.h"

namespace djstap::driver {

// Serves one editor until it says goodbye. Returns the exit status: 0 if it did so properly.
int serve_editor(Options options);

} // namespace djstap::driver
