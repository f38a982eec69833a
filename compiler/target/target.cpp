// SPDX-License-Identifier: GPL-2.0-or-later
#include "target/target.h"

#include "arch/arch.h"
#include "target/configuration.h"
#include "target/elf_image.h"
#include "target/symbol_table.h"

#include <algorithm>
#include <cctype>

namespace djstap {

namespace {

class OpenTarget final : public Target {
  public:
    Status open(KernelFiles files, void (*progress)(const std::string&));
    Status open_module(KernelFiles files, const std::string& linked);

    const KernelFiles& files() const override { return files_; }
    const std::string& release() const override { return files_.release; }
    const std::string& build_id() const override { return build_id_.digits; }
    uint64_t build_id_address() const override { return build_id_.address; }
    const std::string& version() const override { return version_; }
    std::string config(std::string_view name) const override;
    bool has_ibt() const override;
    std::optional<Symbol> symbol(std::string_view name) const override;
    std::vector<Symbol> symbols_named(std::string_view name) const override {
        return symbols_->named(name, false);
    }
    std::vector<Symbol> symbols_matching(std::string_view glob) const override {
        return symbols_->matching(glob);
    }
    std::optional<Symbol> symbol_at(uint64_t address) const override {
        return symbols_->at(address);
    }
    bool has_addresses() const override { return symbols_->has_addresses(); }
    bool in_text(uint64_t address) const override { return symbols_->in_text(address); }
    std::optional<uint64_t> fentry_site(uint64_t entry) const override;
    bool knows_fentry_sites() const override { return image_ || site_addresses_ || !has_ibt(); }
    size_t fentry_site_count() const override { return symbols_->fentry_sites().size(); }
    bool kprobe_forbidden(uint64_t address) const override { return symbols_->forbidden(address); }
    std::string_view text_at(uint64_t address, size_t size) const override;
    const ElfImage* image() const override { return image_.get(); }

  private:
    Status open_image(void (*progress)(const std::string&));
    Status open_dump();
    void read_version();

    KernelFiles files_;
    BuildId build_id_;
    std::string version_;
    std::unique_ptr<ElfImage> image_;
    bool site_addresses_ = false; // a dump tells them
    std::optional<SymbolTable> symbols_;
    mutable std::optional<Configuration> config_;
};

Status OpenTarget::open_image(void (*progress)(const std::string&)) {
    auto image = ElfImage::open(files_.vmlinux);
    if (!image)
        return image.failure();
    image_ = std::move(*image);
    build_id_ = image_->build_id();
    std::string path = cache_directory() + "/kernels/" + build_id_.digits + "/symbols";
    if (!build_id_.digits.empty())
        symbols_ = SymbolTable::map(path);
    if (!symbols_) {
        if (image_->symbols().empty())
            return Failure{files_.vmlinux + ": has no symbol table",
                           "install the kernel's debug symbols"};
        if (progress)
            progress("reading the symbols of " + files_.release);
        std::string bytes = SymbolTable::serialize(symbols_of_image(*image_));
        if (!build_id_.digits.empty()) {
            Status written = write_cached(path, bytes);
            if (!written && progress)
                progress("the symbols are not cached: " + written.failure().message);
        }
        symbols_ = SymbolTable::hold(std::move(bytes));
    }
    return Done{};
}

Status OpenTarget::open_dump() {
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
    site_addresses_ = !fentry.empty() && std::isxdigit(fentry.front()) &&
                      fentry.find(' ') == 16; // else names: "vfs_read", "nft_x [nf_tables]"
    return Done{};
}

// The banner is "Linux version RELEASE (who@where) (compiler, linker) VERSION\n".
void OpenTarget::read_version() {
    std::string dump;
    std::string_view text;
    if (auto banner = image_ ? symbols_->named("linux_banner", true) : std::vector<Symbol>{};
        !banner.empty()) {
        text = image_->bytes_from(banner.front().address);
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

Status OpenTarget::open(KernelFiles files, void (*progress)(const std::string&)) {
    files_ = std::move(files);
    Status opened = Failure{"there are no symbols for kernel " + files_.release,
                            "install its debug symbols (vmlinux)"};
    if (!files_.vmlinux.empty())
        opened = open_image(progress);
    if (!opened && !files_.kallsyms.empty()) {
        image_.reset();
        Status from_dump = open_dump();
        if (from_dump || files_.vmlinux.empty())
            opened = from_dump;
    }
    if (!opened) {
        Failure failure = opened.failure();
        if (files_.vmlinux.empty() && !files_.looked_in.empty()) {
            failure.hint += failure.hint.empty() ? "" : "; ";
            failure.hint += "looked for";
            for (const std::string& place : files_.looked_in)
                failure.hint += " " + place;
        }
        return failure;
    }
    read_version();
    return Done{};
}

Status OpenTarget::open_module(KernelFiles files, const std::string& linked) {
    files_ = std::move(files);
    files_.vmlinux = linked;
    auto image = ElfImage::open(linked);
    if (!image)
        return image.failure();
    image_ = std::move(*image);
    build_id_ = image_->build_id();
    symbols_ = SymbolTable::hold(SymbolTable::serialize(symbols_of_module(*image_)));
    return Done{};
}

std::string OpenTarget::config(std::string_view name) const {
    if (!config_)
        config_.emplace(files_.config);
    return config_->value(name);
}

bool OpenTarget::has_ibt() const {
    if (!files_.config.empty())
        return config(arch::landing_pad_option()) == "y";
    // Without a configuration the code itself tells: an exported function begins with a landing
    // pad.
    auto function = symbol("vfs_read");
    const std::string_view pad = arch::landing_pad();
    return function && !pad.empty() && text_at(function->address, pad.size()) == pad;
}

std::optional<Symbol> OpenTarget::symbol(std::string_view name) const {
    auto found = symbols_->named(name, true);
    return found.empty() ? std::nullopt : std::optional(found.front());
}

std::optional<uint64_t> OpenTarget::fentry_site(uint64_t entry) const {
    auto sites = symbols_->fentry_sites();
    auto first = std::lower_bound(sites.begin(), sites.end(), entry);
    if (first == sites.end())
        return std::nullopt;
    if (*first == entry)
        return entry;
    // Without the text: only a landing pad keeps a site from its function's entry.
    const std::string_view pad = arch::landing_pad(), text = text_at(entry, pad.size());
    if (*first == entry + pad.size() && (text == pad || (text.empty() && site_addresses_)))
        return *first;
    return std::nullopt;
}

std::string_view OpenTarget::text_at(uint64_t address, size_t size) const {
    return image_ ? image_->bytes_at(address, size) : std::string_view{};
}

} // namespace

Result<std::unique_ptr<Target>> Target::open(KernelFiles files,
                                             void (*progress)(const std::string&)) {
    auto target = std::make_unique<OpenTarget>();
    if (Status opened = target->open(std::move(files), progress); !opened)
        return opened.failure();
    return std::unique_ptr<Target>(std::move(target));
}

Result<std::unique_ptr<Target>> Target::open_module(const Target& kernel,
                                                    const std::string& linked) {
    auto target = std::make_unique<OpenTarget>();
    if (Status opened = target->open_module(kernel.files(), linked); !opened)
        return opened.failure();
    return std::unique_ptr<Target>(std::move(target));
}

} // namespace djstap
