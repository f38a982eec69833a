// SPDX-License-Identifier: GPL-2.0-or-later
// Programs and libraries of user space: where they are, what they load, and their debug files.
#include "arch/arch.h"
#include "image/debug_file.h"
#include "image/libraries.h"
#include "image/no_kernel.h"
#include "image/program.h"
#include "made.h"

#include <algorithm>
#include <fstream>
#include <sys/wait.h>
#include <unistd.h>

using namespace djstap;
using namespace djstap::test;

namespace {

std::string own_program() {
    return fs::canonical("/proc/self/exe");
}

const char* const small_program = "/usr/bin/env";

} // namespace

TEST(Programs, AreFoundByTheirPathsAndInterpreters) {
    const Folder folder;
    const Environment path("PATH", folder.path + "/bin:" + getenv("PATH"));
    fs::create_directory(folder.file("bin"));
    fs::copy_file(small_program, folder.file("bin/own"));
    fs::permissions(folder.file("bin/own"), fs::perms::owner_all);
    auto script = [&](const std::string& name, const std::string& first_line) {
        folder.write("bin/" + name, first_line);
        fs::permissions(folder.file("bin/" + name), fs::perms::owner_all);
        const auto found = find_program_file(folder.file("bin/" + name));
        return found ? *found : found.failure().message;
    };
    const std::string own = folder.file("bin/own");
    EXPECT_EQ(*find_program_file("own"), own);
    EXPECT_EQ(*find_program_file(own), own);
    EXPECT_EQ(*find_program_file(folder.path + "/bin/../bin/own"), own);
    EXPECT_EQ(script("a", "#!" + own + "\n"), own);
    EXPECT_EQ(script("b", "#! \t" + own + " -x\n"), own);
    EXPECT_EQ(script("c", "#!" + own), own);
    EXPECT_EQ(script("d", "#!/usr/bin/env own\n"), own);
    EXPECT_EQ(script("e", "#!/usr/bin/env own -x\n"), own);
    EXPECT_EQ(script("f", "#!/usr/bin/env \t own\r\n"), own);
    const std::string env = fs::canonical("/usr/bin/env");
    EXPECT_EQ(script("g", "#!/usr/bin/env\n"), env);
    EXPECT_EQ(script("h", "#!/usr/bin/env -S own\n"), env);
    EXPECT_EQ(script("i", "#!/usr/bin/env no-such-program\n"), env);
    EXPECT_EQ(script("j", "#!/usr/bin/env \n"), env);
    EXPECT_EQ(script("k", "#!" + folder.file("bin/a") + "\n"), own); // a script's is one
    EXPECT_EQ(script("o", "#!" + own + " sh\n"), own);               // an argument
    // Those are no scripts, but files.
    for (const char* text : {"#",
                             "#?"
                             "/bin/sh\n",
                             "x!/bin/sh\n", "#!\n", "#! \n", ""})
        EXPECT_EQ(script("l", text), folder.file("bin/l")) << text;
    EXPECT_EQ(script("m", "#!" + folder.file("bin/m") + "\n"),
              "'" + folder.file("bin/m") + "' is a script whose interpreters are scripts, too");
    EXPECT_EQ(script("n", "#!/none\n"), "there is no file '/none'");
    EXPECT_EQ(find_program_file("").failure().message, "the path of a program is empty");
    EXPECT_EQ(find_program_file("no-such-program").failure().message,
              "no folder of $PATH contains a program 'no-such-program'");
    EXPECT_FALSE(find_program_file(folder.path));
    EXPECT_EQ(*program_file_of_process(getpid()), own_program());
    EXPECT_FALSE(program_file_of_process(0x7ffffffe));
}

// Root may read every program: a child that gives that up asks for one of root's.
TEST(Programs, OfProcessesOfOthersCannotBeRead) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const pid_t parent = getpid(), child = fork();
    ASSERT_GE(child, 0);
    constexpr uid_t nobody = 65534;
    if (child == 0) {
        std::string said;
        if (geteuid() == 0 && setgid(nobody) == 0 && setuid(nobody) == 0) {
            const auto found = program_file_of_process(parent);
            said = found ? *found : found.failure().message;
        }
        const bool wrote = write(ends[1], said.data(), said.size()) >= 0;
        _exit(wrote ? 0 : 1);
    }
    close(ends[1]);
    char text[4096];
    const ssize_t size = read(ends[0], text, sizeof text);
    close(ends[0]);
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    ASSERT_GE(size, 0);
    if (size == 0)
        GTEST_SKIP() << "the user cannot become another one";
    EXPECT_EQ(std::string(text, static_cast<size_t>(size)),
              "the program of process " + std::to_string(parent) +
                  " cannot be read: Permission denied");
}

