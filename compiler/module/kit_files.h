// SPDX-License-Identifier: GPL-2.0-or-later
// The files of a kit that modules are linked from, held open.
#pragma once
#include "system/descriptor.h"

#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace djstap::module {

// Another djstap may remove a kit's files at any time: when it adds parts to the kit, builds a
// damaged one anew, or replaces a kit of former sources. Whoever has opened them can still use
// them.
class KitFiles {
  public:
    explicit KitFiles(std::string folder) : folder_(std::move(folder)) {}

    void add(const std::string& name, FileDescriptor file) { files_[name] = std::move(file); }

    // Returns a path at which this process and those that it starts find the file while this object
    // exists.
    std::string path(std::string_view name) const;

  private:
    std::string folder_;
    std::map<std::string, FileDescriptor, std::less<>> files_;
};

} // namespace djstap::module
