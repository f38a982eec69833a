// SPDX-License-Identifier: GPL-2.0-or-later
#include "debuginfo/syscalls.h"

#include "arch/arch.h"
#include "image/elf_file.h"
#include "image/glob.h"
#include "system/file.h"

#include <algorithm>
#include <cstring>
#include <filesystem>

namespace djstap {

namespace {

// struct syscall_metadata of include/trace/syscall.h, up to the last field used here.
struct SyscallMetadata {
    uint64_t name;
    int32_t number;
    int32_t argument_count;
    uint64_t types;
    uint64_t arguments;
};

std::string_view text_at(const ElfFile& elf, uint64_t address) {
    std::string_view bytes = elf.bytes_from(address);
    constexpr size_t longest = 256;
    size_t end = bytes.substr(0, longest).find('\0');
    return end == std::string_view::npos ? std::string_view() : bytes.substr(0, end);
}

uint64_t u64_at(const ElfFile& elf, uint64_t address) {
    uint64_t value = 0;
    std::string_view bytes = elf.bytes_at(address, sizeof value);
    if (!bytes.empty())
        std::memcpy(&value, bytes.data(), sizeof value);
    return value;
}

} // namespace

Location syscall_argument(size_t number) {
    const std::span<const PtReg> registers = arch::syscall_argument_registers();
    if (number >= registers.size())
        return nowhere("a system call has at most six arguments");
    Location location;
    location.kind = LocationKind::Memory;
    location.reg = arch::argument_registers().front();
    location.offset = static_cast<int64_t>(registers[number]) * int64_t{sizeof(uint64_t)};
    return location;
}

std::vector<SyscallWrapper> syscall_wrappers(const Image& image, std::string_view pattern) {
    std::vector<SyscallWrapper> wrappers;
    const std::string_view prefix = arch::syscall_wrapper_prefix();
    for (const std::string& each : glob_alternatives(pattern)) {
        if (!literal_prefix(each).starts_with(syscall_user_prefix))
            continue;
        std::string wanted(prefix);
        wanted.append(each.substr(syscall_user_prefix.size()));
        for (const Symbol& symbol : image.symbols_matching(wanted))
            wrappers.push_back({std::string(symbol.name.substr(prefix.size())), symbol});
    }
    return wrappers;
}

std::optional<std::vector<SyscallParameter>> syscall_table_parameters(const Image& image,
                                                                      std::string_view name) {
    const ElfFile* elf = image.elf();
    auto symbol = image.symbol("__syscall_meta__" + std::string(name));
    if (!elf || !symbol)
        return std::nullopt;
    std::string_view bytes = elf->bytes_at(symbol->address, sizeof(SyscallMetadata));
    if (bytes.empty())
        return std::nullopt;
    SyscallMetadata metadata;
    std::memcpy(&metadata, bytes.data(), sizeof metadata);
    std::vector<SyscallParameter> parameters;
    if (metadata.argument_count < 0 ||
        metadata.argument_count > int(arch::syscall_argument_registers().size()))
        return std::nullopt;
    for (int i = 0; i < metadata.argument_count; i++) {
        uint64_t place = i * sizeof(uint64_t);
        std::string_view parameter = text_at(*elf, u64_at(*elf, metadata.arguments + place));
        if (parameter.empty())
            return std::nullopt;
        parameters.push_back({std::string(parameter),
                              std::string(text_at(*elf, u64_at(*elf, metadata.types + place)))});
    }
    return parameters;
}

namespace {

constexpr std::string_view tracepoint_prefix = "sys_enter_";

// Removes and returns the text up to a newline.
std::string_view take_line(std::string_view& text) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return line;
}

// Returns the declaration in "\tfield:const char * filename;\toffset:24;\tsize:8;\tsigned:0;".
std::string_view declared_field(std::string_view line) {
    constexpr std::string_view before = "\tfield:";
    if (!line.starts_with(before))
        return {};
    line.remove_prefix(before.size());
    return line.substr(0, line.find(';'));
}

} // namespace

std::string SyscallFormats::format_of(std::string_view name) const {
    std::error_code error;
    if (std::filesystem::is_directory(path_, error)) {
        auto text =
            read_file(path_ + "/" + std::string(tracepoint_prefix).append(name) + "/format");
        return text ? *text : std::string();
    }
    if (!formats_) {
        formats_.emplace();
        auto dump = path_.empty() ? Result<std::string>(std::string()) : read_file(path_);
        std::string nowhere, *format = &nowhere;
        for (std::string_view rest = dump ? std::string_view(*dump) : ""; !rest.empty();) {
            const std::string_view line = take_line(rest);
            constexpr std::string_view title = "name: ";
            if (line.starts_with(title) && line.substr(title.size()).starts_with(tracepoint_prefix))
                format =
                    &(*formats_)[std::string(line.substr(title.size() + tracepoint_prefix.size()))];
            format->append(line).append("\n");
        }
    }
    auto found = formats_->find(name);
    return found == formats_->end() ? std::string() : found->second;
}

std::optional<std::vector<SyscallParameter>>
SyscallFormats::parameters(std::string_view name) const {
    const std::string format = format_of(name);
    std::vector<SyscallParameter> parameters;
    bool past_number = false;
    for (std::string_view rest = format; !rest.empty();) {
        const std::string_view field = declared_field(take_line(rest));
        const size_t before_name = field.find_last_of(" *");
        if (before_name == std::string_view::npos)
            continue;
        const std::string_view type = field.substr(0, before_name + 1);
        // Additional fields of the tracepoint, such as copies of strings, are not arguments.
        if (past_number && !type.starts_with("__data_loc") &&
            parameters.size() < arch::syscall_argument_registers().size())
            parameters.push_back({std::string(field.substr(before_name + 1)), std::string(type)});
        past_number |= field == "int __syscall_nr";
    }
    if (!past_number)
        return std::nullopt;
    return parameters;
}

} // namespace djstap
