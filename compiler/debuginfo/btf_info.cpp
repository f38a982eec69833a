// SPDX-License-Identifier: GPL-2.0-or-later
#include "debuginfo/btf_info.h"

#include "arch/arch.h"
#include "debuginfo/syscalls.h"
#include "image/elf_file.h"
#include "image/glob.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace djstap {

namespace {

// Returns whether a symbol is for code that is not a function of its own.
bool is_no_function(std::string_view symbol) {
    return symbol.ends_with(".cold") || symbol.find(".cold.") != std::string_view::npos ||
           symbol.starts_with("__pfx_") || symbol.starts_with(".L");
}

std::string_view without_suffix(std::string_view symbol) {
    size_t dot = symbol.find('.', 1);
    return symbol.substr(0, dot);
}

} // namespace

namespace {

// BTF and the storage of its bytes; null if they are vmlinux's.
struct KernelBtf {
    std::unique_ptr<std::string> bytes;
    Btf btf;
};

Result<KernelBtf> kernel_btf(const Kernel& kernel) {
    std::string held;
    std::string_view bytes;
    const ElfFile* vmlinux = kernel.elf();
    if (const ElfSection* section = vmlinux ? vmlinux->section(".BTF") : nullptr) {
        bytes = section->bytes;
    } else if (!kernel.files().btf.empty()) {
        auto read = read_file(kernel.files().btf);
        if (!read)
            return read.failure();
        held = std::move(*read);
    } else {
        return Failure{kernel.title() + " has no BTF", ""};
    }
    // The bytes are moved to their final place before they are parsed.
    auto storage = std::make_unique<std::string>(std::move(held));
    auto btf = Btf::parse(bytes.empty() ? std::string_view(*storage) : bytes);
    if (!btf)
        return btf.failure();
    return KernelBtf{std::move(storage), std::move(*btf)};
}

} // namespace

Result<std::unique_ptr<DebugInfo>> BtfInfo::open(const Image& image) {
    auto kernel = kernel_btf(image.kernel());
    if (!kernel)
        return kernel.failure();
    if (image.kind() == ImageKind::Kernel)
        return std::unique_ptr<DebugInfo>(
            new BtfInfo(image, std::move(kernel->bytes), nullptr, std::move(kernel->btf)));
    auto base = std::make_unique<Btf>(std::move(kernel->btf));
    const ElfSection* own = image.elf() ? image.elf()->section(".BTF") : nullptr;
    // A module that was built without the kernel's BTF provides no types: the names of its
    // functions come from its symbols, and the kernel's types are known.
    const bool builds_upon = own && !image.elf()->section(".BTF.base");
    auto btf = builds_upon ? Btf::parse(own->bytes, base.get()) : Btf::parse_nothing(base.get());
    if (!btf)
        return btf.failure();
    return std::unique_ptr<DebugInfo>(
        new BtfInfo(image, std::move(kernel->bytes), std::move(base), std::move(*btf)));
}

FunctionInfo BtfInfo::function_info(const Symbol& symbol) const {
    FunctionInfo info;
    info.name = without_suffix(symbol.name);
    info.symbol = symbol.name;
    info.entry = symbol.address;
    info.size = symbol.size;
    info.external = symbol.global;
    return info;
}

std::vector<FunctionInfo> BtfInfo::functions(const FunctionPattern& pattern, bool details) const {
    std::vector<FunctionInfo> found;
    // BTF contains no file names
    if (!pattern.file.empty())
        return found;
    bool wild = has_wildcard(pattern.function);
    std::set<std::tuple<uint64_t, std::string>> taken;
    auto take = [&](const std::vector<Symbol>& symbols) {
        for (const Symbol& symbol : symbols) {
            if (is_no_function(symbol.name) ||
                (image_.has_addresses() && !image_.in_text(symbol.address)) ||
                (wild && symbol.size == 0 && image_.has_addresses()))
                continue;
            FunctionInfo info = function_info(symbol);
            // One name per address, unless addresses are hidden.
            std::string key = image_.has_addresses() ? std::string() : info.symbol;
            if (taken.emplace(info.entry, key).second)
                found.push_back(std::move(info));
        }
    };
    if (wild) {
        take(image_.symbols_matching(pattern.function));
    } else {
        take(image_.symbols_named(pattern.function));
        if (pattern.function.find('.') == std::string::npos)
            take(image_.symbols_matching(pattern.function + ".*"));
    }
    if (wild || found.empty()) {
        std::set<std::string> names;
        for (const FunctionInfo& function : found)
            names.insert(function.name);
        for (const SyscallWrapper& wrapper : syscall_wrappers(image_, pattern.function)) {
            FunctionInfo info = function_info(wrapper.symbol);
            info.name = std::string(syscall_user_prefix).append(wrapper.name);
            info.is_syscall = true;
            if (!names.contains(info.name))
                found.push_back(std::move(info));
        }
    }
    if (details) {
        for (FunctionInfo& function : found)
            add_details(function);
    }
    std::sort(found.begin(), found.end(), [](const FunctionInfo& a, const FunctionInfo& b) {
        return std::tie(a.name, a.entry) < std::tie(b.name, b.entry);
    });
    return found;
}

