// SPDX-License-Identifier: GPL-2.0-or-later
#include "module/tool.h"

#include <algorithm>

#include <unistd.h>

namespace djstap::module {

namespace {

// Returns whether an environment variable influences make, Kbuild or the compiler.
bool steers_a_build(std::string_view variable) {
    static constexpr std::string_view names[] = {"MAKEFLAGS",
                                                 "MAKELEVEL",
                                                 "MFLAGS",
                                                 "MAKEFILES",
                                                 "GNUMAKEFLAGS",
                                                 "MAKEOVERRIDES",
                                                 "ARCH",
                                                 "V",
                                                 "W",
                                                 "C",
                                                 "O",
                                                 "M",
                                                 "MO",
                                                 "CC",
                                                 "LD",
                                                 "LLVM",
                                                 "CROSS_COMPILE",
                                                 "CPATH",
                                                 "KCFLAGS",
                                                 "KCPPFLAGS",
                                                 "KAFLAGS",
                                                 "C_INCLUDE_PATH",
                                                 "GCC_SPECS",
                                                 "LANG",
                                                 "LANGUAGE",
                                                 "GREP_OPTIONS",
                                                 "LD_PRELOAD"};
    std::string_view name = variable.substr(0, variable.find('='));
    for (std::string_view each : names) {
        if (name == each)
            return true;
    }
    // sign-file asks for the passphrase of a key; nothing else reads it.
    if (name == "KBUILD_SIGN_PIN")
        return false;
    return name.starts_with("KBUILD_") || name.starts_with("LC_") || name.starts_with("INSTALL_");
}

} // namespace

Result<ProgramOutcome> run_tool(const std::vector<std::string>& words,
                                const std::function<void(std::string_view)>& line) {
    ProcessOptions options;
    options.environment.emplace();
    for (char** each = environ; *each; each++)
        if (!steers_a_build(*each))
            options.environment->push_back(*each);
    options.environment->push_back("LC_ALL=C");
    OutputOptions wanted;
    wanted.most = 1 << 20;
    wanted.line = line;
    return run_program(words, wanted, std::move(options));
}

std::string quoted_for_shell(const std::string& word) {
    std::string out = "'";
    for (const char c : word)
        out += c == '\'' ? "'\\''" : std::string(1, c);
    return out + "'";
}

std::string first_errors(std::string_view output) {
    std::string text;
    int lines = 0;
    while (!output.empty() && lines < 12) {
        const size_t end = std::min(output.find('\n'), output.size());
        const std::string_view line = output.substr(0, end);
        output.remove_prefix(std::min(end + 1, output.size()));
        if (line.find("In function") != std::string_view::npos || line.starts_with("cc1:"))
            continue;
        text.append("\n  ").append(line);
        lines++;
    }
    return text;
}

} // namespace djstap::module
