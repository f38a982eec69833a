// SPDX-License-Identifier: GPL-2.0-or-later
// The functions of the running kernel, for addresses that a script recorded as numbers.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace djstap {

class KernelSymbols {
  public:
    // There are none.
    KernelSymbols() = default;
    // Of a text in the form of /proc/kallsyms. Without the right to see addresses, these are 0, and
    // nothing is known.
    explicit KernelSymbols(std::string_view kallsyms);
    static KernelSymbols of_running_kernel();

    // Returns the name of the function that contains an address; "" if it is not known.
    std::string_view name_of(uint64_t address) const;

  private:
    struct Symbol {
        uint64_t address;
        uint32_t at, length; // in names_
    };
    std::string names_;
    std::vector<Symbol> symbols_; // sorted
};

} // namespace djstap
