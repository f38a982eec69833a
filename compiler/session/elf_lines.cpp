// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/elf_lines.h"

#include "lines/header.h"

#include <algorithm>
#include <cstring>
#include <dwarf.h>
#include <elf.h>
#include <string_view>
#include <zlib.h>

namespace djstap {

namespace {

constexpr uint64_t most_section_bytes = uint64_t{256} << 20;
constexpr size_t most_rows = size_t{1} << 24, most_bytes_of_paths = size_t{512} << 20;

// Returns what a section contains, if necessary uncompressed.
std::optional<std::string> content_of(const ElfSymbols::Read& read, uint64_t bytes,
                                      const Elf64_Shdr& section) {
    if (section.sh_type == SHT_NOBITS || section.sh_offset > bytes ||
        section.sh_size > bytes - section.sh_offset || section.sh_size > most_section_bytes)
        return std::nullopt;
    std::string text(section.sh_size, '\0');
    if (!text.empty() && !read(section.sh_offset, text.data(), text.size()))
        return std::nullopt;
    if (!(section.sh_flags & SHF_COMPRESSED))
        return text;
    Elf64_Chdr header;
    if (text.size() < sizeof header)
        return std::nullopt;
    std::memcpy(&header, text.data(), sizeof header);
    if (header.ch_type != ELFCOMPRESS_ZLIB || header.ch_size > most_section_bytes)
        return std::nullopt;
    std::string plain(header.ch_size, '\0');
    uLongf size = plain.size();
    if (uncompress(reinterpret_cast<Bytef*>(plain.data()), &size,
                   reinterpret_cast<const Bytef*>(text.data()) + sizeof header,
                   text.size() - sizeof header) != Z_OK ||
        size != plain.size())
        return std::nullopt;
    return plain;
}

// Returns a path without "." and with as few ".." as possible. A damaged file may have many long
// ones: this takes no more than some steps for a byte.
std::string normal(std::string_view path) {
    const size_t root = path.starts_with('/');
    std::string out(root, '/');
    out.reserve(path.size());
    size_t kept = root; // up to here are ".." which nothing precedes
    for (size_t at = 0; at < path.size();) {
        const size_t end = std::min(path.find('/', at), path.size());
        const std::string_view part = path.substr(at, end - at);
        at = end + 1;
        if (part.empty() || part == ".")
            continue;
        if (part == ".." && out.size() > kept) {
            const size_t before = out.rfind('/');
            out.resize(before == out.npos ? 0 : std::max(before, root));
            continue;
        }
        if (part == ".." && root)
            continue;
        if (out.size() > root)
            out += '/';
        out += part;
        if (part == "..")
            kept = out.size();
    }
    return out;
}

struct LineSections {
    std::string programs, line_strings, strings;
};

std::optional<LineSections> line_sections_of(const ElfSymbols::Read& read, uint64_t bytes) {
    Elf64_Ehdr header;
    if (bytes < sizeof header || !read(0, &header, sizeof header) ||
        std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
        header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shoff > bytes ||
        header.e_shnum > (bytes - header.e_shoff) / sizeof(Elf64_Shdr) ||
        header.e_shstrndx >= header.e_shnum)
        return std::nullopt;
    std::vector<Elf64_Shdr> all(header.e_shnum);
    if (!read(header.e_shoff, all.data(), all.size() * sizeof(Elf64_Shdr)))
        return std::nullopt;
    const auto names = content_of(read, bytes, all[header.e_shstrndx]);
    if (!names)
        return std::nullopt;
    // Sections of one name may be many, and each may be all of the file.
    const auto content = [&](std::string_view wanted) {
        const auto found = std::find_if(all.begin(), all.end(), [&](const Elf64_Shdr& section) {
            return lines::text_at(*names, section.sh_name) == wanted;
        });
        return found == all.end() ? std::string()
                                  : content_of(read, bytes, *found).value_or(std::string());
    };
    LineSections found{content(".debug_line"), content(".debug_line_str"), content(".debug_str")};
    if (found.programs.empty())
        return std::nullopt;
    return found;
}

} // namespace

// Runs one of the line programs.
class LineProgram {
  public:
    LineProgram(const lines::Header& header, ElfLines& out)
        : header_(header), out_(out), first_file_(out.files_.size()) {
        for (const lines::File& file : header.files)
            add(file);
    }

