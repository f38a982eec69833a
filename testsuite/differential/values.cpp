// SPDX-License-Identifier: GPL-2.0-or-later
#include "values.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <cstdio>

namespace djstap::differential {

using ast::BinaryOp;
using Histogram = program::StatisticNeeds::Histogram;

int64_t calculate(BinaryOp op, int64_t left, int64_t right) {
    const auto a = static_cast<uint64_t>(left), b = static_cast<uint64_t>(right);
    const uint64_t shift = b % 64;
    switch (op) {
    case BinaryOp::Add:
        return static_cast<int64_t>(a + b);
    case BinaryOp::Subtract:
        return static_cast<int64_t>(a - b);
    case BinaryOp::Multiply:
        return static_cast<int64_t>(a * b);
    case BinaryOp::And:
        return left & right;
    case BinaryOp::Or:
        return left | right;
    case BinaryOp::Xor:
        return left ^ right;
    case BinaryOp::ShiftLeft:
        return static_cast<int64_t>(a << shift);
    case BinaryOp::ShiftRight:
        return left >> shift;
    case BinaryOp::ShiftRightLogical:
        return static_cast<int64_t>(a >> shift);
    case BinaryOp::Divide:
        if (right == 0)
            throw ScriptError{"division by 0"};
        return static_cast<int64_t>(__int128{left} / right);
    case BinaryOp::Modulo:
        if (right == 0)
            throw ScriptError{"division by 0"};
        return static_cast<int64_t>(__int128{left} % right);
    default:
        throw Unknown("an operator");
    }
}

// ---- statistics ----

namespace {

// Bucket 64 is that of 0; 64 + n that of numbers of n bits, 64 - n that of their negatives.
int64_t bucket_of(const program::StatisticNeeds& needs, int64_t value) {
    if (needs.histogram == Histogram::Log) {
        const auto magnitude =
            value < 0 ? -static_cast<__int128>(value) : static_cast<__int128>(value);
        const int64_t bits = std::bit_width(static_cast<uint64_t>(magnitude));
        return value < 0 ? 64 - bits : 64 + bits;
    }
    if (value < needs.low)
        return 0;
    const auto steps = (static_cast<__int128>(value) - needs.low) / needs.width;
    return static_cast<int64_t>(std::min<__int128>(bucket_count(needs) - 1, steps + 1));
}

std::string lower_bound(const program::StatisticNeeds& needs, int64_t bucket) {
    if (needs.histogram == Histogram::Log) {
        if (bucket == 64)
            return "0";
        const auto bound = static_cast<int64_t>(uint64_t{1} << (std::abs(bucket - 64) - 1));
        return bucket > 64 ? std::to_string(bound)
                           : std::to_string(static_cast<int64_t>(-static_cast<__int128>(bound)));
    }
    if (bucket == 0)
        return "<" + std::to_string(needs.low);
    if (bucket == bucket_count(needs) - 1)
        return ">" + std::to_string(needs.low + (bucket - 2) * needs.width);
    return std::to_string(needs.low + (bucket - 1) * needs.width);
}

std::string right(const std::string& text, size_t width) {
    return std::string(width > text.size() ? width - text.size() : 0, ' ') + text;
}

} // namespace

int64_t bucket_count(const program::StatisticNeeds& needs) {
    return needs.histogram == Histogram::Log ? 128 : (needs.high - needs.low) / needs.width + 3;
}

void Statistic::add(const program::StatisticNeeds& needs, int64_t value) {
    min = count ? std::min(min, value) : value;
    max = count ? std::max(max, value) : value;
    count++;
    sum = calculate(BinaryOp::Add, sum, value);
    const int64_t from_old = calculate(BinaryOp::Subtract, value, mean);
    mean = calculate(BinaryOp::Add, mean, from_old / count);
    distances = calculate(
        BinaryOp::Add, distances,
        calculate(BinaryOp::Multiply, from_old, calculate(BinaryOp::Subtract, value, mean)));
    if (needs.histogram != Histogram::None)
        hits[bucket_of(needs, value)]++;
}

int64_t Statistic::read(ast::StatOp op) const {
    if (op == ast::StatOp::Count)
        return count;
    if (op == ast::StatOp::Sum)
        return sum;
    if (count == 0)
        throw ScriptError{"empty aggregate"};
    switch (op) {
    case ast::StatOp::Min:
        return min;
    case ast::StatOp::Max:
        return max;
    case ast::StatOp::Avg:
        return sum / count;
    case ast::StatOp::Variance: {
        if (count < 2)
            return 0;
        // The distances from the running mean, without the remainder of the variance that belongs
        // to it, relative to the mean of all values.
        const int64_t own = calculate(BinaryOp::Multiply, distances / (count - 1), count - 1);
        const int64_t off = calculate(BinaryOp::Subtract, mean, sum / count);
        const int64_t square = calculate(BinaryOp::Multiply, off, off);
        return calculate(BinaryOp::Add, own, calculate(BinaryOp::Multiply, count, square)) /
               (count - 1);
    }
    default:
        throw Unknown("a statistic's operator");
    }
}

// Formats the buckets from two before the first nonempty one to two after the last; of more than
// four empty ones in a row, two remain at either end, with a ~ between them; the longest bar has at
// most 50 characters.
std::string histogram_text(const program::StatisticNeeds& needs, const Statistic& statistic) {
    const bool linear = needs.histogram == Histogram::Linear;
    const int64_t last_bucket = bucket_count(needs) - 1;
    std::vector<int64_t> shown;
    int64_t most = 0;
    if (!statistic.hits.empty()) {
        const int64_t first = statistic.hits.begin()->first, last = statistic.hits.rbegin()->first;
        // No negative buckets without negative values.
        const int64_t lowest = linear ? 1 : first >= 64 ? 64 : 0;
        const int64_t highest = last_bucket - (linear ? 1 : 0);
        const int64_t from = std::min(first, std::max(lowest, first - 2));
        const int64_t to = std::max(last, std::min(highest, last + 2));
        for (int64_t bucket = from; bucket <= to; bucket++)
            shown.push_back(bucket);
        for (const auto& [bucket, hits] : statistic.hits)
            most = std::max(most, hits);
    }
    auto hits = [&](int64_t bucket) {
        auto found = statistic.hits.find(bucket);
        return found == statistic.hits.end() ? 0 : found->second;
    };
    size_t label_width = 5, count_width = 1;
    auto widen = [&](const std::string& label) {
        label_width = std::max(label_width, label.size());
    };
    for (int64_t bucket : shown) {
        if (!linear)
            widen(lower_bound(needs, bucket));
        count_width = std::max(count_width, std::to_string(hits(bucket)).size());
    }
    // the labels of the first bucket within, and of the one after the last
    if (linear && !shown.empty()) {
        widen((shown.front() == 0 ? "<" : "") + std::to_string(needs.low));
        widen((shown.back() == last_bucket ? ">" : "") +
              std::to_string(needs.low + shown.back() * needs.width));
    }
    const int64_t scale = (most + 49) / 50;
    std::string text = right("value", label_width) + " |" + std::string(50, '-') + " count\n";
    for (size_t i = 0; i < shown.size(); i++) {
        size_t end = i;
        while (end < shown.size() && hits(shown[end]) == 0)
            end++;
        const bool long_run = end - i > 4;
        auto row = [&](int64_t bucket) {
            if (linear && (bucket == 0 || bucket == last_bucket) && hits(bucket) == 0)
                return;
            const auto bar = static_cast<size_t>(scale ? hits(bucket) / scale : 0);
            text += right(lower_bound(needs, bucket), label_width) + " |" + std::string(bar, '@') +
                    std::string(51 - bar, ' ') + right(std::to_string(hits(bucket)), count_width) +
                    "\n";
        };
        if (long_run) {
            row(shown[i]);
            row(shown[i + 1]);
            text += std::string(label_width, ' ') + " ~\n";
            row(shown[end - 2]);
            row(shown[end - 1]);
            i = end - 1;
        } else {
            row(shown[i]);
        }
    }
    return text + "\n";
}

// ---- printf ----

namespace {

std::string padded(const program::FormatPiece& piece, int width, const std::string& text) {
    const std::string fill(static_cast<size_t>(width) > text.size() ? width - text.size() : 0, ' ');
    return piece.left ? text + fill : fill + text;
}

// Precision, then sign or base, then width.
std::string number_text(const program::FormatPiece& piece, int width, int precision,
                        int64_t value) {
    const bool is_signed = piece.conversion == 'd' || piece.conversion == 'i';
    const bool hex = std::string_view("xXp").find(piece.conversion) != std::string_view::npos;
    std::string_view sign;
    std::string digits;
    if (is_signed)
        sign = value < 0 ? "-" : piece.plus ? "+" : piece.space ? " " : "";
    else if (piece.conversion == 'p' || (piece.alternate && hex))
        sign = piece.conversion == 'X' ? "0X" : "0x";
    else if (piece.alternate && piece.conversion == 'o')
        sign = "0";
    auto rest = static_cast<uint64_t>(value);
    if (is_signed && value < 0)
        rest = 0 - rest;
    const unsigned base = hex ? 16 : piece.conversion == 'o' ? 8 : 10;
    do {
        digits += (piece.conversion == 'X' ? "0123456789ABCDEF" : "0123456789abcdef")[rest % base];
    } while (rest /= base);
    while (static_cast<int>(digits.size()) < precision ||
           (piece.zero && !piece.left && static_cast<int>(sign.size() + digits.size()) < width))
        digits += '0';
    std::reverse(digits.begin(), digits.end());
    return padded(piece, width, std::string(sign) + digits);
}

} // namespace

std::string convert(const program::FormatPiece& piece, int width, int precision,
                    const Value& argument) {
    width = std::max(width, 0);
    switch (piece.conversion) {
    case 'd':
    case 'i':
    case 'u':
    case 'o':
    case 'x':
    case 'X':
    case 'p':
        return number_text(piece, width, precision, std::get<int64_t>(argument));
    case 'c':
        return padded(piece, width, std::string(1, static_cast<char>(std::get<int64_t>(argument))));
    case 'b': { // the lowest bytes first
        std::string text;
        const int bytes = width == 1 || width == 2 || width == 4 ? width : 8;
        for (int i = 0; i < bytes; i++)
            text += static_cast<char>(static_cast<uint64_t>(std::get<int64_t>(argument)) >> 8 * i);
        return text;
    }
    case 's':
        return padded(piece, width,
                      precision < 0 ? std::get<std::string>(argument)
                                    : std::get<std::string>(argument).substr(
                                          0, static_cast<size_t>(precision)));
    default:
        throw Unknown(std::string("the conversion ") + piece.conversion);
    }
}

} // namespace djstap::differential
