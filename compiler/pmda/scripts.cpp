// SPDX-License-Identifier: GPL-2.0-or-later
#include "pmda/scripts.h"

#include "pmda/metrics.h"
#include "system/trust.h"

#include <algorithm>
#include <filesystem>
#include <sys/stat.h>

namespace djstap::pmda {

Result<std::vector<ScriptFile>> find_scripts(const std::string& folder) {
    std::error_code failed;
    std::filesystem::directory_iterator file(folder, failed);
    if (failed)
        return Failure{folder + ": " + failed.message(),
                       "create it, owned by root, and put scripts into it"};
    std::vector<ScriptFile> scripts;
    for (const std::filesystem::directory_iterator end; !failed && file != end;
         file.increment(failed)) {
        const std::filesystem::path& path = file->path();
        const std::string kind = path.extension().string();
        if (kind != ".stp" && kind != ".ko")
            continue;
        ScriptFile script;
        script.name = path.stem().string();
        script.path = path.string();
        script.is_module = kind == ".ko";
        struct stat status = {};
        if (stat(script.path.c_str(), &status) == 0)
            script.changed_ns =
                int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
        if (auto trusted = check_trusted(script.path); !trusted)
            script.refusal = trusted.failure().message;
        else if (!S_ISREG(status.st_mode))
            script.refusal = script.path + ": not a file";
        else if (script.name == "agent")
            script.refusal = script.path + ": djstap.agent is the agent's own name";
        scripts.push_back(std::move(script));
    }
    std::ranges::sort(scripts, {}, &ScriptFile::path);
    std::vector<ScriptFile> by_name;
    for (ScriptFile& script : scripts) {
        // a-b and a_b are one name in Performance Co-Pilot.
        const auto other =
            std::ranges::find_if(by_name, [name = name_component(script.name)](const auto& each) {
                return name_component(each.name) == name;
            });
        if (other == by_name.end())
            by_name.push_back(std::move(script));
        else if (other->refusal.empty())
            other->refusal = script.path + " and " + other->path + " have the same name";
    }
    return by_name;
}

} // namespace djstap::pmda
