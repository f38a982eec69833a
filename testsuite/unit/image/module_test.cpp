// SPDX-License-Identifier: GPL-2.0-or-later
// Addresses of modules, which are relocatable files.
#include "image/module_file.h"
#include "image/no_kernel.h"
#include "made.h"

#include <algorithm>

using namespace djstap;
using namespace djstap::test;

namespace {

// Sections of each kind, in an order that is not that of their addresses.
const char* const source = R"(
    .section .init.data, "aw"
    .quad 1
    .section .data, "aw"
    .globl variable
    .type variable, @object
variable: .quad f, other
    .size variable, 16
    .type second_variable, @object
second_variable: .quad 7
    .size second_variable, 8
    .section .init.text, "ax"
    .type start, @function
start: ret
    .size start, .-start
    .text
    .balign 64
    .globl f
    .type f, @function
f:  call other
    ret
    .size f, .-f
    .type twin, @function
twin: ret
    .size twin, .-twin
    .section .exit.text, "ax"
    .type stop, @function
stop: ret
    .size stop, .-stop
    .section .bss, "aw", @nobits
    .type zeroed, @object
zeroed: .skip 100
    .size zeroed, 100
    .section .comment2, ""
    .quad f
    .section __mcount_loc, "a"
    .quad f, f + 1
    .section .data..percpu, "aw"
    .type percpu, @object
percpu: .quad 0
    .size percpu, 8
    .section .debug_info, ""
    .quad f
    .long f
    .section .gnu.linkonce.this_module, "aw"
    .skip 64
)";

struct Made {
    explicit Made(const std::string& text) {
        folder.write("m.s", text);
        folder.shell("as -o m.ko m.s");
        bytes = folder.bytes("m.ko");
    }
    Folder folder;
    std::string bytes;
};

std::unique_ptr<ElfFile> linked(const std::string& bytes, const ElfFile* like = nullptr) {
    auto image = link_module_image(bytes, "m.ko", like);
    EXPECT_TRUE(image) << (image ? "" : image.failure().message);
    if (!image)
        return nullptr;
    auto file = ElfFile::hold(std::move(*image), "m.ko");
    EXPECT_TRUE(file);
    return file ? std::move(*file) : nullptr;
}

uint64_t address_of(const ElfFile& file, std::string_view name) {
    for (const Elf64_Sym& symbol : file.symbols())
        if (file.symbol_name(symbol) == name)
            return symbol.st_value;
    ADD_FAILURE() << "no symbol " << name;
    return 0;
}

template <class T> T word(const ElfFile& file, std::string_view section, size_t at) {
    T value{};
    const ElfSection* const found = file.section(section);
    EXPECT_TRUE(found && at + sizeof value <= found->bytes.size());
    std::memcpy(&value, found->bytes.data() + at, sizeof value);
    return value;
}

} // namespace

// Code that stays comes first, what is there during initialization only comes last.
TEST(LinkedModule, OrderOfSections) {
    const Made made(source);
    const auto file = linked(made.bytes);
    ASSERT_TRUE(file);
    std::vector<const ElfSection*> placed;
    for (const ElfSection& each : file->sections()) {
        if (!(each.flags & SHF_ALLOC) || each.size == 0) {
            EXPECT_EQ(each.address, 0U) << each.name;
            continue;
        }
        EXPECT_EQ(each.address % 16, 0U) << each.name;
        EXPECT_GE(each.address, 0xffffffff80000000U) << each.name;
        placed.push_back(&each);
    }
    EXPECT_EQ(file->section(".text")->address % 64, 0U);
    std::sort(placed.begin(), placed.end(),
              [](const auto* a, const auto* b) { return a->address < b->address; });
    int last = 0;
    uint64_t end = 0;
    for (const ElfSection* each : placed) {
        const int kind = each->name.starts_with(".init") ? 2 : each->flags & SHF_EXECINSTR ? 0 : 1;
        EXPECT_GE(kind, last) << each->name;
        EXPECT_GE(each->address, end) << each->name << " overlaps";
        last = kind;
        end = each->address + each->size;
    }
    EXPECT_EQ(placed.size(), 9U);
    EXPECT_EQ(last, 2);
}

