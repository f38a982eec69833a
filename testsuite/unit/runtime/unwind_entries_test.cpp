// SPDX-License-Identifier: GPL-2.0-or-later
// Entries of .eh_frame that are made up one by one: what each instruction means, what is damaged,
// and the forms in which rules are kept.
#include "made_up_frames.h"

#include <gtest/gtest.h>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace std::string_literals;
using djstap::test::append;
using djstap::test::code_at;
using djstap::test::frame_at;
using djstap::test::frames_at;
using djstap::test::index_at;

// How a common entry differs from "zR", with addresses of 4 bytes from where they are.
struct Common {
    std::string letters = "zR", data = "\x1b", instructions = "\x0c\x07\x08\x90\x01";
    char version = 1;
    std::string column = "\x10"; // of the return address
    u32 id = 0;
};

class Entries {
  public:
    // Return the offset of the entry.
    size_t add(const std::string& body) {
        const size_t at = frames.size();
        append(frames, body.size(), 4);
        frames += body;
        return at;
    }
    size_t add_common(const Common& with = {}) {
        std::string body;
        append(body, with.id, 4);
        body += with.version;
        body += with.letters + '\0' + "\1\x78" + with.column; // code by 1, data by -8
        if (with.letters.substr(0, 1) == "z")
            body += static_cast<char>(with.data.size()) + with.data;
        return add(body + with.instructions);
    }
    // Of a function at code_at; `data` is of its augmentation.
    size_t add_function(const std::string& instructions, u32 bytes = 0x100, size_t common = 0,
                        const std::string& data = "") {
        std::string body;
        append(body, frames.size() + 4 - common, 4);
        append(body, code_at - (frames_at + frames.size() + 8), 4);
        append(body, bytes, 4);
        body += static_cast<char>(data.size()) + data + instructions;
        rows.emplace_back(code_at, frames.size());
        return add(body);
    }
    djs_unwind_result open(u64* last) {
        index.clear();
        append(index, 0x3b031b01, 4); // version 1; relative; u32; a table relative to here
        append(index, frames_at - (index_at + 4), 4);
        append(index, rows.size(), 4);
        for (const auto& [begin, entry] : rows) {
            append(index, begin - index_at, 4);
            append(index, frames_at + entry - index_at, 4);
        }
        if (!given_index.empty())
            index = given_index;
        image = {};
        image.index = reinterpret_cast<const u8*>(index.data());
        image.index_at = index_at;
        image.index_bytes = static_cast<u32>(index.size());
        return djs_unwind_open(&image, last);
    }
    djs_unwind_result find(u64 address) {
        u64 last = 0;
        EXPECT_EQ(open(&last), DJS_UNWIND_OK);
        image.frames = reinterpret_cast<const u8*>(frames.data());
        image.frames_bytes = static_cast<u32>(frames.size());
        scratch = {};
        std::memset(static_cast<void*>(&row), 0xff, sizeof row); // of a look-up before
        return djs_unwind_find(&image, address, &row, &scratch);
    }
    djs_unwind_result step(djs_unwind_frame& frame) {
        djs_unwind_frame before{};
        return djs_unwind_step(&image, &frame, &row, &before, read, nullptr);
    }
    // Memory holds the address of each word, + 1.
    static bool read(void*, u64 address, u64* value) {
        *value = address + 1;
        return address % 8 == 0;
    }

    std::string frames, index, given_index; // in place of what the rows make
    std::vector<std::pair<u64, u64>> rows;  // begin, and the entry's offset
    djs_unwind_image image{};
    djs_unwind_row row{};
    djs_unwind_scratch scratch{};
};

// A function with these instructions, whose row at its begin was found.
Entries function_of(const std::string& instructions, const Common& common = {}) {
    Entries made;
    made.add_common(common);
    made.add_function(instructions);
    EXPECT_EQ(made.find(code_at), DJS_UNWIND_OK) << testing::PrintToString(instructions);
    return made;
}

djs_unwind_result result_of(const std::string& instructions, const Common& common = {}) {
    Entries made;
    made.add_common(common);
    made.add_function(instructions);
    return made.find(code_at);
}

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
    common.data = "\x1b\x1b";
    EXPECT_TRUE(is_read(common));
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

