// SPDX-License-Identifier: GPL-2.0-or-later
#include "offered/frames.h"

#include <cstring>
#include <gtest/gtest.h>

namespace djstap::offered {
namespace {

TEST(Frames, WhatIsNoFrameIsNoticed) {
    for (const std::string& text :
         {std::string("\0\1\0\0\0x", 6), std::string("\4\1\0\0\0x", 6),
          std::string("\1\xff\xff\xff\xff", 5), std::string("\3\2\0\0\0xx", 7)}) {
        FrameReader reader;
        reader.add(text);
        EXPECT_FALSE(reader.next());
        EXPECT_TRUE(reader.broken());
    }
}

TEST(Frames, NoneIsLargerThanTheLargest) {
    std::string text("\1\0\0\0\0", 5);
    const uint32_t size = largest_frame + 1;
    std::memcpy(text.data() + 1, &size, sizeof size);
    FrameReader reader;
    reader.add(text);
    EXPECT_FALSE(reader.next());
    EXPECT_TRUE(reader.broken());
    // Nothing is read behind it.
    reader.add(std::string(largest_frame + 1, 'x'));
    EXPECT_FALSE(reader.next());
}

// The header alone says nothing, and output may be empty.
TEST(Frames, MayBeEmpty) {
    FrameReader reader;
    reader.add(std::string("\2\0\0\0", 4));
    EXPECT_FALSE(reader.next());
    EXPECT_FALSE(reader.broken());
    reader.add(std::string("\0", 1));
    const auto frame = reader.next();
    ASSERT_TRUE(frame);
    EXPECT_EQ(frame->stream, Stream::Errors);
    EXPECT_EQ(frame->bytes, "");
    EXPECT_FALSE(reader.next());
}

TEST(Frames, TheLargestArrives) {
    std::string text("\1\0\0\0\0", 5);
    std::memcpy(text.data() + 1, &largest_frame, sizeof largest_frame);
    FrameReader reader;
    reader.add(text + std::string(largest_frame, 'x'));
    const auto frame = reader.next();
    ASSERT_TRUE(frame);
    EXPECT_EQ(frame->bytes, std::string(largest_frame, 'x'));
    EXPECT_FALSE(reader.broken());
}

TEST(Frames, ArriveByteByByte) {
    FrameReader reader;
    const std::string text("\1\3\0\0\0abc\3\1\0\0\0\7", 14);
    std::string seen;
    for (char byte : text) {
        reader.add({&byte, 1});
        while (const auto frame = reader.next())
            seen += frame->bytes;
    }
    EXPECT_EQ(seen, "abc\7");
    EXPECT_FALSE(reader.broken());
}

} // namespace
} // namespace djstap::offered
