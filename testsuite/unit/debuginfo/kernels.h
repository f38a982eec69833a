// SPDX-License-Identifier: GPL-2.0-or-later
// The real kernels that these tests examine, each opened once.
#pragma once
#include "debuginfo/debuginfo.h"
#include "image/kernel.h"

#include "../surroundings.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace djstap {

struct OpenKernel {
    std::string release;
    std::unique_ptr<Kernel> kernel;
    std::unique_ptr<DebugInfo> info;
};

// Returns every kernel with a vmlinux; empty if there is none. `without_dwarf` reads only BTF.
inline std::vector<OpenKernel> open_kernels(bool without_dwarf = false) {
    const test::Environment dwarf("DJSTAP_NO_DWARF",
                                  without_dwarf ? std::optional<std::string>("1") : std::nullopt);
    std::vector<OpenKernel> kernels;
    for (const std::string& release : installed_releases()) {
        auto files = find_kernel(release);
        if (!files || files->vmlinux.empty())
            continue;
        OpenKernel kernel;
        kernel.release = release;
        auto opened = Kernel::open(*files);
        if (!opened)
            continue;
        kernel.kernel = std::move(*opened);
        auto info = DebugInfo::open(*kernel.kernel);
        if (!info)
            continue;
        kernel.info = std::move(*info);
        kernels.push_back(std::move(kernel));
    }
    return kernels;
}

inline const std::vector<OpenKernel>& kernels() {
    static const std::vector<OpenKernel> opened = open_kernels();
    return opened;
}

inline std::vector<FunctionInfo> find_functions(const DebugInfo& info, std::string_view text) {
    auto pattern = parse_function_pattern(text);
    return pattern ? info.functions(*pattern, true) : std::vector<FunctionInfo>();
}

// "name=place" for each parameter: "rdi", "[rdi+112]", "5", "?" …
inline std::string shown_register(PtReg reg) {
    static const char* names[] = {"r15", "r14",      "r13", "r12", "rbp",    "rbx", "r11",
                                  "r10", "r9",       "r8",  "rax", "rcx",    "rdx", "rsi",
                                  "rdi", "orig_rax", "rip", "cs",  "eflags", "rsp", "ss"};
    return names[size_t(reg)];
}

// In reverse Polish notation: "rdi 4@ rcx +".
inline std::string shown_operations(const std::vector<LocationOperation>& operations) {
    using Kind = LocationOperation::Kind;
    static const char* words[] = {"",   "",   "",    "",   "",   "+", "-",  "*", "&",  "|",   "^",
                                  "<<", ">>", ">>s", "==", "!=", "<", "<=", ">", ">=", "neg", "~"};
    std::string shown;
    for (const LocationOperation& operation : operations) {
        shown += shown.empty() ? "" : " ";
        const std::string size =
            (operation.is_signed ? "s" : "") + std::to_string(int(operation.size));
        switch (operation.kind) {
        case Kind::Register:
            shown += shown_register(operation.reg);
            break;
        case Kind::Constant:
            shown += std::to_string(int64_t(operation.number));
            break;
        case Kind::Address:
            shown += "&" + std::to_string(operation.number);
            break;
        case Kind::Load:
            shown += size + "@";
            break;
        case Kind::Extend:
            shown += size + "x";
            break;
        default:
            shown += words[size_t(operation.kind)];
        }
    }
    return shown;
}

inline std::string shown_location(const Location& location) {
    switch (location.kind) {
    case LocationKind::None:
        return "?";
    case LocationKind::Register:
        return shown_register(location.reg);
    case LocationKind::Memory:
        return "[" + shown_register(location.reg) + "+" + std::to_string(location.offset) + "]";
    case LocationKind::Address:
        return "@" + std::to_string(location.constant);
    case LocationKind::Constant:
        return std::to_string(location.constant);
    case LocationKind::Value:
        return shown_register(location.reg) + "+" + std::to_string(location.offset);
    case LocationKind::Computed:
    case LocationKind::ComputedMemory:
        return (location.kind == LocationKind::Computed ? "(" : "[(") +
               shown_operations(location.operations) +
               (location.kind == LocationKind::Computed ? ")" : ")]");
    case LocationKind::Pieces: {
        std::string shown = "{";
        for (const LocationPiece& piece : location.pieces)
            shown += (piece.offset ? " " : "") + std::to_string(piece.size) + ":" +
                     shown_location(piece.location);
        return shown + "}";
    }
    }
    return {};
}

inline std::string shown_parameters(const std::vector<Variable>& parameters) {
    std::string shown;
    for (const Variable& parameter : parameters)
        shown +=
            (shown.empty() ? "" : " ") + parameter.name + "=" + shown_location(parameter.location);
    return shown;
}

} // namespace djstap
