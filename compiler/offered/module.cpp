// SPDX-License-Identifier: GPL-2.0-or-later
#include "offered/module.h"

#include "system/trust.h"

#include <algorithm>
#include <cctype>
#include <filesystem>

namespace djstap::offered {

namespace fs = std::filesystem;

namespace {

constexpr size_t longest_name = 55; // as -m of djstap
constexpr uid_t root = 0;

} // namespace

bool is_name(std::string_view name) {
    return !name.empty() && name.size() <= longest_name &&
           std::ranges::all_of(name, [](unsigned char c) { return std::isalnum(c) || c == '_'; });
}

Result<std::string> find_module(const std::string& folder, std::string_view name) {
    if (!is_name(name))
        return Failure{"this is not the name of a script",
                       "a name consists of at most 55 letters, digits and _; djstap-run --list "
                       "lists those that can be run"};
    const std::string path = folder + "/" + std::string(name) + ".ko";
    if (!check_trusted(path, root))
        return Failure{"the script " + std::string(name) +
                           " is not run: its file, or a folder on the way to it, could have been "
                           "changed by someone other than root",
                       "as root: chown root and chmod go-w on " + path + " and the folders above"};
    std::error_code error;
    if (!fs::is_regular_file(path, error))
        return Failure{"there is no script " + std::string(name),
                       "djstap-run --list lists those that can be run"};
    return path;
}

std::vector<std::string> module_names(const std::string& folder) {
    std::vector<std::string> names;
    std::error_code error;
    for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
        const std::string name = at->path().stem();
        if (at->path().extension() == ".ko" && find_module(folder, name))
            names.push_back(name);
    }
    std::ranges::sort(names);
    return names;
}

} // namespace djstap::offered
