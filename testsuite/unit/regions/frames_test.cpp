// SPDX-License-Identifier: GPL-2.0-or-later
// What unwind information says about the stack, written by hand where assemblers write one form
// only.
#include "program.h"

#include "regions/frames.h"

#include <cstring>

using namespace djstap;
using namespace djstap::test;
using regions::Frames;

namespace {

constexpr Frames::Stack Empty = Frames::Stack::Empty, Used = Frames::Stack::Used,
                        Unknown = Frames::Stack::Unknown;

// The stack at f + `offset` of a program of 300 no-ops.
Frames::Stack stack_of(const std::string& text, uint64_t offset = 0) {
    const Program program =
        Program::assembled(".text\n.globl f\n" + text, {"-Ttext=0x500000", "--no-eh-frame-hdr"});
    const auto file = ElfFile::open(program.path());
    EXPECT_TRUE(file);
    return Frames::of(**file).stack_at(0x500000 + offset);
}

// That at the end of instructions that begin where the function's caller left it.
Frames::Stack stack_behind(const std::string& instructions) {
    return stack_of("f: .cfi_startproc\n" + instructions + "\nnop\n.cfi_endproc\n");
}

// The same of an entry that is not the assembler's; `address` is written as the encoding says.
struct Entry {
    std::string version = "1", augmentation = "zR", alignments = ".uleb128 1\n.sleb128 -8\n";
    std::string return_column = ".byte 16", data = ".uleb128 1\n.byte 0x1b\n";
    std::string address = ".long f - .", size = ".long 300", more = ".uleb128 0";
    // The caller's frame is 8 above the stack pointer.
    std::string common = ".byte 0x0c, 7, 8", instructions;
    std::string before; // other entries
};

std::string entry_of(const Entry& entry) {
    return R"(
f:  .skip 300, 0x90
    .section .eh_frame, "a"
)" + entry.before +
           R"(
.Lcommon:
    .long .Lcommon_end - . - 4, 0
    .byte )" +
           entry.version + "\n.asciz \"" + entry.augmentation + "\"\n" + entry.alignments +
           entry.return_column + "\n" + entry.data + entry.common + R"(
    .balign 8
.Lcommon_end:
    .long .Lend - . - 4, . - .Lcommon
    )" + entry.address +
           "\n" + entry.size + "\n" + entry.more + "\n" + entry.instructions + R"(
    .balign 8
.Lend:
    .long 0
)";
}

Frames::Stack stack_of(const Entry& entry, uint64_t offset = 0) {
    return stack_of(entry_of(entry), offset);
}

size_t frames_of(const Entry& entry) {
    const Program program = Program::assembled(".text\n.globl f\n" + entry_of(entry),
                                               {"-Ttext=0x500000", "--no-eh-frame-hdr"});
    return Frames::of(**ElfFile::open(program.path())).all().size();
}

} // namespace

TEST(Frames, TheCallersFrame) {
    EXPECT_EQ(stack_behind(""), Empty);
    EXPECT_EQ(stack_behind(".cfi_def_cfa_offset 16"), Used);
    EXPECT_EQ(stack_behind(".cfi_def_cfa_offset 16\n.cfi_def_cfa_offset 8"), Empty);
    EXPECT_EQ(stack_behind(".cfi_def_cfa_register 6"), Used);
    EXPECT_EQ(stack_behind(".cfi_def_cfa 6, 8"), Used);
    EXPECT_EQ(stack_behind(".cfi_def_cfa 6, 16\n.cfi_def_cfa 7, 8"), Empty);
    EXPECT_EQ(stack_behind(".cfi_def_cfa_offset 16\n.cfi_adjust_cfa_offset -8"), Empty);
    // In units of the data's alignment, -8: DW_CFA_def_cfa_sf, DW_CFA_def_cfa_offset_sf.
    EXPECT_EQ(stack_behind(".cfi_escape 0x12, 7, 0x7f"), Empty);
    EXPECT_EQ(stack_behind(".cfi_escape 0x12, 7, 0x7e"), Used);
    EXPECT_EQ(stack_behind(".cfi_escape 0x13, 0x7e"), Used);
    EXPECT_EQ(stack_behind(".cfi_escape 0x13, 0x7f"), Empty);
    // An expression, DW_CFA_def_cfa_expression, is not computed.
    EXPECT_EQ(stack_behind(".cfi_escape 0x0f, 2, 0x77, 8"), Unknown);
    EXPECT_EQ(stack_behind(".cfi_escape 0x0f, 2, 0x77, 8\n.cfi_escape 0x0c, 7, 8"), Empty);
}

