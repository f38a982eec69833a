// SPDX-License-Identifier: GPL-2.0-or-later
// Call stacks by .eh_frame: those of this process, which the C++ runtime's own unwinder walks, too,
// and information that is made up.
#include "made_up_frames.h"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <link.h>
#include <string>
#include <ucontext.h>
#include <unwind.h>
#include <vector>

namespace {

using namespace djstap::test;

bool read_own(void*, u64 address, u64* value) {
    std::memcpy(value, reinterpret_cast<const void*>(address), sizeof *value);
    return true;
}

// The unwind information of the files of this process, where it has them in memory.
struct OwnImage {
    u64 begin, end, bias;
    djs_unwind_image image;
};

// Of frames whose address is in memory: all, and those with a flat form. Only some compilers keep
// that of an aligned stack in memory.
unsigned memory_steps, flat_steps;

std::vector<OwnImage> own_images() {
    std::vector<OwnImage> images;
    dl_iterate_phdr(
        [](dl_phdr_info* info, size_t, void* out) {
            OwnImage own{~u64{0}, 0, info->dlpi_addr, {}};
            for (int i = 0; i < info->dlpi_phnum; i++) {
                const auto& header = info->dlpi_phdr[i];
                if (header.p_type == PT_LOAD && header.p_flags & PF_X) {
                    own.begin = info->dlpi_addr + header.p_vaddr;
                    own.end = own.begin + header.p_memsz;
                }
                if (header.p_type == PT_GNU_EH_FRAME) {
                    own.image.index = reinterpret_cast<const u8*>(info->dlpi_addr + header.p_vaddr);
                    own.image.index_at = header.p_vaddr;
                    own.image.index_bytes = static_cast<u32>(header.p_memsz);
                }
            }
            u64 last = 0;
            u32 length = 0;
            if (own.image.index && djs_unwind_open(&own.image, &last) == DJS_UNWIND_OK) {
                std::memcpy(&length, reinterpret_cast<const void*>(info->dlpi_addr + last),
                            sizeof length);
                EXPECT_EQ(djs_unwind_size(&own.image, last, length), DJS_UNWIND_OK);
                own.image.frames =
                    reinterpret_cast<const u8*>(info->dlpi_addr + own.image.frames_at);
                static_cast<std::vector<OwnImage>*>(out)->push_back(own);
            }
            return 0;
        },
        &images);
    return images;
}

// Turns the registers into the caller's by the short or the flat form of a row, if it has one.
djs_unwind_result step_in_short(const djs_unwind_image& image, const djs_unwind_row& row,
                                djs_unwind_frame& frame, djs_unwind_frame& before) {
    djs_unwind_short_row short_row{};
    djs_unwind_flat_row flat_row{};
    if (djs_unwind_shorten(&short_row, &row))
        return djs_unwind_step_short(&frame, &short_row, read_own, nullptr);
    memory_steps += row.base == DJS_UNWIND_NO_REGISTER;
    if (djs_unwind_flatten(&flat_row, &image, &row)) {
        flat_steps++;
        return djs_unwind_step_flat(&frame, &flat_row, read_own, nullptr);
    }
    return djs_unwind_step(&image, &frame, &row, &before, read_own, nullptr);
}

// Walks with these registers; `shorten`: by the short form of rows where there is one.
std::vector<u64> walk(const ucontext_t& registers, bool shorten, djs_unwind_result& result) {
    static const std::vector<OwnImage> images = own_images();
    static constexpr int order[] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
                                    REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                    REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};
    djs_unwind_frame frame{}, before{};
    for (size_t i = 0; i < DJS_DWARF_REGISTERS; i++)
        frame.values[i] = static_cast<u64>(registers.uc_mcontext.gregs[order[i]]);
    frame.is_interrupted = true;
    std::vector<u64> addresses;
    for (result = DJS_UNWIND_OK; result == DJS_UNWIND_OK && addresses.size() < 200;) {
        addresses.push_back(frame.values[DJS_DWARF_RETURN]);
        const u64 place = djs_unwind_place(&frame);
        result = DJS_UNWIND_UNKNOWN;
        for (const OwnImage& own : images) {
            if (place < own.begin || place >= own.end)
                continue;
            djs_unwind_row row{};
            djs_unwind_scratch scratch{};
            result = djs_unwind_find(&own.image, place - own.bias, &row, &scratch);
            if (result != DJS_UNWIND_OK)
                break;
            result = shorten
                         ? step_in_short(own.image, row, frame, before)
                         : djs_unwind_step(&own.image, &frame, &row, &before, read_own, nullptr);
        }
    }
    return addresses;
}

