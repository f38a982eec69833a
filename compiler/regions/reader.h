// SPDX-License-Identifier: GPL-2.0-or-later
// Reads numbers from bytes of a file. After a read beyond the end, the reader has failed and
// returns zeros.
#pragma once
#include <cstdint>
#include <cstring>
#include <string_view>

namespace djstap::regions {

class Reader {
  public:
    explicit Reader(std::string_view bytes) : all_(bytes) {}

    bool failed() const { return failed_; }
    bool at_end() const { return failed_ || at_ >= all_.size(); }
    size_t position() const { return at_; }

    template <class T> T fixed() {
        T value{};
        if (all_.size() - at_ < sizeof value)
            return fail<T>();
        std::memcpy(&value, all_.data() + at_, sizeof value);
        at_ += sizeof value;
        return value;
    }
    uint64_t uleb() {
        uint64_t value = 0;
        for (unsigned shift = 0; at_ < all_.size(); shift += 7) {
            const auto byte = static_cast<uint8_t>(all_[at_++]);
            if (shift < 64)
                value |= uint64_t{byte & 0x7fU} << shift;
            if (!(byte & 0x80))
                return value;
        }
        return fail<uint64_t>();
    }
    int64_t sleb() {
        uint64_t value = 0;
        for (unsigned shift = 0; at_ < all_.size();) {
            const auto byte = static_cast<uint8_t>(all_[at_++]);
            if (shift < 64)
                value |= uint64_t{byte & 0x7fU} << shift;
            shift += 7;
            if (byte & 0x80)
                continue;
            if ((byte & 0x40) && shift < 64)
                value |= ~uint64_t{0} << shift;
            return static_cast<int64_t>(value);
        }
        return fail<int64_t>();
    }
    std::string_view bytes(uint64_t size) {
        if (size > all_.size() - at_)
            return fail<std::string_view>();
        std::string_view taken = all_.substr(at_, size);
        at_ += size;
        return taken;
    }
    std::string_view string() {
        const size_t end = all_.find('\0', at_);
        if (end == std::string_view::npos)
            return fail<std::string_view>();
        std::string_view text = all_.substr(at_, end - at_);
        at_ = end + 1;
        return text;
    }

  private:
    template <class T> T fail() {
        failed_ = true;
        at_ = all_.size();
        return T{};
    }

    std::string_view all_;
    size_t at_ = 0;
    bool failed_ = false;
};

} // namespace djstap::regions
