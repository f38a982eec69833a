// SPDX-License-Identifier: GPL-2.0-or-later
// The symbols and lines of programs, as readers find them in files that may be anything.
#include "session/elf_symbols.h"
#include "session/elf_lines.h"
#include "session/program_symbols.h"
#include "target.h"

#include <cstring>

using namespace djstap;

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const ElfSymbols::Read read = [&](uint64_t offset, void* to, size_t bytes) {
        if (offset > size || bytes > size - offset)
            return false;
        std::memcpy(to, data + offset, bytes);
        return true;
    };
    const auto symbols = ElfSymbols::read(read, size);
    if (symbols)
        for (uint64_t address = 0; address < 0x4000; address += 7)
            if (const auto found = symbols->at(address))
                fuzz::require(found->address <= address && !found->name.empty(),
                              "a symbol is not at its address");
    if (const auto lines = ElfLines::read(read, size))
        for (uint64_t address = 0; address < 0x4000; address += 7)
            if (const auto found = lines->at(address))
                fuzz::require(found->line && !found->file.empty(), "a line is none");
    (void)ProgramSymbols().symbol(fuzz::view(data, size < 200 ? size : 200), size % 2 != 0);
    return 0;
}
