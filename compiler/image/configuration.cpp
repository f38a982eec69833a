// SPDX-License-Identifier: GPL-2.0-or-later
#include "image/configuration.h"

#include "system/file.h"

#include <algorithm>

namespace djstap {

Configuration::Configuration(const std::string& path) {
    auto text = read_file(path);
    std::string_view rest = text ? std::string_view(*text) : std::string_view();
    while (!rest.empty()) {
        std::string_view line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(rest.size(), line.size() + 1));
        size_t equals = line.find('=');
        if (!line.starts_with("CONFIG_") || equals == std::string_view::npos)
            continue;
        std::string_view value = line.substr(equals + 1);
        if (value.size() >= 2 && value.front() == '"' && value.back() == '"')
            value = value.substr(1, value.size() - 2);
        values_.emplace(line.substr(7, equals - 7), value);
    }
}

std::string Configuration::value(std::string_view name) const {
    if (name.starts_with("CONFIG_"))
        name.remove_prefix(7);
    auto found = values_.find(std::string(name));
    return found == values_.end() ? std::string() : found->second;
}

std::vector<std::string> misfits(const std::function<std::string(std::string_view)>& value) {
    struct Setting {
        const char *name, *why;
    };
    // Control flow integrity has two names: before and since kernel 6.18.
    constexpr Setting unknown[] = {
        {"CFI_CLANG", "its indirect calls check types, which the code of scripts does not provide"},
        {"CFI", "its indirect calls check types, which the code of scripts does not provide"},
        {"CC_IS_CLANG", "it was built by clang, and the runtime is built by gcc"},
        {"UNWINDER_FRAME_POINTER",
         "it unwinds stacks by frame pointers, which the code of scripts does not maintain"},
        {"UNWINDER_GUESS", "it cannot unwind stacks reliably, which return djprobes require"},
    };
    std::vector<std::string> out;
    for (const Setting& setting : unknown)
        if (value(setting.name) == "y")
            out.push_back("CONFIG_" + std::string(setting.name) + ": " + setting.why);
    return out;
}

} // namespace djstap
