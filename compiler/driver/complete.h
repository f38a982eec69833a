// SPDX-License-Identifier: GPL-2.0-or-later
// --complete: what a shell or an editor offers where a script is being typed.
#pragma once
#include "completion/names.h"
#include "driver/invocation.h"

#include <string_view>
#include <vector>

namespace djstap::driver {

struct CompletedNames {
    std::vector<CompletedName> names;
    size_t typed = 0; // so many bytes at the end of the text are replaced by one of them
    bool all = true;  // false: there are more
};

// Returns the ways to go on with a script up to where it is being typed. Errors of the script are
// no errors here.
CompletedNames completed_names(Invocation& invocation, std::string_view unfinished);

// Prints, for each way to go on, a line with three fields between tabs: the last line of
// options.unfinished with the name completed, that name, and a few words about it. Prints nothing
// where nothing is known, or more than can be shown. Errors of the script are no errors here.
void complete(Invocation& invocation);

} // namespace djstap::driver
