// SPDX-License-Identifier: GPL-2.0-or-later
// A kernel that tests build for.
#pragma once
#include "common.h"
#include "module/kit_build.h"

#include <memory>
#include <string>

namespace djstap::module::test {

inline std::unique_ptr<Kernel> open_kernel(const KernelFiles& files) {
    auto kernel = Kernel::open(files);
    EXPECT_TRUE(kernel) << kernel.failure().message;
    return kernel ? std::move(*kernel) : nullptr;
}

// A kernel to build for, if it does not matter which.
#define ANY_KERNEL(kernel)                                                                         \
    auto kernels = buildable_kernels();                                                            \
    if (kernels.empty())                                                                           \
        GTEST_SKIP() << "no kernel with headers and vmlinux is installed";                         \
    auto kernel = open_kernel(kernels.front());                                                    \
    ASSERT_TRUE(kernel)

inline std::string text_of(const std::string& path) {
    auto text = read_file(path);
    return text ? *text : "";
}

} // namespace djstap::module::test