TEST(LinkedModule, SymbolsAndRelocations) {
    const Made made(source);
    const auto file = linked(made.bytes);
    ASSERT_TRUE(file);
    const uint64_t f = address_of(*file, "f");
    EXPECT_EQ(f, file->section(".text")->address);
    EXPECT_EQ(address_of(*file, "twin"), f + 6);
    EXPECT_EQ(address_of(*file, "second_variable"), file->section(".data")->address + 16);
    EXPECT_EQ(address_of(*file, "other"), 0U);
    EXPECT_EQ(file->type(), ET_EXEC);
    EXPECT_EQ(word<uint64_t>(*file, "__mcount_loc", 0), f);
    EXPECT_EQ(word<uint64_t>(*file, "__mcount_loc", 8), f + 1);
    EXPECT_EQ(word<uint64_t>(*file, ".data", 0), f);
    EXPECT_EQ(word<uint64_t>(*file, ".debug_info", 0), f);
    EXPECT_EQ(word<uint32_t>(*file, ".debug_info", 8), static_cast<uint32_t>(f));
    EXPECT_EQ(word<uint64_t>(*file, ".comment2", 0), 0U); // nobody reads it
    // The code keeps its relocations.
    EXPECT_EQ(file->section(".text")->bytes.substr(0, 5), std::string("\xe8\0\0\0\0", 5));
    EXPECT_TRUE(file->section(module_structure));
}

// All of it, also what its kernel has.
TEST(LinkedModule, Code) {
    const Made made(source);
    const auto raw = ElfFile::hold(made.bytes, "m.ko");
    ASSERT_TRUE(raw);
    EXPECT_TRUE(is_module(**raw));
    auto bytes = link_module_code(made.bytes, "m.ko");
    ASSERT_TRUE(bytes);
    auto file = ElfFile::hold(*bytes, "m.ko");
    ASSERT_TRUE(file);
    EXPECT_FALSE(is_module(**file));
    const uint64_t f = address_of(**file, "f"), other = address_of(**file, "other");
    for (const ElfSection& each : (*file)->sections())
        EXPECT_GE(other, each.address + (each.flags & SHF_ALLOC ? each.size : 0)) << each.name;
    EXPECT_EQ(f + 5 + static_cast<uint64_t>(int64_t{word<int32_t>(**file, ".text", 1)}), other);
    EXPECT_EQ(word<uint64_t>(**file, ".data", 8), other);
    EXPECT_EQ(word<uint64_t>(**file, ".comment2", 0), f);
    // Where relocations are is an address, too.
    const ElfSection& table = *(*file)->section(".rela.text");
    Elf64_Rela relocation;
    std::memcpy(&relocation, table.bytes.data(), sizeof relocation);
    EXPECT_EQ(relocation.r_offset, f + 1);
}

TEST(LinkedModule, Segments) {
    const Made made(source);
    const auto file = linked(made.bytes);
    ASSERT_TRUE(file);
    std::string shown;
    for (const Segment& each : module_segments(*file)) {
        shown += each.symbol + "-" + each.check_symbol + (each.executable ? " code, " : " data, ");
        EXPECT_EQ(each.address, address_of(*file, each.symbol));
        EXPECT_EQ(each.check_address, address_of(*file, each.check_symbol));
        EXPECT_TRUE(each.contains(each.begin) && !each.contains(each.end));
    }
    EXPECT_EQ(shown, "f-twin code, variable-second_variable data, zeroed-zeroed data, "
                     "stop-stop code, ");
}

TEST(LinkedModule, IsAnImageByItsCopyInTheCache) {
    const Made made(source);
    const Environment cache("DJSTAP_CACHE", made.folder.file("cache"));
    const std::string path = made.folder.file("m.ko");
    const auto module = open_module(no_kernel(), path);
    ASSERT_TRUE(module) << module.failure().message;
    const Image& image = **module;
    EXPECT_EQ(image.kind(), ImageKind::Module);
    EXPECT_EQ(image.name(), "m");
    EXPECT_EQ(image.title(), "module 'm' of the kernel");
    EXPECT_EQ(image.address_space(), AddressSpace::Kernel);
    EXPECT_EQ(&image.kernel(), &no_kernel());
    EXPECT_EQ(image.file(), path);
    EXPECT_EQ(image.build_id(), "") << "an assembler writes none";
    EXPECT_TRUE(image.knows_fentry_sites());
    const uint64_t f = address_of(*linked(made.bytes), "f");
    EXPECT_EQ(image.symbol("f")->address, f);
    EXPECT_EQ(image.fentry_site(f), f);
    EXPECT_EQ(image.segments().size(), 4U); // as above
    // What headers were compiled to is called as they are.
    const auto headers = open_headers(no_kernel(), path, "<x.h>", AddressSpace::User);
    ASSERT_TRUE(headers);
    EXPECT_EQ((*headers)->name(), "<x.h>");
    EXPECT_EQ((*headers)->title(), "<x.h>");
    EXPECT_EQ((*headers)->address_space(), AddressSpace::User);
    // A copy may be damaged, and a module may be missing.
    std::vector<std::string> copies;
    for (const auto& each : fs::recursive_directory_iterator(made.folder.file("cache")))
        if (each.path().extension() == ".ko")
            copies.push_back(each.path());
    ASSERT_EQ(copies.size(), 1U);
    ASSERT_TRUE(write_file(copies[0], "text"));
    const auto damaged = open_module(no_kernel(), path);
    ASSERT_FALSE(damaged);
    EXPECT_NE(damaged.failure().message.find(".ko: is not a 64-bit "), std::string::npos)
        << damaged.failure().message;
    EXPECT_FALSE(open_module(no_kernel(), made.folder.file("none.ko")));
}

