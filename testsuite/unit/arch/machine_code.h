// SPDX-License-Identifier: GPL-2.0-or-later
// Machine code of x86-64, and what objdump reads in it.
#pragma once
#include "system/file.h"
#include "system/process.h"
#include "system/temporary.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace djstap::test {

// Bytes that do not end at a NUL.
template <size_t size> std::string bytes(const char (&text)[size]) {
    return {text, size - 1};
}

struct Listed {
    size_t length = 0;
    std::string text; // "mov    %rcx,%rax"
};

// Returns what objdump reads in code at this address, by the addresses of its instructions.
inline std::map<uint64_t, Listed> listing(const std::string& code, uint64_t at) {
    std::map<uint64_t, Listed> found;
    auto folder = TemporaryFolder::create(temporary_directory());
    if (!folder || !write_file(folder->file("code"), code)) {
        ADD_FAILURE() << "no file for the code";
        return found;
    }
    const auto objdump = run_program({"objdump", "-D", "-w", "-b", "binary", "-m", "i386:x86-64",
                                      "--adjust-vma=" + std::to_string(at), folder->file("code")});
    if (!objdump || objdump->status != 0) {
        ADD_FAILURE() << "objdump failed";
        return found;
    }
    std::istringstream lines(objdump->output);
    for (std::string line; std::getline(lines, line);) {
        // "    1000:\t48 89 c8             \tmov    %rcx,%rax"
        const size_t first = line.find(":\t"), second = line.find('\t', first + 2);
        if (first == std::string::npos || second == std::string::npos)
            continue;
        Listed one{0, line.substr(second + 1)};
        for (size_t i = first + 2; i < second; i++)
            one.length += isxdigit(static_cast<unsigned char>(line[i])) != 0;
        one.length /= 2;
        found[strtoull(line.c_str(), nullptr, 16)] = std::move(one);
    }
    return found;
}

// Whether objdump and LLVM divide these bytes differently, and why.
inline bool is_divided_otherwise(std::string_view code) {
    const std::string_view behind = code.substr(code.find_first_of("\x48\x66\xf3") == 0);
    // fwait: a prefix of the x87 operation behind it for objdump, which prints REX before it alone.
    if (behind.starts_with('\x9b'))
        return true;
    // A call with the prefix of 16 bits has two bytes less on AMD's processors (objdump) than on
    // Intel's, which ignore the prefix (LLVM).
    return code.starts_with("\x66\xe8");
}

// Returns the instruction that objdump reads in the code at an address, where the decoder has read
// `length` bytes; nullptr if one of them reads none. Both read the same bytes.
inline const Listed* read_by_both(const std::map<uint64_t, Listed>& listed, uint64_t at,
                                  std::string_view code, size_t length) {
    const auto line = listed.find(at);
    if (length == 0 || line == listed.end() ||
        line->second.text.find("(bad)") != std::string::npos || is_divided_otherwise(code))
        return nullptr;
    EXPECT_EQ(length, line->second.length) << line->second.text;
    return &line->second;
}

// Instructions that are read one by one: each is followed by no-ops up to a multiple of 16 bytes.
constexpr size_t slot = 16;
inline std::string in_slots(const std::vector<std::string>& instructions) {
    std::string code;
    for (const std::string& each : instructions) {
        code += each;
        code.resize((code.size() + slot - 1) / slot * slot, '\x90');
    }
    return code;
}

// A byte of an operation's code that is none but begins a longer one, or is a prefix.
inline bool is_opcode(unsigned byte) {
    constexpr std::string_view others("\x0f\x26\x2e\x36\x3e\x62\x64\x65\x66\x67\xc4\xc5\xf0\xf2"
                                      "\xf3",
                                      15);
    return (byte & 0xf0) != 0x40 && others.find(static_cast<char>(byte)) == std::string_view::npos;
}

// Every operation's code of one and of two bytes behind `prefix`, with each of these ModRM bytes
// (without the group's bits) in each of the eight groups.
inline std::vector<std::string> all_opcodes(const std::string& prefix,
                                            const std::vector<unsigned>& operands) {
    std::vector<std::string> all;
    for (const char* const map : {"", "\x0f"})
        for (unsigned code = 0; code < 256; code++) {
            if (*map ? code == 0x38 || code == 0x3a : !is_opcode(code))
                continue;
            for (const unsigned operand : operands)
                for (unsigned group = 0; group < 8; group++)
                    all.push_back(prefix + map + static_cast<char>(code) +
                                  static_cast<char>(operand | group << 3));
        }
    return all;
}

} // namespace djstap::test
