// SPDX-License-Identifier: GPL-2.0-or-later
// The comparison of a kernel's instructions with those of its file.
#include "kprobe/same_code.h"

#include <gtest/gtest.h>
#include <string>

namespace {

constexpr u32 bias = 0x1a200000;

bool same(const std::string& text, const std::string& file, u32 moved = bias) {
    return djs_same_code(reinterpret_cast<const u8*>(text.data()),
                         reinterpret_cast<const u8*>(file.data()), static_cast<u32>(file.size()),
                         moved);
}

std::string number(u32 value) {
    return {reinterpret_cast<const char*>(&value), sizeof value};
}

const std::string load = "\x48\xc7\xc0"; // movq $…, %rax

} // namespace

TEST(SameCode, TheSameBytes) {
    EXPECT_TRUE(same("\x48\x89\xf8\xc3\x90", "\x48\x89\xf8\xc3\x90"));
    EXPECT_TRUE(same("", ""));
}

TEST(SameCode, AnotherInstruction) {
    const std::string file = "\x48\x89\xf8\x90\x90\x90\x90\x90";
    for (size_t i = 0; i < file.size(); i++) {
        std::string text = file;
        text[i] = static_cast<char>(text[i] ^ 1);
        EXPECT_FALSE(same(text, file)) << i;
        EXPECT_FALSE(same(text, file, 0)) << i;
    }
}

TEST(SameCode, AnAddressIsMovedWithTheKernel) {
    for (const u32 address : {0x81234567U, 0x81fffff0U, 0x82000000U}) {
        EXPECT_TRUE(same(load + number(address + bias), load + number(address)));
        EXPECT_FALSE(same(load + number(address + bias + 1), load + number(address)));
        EXPECT_FALSE(same(load + number(address + bias), load + number(address), 0));
        EXPECT_TRUE(same(load + number(address + bias) + load + number(address + bias),
                         load + number(address) + load + number(address)));
    }
}

TEST(SameCode, APerCpuVariableComesNearer) {
    EXPECT_TRUE(same(load + number(0x7edcba98U - bias), load + number(0x7edcba98U)));
}

TEST(SameCode, ACutNumber) {
    const std::string file = load + number(0x81234567), text = load + number(0x81234567 + bias);
    EXPECT_FALSE(same(text.substr(0, 6), file.substr(0, 6)));
}
