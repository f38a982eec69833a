// SPDX-License-Identifier: GPL-2.0-or-later
#include "regions/targets.h"

#include "arch/arch.h"
#include "system/byte_reader.h"

#include <algorithm>
#include <unordered_map>

namespace djstap::regions {

namespace {

template <class T> T read_at(std::string_view bytes, size_t at) {
    T value{};
    if (at <= bytes.size() && bytes.size() - at >= sizeof value)
        std::memcpy(&value, bytes.data() + at, sizeof value);
    return value;
}

bool is_data(const ElfSection& section) {
    return (section.flags & SHF_ALLOC) && !(section.flags & SHF_EXECINSTR) &&
           section.type != SHT_NOBITS && !section.bytes.empty();
}

// ---- data ---------------------------------------------------------------------------------------

class DataReader {
  public:
    DataReader(Code& code, const AddressRanges& excluded) : code_(code), excluded_(excluded) {}

    void run();

  private:
    void read_relocations(const ElfSection& section);
    void read_packed_relocations(const ElfSection& section);
    void read_words(const ElfSection& section);
    void add(uint64_t from, uint64_t to);
    bool is_excluded(uint64_t address) const;

    Code& code_;
    const AddressRanges& excluded_;
};

bool DataReader::is_excluded(uint64_t address) const {
    return std::any_of(excluded_.begin(), excluded_.end(), [&](const auto& each) {
        return address >= each.first && address < each.second;
    });
}

void DataReader::add(uint64_t from, uint64_t to) {
    // What is no instruction is a number, or the end of a range.
    const std::optional<Index> at = code_.instruction(to);
    if (!at || is_excluded(from))
        return;
    code_.entries[*at] |= ByAddress;
}

void DataReader::read_relocations(const ElfSection& section) {
    const auto sections = code_.file().sections();
    // Relocations that the linker kept name the section that they change; it may be of debug
    // information.
    if (!(section.flags & SHF_ALLOC) &&
        (section.info >= sections.size() || !(sections[section.info].flags & SHF_ALLOC)))
        return;
    std::string_view symbols;
    if (section.link < sections.size() &&
        (sections[section.link].type == SHT_SYMTAB || sections[section.link].type == SHT_DYNSYM))
        symbols = sections[section.link].bytes;
    const bool may_be_moved = code_.file().type() != ET_EXEC;
    for (size_t at = 0; at + sizeof(Elf64_Rela) <= section.bytes.size(); at += sizeof(Elf64_Rela)) {
        const auto relocation = read_at<Elf64_Rela>(section.bytes, at);
        const auto type = static_cast<uint32_t>(ELF64_R_TYPE(relocation.r_info));
        auto value = static_cast<uint64_t>(relocation.r_addend);
        if (!arch::is_relative_relocation(type)) {
            const size_t size = arch::absolute_relocation_bytes(type);
            if (size == 0 || (may_be_moved && size != sizeof(uint64_t)))
                continue;
            const uint64_t number = ELF64_R_SYM(relocation.r_info);
            if (number >= symbols.size() / sizeof(Elf64_Sym))
                continue;
            value += read_at<Elf64_Sym>(symbols, number * sizeof(Elf64_Sym)).st_value;
        }
        add(relocation.r_offset, value);
    }
}

// Each odd word is a map of the 63 words behind the last address.
void DataReader::read_packed_relocations(const ElfSection& section) {
    constexpr uint64_t word = sizeof(uint64_t);
    uint64_t next = 0;
    auto add_at = [&](uint64_t place) {
        add(place, read_at<uint64_t>(code_.file().bytes_at(place, word), 0));
    };
    for (size_t at = 0; at + word <= section.bytes.size(); at += word) {
        const auto entry = read_at<uint64_t>(section.bytes, at);
        if (!(entry & 1)) {
            add_at(entry);
            next = entry + word;
            continue;
        }
        for (uint64_t bit = 1; bit < 64; bit++)
            if (entry >> bit & 1)
                add_at(next + (bit - 1) * word);
        next += 63 * word;
    }
}

void DataReader::read_words(const ElfSection& section) {
    constexpr uint64_t word = sizeof(uint64_t);
    const uint64_t low = code_.sections().front().address;
    const uint64_t span =
        code_.sections().back().address + code_.sections().back().bytes.size() - low;
    for (size_t at = (word - section.address % word) % word; at + word <= section.bytes.size();
         at += word) {
        const auto value = read_at<uint64_t>(section.bytes, at);
        if (value - low < span)
            add(section.address + at, value);
    }
}

void DataReader::run() {
    constexpr uint32_t packed_relocations = 19; // SHT_RELR
    const bool is_fixed = code_.file().type() == ET_EXEC;
    for (const ElfSection& section : code_.file().sections()) {
        if (section.type == SHT_RELA)
            read_relocations(section);
        else if (section.type == packed_relocations)
            read_packed_relocations(section);
        else if (is_fixed && is_data(section))
            read_words(section);
    }
}

// ---- tables -------------------------------------------------------------------------------------

class TableReader {
  public:
    TableReader(Code& code, const std::vector<FunctionRange>& functions) : code_(code) {
        leads_into_.resize(functions.size());
        for (const ElfSection& section : code.file().sections())
            if (is_data(section))
                data_.push_back(&section);
        std::sort(data_.begin(), data_.end(),
                  [](const auto* a, const auto* b) { return a->address < b->address; });
    }

