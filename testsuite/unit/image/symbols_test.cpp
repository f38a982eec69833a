// SPDX-License-Identifier: GPL-2.0-or-later
// Symbols of dumps, kernels, modules and programs, and what is known of code by them.
#include "image/module_file.h"
#include "image/symbol_table.h"
#include "made.h"

#include <algorithm>
#include <map>

using namespace djstap;
using namespace djstap::test;

namespace {

const SymbolSource::Entry& entry_of(const SymbolSource& source, std::string_view name) {
    static const SymbolSource::Entry none{"", 0, 0, ~0U};
    const auto found = std::find_if(source.symbols.begin(), source.symbols.end(),
                                    [&](const auto& each) { return each.name == name; });
    EXPECT_NE(found, source.symbols.end()) << name;
    return found == source.symbols.end() ? none : *found;
}

bool has(const SymbolSource& source, std::string_view name) {
    return std::any_of(source.symbols.begin(), source.symbols.end(),
                       [&](const auto& each) { return each.name == name; });
}

SymbolTable table_of(const SymbolSource& source) {
    auto table = SymbolTable::hold(SymbolTable::serialize(source));
    EXPECT_TRUE(table);
    return std::move(*table);
}

SymbolSource dump_of(std::string_view dump, std::string_view fentry = "",
                     std::string_view blacklist = "") {
    auto source = symbols_of_dump(dump, fentry, blacklist, "dump");
    EXPECT_TRUE(source);
    return source ? *source : SymbolSource{};
}

std::string name_at(const SymbolTable& table, uint64_t address) {
    const auto symbol = table.at(address);
    return symbol ? std::string(symbol->name) : "";
}

constexpr uint32_t text = symbol_text, function = symbol_text | symbol_function;

} // namespace

TEST(SymbolsOfADump, FunctionsEndWhereTheNextOneBegins) {
    // In no order, as those of modules follow the kernel's; data does not end code.
    const SymbolSource source = dump_of("1080 t c\n1000 T a\n1040 t b\n1040 T alias\n1020 D data\n"
                                        "1030 w weak\n1034 W global\n1060 r read_only\n");
    EXPECT_EQ(entry_of(source, "a").size, 0x30U);
    EXPECT_EQ(entry_of(source, "weak").size, 4U);
    EXPECT_EQ(entry_of(source, "b").size, 0x40U);
    EXPECT_EQ(entry_of(source, "alias").size, 0x40U);
    EXPECT_EQ(entry_of(source, "c").size, 0U); // nothing tells
    EXPECT_EQ(entry_of(source, "data").size, 0U);
    EXPECT_EQ(entry_of(source, "a").flags, function | symbol_global);
    EXPECT_EQ(entry_of(source, "b").flags, function);
    EXPECT_EQ(entry_of(source, "weak").flags, function);
    EXPECT_EQ(entry_of(source, "global").flags, function | symbol_global);
    EXPECT_EQ(entry_of(source, "data").flags, symbol_global);
    EXPECT_EQ(entry_of(source, "read_only").flags, 0U);
}

TEST(SymbolsOfADump, WhatIsNoLineOfOneIsLeftOut) {
    const SymbolSource source =
        dump_of("1000 T a\nzzzz T bad\n1010 T\n1020T bad\n1030 Tbad\n1040 U bad\n1050 A bad\n"
                "1060 t bad\t[module]\n1070 T b\n\n1080 T c");
    EXPECT_EQ(source.symbols.size(), 3U);
    EXPECT_EQ(entry_of(source, "a").size, 0x70U);
    EXPECT_EQ(entry_of(source, "c").address, 0x1080U);
    EXPECT_FALSE(symbols_of_dump("", "", "", "dump"));
}

