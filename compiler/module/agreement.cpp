// SPDX-License-Identifier: GPL-2.0-or-later
// Checks that the runtime's sources and this program agree on the data they exchange.
#include "module/module.h"
#include "system/file.h"

#include <string_view>
#include <utility>

namespace djstap {

namespace {

// The headers that define its layout, as they were when this program was built.
constexpr std::pair<const char*, std::string_view> shared_headers[] = {
#include "shared_headers.inc"
};

} // namespace

Status check_agreement(const RuntimeSources& sources) {
    for (const auto& [name, text] : shared_headers) {
        const std::string path = sources.directory + "/" + name;
        const Result<std::string> found = read_file(path);
        if (!found)
            return found.failure();
        if (*found != text)
            return Failure{"the runtime sources do not match this djstap: " + path + " differs",
                           "install both from the same release, or rebuild djstap"};
    }
    return Done{};
}

} // namespace djstap
