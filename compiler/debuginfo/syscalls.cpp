#include "debuginfo/syscalls.h"

#include "target/elf_image.h"
#include "target/glob.h"

#include <cstring>

namespace djstap {

namespace {

// Byte offsets of di, si, dx, r10, r8, r9 in struct pt_regs.
constexpr int64_t argument_slots[] = {112, 104, 96, 56, 72, 64};

// struct syscall_metadata of include/trace/syscall.h, up to what is needed.
struct SyscallMetadata {
    uint64_t name;
    int32_t number;
    int32_t argument_count;
    uint64_t types;
    uint64_t arguments;
};

std::string_view text_at(const ElfImage& image, uint64_t address) {
    std::string_view bytes = image.bytes_from(address);
    constexpr size_t longest = 256;
    size_t end = bytes.substr(0, longest).find('\0');
    return end == std::string_view::npos ? std::string_view() : bytes.substr(0, end);
}

uint64_t word_at(const ElfImage& image, uint64_t address) {
    uint64_t word = 0;
    std::string_view bytes = image.bytes_at(address, sizeof word);
    if (!bytes.empty())
        std::memcpy(&word, bytes.data(), sizeof word);
    return word;
}

} // namespace

Location syscall_argument(size_t number) {
    Location location;
    if (number >= std::size(argument_slots)) {
        location.why = "a system call has six arguments at most";
        return location;
    }
    location.kind = LocationKind::Memory;
    location.reg = PtReg::Rdi;
    location.offset = argument_slots[number];
    return location;
}

std::vector<SyscallWrapper> syscall_wrappers(const Target& target, std::string_view pattern) {
    std::vector<SyscallWrapper> wrappers;
    if (!literal_prefix(pattern).starts_with(syscall_user_prefix))
        return wrappers;
    std::string wanted(syscall_wrapper_prefix);
    wanted.append(pattern.substr(syscall_user_prefix.size()));
    for (const Symbol& symbol : target.symbols_matching(wanted))
        wrappers.push_back(
            {std::string(symbol.name.substr(syscall_wrapper_prefix.size())), symbol});
    return wrappers;
}

std::optional<std::vector<SyscallParameter>> syscall_table_parameters(const Target& target,
                                                                      std::string_view name) {
    const ElfImage* image = target.image();
    auto symbol = target.symbol("__syscall_meta__" + std::string(name));
    if (!image || !symbol)
        return std::nullopt;
    std::string_view bytes = image->bytes_at(symbol->address, sizeof(SyscallMetadata));
    if (bytes.empty())
        return std::nullopt;
    SyscallMetadata metadata;
    std::memcpy(&metadata, bytes.data(), sizeof metadata);
    std::vector<SyscallParameter> parameters;
    if (metadata.argument_count < 0 || metadata.argument_count > int(std::size(argument_slots)))
        return std::nullopt;
    for (int i = 0; i < metadata.argument_count; i++) {
        uint64_t place = i * sizeof(uint64_t);
        std::string_view parameter = text_at(*image, word_at(*image, metadata.arguments + place));
        if (parameter.empty())
            return std::nullopt;
        parameters.push_back(
            {std::string(parameter),
             std::string(text_at(*image, word_at(*image, metadata.types + place)))});
    }
    return parameters;
}

} // namespace djstap