TEST(SymbolsOfADump, SitesAreNamesOrAddresses) {
    const char* const dump = "ffffffff81000000 T a\nffffffff81000040 T b\nffffffff81000080 T add\n"
                             "ffffffff810000c0 D data\n";
    EXPECT_EQ(dump_of(dump, "b\na\nunknown\na [module]\ndata\nadd\n").fentry_sites,
              (std::vector<uint64_t>{0xffffffff81000040, 0xffffffff81000000, 0xffffffff81000080}));
    EXPECT_EQ(dump_of(dump, "ffffffff81000044 b\nffffffff81000004 a\nffffffffc0000004 x [module]\n")
                  .fentry_sites,
              (std::vector<uint64_t>{0xffffffff81000044, 0xffffffff81000004}));
    // They are found in any order.
    const SymbolTable table = table_of(dump_of(dump, "b\nadd\na\n"));
    const auto sites = table.fentry_sites();
    EXPECT_TRUE(std::is_sorted(sites.begin(), sites.end()));
    EXPECT_EQ(sites.size(), 3U);
    // Without addresses there is no site.
    EXPECT_TRUE(dump_of("0000000000000000 T a\n", "a\n").fentry_sites.empty());
}

TEST(SymbolsOfADump, ProbesAreForbiddenWhereTheListSays) {
    const SymbolTable table = table_of(dump_of(
        "1000 T _stext\n1000 T a\n1100 T b\n1200 T c\n1300 T _etext\n", "",
        "0x1100-0x1110\tb\n0x1110-0x1120\tb\n0x1040-0x1040\ta\n0x1050\ta\n1060\n0x1208-0x1204\tc\n"
        "0x1200-0x1201 c\n"));
    for (const auto& [address, forbidden] : std::map<uint64_t, bool>{{0x0fff, true},
                                                                     {0x1000, false},
                                                                     {0x1040, false},
                                                                     {0x1050, false},
                                                                     {0x10ff, false},
                                                                     {0x1100, true},
                                                                     {0x1110, true},
                                                                     {0x111f, true},
                                                                     {0x1120, false},
                                                                     {0x1200, true},
                                                                     {0x1201, false},
                                                                     {0x1206, false},
                                                                     {0x12ff, false},
                                                                     {0x1300, true}})
        EXPECT_EQ(table.forbidden(address), forbidden) << std::hex << address;
}

TEST(SymbolTable, NamesWhatCoversAnAddress) {
    SymbolSource source;
    source.symbols = {{"whole", 0x1000, 0x100, function},
                      {"label", 0x1010, 0, text},
                      {"inner", 0x1020, 0x10, text},
                      {"open", 0x1200, 0, text},
                      {"data", 0x1080, 0x10, 0},
                      {"local", 0x1300, 0x10, function},
                      {"global", 0x1300, 0x10, function | symbol_global},
                      {"mark", 0x1300, 0x10, text | symbol_global}};
    source.text = {0x1000, 0x1400};
    const SymbolTable table = table_of(source);
    EXPECT_EQ(name_at(table, 0xfff), "");
    EXPECT_EQ(name_at(table, 0x1000), "whole");
    EXPECT_EQ(name_at(table, 0x100f), "whole");
    EXPECT_EQ(name_at(table, 0x1010), "label"); // up to the next one
    EXPECT_EQ(table.at(0x1010)->size, 0x10U);
    EXPECT_EQ(name_at(table, 0x101f), "label");
    EXPECT_EQ(name_at(table, 0x102f), "inner");
    EXPECT_EQ(name_at(table, 0x1030), "whole");
    EXPECT_EQ(name_at(table, 0x1080), "whole");
    EXPECT_EQ(name_at(table, 0x10ff), "whole");
    EXPECT_EQ(name_at(table, 0x1100), "");
    EXPECT_EQ(name_at(table, 0x12ff), "open");
    EXPECT_EQ(table.at(0x1200)->size, 0x100U);
    EXPECT_EQ(name_at(table, 0x1300), "global"); // the best of three
    EXPECT_EQ(name_at(table, 0x130f), "global");
    EXPECT_EQ(name_at(table, 0x1310), "");
    EXPECT_EQ(table.size(), 8U);
}

