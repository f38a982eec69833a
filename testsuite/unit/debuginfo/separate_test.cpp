// SPDX-License-Identifier: GPL-2.0-or-later
// Debug information in files of its own: where it is found, and what is refused.
#include "separate.h"

#include "debuginfo/index.h"
#include "image/debug_file.h"
#include "image/decompress.h"

#include <cstddef>
#include <cstring>
#include <elf.h>
#include <zlib.h>

namespace djstap {
namespace {

TEST_F(SeparateDebugInfo, KernelByLink) {
    split_kernel("vmlinux.dbg");
    expect_kernel_from("vmlinux.dbg");
    shell("mkdir .debug && mv vmlinux.dbg .debug/");
    expect_kernel_from(".debug/vmlinux.dbg");
    shell("mkdir -p usr/lib/debug && mv .debug/vmlinux.dbg usr/lib/debug/");
    expect_kernel_from("usr/lib/debug/vmlinux.dbg");
    // libdw reads them where they are: the cache has no copies, which would be as large.
    shell("test -d cache && ! find cache -type d -name debug | grep .");
}

TEST_F(SeparateDebugInfo, KernelByNameAndBuildId) {
    split_kernel("separate");
    shell("mkdir -p usr/lib/debug/boot && mv separate usr/lib/debug/boot/vmlinux-$R.debug");
    expect_kernel_from("usr/lib/debug/boot/vmlinux-6.1.0-made.debug");
    shell("xz usr/lib/debug/boot/vmlinux-$R.debug");
    expect_kernel_from("usr/lib/debug/boot/vmlinux-6.1.0-made.debug.xz");
    const std::string path = build_id_paths({""}, made_.image->build_id())[0].substr(1);
    shell("mkdir -p $(dirname " + path + ") && xz -dc usr/lib/debug/boot/* > " + path +
          " && rm usr/lib/debug/boot/*");
    expect_kernel_from(path);
}

TEST_F(SeparateDebugInfo, KernelWithoutSymbols) {
    const auto before = made_.image->symbol("measure")->address;
    split_kernel("vmlinux.dbg");
    shell("strip vmlinux && rm -rf cache");
    EXPECT_EQ(open_kernel().kernel->symbol("measure")->address, before);
    expect_kernel_from("vmlinux.dbg");
    shell("rm -rf cache vmlinux.dbg");
    auto kernel = Kernel::open(made_.image->files());
    ASSERT_FALSE(kernel);
    EXPECT_EQ(kernel.failure().message, at("vmlinux") + ": has no symbol table");
}

// Functions number their files in a table that is in a section of its own.
TEST_F(SeparateDebugInfo, KernelWithoutTableOfFiles) {
    shell("objcopy --remove-section=.debug_line vmlinux");
    const Opened opened = open_kernel();
    ASSERT_TRUE(opened.info) << opened.failure;
    const auto found = find_functions(*opened.info, "measure");
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].file, "");
    EXPECT_EQ(found[0].line, 2U);
    EXPECT_EQ(shown_parameters(found[0].parameters), "box=rdi times=rsi");
}

// It may be removed after it was found.
TEST_F(SeparateDebugInfo, IndexOfAFileThatIsGone) {
    const auto index = DwarfIndex::open(*made_.image, at("gone.dbg"), nullptr);
    ASSERT_FALSE(index);
    EXPECT_NE(index.failure().message.find(at("gone.dbg") + ": cannot open: No such file"),
              std::string::npos)
        << index.failure().message;
}

TEST_F(SeparateDebugInfo, CompressedSections) {
    for (const char* way : {"zlib", "zstd"}) {
        shell("rm -rf cache && cp vmlinux whole && objcopy --compress-debug-sections=" +
              std::string(way) +
              " vmlinux && "
              "readelf -SW vmlinux | grep 'debug_info.* C '");
        expect_kernel_from("vmlinux");
        shell("mv whole vmlinux");
        make_module("m.ko", module_text);
        shell("objcopy --compress-debug-sections=" + std::string(way) +
              " m.ko && readelf -SW m.ko | grep 'debug_info.* C '");
        expect_module_from("m.ko", "m.ko");
        split_module("m.ko", "m.ko.debug", "--compress-debug-sections=" + std::string(way));
        expect_module_from("m.ko.debug", "m.ko");
    }
}

