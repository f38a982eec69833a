// SPDX-License-Identifier: GPL-2.0-or-later
// What a kernel and the machine must have for a kit to be built.
#include "kernel_fixture.h"

#include <filesystem>

using namespace djstap;
using namespace djstap::module;
using namespace djstap::module::test;
namespace fs = std::filesystem;

TEST(Requirements, MissingHeadersNameThePackage) {
    ANY_KERNEL(kernel);
    // The same kernel, without headers, then with those of another kernel.
    KernelFiles files = kernel->files();
    files.build_dir.clear();
    auto bare = open_kernel(files);
    Status missing = check_requirements(*bare);
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.failure().message, "the kernel headers of " + files.release +
                                             " are not installed: missing /lib/modules/" +
                                             files.release + "/build");
    EXPECT_EQ(missing.failure().hint, "apt-get install linux-headers-" + files.release);

    TestFolder folder;
    files.build_dir = folder.path;
    auto empty = open_kernel(files);
    Status broken = check_requirements(*empty);
    ASSERT_FALSE(broken);
    EXPECT_NE(broken.failure().message.find("are incomplete: missing " + folder.path),
              std::string::npos);
    if (kernels.size() > 1) {
        files.build_dir = kernels[1].build_dir;
        auto other = open_kernel(files);
        Status wrong = check_requirements(*other);
        ASSERT_FALSE(wrong);
        EXPECT_NE(wrong.failure().message.find("are those of " + kernels[1].release),
                  std::string::npos);
    }
}

TEST(Requirements, KernelsThatTheRuntimeDoesNotKnowAreRefused) {
    ANY_KERNEL(kernel);
    TestFolder folder;
    KernelFiles files = kernel->files();
    const std::string usual = text_of(files.config);
    for (const char* setting :
         {"CFI_CLANG", "CFI", "CC_IS_CLANG", "UNWINDER_FRAME_POINTER", "UNWINDER_GUESS"}) {
        files.config = folder.path + "/" + setting;
        ASSERT_TRUE(write_file(files.config, usual + "CONFIG_" + setting + "=y\n"));
        auto kit = open_runtime_kit(*open_kernel(files), tiny_runtime(), nullptr);
        ASSERT_FALSE(kit) << setting;
        EXPECT_TRUE(kit.failure().message.starts_with(
            "kernel " + files.release + " is not supported: CONFIG_" + setting + ": "))
            << kit.failure().message;
    }
}

TEST(Requirements, MissingToolsNameThePackage) {
    ANY_KERNEL(any);
    const std::string path = getenv("PATH");
    TestFolder tools;
    // Without a compiler of its own, which scripts/kernels unpacks beside newer kernels.
    KernelFiles files = any->files();
    files.root = tools.path;
    auto kernel = open_kernel(files);
    std::string compiler = kernel->config("CC_VERSION_TEXT");
    compiler = compiler.substr(0, compiler.find(' '));
    setenv("PATH", tools.path.c_str(), 1);
    Status no_make = check_requirements(*kernel);
    fs::create_symlink("/bin/true", tools.path + "/make");
    Status no_compiler = check_requirements(*kernel);
    fs::create_directories(tools.path + "/build-tools/usr/bin");
    fs::create_symlink("/bin/true", tools.path + "/build-tools/usr/bin/" + compiler);
    Status own_compiler = check_requirements(*kernel);
    setenv("PATH", path.c_str(), 1);
    ASSERT_FALSE(no_make);
    EXPECT_EQ(no_make.failure().message, "make is not installed");
    EXPECT_EQ(no_make.failure().hint, "apt-get install make");
    ASSERT_FALSE(no_compiler);
    EXPECT_NE(no_compiler.failure().message.find("gcc"), std::string::npos);
    EXPECT_NE(no_compiler.failure().hint.find("apt-get install gcc"), std::string::npos);
    EXPECT_NE(no_compiler.failure().hint.find("linux-headers-" + kernel->release()),
              std::string::npos);
    ASSERT_FALSE(own_compiler);
    EXPECT_EQ(own_compiler.failure().message, "the linker ld is not installed");
    EXPECT_EQ(own_compiler.failure().hint, "apt-get install binutils");
}