TEST(UnwindEntries, ShortRowsHaveWhatFunctionsSave) {
    for (u32 i = 0; i < DJS_DWARF_SAVED_COUNT; i++) {
        const auto reg = static_cast<char>(0x80 + preserved_registers[i]);
        const Entries made = function_of(reg + std::string(1, static_cast<char>(2 + i)));
        djs_unwind_short_row row{};
        ASSERT_TRUE(djs_unwind_shorten(&row, &made.row));
        EXPECT_EQ(row.base, DJS_DWARF_STACK);
        EXPECT_EQ(row.offset, 8);
        EXPECT_FALSE(row.is_last);
        EXPECT_EQ(row.is_saved, 1U << i);
        EXPECT_EQ(row.saved[i], -2 - static_cast<int>(i));
        auto frame = frame_at(code_at, 0x8000);
        EXPECT_EQ(djs_unwind_step_short(&frame, &row, Entries::read, nullptr), DJS_UNWIND_OK);
        EXPECT_EQ(frame.saved_at[preserved_registers[i]], 0x8008 - 8 * (2 + i));
        EXPECT_EQ(frame.values[DJS_DWARF_STACK], 0x8008U);
        EXPECT_EQ(frame.values[DJS_DWARF_RETURN], 0x8001U);
    }
}

TEST(UnwindEntries, RowsWithoutAShortForm) {
    const auto is_short = [](const std::string& instructions, const std::string& letters = "zR") {
        Common common;
        common.letters = letters;
        const Entries made = function_of(instructions, common);
        djs_unwind_short_row row{};
        return djs_unwind_shorten(&row, &made.row);
    };
    EXPECT_TRUE(is_short(""));
    EXPECT_TRUE(is_short("\x07\x03"));  // nobody needs it
    EXPECT_FALSE(is_short("", "zRS"));  // a signal's frame
    EXPECT_FALSE(is_short("\x90\x02")); // the return address is elsewhere
    EXPECT_FALSE(is_short("\x14\x10\x01"));
    EXPECT_FALSE(is_short("\x87\x03")); // the stack's register is saved
    EXPECT_FALSE(is_short("\x09\x03\x0c"));
    EXPECT_FALSE(is_short("\x83\0"s)); // at the frame's address itself
    // Eights of bytes from there, as far as a row can say: data are by -8.
    EXPECT_TRUE(is_short("\x05\x03\x80\x80\x02"));  // 0x8000
    EXPECT_FALSE(is_short("\x05\x03\x81\x80\x02")); // 0x8001
    Entries made = function_of("\x83\x02");
    djs_unwind_short_row row{};
    made.row.rules[3].n = -17;
    EXPECT_FALSE(djs_unwind_shorten(&row, &made.row));
}

const std::string address_in_memory = "\x0f\x03\x76\x78\x06"; // of the address 8 below rbp

TEST(UnwindEntries, FlatRowsHaveWhatFunctionsSave) {
    const auto is_flat = [](const std::string& instructions) {
        const Entries made = function_of(instructions);
        djs_unwind_flat_row row{};
        return djs_unwind_flatten(&row, &made.image, &made.row);
    };
    EXPECT_TRUE(is_flat("\x0f\x03\x70\x78\x06"));                  // rax
    EXPECT_TRUE(is_flat("\x0f\x03\x80\x78\x06"));                  // the last one
    EXPECT_FALSE(is_flat("\x0f\x03\x81\x78\x06"));                 // behind that
    EXPECT_FALSE(is_flat("\x0f\x07\x76\x80\x80\x80\x80\x08\x06")); // 2 GB away
    EXPECT_FALSE(is_flat("\x0f\x03\x76\x78\x12"));                 // something else
    EXPECT_TRUE(is_flat(address_in_memory + "\x05\x03\x80\x20"));  // -0x8000
    EXPECT_FALSE(is_flat(address_in_memory + "\x05\x03\x81\x20")); // further away
    // rax and the last register, near the frame's address and near rbp.
    const Entries made = function_of(address_in_memory + "\x80\x02" + "\x10\x03\x02\x76\x70" +
                                     "\x10\x10\x02\x76\x68");
    djs_unwind_flat_row row{};
    ASSERT_TRUE(djs_unwind_flatten(&row, &made.image, &made.row));
    EXPECT_EQ(row.base, 6);
    EXPECT_EQ(row.address_at, -8);
    EXPECT_FALSE(row.is_signal);
    EXPECT_EQ(row.saved_by_frame, 1U);
    EXPECT_EQ(row.saved_by_base, 1U << 3 | 1U << 16);
    auto frame = frame_at(code_at, 0x6000);
    frame.values[6] = 0x7000;
    EXPECT_EQ(djs_unwind_step_flat(&frame, &row, Entries::read, nullptr), DJS_UNWIND_OK);
    EXPECT_EQ(frame.values[DJS_DWARF_STACK], 0x6ff9U); // what is in memory at 0x6ff8
    EXPECT_EQ(frame.saved_at[0], 0x6ff9U - 16);
    EXPECT_EQ(frame.saved_at[3], 0x7000U - 16);
    EXPECT_EQ(frame.values[DJS_DWARF_RETURN], 0x7000U - 24 + 1);
    // The register or the memory cannot be read.
    frame = frame_at(code_at, 0x6000);
    frame.saved_at[6] = 0x7001;
    EXPECT_EQ(djs_unwind_step_flat(&frame, &row, Entries::read, nullptr), DJS_UNWIND_UNREADABLE);
    frame = frame_at(code_at, 0x6000);
    frame.values[6] = 0x7001;
    EXPECT_EQ(djs_unwind_step_flat(&frame, &row, Entries::read, nullptr), DJS_UNWIND_UNREADABLE);
}