TEST_F(SeparateDebugInfo, DamagedSections) {
    shell("objcopy --compress-debug-sections=zlib vmlinux");
    auto bytes = read_file(at("vmlinux"));
    ASSERT_TRUE(bytes);
    const auto elf = ElfFile::hold(*bytes, "vmlinux");
    ASSERT_TRUE(elf && has_compressed_sections(**elf));
    const ElfSection* section = (*elf)->section(".debug_info");
    auto with = [&](size_t offset, char value) {
        std::string changed = *bytes;
        const auto found = changed.find(section->bytes);
        changed[found + offset] = value;
        auto result = decompress_sections(changed, "vmlinux");
        return result ? "" : result.failure().message;
    };
    const std::string number = std::to_string(section - (*elf)->sections().data());
    const std::string where = "vmlinux: section " + number;
    EXPECT_EQ(with(0, ELFCOMPRESS_ZLIB), "");
    EXPECT_EQ(with(0, 9), where + " is compressed in an unknown way (type 9)");
    EXPECT_EQ(with(offsetof(Elf64_Chdr, ch_size) + 6, 1), where + " is damaged");
    EXPECT_EQ(with(offsetof(Elf64_Chdr, ch_size), static_cast<char>(section->bytes[8] + 1)),
              where + " is damaged");
    EXPECT_EQ(
        with(sizeof(Elf64_Chdr) + 4, static_cast<char>(~section->bytes[sizeof(Elf64_Chdr) + 4])),
        where + " is damaged");
    EXPECT_TRUE(decompress_sections("", "nothing"));
    EXPECT_TRUE(decompress_sections(bytes->substr(0, bytes->size() / 2), "half"));
}

// Few bytes may stand for very many: 300 sections that are the same megabyte of zeros.
TEST_F(SeparateDebugInfo, SectionsThatShareBytes) {
    constexpr size_t sections = 300, megabyte = 1 << 20;
    const std::string zeros(megabyte, '\0');
    std::string packed(compressBound(zeros.size()), '\0');
    uLongf packed_size = packed.size();
    ASSERT_EQ(compress(reinterpret_cast<Bytef*>(packed.data()), &packed_size,
                       reinterpret_cast<const Bytef*>(zeros.data()), zeros.size()),
              Z_OK);
    packed.resize(packed_size);
    Elf64_Chdr chunk{};
    chunk.ch_type = ELFCOMPRESS_ZLIB;
    chunk.ch_size = zeros.size();
    packed.insert(0, reinterpret_cast<const char*>(&chunk), sizeof chunk);
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = sections;
    header.e_shoff = sizeof header + packed.size();
    Elf64_Shdr section{};
    section.sh_type = SHT_PROGBITS;
    section.sh_flags = SHF_COMPRESSED;
    section.sh_offset = sizeof header;
    section.sh_size = packed.size();
    std::string file(reinterpret_cast<const char*>(&header), sizeof header);
    file += packed;
    for (size_t i = 0; i < sections; i++)
        file.append(reinterpret_cast<const char*>(&section), sizeof section);
    auto result = decompress_sections(std::move(file), "vmlinux");
    ASSERT_FALSE(result);
    EXPECT_EQ(result.failure().message,
              "vmlinux has sections that are too large when they are decompressed");
}

TEST_F(SeparateDebugInfo, ModuleByLink) {
    make_module("lib/modules/6.1.0-made/kernel/fs/m.ko", module_text);
    expect_module_from("lib/modules/6.1.0-made/kernel/fs/m.ko",
                       "lib/modules/6.1.0-made/kernel/fs/m.ko");
    shell("cp lib/modules/$R/kernel/fs/m.ko . ");
    split_module("m.ko", "m.ko.debug");
    expect_module_from("m.ko.debug", "m.ko");
    shell("mkdir .debug && mv m.ko.debug .debug/");
    expect_module_from(".debug/m.ko.debug", "m.ko");
    // Without debug information of its own, a module of the same path has none.
    shell("rm .debug/m.ko.debug");
    EXPECT_EQ(open("m.ko").failure,
              "no debug information was found for module 'm' of kernel 6.1.0-made");
}

// Empty sections are not placed: they do not count among those of one name.
TEST_F(SeparateDebugInfo, ModuleWithAnEmptySectionOfTheSameName) {
    make_module("m.ko", module_text + R"c(__asm__(".section .before,\"aw\"\n.previous");
int marked __attribute__((section(".behind"))) = 7;
)c");
    shell("objcopy --rename-section .before=.behind m.ko && "
          "test $(readelf -SW m.ko | grep -c ' [.]behind ') = 2");
    split_module("m.ko", "m.ko.debug");
    const Opened opened = open("m.ko");
    ASSERT_TRUE(opened.info) << opened.failure;
    expect_module(opened);
    const auto marked = opened->global("marked");
    ASSERT_TRUE(marked);
    EXPECT_EQ(marked->location.constant, opened.module->symbol("marked")->address);
}

