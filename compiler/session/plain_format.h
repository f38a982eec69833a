// SPDX-License-Identifier: GPL-2.0-or-later
// Formats without flags, widths and precisions, which most are, prepared once for many records.
#pragma once
#include "session/meta.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace djstap {

class Writer;

class PlainFormat {
  public:
    // Returns nothing if the format has a conversion other than %d %i %u %x %p %c %s and %%, or if
    // its arguments do not match: djs_format() handles those.
    static std::optional<PlainFormat> of(const ModuleMeta::Format& format);

    // Appends the same as djs_format(). Returns false, and appends nothing, if the arguments are
    // damaged.
    bool print(Writer& writer, std::string_view arguments) const;

  private:
    enum class Kind : uint8_t { More, End, Signed, Unsigned, Hex, Pointer, Char, Text, Name };
    static constexpr size_t stride = 16;
    // A bounded number of characters before a conversion, then the conversion; Kind::More: more
    // characters.
    struct Piece {
        std::array<char, stride> literal{};
        uint8_t length = 0;
        Kind kind = Kind::End;
    };
    PlainFormat() = default;
    void add(std::string& literal, Kind kind);
    static Kind kind_of(char conversion);
    template <bool has_texts> char* format(char* out, std::string_view arguments) const;

    std::vector<Piece> pieces_; // the last one is of Kind::End
    size_t room_ = 0;           // for everything but strings
    size_t number_bytes_ = 0;   // of the arguments
    bool has_texts_ = false;
};

} // namespace djstap