// Rows are made of what was checked, and are not trusted nevertheless.
TEST(UnwindEntries, ExpressionsAreWithinTheFrames) {
    Entries made = function_of("");
    made.frames = "\x02\x77\x08"; // rsp + 8
    made.image.frames = reinterpret_cast<const u8*>(made.frames.data());
    made.image.frames_bytes = 3;
    made.row.base = DJS_UNWIND_NO_REGISTER;
    djs_unwind_flat_row flat{};
    const auto result = [&](s32 offset) {
        made.row.offset = offset;
        auto frame = frame_at(code_at, 0x8000);
        EXPECT_FALSE(djs_unwind_flatten(&flat, &made.image, &made.row));
        return made.step(frame);
    };
    EXPECT_EQ(result(0), DJS_UNWIND_OK);
    EXPECT_EQ(result(3), DJS_UNWIND_DAMAGED);
    EXPECT_EQ(result(std::numeric_limits<s32>::max()), DJS_UNWIND_DAMAGED);
    EXPECT_EQ(result(std::numeric_limits<s32>::min()), DJS_UNWIND_DAMAGED);
    made.image.frames_bytes = 2;
    EXPECT_EQ(result(0), DJS_UNWIND_DAMAGED);
}

TEST(UnwindEntries, ExpressionsHaveLimits) {
    const auto result = [](const std::string& expression, u64 stack = 0x8000) {
        Entries made =
            function_of("\x0f" + std::string(1, static_cast<char>(expression.size())) + expression);
        auto frame = frame_at(code_at, stack);
        return made.step(frame);
    };
    const std::string address = "\x77\x08";
    EXPECT_EQ(result(address + std::string(DJS_UNWIND_STEPS - 1, '\x96')), DJS_UNWIND_OK);
    EXPECT_EQ(result(address + std::string(DJS_UNWIND_STEPS, '\x96')), DJS_UNWIND_DAMAGED);
    EXPECT_EQ(result(std::string(DJS_UNWIND_VALUES - 1, '\x30') + address), DJS_UNWIND_OK);
    EXPECT_EQ(result(std::string(DJS_UNWIND_VALUES, '\x30') + address), DJS_UNWIND_DAMAGED);
    EXPECT_EQ(result(address + "\x2f\1\0\x20"s), DJS_UNWIND_OK); // a jump to the end
    EXPECT_EQ(result(address + "\x2f\2\0\x20"s), DJS_UNWIND_DAMAGED);
    EXPECT_EQ(result("\x2f\xfc\xff" + address), DJS_UNWIND_DAMAGED); // before the begin
    EXPECT_EQ(result(address + "\x15\1"), DJS_UNWIND_DAMAGED);       // only one value is there
    EXPECT_EQ(result(address + "\x14"), DJS_UNWIND_DAMAGED);
    EXPECT_EQ(result("\x50", 0x10), DJS_UNWIND_DAMAGED);  // no operation of addresses
    EXPECT_EQ(result("\x81\x08", 0), DJS_UNWIND_DAMAGED); // no such register
    EXPECT_EQ(result("\x92\x11\x08", 0), DJS_UNWIND_DAMAGED);
    EXPECT_EQ(result(address + "\x94\x09"), DJS_UNWIND_DAMAGED);
    EXPECT_EQ(result(address + "\x94\0"s), DJS_UNWIND_DAMAGED);
    EXPECT_EQ(result("\x77\x01\x06"), DJS_UNWIND_UNREADABLE);
    // Of a word, as many bytes as it says: the address is above the stack either way.
    EXPECT_EQ(result("\x77\x08\x94\x08", 0x8000), DJS_UNWIND_UNREADABLE);         // 0x8009
    EXPECT_EQ(result("\x77\x08\x94\x01\x0a\xf7\x7f\x22", 0x7100), DJS_UNWIND_OK); // 9 + 0x7ff7
}

