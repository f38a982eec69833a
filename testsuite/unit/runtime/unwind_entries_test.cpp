// SPDX-License-Identifier: GPL-2.0-or-later
// Entries of .eh_frame: what each instruction means, and what is damaged.
#include "kernel_for_test.h"
#include "made_up_entries.h"

#include <gtest/gtest.h>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace std::string_literals;
using namespace djstap::test;

// DWARF 5, section 6.4.2.
TEST(UnwindEntries, RulesAreSetAsDwarfDefines) {
    const struct {
        std::string instructions; // about rbx
        u32 how;
        s32 n;
    } rules[] = {
        {"\x83\x02", DJS_UNWIND_SAVED, -16},         // offset
        {"\x05\x03\x02", DJS_UNWIND_SAVED, -16},     // offset_extended
        {"\x83\x02\xc3", DJS_UNWIND_SAME, 0},        // restore
        {"\x83\x02\x06\x03", DJS_UNWIND_SAME, 0},    // restore_extended
        {"\x07\x03", DJS_UNWIND_UNDEFINED, 0},       // undefined
        {"\x83\x02\x08\x03", DJS_UNWIND_SAME, 0},    // same_value
        {"\x09\x03\x0c", DJS_UNWIND_REGISTER, 12},   // register
        {"\x11\x03\x7e", DJS_UNWIND_SAVED, 16},      // offset_extended_sf
        {"\x14\x03\x02", DJS_UNWIND_VALUE, -16},     // val_offset
        {"\x15\x03\x7e", DJS_UNWIND_VALUE, 16},      // val_offset_sf
        {"\x2f\x03\x02", DJS_UNWIND_SAVED, 16},      // GNU_negative_offset_extended
        {"\x2e\x05\x83\x02", DJS_UNWIND_SAVED, -16}, // GNU_args_size
        {"\0\x83\x02"s, DJS_UNWIND_SAVED, -16},      // nop
        {"\x0a\x83\x02\x0b", DJS_UNWIND_SAME, 0},    // remember_state, restore_state
        {"\x0a\x0a\x0a\x83\x02", DJS_UNWIND_SAVED, -16},
    };
    for (const auto& [instructions, how, n] : rules) {
        const Entries made = function_of(instructions);
        EXPECT_EQ(made.row.rules[3].how, how) << testing::PrintToString(instructions);
        EXPECT_EQ(made.row.rules[3].n, n) << testing::PrintToString(instructions);
        EXPECT_EQ(made.row.base, u32{DJS_DWARF_STACK});
        EXPECT_EQ(made.row.offset, 8);
        EXPECT_FALSE(made.row.is_signal);
    }
    for (const auto& [code, how] : {std::pair{'\x10', DJS_UNWIND_SAVED_EXPRESSION},
                                    std::pair{'\x16', DJS_UNWIND_VALUE_EXPRESSION}}) {
        const Entries made = function_of(code + "\x03\x01\x35\x8c\x02"s); // and of r12
        EXPECT_EQ(made.row.rules[3].how, u32{how});
        EXPECT_EQ(made.frames.substr(static_cast<size_t>(made.row.rules[3].n), 2), "\x01\x35");
        EXPECT_EQ(made.row.rules[12].n, -16);
    }
}

TEST(UnwindEntries, TheFramesAddressIsSetAsDwarfDefines) {
    const struct {
        std::string instructions;
        u32 base;
        s32 offset;
    } bases[] = {
        {"\x0c\x06\x10", 6, 16}, // def_cfa
        {"\x0d\x06", 6, 8},      // def_cfa_register
        {"\x0e\x18", 7, 24},     // def_cfa_offset
        {"\x12\x06\x7e", 6, 16}, // def_cfa_sf
        {"\x13\x7d", 7, 24},     // def_cfa_offset_sf
        {"\x0c\x10\x10", 16, 16},
    };
    for (const auto& [instructions, base, offset] : bases) {
        const Entries made = function_of(instructions);
        EXPECT_EQ(made.row.base, base) << testing::PrintToString(instructions);
        EXPECT_EQ(made.row.offset, offset) << testing::PrintToString(instructions);
    }
    const Entries made = function_of("\x0f\x01\x35"); // def_cfa_expression
    EXPECT_EQ(made.row.base, DJS_UNWIND_NO_REGISTER);
    EXPECT_EQ(made.frames.substr(static_cast<size_t>(made.row.offset)), "\x01\x35");
}

