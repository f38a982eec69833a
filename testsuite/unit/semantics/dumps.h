// SPDX-License-Identifier: GPL-2.0-or-later
// Shows a script's typed program.
#pragma once
#include "analysis.h"

namespace djstap::test {

inline void expect_dump(const std::string& script, const std::string& expected,
                        SemanticsOptions options = {}, const std::string& library = "") {
    Analysis analysis(script, options, library);
    EXPECT_EQ(analysis.dump(), expected) << script << "\n" << analysis.errors();
}

// Returns the lines of a dump's only body, joined by " | ", without its head and effects.
inline std::string body(const std::string& script, const std::string& library = "",
                        SemanticsOptions options = {}) {
    Analysis analysis(script, options, library);
    std::string dump = analysis.dump(), result;
    bool in_probe = false;
    for (size_t at = 0; at < dump.size();) {
        const size_t end = dump.find('\n', at);
        std::string line = dump.substr(at, end - at);
        at = end + 1;
        if (line.rfind("probe ", 0) == 0)
            in_probe = true;
        else if (line.rfind("no program", 0) == 0)
            return analysis.errors();
        else if (in_probe && line.find("# ") == std::string::npos &&
                 line.rfind("    local ", 0) != 0)
            result += (result.empty() ? "" : " | ") + line.substr(4);
    }
    return result;
}

} // namespace djstap::test