// Whatever has no part in it is skipped, with its operands: each of them would say otherwise.
TEST(Frames, OtherInstructionsHaveTheirOperands) {
    for (const char* skipped : {"0",                         // DW_CFA_nop
                                "0x83, 0x0f",                // DW_CFA_offset
                                "0x83, 0x90, 0",             // the same, in two bytes
                                "0xc3",                      // DW_CFA_restore
                                "0x05, 0x0f, 0x0f",          // DW_CFA_offset_extended
                                "0x06, 0x0f",                // DW_CFA_restore_extended
                                "0x07, 0x0f",                // DW_CFA_undefined
                                "0x08, 0x0f",                // DW_CFA_same_value
                                "0x09, 0x0f, 0x0f",          // DW_CFA_register
                                "0x10, 0x03, 2, 0x0f, 0x0f", // DW_CFA_expression
                                "0x16, 0x03, 2, 0x0f, 0x0f", // DW_CFA_val_expression
                                "0x11, 0x0f, 0x0f",          // DW_CFA_offset_extended_sf
                                "0x14, 0x0f, 0x0f",          // DW_CFA_val_offset
                                "0x15, 0x0f, 0x0f",          // DW_CFA_val_offset_sf
                                "0x2e, 0x0f",                // DW_CFA_GNU_args_size
                                "0x0a, 0x0b"}) { // DW_CFA_remember_state, DW_CFA_restore_state
        EXPECT_EQ(stack_behind(".cfi_escape " + std::string(skipped)), Empty) << skipped;
        EXPECT_EQ(stack_behind(".cfi_escape " + std::string(skipped) + ", 0x0e, 16"), Used)
            << skipped;
    }
    EXPECT_EQ(stack_behind(".cfi_escape 0x3f"), Unknown);
    EXPECT_EQ(stack_behind(".cfi_escape 0x0b"), Unknown); // nothing was remembered
}

TEST(Frames, StatesAreRemembered) {
    EXPECT_EQ(stack_behind(".cfi_remember_state\n.cfi_def_cfa_offset 16"), Used);
    EXPECT_EQ(stack_behind(".cfi_remember_state\n.cfi_def_cfa_offset 16\n.cfi_restore_state"),
              Empty);
    EXPECT_EQ(stack_behind(".cfi_def_cfa_offset 16\n.cfi_remember_state\n.cfi_remember_state\n"
                           ".cfi_def_cfa_offset 8\n.cfi_restore_state\n.cfi_def_cfa_offset 8\n"
                           ".cfi_restore_state"),
              Used);
}

// From the location on that they advance to: DW_CFA_advance_loc, 1, 2, 4 with the bytes of each.
TEST(Frames, Locations) {
    for (const auto& [advance, distance] : {std::pair<const char*, uint64_t>(".byte 0x45", 5),
                                            {".byte 0x02, 5", 5},
                                            {".byte 0x02, 200", 200},
                                            {".byte 0x03, 5, 1", 261},
                                            {".byte 0x04, 5, 1, 0, 0", 261}}) {
        Entry entry;
        entry.instructions = std::string(advance) + "\n.byte 0x0e, 16";
        EXPECT_EQ(stack_of(entry, distance - 1), Empty) << advance;
        EXPECT_EQ(stack_of(entry, distance), Used) << advance;
        EXPECT_EQ(stack_of(entry, 299), Used) << advance;
        EXPECT_EQ(stack_of(entry, 300), Unknown) << advance;
    }
    Entry aligned;
    aligned.alignments = ".uleb128 4\n.sleb128 -8\n";
    aligned.instructions = ".byte 0x45, 0x0e, 16";
    EXPECT_EQ(stack_of(aligned, 19), Empty);
    EXPECT_EQ(stack_of(aligned, 20), Used);
}