TEST_F(SeparateDebugInfo, ModuleByNameInTheRoot) {
    const std::string path = "lib/modules/6.1.0-made/kernel/fs/m.ko";
    make_module(path, module_text);
    shell("mkdir -p usr/lib/debug/lib/modules/$R/kernel/fs && cp " + path + " usr/lib/debug/" +
          path + " && strip -g " + path);
    expect_module_from("usr/lib/debug/" + path, path);
    shell("xz " + path);
    expect_module_from("usr/lib/debug/" + path, path + ".xz");
    shell("xz -d " + path + ".xz; zstd -q --rm " + path);
    expect_module_from("usr/lib/debug/" + path, path + ".zst");
    shell("mv usr/lib/debug/" + path + " usr/lib/debug/" + path + ".debug");
    expect_module_from("usr/lib/debug/" + path + ".debug", path + ".zst");
    for (const auto& [program, suffix] :
         {std::pair("xz", ".xz"), std::pair("gzip", ".gz"), std::pair("zstd -q --rm", ".zst")}) {
        shell(std::string(program) + " -k usr/lib/debug/" + path + ".debug; mv usr/lib/debug/" +
              path + ".debug kept");
        expect_module_from("usr/lib/debug/" + path + ".debug" + suffix, path + ".zst");
        shell("rm usr/lib/debug/" + path + ".debug" + suffix + "; mv kept usr/lib/debug/" + path +
              ".debug");
    }
}

TEST_F(SeparateDebugInfo, ModuleByBuildId) {
    make_module("m.ko", module_text);
    split_module("m.ko", "m.debug");
    const auto elf = ElfFile::open(at("m.ko"));
    const std::string path = build_id_paths({""}, (*elf)->build_id().digits)[0].substr(1);
    shell("mkdir -p $(dirname " + path + ") && mv m.debug " + path);
    expect_module_from(path, "m.ko");
}

TEST_F(SeparateDebugInfo, OfAnotherBuild) {
    make_module("m.ko", module_text + "int more;\n");
    split_module("m.ko", "m.ko.debug");
    const std::string other = (*ElfFile::open(at("m.ko.debug")))->build_id().digits;
    make_module("m.ko", module_text);
    shell("objcopy --strip-debug --add-gnu-debuglink=m.ko.debug m.ko");
    const std::string own = (*ElfFile::open(at("m.ko")))->build_id().digits;
    ASSERT_NE(own, other);
    const std::string reason =
        at("m.ko.debug") +
        " is of another build of module 'm' of kernel 6.1.0-made: its build-id is " + other +
        ", not " + own;
    EXPECT_EQ(open("m.ko").failure,
              "the debug information of module 'm' of kernel 6.1.0-made cannot be used: " + reason);
    // One that fits is found behind it.
    const std::string path = build_id_paths({""}, own)[0].substr(1);
    make_module("whole.ko", module_text);
    shell("mkdir -p $(dirname " + path + ") && mv whole.ko " + path);
    const Opened opened = open("m.ko");
    ASSERT_TRUE(opened.info) << opened.failure;
    EXPECT_EQ(opened->origin(), at(path));
    EXPECT_EQ(opened->refused(), std::vector{reason});
    EXPECT_TRUE(told.empty());
    expect_module(opened);
}

TEST_F(SeparateDebugInfo, EachReasonIsTold) {
    make_module("m.ko", module_text + "int more;\n");
    split_module("m.ko", "m.ko.debug");
    shell("mkdir .debug && cp m.ko.debug .debug/");
    make_module("m.ko", module_text);
    shell("objcopy --strip-debug --add-gnu-debuglink=m.ko.debug m.ko");
    const std::string failure = open("m.ko").failure;
    EXPECT_TRUE(failure.starts_with("the debug information of module 'm' of kernel 6.1.0-made "
                                    "cannot be used: " +
                                    made_.folder()))
        << failure;
    const std::string other = " is of another build";
    const size_t between = failure.find("; " + made_.folder());
    ASSERT_NE(between, failure.npos) << failure;
    EXPECT_EQ(failure.find("; ", between + 2), failure.npos) << failure;
    for (const char* name : {"/m.ko.debug", "/.debug/m.ko.debug"})
        EXPECT_NE(failure.find(made_.folder() + name + other), failure.npos) << name << failure;
}

