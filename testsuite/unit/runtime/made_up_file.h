// SPDX-License-Identifier: GPL-2.0-or-later
// A program as stacks read it: segments, sections, unwind information and an index of that.
#pragma once
#include "include/platform.h"
#include "made_up_frames.h"

#include <cstring>
#include <elf.h>
#include <string>
#include <vector>

namespace djstap::test {

// A program: its code at 0x401000, its unwind information at 0x500000, and an index of that.
struct MadeUpFile {
    static constexpr u64 code = 0x401000, frames = 0x500000, index = 0x600000;
    static constexpr u64 code_offset = 0x1000, frames_offset = 0x2000, index_offset = 0x3000,
                         notes_offset = 0x4000, sections_offset = 0x6000, names_offset = 0x7000;

    MadeUpFile() {
        std::memcpy(elf.e_ident, ELFMAG, SELFMAG);
        elf.e_ident[EI_CLASS] = ELFCLASS64;
        elf.e_machine = EM_X86_64;
        elf.e_phentsize = sizeof(Elf64_Phdr);
        elf.e_shentsize = sizeof(Elf64_Shdr);
        elf.e_phoff = sizeof elf;
        elf.e_shoff = sections_offset;
        add_common();
        add_function(code, 0x100);
        // version 1; relative; u32; a table relative to here
        djstap::test::append(index_text, 0x3b031b01, 4);
        djstap::test::append(index_text, frames - (index + 4), 4);
        djstap::test::append(index_text, 1, 4);
        djstap::test::append(index_text, code - index, 4);
        djstap::test::append(index_text, frames + function_at - index, 4);
        headers = {
            {PT_LOAD, PF_R | PF_X, code_offset, code, code, 0x800, 0x800, 0x1000},
            {PT_LOAD, PF_R, frames_offset, frames, frames, frames_text.size(), 0x1000, 0x1000},
            {PT_LOAD, PF_R, index_offset, index, index, index_text.size(), 0x1000, 0x1000},
            {PT_NOTE, PF_R, notes_offset, 0, 0, 0, 0, 4},
            {PT_GNU_EH_FRAME, PF_R, index_offset, index, index, index_text.size(), 0, 4},
        };
    }
    void add_entry(const std::string& body) {
        djstap::test::append(frames_text, body.size(), 4);
        frames_text += body;
    }
    void add_common() { add_entry("\0\0\0\0\1zR\0\1\x78\x10\1\x1b\x0c\x07\x08\x90\x01"s); }
    void add_function(u64 begin, u32 bytes) {
        std::string body;
        function_at = frames_text.size();
        djstap::test::append(body, function_at + 4, 4);
        djstap::test::append(body, begin - (frames + function_at + 8), 4);
        djstap::test::append(body, bytes, 4);
        add_entry(body + '\0');
    }
    // In place of the index, a section of the frames.
    void use_sections() {
        headers.pop_back();
        sections = {
            {},
            {11, SHT_STRTAB, 0, 0, names_offset, 32, 0, 0, 1, 0},
            {1, SHT_PROGBITS, SHF_ALLOC, frames, frames_offset, frames_text.size(), 0, 0, 8, 0}};
        elf.e_shstrndx = 1;
    }
    static std::string note(u32 type, const std::string& name, const std::string& text) {
        std::string made;
        djstap::test::append(made, name.size(), 4);
        djstap::test::append(made, text.size(), 4);
        djstap::test::append(made, type, 4);
        for (const std::string& each : {name, text}) {
            made += each;
            made.resize((made.size() + 3) / 4 * 4, '\0');
        }
        return made;
    }
    void set_notes(const std::string& text) {
        notes = text;
        headers[3].p_filesz = notes.size();
    }
    const std::string& made() {
        elf.e_phnum = static_cast<Elf64_Half>(headers.size());
        elf.e_shnum = static_cast<Elf64_Half>(sections.size());
        whole.assign(0x8000, '\0');
        const auto put = [&](u64 at, const void* from, size_t bytes) {
            if (at + bytes <= whole.size())
                whole.replace(at, bytes, static_cast<const char*>(from), bytes);
        };
        put(0, &elf, sizeof elf);
        put(sizeof elf, headers.data(), headers.size() * sizeof headers[0]);
        put(frames_offset, frames_text.data(), frames_text.size());
        put(index_offset, index_text.data(), index_text.size());
        put(notes_offset, notes.data(), notes.size());
        put(sections_offset, sections.data(), sections.size() * sizeof(Elf64_Shdr));
        const std::string names = "\0.eh_frame\0.shstrtab\0.eh_frame_hdr\0"s;
        put(names_offset, names.data(), names.size());
        return whole;
    }

    Elf64_Ehdr elf{};
    std::vector<Elf64_Phdr> headers;
    std::vector<Elf64_Shdr> sections;
    std::string frames_text, index_text, notes, whole;
    size_t function_at = 0;
};

} // namespace djstap::test