void BtfInfo::add_syscall_details(FunctionInfo& function) const {
    std::string_view name = std::string_view(function.name).substr(syscall_user_prefix.size());
    auto add = [&](std::string_view parameter, TypeId type) {
        Variable variable;
        variable.name = parameter;
        variable.type = type;
        variable.is_parameter = true;
        variable.location = syscall_argument(function.parameters.size());
        function.parameters.push_back(std::move(variable));
    };
    std::string definition("__do_sys_");
    if (uint32_t known = btf_.function(definition.append(name))) {
        bool varargs = false;
        function.return_type = btf_.function_result(known);
        for (const BtfParameter& parameter : btf_.function_parameters(known, varargs)) {
            if (parameter.name != "__unused")
                add(parameter.name, parameter.type);
        }
        return;
    }
    auto table = syscall_table_parameters(image_, name);
    if (!table)
        table = syscall_formats_.parameters(name);
    if (!table) {
        function.parameters_hint =
            "without debug symbols, the arguments of system calls come from tracefs: run djstap as "
            "root (sudo djstap …) on a kernel with CONFIG_FTRACE_SYSCALLS, or install the kernel's "
            "debug symbols (vmlinux with DWARF)";
        return;
    }
    function.return_type = btf_.by_declaration("long");
    for (const SyscallParameter& parameter : *table)
        add(parameter.name, btf_.by_declaration(parameter.type));
}

void BtfInfo::add_details(FunctionInfo& function) const {
    function.parameters.clear();
    function.return_type.reset();
    if (function.is_syscall) {
        add_syscall_details(function);
        return;
    }
    uint32_t known = btf_.function(function.name);
    if (!known)
        return;
    function.return_type = btf_.function_result(known);
    std::vector<BtfParameter> parameters = btf_.function_parameters(known, function.varargs);
    auto shape_of = [&](TypeId id) {
        CType type = btf_.resolve(id);
        arch::ArgumentShape shape;
        shape.size = type.size;
        shape.aggregate = type.kind == CTypeKind::Struct || type.kind == CTypeKind::Union;
        shape.floating = type.kind == CTypeKind::Float;
        shape.known = type.size != 0 || shape.aggregate;
        return shape;
    };
    std::vector<arch::ArgumentShape> shapes;
    for (const BtfParameter& parameter : parameters)
        shapes.push_back(shape_of(parameter.type));
    std::vector<Location> locations =
        arch::argument_locations(shapes, shape_of(*function.return_type));
    bool is_clone = function.symbol != function.name;
    for (size_t i = 0; i < parameters.size(); i++) {
        Variable variable;
        variable.name = parameters[i].name;
        variable.type = parameters[i].type;
        variable.is_parameter = true;
        variable.location = locations[i];
        if (is_clone) {
            variable.location = Location();
            variable.location.why =
                "the compiler changed the parameters of this clone; only DWARF describes them";
        }
        function.parameters.push_back(std::move(variable));
    }
}

std::vector<std::string> BtfInfo::similar_functions(std::string_view name) const {
    SimilarNames similar(name);
    for (std::string_view each : btf_.function_names()) {
        if (image_.symbol(each))
            similar.consider(each);
    }
    if (name.starts_with(syscall_user_prefix)) {
        for (const SyscallWrapper& wrapper : syscall_wrappers(image_, "sys_*"))
            similar.consider(std::string(syscall_user_prefix).append(wrapper.name));
    }
    return similar.take();
}

std::vector<std::string> BtfInfo::similar_enumerators(std::string_view name) const {
    SimilarNames similar(name);
    for (const std::string& each : btf_.enumerator_names())
        similar.consider(each);
    return similar.take();
}

std::vector<std::string> BtfInfo::similar_types(std::string_view name) const {
    SimilarNames similar(name);
    for (const std::string_view each : btf_.type_names())
        similar.consider(each);
    return similar.take();
}

Result<StatementResult> BtfInfo::statements(const FunctionPattern& pattern, bool) const {
    if (pattern.line_kind == FunctionPattern::LineKind::None && pattern.file.empty()) {
        StatementResult result;
        for (const FunctionInfo& function : functions(pattern, false)) {
            StatementAddress statement;
            statement.address = statement.symbol_entry = function.entry;
            statement.function = function.name;
            statement.symbol = function.symbol;
            result.addresses.push_back(std::move(statement));
        }
        return result;
    }
    return Failure{"source files and lines are not known for " + image_.title() +
                       ": it has only BTF",
                   "install the kernel's debug symbols (vmlinux with DWARF)"};
}

std::vector<Variable> BtfInfo::variables_at(uint64_t address) const {
    auto symbol = image_.symbol_at(address);
    if (!symbol)
        return {};
    FunctionInfo function = function_info(*symbol);
    add_details(function);
    bool at_entry = address == function.entry || image_.fentry_site(function.entry) == address;
    for (Variable& parameter : function.parameters) {
        if (!at_entry) {
            parameter.location = Location();
            parameter.location.why = "known only at the function's entry without DWARF";
        }
    }
    return function.parameters;
}

std::optional<Variable> BtfInfo::global(std::string_view) const {
    // BTF describes only per-CPU variables, which have no address of their own.
    return std::nullopt;
}

std::string BtfInfo::type_name(TypeId type) const {
    return write_type(type, [this](TypeId each) { return btf_.step(each); });
}

std::optional<CMember> BtfInfo::member(TypeId type, std::string_view name) const {
    return find_member(*this, type, name);
}

} // namespace djstap
