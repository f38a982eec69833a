// SPDX-License-Identifier: GPL-2.0-or-later
#include "image/sdt_notes.h"

#include "arch/arch.h"
#include "image/elf_file.h"
#include "system/elf_notes.h"

#include <algorithm>
#include <cstring>

namespace djstap {

namespace {

constexpr std::string_view notes_section = ".note.stapsdt", owner("stapsdt\0", 8);
constexpr std::string_view base_section = ".stapsdt.base";
constexpr uint32_t note_type = 3;
constexpr size_t most_arguments = 12; // as <sys/sdt.h> has them

// A semaphore counts the probes of its mark in 16 bits of the program's data.
uint64_t offset_of_semaphore(const Image& program, uint64_t address) {
    if (address == 0 || address % sizeof(uint16_t) != 0)
        return 0;
    for (const Segment& segment : program.segments())
        if (segment.contains(address) && !segment.executable)
            return address - segment.file_distance;
    return 0;
}

// Reads the content of a note. `moved`: by how much the program was moved after it was linked.
std::optional<SdtMark> mark_of(std::string_view content, const Image& program,
                               uint64_t linked_base) {
    struct {
        uint64_t address, base, semaphore;
    } fixed;
    if (content.size() < sizeof fixed)
        return std::nullopt;
    std::memcpy(&fixed, content.data(), sizeof fixed);
    content.remove_prefix(sizeof fixed);
    const auto provider = take_string(content);
    const auto name = provider ? take_string(content) : std::nullopt;
    const auto arguments = name ? take_string(content) : std::nullopt;
    if (!arguments || name->empty())
        return std::nullopt;
    const uint64_t moved = linked_base ? linked_base - fixed.base : 0;
    SdtMark mark;
    mark.provider = *provider;
    mark.name = *name;
    mark.address = fixed.address + moved;
    mark.semaphore = fixed.semaphore ? offset_of_semaphore(program, fixed.semaphore + moved) : 0;
    mark.arguments = sdt_arguments(*arguments, program);
    if (!program.in_text(mark.address) || (fixed.semaphore && !mark.semaphore))
        return std::nullopt;
    return mark;
}

} // namespace

std::vector<SdtArgument> sdt_arguments(std::string_view text, const Image& program) {
    std::vector<SdtArgument> arguments;
    const auto symbol_address = [&](std::string_view name) -> std::optional<uint64_t> {
        const auto symbol = program.symbol(name);
        return symbol ? std::optional(symbol->address) : std::nullopt;
    };
    while (!text.empty() && arguments.size() < most_arguments) {
        const size_t end = std::min(text.find(' '), text.size());
        std::string_view one = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (one.empty())
            continue;
        SdtArgument argument;
        const size_t at = one.find('@');
        bool is_number = true;
        if (at != std::string_view::npos) {
            std::string_view size = one.substr(0, at);
            argument.is_signed = size.starts_with('-');
            if (argument.is_signed)
                size.remove_prefix(1);
            is_number = size == "1" || size == "2" || size == "4" || size == "8";
            if (is_number)
                argument.size = static_cast<uint8_t>(size.front() - '0');
            one.remove_prefix(at + 1);
        }
        argument.location = is_number ? arch::location_of_operand(one, symbol_address)
                                      : nowhere("it is not an integer");
        arguments.push_back(std::move(argument));
    }
    return arguments;
}

std::vector<SdtMark> sdt_marks(const Image& program) {
    std::vector<SdtMark> marks;
    const ElfFile* elf = program.elf();
    const ElfSection* base = elf ? elf->section(base_section) : nullptr;
    const ElfSection* section = elf ? elf->section(notes_section) : nullptr;
    std::string_view notes = section ? section->bytes : std::string_view();
    while (const auto note = take_note(notes))
        if (note->type == note_type && note->owner == owner)
            if (auto mark = mark_of(note->content, program, base ? base->address : 0))
                marks.push_back(std::move(*mark));
    return marks;
}

} // namespace djstap