TEST(LinkedModule, SeparateDebugInformationHasTheSameAddresses) {
    // Two sections of the same name, in their order; what only the debug information has.
    const std::string text = std::string(source) +
                             ".section .text.more, \"ax\", @progbits, unique, 1\n"
                             "one: nop\nret\n"
                             ".section .text.more, \"ax\", @progbits, unique, 2\n"
                             "two: nop\nnop\nret\n";
    const Made made(text);
    const auto module = linked(made.bytes);
    made.folder.shell("objcopy --only-keep-debug m.ko m.debug");
    const auto debug = linked(made.folder.bytes("m.debug"), module.get());
    ASSERT_TRUE(module && debug);
    for (const char* name : {"f", "stop", "variable", "start", "zeroed", "one", "two"})
        EXPECT_EQ(address_of(*debug, name), address_of(*module, name)) << name;
    EXPECT_NE(address_of(*debug, "one"), address_of(*debug, "two"));
    EXPECT_EQ(word<uint64_t>(*debug, ".debug_info", 0), address_of(*module, "f"));
    // Of another build.
    for (const auto& [before, after] :
         {std::pair("two: nop\nnop\n", "two: nop\n"), {"f:  call", "f:  nop\ncall"}}) {
        std::string changed = text;
        changed.replace(changed.find(before), std::string_view(before).size(), after);
        const Made other(changed);
        const auto refused = link_module_image(other.bytes, "m.debug", module.get());
        ASSERT_FALSE(refused) << before;
        EXPECT_EQ(refused.failure().message,
                  "m.debug: is not the debug information of this module, or is damaged");
    }
    const Made more(text + ".section .text.other, \"ax\"\nret\n");
    EXPECT_FALSE(link_module_image(more.bytes, "m.debug", module.get()));
    const Made data(text + ".section .data.other, \"aw\"\n.quad 0\n");
    EXPECT_TRUE(link_module_image(data.bytes, "m.debug", module.get()));
}

TEST(LinkedModule, DamagedFiles) {
    const Made made(source);
    auto is_linked = [&](const auto& change) {
        std::string bytes = made.bytes;
        Elf64_Ehdr header;
        std::memcpy(&header, bytes.data(), sizeof header);
        Sections sections(bytes);
        change(header, sections);
        sections.store();
        std::memcpy(bytes.data(), &header, sizeof header);
        return static_cast<bool>(link_module_image(bytes, "m.ko")) &&
               static_cast<bool>(link_module_code(bytes, "m.ko"));
    };
    EXPECT_TRUE(is_linked([](auto&, auto&) {}));
    EXPECT_FALSE(is_linked([](auto& header, auto&) { header.e_ident[0]++; }));
    EXPECT_FALSE(is_linked([](auto& header, auto&) { header.e_ident[EI_CLASS] = ELFCLASS32; }));
    EXPECT_FALSE(is_linked([](auto& header, auto&) { header.e_machine++; }));
    EXPECT_FALSE(is_linked([](auto& header, auto&) { header.e_type = ET_DYN; }));
    EXPECT_FALSE(is_linked([](auto& header, auto&) { header.e_shentsize++; }));
    EXPECT_FALSE(is_linked([](auto& header, auto&) { header.e_shoff = 1 << 20; }));
    EXPECT_FALSE(is_linked([](auto& header, auto&) { header.e_shnum++; }));
    EXPECT_FALSE(is_linked([](auto& header, auto&) { header.e_shstrndx = header.e_shnum; }));
    const std::string table = ".rela__mcount_loc";
    EXPECT_FALSE(is_linked([&](auto& header, auto& all) { all[table].sh_link = header.e_shnum; }));
    EXPECT_FALSE(is_linked([&](auto&, auto& all) { all[table].sh_offset = 1 << 20; }));
    EXPECT_FALSE(is_linked([&](auto&, auto& all) { all[table].sh_size += 1 << 20; }));
    EXPECT_FALSE(is_linked([&](auto&, auto& all) { all["__mcount_loc"].sh_size = 8; }));
    EXPECT_FALSE(is_linked([&](auto&, auto& all) { all[".symtab"].sh_offset = 1 << 20; }));
    EXPECT_TRUE(is_linked([&](auto& header, auto& all) { all[table].sh_info = header.e_shnum; }));
    EXPECT_TRUE(is_linked([&](auto&, auto& all) { all["__mcount_loc"].sh_type = SHT_NOBITS; }));
    EXPECT_FALSE(link_module_image("", "m.ko"));
    EXPECT_FALSE(link_module_image("text", "m.ko"));
}
