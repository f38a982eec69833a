// SPDX-License-Identifier: GPL-2.0-or-later
// Where the files of kernels, modules, programs and libraries are.
#include "arch/arch.h"
#include "image/configuration.h"
#include "image/module_file.h"
#include "image/no_kernel.h"
#include "made.h"

#include <algorithm>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <poll.h>
#include <sys/utsname.h>
#include <unistd.h>

using namespace djstap;
using namespace djstap::test;

namespace {

std::string running() {
    utsname machine{};
    uname(&machine);
    return machine.release;
}

} // namespace

TEST(Locate, EachFileOfAKernel) {
    const Folder folder;
    const Environment kernels("DJSTAP_KERNELS", folder.path);
    const std::string release = "9.1.0-test", root = folder.file(release),
                      modules = "/lib/modules/" + release;
    folder.write(release + "/boot/vmlinuz-" + release, "image");
    folder.write(release + "/boot/config-" + release, "CONFIG_X=y\n");
    folder.write(release + "/boot/btf-" + release, "btf");
    folder.write(release + "/boot/available_filter_functions-" + release, "f\n");
    folder.write(release + "/boot/syscall_formats-" + release, "name: x\n");
    folder.write(release + "/boot/System.map-" + release,
                 "this is not the map, which is elsewhere\n");
    folder.write(release + modules + "/System.map", std::string(5000, '\n'));
    folder.write(release + modules + "/modules.order", "");
    auto files = find_kernel(release);
    ASSERT_TRUE(files);
    EXPECT_EQ(files->root, root);
    EXPECT_EQ(files->vmlinuz, root + "/boot/vmlinuz-" + release);
    EXPECT_EQ(files->config, root + "/boot/config-" + release);
    EXPECT_EQ(files->btf, root + "/boot/btf-" + release);
    EXPECT_EQ(files->fentry_functions, root + "/boot/available_filter_functions-" + release);
    EXPECT_EQ(files->syscall_formats, root + "/boot/syscall_formats-" + release);
    EXPECT_EQ(files->kallsyms, root + modules + "/System.map");
    EXPECT_EQ(files->modules, root + modules);
    EXPECT_EQ(files->vmlinux, "");
    EXPECT_EQ(files->build_dir, "");
    EXPECT_EQ(files->kprobe_blacklist, "");
    // It may be installed on this machine, too.
    for (const std::string& place : {root + "/boot/vmlinux-" + release, "/boot/vmlinux-" + release,
                                     "/usr/lib/debug/boot/vmlinux-" + release})
        EXPECT_NE(std::find(files->looked_in.begin(), files->looked_in.end(), place),
                  files->looked_in.end())
            << place;
    // What is better comes first.
    folder.write(release + "/boot/available_filter_functions_addrs-" + release, "0 f\n");
    folder.write(release + "/boot/kallsyms-" + release, std::string(5000, '\n'));
    folder.write(release + "/lib/modules/" + release + "/build/.config", "");
    folder.write(release + modules + "/kernel/m.ko", "");
    files = find_kernel(release);
    EXPECT_EQ(files->fentry_functions, root + "/boot/available_filter_functions_addrs-" + release);
    EXPECT_EQ(files->kallsyms, root + "/boot/kallsyms-" + release);
    EXPECT_EQ(files->config, root + modules + "/build/.config");
    EXPECT_EQ(files->modules, root + modules);
    EXPECT_EQ(files->build_dir, root + modules + "/build");
}

TEST(Locate, ABuildTree) {
    const Folder folder;
    folder.write("include/config/kernel.release", "9.9.9-built\n");
    auto files = find_kernel(folder.path);
    ASSERT_TRUE(files);
    EXPECT_EQ(files->release, "9.9.9-built");
    EXPECT_EQ(files->root, "");
    EXPECT_EQ(files->build_dir, folder.path);
    EXPECT_EQ(files->vmlinux, "");
    EXPECT_EQ(files->config, "");
    EXPECT_EQ(files->vmlinuz, "");
    ASSERT_FALSE(files->looked_in.empty());
    EXPECT_EQ(files->looked_in.front(), folder.file("vmlinux"));
    const std::string image(arch::names().boot_image);
    folder.write(".config", "CONFIG_X=y\n");
    folder.write(image, "image");
    folder.write("v.s", ".text\nnop\n");
    folder.shell("as -o vmlinux v.s");
    files = find_kernel(folder.path);
    EXPECT_EQ(files->vmlinux, folder.file("vmlinux"));
    EXPECT_EQ(files->config, folder.file(".config"));
    EXPECT_EQ(files->vmlinuz, folder.file(image));
    // Packages of headers have one with types alone.
    folder.shell("objcopy -R .text vmlinux");
    EXPECT_EQ(find_kernel(folder.path)->vmlinux, "");
}

