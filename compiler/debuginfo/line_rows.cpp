// SPDX-License-Identifier: GPL-2.0-or-later
#include "debuginfo/line_rows.h"

#include "system/regular_file.h"

#include <algorithm>
#include <memory>

#include <elfutils/libdw.h>

namespace djstap {

namespace {

struct EndDwarf {
    void operator()(Dwarf* dwarf) const { dwarf_end(dwarf); }
};

// A file's debug information, if it has some.
struct Opened {
    explicit Opened(const std::string& path)
        : file(open_regular(path)), dwarf(file ? dwarf_begin(file->get(), DWARF_C_READ) : nullptr) {
    }

    Result<FileDescriptor> file;
    std::unique_ptr<Dwarf, EndDwarf> dwarf;
};

LineRow row_of(Dwarf_Line* line) {
    LineRow row;
    Dwarf_Addr address = 0;
    int number = 0, column = 0;
    unsigned discriminator = 0;
    size_t file = 0;
    Dwarf_Files* files = nullptr;
    dwarf_lineaddr(line, &address);
    dwarf_lineno(line, &number);
    dwarf_linecol(line, &column);
    dwarf_linediscriminator(line, &discriminator);
    dwarf_line_file(line, &files, &file);
    dwarf_linebeginstatement(line, &row.statement);
    dwarf_lineblock(line, &row.block);
    dwarf_lineendsequence(line, &row.end);
    row.address = address;
    row.file = static_cast<uint32_t>(file);
    row.line = static_cast<uint32_t>(number);
    row.column = static_cast<uint32_t>(column);
    row.discriminator = discriminator;
    return row;
}

template <class Visit> void each_row(Dwarf_Die& unit, Visit visit) {
    Dwarf_Lines* lines = nullptr;
    size_t count = 0;
    if (dwarf_getsrclines(&unit, &lines, &count) != 0)
        return;
    for (size_t i = 0; i < count; i++)
        visit(row_of(dwarf_onesrcline(lines, i)));
}

} // namespace

std::optional<std::vector<LineRow>> read_line_rows(const std::string& path) {
    const Opened opened(path);
    std::vector<LineRow> rows;
    Dwarf_CU* unit = nullptr;
    Dwarf_Die die;
    while (opened.dwarf &&
           dwarf_get_units(opened.dwarf.get(), unit, &unit, nullptr, nullptr, &die, nullptr) == 0)
        each_row(die, [&](const LineRow& row) { rows.push_back(row); });
    return rows.empty() ? std::nullopt : std::optional(std::move(rows));
}

std::vector<uint64_t> read_block_rows(const std::string& path, std::span<const uint64_t> inside) {
    const Opened opened(path);
    std::vector<uint64_t> found;
    std::vector<Dwarf_Off> read;
    for (const uint64_t address : inside) {
        Dwarf_Die unit;
        if (!opened.dwarf || !dwarf_addrdie(opened.dwarf.get(), address, &unit))
            continue;
        const Dwarf_Off offset = dwarf_dieoffset(&unit);
        if (std::find(read.begin(), read.end(), offset) != read.end())
            continue;
        read.push_back(offset);
        each_row(unit, [&](const LineRow& row) {
            if (row.block && !row.end)
                found.push_back(row.address);
        });
    }
    return found;
}

} // namespace djstap
