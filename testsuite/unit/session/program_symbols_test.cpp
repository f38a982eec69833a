// SPDX-License-Identifier: GPL-2.0-or-later
// The symbols of programs: those of this one, by the addresses for which it was linked.
#include "session/program_symbols.h"

#include "include/symbols.h"
#include "system/descriptor.h"
#include "system/temporary.h"

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <link.h>
#include <poll.h>
#include <string>
#include <unistd.h>

using namespace djstap;

namespace {

std::string own_path() {
    std::string path(4096, '\0');
    path.resize(static_cast<size_t>(readlink("/proc/self/exe", path.data(), path.size())));
    return path;
}

// The build-id of this program in memory; its note may be missing.
std::string own_build_id() {
    std::string id;
    dl_iterate_phdr(
        [](dl_phdr_info* info, size_t, void* out) {
            for (int i = 0; i < info->dlpi_phnum; i++) {
                const auto& header = info->dlpi_phdr[i];
                if (header.p_type != PT_NOTE)
                    continue;
                const auto* at = reinterpret_cast<const char*>(info->dlpi_addr + header.p_vaddr);
                for (const char* end = at + header.p_memsz; at + sizeof(Elf64_Nhdr) < end;) {
                    Elf64_Nhdr note;
                    std::memcpy(&note, at, sizeof note);
                    const char* text = at + sizeof note + (note.n_namesz + 3) / 4 * 4;
                    if (note.n_type == NT_GNU_BUILD_ID)
                        for (unsigned j = 0; j < note.n_descsz; j++) {
                            char byte[3];
                            snprintf(byte, sizeof byte, "%02x", static_cast<uint8_t>(text[j]));
                            *static_cast<std::string*>(out) += byte;
                        }
                    at = text + (note.n_descsz + 3) / 4 * 4;
                }
            }
            return 1; // the first one is the program
        },
        &id);
    return id;
}

uint64_t own_bias() {
    uint64_t bias = 0;
    dl_iterate_phdr(
        [](dl_phdr_info* info, size_t, void* out) {
            *static_cast<uint64_t*>(out) = info->dlpi_addr;
            return 1;
        },
        &bias);
    return bias;
}

std::string known(const std::string& path, uint64_t address, const std::string& build_id) {
    char text[64];
    snprintf(text, sizeof text, "+0x%llx]", static_cast<unsigned long long>(address));
    return "0x7f0012345678 [" + path + text + '\0' + build_id;
}

} // namespace

// As the C library's function to which signals' handlers return: nothing is before it, and it has
// no size.
asm(".pushsection .text\n"
    ".balign 16\n"
    ".skip 16, 0x90\n"
    ".globl program_symbols_bare\n"
    ".type program_symbols_bare, @function\n"
    "program_symbols_bare: ret\n"
    ".skip 15, 0x90\n"
    ".popsection\n");
extern "C" void program_symbols_bare();

// A name that is longer than the texts of records.
#define TEN(text) text text text text text text text text text text
asm(".pushsection .text\n"
    ".globl program_symbols_long" TEN(
        TEN("_1234567")) "\n"
                         ".type program_symbols_long" TEN(
                             TEN("_1234567")) ", @function\n"
                                              ".globl program_symbols_alias\n"
                                              "program_symbols_long" TEN(TEN(
                                                  "_1234567")) ":\n"
                                                               "program_symbols_alias: ret\n"
                                                               ".size program_symbols_long" TEN(TEN(
                                                                   "_1234567")) ", 1\n"
                                                                                ".popsection\n");
extern "C" void program_symbols_alias();

// Not static, so that it has a symbol whose name is mangled.
namespace program_symbols_test {
[[gnu::noinline]] int sought(const std::string& text, int n) {
    return static_cast<int>(text.size()) + n;
}
} // namespace program_symbols_test