// As many as the kernel follows.
TEST(Programs, InterpretersOfInterpreters) {
    const Folder folder;
    std::string next = own_program();
    for (int i = 1; i <= 6; i++) {
        next = folder.write("s" + std::to_string(i), "#!" + next + "\n");
        const auto found = find_program_file(next);
        EXPECT_EQ(static_cast<bool>(found), i <= 4) << i;
        if (found) {
            EXPECT_EQ(*found, own_program());
        }
    }
}

TEST(Programs, FilesThatMatchAPattern) {
    const Folder folder;
    for (const char* name : {"a1", "a2", "b1"})
        fs::copy_file(small_program, folder.file(name));
    fs::create_symlink("a1", folder.file("a0"));
    fs::create_directory(folder.file("a3"));
    folder.write("a4", "text");
    std::string other = folder.bytes("a1");
    other[EI_CLASS] = ELFCLASS32;
    folder.write("a5", other);
    other[EI_CLASS] = ELFCLASS64;
    other[offsetof(Elf64_Ehdr, e_machine)]++;
    folder.write("a6", other);
    using Files = std::vector<std::string>;
    EXPECT_EQ(program_files_matching(folder.file("a*")),
              (Files{folder.file("a1"), folder.file("a2")}));
    EXPECT_EQ(program_files_matching(folder.file("{a,b}1")),
              (Files{folder.file("a1"), folder.file("b1")}));
    EXPECT_EQ(program_files_matching(folder.file("c*")), Files{});
    // The header tells.
    folder.write("h1", folder.bytes("a1").substr(0, sizeof(Elf64_Ehdr)));
    folder.write("h2", folder.bytes("a1").substr(0, sizeof(Elf64_Ehdr) - 1));
    EXPECT_EQ(program_files_matching(folder.file("h*")), Files{folder.file("h1")});
    EXPECT_TRUE(is_elf_file(folder.file("a1")));
    EXPECT_TRUE(is_elf_file(folder.file("a5")));
    EXPECT_FALSE(is_elf_file(folder.file("a4")));
    EXPECT_FALSE(is_elf_file(folder.file("none")));
    // Debian's folder of the machine is where libraries are.
    const std::string machine = std::string(arch::names().machine) + "-linux-gnu";
    EXPECT_EQ(in_folder_of_machine("/usr/lib/libx.so.1"), "/usr/lib/" + machine + "/libx.so.1");
    EXPECT_EQ(in_folder_of_machine("/lib64/libx.so"), "/lib/" + machine + "/libx.so");
    EXPECT_EQ(in_folder_of_machine("/usr/lib*/libx*.so*"), "/usr/lib*/" + machine + "/libx*.so*");
    for (const char* none : {"/usr/lib/x", "/usr/bin/libx.so", "libx.so", "/usr/lib.so/x"})
        EXPECT_EQ(in_folder_of_machine(none), "") << none;
    fs::create_directories(folder.file("lib/" + machine));
    fs::copy_file(small_program, folder.file("lib/" + machine + "/libx.so.1"));
    EXPECT_EQ(program_files_matching(folder.file("lib/libx.so*")),
              Files{folder.file("lib/" + machine + "/libx.so.1")});
    EXPECT_EQ(*find_program_file(folder.file("lib/libx.so.1")),
              folder.file("lib/" + machine + "/libx.so.1"));
}