// Part of its caller, so that the walk begins there.
[[gnu::always_inline]] inline std::vector<u64> walk_by_runtime() {
    std::vector<u64> addresses;
    _Unwind_Backtrace(
        [](_Unwind_Context* context, void* out) {
            static_cast<std::vector<u64>*>(out)->push_back(_Unwind_GetIP(context));
            return _URC_NO_REASON;
        },
        &addresses);
    while (!addresses.empty() && !addresses.back())
        addresses.pop_back();
    return addresses;
}

std::vector<u64> expected, long_form, short_form;
djs_unwind_result long_result, short_result;

// Both walks begin in this function: the first address differs, and those behind it do not.
[[gnu::noinline]] void compare_here() {
    ucontext_t here;
    getcontext(&here);
    long_form = walk(here, false, long_result);
    short_form = walk(here, true, short_result);
    expected = walk_by_runtime();
}

void expect_same() {
    EXPECT_EQ(long_result, DJS_UNWIND_LAST);
    EXPECT_EQ(short_result, DJS_UNWIND_LAST);
    EXPECT_EQ(short_form, long_form);
    ASSERT_GT(expected.size(), 5U);
    ASSERT_EQ(long_form.size(), expected.size());
    for (size_t i = 1; i < expected.size(); i++)
        EXPECT_EQ(long_form[i], expected[i]) << "frame " << i;
}

[[gnu::noinline]] int recurse(int depth, const std::function<void()>& act) {
    volatile char room[200];
    room[depth] = 1;
    if (depth)
        return recurse(depth - 1, act) + room[depth];
    act();
    return room[depth];
}

// Realigns its stack, and has a frame of variable size: its address is in memory.
volatile size_t aligned_size = 100;
[[gnu::noinline]] int aligned(const std::function<void()>& act) {
    alignas(64) volatile char room[64];
    auto* more = static_cast<volatile char*>(__builtin_alloca(aligned_size));
    room[3] = 2;
    more[3] = 1;
    act();
    return room[3] + more[3];
}

// A frame of variable size.
[[gnu::noinline]] int variable(size_t size, const std::function<void()>& act) {
    auto* room = static_cast<volatile char*>(__builtin_alloca(size));
    room[size - 1] = 3;
    act();
    return room[size - 1];
}

TEST(Unwind, CallersOfThisProcess) {
    recurse(60, [] { compare_here(); });
    expect_same();
    aligned([] { compare_here(); });
    expect_same();
    memory_steps = flat_steps = 0;
    aligned([] { variable(1000, [] { recurse(3, [] { aligned([] { compare_here(); }); }); }); });
    expect_same();
    EXPECT_EQ(flat_steps, memory_steps);
}

TEST(Unwind, ThroughSignals) {
    struct sigaction action{};
    action.sa_handler = [](int) { compare_here(); };
    ASSERT_EQ(sigaction(SIGUSR1, &action, nullptr), 0);
    memory_steps = flat_steps = 0;
    recurse(5, [] { aligned([] { raise(SIGUSR1); }); });
    expect_same();
    EXPECT_EQ(flat_steps, memory_steps);
    EXPECT_GE(flat_steps, 1U); // the signal's frame
    // On a stack of its own, which may be anywhere.
    std::vector<char> memory(1 << 18);
    stack_t stack{}, old{};
    stack.ss_sp = memory.data();
    stack.ss_size = memory.size();
    ASSERT_EQ(sigaltstack(&stack, &old), 0);
    action.sa_flags = SA_ONSTACK;
    ASSERT_EQ(sigaction(SIGUSR1, &action, nullptr), 0);
    recurse(5, [] { raise(SIGUSR1); });
    signal(SIGUSR1, SIG_DFL);
    ASSERT_EQ(sigaltstack(&old, nullptr), 0);
    expect_same();
}

