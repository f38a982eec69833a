// SPDX-License-Identifier: GPL-2.0-or-later
#include "syntax/literals.h"

namespace djstap::syntax {

namespace {

int digit_value(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return 99;
}

// Returns the character that a letter after a backslash denotes; -1 if it has no meaning.
int simple_escape(char c) {
    switch (c) {
    case 'a':
        return '\a';
    case 'b':
        return '\b';
    case 'f':
        return '\f';
    case 'n':
        return '\n';
    case 'r':
        return '\r';
    case 't':
        return '\t';
    case 'v':
        return '\v';
    case '\\':
    case '"':
    case '\'':
    case '?':
        return c;
    default:
        return -1;
    }
}

// Consumes up to `most` digits of `base` from text[at…].
int take_digits(std::string_view text, size_t& at, int base, int most) {
    int value = 0;
    for (int n = 0; n < most && at < text.size() && digit_value(text[at]) < base; n++)
        value = value * base + digit_value(text[at++]);
    return value & 0xff;
}

} // namespace

int64_t decode_number(const Lexeme& lexeme, Diagnostics& diagnostics) {
    std::string_view text = lexeme.text;
    int base = 10;
    std::string_view digits = text;
    if (text.size() > 1 && text[0] == '0') {
        bool hexadecimal = text[1] == 'x' || text[1] == 'X';
        base = hexadecimal ? 16 : 8;
        digits = text.substr(hexadecimal ? 2 : 1);
    }
    auto bad = [&](const char* why, const char* hint) {
        auto& diagnostic =
            diagnostics.report(DiagnosticKind::BadNumber, lexeme.range, {std::string(text), why});
        if (*hint)
            diagnostic.hint(hint);
        return int64_t{0};
    };
    if (digits.empty())
        return bad("0x must be followed by digits", "");
    uint64_t value = 0;
    bool too_large = false;
    for (size_t i = 0; i < digits.size(); i++) {
        int digit = digit_value(digits[i]);
        if (digit >= base) {
            std::string_view rest = digits.substr(i);
            if (base == 8 && (digits[i] == '8' || digits[i] == '9'))
                return bad("a leading 0 denotes an octal number, whose digits are 0 to 7",
                           "remove the leading 0");
            if (i > 0 && rest.find_first_not_of("uUlL") == std::string_view::npos)
                return bad("numbers have no suffix", "every number has 64 bits: remove the suffix");
            return bad(base == 16 ? "a digit is not hexadecimal" : "a letter follows its digits",
                       base == 10 && i > 0 && digit < 16 ? "a hexadecimal number begins with 0x"
                                                         : "");
        }
        too_large |= __builtin_mul_overflow(value, static_cast<uint64_t>(base), &value);
        too_large |= __builtin_add_overflow(value, static_cast<uint64_t>(digit), &value);
    }
    if (too_large)
        diagnostics.report(DiagnosticKind::NumberTooLarge, lexeme.range, {std::string(text)})
            .hint("the largest number is 0xffffffffffffffff");
    return too_large ? 0 : static_cast<int64_t>(value);
}

std::string decode_string(const Lexeme& lexeme, Diagnostics& diagnostics) {
    if (lexeme.literal)
        return std::string(lexeme.text);
    std::string_view text = lexeme.text.substr(1, lexeme.text.size() - 2);
    std::string out;
    out.reserve(text.size());
    for (size_t at = 0; at < text.size();) {
        if (text[at] != '\\') {
            out += text[at++];
            continue;
        }
        size_t backslash = at++;
        char c = text[at];
        if (c >= '0' && c <= '7') {
            out += static_cast<char>(take_digits(text, at, 8, 3));
        } else if (c == 'x' && at + 1 < text.size() && digit_value(text[at + 1]) < 16) {
            at++;
            out += static_cast<char>(take_digits(text, at, 16, 2));
        } else if (c == '\n') {
            at++;
        } else if (int value = simple_escape(c); value >= 0) {
            out += static_cast<char>(value);
            at++;
        } else {
            SourceRange range = lexeme.range;
            // An inserted string has no text of its own in the file.
            if (range.end - range.begin == lexeme.text.size()) {
                range.begin += static_cast<uint32_t>(backslash + 1);
                range.end = range.begin + 2;
            }
            // The user of a script cannot fix the library.
            if (!diagnostics.sources().file(range.file).is_library)
                diagnostics.report(DiagnosticKind::UnknownEscape, range, {std::string(1, c)})
                    .hint("write '\\\\' for a backslash");
            out += c;
            at++;
        }
    }
    return out;
}

} // namespace djstap::syntax