TEST(Programs, SegmentsAreThoseThatAreLoaded) {
    const Folder folder;
    folder.write("p.c", "int data[300] = {1}, zeroed[5000]; int f(void) { return data[0]; }\n"
                        "int main(void) { return f() + zeroed[3]; }\n");
    folder.shell("gcc -o p p.c -Wl,--build-id=0x1234567890abcdef && readelf -lW p > lines && "
                 "gcc -c -o p.o p.c");
    auto program = open_program(no_kernel(), folder.file("p"));
    ASSERT_TRUE(program) << program.failure().message;
    const Image& image = **program;
    EXPECT_EQ(image.build_id(), "1234567890abcdef");
    EXPECT_EQ(image.kind(), ImageKind::Program);
    EXPECT_EQ(image.address_space(), AddressSpace::User);
    EXPECT_EQ(image.title(), "'" + folder.file("p") + "'");
    // What readelf prints: LOAD offset address physical size memory flags.
    std::ifstream lines(folder.file("lines"));
    size_t number = 0;
    for (std::string line; std::getline(lines, line);) {
        unsigned long long offset = 0, address = 0, memory = 0;
        char flags[4] = {};
        if (sscanf(line.c_str(), " LOAD %llx %llx %*x %*x %llx %3c", &offset, &address, &memory,
                   flags) != 4)
            continue;
        ASSERT_LT(number, image.segments().size());
        const Segment& segment = image.segments()[number++];
        EXPECT_EQ(segment.begin, address);
        EXPECT_EQ(segment.end, address + memory);
        EXPECT_EQ(segment.file_distance, address - offset);
        EXPECT_EQ(segment.executable, flags[2] == 'E');
        EXPECT_EQ(image.in_text(address), flags[2] == 'E');
        EXPECT_EQ(image.in_text(address + memory - 1), flags[2] == 'E');
    }
    EXPECT_GT(number, 2U);
    EXPECT_EQ(number, image.segments().size());
    EXPECT_TRUE(image.in_text(image.symbol("f")->address));
    EXPECT_FALSE(image.in_text(image.symbol("data")->address));
    EXPECT_EQ(open_program(no_kernel(), folder.file("p.o")).failure().message,
              "'" + folder.file("p.o") + "' is neither a program nor a library");
    EXPECT_FALSE(open_program(no_kernel(), folder.file("p.c")));
    EXPECT_FALSE(open_program(no_kernel(), folder.file("none")));
}

// What strip removes is still known by a file of debug information beside the program.
TEST(Programs, SymbolsMayBeInADebugFile) {
    const Folder folder;
    folder.write("p.c", "static int __attribute__((noinline)) hidden(int a) { return a + 1; }\n"
                        "int main(int n, char **v) { (void)v; return hidden(n); }\n");
    folder.shell("gcc -g -O1 -o whole p.c -Wl,--build-id && "
                 "objcopy --only-keep-debug whole p.debug && strip -o p whole && "
                 "objcopy --add-gnu-debuglink=p.debug p");
    const auto hidden = [&](const std::string& name) -> std::optional<uint64_t> {
        const auto program = open_program(no_kernel(), folder.file(name));
        EXPECT_TRUE(program) << name;
        const auto symbol = program ? (*program)->symbol("hidden") : std::nullopt;
        return symbol ? std::optional(symbol->address) : std::nullopt;
    };
    const auto address = hidden("whole");
    EXPECT_TRUE(address);
    EXPECT_EQ(hidden("p"), address);
    fs::remove(folder.file("p.debug"));
    EXPECT_EQ(hidden("p"), std::nullopt);
}

// A segment without memory has no place, and one that ends behind all addresses is damage.
TEST(Programs, SegmentsWithoutMemoryAreNone) {
    const Folder folder;
    folder.write("p.s", ".globl f\nf: ret\n.data\n.quad 1\n");
    folder.shell("as -o p.o p.s && ld -e f -o p p.o");
    const std::string whole = folder.bytes("p");
    auto count = [&](uint64_t memory) {
        std::string bytes = whole;
        Elf64_Ehdr header;
        std::memcpy(&header, bytes.data(), sizeof header);
        size_t before = 0;
        for (size_t i = 0; i < header.e_phnum; i++) {
            Elf64_Phdr segment;
            char* const at = bytes.data() + header.e_phoff + i * sizeof segment;
            std::memcpy(&segment, at, sizeof segment);
            before += segment.p_type == PT_LOAD;
            if (segment.p_type == PT_LOAD && !(segment.p_flags & PF_X))
                segment.p_memsz = memory;
            std::memcpy(at, &segment, sizeof segment);
        }
        const auto program = open_program(no_kernel(), folder.write("changed", bytes));
        EXPECT_TRUE(program);
        return before - (*program)->segments().size();
    };
    EXPECT_EQ(count(1), 0U);
    EXPECT_EQ(count(0), count(UINT64_MAX));
    EXPECT_GT(count(0), 0U);
}

