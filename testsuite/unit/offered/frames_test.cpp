// SPDX-License-Identifier: GPL-2.0-or-later
#include "offered/frames.h"

#include "system/descriptor.h"
#include "system/file.h"

#include <csignal>
#include <cstring>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <thread>
#include <vector>

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

// Returns the sizes of the frames of which these bytes become, with what they are together.
std::vector<size_t> sizes_of_sent(const std::string& bytes) {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    FileDescriptor ours(ends[0]), theirs(ends[1]);
    std::jthread sender([&] {
        EXPECT_TRUE(send(theirs.get(), Stream::Errors, bytes));
        theirs.reset();
    });
    FrameReader reader;
    std::vector<size_t> sizes;
    std::string all;
    char some[8192];
    for (ssize_t got; (got = read_some(ours.get(), some, sizeof some)) > 0;) {
        reader.add({some, static_cast<size_t>(got)});
        while (const auto frame = reader.next()) {
            EXPECT_EQ(frame->stream, Stream::Errors);
            sizes.push_back(frame->bytes.size());
            all += frame->bytes;
        }
    }
    EXPECT_FALSE(reader.broken());
    EXPECT_EQ(all, bytes);
    return sizes;
}

TEST(Frames, AreAsManyAsTheBytesNeed) {
    using Sizes = std::vector<size_t>;
    const size_t most = largest_frame;
    EXPECT_EQ(sizes_of_sent(""), Sizes{0});
    EXPECT_EQ(sizes_of_sent("a"), Sizes{1});
    EXPECT_EQ(sizes_of_sent(std::string(most, 'x')), Sizes{most});
    EXPECT_EQ(sizes_of_sent(std::string(most, 'x') + "y"), (Sizes{most, 1}));
    EXPECT_EQ(sizes_of_sent(std::string(2 * most, 'x') + "y"), (Sizes{most, most, 1}));
}

TEST(Frames, AreNotSentToNobody) {
    const auto before = signal(SIGPIPE, SIG_IGN);
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    FileDescriptor ours(ends[0]), theirs(ends[1]);
    ours.reset();
    EXPECT_FALSE(send(theirs.get(), Stream::Output, "a"));
    signal(SIGPIPE, before);
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