// ---- information that is made up ----------------------------------------------------------------

TEST(Unwind, AnIndexOfFilesWithoutOne) {
    for (OwnImage own : own_images()) {
        std::vector<djs_unwind_listed> rows;
        djs_unwind_listed some[7];
        u32 offset = 0;
        while (const u32 count = djs_unwind_list(&own.image, &offset, some, 7))
            rows.insert(rows.end(), some, some + count);
        std::stable_sort(rows.begin(), rows.end(),
                         [](const auto& a, const auto& b) { return a.begin < b.begin; });
        // What the linker wrote.
        ASSERT_GE(rows.size(), own.image.rows);
        djs_unwind_image listed = own.image;
        listed.index = reinterpret_cast<const u8*>(rows.data());
        listed.index_at = own.image.frames_at;
        listed.rows = static_cast<u32>(rows.size());
        listed.rows_at = 0;
        for (u64 at = own.begin - own.bias; at < own.end - own.bias; at += 61) {
            djs_unwind_row one{}, other{};
            djs_unwind_scratch scratch{};
            const auto result = djs_unwind_find(&own.image, at, &one, &scratch);
            ASSERT_EQ(djs_unwind_find(&listed, at, &other, &scratch), result) << at;
            if (result != DJS_UNWIND_OK)
                continue;
            EXPECT_EQ(one.base, other.base) << at;
            EXPECT_EQ(one.offset, other.offset) << at;
        }
    }
}

TEST(Unwind, RowsOfInstructions) {
    // push rbp; at 1: 16 bytes; at 4: a base; at 0x20: remember; at 0x30: restored.
    MadeUp file("\x41\x0e\x10\x86\x02\x43\x0d\x06\x5c\x0a\x0c\x07\x08\x50\x0b");
    ASSERT_EQ(file.find(code_at), DJS_UNWIND_OK);
    EXPECT_EQ(file.row.base, u32{DJS_DWARF_STACK});
    EXPECT_EQ(file.row.offset, 8);
    EXPECT_EQ(file.row.rules[DJS_DWARF_FRAME].how, u32{DJS_UNWIND_SAME});
    ASSERT_EQ(file.find(code_at + 1), DJS_UNWIND_OK);
    EXPECT_EQ(file.row.offset, 16);
    EXPECT_EQ(file.row.rules[DJS_DWARF_FRAME].how, u32{DJS_UNWIND_SAVED});
    EXPECT_EQ(file.row.rules[DJS_DWARF_FRAME].n, -16);
    for (const u64 at : {4, 0x1f, 0x30, 0xff}) {
        ASSERT_EQ(file.find(code_at + at), DJS_UNWIND_OK);
        EXPECT_EQ(file.row.base, u32{DJS_DWARF_FRAME}) << at;
    }
    for (const u64 at : {0x20, 0x2f}) {
        ASSERT_EQ(file.find(code_at + at), DJS_UNWIND_OK);
        EXPECT_EQ(file.row.base, u32{DJS_DWARF_STACK}) << at;
        EXPECT_EQ(file.row.offset, 8) << at;
    }
    EXPECT_EQ(file.find(code_at - 1), DJS_UNWIND_UNKNOWN);
    EXPECT_EQ(file.find(code_at + code_bytes), DJS_UNWIND_UNKNOWN);
}

// The address of the frame is in memory; what is saved is near that register, or near the frame's
// address.
const std::string in_memory = "\x0f\x03\x76\x78\x06";  // of the address 8 below rbp
const std::string saved_near = "\x10\x03\x02\x76\x70"; // rbx, 16 below rbp

