// SPDX-License-Identifier: GPL-2.0-or-later
#include "regions/go_table.h"

#include "arch/instructions.h"
#include "image/relocated_word.h"
#include "system/byte_reader.h"

#include <algorithm>
#include <array>
#include <optional>

namespace djstap::regions {

namespace {

constexpr uint32_t magic_of_1_18 = 0xfffffff0, magic_of_1_20 = 0xfffffff1;
constexpr uint8_t instruction_quantum = 1, pointer_bytes = 8;

template <class T> T number(std::string_view bytes, uint64_t at) {
    return ByteReader(bytes.substr(std::min<uint64_t>(at, bytes.size()))).fixed<T>();
}

struct Header {
    std::string_view table; // from the header to the end of the section
    uint64_t functions = 0, text = 0, names = 0, numbers = 0, entries = 0;
    bool has_lines = false; // a function's struct has the line where it starts
};

// pcHeader: a magic number, the instruction quantum, the size of a pointer, numbers of functions
// and files, the address of the code, offsets of the parts.
std::optional<Header> read_header(const ElfFile& file, const ElfSection& section, size_t at) {
    ByteReader reader(section.bytes.substr(at));
    const auto magic = reader.fixed<uint32_t>();
    const auto padding = reader.fixed<uint16_t>();
    const auto quantum = reader.fixed<uint8_t>();
    const auto pointer = reader.fixed<uint8_t>();
    if (reader.failed() || (magic != magic_of_1_18 && magic != magic_of_1_20) || padding ||
        quantum != instruction_quantum || pointer != pointer_bytes)
        return std::nullopt;
    Header header;
    header.has_lines = magic == magic_of_1_20;
    header.table = section.bytes.substr(at);
    header.functions = reader.fixed<uint64_t>();
    (void)reader.fixed<uint64_t>(); // files
    const uint64_t place = section.address + at + reader.position();
    header.text = relocated_word(file, place, reader.fixed<uint64_t>());
    header.names = reader.fixed<uint64_t>();
    for (int i = 0; i < 2; i++) // units, files
        (void)reader.fixed<uint64_t>();
    header.numbers = reader.fixed<uint64_t>();
    header.entries = reader.fixed<uint64_t>();
    const uint64_t size = header.table.size();
    if (reader.failed() || !header.text || header.names >= size || header.entries >= size ||
        header.functions > (size - header.entries) / 8)
        return std::nullopt;
    return header;
}

bool is_go(const ElfFile& file) {
    return file.section(".note.go.buildid") || file.section(".go.buildinfo") ||
           file.section(".gopclntab");
}

std::optional<Header> find_header(const ElfFile& file) {
    if (const ElfSection* section = file.section(".gopclntab"))
        return read_header(file, *section, 0);
    // Of a program that may be loaded anywhere, it is among what the loader relocates.
    constexpr size_t most_tries = 16; // a damaged file may have any number of magic numbers
    size_t tries = 0;
    for (const ElfSection& section : file.sections()) {
        if (!section.name.starts_with(".data.rel.ro"))
            continue;
        for (size_t at = 0; at < section.bytes.size() && tries < most_tries; at += 8) {
            const auto magic = number<uint32_t>(section.bytes, at);
            if (magic != magic_of_1_18 && magic != magic_of_1_20)
                continue;
            tries++;
            if (auto header = read_header(file, section, at))
                return header;
        }
    }
    return std::nullopt;
}

constexpr size_t longest_name = 4096; // a longer one counts as none

// The function that calls return to when a goroutine ends: the address on its stack is one behind
// the entry.
constexpr std::string_view bottom = "runtime.goexit";

constexpr uint8_t in_assembler = 4; // of a function's flags

// struct _func: the entry, its name, the size of the arguments, where deferred calls return, four
// tables by address, their number, the unit, the line (since 1.20), an identifier, flags
GoFunction read_function(const Header& header, uint64_t begin, uint64_t end, uint64_t at) {
    GoFunction function;
    function.address = header.text + begin;
    function.size = end - begin;
    ByteReader reader(header.table.substr(std::min<uint64_t>(at, header.table.size())));
    (void)reader.fixed<uint32_t>();
    const auto name = reader.fixed<uint32_t>();
    (void)reader.fixed<uint32_t>();
    const auto deferred = reader.fixed<uint32_t>();
    if (reader.failed())
        return function;
    function.stack = reader.fixed<uint32_t>();
    for (int i = 0; i < 2; i++) // files, lines
        (void)reader.fixed<uint32_t>();
    const auto more_tables = reader.fixed<uint32_t>();
    for (int i = 0; i < 1 + int{header.has_lines}; i++)
        (void)reader.fixed<uint32_t>();
    (void)reader.fixed<uint8_t>();
    const auto flags = reader.fixed<uint8_t>();
    (void)reader.fixed<uint16_t>();
    function.compiled = !reader.failed() && !(flags & in_assembler);
    std::array<uint32_t, 3> more{}; // whether preemption is unsafe, maps of the stack, inlining
    for (size_t i = 0; i < std::min<size_t>(more_tables, more.size()); i++)
        more[i] = reader.fixed<uint32_t>();
    if (reader.failed())
        function.compiled = false;
    function.unsafe = more[0];
    function.inlined = more[2];
    const uint64_t begins = std::min<uint64_t>(header.names + name, header.table.size());
    function.name = ByteReader(header.table.substr(begins, longest_name)).string();
    if (deferred && deferred < function.size)
        function.resumed = function.address + deferred;
    else if (function.name == bottom || function.name == std::string(bottom) + ".abi0")
        function.resumed = function.address + instruction_quantum;
    return function;
}

// The table does not tell where the space before the next function begins.
uint64_t code_size(std::string_view bytes) {
    const size_t last = bytes.find_last_not_of(static_cast<char>(arch::space_between_functions()));
    return last == std::string_view::npos ? 0 : last + 1;
}

} // namespace

const GoFunction* GoTable::at(uint64_t address) const {
    auto after = std::upper_bound(
        functions.begin(), functions.end(), address,
        [](uint64_t value, const GoFunction& each) { return value < each.address; });
    if (after == functions.begin() || address - (after - 1)->address >= (after - 1)->size)
        return nullptr;
    return &*(after - 1);
}

GoTable read_go_table(const ElfFile& file) {
    GoTable table;
    table.found = is_go(file);
    if (!table.found)
        return table;
    const std::optional<Header> header = find_header(file);
    if (!header)
        return table;
    table.understood = true;
    table.numbers = header->table.substr(std::min<uint64_t>(header->numbers, header->table.size()));
    // Pairs of the entry and its struct _func; the last one is the end.
    ByteReader reader(header->table.substr(header->entries));
    auto begin = reader.fixed<uint32_t>();
    for (uint64_t i = 0; i < header->functions && !reader.failed(); i++) {
        const auto at = reader.fixed<uint32_t>();
        const auto end = reader.fixed<uint32_t>();
        if (reader.failed() || end < begin)
            break;
        table.functions.push_back(read_function(*header, begin, end, header->entries + at));
        GoFunction& function = table.functions.back();
        function.size = code_size(file.bytes_at(function.address, function.size));
        begin = end;
    }
    // Every program contains functions in assembler: without any, the flag has another meaning.
    if (std::all_of(table.functions.begin(), table.functions.end(),
                    [](const GoFunction& each) { return each.compiled; }))
        for (GoFunction& each : table.functions)
            each.compiled = false;
    return table;
}

} // namespace djstap::regions