TEST(Locate, AFolderWithKernels) {
    const Folder folder;
    folder.write("boot/vmlinuz-9.1-a", "");
    folder.write("boot/other", "");
    EXPECT_EQ(find_kernel(folder.path)->release, "9.1-a");
    folder.write("boot/vmlinuz-9.2-a", "");
    EXPECT_EQ(find_kernel(folder.path).failure().message,
              folder.path + ": this folder contains 2 kernels");
    // Modules tell more.
    folder.write("lib/modules/9.2-a/modules.order", "");
    EXPECT_EQ(find_kernel(folder.path)->release, "9.2-a");
    EXPECT_FALSE(find_kernel(folder.write("file", "")));
}

TEST(Locate, TheRunningKernel) {
    const Folder folder;
    folder.write("9.9-other/boot/vmlinuz-9.9-other", "");
    folder.write(".hidden/boot/vmlinuz", "");
    folder.write("file", "");
    const Environment kernels("DJSTAP_KERNELS", folder.path);
    const auto installed = installed_releases();
    auto is_installed = [&](const std::string& release) {
        return std::find(installed.begin(), installed.end(), release) != installed.end();
    };
    EXPECT_TRUE(is_installed(running()));
    EXPECT_TRUE(is_installed("9.9-other"));
    EXPECT_FALSE(is_installed(".hidden"));
    EXPECT_FALSE(is_installed("file"));
    const auto files = find_kernel("");
    ASSERT_TRUE(files);
    EXPECT_EQ(files->release, running());
    EXPECT_EQ(files->notes, "/sys/kernel/notes");
    // The kernel's own files are used where its packages have none.
    const std::string own_types = "/sys/kernel/btf/vmlinux";
    if (access(own_types.c_str(), R_OK) == 0 &&
        access(("/boot/btf-" + running()).c_str(), R_OK) != 0) {
        EXPECT_EQ(files->btf, own_types);
    }
    folder.write(running() + "/boot/btf-" + running(), "btf");
    folder.write(running() + "/boot/System.map-" + running(), std::string(5000, '\n'));
    folder.write(running() + "/boot/available_filter_functions-" + running(), "f");
    folder.write(running() + "/boot/syscall_formats-" + running(), "f");
    const std::string boot = folder.file(running()) + "/boot/";
    const auto given = find_kernel(running());
    EXPECT_EQ(given->btf, boot + "btf-" + running());
    EXPECT_EQ(given->kallsyms, boot + "System.map-" + running());
    EXPECT_EQ(given->fentry_functions, boot + "available_filter_functions-" + running());
    EXPECT_EQ(given->syscall_formats, boot + "syscall_formats-" + running());
}

TEST(Kernel, TellsWhereItWasSearchedFor) {
    KernelFiles files;
    files.release = "9.9.9-test";
    files.looked_in = {"/a/vmlinux", "/b/vmlinux"};
    auto hint = [&] {
        auto kernel = Kernel::open(files);
        EXPECT_FALSE(kernel);
        return kernel ? "" : kernel.failure().hint;
    };
    EXPECT_EQ(hint(), "install its debug symbols (vmlinux); searched /a/vmlinux /b/vmlinux");
    files.looked_in.clear();
    EXPECT_EQ(hint(), "install its debug symbols (vmlinux)");
    const Folder folder;
    files.vmlinux = folder.write("vmlinux", "text");
    files.looked_in = {"/a/vmlinux"};
    EXPECT_EQ(hint().find("searched"), std::string::npos);
}

