// SPDX-License-Identifier: GPL-2.0-or-later
#include "module/elf.h"

#include "arch/arch.h"
#include "common.h"
#include "module/name.h"

#include <cstring>
#include <random>

using namespace djstap;
using namespace djstap::module;
using namespace djstap::module::test;

namespace {

// Returns a small object with code, data, relocations and an undefined symbol.
std::string assembled() {
    TestFolder folder;
    const std::string source = folder.path + "/x.s", object = folder.path + "/x.o";
    EXPECT_TRUE(write_file(source, R"(
        .text
        .globl start
        .type start, @function
start:  call outside
        jmp *table(%rip)
        .size start, . - start
        .data
table:  .quad start, outside + 8
        .bss
        .skip 64
)"));
    auto outcome = run_tool({"as", "--64", "-o", object, source});
    EXPECT_TRUE(outcome && outcome->status == 0) << (outcome ? outcome->output : "");
    auto bytes = read_file(object);
    EXPECT_TRUE(bytes);
    return bytes ? *bytes : "";
}

// Reads everything that a reader returns, so that an invalid view is accessed.
size_t walk(const ElfObject& object) {
    size_t sum = 0;
    for (size_t i = 0; i < object.sections().size(); i++) {
        const ObjectSection& section = object.sections()[i];
        for (char c : section.name)
            sum += c;
        for (char c : section.bytes)
            sum += c;
        for (const ObjectRelocation& relocation : object.relocations(i))
            sum +=
                object.symbols()[relocation.symbol].name.size() + section.bytes[relocation.offset];
    }
    for (const ObjectSymbol& symbol : object.symbols()) {
        for (char c : symbol.name)
            sum += c;
        sum += object.section_of(symbol) ? 1 : 0;
    }
    return sum;
}

} // namespace

TEST(Elf, ReadsAnObject) {
    std::string bytes = assembled();
    auto object = ElfObject::read(bytes, "x.o");
    ASSERT_TRUE(object) << object.failure().message;
    size_t text = object->section_index(".text");
    ASSERT_NE(text, 0u);
    EXPECT_TRUE(object->sections()[text].executable());
    ASSERT_EQ(object->relocations(text).size(), 2u);
    const ObjectRelocation& call = object->relocations(text)[0];
    EXPECT_EQ(call.type, unsigned(R_X86_64_PLT32));
    EXPECT_EQ(call.offset, 1u);
    EXPECT_EQ(object->symbols()[call.symbol].name, "outside");
    EXPECT_TRUE(object->symbols()[call.symbol].undefined());
    const ObjectSymbol* start = object->defined_symbol("start");
    ASSERT_NE(start, nullptr);
    EXPECT_EQ(start->type, STT_FUNC);
    EXPECT_TRUE(start->global());
    EXPECT_EQ(object->section_of(*start)->name, ".text");
    EXPECT_EQ(object->defined_symbol("outside"), nullptr);
    EXPECT_EQ(object->section(".bss")->size, 64u);
    EXPECT_TRUE(object->section(".bss")->bytes.empty());
    auto data = object->relocations(object->section_index(".data"));
    ASSERT_EQ(data.size(), 2u);
    EXPECT_EQ(data[1].addend, 8);
}

// Symbols that are in no section: undefined, absolute and common ones (gABI, "Special Section
// Indexes").
TEST(Elf, SomeSymbolsAreInNoSection) {
    TestFolder folder;
    const std::string source = folder.path + "/x.s", object = folder.path + "/x.o";
    ASSERT_TRUE(write_file(source, ".globl absolute\nabsolute = 5\n.comm shared, 8\n"
                                   ".text\ncall outside\n.globl inside\ninside: nop\n"));
    const auto outcome = run_tool({"as", "--64", "-o", object, source});
    ASSERT_TRUE(outcome && outcome->status == 0);
    const std::string bytes = *read_file(object);
    const auto read = ElfObject::read(bytes, "x.o");
    ASSERT_TRUE(read);
    size_t found = 0;
    for (const ObjectSymbol& symbol : read->symbols()) {
        const ObjectSection* section = read->section_of(symbol);
        if (symbol.name == "inside")
            EXPECT_TRUE(section && section->name == ".text");
        else if (symbol.name == "absolute" || symbol.name == "shared" || symbol.name == "outside")
            EXPECT_EQ(section, nullptr) << symbol.name;
        else
            continue;
        found++;
    }
    EXPECT_EQ(found, 4u);
    EXPECT_EQ(read->section("none"), nullptr);
    EXPECT_EQ(read->section(""), nullptr) << "the null section is none";
    EXPECT_EQ(read->section_index("none"), 0u);
}

// A header is 64 bytes.
TEST(Elf, AHeaderAloneIsNoObject) {
    const std::string bytes = assembled();
    const auto message = [&](size_t size) {
        const auto object = ElfObject::read(std::string_view(bytes).substr(0, size), "x.o");
        return object ? "" : object.failure().message;
    };
    const std::string before = "x.o: is not a complete object file: ";
    EXPECT_EQ(message(63), before + "it has no ELF header");
    EXPECT_EQ(message(64), before + "the section headers are truncated");
    std::string without = bytes.substr(0, 64);
    Elf64_Ehdr header;
    std::memcpy(&header, without.data(), sizeof header);
    header.e_shnum = 1;
    header.e_shstrndx = 0;
    header.e_shoff = 64;
    std::memcpy(without.data(), &header, sizeof header);
    without.resize(64 + sizeof(Elf64_Shdr)); // the null section, without names
    const auto object = ElfObject::read(without, "x.o");
    ASSERT_TRUE(object) << object.failure().message;
    EXPECT_EQ(object->sections().size(), 1u);
    EXPECT_TRUE(object->symbols().empty());
    EXPECT_EQ(object->sections()[0].name, "");
}

TEST(Elf, OtherFilesAreRefused) {
    std::string bytes = assembled();
    for (std::string_view other : {"", "x", "\177ELF", "#!/bin/sh\n"})
        EXPECT_FALSE(ElfObject::read(other, "x.o"));
    std::string program = bytes;
    program[16] = ET_DYN;
    auto refused = ElfObject::read(program, "x.o");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.failure().message, "x.o: is not an x86-64 relocatable object");
    std::string machine = bytes;
    machine[18] = 3;
    EXPECT_FALSE(ElfObject::read(machine, "x.o"));
}