TEST(Libraries, AreFoundAsTheLoaderFindsThem) {
    const Folder folder;
    fs::create_directories(folder.file("deep/lib"));
    folder.write("a.c", "int a(void) { return 1; }\n");
    folder.write("b.c", "int a(void); int b(void) { return a(); }\n");
    folder.write("p.c",
                 "#include <stdio.h>\nint b(void); int main(void) { puts(\"\"); return b(); }\n");
    folder.shell("gcc -shared -fPIC -o deep/liba.so a.c && "
                 "gcc -shared -fPIC -o deep/lib/libb.so b.c -Ldeep -la '-Wl,-rpath,$ORIGIN/..' && "
                 "gcc -no-pie -o p p.c -Ldeep/lib -lb "
                 "'-Wl,-rpath,/none:${ORIGIN}/deep/lib:relative' -Wl,-rpath-link,deep -Wl,-z,now");
    auto program = open_program(no_kernel(), folder.file("p"));
    ASSERT_TRUE(program);
    const auto found = libraries_of(**program);
    ASSERT_EQ(found.size(), 4U);
    EXPECT_TRUE(std::string(fs::path(found[0]).filename()).starts_with("ld-linux")) << found[0];
    EXPECT_EQ(found[1], folder.file("deep/lib/libb.so"));
    EXPECT_TRUE(std::string(fs::path(found[2]).filename()).starts_with("libc.so")) << found[2];
    EXPECT_EQ(found[3], folder.file("deep/liba.so"));
    // What is not found is left out.
    fs::remove(folder.file("deep/liba.so"));
    EXPECT_EQ(libraries_of(**program).size(), 3U);
    // Nor is a library that is none.
    folder.write("deep/lib/libb.so", "text");
    EXPECT_EQ(libraries_of(**program).size(), 2U);
    // A static program needs nothing.
    folder.write("s.s", ".globl f\nf: ret\n");
    folder.shell("as -o s.o s.s && ld -e f -o s s.o");
    EXPECT_TRUE(libraries_of(**open_program(no_kernel(), folder.file("s"))).empty());
    EXPECT_TRUE(libraries_of(no_kernel()).empty());
    EXPECT_TRUE(linkage_stubs(no_kernel()).empty());
}

// Those that objdump names.
TEST(Libraries, StubsLeadToFunctionsOfOthers) {
    const Folder folder;
    folder.write(
        "p.c",
        "#include <stdlib.h>\n#include <stdio.h>\nint main(int n, char **v)\n"
        "{ puts(v[0]); abs(n); srand(n); return n > 5 ? (int)(long)malloc(n) + rand() : 0; }\n");
    for (const char* options : {"-no-pie", "-pie", "-pie -fcf-protection=full -Wl,-z,now",
                                "-no-pie -fcf-protection=none -Wl,-z,lazy"}) {
        folder.shell(std::string("gcc -O1 -fno-builtin -o p p.c ") + options +
                     " && objdump -d p | sed -n 's/^0*\\([0-9a-f]*\\) "
                     "<\\(.*\\)@plt>:$/\\2 \\1/p' | LC_ALL=C sort > stubs");
        std::string expected, shown;
        std::ifstream lines(folder.file("stubs"));
        for (std::string line; std::getline(lines, line);)
            expected += line + "\n";
        auto program = open_program(no_kernel(), folder.file("p"));
        ASSERT_TRUE(program);
        for (const LinkageStub& each : linkage_stubs(**program)) {
            char address[32];
            snprintf(address, sizeof address, "%llx",
                     static_cast<unsigned long long>(each.address));
            shown += each.name + " " + address + "\n";
        }
        EXPECT_EQ(shown, expected) << options;
        EXPECT_NE(expected.find("malloc "), std::string::npos);
    }
}

TEST(DebugFiles, PathsOfABuildId) {
    using Paths = std::vector<std::string>;
    EXPECT_EQ(build_id_paths({"", "/root"}, "abcdef"),
              (Paths{"/usr/lib/debug/.build-id/ab/cdef.debug",
                     "/root/usr/lib/debug/.build-id/ab/cdef.debug"}));
    EXPECT_EQ(build_id_paths({""}, "abcde"), Paths{}); // too short to be one
    EXPECT_EQ(build_id_paths({""}, ""), Paths{});
    EXPECT_EQ(build_id_paths({}, "abcdef"), Paths{});
}