TEST(Unwind, FlatRows) {
    const auto is_flat = [](const std::string& instructions) {
        MadeUp file(instructions);
        EXPECT_EQ(file.find(code_at), DJS_UNWIND_OK);
        djs_unwind_flat_row flat{};
        return djs_unwind_flatten(&flat, &file.image(), &file.row);
    };
    EXPECT_TRUE(is_flat(in_memory));
    EXPECT_TRUE(is_flat(in_memory + saved_near));
    EXPECT_TRUE(is_flat(in_memory + saved_near + "\x83\x02"));         // and near the frame
    EXPECT_FALSE(is_flat(""));                                         // a register has it
    EXPECT_FALSE(is_flat(std::string("\x0f\x02\x76\x78")));            // it is not in memory
    EXPECT_FALSE(is_flat("\x0f\x04\x76\x78\x06\x06"));                 // it is further away
    EXPECT_FALSE(is_flat("\x0f\x01\x30"));                             // no register
    EXPECT_FALSE(is_flat(in_memory + "\x10\x03\x02\x77\x70"));         // near another register
    EXPECT_FALSE(is_flat(in_memory + "\x10\x03\x03\x76\x70\x06"));     // in memory there
    EXPECT_FALSE(is_flat(in_memory + "\x10\x03\x04\x76\x80\x80\x04")); // too far
    EXPECT_FALSE(is_flat(in_memory + "\x09\x03\x06"));                 // in a register
    EXPECT_FALSE(is_flat(in_memory + "\x08\x10")); // nothing has saved the return address
}

TEST(Unwind, WhatCannotBeTrusted) {
    const std::string bad[] = {
        "\x0b",                                  // restores what was not remembered
        "\x0a\x0a\x0a\x0a",                      // remembers more than is kept
        "\x3f",                                  // no such instruction
        "\x0c\x40\x08",                          // a register that is none
        "\x0e" + std::string(20, '\x80') + "\1", // a number of too many digits
        "\x0e" + std::string(5, '\xff') + "\1",  // and one that is too large
        "\x0f\x7f\x77",                          // an expression behind the end
        "\x10\x06" + std::string(9, '\xff') + "\1",
        "\x41\x41\x0e", // a missing operand: no padding follows
        // Offsets that are too large, if not before then when they are multiplied.
        "\x86" + std::string(8, '\xb1') + "\x31",
        "\x05\x06" + std::string(8, '\xb1') + "\x31",
        "\x11\x06" + std::string(8, '\xb1') + "\x31",
        "\x12\x06" + std::string(8, '\xb1') + "\x31",
        "\x13" + std::string(8, '\xb1') + "\x31",
        "\x14\x06" + std::string(8, '\xb1') + "\x31",
        "\x15\x06" + std::string(8, '\xb1') + "\x31",
        "\x2f\x06" + std::string(8, '\xb1') + "\x31",
    };
    for (const std::string& instructions : bad)
        EXPECT_EQ(MadeUp(instructions).find(code_at + 0x80), DJS_UNWIND_DAMAGED)
            << testing::PrintToString(instructions);
    EXPECT_EQ(MadeUp("", MadeUp::initial, "zQ").find(code_at), DJS_UNWIND_DAMAGED);
    EXPECT_EQ(MadeUp("", MadeUp::initial, "eh").find(code_at), DJS_UNWIND_DAMAGED);
    EXPECT_EQ(MadeUp("", "\xc6").find(code_at), DJS_UNWIND_DAMAGED); // restores too early
}

