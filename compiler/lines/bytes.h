// SPDX-License-Identifier: GPL-2.0-or-later
// Values that follow each other in a section of DWARF, of a little-endian file that may be damaged.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace djstap::lines {

// Reads values one after the other; behind the end all are 0, and it is bad.
class Bytes {
  public:
    explicit Bytes(std::string_view text) : rest_(text) {}

    bool bad() const { return bad_; }
    bool empty() const { return rest_.empty(); }
    std::string_view rest() const { return rest_; }

    template <class Number> Number number() {
        Number value{};
        const std::string_view text = take(sizeof value);
        if (text.size() == sizeof value)
            std::memcpy(&value, text.data(), sizeof value);
        return value;
    }
    // An offset in a section, or a length (DWARF 5, 7.4).
    uint64_t offset(bool is_64_bit) { return is_64_bit ? number<uint64_t>() : number<uint32_t>(); }
    // LEB128 (DWARF 5, 7.6); bits that 64 do not hold are lost.
    uint64_t unsigned_leb() { return leb(false); }
    int64_t signed_leb() { return static_cast<int64_t>(leb(true)); }
    std::string_view text() {
        const size_t end = rest_.find('\0');
        const std::string_view found = take(end == rest_.npos ? rest_.size() + 1 : end);
        take(1);
        return found;
    }
    std::string_view take(uint64_t count) {
        if (count > rest_.size()) {
            bad_ = true;
            rest_ = {};
            return {};
        }
        const std::string_view taken = rest_.substr(0, count);
        rest_.remove_prefix(count);
        return taken;
    }

  private:
    uint64_t leb(bool is_signed) {
        constexpr unsigned bits = 64;
        uint64_t value = 0;
        for (unsigned shift = 0;; shift += 7) {
            const auto byte = number<uint8_t>();
            if (shift < bits)
                value |= uint64_t{byte & 0x7fu} << shift;
            if (byte & 0x80)
                continue;
            if (is_signed && (byte & 0x40) && shift + 7 < bits)
                value |= ~uint64_t{0} << (shift + 7);
            return value;
        }
    }

    std::string_view rest_;
    bool bad_ = false;
};

} // namespace djstap::lines
