// SPDX-License-Identifier: GPL-2.0-or-later
// The functions of an ELF file, by address. The file may contain anything, and may change while it
// is read.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace djstap {

class ElfSymbols {
  public:
    struct Symbol {
        uint64_t address = 0, size = 0;
        std::string_view name; // valid as long as the object
    };
    // Reads `size` bytes at an offset; false if they are not all there.
    using Read = std::function<bool(uint64_t offset, void* to, size_t size)>;

    // Reads the symbols of a file of `bytes` bytes. Returns nothing if it is no 64-bit ELF file of
    // this byte order, or, before it reads any symbols, if its build-id is another one than
    // `build_id` (null: any).
    static std::optional<ElfSymbols> read(const Read& read, uint64_t bytes,
                                          const std::string* build_id = nullptr);

    const std::string& build_id() const { return build_id_; } // in hexadecimal
    bool has_table() const { return has_table_; }             // all symbols, not only exported ones
    // Finds the function at an address for which the file was linked.
    std::optional<Symbol> at(uint64_t address) const;
    // About how much memory this takes.
    size_t memory() const;

  private:
    struct Entry {
        uint64_t address, size;
        uint32_t strings, name; // an index of strings_, and an offset there
        uint8_t rank;           // of symbols at the same address, the least is chosen
    };
    struct Reader;

    std::string_view name_of(const Entry& entry) const;
    static void drop_hidden(std::vector<Entry>& sorted);

    std::string build_id_;
    bool has_table_ = false;
    std::vector<std::string> strings_;
    std::vector<Entry> entries_;    // by address
    std::vector<uint64_t> reaches_; // the highest end of an entry and of all before it
};

} // namespace djstap
