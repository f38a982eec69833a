// SPDX-License-Identifier: GPL-2.0-or-later
#include "debuginfo/qualified.h"

#include "image/glob.h"
#include "system/demangle.h"

#include <algorithm>
#include <cstdlib>
#include <llvm/Demangle/Demangle.h>
#include <memory>
#include <set>
#include <utility>

namespace djstap {

namespace {

constexpr std::string_view separator = "::";
constexpr std::string_view anonymous = "(anonymous namespace)";
// A program's file may contain anything. LLVM's demanglers call themselves for each letter of some
// names, and print parts again that are referred to, for some names until no memory is left.
constexpr size_t most_symbol_bytes = 4096, most_name_bytes = 65536;
constexpr std::ptrdiff_t most_references = 24; // where libiberty cannot tell

using Text = std::unique_ptr<char, decltype(&std::free)>;

std::string take(char* text) {
    const Text owned(text, std::free);
    return owned ? std::string(owned.get()) : std::string();
}

// Returns where the last separator outside of brackets begins; npos: there is none.
size_t last_separator(std::string_view name) {
    if (const auto found = find_operator(name); found && found->end == name.size()) {
        const bool has_scope = name.substr(0, found->begin).ends_with(separator);
        return has_scope ? found->begin - separator.size() : std::string_view::npos;
    }
    int depth = 0;
    for (size_t i = name.size(); i-- > 0;) {
        const char c = name[i];
        depth += c == '>' || c == ')' || c == '}' || c == ']';
        depth -= c == '<' || c == '(' || c == '{' || c == '[';
        if (depth == 0 && i > 0 && name.substr(i - 1, 2) == separator)
            return i - 1;
    }
    return std::string_view::npos;
}

ScopedName split(std::string_view text) {
    const size_t at = last_separator(text);
    if (at == std::string_view::npos)
        return {"", std::string(text)};
    return {std::string(text.substr(0, at)), std::string(text.substr(at + separator.size()))};
}

// The hash with which Rust's older symbols end: "h0123456789abcdef".
bool is_hash(std::string_view name) {
    constexpr size_t digits = 16;
    return name.size() == 1 + digits && name.front() == 'h' &&
           name.find_first_not_of("0123456789abcdef", 1) == std::string_view::npos;
}

// Rust's older symbols are names of C++, with escapes for what these cannot contain.
std::string without_escapes(std::string text) {
    static constexpr std::pair<std::string_view, std::string_view> escapes[] = {
        {"_$", "$"},    {"$LT$", "<"},  {"$GT$", ">"},  {"$LP$", "("},  {"$RP$", ")"},
        {"$RF$", "&"},  {"$BP$", "*"},  {"$C$", ","},   {"$SP$", "@"},  {"$u20$", " "},
        {"$u5b$", "["}, {"$u5d$", "]"}, {"$u7b$", "{"}, {"$u7d$", "}"}, {"..", "::"}};
    for (const auto& [from, to] : escapes)
        for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
            text.replace(at, from.size(), to);
    return text;
}

// <shop::Order> of a method that belongs to no trait.
void remove_brackets(std::string& scope) {
    if (scope.starts_with('<') && scope.ends_with('>') && scope.find(" as ") == std::string::npos)
        scope = scope.substr(1, scope.size() - 2);
}

std::optional<ScopedName> of_older_rust(const std::string& text) {
    const ScopedName hashed = split(text);
    if (!is_hash(hashed.name))
        return std::nullopt;
    ScopedName found = split(without_escapes(hashed.scope));
    remove_brackets(found.scope);
    return found;
}

std::optional<ScopedName> of_itanium(std::string symbol) {
    constexpr int most_suffixes = 8; // ".part.0.cold"
    llvm::ItaniumPartialDemangler demangler;
    for (int i = 0; demangler.partialDemangle(symbol.c_str()) || !demangler.isFunction(); i++) {
        if (auto rust = of_older_rust(take(llvm::itaniumDemangle(symbol))))
            return rust;
        const size_t dot = symbol.rfind('.');
        if (dot == std::string::npos || i == most_suffixes)
            return std::nullopt;
        symbol.resize(dot);
    }
    ScopedName found{take(demangler.getFunctionDeclContextName(nullptr, nullptr)),
                     take(demangler.getFunctionBaseName(nullptr, nullptr))};
    found.scope = without_anonymous_namespaces(found.scope);
    return found;
}

std::optional<ScopedName> of_rust(const std::string& symbol) {
    const std::string text = take(llvm::rustDemangle(symbol));
    if (text.empty())
        return std::nullopt;
    ScopedName found = split(text);
    if (found.name.starts_with('<') && !found.scope.empty()) // shop::twice::<u32>
        found = split(found.scope);
    remove_brackets(found.scope);
    return found;
}

// Returns whether the texts that the symbol stands for have a bounded size.
bool is_bounded(std::string_view symbol) {
    const Demangling result = demangle(symbol, most_name_bytes).result;
    const auto is_reference = [](char c) { return c == 'S' || c == 'T' || c == 'B'; };
    return result == Demangling::Done ||
           (result == Demangling::Unknown &&
            std::count_if(symbol.begin(), symbol.end(), is_reference) <= most_references);
}

} // namespace

bool is_qualified(std::string_view name) {
    return name.find(separator) != std::string_view::npos;
}

std::string without_anonymous_namespaces(std::string_view name) {
    std::string scope(name);
    for (size_t at = 0; (at = scope.find(anonymous, at)) != std::string::npos;) {
        size_t end = at + anonymous.size();
        if (scope.compare(end, separator.size(), separator) == 0)
            end += separator.size();
        else if (at >= separator.size())
            at -= separator.size();
        scope.erase(at, end - at);
    }
    return scope;
}

std::string without_scopes(std::string_view name, const std::vector<std::string>& names) {
    const size_t last = last_separator(name);
    std::string text;
    std::string_view scope =
        last == std::string_view::npos ? std::string_view() : name.substr(0, last);
    while (!scope.empty()) {
        const std::string_view part = last_name(scope);
        if (std::find(names.begin(), names.end(), part) == names.end())
            text = std::string(part) + std::string(separator) + text;
        scope.remove_suffix(std::min(scope.size(), part.size() + separator.size()));
    }
    return text.append(last_name(name));
}

bool has_scopes_of(std::string_view pattern, std::string_view qualified) {
    std::string_view scopes = pattern.substr(0, pattern.size() - last_name(pattern).size());
    while (!scopes.empty()) {
        scopes.remove_suffix(separator.size()); // which they end with
        const std::string_view part = last_name(scopes);
        if (!has_wildcard(part) && qualified.find(part) == std::string_view::npos)
            return false;
        scopes.remove_suffix(part.size());
    }
    return true;
}

std::string_view last_name(std::string_view name) {
    const size_t at = last_separator(name);
    return at == std::string_view::npos ? name : name.substr(at + separator.size());
}

std::string ScopedName::with(std::string_view name_in_source) const {
    std::string text = scope.empty() ? "" : scope + std::string(separator);
    return text.append(name_in_source);
}

std::optional<ScopedName> scoped_name(std::string_view symbol) {
    if (symbol.size() > most_symbol_bytes || !is_bounded(symbol))
        return std::nullopt;
    if (symbol.starts_with("_R"))
        return of_rust(std::string(symbol));
    return symbol.starts_with("_Z") ? of_itanium(std::string(symbol)) : std::nullopt;
}

bool qualified_matches(std::string_view pattern, std::string_view qualified) {
    const bool whole = pattern.starts_with(separator);
    if (whole)
        pattern.remove_prefix(separator.size());
    const Glob glob(pattern);
    if (glob.matches(qualified))
        return true;
    for (size_t at = 0; !whole && (at = qualified.find(separator, at)) != std::string_view::npos;) {
        at += separator.size();
        if (glob.matches(qualified.substr(at)))
            return true;
    }
    return false;
}

namespace {

// The inline namespaces of the C++ libraries. Symbols do not tell which namespaces are inline.
const std::vector<std::string>& library_versions() {
    static const std::vector<std::string> names{"__cxx11", "__1", "_V2", "__8"};
    return names;
}

} // namespace

std::vector<Symbol> symbols_with_scopes(const Image& image, std::string_view pattern) {
    std::vector<Symbol> found;
    std::set<uint64_t> addresses;
    for (const char* mangled : {"_Z*", "_R*"})
        for (const Symbol& symbol : image.symbols_matching(mangled)) {
            const auto name =
                image.in_text(symbol.address) ? scoped_name(symbol.name) : std::nullopt;
            if (!name)
                continue;
            const std::string whole = name->with(name->name);
            if ((qualified_matches(pattern, whole) ||
                 qualified_matches(pattern, without_scopes(whole, library_versions()))) &&
                addresses.insert(symbol.address).second)
                found.push_back(symbol);
        }
    return found;
}

} // namespace djstap
