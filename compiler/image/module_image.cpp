// SPDX-License-Identifier: GPL-2.0-or-later
// Modules as images.
#include "image/module_file.h"
#include "image/opened.h"

#include <unordered_map>

namespace djstap {

namespace {

class OpenedModule final : public OpenedImage<Image> {
  public:
    OpenedModule(const Kernel& kernel, std::string file)
        : kernel_(kernel), file_(std::move(file)), name_(module_name_of(file_)),
          title_("module '" + name_ + "' of " + kernel_.title()) {}
    OpenedModule(const Kernel& kernel, std::string file, std::string name, AddressSpace space)
        : kernel_(kernel), file_(std::move(file)), name_(std::move(name)), title_(name_),
          space_(space) {}
    Status open(const std::string& linked);

    ImageKind kind() const override { return ImageKind::Module; }
    const std::string& name() const override { return name_; }
    std::string title() const override { return title_; }
    AddressSpace address_space() const override { return space_; }
    const Kernel& kernel() const override { return kernel_; }
    const std::string& file() const override { return file_; }

  private:
    const Kernel& kernel_;
    const std::string file_, name_, title_;
    const AddressSpace space_ = AddressSpace::Kernel;
};

Status OpenedModule::open(const std::string& linked) {
    auto elf = ElfFile::open(linked);
    if (!elf)
        return elf.failure();
    elf_ = std::move(*elf);
    build_id_ = elf_->build_id();
    symbols_ = SymbolTable::hold(SymbolTable::serialize(symbols_of_module(*elf_)));
    segments_ = module_segments(*elf_);
    return Done{};
}

} // namespace

std::vector<Segment> module_segments(const ElfFile& linked) {
    std::unordered_map<std::string_view, int> times;
    for (const Elf64_Sym& symbol : linked.symbols())
        times[linked.symbol_name(symbol)]++;
    auto tells = [&](const Elf64_Sym& symbol) {
        const unsigned type = ELF64_ST_TYPE(symbol.st_info);
        return (type == STT_FUNC || type == STT_OBJECT) && times[linked.symbol_name(symbol)] == 1;
    };
    std::vector<Segment> segments;
    for (size_t number = 0; number < linked.sections().size(); number++) {
        const ElfSection& section = linked.sections()[number];
        if (!(section.flags & SHF_ALLOC) || section.size == 0 ||
            section.name.starts_with(".init") || section.name == per_cpu_section)
            continue;
        const Elf64_Sym *first = nullptr, *last = nullptr;
        for (const Elf64_Sym& symbol : linked.symbols()) {
            if (symbol.st_shndx != number || !tells(symbol))
                continue;
            if (!first || symbol.st_value < first->st_value)
                first = &symbol;
            if (!last || symbol.st_value > last->st_value)
                last = &symbol;
        }
        if (!first)
            continue;
        segments.push_back({std::string(linked.symbol_name(*first)),
                            std::string(linked.symbol_name(*last)), first->st_value, last->st_value,
                            section.address, section.address + section.size,
                            (section.flags & SHF_EXECINSTR) != 0});
    }
    return segments;
}

namespace {

Result<std::unique_ptr<Image>> open_linked(std::unique_ptr<OpenedModule> module) {
    auto linked = linked_module(module->kernel(), module->file());
    if (!linked)
        return linked.failure();
    if (Status opened = module->open(*linked); !opened)
        return opened.failure();
    return std::unique_ptr<Image>(std::move(module));
}

} // namespace

Result<std::unique_ptr<Image>> open_module(const Kernel& kernel, const std::string& path) {
    return open_linked(std::make_unique<OpenedModule>(kernel, path));
}

Result<std::unique_ptr<Image>> open_headers(const Kernel& kernel, const std::string& path,
                                            const std::string& name, AddressSpace space) {
    return open_linked(std::make_unique<OpenedModule>(kernel, path, name, space));
}

} // namespace djstap
