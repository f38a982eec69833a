// SPDX-License-Identifier: GPL-2.0-or-later
// Go's runtime makes a panic of a fault below the first page's end, where pointers that are nil
// lead; a fault anywhere else ends the program, whatever the runtime finds. (Unless the program
// asks for panics there, too: debug.SetPanicOnFault.) Linux maps nothing in the first 16 pages
// (vm.mmap_min_addr). So once memory less than a page above a register's value was accessed, the
// value is far above the first page, and so is another access less than a page above it.
#include "regions/go_faults.h"

#include "arch/instructions.h"
#include "regions/parallel.h"

#include <algorithm>

namespace djstap::regions {

namespace {

bool asks_for_panics(const GoTable& go) {
    return std::any_of(go.functions.begin(), go.functions.end(), [](const GoFunction& each) {
        return each.name.ends_with("etPanicOnFault");
    });
}

void clear_in(Code& code, const FunctionRange& range, arch::InstructionDecoder& decoder) {
    uint64_t accessed = 0; // registers whose value leads to memory
    for (Index at = range.first; at < range.end;) {
        const Index length = code.lengths[at];
        if (length == 0) {
            accessed = 0;
            at++;
            continue;
        }
        uint16_t& traits = code.traits[at];
        if (code.entries[at])
            accessed = 0;
        const arch::RegisterUse use =
            decoder.registers(code.bytes(at).substr(0, length), code.address(at));
        auto is_memory = [&](unsigned number) { return accessed >> number & 1; };
        if (use.base && is_memory(*use.base))
            traits &= static_cast<uint16_t>(~Accesses);
        if (use.base && use.always)
            accessed |= uint64_t{1} << *use.base;
        const bool leads = use.to && (use.is_there || (use.from && is_memory(*use.from)));
        accessed &= ~use.written;
        if (leads)
            accessed |= uint64_t{1} << *use.to;
        if (traits & (Calls | Leaves))
            accessed = 0;
        at += length;
    }
}

} // namespace

void clear_harmless_accesses(Code& code, const std::vector<FunctionRange>& ranges,
                             const GoTable& go, unsigned threads) {
    if (!go.understood || asks_for_panics(go))
        return;
    constexpr size_t share = 256;
    in_parallel((ranges.size() + share - 1) / share, threads, [&](size_t part) {
        thread_local std::unique_ptr<arch::InstructionDecoder> decoder =
            arch::InstructionDecoder::create();
        const size_t end = std::min(ranges.size(), (part + 1) * share);
        for (size_t i = part * share; i < end; i++)
            if (decoder && go.at(code.address(ranges[i].first)))
                clear_in(code, ranges[i], *decoder);
    });
}

} // namespace djstap::regions
