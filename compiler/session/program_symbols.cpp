// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/program_symbols.h"

#include "include/symbols.h"
#include "system/demangle.h"
#include "system/regular_file.h"

#include <charconv>
#include <cstring>
#include <elf.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

namespace djstap {

namespace {

constexpr std::string_view kernel_library = "vdso";

bool read_at(int fd, uint64_t offset, void* to, size_t size) {
    auto* at = static_cast<char*>(to);
    while (size) {
        const ssize_t done = pread(fd, at, size, static_cast<off_t>(offset));
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return false;
        at += done;
        offset += static_cast<uint64_t>(done);
        size -= static_cast<size_t>(done);
    }
    return true;
}

// A regular file and its size.
class File {
  public:
    explicit File(const std::string& path) : file_(open_regular(path)) {
        struct stat status{};
        if (file_ && fstat(file_->get(), &status) == 0)
            bytes_ = static_cast<uint64_t>(status.st_size);
    }
    uint64_t bytes() const { return bytes_; } // 0: there is no such file
    ElfSymbols::Read reader() const {
        return [fd = file_->get()](uint64_t offset, void* to, size_t size) {
            return read_at(fd, offset, to, size);
        };
    }

  private:
    Result<FileDescriptor> file_;
    uint64_t bytes_ = 0;
};

std::optional<ElfSymbols> read_file_symbols(const std::string& path, const std::string& build_id) {
    const File file(path);
    return file.bytes() ? ElfSymbols::read(file.reader(), file.bytes(), &build_id) : std::nullopt;
}

std::optional<ElfLines> read_lines(const std::string& path, const std::string& build_id) {
    const File file(path);
    if (!file.bytes())
        return std::nullopt;
    const auto symbols = ElfSymbols::read(file.reader(), file.bytes(), &build_id);
    return symbols && symbols->build_id() == build_id ? ElfLines::read(file.reader(), file.bytes())
                                                      : std::nullopt;
}

std::string debug_file(const std::string& build_id) {
    return "/usr/lib/debug/.build-id/" + build_id.substr(0, 2) + "/" + build_id.substr(2) +
           ".debug";
}

// This process has the kernel's library, too.
std::optional<ElfSymbols> read_kernel_library() {
    const unsigned long address = getauxval(AT_SYSINFO_EHDR);
    if (!address)
        return std::nullopt;
    Elf64_Ehdr header;
    const auto* memory = reinterpret_cast<const char*>(address);
    std::memcpy(&header, memory, sizeof header);
    const uint64_t bytes = header.e_shoff + uint64_t{header.e_shnum} * header.e_shentsize;
    return ElfSymbols::read(
        [memory](uint64_t offset, void* to, size_t size) {
            std::memcpy(to, memory + offset, size);
            return true;
        },
        bytes);
}

std::string hexadecimal(uint64_t value) {
    char text[2 + 16] = {'0', 'x'};
    return {text, std::to_chars(text + 2, text + sizeof text, value, 16).ptr};
}

struct Known {
    std::string path, build_id;
    uint64_t address = 0;
};

std::optional<Known> parse(std::string_view text) {
    Known known;
    const size_t end = text.find('\0');
    if (end == std::string_view::npos)
        return std::nullopt;
    known.build_id = text.substr(end + 1);
    text = text.substr(0, end);
    const size_t open = text.find('['), plus = text.rfind("+0x");
    if (open == std::string_view::npos || plus == std::string_view::npos || plus < open ||
        !text.ends_with(']'))
        return std::nullopt;
    known.path = text.substr(open + 1, plus - open - 1);
    const char *first = text.data() + plus + 3, *last = text.data() + text.size() - 1;
    if (std::from_chars(first, last, known.address, 16).ptr != last)
        return std::nullopt;
    return known;
}

} // namespace

template <class Content, class Read>
const std::optional<Content>& ProgramSymbols::keep(Kept<Content>& kept, const std::string& path,
                                                   const std::string& build_id, Read read) const {
    const std::pair key(path, build_id);
    if (const auto known = kept.files.find(key); known != kept.files.end())
        return known->second;
    if (kept.bytes >= most_bytes_)
        kept = {};
    std::optional<Content>& content = kept.files[key];
    content = read();
    kept.bytes += content ? content->memory() : 0;
    return content;
}

const std::optional<ElfSymbols>& ProgramSymbols::file(const std::string& path,
                                                      const std::string& build_id) {
    return keep(symbols_, path, build_id, [&] {
        auto symbols =
            path == kernel_library ? read_kernel_library() : read_file_symbols(path, build_id);
        if (symbols && symbols->build_id() != build_id)
            symbols.reset();
        if (build_id.size() > 2 && !(symbols && symbols->has_table())) {
            auto separate = read_file_symbols(debug_file(build_id), build_id);
            if (separate && separate->has_table())
                symbols = std::move(separate);
        }
        return symbols;
    });
}

const std::optional<ElfLines>& ProgramSymbols::lines_of(const std::string& path,
                                                        const std::string& build_id) {
    return keep(lines_, path, build_id, [&] {
        std::optional<ElfLines> lines;
        if (path == kernel_library)
            return lines;
        lines = read_lines(path, build_id);
        if (!lines && build_id.size() > 2)
            lines = read_lines(debug_file(build_id), build_id);
        return lines;
    });
}

std::optional<ElfLines::Place> ProgramSymbols::place(std::string_view known, bool returns) {
    const auto parsed = parse(known);
    if (!parsed)
        return std::nullopt;
    const auto& lines = lines_of(parsed->path, parsed->build_id);
    return lines ? lines->at(parsed->address - returns) : std::nullopt;
}

std::string ProgramSymbols::symbol(std::string_view known, bool returns, bool lines) {
    const auto parsed = parse(known);
    if (!parsed)
        return {};
    const auto& symbols = file(parsed->path, parsed->build_id);
    auto found = symbols ? symbols->at(parsed->address - returns) : std::nullopt;
    // A signal's handler returns to the begin of a function, which nothing calls.
    if (symbols && !found && returns)
        found = symbols->at(parsed->address);
    if (!found)
        return {};
    const auto source = lines ? place(known, returns) : std::nullopt;
    const std::string line =
        source ? " at " + source->file + ":" + std::to_string(source->line) : std::string();
    const std::string end = " [" + parsed->path + "]";
    std::string where =
        "+" + hexadecimal(parsed->address - found->address) + "/" + hexadecimal(found->size);
    if (where.size() + line.size() + end.size() < DJS_SYMBOL_MAX)
        where += line;
    where += end;
    // The texts of records have room for this.
    const size_t most = where.size() < DJS_SYMBOL_MAX ? DJS_SYMBOL_MAX - where.size() - 1 : 0;
    const Demangled source_name = demangle(found->name, most);
    if (source_name.result == Demangling::Done)
        return source_name.text + where;
    return std::string(found->name.substr(0, most)) + where;
}

} // namespace djstap
