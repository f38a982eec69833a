// SPDX-License-Identifier: GPL-2.0-or-later
#include "driver/host_kernel.h"

#include <gtest/gtest.h>

namespace djstap::driver {
namespace {

HostFacts host(const char* distribution, const char* version) {
    HostFacts facts;
    facts.distribution = distribution;
    facts.release = "6.1.0-56-cloud-amd64";
    facts.version = version;
    return facts;
}

TEST(KernelPackages, AreNamedAsTheDistributionDoes) {
    const char* debian = "#1 SMP PREEMPT_DYNAMIC Debian 6.1.192-1 (2026-10-31)";
    EXPECT_EQ(kernel_packages(host("debian", debian), true, true),
              "linux-headers-6.1.0-56-cloud-amd64=6.1.192-1 "
              "linux-image-6.1.0-56-cloud-amd64-dbg=6.1.192-1");
    EXPECT_EQ(kernel_packages(host("debian", debian), true, false),
              "linux-headers-6.1.0-56-cloud-amd64=6.1.192-1");
    EXPECT_EQ(kernel_packages(host("debian", debian), false, true),
              "linux-image-6.1.0-56-cloud-amd64-dbg=6.1.192-1");
    EXPECT_EQ(kernel_packages(host("ubuntu", debian), true, true),
              "linux-headers-6.1.0-56-cloud-amd64 linux-image-6.1.0-56-cloud-amd64-dbgsym");
    EXPECT_EQ(kernel_packages(host("rocky", "#1 SMP"), true, true),
              "kernel-devel-6.1.0-56-cloud-amd64 kernel-debuginfo-6.1.0-56-cloud-amd64");
    EXPECT_EQ(kernel_packages(host("", debian), true, true), "");
    EXPECT_EQ(kernel_packages(host("rhel fedora", debian), true, true), "");
}

// The kernel cuts the text off after 64 characters.
TEST(KernelPackages, HaveAVersionOnlyIfItIsWhole) {
    EXPECT_EQ(kernel_packages(host("debian", "#1 SMP PREEMPT_DYNAMIC Debian 6.12.117-1~deb"), true,
                              false),
              "linux-headers-6.1.0-56-cloud-amd64");
    EXPECT_EQ(kernel_packages(host("debian", "#1 SMP of its own"), true, false),
              "linux-headers-6.1.0-56-cloud-amd64");
}

} // namespace
} // namespace djstap::driver