    // Reads what the instructions of a function name. `number` is that of the function.
    void read(const FunctionRange& function, size_t number, const Naming* first, const Naming* end);
    std::vector<bool> leads_into() && { return std::move(leads_into_); }

  private:
    std::string_view data_from(uint64_t address) const;
    bool jumps_indirectly(const FunctionRange& function) const;
    const std::vector<Index>& offsets_at(uint64_t table, uint64_t base);
    const std::vector<Index>& addresses_at(uint64_t table);

    Code& code_;
    std::vector<const ElfSection*> data_;
    // The entries of each table that was read; most addresses are of no table.
    std::unordered_map<uint64_t, std::vector<Index>> offsets_, addresses_;
    std::vector<Index> unnamed_;
    std::vector<bool> leads_into_;
};

std::string_view TableReader::data_from(uint64_t address) const {
    auto after = std::upper_bound(
        data_.begin(), data_.end(), address,
        [](uint64_t value, const ElfSection* section) { return value < section->address; });
    if (after == data_.begin())
        return {};
    const ElfSection& section = **(after - 1);
    const uint64_t offset = address - section.address;
    return offset < section.bytes.size() ? section.bytes.substr(offset) : std::string_view{};
}

bool TableReader::jumps_indirectly(const FunctionRange& function) const {
    auto jump =
        std::lower_bound(code_.indirect_jumps.begin(), code_.indirect_jumps.end(), function.first,
                         [](const IndirectJump& each, Index value) { return each.at < value; });
    return jump != code_.indirect_jumps.end() && jump->at < function.end;
}

// The numbers from `table` on, relative to `base`, up to the first one that is no instruction.
const std::vector<Index>& TableReader::offsets_at(uint64_t table, uint64_t base) {
    std::vector<Index>& entries = unnamed_;
    entries.clear();
    if (auto known = offsets_.find(table); table == base && known != offsets_.end())
        return known->second;
    ByteReader reader(data_from(table));
    while (!reader.at_end()) {
        const auto offset = reader.fixed<int32_t>();
        const std::optional<Index> at =
            code_.instruction(base + static_cast<uint64_t>(int64_t{offset}));
        if (reader.failed() || !at)
            break;
        entries.push_back(*at);
    }
    for (Index each : entries)
        code_.entries[each] |= ByTable;
    if (table != base || entries.empty())
        return entries;
    return offsets_[table] = entries;
}

const std::vector<Index>& TableReader::addresses_at(uint64_t table) {
    unnamed_.clear();
    ByteReader reader(data_from(table));
    if (!code_.instruction(ByteReader(reader).fixed<uint64_t>()))
        return unnamed_;
    auto [known, added] = addresses_.try_emplace(table);
    std::vector<Index>& entries = known->second;
    if (!added)
        return entries;
    while (!reader.at_end()) {
        const std::optional<Index> at = code_.instruction(reader.fixed<uint64_t>());
        if (reader.failed() || !at)
            break;
        code_.entries[*at] |= ByTable;
        entries.push_back(*at);
    }
    return entries;
}

void TableReader::read(const FunctionRange& function, size_t number, const Naming* first,
                       const Naming* end) {
    auto into = [&](const std::vector<Index>& entries) {
        if (std::any_of(entries.begin(), entries.end(),
                        [&](Index each) { return each > function.first && each < function.end; }))
            leads_into_[number] = true;
    };
    std::vector<uint64_t> labels, tables;
    for (const Naming* each = first; each != end; each++) {
        if (const std::optional<Index> at = code_.instruction(each->address)) {
            if (each->use == arch::NamedAddress::Use::Read)
                continue;
            code_.entries[*at] |= ByAddress;
            if (*at >= function.first && *at < function.end)
                labels.push_back(each->address);
            continue;
        }
        if (each->use == arch::NamedAddress::Use::Computed) {
            into(offsets_at(each->address, each->address));
            tables.push_back(each->address);
        }
        into(addresses_at(each->address));
    }
    // Tables of distances to a label (&&this - &&that).
    if (!jumps_indirectly(function))
        return;
    for (auto* each : {&labels, &tables}) {
        std::sort(each->begin(), each->end());
        each->erase(std::unique(each->begin(), each->end()), each->end());
    }
    for (uint64_t label : labels)
        for (uint64_t table : tables)
            into(offsets_at(table, label));
}

} // namespace

void enter_by_data(Code& code, const AddressRanges& excluded) {
    DataReader(code, excluded).run();
}

std::vector<bool> enter_by_tables(Code& code, const std::vector<FunctionRange>& functions,
                                  const std::vector<Naming>& named) {
    TableReader reader(code, functions);
    const Naming* each = named.data();
    const Naming* const end = each + named.size();
    for (size_t i = 0; i < functions.size(); i++) {
        auto until = [&](Index limit) {
            const Naming* const first = each;
            while (each != end && each->at < limit)
                each++;
            return std::pair(first, each);
        };
        // Between functions: as if it were one without a name.
        const auto [gap, gap_end] = until(functions[i].first);
        reader.read({{}, functions[i].first, functions[i].first, 0}, i, gap, gap_end);
        const auto [first, last] = until(functions[i].end);
        reader.read(functions[i], i, first, last);
    }
    reader.read({}, 0, each, end);
    return std::move(reader).leads_into();
}

} // namespace djstap::regions
