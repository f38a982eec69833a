// SPDX-License-Identifier: GPL-2.0-or-later
// Values that follow each other in a section of a little-endian file that may be damaged: DWARF's,
// and tables of its kind.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace djstap {

// Reads values one after the other. After a read beyond the end it has failed: it is at the end,
// and what it yields is 0 or empty.
class ByteReader {
  public:
    explicit ByteReader(std::string_view bytes) : all_(bytes) {}

    bool failed() const { return failed_; }
    bool at_end() const { return at_ == all_.size(); }
    size_t position() const { return at_; }
    std::string_view rest() const { return all_.substr(at_); }

    template <class Number> Number fixed() {
        Number value{};
        const std::string_view taken = bytes(sizeof value);
        if (taken.size() == sizeof value)
            std::memcpy(&value, taken.data(), sizeof value);
        return value;
    }
    // An offset in a section, or a length (DWARF 5, 7.4).
    uint64_t offset(bool is_64_bit) { return is_64_bit ? fixed<uint64_t>() : fixed<uint32_t>(); }
    // LEB128 (DWARF 5, 7.6). Bits beyond the 64th are ignored.
    uint64_t uleb() { return leb(false); }
    int64_t sleb() { return static_cast<int64_t>(leb(true)); }

    std::string_view bytes(uint64_t size) {
        if (size > all_.size() - at_) {
            fail();
            return {};
        }
        const std::string_view taken = all_.substr(at_, size);
        at_ += size;
        return taken;
    }
    // What precedes the next NUL, which is read, too.
    std::string_view string() {
        const size_t end = all_.find('\0', at_);
        if (end == std::string_view::npos) {
            fail();
            return {};
        }
        const std::string_view text = all_.substr(at_, end - at_);
        at_ = end + 1;
        return text;
    }

  private:
    void fail() {
        failed_ = true;
        at_ = all_.size();
    }
    uint64_t leb(bool is_signed) {
        constexpr unsigned bits = 64;
        uint64_t value = 0;
        for (unsigned shift = 0; at_ < all_.size();) {
            const auto byte = static_cast<uint8_t>(all_[at_++]);
            if (shift < bits)
                value |= uint64_t{byte & 0x7fU} << shift;
            // The shift stays small, however long the number is.
            shift = shift < bits ? shift + 7 : shift;
            if (byte & 0x80)
                continue;
            if (is_signed && (byte & 0x40) && shift < bits)
                value |= ~uint64_t{0} << shift;
            return value;
        }
        fail();
        return 0;
    }

    std::string_view all_;
    size_t at_ = 0;
    bool failed_ = false;
};

} // namespace djstap
