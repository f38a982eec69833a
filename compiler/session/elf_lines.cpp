// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/elf_lines.h"

#include <algorithm>
#include <cstring>
#include <dwarf.h>
#include <elf.h>
#include <string_view>
#include <zlib.h>

namespace djstap {

namespace {

constexpr uint64_t most_section_bytes = uint64_t{256} << 20;
constexpr size_t most_rows = size_t{1} << 24, most_entries = 65536, most_path_bytes = 4096,
                 most_bytes_of_paths = size_t{512} << 20;

// Reads values one after the other; behind the end all are 0, and it is bad.
class Bytes {
  public:
    explicit Bytes(std::string_view text) : rest_(text) {}

    bool bad() const { return bad_; }
    bool empty() const { return rest_.empty(); }
    template <class Number> Number number() {
        Number value{};
        const std::string_view text = take(sizeof value);
        if (text.size() == sizeof value)
            std::memcpy(&value, text.data(), sizeof value);
        return value;
    }
    uint64_t offset(bool is_64_bit) { return is_64_bit ? number<uint64_t>() : number<uint32_t>(); }
    uint64_t unsigned_leb() { return leb(false); }
    int64_t signed_leb() { return static_cast<int64_t>(leb(true)); }
    std::string_view text() {
        const size_t end = rest_.find('\0');
        const std::string_view found = take(end == rest_.npos ? rest_.size() + 1 : end);
        take(1);
        return found;
    }
    std::string_view take(uint64_t count) {
        if (count > rest_.size()) {
            bad_ = true;
            rest_ = {};
            return {};
        }
        const std::string_view taken = rest_.substr(0, count);
        rest_.remove_prefix(count);
        return taken;
    }
    std::string_view rest() const { return rest_; }

  private:
    uint64_t leb(bool is_signed) {
        constexpr unsigned bits = 64;
        uint64_t value = 0;
        for (unsigned shift = 0;; shift += 7) {
            const auto byte = number<uint8_t>();
            if (shift < bits)
                value |= uint64_t{byte & 0x7fu} << shift;
            if (byte & 0x80)
                continue;
            if (is_signed && (byte & 0x40) && shift + 7 < bits)
                value |= ~uint64_t{0} << (shift + 7);
            return value;
        }
    }

    std::string_view rest_;
    bool bad_ = false;
};

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

// Returns the text at an offset, of which no more is read than a path may have: whoever names it
// again and again must not have all of the strings searched for its end.
std::string_view text_at(std::string_view strings, uint64_t offset) {
    if (offset >= strings.size())
        return {};
    const std::string_view text = strings.substr(offset, most_path_bytes + 1);
    return text.substr(0, text.find('\0'));
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
    std::string lines, line_strings, strings;
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
            return text_at(*names, section.sh_name) == wanted;
        });
        return found == all.end() ? std::string()
                                  : content_of(read, bytes, *found).value_or(std::string());
    };
    LineSections found{content(".debug_line"), content(".debug_line_str"), content(".debug_str")};
    if (found.lines.empty())
        return std::nullopt;
    return found;
}

} // namespace

// One of the line programs.
class LineProgram {
  public:
    LineProgram(const LineSections& sections, ElfLines& out) : sections_(sections), out_(out) {}

    // Returns false if it cannot be understood.
    bool read(Bytes unit, bool is_64_bit) {
        const auto version = unit.number<uint16_t>();
        if (version < 2 || version > 5)
            return false;
        if (version >= 5)
            unit.take(2); // sizes of addresses and segment selectors
        Bytes header(unit.take(unit.offset(is_64_bit)));
        least_instruction_ = header.number<uint8_t>();
        if (version >= 4)
            header
                .number<uint8_t>(); // operations of an instruction: one on the supported processors
        header.number<uint8_t>();   // is_stmt
        line_base_ = header.number<int8_t>();
        line_range_ = header.number<uint8_t>();
        first_special_ = header.number<uint8_t>();
        for (unsigned opcode = 1; opcode < first_special_; opcode++)
            operands_.push_back(header.number<uint8_t>());
        if (!line_range_ || header.bad() ||
            !(version >= 5 ? entries(header, is_64_bit) : tables(header)))
            return false;
        run(unit);
        return true;
    }

  private:
    std::string joined(uint64_t folder, std::string_view name) const {
        name = name.substr(0, most_path_bytes);
        if (name.starts_with('/') || folder >= folders_.size() || folders_[folder].empty() ||
            folders_[folder].size() > most_path_bytes || folders_[0].size() > most_path_bytes)
            return std::string(name);
        std::string path(folders_[folder]);
        if (!path.starts_with('/') && folder && folders_[0].starts_with('/'))
            path = std::string(folders_[0]) + "/" + path;
        return normal(path + "/" + std::string(name));
    }
    // A byte of a damaged file may stand for a long path. Behind the limit, files are unknown.
    void add_file(uint64_t folder, std::string_view name) {
        if (out_.path_bytes_ > most_bytes_of_paths)
            return;
        out_.files_.push_back(joined(folder, name));
        out_.path_bytes_ += sizeof(std::string) + name.size();
        if (folder < folders_.size())
            out_.path_bytes_ += folders_[0].size() + folders_[folder].size();
    }

    // DWARF 2 to 4, where the unit's own folder is not among the folders.
    bool tables(Bytes& header) {
        folders_.emplace_back();
        while (!header.bad() && folders_.size() < most_entries) {
            folders_.push_back(header.text());
            if (folders_.back().empty())
                break;
        }
        first_file_ = out_.files_.size();
        out_.files_.emplace_back(); // files are counted from 1
        while (!header.bad() && out_.files_.size() - first_file_ < most_entries) {
            const std::string_view name = header.text();
            if (name.empty())
                break;
            add_file(header.unsigned_leb(), name);
            header.unsigned_leb(); // time of the last change
            header.unsigned_leb(); // size
        }
        return !header.bad();
    }

