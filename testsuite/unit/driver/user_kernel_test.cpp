// SPDX-License-Identifier: GPL-2.0-or-later
// What takes a kernel's place in user space.
#include "driver/user_kernel.h"

#include "injected/injected.h"

#include <cstddef>
#include <cstdint>
#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <utility>

namespace djstap::driver {
namespace {

using namespace std::string_literals;

// Handlers inside a program find a thread's buffer by these offsets.
TEST(UserKernel, HasTheFieldsOfASlot) {
    const CodegenKernel here = user_space_kernel(false), inside = user_space_kernel(true);
    EXPECT_TRUE(here.user_space && inside.user_space);
    EXPECT_FALSE(here.injected);
    EXPECT_TRUE(inside.injected);
    EXPECT_EQ(here.stub_bytes, 0);
    EXPECT_EQ(inside.stub_bytes, 8); // what stubs push: one register
    EXPECT_FALSE(here.mitigations.return_thunks || here.mitigations.indirect_thunks);
    EXPECT_FALSE(inside.mitigations.return_thunks || inside.mitigations.indirect_thunks);
    EXPECT_FALSE(here.offset);
    ASSERT_TRUE(inside.offset);
    const auto at = [&](const char* name) { return inside.offset(name); };
    const auto of = [](size_t offset) {
        return std::optional(std::pair("djs_cpu"s, static_cast<int64_t>(offset)));
    };
    EXPECT_EQ(at("djs_cpu.head"), of(offsetof(djs_thread_slot, head)));
    EXPECT_EQ(at("djs_cpu.limit"), of(offsetof(djs_thread_slot, limit)));
    EXPECT_EQ(at("djs_cpu.data"), of(offsetof(djs_thread_slot, data)));
    EXPECT_EQ(at("djs_cpu.mask"), of(offsetof(djs_thread_slot, mask)));
    for (const char* none : {"djs_cpu.none", "task_struct.pid", ""})
        EXPECT_EQ(at(none), std::nullopt) << none;
}

} // namespace
} // namespace djstap::driver
