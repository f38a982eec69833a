// SPDX-License-Identifier: GPL-2.0-or-later
// Kernels of a few functions: by their files, by dumps, and by their build-ids.
#include "image/debug_file.h"
#include "image/kernel.h"
#include "image/no_kernel.h"
#include "image/symbol_table.h"
#include "made.h"

#include <algorithm>
#include <netinet/in.h>
#include <sys/socket.h>

namespace djstap {
namespace {

using test::Folder;
namespace fs = std::filesystem;

std::vector<std::string> told;
void tell(const std::string& step) {
    told.push_back(step);
}

class MadeKernels : public testing::Test {
  protected:
    MadeKernels() {
        told.clear();
        files_.release = "9.9.9-test";
    }
    // A note of the linker's with this build-id.
    static std::string notes(const std::string& id) {
        const Elf64_Nhdr header{4, static_cast<Elf64_Word>(id.size()), NT_GNU_BUILD_ID};
        return std::string(reinterpret_cast<const char*>(&header), sizeof header) +
               std::string("GNU\0", 4) + id;
    }
    // A vmlinux with this code of vfs_read.
    void make_vmlinux(const std::string& name, const std::string& code = "nop",
                      const std::string& options = "--build-id=0x1234567890abcdef") const {
        folder_.write("k.s",
                      ".text\n.globl _stext, _etext, _printk, vfs_read\n_stext:\n"
                      ".type _printk, @function\n_printk: ret\n.size _printk, 1\n.balign 16\n"
                      ".type vfs_read, @function\nvfs_read: " +
                          code +
                          "\nret\n.size vfs_read, . - vfs_read\n_etext:\n"
                          ".section .rodata\n.globl linux_banner\nlinux_banner: .asciz "
                          "\"Linux version 9.9.9-test (a@b) (gcc) #1 SMP x\\n\"\n");
        fs::create_directories(fs::path(folder_.file(name)).parent_path());
        folder_.shell("as -o k.o k.s && ld " + options + " -e vfs_read -o " + name + " k.o");
    }
    std::unique_ptr<Kernel> open() const {
        auto kernel = Kernel::open(files_, tell);
        EXPECT_TRUE(kernel) << (kernel ? "" : kernel.failure().message);
        return kernel ? std::move(*kernel) : nullptr;
    }

