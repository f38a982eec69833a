// SPDX-License-Identifier: GPL-2.0-or-later
#include "image/kernel.h"

#include "image/configuration.h"
#include "image/debug_file.h"
#include "image/opened.h"

#include <cctype>
#include <limits>
#include <mutex>

namespace djstap {

namespace {

// The symbol from which the runtime computes the kernel's load bias (runtime/sites/sites.c).
constexpr std::string_view kernel_symbol = "_printk";

class OpenedKernel final : public OpenedImage<Kernel> {
  public:
    Status open(KernelFiles files, void (*progress)(const std::string&));

    ImageKind kind() const override { return ImageKind::Kernel; }
    const std::string& name() const override { return name_; }
    std::string title() const override { return "kernel " + files_.release; }
    const Kernel& kernel() const override { return *this; }
    const std::string& file() const override { return files_.vmlinux; }
    bool knows_fentry_sites() const override { return elf_ || site_addresses_ || !has_ibt(); }
    const KernelFiles& files() const override { return files_; }
    const std::string& version() const override { return version_; }
    std::string config(std::string_view name) const override;
    bool has_ibt() const override;

  private:
    Status open_vmlinux(void (*progress)(const std::string&));
    Result<std::unique_ptr<ElfFile>> separate_symbols(void (*progress)(const std::string&)) const;
    void find_vmlinux_by_id(void (*progress)(const std::string&));
    Status open_dump();
    void read_version();