TEST(Unwind, StepsThatCannotBeTrusted) {
    MadeUp file("");
    ASSERT_EQ(file.find(code_at), DJS_UNWIND_OK);
    auto frame = frame_at(code_at, 0x8001);
    EXPECT_EQ(file.step(frame), DJS_UNWIND_UNREADABLE);
    frame = frame_at(code_at, 0x8000);
    file.row.offset = 0; // would not end
    EXPECT_EQ(file.step(frame), DJS_UNWIND_DAMAGED);
    // The outermost function.
    MadeUp last("\x07\x10");
    ASSERT_EQ(last.find(code_at), DJS_UNWIND_OK);
    EXPECT_EQ(last.step(frame), DJS_UNWIND_LAST);
    djs_unwind_short_row short_row;
    ASSERT_TRUE(djs_unwind_shorten(&short_row, &last.row));
    EXPECT_EQ(djs_unwind_step_short(&frame, &short_row, read_own, nullptr), DJS_UNWIND_LAST);
    // Expressions: an endless loop, an empty stack, too many values, a jump to nowhere.
    for (const std::string& expression :
         {std::string("\x2f\xfd\xff", 3), std::string("\x22", 1), std::string(17, '\x30'),
          std::string("\x2f\xff\x7f", 3), std::string("\x1b", 1), std::string("", 0)}) {
        MadeUp with(std::string("\x0f") + static_cast<char>(expression.size()) + expression);
        ASSERT_EQ(with.find(code_at), DJS_UNWIND_OK);
        auto at = frame_at(code_at, 0x8000);
        EXPECT_EQ(with.step(at), DJS_UNWIND_DAMAGED) << testing::PrintToString(expression);
    }
}

// Offsets into the frames are of 31 bits, with some room behind them.
TEST(Unwind, FramesAreNotLargerThanOffsetsReach) {
    constexpr u32 most = 0x3ffffff0;
    djs_unwind_image image{};
    image.frames_at = 0x1000;
    EXPECT_EQ(djs_unwind_size(&image, 0x1000 + u64{most}, most), DJS_UNWIND_OK);
    EXPECT_EQ(image.frames_bytes, 2 * most + 4);
    EXPECT_EQ(djs_unwind_size(&image, 0x1001 + u64{most}, 0), DJS_UNWIND_DAMAGED);
    EXPECT_EQ(djs_unwind_size(&image, 0x1000, most + 1), DJS_UNWIND_DAMAGED);
    EXPECT_EQ(djs_unwind_size(&image, 0x1000, 0xffffffff), DJS_UNWIND_DAMAGED);
}

// A file may be made to keep a handler busy.
TEST(Unwind, WorkIsBounded) {
    // Within an address, each is an instruction that changes nothing.
    EXPECT_EQ(MadeUp(std::string(DJS_UNWIND_INSTRUCTIONS / 2, '\x40')).find(code_at),
              DJS_UNWIND_OK);
    EXPECT_EQ(MadeUp(std::string(2 * DJS_UNWIND_INSTRUCTIONS, '\x40')).find(code_at),
              DJS_UNWIND_DAMAGED);
    EXPECT_EQ(MadeUp("", MadeUp::initial, "zRSSSSSS").find(code_at), DJS_UNWIND_OK);
    EXPECT_EQ(MadeUp("", MadeUp::initial, "zR" + std::string(100000, 'S')).find(code_at),
              DJS_UNWIND_DAMAGED);
}

// What is looked at in one go is bounded, also where nothing is found: entries that are common.
TEST(Unwind, ListsAreMadeInPieces) {
    std::string frames;
    const std::string common("\x0c\0\0\0\0\0\0\0\1zR\0\1\x78\x10\0", 16);
    for (int i = 0; i < 10000; i++)
        frames += common;
    djs_unwind_image image{};
    image.frames = reinterpret_cast<const u8*>(frames.data());
    image.frames_at = frames_at;
    image.frames_bytes = static_cast<u32>(frames.size());
    djs_unwind_listed rows[8];
    u32 offset = 0, calls = 0;
    for (u32 before = 1; offset != before; calls++) {
        before = offset;
        EXPECT_EQ(djs_unwind_list(&image, &offset, rows, 8), 0U);
        EXPECT_LT(offset - before, frames.size() / 2);
    }
    EXPECT_EQ(offset, frames.size());
    EXPECT_GE(calls, 3U);
}

} // namespace
