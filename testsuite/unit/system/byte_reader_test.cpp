// SPDX-License-Identifier: GPL-2.0-or-later
#include "system/byte_reader.h"

#include <gtest/gtest.h>
#include <string>

namespace djstap {
namespace {

using namespace std::string_literals;

TEST(ByteReader, ReadsValuesOneAfterTheOther) {
    const std::string bytes =
        "\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f"s + "name\0rest"s;
    ByteReader reader(bytes);
    EXPECT_EQ(reader.fixed<uint8_t>(), 1);
    EXPECT_EQ(reader.fixed<uint16_t>(), 0x0302);
    EXPECT_EQ(reader.offset(false), 0x07060504U);
    EXPECT_EQ(reader.offset(true), 0x0f0e0d0c0b0a0908U);
    EXPECT_EQ(reader.position(), 15U);
    EXPECT_EQ(reader.string(), "name");
    EXPECT_EQ(reader.rest(), "rest");
    EXPECT_EQ(reader.bytes(4), "rest");
    EXPECT_TRUE(reader.at_end());
    EXPECT_FALSE(reader.failed());
    EXPECT_EQ(reader.bytes(0), "");
    EXPECT_FALSE(reader.failed());
}

TEST(ByteReader, StaysAtTheEndOnceItHasFailed) {
    const auto fails = [](std::string_view bytes, auto read) {
        ByteReader reader(bytes);
        read(reader);
        EXPECT_TRUE(reader.failed());
        EXPECT_TRUE(reader.at_end());
        EXPECT_EQ(reader.rest(), "");
        EXPECT_EQ(reader.fixed<uint8_t>(), 0);
        EXPECT_EQ(reader.uleb(), 0U);
        EXPECT_EQ(reader.string(), "");
    };
    fails("abc", [](ByteReader& reader) { EXPECT_EQ(reader.fixed<uint32_t>(), 0U); });
    fails("abc", [](ByteReader& reader) { EXPECT_EQ(reader.bytes(4), ""); });
    fails("abc", [](ByteReader& reader) { EXPECT_EQ(reader.bytes(UINT64_MAX), ""); });
    fails("abc", [](ByteReader& reader) { EXPECT_EQ(reader.string(), ""); });
    fails("\x81\x82", [](ByteReader& reader) { EXPECT_EQ(reader.uleb(), 0U); });
    fails("\xff\xff", [](ByteReader& reader) { EXPECT_EQ(reader.sleb(), 0); });
}

// The examples of DWARF 5, 7.6, and the longest numbers.
TEST(ByteReader, ReadsLeb128) {
    const auto unsigned_of = [](std::string_view bytes) {
        ByteReader reader(bytes);
        const uint64_t value = reader.uleb();
        EXPECT_TRUE(reader.at_end() && !reader.failed());
        return value;
    };
    const auto signed_of = [](std::string_view bytes) {
        ByteReader reader(bytes);
        const int64_t value = reader.sleb();
        EXPECT_TRUE(reader.at_end() && !reader.failed());
        return value;
    };
    EXPECT_EQ(unsigned_of("\x02"), 2U);
    EXPECT_EQ(unsigned_of("\x7f"), 127U);
    EXPECT_EQ(unsigned_of("\x80\x01"), 128U);
    EXPECT_EQ(unsigned_of("\xb9\x64"), 12857U);
    EXPECT_EQ(unsigned_of("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), UINT64_MAX);
    EXPECT_EQ(signed_of("\x02"), 2);
    EXPECT_EQ(signed_of("\x7e"), -2);
    EXPECT_EQ(signed_of("\xff\x00"s), 127);
    EXPECT_EQ(signed_of("\x81\x7f"), -127);
    EXPECT_EQ(signed_of("\x80\x7f"), -128);
    EXPECT_EQ(signed_of("\xff\xff\xff\xff\xff\xff\xff\xff\x3f"), (1LL << 62) - 1);
    EXPECT_EQ(signed_of("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x7f"), INT64_MIN);
    // Of a number with more digits than 64 bits take, the digits behind them are ignored.
    EXPECT_EQ(unsigned_of(std::string(4000, '\x80') + "\x01"), 0U);
    EXPECT_EQ(signed_of(std::string(4000, '\xff') + "\x7f"), -1);
}

} // namespace
} // namespace djstap
