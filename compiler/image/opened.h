// SPDX-License-Identifier: GPL-2.0-or-later
// What an opened kernel and an opened module have in common.
#pragma once
#include "arch/arch.h"
#include "image/elf_file.h"
#include "image/symbol_table.h"

#include <algorithm>
#include <memory>

namespace djstap {

// `Interface`: Image, or Kernel.
template <class Interface> class OpenedImage : public Interface {
  public:
    const std::string& build_id() const override { return build_id_.digits; }
    uint64_t build_id_address() const override { return build_id_.address; }
    const std::vector<Segment>& segments() const override { return segments_; }
    std::optional<Symbol> symbol(std::string_view name) const override {
        auto found = symbols_->named(name, true);
        return found.empty() ? std::nullopt : std::optional(found.front());
    }
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
    bool knows_fentry_sites() const override { return elf_ != nullptr; }
    size_t fentry_site_count() const override { return symbols_->fentry_sites().size(); }
    bool kprobe_forbidden(uint64_t address) const override { return symbols_->forbidden(address); }
    std::string_view bytes_at(uint64_t address, size_t size) const override {
        return elf_ ? elf_->bytes_at(address, size) : std::string_view{};
    }
    const ElfFile* elf() const override { return elf_.get(); }

    std::optional<uint64_t> fentry_site(uint64_t entry) const override {
        auto sites = symbols_->fentry_sites();
        auto first = std::lower_bound(sites.begin(), sites.end(), entry);
        if (first == sites.end())
            return std::nullopt;
        if (*first == entry)
            return entry;
        // Without the text: only a landing pad can precede a site in its function.
        const std::string_view pad = arch::landing_pad(), text = bytes_at(entry, pad.size());
        if (*first == entry + pad.size() && (text == pad || (text.empty() && site_addresses_)))
            return *first;
        return std::nullopt;
    }

  protected:
    BuildId build_id_;
    std::vector<Segment> segments_;
    std::unique_ptr<ElfFile> elf_;
    bool site_addresses_ = false; // a dump contains them
    std::optional<SymbolTable> symbols_;
};

} // namespace djstap
