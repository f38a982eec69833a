// SPDX-License-Identifier: GPL-2.0-or-later
// Relocations, thunks, and the landing pad.
#include "arch/arch.h"

#include <elf.h>

#include <cstring>
#include <iterator>

namespace djstap::arch {

// endbr64
std::string_view landing_pad() {
    return "\xf3\x0f\x1e\xfa";
}

std::string_view landing_pad_option() {
    return "X86_KERNEL_IBT";
}

std::string relocation_name(uint32_t type) {
    static constexpr const char* names[] = {
        "NONE",         "64",       "PC32",      "GOT32",      "PLT32",
        "COPY",         "GLOB_DAT", "JUMP_SLOT", "RELATIVE",   "GOTPCREL",
        "32",           "32S",      "16",        "PC16",       "8",
        "PC8",          "DTPMOD64", "DTPOFF64",  "TPOFF64",    "TLSGD",
        "TLSLD",        "DTPOFF32", "GOTTPOFF",  "TPOFF32",    "PC64",
        "GOTOFF64",     "GOTPC32",  "GOT64",     "GOTPCREL64", "GOTPC64",
        "GOTPLT64",     "PLTOFF64", "SIZE32",    "SIZE64",     "GOTPC32_TLSDESC",
        "TLSDESC_CALL", "TLSDESC",  "IRELATIVE", "RELATIVE64"};
    if (type < std::size(names))
        return std::string("R_X86_64_") + names[type];
    if (type == R_X86_64_GOTPCRELX)
        return "R_X86_64_GOTPCRELX";
    if (type == R_X86_64_REX_GOTPCRELX)
        return "R_X86_64_REX_GOTPCRELX";
    return "relocation type " + std::to_string(type);
}

// apply_relocate_add in arch/x86/kernel/module.c
bool is_loadable_relocation(uint32_t type) {
    switch (type) {
    case R_X86_64_NONE:
    case R_X86_64_64:
    case R_X86_64_32:
    case R_X86_64_32S:
    case R_X86_64_PC32:
    case R_X86_64_PLT32:
    case R_X86_64_PC64:
        return true;
    default:
        return false;
    }
}

bool is_branch_relocation(uint32_t type) {
    return type == R_X86_64_PLT32;
}

size_t absolute_relocation_bytes(uint32_t type) {
    switch (type) {
    case R_X86_64_64:
        return 8;
    case R_X86_64_32:
    case R_X86_64_32S:
        return 4;
    default:
        return 0;
    }
}

size_t distance_relocation_bytes(uint32_t type) {
    switch (type) {
    case R_X86_64_PC64:
        return 8;
    case R_X86_64_PC32:
    case R_X86_64_PLT32:
        return 4;
    default:
        return 0;
    }
}

bool is_relative_relocation(uint32_t type) {
    return type == R_X86_64_RELATIVE || type == R_X86_64_IRELATIVE || type == R_X86_64_RELATIVE64;
}

// call rel32, or jmp rel32 and rel8.
std::vector<DirectBranch> direct_branches_before(uint64_t end, std::string_view bytes, bool jump) {
    std::vector<DirectBranch> found;
    auto add = [&](char opcode, auto displacement) {
        constexpr size_t size = 1 + sizeof displacement;
        if (bytes.size() < size || bytes[bytes.size() - size] != opcode)
            return;
        std::memcpy(&displacement, bytes.data() + bytes.size() - sizeof displacement,
                    sizeof displacement);
        found.push_back({end - size, end + static_cast<uint64_t>(int64_t{displacement})});
    };
    if (!jump) {
        add('\xe8', int32_t{});
        return found;
    }
    add('\xe9', int32_t{});
    add('\xeb', int8_t{});
    return found;
}

size_t longest_direct_branch() {
    return 5;
}

Thunk thunk_of(std::string_view symbol) {
    if (symbol == "__x86_return_thunk")
        return Thunk::Return;
    return symbol.starts_with("__x86_indirect_thunk_") ? Thunk::Indirect : Thunk::None;
}

// One byte, or two (jcc), and possibly a prefix (cs).
uint64_t longest_branch_opcode() {
    return 3;
}

std::optional<uint64_t> slot_of_stub(std::string_view code, uint64_t address) {
    constexpr std::string_view bound_prefix = "\xf2", jump = "\xff\x25";
    const std::string_view whole = code;
    if (code.starts_with(landing_pad()))
        code.remove_prefix(landing_pad().size());
    if (code.starts_with(bound_prefix))
        code.remove_prefix(bound_prefix.size());
    int32_t distance = 0;
    if (!code.starts_with(jump) || code.size() < jump.size() + sizeof distance)
        return std::nullopt;
    std::memcpy(&distance, code.data() + jump.size(), sizeof distance);
    const uint64_t end = address + (whole.size() - code.size()) + jump.size() + sizeof distance;
    return end + static_cast<uint64_t>(int64_t{distance});
}

} // namespace djstap::arch