    void run() {
        ByteReader program(header_.program);
        while (!program.at_end() && out_.rows_.size() + sequence_.size() < most_rows) {
            const auto opcode = program.fixed<uint8_t>();
            if (opcode >= header_.first_special) {
                const unsigned special = opcode - header_.first_special;
                advance(special / header_.line_range);
                state_.line += static_cast<uint32_t>(
                    header_.line_base + static_cast<int>(special % header_.line_range));
                row(false);
            } else if (opcode) {
                standard(program, opcode);
            } else {
                extended(program);
            }
        }
    }

  private:
    std::string joined(const lines::File& file) const {
        const auto& folders = header_.folders;
        const std::string_view name = file.name.substr(0, lines::most_path_bytes);
        if (name.starts_with('/') || file.folder >= folders.size() ||
            folders[file.folder].empty() || folders[file.folder].size() > lines::most_path_bytes ||
            folders[0].size() > lines::most_path_bytes)
            return std::string(name);
        std::string path(folders[file.folder]);
        if (!path.starts_with('/') && file.folder && folders[0].starts_with('/'))
            path = std::string(folders[0]) + "/" + path;
        return normal(path + "/" + std::string(name));
    }
    // A byte of a damaged file may stand for a long path. Behind the limit, files are unknown.
    void add(const lines::File& file) {
        if (out_.path_bytes_ > most_bytes_of_paths)
            return;
        out_.files_.push_back(joined(file));
        out_.path_bytes_ += sizeof(std::string) + file.name.size();
        if (file.folder < header_.folders.size())
            out_.path_bytes_ += header_.folders[0].size() + header_.folders[file.folder].size();
    }

    struct State {
        uint64_t address = 0, file = 1;
        uint32_t line = 1;
    };

    void row(bool end) {
        const size_t files = out_.files_.size() - first_file_;
        const bool known = state_.file < files && state_.line < uint32_t{1} << 31;
        sequence_.push_back({state_.address,
                             static_cast<uint32_t>(first_file_ + (known ? state_.file : 0)),
                             known ? state_.line & 0x7fffffff : 0, end});
        if (!end)
            return;
        // Code that the linker has left out begins at 0, or at the highest addresses.
        if (sequence_.front().address && sequence_.front().address < state_.address)
            out_.rows_.insert(out_.rows_.end(), sequence_.begin(), sequence_.end());
        sequence_.clear();
        state_ = {};
    }

    void extended(ByteReader& program) {
        ByteReader operation(program.bytes(program.uleb()));
        switch (operation.fixed<uint8_t>()) {
        case DW_LNE_end_sequence:
            row(true);
            break;
        case DW_LNE_set_address:
            state_.address = operation.fixed<uint64_t>();
            break;
        default:
            break;
        }
    }

    void advance(uint64_t operations) { state_.address += operations * header_.least_instruction; }

    void standard(ByteReader& program, uint8_t opcode) {
        switch (opcode) {
        case DW_LNS_copy:
            return row(false);
        case DW_LNS_advance_pc:
            return advance(program.uleb());
        case DW_LNS_advance_line:
            state_.line += static_cast<uint32_t>(program.sleb());
            return;
        case DW_LNS_set_file:
            state_.file = program.uleb();
            return;
        case DW_LNS_const_add_pc:
            return advance((255 - header_.first_special) / header_.line_range);
        case DW_LNS_fixed_advance_pc:
            state_.address += program.fixed<uint16_t>();
            return;
        default:
            for (unsigned i = header_.operands[opcode - 1U]; i; i--)
                program.uleb();
        }
    }

    const lines::Header& header_;
    ElfLines& out_;
    size_t first_file_;
    State state_;
    std::vector<ElfLines::Row> sequence_;
};

std::optional<ElfLines> ElfLines::read(const ElfSymbols::Read& read, uint64_t bytes) {
    const auto sections = line_sections_of(read, bytes);
    if (!sections)
        return std::nullopt;
    ElfLines found;
    const lines::Strings strings{sections->line_strings, sections->strings};
    for (ByteReader all(sections->programs); !all.at_end();)
        if (const auto header = lines::Header::read(lines::take_unit(all), strings))
            LineProgram(*header, found).run();
    // Where a sequence ends and another begins, the begin counts.
    std::stable_sort(found.rows_.begin(), found.rows_.end(), [](const Row& a, const Row& b) {
        return a.address != b.address ? a.address < b.address : a.end > b.end;
    });
    return found;
}

std::optional<ElfLines::Place> ElfLines::at(uint64_t address) const {
    auto row =
        std::upper_bound(rows_.begin(), rows_.end(), address,
                         [](uint64_t wanted, const Row& each) { return wanted < each.address; });
    if (row == rows_.begin() || (--row)->end || !row->line || files_[row->file].empty())
        return std::nullopt;
    return Place{files_[row->file], row->line};
}

} // namespace djstap
