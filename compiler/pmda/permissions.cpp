// SPDX-License-Identifier: GPL-2.0-or-later
#include "pmda/permissions.h"

#include "system/file.h"
#include "system/trust.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <grp.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>
#include <pwd.h>
#include <sstream>

namespace djstap::pmda {

namespace {

// The name goes to the log, and is compared with the words of a file.
bool is_plain(std::string_view name) {
    return !name.empty() && name.size() <= 256 && std::ranges::all_of(name, [](unsigned char c) {
        return isalnum(c) || strchr("._@-+", c);
    });
}

std::vector<std::string> groups_of(const passwd& account) {
    std::vector<gid_t> ids(64);
    int count = static_cast<int>(ids.size());
    while (getgrouplist(account.pw_name, account.pw_gid, ids.data(), &count) < 0)
        ids.resize(static_cast<size_t>(count = std::max(count, 2 * static_cast<int>(ids.size()))));
    ids.resize(static_cast<size_t>(count));
    std::vector<std::string> names;
    for (const gid_t id : ids)
        if (const group* each = getgrgid(id))
            names.emplace_back(each->gr_name);
    return names;
}

} // namespace

Result<User> user_named(const std::string& name) {
    if (!is_plain(name))
        return Failure{"the user of this connection has no plain name", ""};
    const char* configured = pmGetOptionalConfig("PCP_USER");
    const std::string of_services = configured ? configured : "pcp";
    const passwd* account = getpwnam(of_services.c_str());
    // getpwnam() has one result.
    const uid_t service_id = account ? account->pw_uid : static_cast<uid_t>(-1);
    account = getpwnam(name.c_str());
    if (name == of_services || (account && account->pw_uid == service_id))
        return Failure{"this connection is that of Performance Co-Pilot's own services, which pass "
                       "on what others ask",
                       ""};
    User user{name};
    if (account)
        user.groups = groups_of(*account);
    return user;
}

void Clients::tell(int context, int attribute, std::string_view value) {
    value = value.substr(0, value.find('\0'));
    if (attribute == PMDA_ATTR_USERNAME)
        known_[context].user_name = value;
    else if (attribute == PMDA_ATTR_USERID)
        known_[context].user_id = value;
}

Result<User> Clients::user_of(int context) const {
    const auto found = known_.find(context);
    if (found == known_.end())
        return Failure{"this connection is not authenticated", ""};
    if (found->second.user_name)
        return user_named(*found->second.user_name);
    const std::string& text = *found->second.user_id;
    uid_t id = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
    const passwd* account =
        error == std::errc() && end == text.data() + text.size() ? getpwuid(id) : nullptr;
    if (!account)
        return Failure{"the user of this connection has no name on this machine", ""};
    return user_named(account->pw_name);
}

Result<Permissions> Permissions::read(const std::string& path) {
    const FileDescriptor file = open_trusted(path);
    if (!file && errno == ENOENT)
        return Failure{"users may not store scripts on this machine", ""};
    if (!file && errno == EPERM)
        return Failure{path + ": others than root can change it, so it permits nothing", ""};
    auto text = read_file(file, path);
    if (!text)
        return text.failure();
    Permissions permissions;
    std::istringstream lines(*text);
    int number = 0;
    for (std::string line; std::getline(lines, line);) {
        number++;
        std::istringstream words(line.substr(0, line.find('#')));
        std::string kind, name, more;
        if (!(words >> kind))
            continue;
        words >> name;
        if ((kind != "user" && kind != "group") || !is_plain(name) || words >> more)
            return Failure{path + ":" + std::to_string(number) +
                               ": not 'user NAME' or 'group NAME', so the file permits nothing",
                           ""};
        (kind == "user" ? permissions.users_ : permissions.groups_).insert(name);
    }
    return permissions;
}

bool Permissions::has(const User& user) const {
    return users_.contains(user.name) || std::ranges::any_of(user.groups, [&](const auto& group) {
               return groups_.contains(group);
           });
}

} // namespace djstap::pmda