TEST(UnwindEntries, AdvanceByAnyNumberOfBytes) {
    Entries with_common;
    with_common.add_common();
    std::string set_loc = "\x01";
    // Behind the entry's length, its reference, its range, the size of its data and the code.
    append(set_loc, code_at + 0x8765 - (frames_at + with_common.frames.size() + 4 + 13 + 1), 4);
    const std::pair<std::string, u64> advances[] = {
        {"\x50", 0x10},
        {"\x7f", 0x3f},
        {"\x02\x90", 0x90},
        {"\x03\x34\x12", 0x1234},
        {"\x04\x45\x23\1\0"s, 0x12345},
        {set_loc, 0x8765},
    };
    for (const auto& [instruction, delta] : advances) {
        Entries made = with_common;
        made.add_function(instruction + "\x0e\x20", 0x20000);
        ASSERT_EQ(made.find(code_at + delta - 1), DJS_UNWIND_OK);
        EXPECT_EQ(made.row.offset, 8) << testing::PrintToString(instruction);
        ASSERT_EQ(made.find(code_at + delta), DJS_UNWIND_OK);
        EXPECT_EQ(made.row.offset, 32) << testing::PrintToString(instruction);
    }
}

// Vector registers have larger numbers, which are not looked at.
TEST(UnwindEntries, RegistersBehindTheLastAreLeftAlone) {
    struct {
        djs_unwind_row row;
        u32 behind;
    } memory{};
    for (const std::string& instructions : {"\x05\x11\x02"s, "\x91\x02"s, "\x06\x11"s, "\xd1"s}) {
        Entries made = function_of(instructions);
        memory.behind = 0x5a5a5a5a;
        made.scratch = {};
        EXPECT_EQ(djs_unwind_find(&made.image, code_at, &memory.row, &made.scratch), DJS_UNWIND_OK);
        EXPECT_EQ(memory.behind, 0x5a5a5a5aU) << testing::PrintToString(instructions);
    }
    EXPECT_EQ(result_of("\x0c\x11\x08"), DJS_UNWIND_DAMAGED); // no frame has its address there
    EXPECT_EQ(result_of("\x0d\x11"), DJS_UNWIND_DAMAGED);
}

// Behind the section there is no memory: whatever is missing of it is not read.
TEST(UnwindEntries, EndWithTheSection) {
    static void* end;
    char* const behind = static_cast<char*>(guarded_end(&end));
    Entries made = function_of("\x83\x02\x0c\x07\x10");
    for (size_t bytes = made.frames.size(); bytes--;) {
        std::memcpy(behind - bytes, made.frames.data(), bytes);
        made.image.frames = reinterpret_cast<const u8*>(behind - bytes);
        made.image.frames_bytes = static_cast<u32>(bytes);
        made.scratch = {};
        EXPECT_EQ(djs_unwind_find(&made.image, code_at, &made.row, &made.scratch),
                  DJS_UNWIND_DAMAGED)
            << bytes;
    }
}

// The common entry has two instructions.
TEST(UnwindEntries, HaveSoManyInstructions) {
    EXPECT_EQ(result_of(std::string(DJS_UNWIND_INSTRUCTIONS - 2, '\0')), DJS_UNWIND_OK);
    EXPECT_EQ(result_of(std::string(DJS_UNWIND_INSTRUCTIONS - 1, '\0')), DJS_UNWIND_DAMAGED);
}

TEST(UnwindEntries, CommonEntriesOfAllForms) {
    const auto is_read = [](const Common& common) {
        const auto result = result_of("\x83\x02", common);
        EXPECT_TRUE(result == DJS_UNWIND_OK || result == DJS_UNWIND_DAMAGED) << result;
        return result == DJS_UNWIND_OK;
    };
    Common common;
    EXPECT_TRUE(is_read(common));
    for (const char version : {0, 2, 3, 4}) {
        common.version = version;
        EXPECT_EQ(is_read(common), version == 3) << int{version};
    }
    // The column is a byte, and later a number of seven bits a byte.
    common.version = 1;
    common.column = "\x90";
    EXPECT_FALSE(is_read(common));
    common.column = "\x90\0"s;
    EXPECT_FALSE(is_read(common));
    common.version = 3;
    common.column = "\x90\0"s;
    EXPECT_TRUE(is_read(common));
    common.column = "\x11"; // of another register
    EXPECT_FALSE(is_read(common));
    common = {};
    common.id = 1; // it is none
    EXPECT_FALSE(is_read(common));
    // An augmentation with all that compilers write, and what does not fit into it.
    common = {};
    common.letters = "zPLR";
    common.data = "\x9b\1\2\3\4\x1b\x1b"s;
    EXPECT_TRUE(is_read(common));
    common.data = "\x3b\1\2\3\4\x1b\x1b"s; // relative to what there is not
    EXPECT_FALSE(is_read(common));
    common.letters = "zLR";
    common.data = "\x3b\x1b"; // that of the language's data, which are not read, is another one
    EXPECT_TRUE(is_read(common));
    common = {};
    common.letters = "eh"; // of gcc 2, with a pointer that nothing tells the size of
    EXPECT_EQ(result_of(std::string(20, '\0'), common), DJS_UNWIND_DAMAGED);
    common.letters = "zR";
    common.data = "\x1b\xff\xff"; // and what nobody knows
    EXPECT_TRUE(is_read(common));
    common.data = "\x3b"; // addresses that are relative to what there is not
    EXPECT_FALSE(is_read(common));
    common.letters = "zRB";
    common.data = "\x1b";
    EXPECT_TRUE(is_read(common));
    // It ends with its augmentation, or before that.
    common = {};
    common.instructions = "";
    EXPECT_TRUE(is_read(common));
    common.instructions = "\x0c\x07\x08\x90\x01";
    common.data = "\x1b" + std::string(100, '\0');
    Entries made;
    made.add_common(common);
    made.frames.resize(made.frames.size() - common.instructions.size() - 1);
    made.frames[0] = static_cast<char>(made.frames.size() - 4);
    made.add_function("");
    EXPECT_EQ(made.find(code_at), DJS_UNWIND_DAMAGED);
}

