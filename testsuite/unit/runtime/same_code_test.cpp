// SPDX-License-Identifier: GPL-2.0-or-later
// The comparison of a kernel's instructions with those of its file.
#include "kprobe/same_code.h"

#include <gtest/gtest.h>
#include <string>

namespace {

constexpr u32 bias = 0x1a200000;

const u8* bytes_of(const std::string& text) {
    return reinterpret_cast<const u8*>(text.data());
}

bool same_known(const std::string& text, const std::string& file, const std::string& known,
                u32 moved) {
    return djs_same_code(bytes_of(text), bytes_of(file), bytes_of(known),
                         static_cast<u32>(file.size()), moved);
}

bool same(const std::string& text, const std::string& file, u32 moved = bias) {
    return same_known(text, file, std::string(file.size(), '\xff'), moved);
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

// A module's relocated numbers may be anything; what is around them may not.
TEST(SameCode, WhatTheLoaderOfModulesWrites) {
    const std::string file = load + number(0U) + "\xc3",
                      known = "\xff\xff\xff" + number(0U) + "\xff";
    for (const u32 value : {0U, 0x12345678U, 0xc0abcdefU})
        EXPECT_TRUE(same_known(load + number(value) + "\xc3", file, known, bias));
    EXPECT_FALSE(same_known(load + number(1U) + "\xcc", file, known, bias));
    EXPECT_FALSE(same_known("\xcc" + file.substr(1), file, known, bias));
    EXPECT_FALSE(same_known("\x48\xc7\xc1" + file.substr(3), file, known, bias));
}

TEST(SameCode, ACutNumber) {
    const std::string file = load + number(0x81234567), text = load + number(0x81234567 + bias);
    EXPECT_FALSE(same(text.substr(0, 6), file.substr(0, 6)));
}
