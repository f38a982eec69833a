// SPDX-License-Identifier: GPL-2.0-or-later
// Which memory is read and written in the kernel, and how: the first and the last address of each
// kind. access_test.cpp asks for more of a process's memory.
#include "kernel_access_for_test.h"
#include "log_for_test.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <string>

namespace {

// Of Documentation/arch/x86/x86_64/mm.rst.
constexpr u64 last_of_user = 0x7fffffffffffffff, before_kernel = 0xffff7fffffffffff,
              first_of_kernel = 0xffff800000000000, before_vsyscall = 0xffffffffff5fffff,
              vsyscall = 0xffffffffff600000;

class KernelAccess : public testing::Test {
  protected:
    void SetUp() override { test_access_begin(); }
    void TearDown() override { test_access_begin(); }

    // How it is read; the value, or that there is none.
    static std::string read(u64 address, u32 size) {
        u64 value = 77;
        const bool has_one = test_access_reads(address, size, &value);
        EXPECT_TRUE(has_one || value == 0) << value;
        char text[32];
        snprintf(text, sizeof text, "%llx", static_cast<unsigned long long>(value));
        return taken_log(test_access_log) + (has_one ? text : "fails");
    }
    // How it is written, and what is there since then.
    static std::string written(u64 address, u32 size) {
        test_access_word = 0;
        const bool is_done = test_access_writes(address, size, 0x1122334455667788);
        EXPECT_TRUE(is_done || test_access_word == 0);
        char text[32];
        snprintf(text, sizeof text, "%llx", static_cast<unsigned long long>(test_access_word));
        return taken_log(test_access_log) + (is_done ? text : "fails");
    }
};

TEST_F(KernelAccess, ReadsByOneInstructionWhereThatCanOnlyFault) {
    EXPECT_EQ(read(first_of_kernel, 1), "get 1 11");
    EXPECT_EQ(read(first_of_kernel, 2), "get 2 2211");
    EXPECT_EQ(read(first_of_kernel, 4), "get 4 44332211");
    EXPECT_EQ(read(before_vsyscall, 8), "get 8 8877665544332211");
    EXPECT_EQ(read(first_of_kernel, 3), "fails");
    // The kernel's own function looks at the rest.
    EXPECT_EQ(read(vsyscall, 8), "from-kernel 8 8877665544332211");
    EXPECT_EQ(read(before_kernel, 8), "fails"); // no address at all
    EXPECT_EQ(read(last_of_user, 1), "from-user 1 11");
    EXPECT_EQ(read(0, 4), "from-user 4 44332211");
    test_access_faults = true;
    for (const u32 size : {1U, 2U, 4U, 8U})
        EXPECT_EQ(read(first_of_kernel, size), "get " + std::to_string(size) + " fails");
    EXPECT_EQ(read(vsyscall, 8), "from-kernel 8 fails");
    EXPECT_EQ(read(0, 8), "from-user 8 fails");
}

TEST_F(KernelAccess, WritesNothingBehindTheKernel) {
    EXPECT_EQ(written(first_of_kernel, 1), "put 1 88");
    EXPECT_EQ(written(first_of_kernel, 2), "put 2 7788");
    EXPECT_EQ(written(first_of_kernel, 4), "put 4 55667788");
    EXPECT_EQ(written(before_vsyscall, 8), "put 8 1122334455667788");
    EXPECT_EQ(written(before_vsyscall, 3), "fails");
    EXPECT_EQ(written(vsyscall, 1), "fails");
    EXPECT_EQ(written(before_kernel, 1), "fails");
    test_access_faults = true;
    for (const u32 size : {1U, 2U, 4U, 8U})
        EXPECT_EQ(written(first_of_kernel, size), "put " + std::to_string(size) + " fails");
}

// Another task's memory may be there while the kernel switches to it.
TEST_F(KernelAccess, WritesToAProcessInItsTaskAlone) {
    EXPECT_EQ(written(last_of_user, 1), "from-user 1 to-user 1 88");
    EXPECT_EQ(written(0, 8), "from-user 1 to-user 8 1122334455667788");
    EXPECT_EQ(written(0, 16), "fails");
    test_access_level = 1;
    EXPECT_EQ(written(0, 8), "fails");
    test_access_level = 0;
    test_access_has_memory = false;
    EXPECT_EQ(written(0, 8), "fails");
    test_access_has_memory = true;
    test_access_is_ok = false;
    EXPECT_EQ(written(0, 8), "fails");
    test_access_is_ok = true;
    test_access_faults = true;
    EXPECT_EQ(written(0, 8), "from-user 1 fails");
}

TEST_F(KernelAccess, KnowsWhereTheKernelBegins) {
    EXPECT_FALSE(test_access_is_kernel(0));
    EXPECT_FALSE(test_access_is_kernel(before_kernel));
    EXPECT_TRUE(test_access_is_kernel(first_of_kernel));
    EXPECT_TRUE(test_access_is_kernel(~u64{0}));
}

} // namespace