TEST(SymbolTable, TheLastSymbolEndsWithTheText) {
    SymbolSource source;
    source.symbols = {{"last", 0x1000, 0, text}};
    source.text = {0x1000, 0x1010};
    const SymbolTable table = table_of(source);
    EXPECT_EQ(table.at(0x100f)->size, 0x10U);
    EXPECT_FALSE(table.at(0x1010));
    EXPECT_TRUE(table.has_addresses());
    EXPECT_FALSE(table_of({}).has_addresses());
    EXPECT_FALSE(table_of({}).at(0));
}

TEST(SymbolTable, FindsNamesAndPatterns) {
    SymbolSource source;
    source.symbols = {{"b", 0x30, 1, function},  {"a", 0x20, 1, function},
                      {"ab", 0x50, 1, function}, {"a", 0x10, 1, function | symbol_global},
                      {"ac", 0x60, 1, 0},        {"__pfx_a", 0x70, 1, function},
                      {"", 0x80, 1, function}};
    const SymbolTable table = table_of(source);
    auto addresses = [](const std::vector<Symbol>& symbols) {
        std::vector<uint64_t> found;
        for (const Symbol& each : symbols)
            found.push_back(each.address);
        return found;
    };
    using Addresses = std::vector<uint64_t>;
    EXPECT_EQ(addresses(table.named("a", false)), (Addresses{0x10, 0x20}));
    EXPECT_EQ(addresses(table.named("a", true)), (Addresses{0x10}));
    EXPECT_TRUE(table.named("a", true).front().global);
    EXPECT_FALSE(table.named("b", true).front().global);
    EXPECT_EQ(addresses(table.named("ac", false)), (Addresses{0x60}));
    EXPECT_TRUE(table.named("aa", false).empty());
    EXPECT_TRUE(table.named("z", false).empty());
    EXPECT_EQ(addresses(table.matching("a*")), (Addresses{0x10, 0x20, 0x50}));
    EXPECT_EQ(addresses(table.matching("*a")), (Addresses{0x10, 0x20}));
    EXPECT_EQ(addresses(table.matching("__pfx_*")), (Addresses{0x70}));
    EXPECT_EQ(addresses(table.matching("?")), (Addresses{0x10, 0x20, 0x30}));
}

TEST(SymbolTable, RangesMayOverlap) {
    SymbolSource source;
    source.text = {0x1000, 0x2000};
    source.forbidden = {{0x1100, 0x1180}, {0x1010, 0x1020}, {0x1110, 0x1120}, {0x1180, 0x1190},
                        {0, 0},           {0x1300, 0x1200}, {0x1400, 0x1400}};
    const SymbolTable table = table_of(source);
    for (const auto& [address, forbidden] : std::map<uint64_t, bool>{{0x100f, false},
                                                                     {0x1010, true},
                                                                     {0x101f, true},
                                                                     {0x1020, false},
                                                                     {0x1130, true},
                                                                     {0x118f, true},
                                                                     {0x1190, false},
                                                                     {0x1280, false},
                                                                     {0x1300, false},
                                                                     {0x1400, false},
                                                                     {0x1fff, false},
                                                                     {0x2000, true}})
        EXPECT_EQ(table.forbidden(address), forbidden) << std::hex << address;
}

// What the compiler has split off is a part of the function.
TEST(SymbolTable, PartsAreForbiddenWithTheirFunction) {
    SymbolSource source;
    source.text = {0x1000, 0x2000};
    source.symbols = {{"f", 0x1000, 0x10, function},
                      {"f.cold", 0x1100, 0x10, function},
                      {"g.cold", 0x1110, 0x10, function},
                      {".hidden", 0x1120, 0x10, function},
                      {"f", 0x1200, 0x10, function}};
    source.forbidden = {{0x1200, 0x1210}};
    const SymbolTable table = table_of(source);
    EXPECT_FALSE(table.forbidden(0x1000));
    EXPECT_TRUE(table.forbidden(0x1104)); // of one of two of this name
    EXPECT_FALSE(table.forbidden(0x1114));
    EXPECT_FALSE(table.forbidden(0x1124));
}

