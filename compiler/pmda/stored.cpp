// SPDX-License-Identifier: GPL-2.0-or-later
#include "pmda/stored.h"

#include "system/file.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <pcp/pmapi.h>

namespace djstap::pmda {

namespace {

// Such a name is a component of metrics and files as it is.
bool is_name(std::string_view text) {
    const auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
    return !text.empty() && text.size() <= StoredScripts::longest_name && is_letter(text.front()) &&
           text != "agent" && std::ranges::all_of(text, [&](char c) {
               return is_letter(c) || (c >= '0' && c <= '9') || c == '_';
           });
}

} // namespace

int StoredScripts::store(std::string_view text, const User& user,
                         const std::function<bool(const std::string& name)>& taken) {
    const size_t colon = text.find(':');
    if (colon == std::string_view::npos || !is_name(text.substr(0, colon)) ||
        text.find('\0') != std::string_view::npos)
        return -EINVAL;
    const std::string name(text.substr(0, colon));
    const std::string_view script = text.substr(colon + 1);
    if (script.size() > most_bytes)
        return -E2BIG;
    if (taken(name))
        return -EEXIST;
    const auto known = scripts_.find(name);
    if (known != scripts_.end() && known->second.user != user.name)
        return PM_ERR_PERMISSION;
    if (trimmed(script).empty()) {
        if (known == scripts_.end())
            return -ENOENT;
        remove(name);
        return 0;
    }
    const auto of_user = std::ranges::count_if(
        scripts_, [&](const auto& each) { return each.second.user == user.name; });
    if (known == scripts_.end() &&
        (scripts_.size() >= most_scripts || static_cast<size_t>(of_user) >= most_of_user))
        return -ENOSPC;
    if (folder_.path().empty()) {
        auto folder = TemporaryFolder::create_in_memory();
        if (!folder)
            return -EIO;
        folder_ = std::move(*folder);
    }
    if (!write_atomically(path_of(name), script))
        return -EIO;
    scripts_[name] = {user.name, ++versions_};
    return 0;
}

void StoredScripts::remove(const std::string& name) {
    std::error_code failed;
    std::filesystem::remove(path_of(name), failed);
    scripts_.erase(name);
}

std::vector<std::string> StoredScripts::remove_if(
    const std::function<bool(const std::string& name, const std::string& user)>& leaves) {
    std::vector<std::string> names;
    for (const auto& [name, script] : scripts_)
        if (leaves(name, script.user))
            names.push_back(name);
    for (const std::string& name : names)
        remove(name);
    return names;
}

std::vector<ScriptFile> StoredScripts::files() const {
    std::vector<ScriptFile> files;
    for (const auto& [name, script] : scripts_)
        files.push_back({name, path_of(name), false, script.version, "", script.user});
    return files;
}

} // namespace djstap::pmda
