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

// Each of the files without which no module can be built, and what they must say.
TEST(Requirements, HeadersAreComplete) {
    ANY_KERNEL(kernel);
    TestFolder folder;
    KernelFiles files = kernel->files();
    files.build_dir = folder.path + "/build";
    files.config = folder.path + "/config";
    const auto put = [&](const std::string& name, const std::string& text) {
        fs::create_directories(fs::path(files.build_dir + name).parent_path());
        ASSERT_TRUE(write_file(files.build_dir + name, text));
    };
    const auto told = [&](const std::string& config) {
        EXPECT_TRUE(write_file(files.config, config));
        const Status status = check_requirements(*open_kernel(files));
        return status ? "" : status.failure().message + "\n" + status.failure().hint;
    };
    const std::string headers = "linux-headers-" + files.release;
    const auto incomplete = [&](const std::string& name) {
        return "the kernel headers of " + files.release + " are incomplete: missing " +
               files.build_dir + name + "\napt-get install --reinstall " + headers;
    };
    for (const char* name : {"/Makefile", "/.config", "/Module.symvers", "/scripts/mod/modpost",
                             "/include/generated/utsrelease.h"}) {
        EXPECT_EQ(told(""), incomplete(name));
        put(name, "");
    }
    const auto other = [&](const std::string& release) {
        return "the kernel headers in " + files.build_dir + " are those of " + release +
               ", the kernel is " + files.release + "\napt-get install " + headers;
    };
    EXPECT_EQ(told(""), other(""));
    const std::string define = "#define UTS_RELEASE \"";
    for (const std::string& release : {std::string("9.9"), files.release + "x", std::string()}) {
        put("/include/generated/utsrelease.h", define + release + "\"\n");
        EXPECT_EQ(told(""), other(release));
    }
    put("/include/generated/utsrelease.h", "/* \"9.9\" */\n" + define + files.release + "\"\n");
    EXPECT_EQ(told(""), "");
    EXPECT_EQ(told("CONFIG_OBJTOOL=y\n"), incomplete("/tools/objtool/objtool"));
    put("/tools/objtool/objtool", "");
    EXPECT_EQ(told("CONFIG_OBJTOOL=y\n"), incomplete("/tools/objtool/objtool")) << "it cannot run";
    fs::permissions(files.build_dir + "/tools/objtool/objtool", fs::perms::owner_all);
    EXPECT_EQ(told("CONFIG_OBJTOOL=y\n"), "");
    // The compiler, by the first word of its version, else gcc.
    EXPECT_EQ(told("CONFIG_CC_VERSION_TEXT=\"no-such-gcc-99 (Debian) 99\"\n"),
              "the compiler that " + files.release +
                  " was built with, no-such-gcc-99, is not "
                  "installed\napt-get install gcc-99 (or " +
                  headers + ", which needs it)");
    EXPECT_EQ(told("CONFIG_CC_VERSION_TEXT=\"nocompiler 99\"\n"),
              "the compiler that " + files.release +
                  " was built with, nocompiler, is not "
                  "installed\napt-get install nocompiler (or " +
                  headers + ", which needs it)");
}

TEST(Requirements, MissingToolsNameThePackage) {
    ANY_KERNEL(any);
    TestFolder tools;
    // Without a compiler of its own, which scripts/kernels unpacks beside newer kernels.
    KernelFiles files = any->files();
    files.root = tools.path;
    auto kernel = open_kernel(files);
    std::string compiler = kernel->config("CC_VERSION_TEXT");
    compiler = compiler.substr(0, compiler.find(' '));
    const Environment path("PATH", tools.path);
    Status no_make = check_requirements(*kernel);
    fs::create_symlink("/bin/true", tools.path + "/make");
    Status no_compiler = check_requirements(*kernel);
    fs::create_directories(tools.path + "/build-tools/usr/bin");
    fs::create_symlink("/bin/true", tools.path + "/build-tools/usr/bin/" + compiler);
    Status own_compiler = check_requirements(*kernel);
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