namespace {

// A module as Kbuild links it; each function is aligned to 16 bytes.
const char* const module_source = R"(
    .text
    .type first, @function
    .globl first
first: call __fentry__
.Lbranch: nopl 0(%rax,%rax)
    call callee
    ret
    .size first, .-first
    .balign 16
label: nop
    ret
    .balign 16
    .type second, @function
second: nop
.Lcall: call callee
    ret
    .size second, .-second
    .section .noinstr.text, "ax"
    .type quiet, @function
quiet: ret
    .size quiet, .-quiet
    .section .kprobes.text, "ax"
    .type probeless, @function
probeless: ret
    .size probeless, .-probeless
    .section .init.text, "ax"
    .type start, @function
start: nop
    ret
    .size start, .-start
    .data
    .type variable, @object
variable: .quad 1
    .size variable, 8
data_label: .quad 2
    .section __mcount_loc, "a"
    .quad first
    .section _kprobe_blacklist, "aw"
    .quad second
    .section __jump_table, "aw"
    .balign 8
    .long .Lbranch - ., first - .
    .quad variable - .
    .long start - ., first - .
    .quad variable - .
    .section .static_call_sites, "aw"
    .balign 8
    .long .Lcall - ., variable - .
    .section .gnu.linkonce.this_module, "aw"
    .skip 64
)";

// Such a module, linked.
std::unique_ptr<ElfFile> module_of(const std::string& source) {
    const Folder folder;
    folder.write("m.s", source);
    folder.shell("as -o m.ko m.s");
    auto linked = link_module_image(folder.bytes("m.ko"), "m.ko");
    EXPECT_TRUE(linked);
    auto file = linked ? ElfFile::hold(std::move(*linked), "m.ko")
                       : Result<std::unique_ptr<ElfFile>>(Failure{});
    return file ? std::move(*file) : nullptr;
}

} // namespace

TEST(SymbolsOfAModule, KindsOfSymbols) {
    const auto file = module_of(module_source);
    ASSERT_TRUE(file);
    const SymbolSource source = symbols_of_module(*file);
    EXPECT_EQ(entry_of(source, "first").flags, function | symbol_global);
    EXPECT_EQ(entry_of(source, "second").flags, function);
    EXPECT_EQ(entry_of(source, "second").size, 7U);
    EXPECT_EQ(entry_of(source, "label").flags, text);
    EXPECT_EQ(entry_of(source, "variable").flags, 0U);
    EXPECT_EQ(entry_of(source, "data_label").flags, 0U);
    EXPECT_FALSE(has(source, "callee"));
    EXPECT_FALSE(has(source, ".text"));
    EXPECT_FALSE(has(source, ""));
}

