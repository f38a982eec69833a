// SPDX-License-Identifier: GPL-2.0-or-later
// The location of djstap's own files: next to the program if it is installed, in the source tree if
// it runs from a build tree.
#pragma once
#include <string>

namespace djstap::driver {

struct Places {
    std::string programs; // the folder of the running program
    std::string tapsets;  // the library
    std::string examples; // the tools that --example runs
    std::string runtime;  // the runtime's C sources and their Kbuild
    std::string djrun;    // the small program that loads and reads
};

// Searches next to /proc/self/exe. Folders that do not exist are returned as well: their users
// report them.
Places find_places();

} // namespace djstap::driver
