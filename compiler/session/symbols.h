// SPDX-License-Identifier: GPL-2.0-or-later
// The table of symbols of a module (runtime/include/symbols.h) as its reader sees it.
#pragma once
#include "include/symbols.h"
#include "session/program_symbols.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

namespace djstap {

class Symbols {
  public:
    // There is no table: addresses have no symbols.
    Symbols() = default;
    // `area`: aligned to 8 bytes; it may contain anything. `refresh` has slots filled that handlers
    // have claimed.
    Symbols(const void* area, uint64_t bytes, std::function<void()> refresh = {})
        : area_(area), bytes_(bytes), refresh_(std::move(refresh)) {}

    // Returns the line that print_backtrace() prints for a slot.
    // With `lines` an address of a program has its file and line of the source code.
    std::string line(uint64_t slot, bool lines = false) const;
    // Replaces arguments of a record that are made of symbols by strings. Returns false if the
    // arguments are damaged.
    bool expand(const std::string& types, std::string_view arguments, std::string& out) const;

    // All symbols of programs have the files and lines of their source code (--lines).
    void show_lines() { lines_ = true; }

    // Returns the types of the arguments after expand().
    static std::string expanded(std::string types);

  private:
    djs_symbol_view view(bool lines) const;
    const char* of_program(uint64_t slot, uint64_t word, std::string_view known, bool lines);
    const char* place_of_program(uint64_t slot, uint64_t word, std::string_view known, char type);

    const void* area_ = nullptr;
    uint64_t bytes_ = 0;
    std::function<void()> refresh_;
    std::shared_ptr<ProgramSymbols> programs_ = std::make_shared<ProgramSymbols>();
    bool lines_ = false;
    // By slot, as parts of a line; a place is empty if it is unknown.
    std::unordered_map<uint64_t, std::string> of_programs_, with_lines_;
    std::map<std::pair<uint64_t, char>, std::string> places_; // by slot and type
};

} // namespace djstap