TEST(SymbolsOfAModule, WhereProbesAreForbidden) {
    const auto file = module_of(module_source);
    ASSERT_TRUE(file);
    const SymbolSource source = symbols_of_module(*file);
    const SymbolTable table = table_of(source);
    auto forbidden = [&](const char* name, uint64_t offset = 0) {
        return table.forbidden(entry_of(source, name).address + offset);
    };
    EXPECT_EQ(source.fentry_sites, std::vector<uint64_t>{entry_of(source, "first").address});
    EXPECT_FALSE(forbidden("first"));
    EXPECT_FALSE(forbidden("first", 4));
    EXPECT_TRUE(forbidden("first", 5)); // a static branch
    EXPECT_FALSE(forbidden("first", 10));
    EXPECT_FALSE(forbidden("label"));
    for (uint64_t offset = 0; offset < 7; offset++)
        EXPECT_TRUE(forbidden("second", offset)) << offset;
    EXPECT_FALSE(forbidden("second", 7));
    EXPECT_TRUE(forbidden("quiet"));
    EXPECT_TRUE(forbidden("probeless"));
    EXPECT_TRUE(forbidden("start", 1)); // it is not there any more
    EXPECT_TRUE(forbidden("variable"));
    // Without the list, the second function has a static call.
    std::string with_call = module_source;
    with_call.replace(with_call.find(".quad second"), 12, "");
    const auto other = module_of(with_call);
    ASSERT_TRUE(other);
    const SymbolSource calls = symbols_of_module(*other);
    const SymbolTable of_calls = table_of(calls);
    const uint64_t second = entry_of(calls, "second").address;
    EXPECT_FALSE(of_calls.forbidden(second));
    EXPECT_TRUE(of_calls.forbidden(second + 1)); // a static call
    EXPECT_FALSE(of_calls.forbidden(second + 6));
}

namespace {

// A kernel of a few functions, with the symbols of its linker script.
const char* const kernel_source = R"(
    .text
    .globl _stext, _etext, __start_mcount_loc, __stop_mcount_loc
_stext:
    .type first, @function
    .globl first
first: call second
.Lbranch: nopl 0(%rax,%rax)
    call second
    ret
    .size first, .-first
    .balign 16
    .globl __noinstr_text_start, __noinstr_text_end
__noinstr_text_start:
    .type quiet, @function
quiet: ret
    .size quiet, .-quiet
    .balign 16
__noinstr_text_end:
    .type second, @function
second: nop
.Lcall: call first
    ret
    .size second, .-second
    .globl alias
    .set alias, second
    .type alias, @function
    .size alias, 0
    .balign 16
_etext:
    .section .init.data, "aw"
    .balign 8
__start_mcount_loc: .quad second, first
__stop_mcount_loc:
    .globl __start_kprobe_blacklist, __stop_kprobe_blacklist
__start_kprobe_blacklist: .quad second
__stop_kprobe_blacklist:
    .data
    .balign 8
    .globl __start___jump_table, __stop___jump_table
__start___jump_table:
    .long .Lbranch - ., first - .
    .quad 0
__stop___jump_table:
    .globl __start_static_call_sites, __stop_static_call_sites
__start_static_call_sites:
    .long .Lcall - ., 0
__stop_static_call_sites:
)";

} // namespace

TEST(SymbolsOfAKernel, SitesAndForbiddenCode) {
    const Folder folder;
    folder.write("k.s", kernel_source);
    folder.shell("as -o k.o k.s && ld -q -e first -o vmlinux k.o");
    std::string bytes = folder.bytes("vmlinux");
    // Some kernels have zeros where others have the addresses: only relocations tell them.
    std::string zeroed = bytes;
    Sections sections(zeroed);
    const Elf64_Shdr& data = sections[".init.data"];
    ASSERT_EQ(data.sh_size, 24U);
    std::fill_n(zeroed.begin() + static_cast<ptrdiff_t>(data.sh_offset), data.sh_size, '\0');
    for (const std::string& each : {bytes, zeroed}) {
        const auto file = ElfFile::hold(each, "vmlinux");
        ASSERT_TRUE(file);
        const SymbolSource source = symbols_of_kernel(**file, **file);
        const uint64_t first = entry_of(source, "first").address,
                       second = entry_of(source, "second").address;
        EXPECT_EQ(source.fentry_sites, (std::vector<uint64_t>{second, first}));
        EXPECT_EQ(source.text.begin, first);
        EXPECT_EQ(source.text.end, second + 16);
        EXPECT_FALSE(has(source, "__noinstr_text_start")); // it would hide `quiet`
        const SymbolTable table = table_of(source);
        for (const auto& [address, forbidden] :
             std::map<uint64_t, bool>{{first - 1, true},
                                      {first, false},
                                      {first + 4, false},
                                      {first + 5, true},
                                      {first + 6, true},
                                      {first + 7, false},
                                      {entry_of(source, "quiet").address, true},
                                      {second, true},
                                      {second + 6, true},
                                      {second + 7, false},
                                      {second + 16, true}})
            EXPECT_EQ(table.forbidden(address), forbidden) << address - first;
    }
    // Without the list, its static call is.
    std::string without = kernel_source;
    without.replace(without.find("__start_kprobe_blacklist: .quad second"), 38,
                    "__start_kprobe_blacklist:");
    folder.write("k.s", without);
    folder.shell("as -o k.o k.s && ld -e first -o vmlinux k.o");
    const auto file = folder.elf("vmlinux");
    const SymbolSource source = symbols_of_kernel(*file, *file);
    const SymbolTable table = table_of(source);
    const uint64_t second = entry_of(source, "second").address;
    for (uint64_t at = 0; at < 7; at++)
        EXPECT_EQ(table.forbidden(second + at), at == 1 || at == 2) << at;
}

