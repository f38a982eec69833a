// SPDX-License-Identifier: GPL-2.0-or-later
#include "debuginfo/line_lookup.h"

#include "debuginfo/source_files.h"
#include "system/regular_file.h"

#include <dwarf.h>

namespace djstap {

struct LineLookup::State {
    FileDescriptor file;
    Dwarf* dwarf = nullptr;
    std::string root; // source_root()
};

LineLookup::LineLookup(const std::string& path) : state_(std::make_unique<State>()) {
    auto file = open_regular(path);
    if (!file)
        return;
    state_->file = std::move(*file);
    state_->dwarf = dwarf_begin(state_->file.get(), DWARF_C_READ);
    if (state_->dwarf)
        state_->root = source_root(state_->dwarf);
}

LineLookup::~LineLookup() {
    if (state_->dwarf)
        dwarf_end(state_->dwarf);
}

std::string LineLookup::at(uint64_t address) const {
    Dwarf_Die unit;
    if (!state_->dwarf || !dwarf_addrdie(state_->dwarf, address, &unit))
        return {};
    Dwarf_Line* line = dwarf_getsrc_die(&unit, address);
    int number = 0;
    const char* file = line ? dwarf_linesrc(line, nullptr, nullptr) : nullptr;
    if (!file || dwarf_lineno(line, &number) != 0 || number <= 0)
        return {};
    Dwarf_Attribute attribute;
    const char* folder = dwarf_formstring(dwarf_attr(&unit, DW_AT_comp_dir, &attribute));
    return normal_source_path(file, folder ? folder : "", state_->root) + ":" +
           std::to_string(number);
}

} // namespace djstap
