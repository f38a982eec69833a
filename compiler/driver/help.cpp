// SPDX-License-Identifier: GPL-2.0-or-later
#include "driver/help.h"

#include "diagnostics/suggest.h"
#include "documentation/documentation.h"
#include "image/glob.h"

#include <algorithm>
#include <filesystem>
#include <utility>

namespace djstap::driver {

namespace {

// Names that begin with "__" are the tapsets' own: only who knows such a name asks for it.
bool is_public(const Documentation& name) {
    return !name.name.starts_with("__") && !name.name.starts_with("@__");
}

std::vector<Documentation> matching(const std::vector<Documentation>& all,
                                    const std::string& pattern) {
    std::vector<Documentation> found;
    const Glob glob(pattern);
    for (const Documentation& each : all)
        if (is_public(each) && glob.matches(each.name))
            found.push_back(each);
    std::ranges::stable_sort(found, {}, &Documentation::name);
    return found;
}

std::vector<Documentation> with_name(const std::vector<Documentation>& all,
                                     const std::string& name) {
    std::vector<Documentation> found;
    for (const Documentation& each : all)
        if (each.name == name || each.name == "@" + name)
            found.push_back(each);
    return found;
}

// Returns the longest beginning of a probe point that is known: "ioblock.end" of
// "ioblock.end.return".
std::string known_beginning(std::string name, const std::vector<Documentation>& all) {
    for (size_t dot = name.rfind('.'); dot != std::string::npos; dot = name.rfind('.')) {
        name.resize(dot);
        if (std::ranges::find(all, name, &Documentation::name) != all.end())
            return name;
    }
    return "";
}

void report_unknown(Invocation& invocation, const std::string& word, const std::string& name,
                    const std::vector<Documentation>& all) {
    std::vector<std::string> names;
    for (const Documentation& each : all)
        if (is_public(each))
            names.push_back(each.name);
    std::string hint = did_you_mean(name, names);
    std::error_code error;
    if (std::filesystem::is_regular_file(word, error))
        hint = "a script with a header describes itself: --example ./" + word + " -- --help";
    else if (const std::string beginning = known_beginning(name, all);
             hint.empty() && !beginning.empty())
        hint = "djstap --help " + beginning + " tells of its beginning";
    else if (hint.empty())
        hint = "djstap --help '*' lists all names";
    invocation.diagnostics
        .report(DiagnosticKind::NotDocumented, {},
                {"there is nothing with the name '" + word + "'"})
        .hint(hint);
}

} // namespace

bool show_help(Invocation& invocation) {
    std::vector<Documentation> all = document_library(invocation.tapsets(), invocation.sources);
    for (Documentation& each : document_language(probe_types()))
        all.push_back(std::move(each));
    bool first = true;
    for (const std::string& word : invocation.options.arguments) {
        const std::string name = plain_name(word);
        const bool pattern = has_wildcard(name);
        const std::vector<Documentation> found =
            pattern ? matching(all, name) : with_name(all, name);
        if (found.empty() && pattern)
            invocation.diagnostics
                .report(DiagnosticKind::NotDocumented, {}, {"no name matches '" + word + "'"})
                .hint("djstap --help '*' lists all names");
        else if (found.empty())
            report_unknown(invocation, word, name, all);
        if (found.empty())
            continue;
        if (!std::exchange(first, false) && invocation.output().prints_text())
            invocation.output().line("");
        invocation.output().documented(found, pattern);
    }
    return !invocation.diagnostics.has_errors();
}

} // namespace djstap::driver
