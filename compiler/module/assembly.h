// SPDX-License-Identifier: GPL-2.0-or-later
// Links the objects of a runtime, and completes what a kit says about itself.
#pragma once
#include "module/manifest.h"
#include "module/module.h"
#include "system/temporary.h"

#include <string>
#include <string_view>
#include <vector>

namespace djstap::module {

// A kit in the making: its files are in a temporary folder, under the names of manifest.h.
class Assembly {
  public:
    Assembly(RuntimeKit& kit, const TemporaryFolder& scratch) : kit_(kit), scratch_(scratch) {}

    std::string file(std::string_view name) const {
        return scratch_.file("kit-" + std::string(name));
    }

    // Runs a tool that must succeed without output.
    Status run(const std::vector<std::string>& words) const;
    // ld with the flags of Kbuild, but without a build-id.
    Status ld(const std::vector<std::string>& rest) const;

    // Links the pieces of the runtime.
    Status link_pieces(const std::vector<std::string>& objects) const;
    // Links the runtime from its pieces and, if there are any, stand-ins for missing parts.
    Status link_runtime(const std::string& stand_ins_object) const;
    // Sets the kit's lists of symbols that follow from the runtime and the module's own part.
    // `replaced`: symbols of stand-ins, which scripts may not use.
    Status read_runtime_symbols(const std::set<std::string>& replaced, bool versioned) const;
    // Writes the kit's files into a folder, the manifest last.
    Status keep(const std::string& folder) const;

  private:
    RuntimeKit& kit_;
    const TemporaryFolder& scratch_;
};

} // namespace djstap::module