TEST(Kernel, VersionOfItsBanner) {
    const Folder folder;
    KernelFiles files;
    files.release = "9.9.9-test";
    files.kallsyms = folder.write("kallsyms", "ffffffff81000000 T _stext\n"
                                              "ffffffff81000000 T _printk\n"
                                              "ffffffff81000100 T _etext\n");
    files.banner = folder.write("banner", "Linux version 9.9.9-test (a@b) (gcc (X) 12, ld) #1 SMP "
                                          "Debian 9.9 (2024-01-01)\nmore\n");
    auto kernel = Kernel::open(files);
    ASSERT_TRUE(kernel);
    EXPECT_EQ((*kernel)->version(), "#1 SMP Debian 9.9 (2024-01-01)");
    EXPECT_EQ((*kernel)->segments().front().address, 0xffffffff81000000U);
    EXPECT_EQ((*kernel)->build_id(), "");
    files.banner = folder.write("banner", "Linux");
    EXPECT_EQ((*Kernel::open(files))->version(), "");
    files.banner = "";
    EXPECT_EQ((*Kernel::open(files))->version(), "");
    // A vmlinux that cannot be read is replaced, too, if there is a dump.
    files.vmlinux = folder.write("vmlinux", "text");
    kernel = Kernel::open(files);
    ASSERT_TRUE(kernel);
    EXPECT_TRUE((*kernel)->symbol("_printk"));
    EXPECT_FALSE((*kernel)->elf());
}

TEST(Configuration, Values) {
    const Folder folder;
    const Configuration config(folder.write(".config",
                                            "# CONFIG_NOT is not set\nCONFIG_A=y\n"
                                            "CONFIG_TEXT=\"some text\"\nCONFIG_EMPTY=\"\"\n"
                                            "CONFIG_QUOTE=\"\nOTHER=y\nCONFIG_B=m"));
    EXPECT_EQ(config.value("A"), "y");
    EXPECT_EQ(config.value("CONFIG_A"), "y");
    EXPECT_EQ(config.value("TEXT"), "some text");
    EXPECT_EQ(config.value("EMPTY"), "");
    EXPECT_EQ(config.value("QUOTE"), "\"");
    EXPECT_EQ(config.value("B"), "m");
    EXPECT_EQ(config.value("NOT"), "");
    EXPECT_EQ(config.value("OTHER"), "");
    EXPECT_EQ(Configuration(folder.file("none")).value("A"), "");
}

TEST(Configuration, KernelsThatDoNotFit) {
    EXPECT_TRUE(misfits([](std::string_view) { return ""; }).empty());
    EXPECT_TRUE(misfits([](std::string_view) { return "n"; }).empty());
    const auto found = misfits([](std::string_view name) { return name == "CFI" ? "y" : ""; });
    ASSERT_EQ(found.size(), 1U);
    EXPECT_TRUE(found[0].starts_with("CONFIG_CFI: ")) << found[0];
    EXPECT_EQ(misfits([](std::string_view) { return "y"; }).size(), 5U);
}

TEST(ModuleFiles, AreThoseOfDepmodOrOfTheFolder) {
    const Folder folder;
    KernelFiles kernel;
    EXPECT_TRUE(module_files(kernel).empty());
    kernel.modules = folder.path;
    EXPECT_TRUE(module_files(kernel).empty());
    folder.write("kernel/net/a-b.ko.xz", "");
    folder.write("kernel/c.ko", "");
    folder.write("kernel/c.txt", "");
    fs::create_directories(folder.file("kernel/d.ko"));
    using Files = std::map<std::string, std::string>;
    EXPECT_EQ(module_files(kernel), (Files{{"a_b", folder.file("kernel/net/a-b.ko.xz")},
                                           {"c", folder.file("kernel/c.ko")}}));
    folder.write("modules.dep", "kernel/net/a-b.ko.xz: kernel/c.ko\n/elsewhere/e.ko:\nnothing:\n");
    EXPECT_EQ(module_files(kernel),
              (Files{{"a_b", folder.file("kernel/net/a-b.ko.xz")}, {"e", "/elsewhere/e.ko"}}));
    EXPECT_FALSE(is_built_in(kernel, "unix"));
    folder.write("modules.builtin", "kernel/net/unix/unix.ko\nkernel/lib/x-y.ko\n");
    EXPECT_TRUE(is_built_in(kernel, "unix"));
    EXPECT_TRUE(is_built_in(kernel, "x_y"));
    EXPECT_FALSE(is_built_in(kernel, "x"));
}

