// SPDX-License-Identifier: GPL-2.0-or-later
// Formats without flags, widths and precisions, which most are, prepared once for many records.
#pragma once
#include "session/meta.h"
#include "session/writer.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace djstap {

class PlainFormat {
  public:
    // Returns nothing if the format has a conversion other than %d %i %u %x %p %c %s and %%, or if
    // its arguments do not match: djs_format() handles those.
    static std::optional<PlainFormat> of(const ModuleMeta::Format& format);

    // Appends the same as djs_format(). Returns false, and appends nothing, if the arguments are
    // damaged.
    bool print(Writer& writer, std::string_view arguments) {
        char* const begin = writer.reserve(room_for(arguments));
        char* const end = print(begin, arguments);
        if (end)
            writer.advance_to(end);
        return end != nullptr;
    }
    // The same to memory, which has room for room_for(arguments): returns the end, or null.
    char* print(char* out, std::string_view arguments);
    size_t room_for(std::string_view arguments) const {
        return room_ + (has_texts_ ? arguments.size() : 0);
    }

  private:
    // The numbers first.
    enum class Kind : uint8_t { Signed, Unsigned, Hex, Pointer, Char, Text, Name, More, End };
    static constexpr size_t stride = 16;
    static constexpr size_t longest_number = 20;
    // A number and what follows it are copied in two parts.
    static constexpr size_t shown_bytes = 2 * stride;
    // A conversion, then a bounded number of characters, which belong to no conversion; Kind::More:
    // characters only.
    struct Piece {
        Kind kind = Kind::More;
        uint8_t length = 0; // of the literal
        // The last number, and what it and the literal were written as. Many arguments are those of
        // the record before.
        uint8_t shown_length = 0;
        uint64_t number = 0;
        std::array<char, stride> literal{};
        std::array<char, shown_bytes> shown{};
    };
    PlainFormat() = default;
    void add(Kind kind, std::string& literal);
    static Kind kind_of(char conversion);
    static char* put_number(char* out, Kind kind, uint64_t value);
    static char* show(char* out, Piece& piece, uint64_t value);
    static char* put(char* out, Piece& piece, uint64_t value);
    char* print_all(char* out, std::string_view arguments);

    std::vector<Piece> pieces_; // the last one is of Kind::End
    size_t room_ = 0;           // for everything but strings
    size_t number_bytes_ = 0;   // of the arguments
    bool has_texts_ = false;
    bool only_numbers_ = false; // no piece but the last one is anything else
};

} // namespace djstap