// Types and functions are then those of BTF, here of none.
TEST_F(SeparateDebugInfo, MayBeReplacedByBtf) {
    const std::string none = "no debug information was found for kernel 6.1.0-made";
    test::Environment without("DJSTAP_NO_DWARF");
    for (const char* used : {"", "0"}) {
        without.set(used);
        const Opened opened = open_kernel();
        ASSERT_TRUE(opened.info) << opened.failure;
        EXPECT_TRUE(opened->has_dwarf());
    }
    for (const char* unused : {"1", "00", "yes"}) {
        without.set(unused);
        EXPECT_EQ(open_kernel().failure, none) << unused;
    }
    constexpr char no_types[] = "\x9f\xeb\1\0\x18\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0";
    std::ofstream(at("btf"), std::ios::binary) << std::string(no_types, sizeof no_types);
    shell("objcopy --add-section .BTF=btf vmlinux");
    const Opened switched_off = open_kernel();
    ASSERT_TRUE(switched_off.info) << switched_off.failure;
    EXPECT_FALSE(switched_off->has_dwarf());
    EXPECT_TRUE(told.empty());
    // What cannot be used is told.
    without.set(std::nullopt);
    split_kernel("vmlinux.dbg");
    shell("echo nonsense > vmlinux.dbg");
    const Opened refused = open_kernel();
    ASSERT_TRUE(refused.info) << refused.failure;
    EXPECT_FALSE(refused->has_dwarf());
    const std::vector reasons{at("vmlinux.dbg") + ": is not a 64-bit x86-64 ELF file"};
    EXPECT_EQ(told, reasons);
    EXPECT_EQ(refused->refused(), reasons);
}

TEST_F(SeparateDebugInfo, WithoutBuildId) {
    make_module("m.ko", module_text, "--build-id=none");
    split_module("m.ko", "m.ko.debug");
    expect_module_from("m.ko.debug", "m.ko");
    shell("rm -rf cache && printf x >> m.ko.debug");
    EXPECT_EQ(open("m.ko").failure,
              "the debug information of module 'm' of kernel 6.1.0-made cannot be used: " +
                  at("m.ko.debug") +
                  " is of another build of module 'm' of kernel 6.1.0-made: its CRC is not that in "
                  ".gnu_debuglink of " +
                  at("m.ko"));
    const std::string by_name = "usr/lib/debug" + at("m.ko");
    shell("mkdir -p $(dirname " + by_name + ") && mv m.ko.debug " + by_name);
    EXPECT_EQ(open("m.ko").failure,
              "no debug information was found for module 'm' of kernel 6.1.0-made");
}

TEST_F(SeparateDebugInfo, OfOtherKinds) {
    make_module("m.ko", module_text);
    shell("cp m.ko whole.ko");
    split_module("m.ko", "m.ko.debug");
    shell("objcopy --strip-debug m.ko.debug");
    const std::string begin =
        "the debug information of module 'm' of kernel 6.1.0-made cannot be used: " +
        at("m.ko.debug");
    EXPECT_EQ(open("m.ko").failure, begin + " has no DWARF");
    shell("printf name > link && objcopy --add-section .gnu_debugaltlink=link whole.ko m.ko.debug");
    EXPECT_EQ(open("m.ko").failure,
              begin + " cannot be read: a part of it is in an alternate file (dwz -m)");
    shell("echo nonsense > m.ko.debug");
    EXPECT_EQ(open("m.ko").failure, begin + ": is not a 64-bit x86-64 ELF file");
    // Split DWARF: the units of .dwo files are not in the module.
    shell("gcc -g -gdwarf-5 -gsplit-dwarf -O2 -c m.c -o m.o -ffreestanding -mcmodel=kernel "
          "-fno-pie && ld -r --build-id -o m.ko m.o");
    EXPECT_EQ(open("m.ko").failure.substr(0, begin.size() - at("m.ko.debug").size()),
              begin.substr(0, begin.size() - at("m.ko.debug").size()));
    EXPECT_TRUE(open("m.ko").failure.ends_with(
        ": 1 of its 1 units have their debug information in .dwo files, which are not read"))
        << open("m.ko").failure;
}

} // namespace
} // namespace djstap
