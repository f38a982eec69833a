// SPDX-License-Identifier: GPL-2.0-or-later
// Where djstap's own files are: beside the program when it is installed, in the source tree when it
// runs from a build tree.
#pragma once
#include <string>

namespace djstap::driver {

struct Places {
    std::string programs; // the folder of the running program
    std::string tapsets;  // the library
    std::string runtime;  // the runtime's C sources and their Kbuild
    std::string djrun;    // the small program that loads and reads
};

// Looks next to /proc/self/exe. A folder that is not there is named all the same: whoever needs it
// reports it.
Places find_places();

} // namespace djstap::driver
