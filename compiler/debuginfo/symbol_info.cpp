// SPDX-License-Identifier: GPL-2.0-or-later
#include "debuginfo/symbol_info.h"

#include "debuginfo/qualified.h"
#include "debuginfo/type_names.h"
#include "image/glob.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace djstap {

namespace {

constexpr const char* no_debug_information =
    "the program has no debug information: compile it with -g, or install its debug symbols";

bool is_part(std::string_view symbol) {
    return symbol.ends_with(".cold") || symbol.find(".cold.") != std::string_view::npos;
}

FunctionInfo function_info(const Symbol& symbol) {
    FunctionInfo info;
    info.name = info.symbol = symbol.name;
    info.entry = symbol.address;
    info.size = symbol.size;
    info.external = symbol.global;
    info.parameters_hint = no_debug_information;
    return info;
}

} // namespace

std::vector<FunctionInfo> SymbolInfo::functions(const FunctionPattern& pattern, bool) const {
    std::vector<FunctionInfo> found;
    if (!pattern.file.empty())
        return found;
    const bool wild = has_wildcard(pattern.function);
    std::set<uint64_t> entries;
    for (const Symbol& symbol : is_qualified(pattern.function)
                                    ? symbols_with_scopes(image_, pattern.function)
                                : wild ? image_.symbols_matching(pattern.function)
                                       : image_.symbols_named(pattern.function))
        if (!is_part(symbol.name) && image_.in_text(symbol.address) &&
            entries.insert(symbol.address).second)
            found.push_back(function_info(symbol));
    std::sort(found.begin(), found.end(), [](const FunctionInfo& a, const FunctionInfo& b) {
        return std::tie(a.name, a.entry) < std::tie(b.name, b.entry);
    });
    return found;
}

void SymbolInfo::add_details(FunctionInfo& function) const {
    function.parameters_hint = no_debug_information;
}

std::vector<std::string> SymbolInfo::similar_functions(std::string_view name) const {
    SimilarNames similar(name);
    const bool qualified = is_qualified(name);
    const bool mangled = name.starts_with("_Z") || name.starts_with("_R");
    for (const Symbol& symbol : image_.symbols_matching("*")) {
        if (const auto scoped = mangled ? std::nullopt : scoped_name(symbol.name))
            similar.consider(qualified ? scoped->with(scoped->name) : scoped->name);
        else
            similar.consider(symbol.name);
    }
    return similar.take();
}

Result<StatementResult> SymbolInfo::statements(const FunctionPattern&, bool) const {
    return Failure{"statements are known only from debug information", no_debug_information};
}

Result<StatementAddress> SymbolInfo::statement_at(uint64_t) const {
    return Failure{"statements are known only from debug information", no_debug_information};
}

} // namespace djstap