namespace {

TEST(ProgramSymbols, OfThisProgram) {
    const std::string name =
        "program_symbols_test::sought(std::__cxx11::basic_string<char, std::char_traits<char>, "
        "std::allocator<char> > const&, int)";
    const auto address = reinterpret_cast<uint64_t>(&program_symbols_test::sought) - own_bias();
    ProgramSymbols symbols;
    const std::string path = own_path(), id = own_build_id();
    const std::string at = symbols.symbol(known(path, address, id), false);
    ASSERT_TRUE(at.starts_with(name + "+0x0/0x")) << at;
    EXPECT_TRUE(at.ends_with(" [" + path + "]")) << at;
    EXPECT_TRUE(symbols.symbol(known(path, address + 1, id), false).starts_with(name + "+0x1/"));
    // A call that is a function's last instruction returns behind it.
    const size_t size_at = name.size() + std::strlen("+0x0/");
    const uint64_t size = std::stoull(at.substr(size_at), nullptr, 16);
    const std::string end = symbols.symbol(known(path, address + size, id), true);
    EXPECT_TRUE(end.starts_with(name + "+0x")) << end;
    EXPECT_FALSE(symbols.symbol(known(path, address + size, id), false).starts_with(name + "+"));
    const auto bare = reinterpret_cast<uint64_t>(&program_symbols_bare) - own_bias();
    EXPECT_TRUE(
        symbols.symbol(known(path, bare, id), true).starts_with("program_symbols_bare+0x0/"));
    // Another build of the program, other files, and what is no description of an address.
    EXPECT_EQ(symbols.symbol(known(path, address, id + "00"), false), "");
    EXPECT_EQ(symbols.symbol(known("/dev/null", address, id), false), "");
    EXPECT_EQ(symbols.symbol(known("/nowhere", address, id), false), "");
    for (const char* text : {"", "0x1", "0x1 [", "0x1 [x+0x", "0x1 [x+0xg]", "[+0x]", "]+0x1["}) {
        EXPECT_EQ(symbols.symbol(text, false), "") << text;
        EXPECT_EQ(symbols.symbol(std::string(text) + '\0' + id, false), "") << text;
    }
}

// Whoever owns a program's file may put a device in its place. That of a terminal tells its other
// side that it was opened, once it is closed.
TEST(ProgramSymbols, DevicesAreNotOpened) {
    const FileDescriptor terminal(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
    ASSERT_TRUE(terminal && grantpt(terminal.get()) == 0 && unlockpt(terminal.get()) == 0);
    char name[64];
    ASSERT_EQ(ptsname_r(terminal.get(), name, sizeof name), 0);
    const auto was_opened = [&] {
        pollfd state{terminal.get(), POLLIN, 0};
        return poll(&state, 1, 0) >= 0 && (state.revents & POLLHUP) != 0;
    };
    ProgramSymbols symbols;
    EXPECT_EQ(symbols.symbol(known(name, 0x1000, "abcdef"), false, true), "");
    EXPECT_FALSE(symbols.place(known(name, 0x1000, "abcdef"), false));
    EXPECT_FALSE(was_opened());
    FileDescriptor(open(name, O_RDWR | O_NOCTTY | O_CLOEXEC)).reset();
    EXPECT_TRUE(was_opened());
}

TEST(ProgramSymbols, LongNamesFillTheTextsOfRecords) {
    const auto address = reinterpret_cast<uint64_t>(&program_symbols_alias) - own_bias();
    ProgramSymbols symbols;
    const std::string path = own_path();
    const std::string at = symbols.symbol(known(path, address, own_build_id()), false);
    EXPECT_TRUE(at.starts_with("program_symbols_long_1234567_1234567")) << at;
    EXPECT_TRUE(at.ends_with("+0x0/0x1 [" + path + "]")) << at;
    EXPECT_EQ(at.size(), DJS_SYMBOL_MAX - 1);
    // A path that leaves no room for a name is not cut, because it tells where the code is.
    std::string far;
    for (unsigned i = 0; i < DJS_SYMBOL_MAX; i++)
        far += "/.";
    far += path;
    EXPECT_EQ(symbols.symbol(known(far, address, own_build_id()), false), "+0x0/0x1 [" + far + "]");
}

TEST(ProgramSymbols, OfTheKernelsLibrary) {
    void* library = dlopen("linux-vdso.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (!library)
        GTEST_SKIP() << "the kernel provides no library";
    Dl_info info;
    void* function = dlsym(library, "__vdso_clock_gettime");
    ASSERT_TRUE(function && dladdr(function, &info));
    const auto* base = static_cast<const char*>(info.dli_fbase);
    const auto address = static_cast<uint64_t>(static_cast<const char*>(function) - base);
    std::string id;
    Elf64_Ehdr header;
    std::memcpy(&header, base, sizeof header);
    for (unsigned i = 0; i < header.e_phnum; i++) {
        Elf64_Phdr segment;
        std::memcpy(&segment, base + header.e_phoff + i * sizeof segment, sizeof segment);
        if (segment.p_type != PT_NOTE)
            continue;
        const auto symbols = ElfSymbols::read(
            [base](uint64_t offset, void* to, size_t size) {
                std::memcpy(to, base + offset, size);
                return true;
            },
            header.e_shoff + header.e_shnum * header.e_shentsize);
        ASSERT_TRUE(symbols);
        id = symbols->build_id();
    }
    const std::string text = ProgramSymbols().symbol(known("vdso", address, id), false);
    EXPECT_NE(text.find("clock_gettime+0x0/0x"), std::string::npos) << text;
    EXPECT_TRUE(text.ends_with(" [vdso]")) << text;
}

} // namespace

namespace {

// Compiles a program whose build-id is its name, and returns what a module knows of its begin.
std::string known_of_program(const std::string& folder, const std::string& name) {
    const std::string source = folder + "/" + name + ".c";
    std::ofstream(source) << "void _start(void) {}\n";
    const std::string command = "gcc -g -nostdlib -static -Wl,-Ttext=0x401000 -Wl,--build-id=0x" +
                                name + " -o " + folder + "/" + name + " " + source;
    EXPECT_EQ(std::system(command.c_str()), 0);
    return "0x401000 [" + folder + "/" + name + "+0x401000]" + std::string(1, '\0') + name;
}

} // namespace

TEST(ProgramSymbols, LinesOfManyFilesAreNotKeptTogether) {
    auto made = TemporaryFolder::create(temporary_directory());
    ASSERT_TRUE(made);
    const std::string first = known_of_program(made->path(), "aaaaaaaa"),
                      second = known_of_program(made->path(), "bbbbbbbb");
    ProgramSymbols all, few(1);
    for (const std::string& each : {first, second, first}) {
        EXPECT_TRUE(all.place(each, false));
        const auto place = few.place(each, false);
        ASSERT_TRUE(place);
        EXPECT_EQ(place->line, 1U);
    }
    EXPECT_GT(few.bytes_of_lines(), 0U);
    EXPECT_EQ(all.bytes_of_lines(), 2 * few.bytes_of_lines());
}

// What is not kept is read again, if the file is still there.
TEST(ProgramSymbols, SymbolsOfManyFilesAreNotKeptTogether) {
    auto made = TemporaryFolder::create(temporary_directory());
    ASSERT_TRUE(made);
    const std::string first = known_of_program(made->path(), "aaaaaaaa"),
                      second = known_of_program(made->path(), "bbbbbbbb");
    ProgramSymbols all, few(1);
    for (const std::string& each : {first, second, first})
        for (ProgramSymbols* symbols : {&all, &few})
            EXPECT_TRUE(symbols->symbol(each, false).starts_with("_start+0x0/0x")) << each;
    EXPECT_TRUE(few.symbol(second, false).starts_with("_start+0x0/0x"));
    std::filesystem::remove(made->path() + "/aaaaaaaa");
    EXPECT_TRUE(all.symbol(first, false).starts_with("_start+0x0/0x"));
    EXPECT_EQ(few.symbol(first, false), "");
}
