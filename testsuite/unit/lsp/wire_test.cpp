// SPDX-License-Identifier: GPL-2.0-or-later
#include "lsp/wire.h"

#include <gtest/gtest.h>
#include <string>
#include <unistd.h>

namespace djstap::lsp {
namespace {

class WireTest : public ::testing::Test {
  protected:
    void SetUp() override { ASSERT_EQ(pipe(ends_), 0); }
    void TearDown() override {
        close(ends_[0]);
        finish();
    }
    void send(const std::string& bytes) const {
        ASSERT_EQ(write(ends_[1], bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    }
    void finish() {
        if (ends_[1] >= 0)
            close(ends_[1]);
        ends_[1] = -1;
    }

    int ends_[2] = {-1, -1};
};

TEST_F(WireTest, WhatIsWrittenCanBeRead) {
    Wire wire(ends_[0], ends_[1]);
    EXPECT_FALSE(wire.has_more());
    EXPECT_TRUE(wire.write("{}"));
    EXPECT_TRUE(wire.write(std::string(10000, 'x')));
    EXPECT_TRUE(wire.has_more());
    EXPECT_EQ(wire.read(), "{}");
    EXPECT_TRUE(wire.has_more());
    EXPECT_EQ(wire.read(), std::string(10000, 'x'));
    EXPECT_FALSE(wire.has_more());
}

TEST_F(WireTest, HeadersMayHaveOtherFields) {
    Wire wire(ends_[0], ends_[1]);
    send(
        "Content-Type: application/vscode-jsonrpc; charset=utf-8\r\ncontent-length:  3\r\n\r\nabc");
    EXPECT_EQ(wire.read(), "abc");
}

TEST_F(WireTest, EndsInTheMiddle) {
    Wire wire(ends_[0], ends_[1]);
    send("Content-Length: 10\r\n\r\nabc");
    finish();
    EXPECT_EQ(wire.read(), std::nullopt);
}

class BadHeader : public WireTest, public ::testing::WithParamInterface<std::string> {};

TEST_P(BadHeader, EndsTheConnection) {
    Wire wire(ends_[0], ends_[1]);
    send(GetParam());
    finish();
    EXPECT_EQ(wire.read(), std::nullopt);
}

INSTANTIATE_TEST_SUITE_P(
    Headers, BadHeader,
    ::testing::Values("", "{}", "Content-Length: x\r\n\r\n{}", "Content-Length: 2x\r\n\r\n{}",
                      "Content-Length: -2\r\n\r\n{}", "Content-Length: 99999999999\r\n\r\n{}",
                      "Content-Length:\r\n\r\n{}", "Length: 2\r\n\r\n{}", std::string(5000, 'x')),
    [](const auto& each) { return "Number" + std::to_string(each.index); });

} // namespace
} // namespace djstap::lsp