TEST(UnwindEntries, LettersNeedTheirData) {
    // What follows is an instruction, and would be an encoding: absolute, of two bytes.
    Common common;
    common.data = "";
    common.instructions = "\x0a\x0c\x07\x08\x90\x01";
    Entries made;
    made.add_common(common);
    made.rows.emplace_back(code_at, made.frames.size());
    std::string body;
    append(body, made.frames.size() + 4, 4);
    append(body, code_at, 2);
    append(body, 0x100, 2);
    made.add(body + '\0');
    EXPECT_EQ(made.find(code_at), DJS_UNWIND_DAMAGED);
}

TEST(UnwindEntries, DataOfFunctionsAreSkipped) {
    Entries made;
    made.add_common();
    made.add_function("\x83\x02", 0x100, 0, "\xff\xff\xff\xff"); // no instructions
    ASSERT_EQ(made.find(code_at), DJS_UNWIND_OK);
    EXPECT_EQ(made.row.rules[3].n, -16);
}

// What an entry does not say is not what the one before it said.
TEST(UnwindEntries, CommonEntriesAreReadByThemselves) {
    constexpr u64 other_code = code_at + 0x200;
    Common of_signal, plain;
    of_signal.letters = "zRS";
    plain.letters = ""; // no augmentation: no data, and whole addresses
    Entries made;
    made.add_common(of_signal);
    made.add_function("");
    const size_t common = made.add_common(plain);
    std::string body;
    append(body, made.frames.size() + 4 - common, 4);
    append(body, other_code, 8);
    append(body, 0x100, 8);
    made.rows.emplace_back(other_code, made.add(body));
    ASSERT_EQ(made.find(code_at), DJS_UNWIND_OK);
    EXPECT_TRUE(made.row.is_signal);
    ASSERT_EQ(djs_unwind_find(&made.image, other_code, &made.row, &made.scratch), DJS_UNWIND_OK);
    EXPECT_FALSE(made.row.is_signal);
    u32 offset = 0;
    djs_unwind_listed listed[3];
    ASSERT_EQ(djs_unwind_list(&made.image, &offset, listed, 3), 2U);
    EXPECT_EQ(frames_at + static_cast<u64>(s64{listed[0].begin}), code_at);
    EXPECT_EQ(frames_at + static_cast<u64>(s64{listed[1].begin}), other_code);
}

TEST(UnwindEntries, FunctionsThatAreNone) {
    Entries made;
    made.add_common();
    made.rows.emplace_back(code_at, 0); // a common entry
    EXPECT_EQ(made.find(code_at), DJS_UNWIND_DAMAGED);
    made.rows[0].second = made.add("\0\0\0\0\1\2\3"s);
    EXPECT_EQ(made.find(code_at), DJS_UNWIND_DAMAGED);
    // It refers to what is none, behind all and before all; it ends too early.
    for (const u64 common : {made.frames.size(), made.frames.size() + 0x100, u64{0} - 0x100000}) {
        made.rows.clear();
        made.add_function("", 0x100, common);
        EXPECT_EQ(made.find(code_at), DJS_UNWIND_DAMAGED) << common;
    }
    std::string body;
    append(body, made.frames.size() + 4, 4);
    made.rows[0].second = made.add(body + "\1\2\3");
    EXPECT_EQ(made.find(code_at), DJS_UNWIND_DAMAGED);
    // It is longer than the rest, or has no length, or is not in the section.
    made.frames += "\x40\0\0\0\1\2\3"s;
    made.rows[0].second = made.frames.size() - 7;
    EXPECT_EQ(made.find(code_at), DJS_UNWIND_DAMAGED);
    made.frames += "\0\0\0\0\1\2\3\4"s;
    made.rows[0].second = made.frames.size() - 8;
    EXPECT_EQ(made.find(code_at), DJS_UNWIND_DAMAGED);
    made.rows.emplace_back(code_at + 0x1000, 0); // the last entry is in it
    made.rows[0].second = u64{0} - 0x10000000;
    EXPECT_EQ(made.find(code_at), DJS_UNWIND_DAMAGED);
}

