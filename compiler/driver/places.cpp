// SPDX-License-Identifier: GPL-2.0-or-later
#include "driver/places.h"

#include <filesystem>

namespace djstap::driver {

namespace fs = std::filesystem;

Places find_places() {
    std::error_code error;
    fs::path program = fs::read_symlink("/proc/self/exe", error);
    Places places;
    places.programs = program.parent_path();
    fs::path shared = program.parent_path().parent_path() / DJSTAP_DATADIR / "djstap";
    // An installed copy is complete; a build tree has no share folder.
    fs::path base =
        fs::is_directory(shared / "runtime", error) ? shared : fs::path(DJSTAP_SOURCE_DIR);
    places.tapsets = base / "tapsets";
    places.examples = base / "examples";
    places.runtime = base / "runtime";
    places.djrun = program.parent_path() / "djrun";
    return places;
}

} // namespace djstap::driver
