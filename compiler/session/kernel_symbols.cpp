// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/kernel_symbols.h"

#include "system/file.h"

#include <algorithm>
#include <charconv>

namespace djstap {

KernelSymbols::KernelSymbols(std::string_view kallsyms) {
    while (!kallsyms.empty()) {
        const size_t end = std::min(kallsyms.find('\n'), kallsyms.size());
        const std::string_view line = kallsyms.substr(0, end);
        kallsyms.remove_prefix(std::min(end + 1, kallsyms.size()));
        uint64_t address = 0;
        const auto [rest, error] =
            std::from_chars(line.data(), line.data() + line.size(), address, 16);
        const auto digits = static_cast<size_t>(rest - line.data());
        // "ffffffff81000000 T name", or with "\t[module]" behind it. Data has no place in a stack.
        if (error != std::errc() || address == 0 || line.size() < digits + 4)
            continue;
        const char type = line[digits + 1];
        if (type != 't' && type != 'T' && type != 'w' && type != 'W')
            continue;
        std::string_view name = line.substr(digits + 3);
        name = name.substr(0, name.find('\t'));
        symbols_.push_back(
            {address, static_cast<uint32_t>(names_.size()), static_cast<uint32_t>(name.size())});
        names_ += name;
    }
    std::ranges::stable_sort(symbols_, {}, &Symbol::address);
}

KernelSymbols KernelSymbols::of_running_kernel() {
    const auto text = read_file("/proc/kallsyms");
    return text ? KernelSymbols(*text) : KernelSymbols();
}

std::string_view KernelSymbols::name_of(uint64_t address) const {
    // Behind the last function there is anything.
    constexpr uint64_t longest = uint64_t{1} << 20;
    auto next = std::ranges::upper_bound(symbols_, address, {}, &Symbol::address);
    if (next == symbols_.begin())
        return {};
    --next;
    if (next + 1 == symbols_.end() && address - next->address > longest)
        return {};
    // Of several names of an address, the first one in the table.
    while (next != symbols_.begin() && (next - 1)->address == next->address)
        --next;
    return std::string_view(names_).substr(next->at, next->length);
}

} // namespace djstap
