// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/plain_format.h"

#include "session/event.h"
#include "session/writer.h"

#include <algorithm>
#include <arch_reader.h>
#include <array>
#include <bit>
#include <cstring>

namespace djstap {

namespace {

// The most that a conversion writes, including excess bytes that the next one overwrites.
constexpr size_t longest_number = 24;

constexpr auto digit_pairs = [] {
    std::array<char, 200> pairs{};
    for (size_t i = 0; i < 100; i++) {
        pairs[2 * i] = static_cast<char>('0' + i / 10);
        pairs[2 * i + 1] = static_cast<char>('0' + i % 10);
    }
    return pairs;
}();

constexpr auto powers_of_ten = [] {
    std::array<uint64_t, 20> powers{};
    uint64_t power = 1;
    for (uint64_t& each : powers) {
        each = power;
        power *= 10;
    }
    return powers;
}();

// For numbers above zero.
unsigned decimal_digits(uint64_t value) {
    // 1233 / 4096 is slightly more than the decimal logarithm of 2.
    const auto guess = static_cast<unsigned>(std::bit_width(value)) * 1233 >> 12;
    return guess + (guess < powers_of_ten.size() && value >= powers_of_ten[guess]);
}

// The digits end before `end`.
template <class Number> void put_digits(char* end, Number value) {
    while (value >= 100) {
        end -= 2;
        std::memcpy(end, &digit_pairs[2 * (value % 100)], 2);
        value /= 100;
    }
    if (value >= 10)
        std::memcpy(end - 2, &digit_pairs[2 * value], 2);
    else
        end[-1] = static_cast<char>('0' + value);
}

char* put_unsigned(char* out, uint64_t value) {
    char* end = out + decimal_digits(value | 1);
    // Most numbers are small, and dividing those is cheaper.
    if (value <= UINT32_MAX)
        put_digits(end, static_cast<uint32_t>(value));
    else
        put_digits(end, value);
    return end;
}

char* put_signed(char* out, int64_t value) {
    if (value >= 0)
        return put_unsigned(out, static_cast<uint64_t>(value));
    *out = '-';
    return put_unsigned(out + 1, 0 - static_cast<uint64_t>(value));
}

// Writes all sixteen digits at once, starting with the first significant one.
char* put_hex(char* out, uint64_t value) {
    const unsigned skipped = static_cast<unsigned>(std::countl_zero(value | 1)) & 60U;
    arch::put_hex_digits(out, value << skipped);
    return out + (16 - skipped / 4);
}

} // namespace

PlainFormat::Kind PlainFormat::kind_of(char conversion) {
    switch (conversion) {
    case 'd':
    case 'i':
        return Kind::Signed;
    case 'u':
        return Kind::Unsigned;
    case 'x':
        return Kind::Hex;
    case 'p':
        return Kind::Pointer;
    case 'c':
        return Kind::Char;
    case 's':
        return Kind::Text;
    default:
        return Kind::More; // no other conversions
    }
}

// Consumes all of `literal`.
void PlainFormat::add(std::string& literal, Kind kind) {
    do {
        Piece& piece = pieces_.emplace_back();
        piece.length = static_cast<uint8_t>(std::min(literal.size(), stride));
        std::copy_n(literal.begin(), piece.length, piece.literal.begin());
        literal.erase(0, piece.length);
        piece.kind = literal.empty() ? kind : Kind::More;
        room_ += stride + longest_number;
    } while (!literal.empty());
}

std::optional<PlainFormat> PlainFormat::of(const ModuleMeta::Format& format) {
    PlainFormat plain;
    std::string literal;
    size_t argument = 0;
    for (size_t i = 0; i < format.text.size(); i++) {
        if (format.text[i] != '%') {
            literal += format.text[i];
            continue;
        }
        const char conversion = ++i < format.text.size() ? format.text[i] : '\0';
        if (conversion == '%') {
            literal += '%';
            continue;
        }
        Kind kind = kind_of(conversion);
        if (kind == Kind::Text && argument < format.types.size() && format.types[argument] == 'n')
            kind = Kind::Name;
        const char wanted = kind == Kind::Text ? 's' : kind == Kind::Name ? 'n' : 'l';
        if (kind == Kind::More || argument >= format.types.size() ||
            format.types[argument] != wanted)
            return std::nullopt;
        argument++;
        if (kind == Kind::Text || kind == Kind::Name)
            plain.has_texts_ = true;
        else
            plain.number_bytes_ += sizeof(int64_t);
        plain.add(literal, kind);
    }
    plain.add(literal, Kind::End);
    return plain;
}

// Returns the end; null if the arguments are damaged. Without strings, the caller has already
// checked them.
template <bool has_texts> char* PlainFormat::format(char* out, std::string_view arguments) const {
    for (const Piece* piece = pieces_.data();; piece++) {
        std::memcpy(out, piece->literal.data(), stride);
        out += piece->length;
        if (piece->kind <= Kind::End) {
            if (piece->kind == Kind::End)
                return out;
            continue;
        }
        if constexpr (has_texts) {
            if (piece->kind >= Kind::Text) {
                const auto text =
                    piece->kind == Kind::Text ? take_text(arguments) : take_name(arguments);
                if (!text)
                    return nullptr;
                std::memcpy(out, text->data(), text->size());
                out += text->size();
                continue;
            }
            if (arguments.size() < sizeof(uint64_t))
                return nullptr;
        }
        uint64_t value;
        std::memcpy(&value, arguments.data(), sizeof(value));
        arguments.remove_prefix(sizeof(value));
        if (piece->kind == Kind::Hex) {
            out = put_hex(out, value);
        } else if (piece->kind == Kind::Signed) {
            out = put_signed(out, static_cast<int64_t>(value));
        } else if (piece->kind == Kind::Pointer) {
            std::memcpy(out, "0x", 2);
            out = put_hex(out + 2, value);
        } else if (piece->kind == Kind::Unsigned) {
            out = put_unsigned(out, value);
        } else {
            *out++ = static_cast<char>(value);
        }
    }
}

bool PlainFormat::print(Writer& writer, std::string_view arguments) const {
    if (arguments.size() < number_bytes_)
        return false;
    char* const begin = writer.reserve(room_ + (has_texts_ ? arguments.size() : 0));
    char* const end = has_texts_ ? format<true>(begin, arguments) : format<false>(begin, arguments);
    if (!end)
        return false;
    writer.advance(static_cast<size_t>(end - begin));
    return true;
}

} // namespace djstap
