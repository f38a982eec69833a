// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/module_file.h"

#include "diagnostics/suggest.h"
#include "include/recorder.h"
#include "system/file.h"

#include <cerrno>
#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <filesystem>
#include <optional>

namespace djstap {

namespace {

// Copies an object out of `bytes`, which may be truncated or invalid.
template <class T> std::optional<T> at(std::string_view bytes, uint64_t offset) {
    if (offset > bytes.size() || bytes.size() - offset < sizeof(T))
        return std::nullopt;
    T value;
    std::memcpy(&value, bytes.data() + offset, sizeof(T));
    return value;
}

std::optional<std::string_view> part(std::string_view bytes, uint64_t offset, uint64_t size) {
    if (offset > bytes.size() || bytes.size() - offset < size)
        return std::nullopt;
    return bytes.substr(offset, size);
}

class Sections {
  public:
    explicit Sections(std::string_view file) : file_(file) {
        const auto header = at<Elf64_Ehdr>(file, 0);
        if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
            header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_shentsize != sizeof(Elf64_Shdr))
            return;
        header_ = *header;
        const auto names = section(header->e_shstrndx);
        if (names)
            names_ = part(file_, names->sh_offset, names->sh_size);
    }

    bool valid() const { return names_.has_value(); }

    // Returns the content of the section with this name.
    std::optional<std::string_view> find(std::string_view name) const {
        for (uint32_t i = 1; i < header_.e_shnum; i++) {
            const auto each = section(i);
            if (each && each->sh_type != SHT_NOBITS && name_of(*each) == name)
                return part(file_, each->sh_offset, each->sh_size);
        }
        return std::nullopt;
    }

  private:
    std::optional<Elf64_Shdr> section(uint32_t index) const {
        if (index >= header_.e_shnum || header_.e_shoff > file_.size())
            return std::nullopt;
        return at<Elf64_Shdr>(file_, header_.e_shoff + uint64_t{index} * sizeof(Elf64_Shdr));
    }

    std::string_view name_of(const Elf64_Shdr& header) const {
        if (header.sh_name >= names_->size())
            return {};
        const auto rest = names_->substr(header.sh_name);
        return rest.substr(0, rest.find('\0'));
    }

    std::string_view file_;
    Elf64_Ehdr header_{};
    std::optional<std::string_view> names_;
};

// Parses "name=value" entries, each ended by NUL.
std::string modinfo_value(std::string_view info, std::string_view name) {
    while (!info.empty()) {
        const auto entry = info.substr(0, info.find('\0'));
        if (entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=')
            return std::string(entry.substr(name.size() + 1));
        info.remove_prefix(std::min(info.size(), entry.size() + 1));
    }
    return {};
}

Failure cannot_open(const std::string& path, int error) {
    std::vector<std::string> candidates;
    const std::filesystem::path wanted(path);
    std::error_code ignored;
    const auto folder =
        wanted.has_parent_path() ? wanted.parent_path() : std::filesystem::path(".");
    for (std::filesystem::directory_iterator file(folder, ignored), end; file != end;
         file.increment(ignored)) {
        if (ignored)
            break;
        if (file->path().extension() == ".ko")
            candidates.push_back(file->path().filename().string());
    }
    return {path + ": " + std::strerror(error),
            error == ENOENT ? did_you_mean(wanted.filename().string(), candidates) : ""};
}

} // namespace

Result<ModuleFile> read_module_file(const std::string& path) {
    // Mapped, because only little of what may be megabytes is read.
    const FileDescriptor descriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!descriptor)
        return cannot_open(path, errno);
    const auto mapped = MappedFile::map(descriptor, path);
    if (!mapped)
        return mapped.failure();
    const std::string_view bytes = (*mapped)->bytes();
    const Sections sections(bytes);
    if (!sections.valid())
        return Failure{path + ": not a kernel module", ""};
    const auto text = sections.find(".djstap.meta");
    if (!text)
        return Failure{path + ": a kernel module, but not one that djstap built",
                       "build one with djstap -p4 -m NAME"};
    auto meta = parse_meta(*text);
    if (!meta)
        return Failure{path + ": " + meta.failure().message, meta.failure().hint};
    ModuleFile file;
    file.path = path;
    file.meta = std::move(*meta);
    const std::string_view description = text->substr(0, text->find('\0'));
    file.identity = djs_hash_bytes(description.data(), description.size());
    file.name = modinfo_value(sections.find(".modinfo").value_or(std::string_view()), "name");
    if (file.name.empty())
        file.name = file.meta.name;
    file.is_signed = bytes.ends_with("~Module signature appended~\n");
    return file;
}

} // namespace djstap
