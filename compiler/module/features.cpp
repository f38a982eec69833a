// SPDX-License-Identifier: GPL-2.0-or-later
// Detects the features of a kernel that the runtime is compiled for: lines of its features.list,
//   DEFINE  symbol  NAME           exported to modules
//   DEFINE  header  FILE  PATTERN  an extended regular expression that matches in the kernel's
//   header
#include "module/kit_build.h"
#include "system/file.h"

#include <filesystem>
#include <map>
#include <memory>
#include <regex.h>
#include <sstream>

namespace djstap::module {

namespace fs = std::filesystem;

namespace {

// Returns folders that may contain the kernel's own headers, other than those that its
// configuration generates.
std::vector<std::string> source_trees(const std::string& build_dir) {
    std::vector<std::string> trees{build_dir, build_dir + "/source"};
    std::error_code error;
    trees.push_back(fs::path(build_dir).parent_path() / "source");
    // A build folder that is separate from its source has a Makefile that includes the source's.
    if (auto makefile = read_file(build_dir + "/Makefile")) {
        std::istringstream lines(*makefile);
        for (std::string line; std::getline(lines, line);) {
            constexpr std::string_view begin = "include /", end = "/Makefile";
            if (line.starts_with(begin) && line.ends_with(end))
                trees.push_back(
                    line.substr(begin.size() - 1, line.size() - begin.size() + 1 - end.size()));
        }
    }
    return trees;
}

bool has_match(const std::string& text, const std::string& pattern, bool& valid) {
    regex_t compiled;
    valid = regcomp(&compiled, pattern.c_str(), REG_EXTENDED | REG_NOSUB | REG_NEWLINE) == 0;
    if (!valid)
        return false;
    bool found = regexec(&compiled, text.c_str(), 0, nullptr, 0) == 0;
    regfree(&compiled);
    return found;
}

} // namespace

Result<std::vector<std::string>> find_features(const std::string& build_dir,
                                               std::string_view list) {
    std::vector<std::string> features;
    auto exported = read_file(build_dir + "/Module.symvers");
    if (!exported)
        return exported.failure();
    const std::vector<std::string> trees = source_trees(build_dir);
    std::map<std::string, std::string> headers;
    std::istringstream lines{std::string(list)};
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string define, kind, what, pattern;
        if (!(words >> define) || define.starts_with('#'))
            continue;
        words >> kind >> what >> std::ws;
        std::getline(words, pattern);
        while (pattern.ends_with(' ') || pattern.ends_with('\t'))
            pattern.pop_back();
        const bool is_symbol = kind == "symbol" && !what.empty();
        const bool is_header = kind == "header" && !pattern.empty();
        bool valid = is_symbol || is_header, holds = false;
        if (is_symbol) {
            holds = exported->find("\t" + what + "\t") != std::string::npos;
        } else if (is_header) {
            if (!headers.contains(what)) {
                std::string& text = headers[what];
                for (const std::string& tree : trees) {
                    if (auto found = read_file(tree + "/" + what)) {
                        text = *found;
                        break;
                    }
                }
            }
            holds = has_match(headers[what], pattern, valid);
        }
        if (!valid)
            return Failure{"the runtime's features.list contains an invalid line: " + line, ""};
        if (holds)
            features.push_back(define);
    }
    return features;
}

} // namespace djstap::module
