// SPDX-License-Identifier: GPL-2.0-or-later
// Scripts that users have stored with the agent. They are in files of its own, and gone when it
// ends.
#pragma once
#include "pmda/permissions.h"
#include "pmda/scripts.h"
#include "system/temporary.h"

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace djstap::pmda {

class StoredScripts {
  public:
    static constexpr size_t longest_name = 32, most_bytes = 32 * 1024;
    static constexpr size_t most_scripts = 16, most_of_user = 4;

    // Takes "NAME: SCRIPT"; an empty script removes the one of this name. `taken`: whether a file
    // of root's has a name. Returns 0, or an error of PCP's: -EINVAL (this is not what is stored,
    // or the name is none), -E2BIG, -EEXIST (it is taken), PM_ERR_PERMISSION (it is that of
    // another user's script), -ENOENT (nothing to remove), -ENOSPC (too many), -EIO.
    int store(std::string_view text, const User& user,
              const std::function<bool(const std::string& name)>& taken);
    // Removes those for which this returns true. Returns their names.
    std::vector<std::string>
    remove_if(const std::function<bool(const std::string& name, const std::string& user)>& leaves);
    std::vector<ScriptFile> files() const;
    bool empty() const { return scripts_.empty(); }

  private:
    struct Script {
        std::string user;
        int64_t version = 0;
    };
    void remove(const std::string& name);
    std::string path_of(const std::string& name) const { return folder_.file(name + ".stp"); }

    TemporaryFolder folder_; // made for the first one
    std::map<std::string, Script> scripts_;
    int64_t versions_ = 0;
};

} // namespace djstap::pmda