    const Folder folder_;
    const test::Environment cache_{"DJSTAP_CACHE", folder_.file("cache")};
    KernelFiles files_;
};

TEST_F(MadeKernels, AreReadOnceByTheirBuildId) {
    make_vmlinux("vmlinux");
    files_.vmlinux = folder_.file("vmlinux");
    const auto first = open();
    ASSERT_TRUE(first);
    EXPECT_EQ(told, std::vector<std::string>{"reading the symbols of 9.9.9-test"});
    EXPECT_EQ(first->build_id(), "1234567890abcdef");
    EXPECT_EQ(first->version(), "#1 SMP x");
    EXPECT_TRUE(first->symbol("vfs_read"));
    const ElfSection* note = first->elf()->section(".note.gnu.build-id");
    ASSERT_TRUE(note);
    EXPECT_EQ(first->build_id_address(), note->address + 16);
    EXPECT_EQ(first->segments().at(0).address, first->symbol("_printk")->address);
    // Those in the cache stand for the file's.
    const std::string kept = folder_.file("cache/kernels/1234567890abcdef/symbols");
    ASSERT_TRUE(fs::exists(kept));
    SymbolSource other;
    other.symbols = {{"only_this", 0x1000, 1, symbol_text}};
    ASSERT_TRUE(write_file(kept, SymbolTable::serialize(other)));
    const auto second = open();
    EXPECT_EQ(told.size(), 1U);
    EXPECT_TRUE(second->symbol("only_this"));
    EXPECT_FALSE(second->symbol("vfs_read"));
    // Without one, they are read each time.
    make_vmlinux("vmlinux", "nop", "--build-id=none");
    EXPECT_TRUE(open()->symbol("vfs_read"));
    EXPECT_TRUE(open()->symbol("vfs_read"));
    EXPECT_EQ(told.size(), 3U);
    EXPECT_EQ(std::distance(fs::directory_iterator(folder_.file("cache/kernels")), {}), 1);
}

TEST_F(MadeKernels, WithoutSymbolsCannotBeUsed) {
    make_vmlinux("vmlinux", "nop", "--strip-all");
    files_.vmlinux = folder_.file("vmlinux");
    const auto kernel = Kernel::open(files_);
    ASSERT_FALSE(kernel);
    EXPECT_EQ(kernel.failure().message, files_.vmlinux + ": has no symbol table");
    EXPECT_EQ(kernel.failure().hint, "install the kernel's debug symbols");
}

// As its configuration says, else as its functions begin.
TEST_F(MadeKernels, MayHaveLandingPads) {
    files_.vmlinux = folder_.file("vmlinux");
    for (const bool pad : {false, true}) {
        make_vmlinux("vmlinux", pad ? "endbr64" : "nop", "--build-id=none");
        files_.config.clear();
        EXPECT_EQ(open()->has_ibt(), pad);
        for (const bool set : {false, true}) {
            files_.config = folder_.write("config", set ? "CONFIG_X86_KERNEL_IBT=y\n" : "");
            EXPECT_EQ(open()->has_ibt(), set);
        }
    }
}

// By what a kernel that runs tells of itself, its file is found below the folder of its root, or of
// this machine.
TEST_F(MadeKernels, AreFoundByTheirBuildIds) {
    const std::string place = "root/usr/lib/debug/.build-id/12/34567890abcdef.debug";
    const auto found = [&](const std::string& id = "1234567890abcdef") {
        return find_vmlinux(folder_.file("root"), id, "kernel x", nullptr);
    };
    EXPECT_FALSE(found());
    make_vmlinux(place);
    EXPECT_EQ(found(), folder_.file(place));
    EXPECT_FALSE(found("1234567890abcdee"));
    EXPECT_FALSE(found("12345"));
    files_.root = folder_.file("root");
    files_.notes = folder_.write("notes", notes("\x12\x34\x56\x78\x90\xab\xcd\xef"));
    const auto kernel = open();
    ASSERT_TRUE(kernel);
    EXPECT_EQ(kernel->file(), folder_.file(place));
    EXPECT_TRUE(kernel->symbol("vfs_read"));
    files_.notes = folder_.write("notes", "");
    EXPECT_FALSE(Kernel::open(files_));
    // What is there must be the kernel itself, with its symbols.
    folder_.shell("cp " + place + " whole; objcopy --only-keep-debug whole " + place);
    EXPECT_FALSE(found()) << "it has no code";
    folder_.shell("objcopy -R .text whole " + place);
    EXPECT_FALSE(found());
    folder_.shell("strip -o " + place + " whole");
    EXPECT_FALSE(found()) << "it has no symbols";
    make_vmlinux(place, "nop", "--build-id=0x1234567890abcdff");
    EXPECT_FALSE(found()) << "it is another one";
    folder_.write(place, "text");
    EXPECT_FALSE(found());
    fs::remove(folder_.file(place));
    fs::create_directory(folder_.file(place));
    EXPECT_FALSE(found());
}

TEST_F(MadeKernels, TellWhyAServerDoesNotHaveThem) {
    // Nobody listens on a port that is only taken.
    const FileDescriptor port(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    ASSERT_TRUE(port && bind(port.get(), any, size) == 0 &&
                getsockname(port.get(), any, &size) == 0);
    const std::string url = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    const test::Environment servers("DEBUGINFOD_URLS", url),
        fetched("DEBUGINFOD_CACHE_PATH", folder_.file("fetched"));
    EXPECT_FALSE(find_vmlinux("", "1234567890abcdef", "kernel x", tell));
    // Why: that is up to the library, which may be missing.
    ASSERT_FALSE(told.empty());
    EXPECT_TRUE(
        told.back().starts_with(url + ": no debug information of kernel x was received: ") ||
        told.back().ends_with(" cannot be loaded"))
        << told.back();
    // One that did not answer is not asked again.
    told.clear();
    EXPECT_FALSE(find_vmlinux("", "1234567890abcdef", "kernel x", tell));
    EXPECT_EQ(told, std::vector<std::string>{});
}

TEST_F(MadeKernels, ADumpHasItsSites) {
    files_.kallsyms = folder_.write("kallsyms", "ffffffff81000000 T _stext\n"
                                                "ffffffff81000000 T first\n"
                                                "ffffffff81000040 t second\n"
                                                "ffffffff81000080 T third\n"
                                                "ffffffff810000c0 T _etext\n");
    constexpr uint64_t first = 0xffffffff81000000, second = first + 0x40, third = first + 0x80;
    const auto with = [&](const std::string& functions, const std::string& config) {
        files_.fentry_functions = folder_.write("functions", functions);
        files_.config = config.empty() ? "" : folder_.write("config", config);
        return open();
    };
    const std::string pads = "CONFIG_X86_KERNEL_IBT=y\n";
    // Names do not tell whether the site is behind a landing pad.
    auto names = with("first\nthird\n", pads);
    EXPECT_FALSE(names->knows_fentry_sites());
    EXPECT_EQ(names->fentry_site(first), first);
    EXPECT_EQ(names->fentry_site(second), std::nullopt);
    EXPECT_EQ(names->fentry_site(third), third);
    EXPECT_EQ(names->fentry_site(third + 1), std::nullopt);
    EXPECT_EQ(names->fentry_site_count(), 2U);
    EXPECT_TRUE(with("first\n", "")->knows_fentry_sites());
    EXPECT_TRUE(with("first\n", "CONFIG_X=y\n")->knows_fentry_sites());
    // Addresses do.
    auto addresses = with("ffffffff81000004 first\nffffffff81000045 second\n"
                          "ffffffff81000080 third\n",
                          pads);
    EXPECT_TRUE(addresses->knows_fentry_sites());
    EXPECT_EQ(addresses->fentry_site(first), first + 4);
    EXPECT_EQ(addresses->fentry_site(first + 1), std::nullopt);
    EXPECT_EQ(addresses->fentry_site(second), std::nullopt) << "five bytes are no landing pad";
    EXPECT_EQ(addresses->fentry_site(third), third);
    EXPECT_EQ(with("first\n", pads)->fentry_site(first - 4), std::nullopt);
    EXPECT_FALSE(with("", pads)->knows_fentry_sites());
    // A function may be called like a number.
    EXPECT_FALSE(with("abc\n", pads)->knows_fentry_sites());
}

TEST_F(MadeKernels, ADumpHasABuildId) {
    const std::string symbols = "ffffffff81000000 T _stext\nffffffff81000000 T _printk\n";
    files_.kallsyms = folder_.write("kallsyms", symbols + "ffffffff81800000 R __start_notes\n");
    files_.notes = folder_.write("notes", notes("\x12\x34\x56"));
    auto kernel = open();
    EXPECT_EQ(kernel->build_id(), "123456");
    EXPECT_EQ(kernel->build_id_address(), 0xffffffff81800010U);
    files_.kallsyms = folder_.write("kallsyms", symbols);
    kernel = open();
    EXPECT_EQ(kernel->build_id(), "123456");
    EXPECT_EQ(kernel->build_id_address(), 0U);
    EXPECT_EQ(kernel->segments().at(0).symbol, "_printk");
    EXPECT_EQ(kernel->segments().at(0).begin, 0U);
    EXPECT_EQ(kernel->segments().at(0).end, UINT64_MAX);
}

TEST_F(MadeKernels, ADumpStandsForAFileThatCannotBeUsed) {
    files_.kallsyms = folder_.file("none");
    const auto none = Kernel::open(files_);
    ASSERT_FALSE(none);
    EXPECT_EQ(none.failure().message, files_.kallsyms + ": cannot open: No such file or directory");
    make_vmlinux("vmlinux", "nop", "--strip-all");
    files_.vmlinux = folder_.file("vmlinux");
    files_.kallsyms = folder_.write("kallsyms", "ffffffff81000000 T of_the_dump\n");
    const auto kernel = open();
    ASSERT_TRUE(kernel);
    EXPECT_TRUE(kernel->symbol("of_the_dump"));
    EXPECT_EQ(kernel->elf(), nullptr);
    EXPECT_EQ(kernel->segments().at(0).address, 0U) << "it has no _printk";
}

TEST_F(MadeKernels, TellIfTheirSymbolsCannotBeKept) {
    make_vmlinux("vmlinux");
    files_.vmlinux = folder_.file("vmlinux");
    folder_.write("cache", "a file");
    EXPECT_TRUE(open()->symbol("vfs_read"));
    ASSERT_EQ(told.size(), 2U);
    EXPECT_TRUE(told[1].starts_with("cannot cache the symbols: " + folder_.file("cache")))
        << told[1];
}

TEST_F(MadeKernels, FilesWithDebugInformationOfModulesAreCounted) {
    files_.root = folder_.path;
    const std::string place = "usr/lib/debug/lib/modules/9.9.9-test/";
    EXPECT_EQ(module_debug_folder(files_).files, 0U);
    EXPECT_EQ(module_debug_folder(files_).path, folder_.file(place.substr(0, place.size() - 1)));
    for (const char* name : {"kernel/a.ko", "kernel/net/b.ko.debug", "c.ko.xz", "vmlinux", "d.o"})
        folder_.write(place + name, "");
    EXPECT_EQ(module_debug_folder(files_).files, 3U);
}

TEST(NoKernel, HasNothing) {
    const Kernel& none = no_kernel();
    EXPECT_FALSE(none.symbol("vfs_read"));
    EXPECT_TRUE(none.symbols_named("vfs_read").empty());
    EXPECT_TRUE(none.symbols_matching("*").empty());
    EXPECT_FALSE(none.symbol_at(0));
    EXPECT_FALSE(none.has_addresses());
    EXPECT_EQ(none.fentry_site_count(), 0U);
    EXPECT_FALSE(none.fentry_site(0));
    EXPECT_EQ(none.config("X"), "");
    EXPECT_EQ(none.release(), "");
    EXPECT_EQ(none.build_id(), "");
    EXPECT_FALSE(none.has_ibt());
    EXPECT_EQ(&none.kernel(), &none);
}

// Aliases of a function have a line each in the kernel's list.
TEST(SymbolTable, ManyRangesMayBeginTogether) {
    constexpr uint64_t begin = 0xffffffffff000000;
    SymbolSource source;
    source.text = {begin - 0x1000, begin + 0x1000};
    for (uint64_t i = 0; i < 1000; i++)
        source.forbidden.push_back({begin, begin + 1 + i % 64});
    const auto table = SymbolTable::hold(SymbolTable::serialize(source));
    ASSERT_TRUE(table);
    EXPECT_FALSE(table->forbidden(begin - 1));
    EXPECT_TRUE(table->forbidden(begin));
    EXPECT_TRUE(table->forbidden(begin + 63));
    EXPECT_FALSE(table->forbidden(begin + 64));
}

// Labels in a function do not hide it, unless there are very many.
TEST(NamesAtAnAddress, AreThoseBeforeAFewLabels) {
    for (const auto& [labels, name] : {std::pair(1, "whole"), {15, "whole"}, {16, ""}}) {
        SymbolSource source;
        source.symbols = {{"whole", 0x1000, 0x1000, symbol_text | symbol_function}};
        for (int i = 1; i <= labels; i++)
            source.symbols.push_back({"label", 0x1000U + static_cast<unsigned>(i), 1, symbol_text});
        source.text = {0x1000, 0x3000};
        const auto table = SymbolTable::hold(SymbolTable::serialize(source));
        ASSERT_TRUE(table);
        const auto found = table->at(0x1fff);
        EXPECT_EQ(found ? found->name : "", name) << labels;
        EXPECT_FALSE(table->at(0x2000)) << labels;
    }
}

// Of two names, that of a global function is the better one, whatever their order.
TEST(NamesAtAnAddress, FunctionsComeFirstThenGlobalNames) {
    const auto name = [](uint32_t of_a, uint32_t of_b) {
        SymbolSource source;
        source.symbols = {{"a", 0x1000, 16, of_a}, {"b", 0x1000, 16, of_b}};
        source.text = {0x1000, 0x2000};
        const auto table = SymbolTable::hold(SymbolTable::serialize(source));
        return std::string(table->at(0x1008)->name);
    };
    constexpr uint32_t text = symbol_text, function = symbol_text | symbol_function;
    EXPECT_EQ(name(function, function | symbol_global), "b");
    EXPECT_EQ(name(function | symbol_global, function), "a");
    EXPECT_EQ(name(text, text | symbol_global), "b");
    EXPECT_EQ(name(text | symbol_global, text), "a");
    EXPECT_EQ(name(text | symbol_global, function), "b");
    EXPECT_EQ(name(function, text | symbol_global), "a");
    EXPECT_EQ(name(function, function), "a");
}

} // namespace
} // namespace djstap
