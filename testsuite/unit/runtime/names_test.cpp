// SPDX-License-Identifier: GPL-2.0-or-later
// The names of errors and signals, compared with those of the C library.
#include "include/script.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

extern "C" { // include/functions.h, which is no C++
void djs_fn_errno_str(djs_ctx* ctx, char* out, s64 error);
void djs_fn_signal_str(djs_ctx* ctx, char* out, s64 number);
}

namespace {

class NamesOfNumbers : public testing::Test {
  protected:
    void SetUp() override { djs_script.string_bytes = 32; }
    void TearDown() override { djs_script = {}; }

    using Function = void(djs_ctx* ctx, char* out, s64 number);
    static std::string name(Function* function, s64 number) {
        std::vector<char> out(djs_script.string_bytes + 1, '#');
        function(nullptr, out.data(), number);
        EXPECT_EQ(out.back(), '#');
        return out.data();
    }
    static std::string error(s64 number) { return name(djs_fn_errno_str, number); }
    static std::string signal(s64 number) { return name(djs_fn_signal_str, number); }
};

TEST_F(NamesOfNumbers, OfErrorsAreTheSystems) {
    for (int number = 1; number < 200; number++) {
        const char* known = strerrorname_np(number);
        EXPECT_EQ(error(number), known ? known : "") << number;
        EXPECT_EQ(error(-number), known ? known : "") << number; // as the kernel returns it
    }
    for (const s64 none : {s64{0}, INT64_MAX, INT64_MIN, INT64_MIN + 1, s64{1} << 32})
        EXPECT_EQ(error(none), "") << none;
    // Those that stay in the kernel, in its own order; 520 is none.
    EXPECT_EQ(error(-512), "ERESTARTSYS");
    EXPECT_EQ(error(519), "ENOPARAM");
    EXPECT_EQ(error(520), "");
    EXPECT_EQ(error(521), "EBADHANDLE");
    EXPECT_EQ(error(-530), "ERECALLCONFLICT");
    EXPECT_EQ(error(531), "");
    djs_script.string_bytes = 16;
    EXPECT_EQ(error(131), "ENOTRECOVERABLE"); // 15 characters
}

TEST_F(NamesOfNumbers, OfSignalsAreTheSystems) {
    for (int number = 1; number < 32; number++) {
        const char* known = sigabbrev_np(number);
        ASSERT_NE(known, nullptr) << number;
        EXPECT_EQ(signal(number), number == SIGIO ? "IO/POLL" : known);
    }
    for (const s64 none : {s64{0}, s64{-1}, s64{65}, INT64_MAX, INT64_MIN, (s64{1} << 32) + 1})
        EXPECT_EQ(signal(none), "") << none;
}

// Their first number is the kernel's: the C library keeps two of them for itself.
TEST_F(NamesOfNumbers, OfRealTimeSignalsAreDistances) {
    EXPECT_EQ(signal(32), "RTMIN");
    for (int above = 1; above <= 32; above++)
        EXPECT_EQ(signal(32 + above), "RTMIN+" + std::to_string(above));
    djs_script.string_bytes = 16; // the least that a script may have
    EXPECT_EQ(signal(64), "RTMIN+32");
}

} // namespace