TEST(Elf, EveryTruncationIsRefused) {
    std::string bytes = assembled();
    for (size_t size = 0; size < bytes.size(); size++) {
        // A separate copy, so that a sanitizer sees every byte beyond the end.
        std::vector<char> cut(bytes.begin(), bytes.begin() + size);
        EXPECT_FALSE(ElfObject::read({cut.data(), cut.size()}, "x.o")) << size;
    }
}

TEST(Elf, NonsenseNeverCrashes) {
    const std::string bytes = assembled();
    Elf64_Ehdr header;
    std::memcpy(&header, bytes.data(), sizeof header);
    std::mt19937 random(1);
    size_t accepted = 0, refused = 0;
    for (int round = 0; round < 20000; round++) {
        std::vector<char> broken(bytes.begin(), bytes.end());
        int changes = 1 + random() % 4;
        for (int i = 0; i < changes; i++) {
            // Mostly in the headers, which matter most; 64-bit extremes as well as single bytes.
            size_t from = random() % 3 ? header.e_shoff : 0;
            size_t at = from + random() % (broken.size() - from);
            if (random() % 2 && at + 8 <= broken.size()) {
                static constexpr uint64_t extremes[] = {
                    ~0ull, 1ull << 63, 0x7fffffffffffffff, 0xffffffff, 0xfffffffffffffff8, 0};
                std::memcpy(broken.data() + at, &extremes[random() % 6], 8);
            } else {
                broken[at] = random();
            }
        }
        auto object = ElfObject::read({broken.data(), broken.size()}, "x.o");
        if (object) {
            accepted++;
            walk(*object);
        } else {
            refused++;
            EXPECT_FALSE(object.failure().message.empty());
        }
    }
    EXPECT_GT(accepted, 0u);
    EXPECT_GT(refused, 0u);
}

TEST(Elf, RelocationNames) {
    EXPECT_EQ(arch::relocation_name(R_X86_64_PC32), "R_X86_64_PC32");
    EXPECT_EQ(arch::relocation_name(R_X86_64_PC64), "R_X86_64_PC64");
    EXPECT_EQ(arch::relocation_name(R_X86_64_REX_GOTPCRELX), "R_X86_64_REX_GOTPCRELX");
    EXPECT_EQ(arch::relocation_name(R_X86_64_TLSLD), "R_X86_64_TLSLD");
    EXPECT_EQ(arch::relocation_name(1000), "relocation type 1000");
}

TEST(Name, Checks) {
    for (const std::string& name : {std::string("a"), std::string("djstap_1"), std::string("X9_"),
                                    std::string("AZaz09"), std::string(55, 'x')})
        EXPECT_TRUE(check_module_name(name)) << name;
    auto message = [](std::string_view name) {
        Status status = check_module_name(name);
        return status ? "" : status.failure().message;
    };
    EXPECT_EQ(message(""), "the module name is empty");
    EXPECT_EQ(message("a-b"), "'a-b' is not a valid module name");
    EXPECT_EQ(message("../x"), "'../x' is not a valid module name");
    EXPECT_EQ(message("a b"), "'a b' is not a valid module name");
    EXPECT_EQ(message(std::string_view("a\0b", 3)),
              std::string("'a\0b'", 5) + " is not a valid module name");
    EXPECT_EQ(message("größe"), "'größe' is not a valid module name");
    EXPECT_EQ(message(std::string(56, 'x')),
              "'" + std::string(56, 'x') + "' is too long for a module name: 56 characters");
    EXPECT_EQ(message(std::string(90, 'x')),
              "'" + std::string(80, 'x') + "' is too long for a module name: 90 characters");
}