TEST(ModuleFiles, LoadedOnesAreThoseOfTheRunningKernel) {
    KernelFiles kernel;
    kernel.release = running();
    const auto loaded = loaded_modules(kernel);
    ASSERT_TRUE(loaded);
    std::vector<std::string> expected;
    std::ifstream lines("/proc/modules");
    for (std::string line; std::getline(lines, line);)
        expected.push_back(line.substr(0, line.find(' ')));
    EXPECT_EQ(*loaded, expected);
    kernel.root = "/elsewhere";
    EXPECT_FALSE(loaded_modules(kernel));
    kernel.root = "";
    kernel.release += ".other";
    EXPECT_FALSE(loaded_modules(kernel));
}

TEST(ModuleFiles, CachedCopies) {
    const Folder folder;
    const Environment cache("DJSTAP_CACHE", folder.file("cache"));
    folder.write("plain", "content");
    folder.shell("gzip -k plain && xz -k plain && zstd -q -k plain");
    folder.write("bad.gz", "this is not compressed");
    int linked = 0;
    auto copy = [&](const std::string& name) {
        return cached_copy(no_kernel(), folder.file(name), "modules/name", ".ko",
                           [&](const std::string& whole) -> Result<std::string> {
                               linked++;
                               if (whole == "refused")
                                   return Failure{"it is refused", ""};
                               return whole + ", linked";
                           });
    };
    for (const char* name : {"plain", "plain.gz", "plain.xz", "plain.zst"}) {
        linked = 0;
        const auto first = copy(name);
        ASSERT_TRUE(first) << first.failure().message;
        EXPECT_EQ(*read_file(*first), "content, linked") << name;
        EXPECT_TRUE(first->starts_with(folder.file("cache/kernels/"))) << *first;
        EXPECT_TRUE(first->ends_with(".ko")) << *first;
        EXPECT_EQ(*copy(name), *first);
        EXPECT_EQ(linked, 1);
    }
    const std::string before = *copy("plain");
    folder.write("plain", "other content");
    EXPECT_NE(*copy("plain"), before);
    EXPECT_EQ(*read_file(*copy("plain")), "other content, linked");
    folder.write("refused", "refused");
    EXPECT_EQ(copy("refused").failure().message, "it is refused");
    EXPECT_EQ(copy("bad.gz").failure().message, "gzip failed on " + folder.file("bad.gz"));
    EXPECT_FALSE(copy("none"));
    // A compressed section that is damaged.
    folder.write("o.s", ".section .debug_info\n.skip 5000\n");
    folder.shell("as -o plain.o o.s && objcopy --compress-debug-sections=zlib plain.o damaged.o");
    std::string bytes = folder.bytes("damaged.o");
    Sections sections(bytes);
    sections[".debug_info"].sh_size -= 8;
    sections.store();
    folder.write("damaged.o", bytes);
    linked = 0;
    const auto damaged = copy("damaged.o");
    ASSERT_FALSE(damaged);
    EXPECT_TRUE(damaged.failure().message.ends_with(" is damaged"));
    EXPECT_EQ(linked, 0);
}

// A program's owner chooses the name of its debug file. A terminal's other side is told that it was
// opened, once it is closed.
TEST(ModuleBytes, AreNotThoseOfADevice) {
    const Folder folder;
    const FileDescriptor terminal(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
    ASSERT_TRUE(terminal && grantpt(terminal.get()) == 0 && unlockpt(terminal.get()) == 0);
    char name[64];
    ASSERT_EQ(ptsname_r(terminal.get(), name, sizeof name), 0);
    for (const char* link : {"a", "a.gz", "a.xz", "a.zst"}) {
        std::filesystem::create_symlink(name, folder.file(link));
        EXPECT_EQ(module_bytes(folder.file(link)).failure().message,
                  folder.file(link) + ": is not a file");
    }
    pollfd state{terminal.get(), POLLIN, 0};
    EXPECT_EQ(poll(&state, 1, 0), 0);
}