    struct Entry {
        std::string_view name;
        uint64_t folder = 0;
    };

    // DWARF 5: the tables of folders and of files, which describe themselves.
    bool entries(Bytes& header, bool is_64_bit) {
        for (const bool files : {false, true}) {
            std::vector<std::pair<uint64_t, uint64_t>> format;
            for (auto count = header.number<uint8_t>(); count; count--) {
                const uint64_t type = header.unsigned_leb();
                format.emplace_back(type, header.unsigned_leb());
            }
            const uint64_t count = header.unsigned_leb();
            // Each takes a byte at least.
            if (count > std::min(most_entries, format.empty() ? 0 : header.rest().size()) ||
                header.bad())
                return false;
            if (files)
                first_file_ = out_.files_.size();
            for (uint64_t i = 0; i < count; i++) {
                Entry entry;
                for (const auto& [type, form] : format)
                    if (!field(header, type, form, is_64_bit, entry))
                        return false;
                if (files)
                    add_file(entry.folder, entry.name);
                else
                    folders_.push_back(entry.name);
            }
        }
        return !header.bad();
    }

    bool field(Bytes& header, uint64_t type, uint64_t form, bool is_64_bit, Entry& entry) const {
        std::string_view text;
        uint64_t number = 0;
        switch (form) {
        case DW_FORM_string:
            text = header.text();
            break;
        case DW_FORM_line_strp:
            text = text_at(sections_.line_strings, header.offset(is_64_bit));
            break;
        case DW_FORM_strp:
            text = text_at(sections_.strings, header.offset(is_64_bit));
            break;
        case DW_FORM_udata:
            number = header.unsigned_leb();
            break;
        case DW_FORM_data1:
            number = header.number<uint8_t>();
            break;
        case DW_FORM_data2:
            number = header.number<uint16_t>();
            break;
        case DW_FORM_data4:
            number = header.number<uint32_t>();
            break;
        case DW_FORM_data8:
            number = header.number<uint64_t>();
            break;
        case DW_FORM_data16:
            header.take(16);
            break;
        case DW_FORM_block:
            header.take(header.unsigned_leb());
            break;
        default:
            return false;
        }
        if (type == DW_LNCT_path)
            entry.name = text;
        else if (type == DW_LNCT_directory_index)
            entry.folder = number;
        return !header.bad();
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

    void extended(Bytes& program) {
        Bytes operation(program.take(program.unsigned_leb()));
        switch (operation.number<uint8_t>()) {
        case DW_LNE_end_sequence:
            row(true);
            break;
        case DW_LNE_set_address:
            state_.address = operation.number<uint64_t>();
            break;
        default:
            break;
        }
    }

    void advance(uint64_t operations) { state_.address += operations * least_instruction_; }

    void standard(Bytes& program, uint8_t opcode) {
        switch (opcode) {
        case DW_LNS_copy:
            return row(false);
        case DW_LNS_advance_pc:
            return advance(program.unsigned_leb());
        case DW_LNS_advance_line:
            state_.line += static_cast<uint32_t>(program.signed_leb());
            return;
        case DW_LNS_set_file:
            state_.file = program.unsigned_leb();
            return;
        case DW_LNS_const_add_pc:
            return advance((255 - first_special_) / line_range_);
        case DW_LNS_fixed_advance_pc:
            state_.address += program.number<uint16_t>();
            return;
        default:
            for (unsigned i = operands_[opcode - 1U]; i; i--)
                program.unsigned_leb();
        }
    }

    void run(Bytes program) {
        while (!program.empty() && !program.bad() &&
               out_.rows_.size() + sequence_.size() < most_rows) {
            const auto opcode = program.number<uint8_t>();
            if (opcode >= first_special_) {
                const unsigned special = opcode - first_special_;
                advance(special / line_range_);
                state_.line +=
                    static_cast<uint32_t>(line_base_ + static_cast<int>(special % line_range_));
                row(false);
            } else if (opcode) {
                standard(program, opcode);
            } else {
                extended(program);
            }
        }
    }

    const LineSections& sections_;
    ElfLines& out_;
    std::vector<std::string_view> folders_;
    size_t first_file_ = 0;
    uint8_t least_instruction_ = 1, line_range_ = 1;
    int8_t line_base_ = 0;
    unsigned first_special_ = 1;
    std::vector<uint8_t> operands_;
    State state_;
    std::vector<ElfLines::Row> sequence_;
};

std::optional<ElfLines> ElfLines::read(const ElfSymbols::Read& read, uint64_t bytes) {
    const auto sections = line_sections_of(read, bytes);
    if (!sections)
        return std::nullopt;
    ElfLines lines;
    for (Bytes all(sections->lines); !all.empty() && !all.bad();) {
        constexpr uint32_t is_64_bit = 0xffffffff;
        uint64_t length = all.number<uint32_t>();
        const bool wide = length == is_64_bit;
        if (wide)
            length = all.number<uint64_t>();
        LineProgram(*sections, lines).read(Bytes(all.take(length)), wide);
    }
    // Where a sequence ends and another begins, the begin counts.
    std::stable_sort(lines.rows_.begin(), lines.rows_.end(), [](const Row& a, const Row& b) {
        return a.address != b.address ? a.address < b.address : a.end > b.end;
    });
    return lines;
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