// A register that a function has saved where nothing can be read.
TEST(UnwindEntries, RegistersMayBeUnreadable) {
    const auto result = [](const std::string& instructions) {
        Entries made = function_of(instructions);
        auto frame = frame_at(code_at, 0x8000);
        frame.values[6] = 0x8000;
        frame.saved_at[6] = 0x9001;
        return made.step(frame);
    };
    EXPECT_EQ(result(""), DJS_UNWIND_OK);
    EXPECT_EQ(result("\x0c\x06\x10"), DJS_UNWIND_UNREADABLE);
    EXPECT_EQ(result("\x0f\x02\x76\x10"), DJS_UNWIND_UNREADABLE);
    EXPECT_EQ(result("\x10\x10\x02\x77\x01"), DJS_UNWIND_UNREADABLE); // the return address
    EXPECT_EQ(result("\x10\x10\x01\x30"), DJS_UNWIND_UNREADABLE);     // at 0
    EXPECT_EQ(result("\x10\x07\x02\x77\x01"), DJS_UNWIND_UNREADABLE); // the stack
}

TEST(UnwindEntries, StepsSetEachRegister) {
    // rax is saved, rbx is the frame's address - 16, r12 is rbp, r13 an expression's value.
    Entries made = function_of("\x80\x02\x14\x03\x02\x09\x0c\x06\x16\x0d\x02\x77\x18");
    auto frame = frame_at(code_at, 0x8000);
    frame.values[6] = 66;
    frame.saved_at[3] = frame.saved_at[12] = frame.saved_at[13] = 1;
    ASSERT_EQ(made.step(frame), DJS_UNWIND_OK);
    EXPECT_EQ(frame.saved_at[0], 0x8008U - 16);
    EXPECT_EQ(frame.values[3], 0x8008U - 16);
    EXPECT_EQ(frame.values[12], 66U);
    EXPECT_EQ(frame.values[13], 0x8018U);
    EXPECT_EQ(frame.saved_at[3] | frame.saved_at[12] | frame.saved_at[13], 0U);
    EXPECT_EQ(frame.values[DJS_DWARF_STACK], 0x8008U);
    EXPECT_FALSE(frame.is_interrupted);
    // An expression finds the frame's address on its stack, and may begin again: 8 times, until it
    // is 0.
    made = function_of("\x16\x03\x06\x31\x1c\x12\x28\xfa\xff");
    frame = frame_at(code_at, 0);
    frame.values[3] = 77;
    ASSERT_EQ(made.step(frame), DJS_UNWIND_OK);
    EXPECT_EQ(frame.values[3], 0U);
    // A register that is none; a return address that nothing tells.
    made = function_of("\x09\x03\x11");
    frame = frame_at(code_at, 0x8000);
    EXPECT_EQ(made.step(frame), DJS_UNWIND_DAMAGED);
    Common common;
    common.instructions = "\x0c\x07\x08";
    made = function_of("", common);
    EXPECT_EQ(made.step(frame), DJS_UNWIND_DAMAGED);
}

// The frame of a signal: what it interrupted may have had a stack below.
TEST(UnwindEntries, SignalsMayHaveAStackOfTheirOwn) {
    Common common;
    common.letters = "zRS";
    Entries made = function_of("\x0e\0"s, common);
    auto frame = frame_at(code_at, 0x8000);
    EXPECT_EQ(made.step(frame), DJS_UNWIND_OK);
    EXPECT_TRUE(frame.is_interrupted);
    EXPECT_EQ(frame.values[DJS_DWARF_STACK], 0x8000U);
    made = function_of("\x14\x07\x02", common); // it is 16 below the frame's address
    frame = frame_at(code_at, 0x8000);
    EXPECT_EQ(made.step(frame), DJS_UNWIND_OK);
    EXPECT_EQ(frame.values[DJS_DWARF_STACK], 0x8008U - 16);
    EXPECT_EQ(frame.saved_at[DJS_DWARF_STACK], 0U);
    made = function_of("\x16\x07\x02\x77\x70", common);
    frame = frame_at(code_at, 0x8000);
    EXPECT_EQ(made.step(frame), DJS_UNWIND_OK);
    EXPECT_EQ(frame.values[DJS_DWARF_STACK], 0x8000U - 16);
}

} // namespace