// Where the functions are: DW_EH_PE_* of the pointers.
TEST(Frames, Encodings) {
    const std::string absolute = ".uleb128 1\n.byte ";
    for (const auto& [encoding, address, size] :
         {std::tuple<const char*, const char*, const char*>{"0x00", ".quad f", ".quad 300"},
          {"0x04", ".quad f", ".quad 300"},
          {"0x0c", ".quad f", ".quad 300"},
          {"0x03", ".long f", ".long 300"},
          {"0x0b", ".long f", ".long 300"},
          {"0x01", ".uleb128 0x500000", ".uleb128 300"},
          {"0x09", ".sleb128 0x500000", ".sleb128 300"},
          {"0x10", ".quad f - .", ".quad 300"},
          {"0x1b", ".long f - .", ".long 300"},
          {"0x1c", ".quad f - .", ".quad 300"}}) {
        Entry entry;
        entry.data = absolute + encoding + "\n";
        entry.address = address;
        entry.size = size;
        EXPECT_EQ(stack_of(entry, 0), Empty) << encoding;
        EXPECT_EQ(stack_of(entry, 299), Empty) << encoding;
        EXPECT_EQ(stack_of(entry, 300), Unknown) << encoding;
    }
    Entry unknown;
    unknown.data = ".uleb128 1\n.byte 0x15\n";
    EXPECT_EQ(stack_of(unknown), Unknown);
}

TEST(Frames, Versions) {
    // The column of the return address is a byte in the first version, else a number of any length.
    Entry entry;
    entry.return_column = ".byte 0x90";
    EXPECT_EQ(stack_of(entry), Empty);
    entry.version = "3";
    entry.return_column = ".byte 0x90, 0";
    EXPECT_EQ(stack_of(entry), Empty);
}

TEST(Frames, Augmentations) {
    Entry entry;
    for (const char* known : {"zR", "zRS", "zRB"}) {
        entry.augmentation = known;
        EXPECT_EQ(stack_of(entry), Empty) << known;
    }
    EXPECT_EQ(frames_of(entry), 1U);
    for (const char* unknown : {"zRX", "R", "eh"}) { // nobody knows what it would say
        entry.augmentation = unknown;
        EXPECT_EQ(stack_of(entry), Unknown) << unknown;
        EXPECT_EQ(frames_of(entry), 0U) << unknown;
    }
    Entry without;
    without.augmentation = without.data = without.more = "";
    without.address = ".quad f";
    without.size = ".quad 300";
    EXPECT_EQ(stack_of(without), Empty);
    // A personality before the encoding.
    Entry personality;
    personality.augmentation = "zPLR";
    personality.data = ".uleb128 7\n.byte 0x1b\n.long f - .\n.byte 0x1b, 0x1b\n";
    personality.more = ".uleb128 4\n.long 0";
    EXPECT_EQ(stack_of(personality), Empty);
    personality.data = ".uleb128 3\n.byte 0x1b\n.long f - .\n.byte 0x1b, 0x1b\n"; // too few bytes
    EXPECT_EQ(stack_of(personality), Unknown);
}

// Objects' parts end with a zero, which is not the end of all.
TEST(Frames, EachObjectsPart) {
    Entry entry;
    entry.before = ".long 0\n";
    EXPECT_EQ(stack_of(entry), Empty);
    entry.before = ".long 0, 4, 0x777, 0\n"; // of nothing that is known
    EXPECT_EQ(stack_of(entry), Empty);
    entry.before = ".long 0xffffffff\n"; // the 64-bit format is not read
    EXPECT_EQ(stack_of(entry), Unknown);
}

// One that describes the same code again adds no function.
TEST(Frames, DescribedTwice) {
    Entry entry;
    entry.instructions = ".balign 8\n.Lend0: .long .Lend - . - 4, . - .Lcommon\n" + entry.address +
                         "\n" + entry.size + "\n" + entry.more;
    std::string text = entry_of(entry);
    text.replace(text.find(".long .Lend - ."), 15, ".long .Lend0 - .");
    const Program program =
        Program::assembled(".text\n.globl f\n" + text, {"-Ttext=0x500000", "--no-eh-frame-hdr"});
    EXPECT_EQ(Frames::of(**ElfFile::open(program.path())).all().size(), 2U);
    const Analyzed analysis(program.path());
    ASSERT_EQ(analysis->functions().size(), 1U);
    EXPECT_EQ(analysis->functions()[0].size, 300U);
}

TEST(Frames, OtherCode) {
    EXPECT_EQ(stack_of(Entry(), 300), Unknown);
    const Program program = Program::assembled(".globl f\nf: ret\n");
    const auto file = ElfFile::open(program.path());
    ASSERT_TRUE(file);
    EXPECT_EQ(Frames::of(**file).stack_at(0), Unknown);
    EXPECT_FALSE(Frames::of(**file).stack_is_empty(0));
}
