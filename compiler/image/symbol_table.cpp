// SPDX-License-Identifier: GPL-2.0-or-later
#include "image/symbol_table.h"

#include "image/glob.h"

#include <algorithm>

namespace djstap {

namespace {

constexpr TableFormat format = {{'d', 'j', 's', 'y', 'm', 's', '\n', '\0'}, 4, 6};
enum Section {
    records_section,
    by_address_section,
    fentry_section,
    forbidden_section,
    text_section,
    strings_section
};

// Returns how suitable a name is for an address with several names.
int rank(const SymbolRecord& record) {
    return ((record.flags & symbol_function) ? 2 : 0) + ((record.flags & symbol_global) ? 1 : 0);
}

std::vector<AddressRange> disjoint(std::vector<AddressRange> ranges) {
    std::sort(ranges.begin(), ranges.end(), [](auto& a, auto& b) { return a.begin < b.begin; });
    std::vector<AddressRange> merged;
    for (const AddressRange& range : ranges) {
        if (range.begin >= range.end)
            continue;
        if (!merged.empty() && range.begin <= merged.back().end)
            merged.back().end = std::max(merged.back().end, range.end);
        else
            merged.push_back(range);
    }
    return merged;
}

} // namespace

std::string SymbolTable::serialize(const SymbolSource& source) {
    std::vector<uint32_t> order(source.symbols.size());
    for (uint32_t i = 0; i < order.size(); i++)
        order[i] = i;
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
        const auto &x = source.symbols[a], &y = source.symbols[b];
        int names = x.name.compare(y.name);
        return names != 0 ? names < 0 : x.address < y.address;
    });
    std::vector<SymbolRecord> records;
    records.reserve(order.size());
    std::string strings(1, '\0');
    std::string_view previous;
    uint32_t previous_offset = 0;
    for (uint32_t index : order) {
        const auto& entry = source.symbols[index];
        if (entry.name != previous || records.empty()) {
            previous = entry.name;
            previous_offset = strings.size();
            strings.append(entry.name).push_back('\0');
        }
        uint32_t size = std::min<uint64_t>(entry.size, UINT32_MAX);
        records.push_back({entry.address, previous_offset, size, entry.flags, 0});
    }
    std::vector<uint32_t> by_address;
    for (uint32_t i = 0; i < records.size(); i++) {
        if (records[i].flags & symbol_text)
            by_address.push_back(i);
    }
    std::sort(by_address.begin(), by_address.end(), [&](uint32_t a, uint32_t b) {
        const SymbolRecord &x = records[a], &y = records[b];
        if (x.address != y.address)
            return x.address < y.address;
        return rank(x) != rank(y) ? rank(x) < rank(y) : a > b;
    });
    std::vector<uint64_t> sites = source.fentry_sites;
    std::sort(sites.begin(), sites.end());
    TableWriter writer(format);
    writer.add(records);
    writer.add(by_address);
    writer.add(sites);
    writer.add(disjoint(source.forbidden));
    writer.add(std::vector<AddressRange>{source.text});
    writer.add(std::move(strings));
    return writer.finish();
}

std::optional<SymbolTable> SymbolTable::map(const std::string& path) {
    auto view = TableView::map(path, format);
    return view ? std::optional(SymbolTable(std::move(*view))) : std::nullopt;
}

std::optional<SymbolTable> SymbolTable::hold(std::string bytes) {
    auto view = TableView::hold(std::move(bytes), format);
    return view ? std::optional(SymbolTable(std::move(*view))) : std::nullopt;
}

SymbolTable::SymbolTable(TableView view) : view_(std::move(view)) {
    records_ = view_.section<SymbolRecord>(records_section);
    by_address_ = view_.section<uint32_t>(by_address_section);
    fentry_sites_ = view_.section<uint64_t>(fentry_section);
    forbidden_ = view_.section<AddressRange>(forbidden_section);
    strings_ = view_.raw(strings_section);
    if (auto text = view_.section<AddressRange>(text_section); !text.empty())
        text_ = text.front();
}

Symbol SymbolTable::symbol(const SymbolRecord& record) const {
    return {pool_string(strings_, record.name), record.address, record.size,
            (record.flags & symbol_global) != 0, (record.flags & symbol_function) != 0};
}

std::vector<Symbol> SymbolTable::named(std::string_view name, bool first_only) const {
    auto first =
        std::partition_point(records_.begin(), records_.end(), [&](const SymbolRecord& record) {
            return pool_string(strings_, record.name) < name;
        });
    std::vector<Symbol> found;
    for (; first != records_.end() && pool_string(strings_, first->name) == name; ++first) {
        found.push_back(symbol(*first));
        if (first_only)
            break;
    }
    return found;
}

std::vector<Symbol> SymbolTable::matching(std::string_view pattern) const {
    const Glob glob(pattern);
    std::string_view prefix = literal_prefix(pattern);
    // On kernels with call padding, the padding in front of functions has symbols of its own, which
    // are never what the user means.
    constexpr std::string_view padding = "__pfx_";
    bool wants_padding = prefix.starts_with(padding);
    auto first =
        std::partition_point(records_.begin(), records_.end(), [&](const SymbolRecord& record) {
            return pool_string(strings_, record.name) < prefix;
        });
    std::vector<Symbol> found;
    for (; first != records_.end(); ++first) {
        std::string_view name = pool_string(strings_, first->name);
        if (!name.starts_with(prefix))
            break;
        if ((first->flags & symbol_text) && glob.matches(name) &&
            (wants_padding || !name.starts_with(padding)))
            found.push_back(symbol(*first));
    }
    return found;
}

std::optional<Symbol> SymbolTable::at(uint64_t address) const {
    auto after = std::partition_point(by_address_.begin(), by_address_.end(), [&](uint32_t index) {
        return index < records_.size() && records_[index].address <= address;
    });
    // An inner label ends before its function does: search a few symbols backwards for one that
    // covers the address.
    constexpr int reach = 16;
    uint64_t next = after == by_address_.end() || *after >= records_.size()
                        ? text_.end
                        : records_[*after].address;
    for (int i = 0; i < reach && after != by_address_.begin(); i++) {
        --after;
        if (*after >= records_.size())
            return std::nullopt;
        const SymbolRecord& record = records_[*after];
        bool covers =
            record.size ? address - record.address < record.size : i == 0 && address < next;
        if (covers) {
            Symbol found = symbol(record);
            if (!record.size)
                found.size = next - record.address;
            return found;
        }
    }
    return std::nullopt;
}

bool SymbolTable::in_forbidden_range(uint64_t address) const {
    auto after =
        std::partition_point(forbidden_.begin(), forbidden_.end(),
                             [&](const AddressRange& range) { return range.begin <= address; });
    return after != forbidden_.begin() && address < std::prev(after)->end;
}

bool SymbolTable::forbidden(uint64_t address) const {
    if (!in_text(address) || in_forbidden_range(address))
        return true;
    // The kernel treats a part that gcc split off ("f.cold") like f.
    auto symbol = at(address);
    size_t dot = symbol ? symbol->name.find('.') : std::string_view::npos;
    if (dot == std::string_view::npos || dot == 0)
        return false;
    for (const Symbol& whole : named(symbol->name.substr(0, dot), false)) {
        if (in_forbidden_range(whole.address))
            return true;
    }
    return false;
}

} // namespace djstap