    const std::string name_ = "kernel";
    KernelFiles files_;
    std::string version_;
    mutable std::once_flag config_read_;
    mutable std::optional<Configuration> config_;
};

// Returns the file with the symbols of a vmlinux that was stripped; null if it has them itself.
Result<std::unique_ptr<ElfFile>>
OpenedKernel::separate_symbols(void (*progress)(const std::string&)) const {
    if (!elf_->symbols().empty())
        return std::unique_ptr<ElfFile>();
    const DebugFileSearch search = find_debug_file(*this, DebugServers::Ask, progress);
    std::string why;
    for (const std::string& reason : search.refused)
        why += "; " + reason;
    if (search.found) {
        auto separate = ElfFile::open(search.found->path);
        if (separate && !(*separate)->symbols().empty())
            return separate;
        why += "; " + search.found->origin + " has none either";
    }
    return Failure{files_.vmlinux + ": has no symbol table" + why,
                   "install the kernel's debug symbols"};
}

Status OpenedKernel::open_vmlinux(void (*progress)(const std::string&)) {
    auto elf = ElfFile::open(files_.vmlinux);
    if (!elf)
        return elf.failure();
    elf_ = std::move(*elf);
    build_id_ = elf_->build_id();
    std::string path = cache_directory() + "/kernels/" + build_id_.digits + "/symbols";
    if (!build_id_.digits.empty())
        symbols_ = SymbolTable::map(path);
    if (!symbols_) {
        auto separate = separate_symbols(progress);
        if (!separate)
            return separate.failure();
        if (progress)
            progress("reading the symbols of " + files_.release);
        std::string bytes =
            SymbolTable::serialize(symbols_of_kernel(*elf_, *separate ? **separate : *elf_));
        if (!build_id_.digits.empty()) {
            Status written = write_cached(path, bytes);
            if (!written && progress)
                progress("cannot cache the symbols: " + written.failure().message);
        }
        symbols_ = SymbolTable::hold(std::move(bytes));
    }
    return Done{};
}

// A kernel that runs tells its build-id, by which its vmlinux may be found elsewhere.
void OpenedKernel::find_vmlinux_by_id(void (*progress)(const std::string&)) {
    auto notes =
        files_.notes.empty() ? Result<std::string>(std::string()) : read_file(files_.notes);
    const BuildId id = notes ? build_id_in_notes(*notes, 0) : BuildId();
    if (id.digits.empty())
        return;
    if (auto found = find_vmlinux(files_.root, id.digits, title(), progress))
        files_.vmlinux = *found;
}

Status OpenedKernel::open_dump() {
    auto dump = read_file(files_.kallsyms);
    if (!dump)
        return dump.failure();
    auto optional_text = [](const std::string& path) {
        auto text = path.empty() ? Result<std::string>(std::string()) : read_file(path);
        return text ? *text : std::string();
    };
    std::string fentry = optional_text(files_.fentry_functions),
                blacklist = optional_text(files_.kprobe_blacklist);
    auto source = symbols_of_dump(*dump, fentry, blacklist, files_.kallsyms);
    if (!source)
        return source.failure();
    symbols_ = SymbolTable::hold(SymbolTable::serialize(*source));
    const auto notes_at = symbol("__start_notes");
    build_id_ = build_id_in_notes(optional_text(files_.notes), notes_at ? notes_at->address : 0);
    if (!notes_at)
        build_id_.address = 0;
    // otherwise names: "vfs_read", "nft_x [nf_tables]"
    site_addresses_ = !fentry.empty() && std::isxdigit(fentry.front()) && fentry.find(' ') == 16;
    return Done{};
}

// The banner is "Linux version RELEASE (who@where) (compiler, linker) VERSION\n".
void OpenedKernel::read_version() {
    std::string dump;
    std::string_view text;
    if (auto banner = elf_ ? symbols_->named("linux_banner", true) : std::vector<Symbol>{};
        !banner.empty()) {
        text = elf_->bytes_from(banner.front().address);
    } else if (auto read = files_.banner.empty() ? Result<std::string>(std::string())
                                                 : read_file(files_.banner)) {
        dump = *read;
        text = dump;
    }
    text = text.substr(0, std::min(text.find('\n'), text.find('\0')));
    size_t at = text.rfind(") #");
    if (at != std::string_view::npos)
        version_ = text.substr(at + 2);
}

Status OpenedKernel::open(KernelFiles files, void (*progress)(const std::string&)) {
    files_ = std::move(files);
    Status opened = Failure{"no symbols were found for kernel " + files_.release,
                            "install its debug symbols (vmlinux)"};
    if (files_.vmlinux.empty())
        find_vmlinux_by_id(progress);
    if (!files_.vmlinux.empty())
        opened = open_vmlinux(progress);
    if (!opened && !files_.kallsyms.empty()) {
        elf_.reset();
        Status from_dump = open_dump();
        if (from_dump || files_.vmlinux.empty())
            opened = from_dump;
    }
    if (!opened) {
        Failure failure = opened.failure();
        if (files_.vmlinux.empty() && !files_.looked_in.empty()) {
            failure.hint += failure.hint.empty() ? "" : "; ";
            failure.hint += "searched";
            for (const std::string& place : files_.looked_in)
                failure.hint += " " + place;
        }
        return failure;
    }
    // The kernel is relocated as a whole, so a symbol that it exports to modules gives the location
    // of all of it.
    const auto printk = symbol(kernel_symbol);
    const uint64_t address = printk ? printk->address : 0;
    segments_ = {{std::string(kernel_symbol), std::string(kernel_symbol), address, address, 0,
                  std::numeric_limits<uint64_t>::max()}};
    read_version();
    return Done{};
}

std::string OpenedKernel::config(std::string_view name) const {
    std::call_once(config_read_, [&] { config_.emplace(files_.config); });
    return config_->value(name);
}

bool OpenedKernel::has_ibt() const {
    if (!files_.config.empty())
        return config(arch::landing_pad_option()) == "y";
    // Without a configuration the code itself is decisive: an exported function begins with a
    // landing pad.
    auto function = symbol("vfs_read");
    const std::string_view pad = arch::landing_pad();
    return function && !pad.empty() && bytes_at(function->address, pad.size()) == pad;
}

} // namespace

Result<std::unique_ptr<Kernel>> Kernel::open(KernelFiles files,
                                             void (*progress)(const std::string&)) {
    auto kernel = std::make_unique<OpenedKernel>();
    if (Status opened = kernel->open(std::move(files), progress); !opened)
        return opened.failure();
    return std::unique_ptr<Kernel>(std::move(kernel));
}

} // namespace djstap
