// SPDX-License-Identifier: GPL-2.0-or-later
// What an object's relocations and a program's code are called.
#include "arch/arch.h"
#include "arch/x86_64/registers.h"
#include "machine_code.h"

#include <cstddef>
#include <elf.h>
#include <sys/user.h>
#include <tuple>

namespace djstap::arch {
namespace {

using test::bytes;

TEST(Relocations, HaveTheNamesOfTheHeader) {
#define TYPE(name) {name, #name}
    static constexpr std::pair<uint32_t, const char*> types[] = {
        TYPE(R_X86_64_NONE),
        TYPE(R_X86_64_64),
        TYPE(R_X86_64_PC32),
        TYPE(R_X86_64_GOT32),
        TYPE(R_X86_64_PLT32),
        TYPE(R_X86_64_COPY),
        TYPE(R_X86_64_GLOB_DAT),
        TYPE(R_X86_64_JUMP_SLOT),
        TYPE(R_X86_64_RELATIVE),
        TYPE(R_X86_64_GOTPCREL),
        TYPE(R_X86_64_32),
        TYPE(R_X86_64_32S),
        TYPE(R_X86_64_16),
        TYPE(R_X86_64_PC16),
        TYPE(R_X86_64_8),
        TYPE(R_X86_64_PC8),
        TYPE(R_X86_64_DTPMOD64),
        TYPE(R_X86_64_DTPOFF64),
        TYPE(R_X86_64_TPOFF64),
        TYPE(R_X86_64_TLSGD),
        TYPE(R_X86_64_TLSLD),
        TYPE(R_X86_64_DTPOFF32),
        TYPE(R_X86_64_GOTTPOFF),
        TYPE(R_X86_64_TPOFF32),
        TYPE(R_X86_64_PC64),
        TYPE(R_X86_64_GOTOFF64),
        TYPE(R_X86_64_GOTPC32),
        TYPE(R_X86_64_GOT64),
        TYPE(R_X86_64_GOTPCREL64),
        TYPE(R_X86_64_GOTPC64),
        TYPE(R_X86_64_GOTPLT64),
        TYPE(R_X86_64_PLTOFF64),
        TYPE(R_X86_64_SIZE32),
        TYPE(R_X86_64_SIZE64),
        TYPE(R_X86_64_GOTPC32_TLSDESC),
        TYPE(R_X86_64_TLSDESC_CALL),
        TYPE(R_X86_64_TLSDESC),
        TYPE(R_X86_64_IRELATIVE),
        TYPE(R_X86_64_RELATIVE64),
        TYPE(R_X86_64_GOTPCRELX),
        TYPE(R_X86_64_REX_GOTPCRELX),
    };
#undef TYPE
    for (const auto& [type, name] : types)
        EXPECT_EQ(relocation_name(type), name);
    for (const uint32_t type : {39U, 40U, 43U, 1000U})
        EXPECT_EQ(relocation_name(type), "relocation type " + std::to_string(type));
}

// The psABI's table 4.10: what a type stores, and in how many bytes.
TEST(Relocations, StoreAddressesOrDistances) {
    struct Stored {
        size_t address, distance;
        bool loadable;
        bool operator==(const Stored&) const = default;
    };
    const std::map<uint32_t, Stored> known{
        {R_X86_64_NONE, {0, 0, true}}, {R_X86_64_64, {8, 0, true}},
        {R_X86_64_32, {4, 0, true}},   {R_X86_64_32S, {4, 0, true}},
        {R_X86_64_PC32, {0, 4, true}}, {R_X86_64_PLT32, {0, 4, true}},
        {R_X86_64_PC64, {0, 8, true}},
    };
    for (uint32_t type = 0; type < 64; type++) {
        const auto own = known.find(type);
        EXPECT_EQ((Stored{absolute_relocation_bytes(type), distance_relocation_bytes(type),
                          is_loadable_relocation(type)}),
                  own == known.end() ? Stored{} : own->second)
            << relocation_name(type);
        EXPECT_EQ(is_branch_relocation(type), type == R_X86_64_PLT32);
        EXPECT_EQ(is_relative_relocation(type), type == R_X86_64_RELATIVE ||
                                                    type == R_X86_64_IRELATIVE ||
                                                    type == R_X86_64_RELATIVE64)
            << relocation_name(type);
    }
}

TEST(DirectBranches, EndWhereTheNextInstructionBegins) {
    const auto shown = [](std::string_view code, bool jump) {
        std::string text;
        constexpr uint64_t end = 0x10000;
        for (const DirectBranch& each : direct_branches_before(end, code, jump)) {
            char one[64];
            snprintf(one, sizeof one, "%s%#lx: %#lx", text.empty() ? "" : ", ", each.address,
                     each.target);
            text += one;
        }
        return text;
    };
    EXPECT_EQ(shown(bytes("\xe8\x10\0\0\0"), false), "0xfffb: 0x10010");
    EXPECT_EQ(shown(bytes("\xe8\xf0\xff\xff\xff"), false), "0xfffb: 0xfff0");
    EXPECT_EQ(shown(bytes("\xe9\x10\0\0\0"), true), "0xfffb: 0x10010");
    // What ends like both may be either.
    EXPECT_EQ(shown(bytes("\xe9\x10\0\xeb\x80"), true),
              "0xfffb: 0xffffffff80ec0010, 0xfffe: 0xff80");
    EXPECT_EQ(shown(bytes("\x90\x90\x90\xeb\x7f"), true), "0xfffe: 0x1007f");
    EXPECT_EQ(shown(bytes("\x90\x90\x90\xeb\x7f"), false), "");
    EXPECT_EQ(shown(bytes("\xe9\x10\0\0\0"), false), "");
    EXPECT_EQ(shown(bytes("\xeb\x7f"), true), "0xfffe: 0x1007f");
    EXPECT_EQ(shown(bytes("\x7f"), true), "");
    EXPECT_EQ(shown(bytes("\x10\0\0\0"), false), "");
    EXPECT_EQ(shown("", true), "");
    EXPECT_EQ(longest_direct_branch(), bytes("\xe8\x10\0\0\0").size());
}

TEST(Thunks, AreKnownByTheirSymbols) {
    EXPECT_EQ(thunk_of("__x86_return_thunk"), Thunk::Return);
    EXPECT_EQ(thunk_of("__x86_indirect_thunk_rax"), Thunk::Indirect);
    EXPECT_EQ(thunk_of("__x86_return_thunk_other"), Thunk::None);
    EXPECT_EQ(thunk_of("f"), Thunk::None);
    // cs jne thunk: a prefix, then an operation of two bytes.
    EXPECT_EQ(longest_branch_opcode(), bytes("\x2e\x0f\x85").size());
}

// As the linkers write them: plain, with -z ibtplt, and with the prefix of bounds.
TEST(Stubs, JumpThroughTheirSlot) {
    constexpr uint64_t at = 0x401000;
    EXPECT_EQ(slot_of_stub(bytes("\xff\x25\x10\0\0\0"), at), at + 6 + 16);
    EXPECT_EQ(slot_of_stub(bytes("\xff\x25\xf0\xff\xff\xff"), at), at + 6 - 16);
    EXPECT_EQ(slot_of_stub(bytes("\xf2\xff\x25\x10\0\0\0"), at), at + 7 + 16);
    EXPECT_EQ(slot_of_stub(bytes("\xf3\x0f\x1e\xfa\xff\x25\x10\0\0\0"), at), at + 10 + 16);
    EXPECT_EQ(slot_of_stub(bytes("\xf3\x0f\x1e\xfa\xf2\xff\x25\x10\0\0\0\x90"), at), at + 11 + 16);
    EXPECT_EQ(slot_of_stub(bytes("\xff\x25\x10\0\0"), at), std::nullopt);
    EXPECT_EQ(slot_of_stub(bytes("\xff\x15\x10\0\0\0"), at), std::nullopt);
    EXPECT_EQ(slot_of_stub(bytes("\x90\xff\x25\x10\0\0\0"), at), std::nullopt);
    EXPECT_EQ(slot_of_stub("", at), std::nullopt);
}

// A tracer reads the registers as the kernel saves them: struct user_regs_struct.
TEST(Registers, AreInTheOrderOfTheKernel) {
    const auto index = [](size_t offset) { return PtReg{static_cast<uint8_t>(offset / 8)}; };
#define AT(name) index(offsetof(user_regs_struct, name))
    EXPECT_EQ(stack_pointer(), AT(rsp));
    EXPECT_EQ(instruction_pointer(), AT(rip));
    EXPECT_EQ(result_register(), AT(rax));
    EXPECT_EQ(syscall_number_register(), AT(orig_rax));
    EXPECT_EQ(saved_register_count(), static_cast<size_t>(AT(ss)) + 1);
    // The psABI's figures 3.4 and 3.36, and appendix A.2.1.
    const std::vector<PtReg> arguments{AT(rdi), AT(rsi), AT(rdx), AT(rcx), AT(r8), AT(r9)};
    EXPECT_TRUE(std::ranges::equal(argument_registers(), arguments));
    const std::vector<PtReg> of_syscalls{AT(rdi), AT(rsi), AT(rdx), AT(r10), AT(r8), AT(r9)};
    EXPECT_TRUE(std::ranges::equal(syscall_argument_registers(), of_syscalls));
    const std::vector<PtReg> dwarf{AT(rax), AT(rdx), AT(rcx), AT(rbx), AT(rsi), AT(rdi),
                                   AT(rbp), AT(rsp), AT(r8),  AT(r9),  AT(r10), AT(r11),
                                   AT(r12), AT(r13), AT(r14), AT(r15), AT(rip)};
    for (size_t i = 0; i < dwarf.size(); i++)
        EXPECT_EQ(register_of_dwarf(i), dwarf[i]) << i;
    EXPECT_EQ(register_of_dwarf(dwarf.size()), std::nullopt);
    EXPECT_EQ(register_of_dwarf(frame_pointer_in_dwarf()), AT(rbp));
    EXPECT_EQ(frame_pointer_from_entry(), -8); // behind push %rbp
    EXPECT_TRUE(is_seen_by_direct_call(AT(rsp)));
    EXPECT_TRUE(is_seen_by_direct_call(AT(r9)));
    EXPECT_FALSE(is_seen_by_direct_call(AT(rax)));
#undef AT
    EXPECT_EQ(return_address_bytes(), 8U);
}

} // namespace
} // namespace djstap::arch
