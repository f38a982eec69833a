// SPDX-License-Identifier: GPL-2.0-or-later
// Reads a crash dump, from which `djrun --from-dump` takes rings, their records and the symbols
// that these mention: it may be any file.
#include "session/dump_file.h"
#include "session/event.h"
#include "session/snapshot.h"
#include "session/symbols.h"
#include "target.h"

#include <sys/mman.h>
#include <unistd.h>

using namespace djstap;

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static const int file = memfd_create("dump", 0);
    fuzz::require(file >= 0 && ftruncate(file, 0) == 0 &&
                      pwrite(file, data, size, 0) == static_cast<ssize_t>(size),
                  "the input cannot be written to memory");
    auto dump = find_rings("/proc/self/fd/" + std::to_string(file), 1);
    if (!dump)
        return 0;
    Snapshot snapshot;
    for (const DumpedRing& ring : dump->rings)
        snapshot.add_still(ring.page, ring.data.data(), ring.data.size());
    const Symbols symbols(dump->symbols.data(), dump->symbols.size());
    size_t bytes = 0;
    for (uint64_t slot = 0; slot < 8; slot++)
        bytes += symbols.line(slot).size();
    std::string strings;
    for (const auto& [record, cpu] : snapshot.records())
        for (const char* types : {"B", "lL", "sN", "kD", "nhB", "BLND"})
            if (symbols.expand(types, arguments_of(*record), strings))
                bytes += strings.size();
    return bytes == SIZE_MAX;
}
