// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/symbols.h"

#include "diagnostics/plain_text.h"
#include "include/symbols.h"
#include "include/words.h"

#include <algorithm>

namespace djstap {

djs_symbol_view Symbols::view(bool lines) const {
    djs_symbol_view view{};
    view.area = static_cast<const djs_symbol_area*>(area_);
    view.bytes = bytes_;
    view.data = const_cast<Symbols*>(this);
    if (refresh_)
        view.refresh = [](void* symbols) { static_cast<Symbols*>(symbols)->refresh_(); };
    if (lines)
        view.of_program = [](void* symbols, uint64_t slot, uint64_t word, const char* known,
                             size_t length) {
            return static_cast<Symbols*>(symbols)->of_program(slot, word, {known, length}, true);
        };
    else
        view.of_program = [](void* symbols, uint64_t slot, uint64_t word, const char* known,
                             size_t length) {
            return static_cast<Symbols*>(symbols)->of_program(slot, word, {known, length}, false);
        };
    view.place_of_program = [](void* symbols, uint64_t slot, uint64_t word, const char* known,
                               size_t length, char type) {
        return static_cast<Symbols*>(symbols)->place_of_program(slot, word, {known, length}, type);
    };
    return view;
}

namespace {

// A path, and the names in a program, may contain anything: as a part of one line, no longer than
// the symbol of an address may be.
std::string part_of_line(std::string_view text) {
    std::string shown = with_octal_controls(text);
    shown.resize(std::min<size_t>(shown.size(), DJS_SYMBOL_MAX - 1));
    return shown;
}

} // namespace

const char* Symbols::of_program(uint64_t slot, uint64_t word, std::string_view known, bool lines) {
    auto [found, is_new] = (lines ? with_lines_ : of_programs_).try_emplace(slot);
    if (is_new) {
        const std::string symbol = programs_->symbol(known, (word & DJS_WORD_RETURNS) != 0, lines);
        found->second = part_of_line(symbol.empty() ? known.substr(0, known.find('\0')) : symbol);
    }
    return found->second.c_str();
}

const char* Symbols::place_of_program(uint64_t slot, uint64_t word, std::string_view known,
                                      char type) {
    auto [found, is_new] = places_.try_emplace({slot, type});
    if (is_new) {
        if (const auto place = programs_->place(known, (word & DJS_WORD_RETURNS) != 0)) {
            const std::string line = std::to_string(place->line);
            found->second =
                part_of_line(type == DJS_SYMBOLS_FILE         ? place->file
                             : type == DJS_SYMBOLS_SOURCELINE ? line
                                                              : place->file + ":" + line);
        }
    }
    return found->second.empty() ? nullptr : found->second.c_str();
}

std::string Symbols::line(uint64_t slot, bool lines) const {
    const djs_symbol_view table = view(lines || lines_);
    std::string text(DJS_SYMBOL_LINE_MAX, '\0');
    text.resize(djs_symbol_line(&table, text.data(), text.size(), slot));
    return text;
}

bool Symbols::expand(const std::string& types, std::string_view arguments, std::string& out) const {
    const djs_symbol_view table = view(lines_);
    const auto run = [&] {
        return djs_symbols_expand(&table, out.data(), out.size(), types.c_str(), arguments.data(),
                                  arguments.size());
    };
    out.resize(out.capacity());
    size_t length = run();
    if (length != DJS_SYMBOLS_DAMAGED && length > out.size()) {
        out.resize(length);
        length = run();
    }
    out.resize(length == DJS_SYMBOLS_DAMAGED ? 0 : length);
    return length != DJS_SYMBOLS_DAMAGED;
}

std::string Symbols::expanded(std::string types) {
    std::replace_if(types.begin(), types.end(), djs_is_symbols, 's');
    return types;
}

} // namespace djstap