TEST(SymbolsOfAProgram, KindsOfSymbols) {
    const Folder folder;
    folder.write("p.c", R"(
int variable = 1;
_Thread_local int of_a_thread = 2;
int plain(void) { return variable + of_a_thread; }
static int hidden(void) { return plain(); }
int (*chosen(void))(void) { return hidden; }
int picked(void) __attribute__((ifunc("chosen")));
int numbered_1(void) { return 1; }
__asm__(".symver numbered_1, numbered@@V1");
__asm__(".globl absolute\n.set absolute, 0x1234\n"
        ".data\nword: .quad 1\n.text\nlabel: nop\n");
)");
    folder.write("map", "V1 { global: *; };\n");
    folder.shell("gcc -O1 -shared -fPIC -Wl,--version-script=map -o p.so p.c && "
                 "strip -o stripped.so p.so && objcopy --only-keep-debug p.so p.debug");
    const auto whole = folder.elf("p.so"), stripped = folder.elf("stripped.so");
    for (const ElfFile* each : {whole.get(), stripped.get()}) {
        const SymbolSource source = symbols_of_program(*each, nullptr);
        EXPECT_EQ(entry_of(source, "plain").flags, function | symbol_global);
        EXPECT_EQ(entry_of(source, "numbered").flags, function | symbol_global);
        EXPECT_EQ(entry_of(source, "variable").flags, symbol_global);
        EXPECT_EQ(entry_of(source, "variable").size, 4U);
        for (const char* none : {"of_a_thread", "picked", "absolute", "", "numbered@@V1", "p.c"})
            EXPECT_FALSE(has(source, none)) << none;
        // Each once, though two tables have it.
        EXPECT_EQ(std::count_if(source.symbols.begin(), source.symbols.end(),
                                [](const auto& symbol) { return symbol.name == "plain"; }),
                  1);
        EXPECT_EQ(has(source, "hidden"), each == whole.get());
    }
    const SymbolSource source = symbols_of_program(*whole, nullptr);
    EXPECT_EQ(entry_of(source, "hidden").flags, function);
    EXPECT_EQ(entry_of(source, "label").flags, text);
    EXPECT_EQ(entry_of(source, "word").flags, 0U);
    // The separate file's are added.
    const auto debug = folder.elf("p.debug");
    EXPECT_TRUE(has(symbols_of_program(*stripped, debug.get()), "hidden"));
    for (const Elf64_Phdr& header : whole->program_headers())
        if (header.p_type == PT_LOAD && (header.p_flags & PF_X)) {
            EXPECT_EQ(source.text.begin, header.p_vaddr);
            EXPECT_EQ(source.text.end, header.p_vaddr + header.p_filesz);
        }
    EXPECT_GT(source.text.end, source.text.begin);
}
