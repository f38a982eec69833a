// SPDX-License-Identifier: GPL-2.0-or-later
// Which users may store scripts with the agent: those that a file of root's lists, on connections
// whose user pmcd knows.
#pragma once
#include "diagnostics/result.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace djstap::pmda {

// A user of this machine, or one that only SASL knows, who is in no group.
struct User {
    std::string name;
    std::vector<std::string> groups = {};
};

// Returns the user with this name. Fails for a name that is no plain word, and for the account that
// PCP's own services have: pmproxy passes on what anybody on the network asks of it.
Result<User> user_named(const std::string& name);

// What pmcd tells of its clients: who is at the other end of a connection. Clients cannot set it.
class Clients {
  public:
    // An attribute of a connection: PMDA_ATTR_… and its text.
    void tell(int context, int attribute, std::string_view value);
    // The connection has ended: its number may become another one's.
    void forget(int context) { known_.erase(context); }
    // Returns the user of a connection: that of SASL, else the process at the other end of a
    // socket of this machine. Fails if pmcd knows none.
    Result<User> user_of(int context) const;

  private:
    struct Told {
        std::optional<std::string> user_name, user_id;
    };
    std::map<int, Told> known_;
};

// A list of users and groups.
class Permissions {
  public:
    // Reads lines "user NAME" and "group NAME"; # begins a comment. Fails, and so permits nobody
    // anything, if the file does not exist, if others than root (and this process's user) can
    // change it, or if anything else is in it.
    static Result<Permissions> read(const std::string& path);
    bool has(const User& user) const;

  private:
    std::set<std::string> users_, groups_;
};

} // namespace djstap::pmda