namespace {

// Returns an object whose .gnu.linkonce.this_module, .modinfo and .rodata contain these strings.
std::string with_strings(const std::string& in_struct, const std::string& in_modinfo,
                         const std::string& in_rodata) {
    TestFolder folder;
    const std::string source = folder.path + "/x.s", object = folder.path + "/x.o";
    EXPECT_TRUE(write_file(
        source, ".section .gnu.linkonce.this_module,\"aw\"\n.skip 24\n.asciz \"" + in_struct +
                    "\"\n.section .modinfo,\"a\"\n.asciz \"a=b\"\n" + ".asciz \"" + in_modinfo +
                    "\"\n.section .rodata\n.byte 0\n" + ".asciz \"" + in_rodata + "\"\n"));
    auto outcome = run_tool({"as", "--64", "-o", object, source});
    EXPECT_TRUE(outcome && outcome->status == 0);
    return *read_file(object);
}

} // namespace

TEST(Name, PlaceholderIsReplacedEverywhere) {
    const std::string mark(name_placeholder);
    std::string bytes = with_strings(mark, "name=" + mark, mark);
    auto object = ElfObject::read(bytes, "x.o");
    ASSERT_TRUE(object);
    auto places = find_placeholders(bytes, *object);
    ASSERT_TRUE(places) << places.failure().message;
    EXPECT_EQ(places->size(), 3u);
    size_t before = bytes.size();
    put_name(bytes, *places, "short");
    EXPECT_EQ(bytes.size(), before);
    EXPECT_EQ(bytes.find(mark), std::string::npos);
    auto changed = ElfObject::read(bytes, "x.o");
    ASSERT_TRUE(changed);
    std::string info(changed->section(".modinfo")->bytes);
    EXPECT_EQ(info, std::string("a=b\0", 4) + "name=short" + std::string(51, '\0'));
}

// Wherever a string begins and ends: at the beginning of a section, beside another.
TEST(Name, PlaceholderIsFoundWhereverItIsAWholeString) {
    const std::string mark(name_placeholder), begin = ".section .gnu.linkonce.this_module,\"aw\"\n";
    TestFolder folder;
    const auto places_in = [&](const std::string& text) {
        const std::string source = folder.path + "/x.s", object = folder.path + "/x.o";
        EXPECT_TRUE(write_file(source, text));
        const auto outcome = run_tool({"as", "--64", "-o", object, source});
        EXPECT_TRUE(outcome && outcome->status == 0);
        std::string bytes = *read_file(object);
        const auto parsed = ElfObject::read(bytes, "x.o");
        const auto places = find_placeholders(bytes, *parsed);
        if (!places)
            return places.failure().message;
        for (const size_t place : *places)
            EXPECT_EQ(bytes.substr(place, mark.size()), mark);
        put_name(bytes, *places, std::string(55, 'n'));
        EXPECT_EQ(bytes.find(mark), std::string::npos);
        return std::to_string(places->size());
    };
    const std::string string = ".asciz \"" + mark + "\"\n", info = ".section .modinfo,\"a\"\n";
    const std::string named = ".asciz \"name=" + mark + "\"\n";
    EXPECT_EQ(places_in(begin + string + info + named), "2");
    EXPECT_EQ(places_in(begin + ".byte 0\n" + string + string + info + named + named), "4");
    EXPECT_EQ(places_in(begin + string + info + named + ".section .rodata\n" + string + string),
              "4");
    // What is not loaded stays.
    EXPECT_EQ(places_in(begin + string + info + named + ".section .comment2\n.ascii \"x\"\n"), "2");
    const std::string none = "the module has no place for its name";
    EXPECT_EQ(places_in(begin + string), none);
    EXPECT_EQ(places_in(info + named), none);
    EXPECT_EQ(places_in(info + string + begin + string), none) << "without name=";
    const auto longer = [](const std::string& section) {
        return "the runtime uses the module name inside a longer string, in " + section;
    };
    EXPECT_EQ(places_in(begin + string + info + ".asciz \"xname=" + mark + "\"\n"),
              longer(".modinfo"));
    EXPECT_EQ(places_in(begin + string + info + named + ".section .rodata\n.asciz \"name=" + mark +
                        "\"\n"),
              longer(".rodata"));
    EXPECT_EQ(places_in(begin + ".ascii \"" + mark + "\"\n" + info + named),
              longer(".gnu.linkonce.this_module"))
        << "it has no end";
    EXPECT_EQ(places_in(begin + string + ".ascii \"" + mark + mark + "\\0\"\n" + info + named),
              longer(".gnu.linkonce.this_module"));
}

TEST(Name, PlaceholderWithinLongerTextIsRefused) {
    const std::string mark(name_placeholder);
    for (const std::string& text : {"in " + mark, mark + ": loaded"}) {
        std::string bytes = with_strings(mark, "name=" + mark, text);
        auto object = ElfObject::read(bytes, "x.o");
        ASSERT_TRUE(object);
        auto places = find_placeholders(bytes, *object);
        ASSERT_FALSE(places);
        EXPECT_NE(places.failure().message.find("in .rodata"), std::string::npos);
    }
    std::string missing = with_strings("other", "name=" + mark, "x");
    auto object = ElfObject::read(missing, "x.o");
    ASSERT_TRUE(object);
    EXPECT_FALSE(find_placeholders(missing, *object));
}
