// SPDX-License-Identifier: GPL-2.0-or-later
// The messages for users who may not load modules: a child drops capabilities.
#include "session/privilege.h"
#include "system/file.h"
#include "system/process.h"

#include <gtest/gtest.h>
#include <linux/capability.h>
#include <optional>
#include <string>
#include <sys/syscall.h>
#include <unistd.h>

namespace djstap {
namespace {

// Returns the answer of a child that keeps only these of its capabilities. Nothing: it could not be
// started.
std::optional<std::string> missing_with(uint64_t kept) {
    auto pipe = Pipe::open();
    if (!pipe)
        return std::nullopt;
    auto child = Process::fork([&] {
        __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
        __user_cap_data_struct data[2];
        if (syscall(SYS_capget, &header, data) != 0)
            return;
        data[0].effective &= static_cast<uint32_t>(kept);
        data[1].effective &= static_cast<uint32_t>(kept >> 32);
        if (syscall(SYS_capset, &header, data) != 0)
            return;
        const std::string answer = "=" + missing_privilege();
        const ssize_t written = write(pipe->writer.get(), answer.data(), answer.size());
        static_cast<void>(written); // the parent reports what is missing
    });
    pipe->writer.reset();
    std::string answer;
    char buffer[300];
    for (ssize_t count; (count = read_some(pipe->reader.get(), buffer, sizeof buffer)) > 0;)
        answer.append(buffer, static_cast<size_t>(count));
    if (child)
        child->wait();
    return answer.starts_with('=') ? std::optional(answer.substr(1)) : std::nullopt;
}

TEST(Privilege, NamesTheFirstCapabilityThatIsMissing) {
    const uint64_t all = ~uint64_t{0}, modules = uint64_t{1} << CAP_SYS_MODULE,
                   administration = uint64_t{1} << CAP_SYS_ADMIN;
    const auto here = missing_with(all);
    ASSERT_TRUE(here);
    if (here->find("user namespace") != std::string::npos)
        GTEST_SKIP() << *here;
    const auto says = [](const std::string& name) {
        return geteuid() == 0 ? "this process is root without " + name + " (a container?)"
                              : "this process has no " + name;
    };
    EXPECT_EQ(missing_with(0), says("CAP_SYS_MODULE"));
    EXPECT_EQ(missing_with(~modules), says("CAP_SYS_MODULE"));
    EXPECT_EQ(missing_with(administration), says("CAP_SYS_MODULE"));
    // the rest requires these capabilities
    if (!here->empty())
        GTEST_SKIP() << *here;
    EXPECT_EQ(missing_with(~administration), says("CAP_SYS_ADMIN"));
    EXPECT_EQ(missing_with(modules), says("CAP_SYS_ADMIN"));
    EXPECT_EQ(missing_with(modules | administration), "");
}

} // namespace
} // namespace djstap