// Those of the common entry count, too.
TEST(UnwindEntries, AsManyInstructionsAsMayBeRun) {
    for (const u32 more : {0U, 1U}) {
        const Common two; // instructions
        Entries made;
        made.add_common(two);
        made.add_function(std::string(DJS_UNWIND_INSTRUCTIONS - 2 + more, '\x40'));
        EXPECT_EQ(made.find(code_at), more ? DJS_UNWIND_DAMAGED : DJS_UNWIND_OK);
        // And those of the frames before.
        made.frames.clear();
        made.rows.clear();
        made.add_common(two);
        made.add_function(std::string(DJS_UNWIND_INSTRUCTIONS / 2 - 2 + more, '\x40'));
        EXPECT_EQ(made.find(code_at), DJS_UNWIND_OK);
        EXPECT_EQ(djs_unwind_find(&made.image, code_at, &made.row, &made.scratch),
                  more ? DJS_UNWIND_DAMAGED : DJS_UNWIND_OK);
    }
}

// ---- the index ----------------------------------------------------------------------------------

TEST(UnwindEntries, AnIndexThatIsNone) {
    Entries made = function_of("");
    const std::string good = made.index;
    u64 last = 0;
    const auto opens = [&](size_t at, char value) {
        made.given_index = good;
        made.given_index[at] = value;
        return made.open(&last) == DJS_UNWIND_OK;
    };
    EXPECT_TRUE(opens(0, 1));
    EXPECT_FALSE(opens(0, 2));      // its version
    EXPECT_FALSE(opens(1, '\xff')); // no address of .eh_frame
    EXPECT_FALSE(opens(2, '\xff')); // no number of rows
    EXPECT_FALSE(opens(3, '\x1b')); // rows of another form
    EXPECT_FALSE(opens(8, 0));      // no rows
    EXPECT_FALSE(opens(8, 2));      // more than there are
    made.given_index = good.substr(0, 11);
    EXPECT_EQ(made.open(&last), DJS_UNWIND_DAMAGED);
}

TEST(UnwindEntries, TheLastEntryMayBelongToAnyFunction) {
    Entries made;
    u64 last = 0;
    made.rows = {{0x1000, 0x40}, {0x1100, 0x80}, {0x1200, 0x60}};
    EXPECT_EQ(made.open(&last), DJS_UNWIND_OK);
    EXPECT_EQ(last, frames_at + 0x80);
    made.rows = {{0x1000, 0}};
    EXPECT_EQ(made.open(&last), DJS_UNWIND_OK);
    EXPECT_EQ(last, frames_at);
    made.rows = {{0x1000, u64{0} - 1}}; // before .eh_frame
    EXPECT_EQ(made.open(&last), DJS_UNWIND_DAMAGED);
}

TEST(UnwindEntries, ListsHaveWhatAnIndexMayRefer) {
    Entries made;
    made.add_common();
    std::vector<size_t> entries;
    for (int i = 0; i < 5; i++)
        entries.push_back(made.add_function(""));
    // What is further away than a row can say, and what is relative to what there is not.
    for (const std::string& data : {"\x04"s, "\x3b"s}) {
        Common common;
        common.data = data;
        const size_t other = made.add_common(common);
        std::string body;
        append(body, made.frames.size() + 4 - other, 4);
        append(body, 0x200000000, 8);
        append(body, 0x100, 8);
        made.add(body + '\0');
    }
    entries.push_back(made.add_function("")); // refers to the first common entry
    made.image.frames = reinterpret_cast<const u8*>(made.frames.data());
    made.image.frames_at = frames_at;
    made.image.frames_bytes = static_cast<u32>(made.frames.size());
    u32 offset = 0;
    std::vector<size_t> listed;
    djs_unwind_listed rows[4];
    rows[3].entry = 77;
    while (const u32 count = djs_unwind_list(&made.image, &offset, rows, 3)) {
        ASSERT_LE(count, 3U);
        EXPECT_EQ(rows[3].entry, 77);
        for (u32 i = 0; i < count; i++) {
            EXPECT_EQ(frames_at + static_cast<u64>(s64{rows[i].begin}), code_at);
            listed.push_back(static_cast<size_t>(rows[i].entry));
        }
    }
    EXPECT_EQ(listed, entries);
}

// ---- steps --------------------------------------------------------------------------------------

constexpr u32 preserved_registers[] = DJS_DWARF_SAVED;

} // namespace
