// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/plain_format.h"

#include "session/event.h"

#include <algorithm>
#include <arch_reader.h>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

namespace djstap {

namespace {

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

// Adds a conversion and all of the literal behind it, which it consumes.
void PlainFormat::add(Kind kind, std::string& literal) {
    while (kind != Kind::More || !literal.empty()) {
        Piece& piece = pieces_.emplace_back();
        piece.kind = kind;
        const size_t most = kind <= Kind::Char ? shown_bytes - longest_number : stride;
        piece.length = static_cast<uint8_t>(std::min(literal.size(), most));
        std::copy_n(literal.begin(), piece.length, piece.literal.begin());
        literal.erase(0, piece.length);
        if (kind <= Kind::Char) {
            std::array<char, longest_number + shown_bytes> unused{};
            show(unused.data(), piece, 0);
        }
        kind = Kind::More;
        room_ += longest_number + shown_bytes;
    }
}

std::optional<PlainFormat> PlainFormat::of(const ModuleMeta::Format& format) {
    PlainFormat plain;
    std::string literal;
    Kind last = Kind::More;
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
        plain.add(std::exchange(last, kind), literal);
    }
    plain.add(last, literal);
    plain.only_numbers_ = std::all_of(plain.pieces_.begin(), plain.pieces_.end(),
                                      [](const Piece& piece) { return piece.kind <= Kind::Char; });
    plain.pieces_.emplace_back().kind = Kind::End;
    return plain;
}

char* PlainFormat::put_number(char* out, Kind kind, uint64_t value) {
    switch (kind) {
    case Kind::Hex:
        return put_hex(out, value);
    case Kind::Signed:
        return put_signed(out, static_cast<int64_t>(value));
    case Kind::Pointer:
        std::memcpy(out, "0x", 2);
        return put_hex(out + 2, value);
    case Kind::Unsigned:
        return put_unsigned(out, value);
    default: // Char
        *out = static_cast<char>(value);
        return out + 1;
    }
}

// Writes a number other than the last one, and the literal behind it.
char* PlainFormat::show(char* out, Piece& piece, uint64_t value) {
    char* const end = put_number(out, piece.kind, value);
    std::memcpy(end, piece.literal.data(), stride);
    std::memcpy(piece.shown.data(), out, shown_bytes);
    piece.number = value;
    piece.shown_length = static_cast<uint8_t>(end - out + piece.length);
    return out + piece.shown_length;
}

// Returns the end.
char* PlainFormat::put(char* out, Piece& piece, uint64_t value) {
    if (piece.number != value) [[unlikely]]
        return show(out, piece, value);
    std::memcpy(out, piece.shown.data(), shown_bytes);
    return out + piece.shown_length;
}

namespace {

// The caller has checked that there is one.
uint64_t take_known_number(const char*& at) {
    uint64_t value;
    std::memcpy(&value, at, sizeof(value));
    at += sizeof(value);
    return value;
}

} // namespace

char* PlainFormat::print(char* out, std::string_view arguments) {
    if (arguments.size() < number_bytes_)
        return nullptr;
    if (!only_numbers_)
        return print_all(out, arguments);
    const char* at = arguments.data();
    for (Piece *piece = pieces_.data(), *end = piece + pieces_.size() - 1; piece != end; piece++)
        out = put(out, *piece, take_known_number(at));
    return out;
}

char* PlainFormat::print_all(char* out, std::string_view arguments) {
    const char* at = arguments.data();
    const char* const end = at + arguments.size();
    for (Piece* piece = pieces_.data();; piece++) {
        if (piece->kind <= Kind::Char) [[likely]] {
            if (static_cast<size_t>(end - at) < sizeof(uint64_t))
                return nullptr;
            out = put(out, *piece, take_known_number(at));
            continue;
        }
        if (piece->kind == Kind::End)
            return out;
        if (piece->kind != Kind::More) {
            std::string_view left(at, static_cast<size_t>(end - at));
            const auto text = piece->kind == Kind::Text ? take_text(left) : take_name(left);
            if (!text)
                return nullptr;
            at = left.data();
            std::memcpy(out, text->data(), text->size());
            out += text->size();
        }
        std::memcpy(out, piece->literal.data(), stride);
        out += piece->length;
    }
}

} // namespace djstap
