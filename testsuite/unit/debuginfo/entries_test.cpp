// SPDX-License-Identifier: GPL-2.0-or-later
// Where functions begin, how calls are made, and what is kept of all that, for code that compilers
// write rarely.
#include "made_kernel.h"

#include "arch/arch.h"
#include "debuginfo/debuginfo.h"

#include <filesystem>

namespace djstap {
namespace {

// Functions of several ranges and variables, as DWARF 5 (2.17.3, 7.25) encodes them.
constexpr const char* entries_by_hand = R"s(
    .file 1 "a.c"
    .text
    .globl known, split, zero
    .type known, @function
known:
    .loc 1 1
    .rept 16
    nop
    .endr
    .size known, .-known
.Lnameless:                         # no symbol is here
    .loc 1 5
    .rept 16
    nop
    .endr
.Lnameless_end:
.Learly:
    .loc 1 6
    .rept 16
    nop
    .endr
.Learly_end:
    .type split, @function
split:
    .loc 1 7
    .rept 16
    nop
    .endr
    .size split, .-split
.Lsplit_end:
    .type zero, @function
zero:
    .loc 1 9
    .rept 16
    nop
    .endr
    .size zero, .-zero
.Lzero_end:
    .data
    .globl counter
counter: .quad 0
.Lother: .quad 0
    .section .debug_rnglists, "", @progbits
    .long .Lranges_end - .Lranges_version
.Lranges_version:
    .short 5
    .byte 8, 0
    .long 0
.Lsplit_ranges:
    .byte 6                         # DW_RLE_start_end
    .quad .Learly, .Learly_end
    .byte 6
    .quad split, .Lsplit_end
    .byte 0
.Lzero_ranges:
    .byte 6
    .quad zero, .Lzero_end
    .byte 0
.Lranges_end:
    .section .debug_abbrev, "", @progbits
.Labbrev:
    .uleb128 1, 0x11, 1, 0x03, 0x08, 0x13, 0x0b, 0x11, 0x01, 0x12, 0x06, 0x10, 0x17, 0, 0 # unit
    .uleb128 2, 0x2e, 0, 0x03, 0x08, 0x3b, 0x0b, 0x55, 0x17, 0x52, 0x01, 0, 0 # with an entry
    .uleb128 3, 0x2e, 0, 0x03, 0x08, 0x3b, 0x0b, 0x11, 0x01, 0x12, 0x06, 0, 0 # of one range
    .uleb128 4, 0x34, 0, 0x02, 0x18, 0, 0                                     # without a name
    .uleb128 5, 0x34, 0, 0x03, 0x08, 0x02, 0x18, 0, 0                         # variable
    .uleb128 0
    .section .debug_info, "", @progbits
    .long .Linfo_end - .Lversion
.Lversion:
    .short 5
    .byte 1, 8
    .long .Labbrev
    .uleb128 1
    .asciz "a.c"
    .byte 0x0c
    .quad known
    .long .Lzero_end - known
    .long .Lline
    .uleb128 3
    .asciz "known"
    .byte 1
    .quad known
    .long 16
    .uleb128 3
    .asciz "nameless"
    .byte 5
    .quad .Lnameless
    .long 16
    .uleb128 2
    .asciz "split"
    .byte 7
    .long .Lsplit_ranges
    .quad split
    .uleb128 2
    .asciz "zero"
    .byte 9
    .long .Lzero_ranges
    .quad 0
    .uleb128 4
    .byte 9, 3                      # DW_OP_addr
    .quad .Lother
    .uleb128 5
    .asciz ""
    .byte 9, 3
    .quad .Lother
    .uleb128 5
    .asciz "counter"
    .byte 9, 3
    .quad counter
    .byte 0
.Linfo_end:
    .section .debug_line, "", @progbits
.Lline:
)s";

const MadeKernel& by_hand() {
    static const MadeKernel made({{"a.s", entries_by_hand}}, {"-O0"});
    return made;
}

FunctionInfo function_by_hand(const char* name) {
    const auto found = by_hand().info->functions(*parse_function_pattern(name), true);
    EXPECT_EQ(found.size(), 1u) << name;
    return found.size() == 1 ? found.front() : FunctionInfo();
}

// The compiler may list the part first that is not the beginning, and a linker may leave 0 of an
// address whose code it dropped.
TEST(WrittenEntries, AreWhereTheFunctionSays) {
    const FunctionInfo split = function_by_hand("split");
    EXPECT_EQ(split.entry, by_hand().address("split"));
    EXPECT_EQ(split.symbol, "split");
    EXPECT_EQ(split.line, 7u);
    const FunctionInfo zero = function_by_hand("zero");
    EXPECT_EQ(zero.entry, by_hand().address("zero"));
    EXPECT_EQ(zero.line, 9u);
}

TEST(WrittenEntries, WithoutASymbolAreNamedByDebugInformation) {
    const uint64_t nameless = by_hand().address("known") + 16;
    const auto place = by_hand().info->statement_at(nameless);
    ASSERT_TRUE(place) << place.failure().message;
    EXPECT_EQ(place->function, "nameless");
    EXPECT_EQ(place->symbol, "nameless");
    EXPECT_EQ(place->symbol_entry, nameless);
    EXPECT_EQ(place->line, 5u);
    // It may be another one than the source has: nothing is probed there by name.
    EXPECT_TRUE(by_hand().info->functions(*parse_function_pattern("nameless"), false).empty());
}

TEST(WrittenVariables, NeedAName) {
    const auto counter = by_hand().info->global("counter");
    ASSERT_TRUE(counter);
    EXPECT_EQ(counter->location.constant, by_hand().address("counter"));
    EXPECT_FALSE(by_hand().info->global(""));
}

// A call through a pointer is one of a thunk, which no source has (-mindirect-branch, as kernels
// are compiled).
TEST(MadeThunks, HideWhatIsCalled) {
    const MadeKernel made(
        {{"a.c", "#define OWN __attribute__((noinline, noclone))\n"
                 "OWN int leaf(int n) { __asm__ volatile(\"\"); return n + 1; }\n"
                 "OWN int pointer(int (*f)(int)) { return f(1) + 1; }\n"
                 "OWN int both(int (*f)(int), int n) { return f(n) + leaf(n) * 2; }\n"}},
        {"-O2", "-mindirect-branch=thunk"});
    const auto code =
        made.image->bytes_at(made.address("pointer"), made.image->symbol("pointer")->size);
    ASSERT_NE(code.find('\xe8'), code.npos); // call rel32
    EXPECT_TRUE(made.info->calls({made.address("pointer"), 0}).sites.empty());
    const auto both = made.info->calls({made.address("both"), 0}).sites;
    ASSERT_EQ(both.size(), 1u);
    EXPECT_EQ(both[0].callee.name, "leaf");
}

// DW_CFA_register: the caller's frame pointer is in another register, which a callee may change.
TEST(MadeCallFrames, MayKeepTheFramePointerInARegister) {
    const MadeKernel made(
        {{"a.c", "#define OWN __attribute__((noinline, noclone))\n"
                 "OWN int leaf(int n) { __asm__ volatile(\"\"); return n + 1; }\n"
                 "int top(int n)\n"
                 "{\n"
                 "    __asm__ volatile(\".cfi_remember_state\\n.cfi_register 6, 11\");\n"
                 "    int result = leaf(n);\n"
                 "    __asm__ volatile(\".cfi_restore_state\");\n"
                 "    return result + 1;\n"
                 "}\n"}},
        {"-O2", "-fomit-frame-pointer"});
    const auto calls = made.info->calls({made.address("top"), 0}).sites;
    ASSERT_EQ(calls.size(), 1u);
    ASSERT_TRUE(calls[0].return_slot);
    EXPECT_EQ(calls[0].return_slot->first, arch::stack_pointer());
    EXPECT_FALSE(calls[0].frame_pointer);
}

std::vector<std::string> steps_told;

// The first script on a kernel does without, the second builds it, the third has it.
TEST(MadeIndex, IsBuiltForTheSecondScript) {
    MadeKernel made({{"a.c", "int sink;\nint f(int n) { return n + sink; }\n"}}, {"-O0"});
    const std::string path = debuginfo_index_path(made.image->build_id());
    EXPECT_FALSE(std::filesystem::exists(path));
    const auto open = [&] {
        steps_told.clear();
        made.info.reset();
        auto info = DebugInfo::open(*made.image,
                                    [](const std::string& text) { steps_told.push_back(text); });
        EXPECT_TRUE(info) << info.failure().message;
        return info && (*info)->functions(*parse_function_pattern("f"), false).size() == 1;
    };
    EXPECT_TRUE(open());
    EXPECT_TRUE(std::filesystem::exists(path));
    ASSERT_EQ(steps_told.size(), 2u);
    const std::string what = "the debug information of kernel 6.1.0-made";
    EXPECT_EQ(steps_told[0], "indexing " + what + " (once per kernel)");
    EXPECT_TRUE(steps_told[1].starts_with("indexed " + what + " in ")) << steps_told[1];
    EXPECT_TRUE(open());
    EXPECT_EQ(steps_told, std::vector<std::string>());
}

// Whenever the details of a function are asked for.
TEST(MadeIndex, IsNotNeededForOneFunction) {
    const MadeKernel made(
        {{"a.c", "int sink;\nint only_function(int number, long other) { return sink; }\n"}},
        {"-O0"});
    auto found = made.info->functions(*parse_function_pattern("only_function"), false);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_TRUE(found[0].parameters.empty());
    made.info->add_details(found[0]);
    ASSERT_EQ(found[0].parameters.size(), 2u);
    EXPECT_EQ(made.info->type_name(found[0].parameters[1].type), "long int");
    const std::string path = debuginfo_index_path(made.image->build_id());
    EXPECT_FALSE(std::filesystem::exists(path));
    EXPECT_TRUE(made.info->global("sink"));
    EXPECT_TRUE(std::filesystem::exists(path));
}

} // namespace
} // namespace djstap
