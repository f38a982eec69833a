// SPDX-License-Identifier: GPL-2.0-or-later
#include "guest/files.h"

#include "cache/cache.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <unistd.h>

namespace djstap::guest {

Failure system_failure(std::string_view what, std::string_view path) {
    int error = errno;
    std::string hint;
    if (error == ENOSPC || error == EDQUOT)
        hint = "free some space, or set DJSTAP_CACHE to a folder with more of it";
    return {"cannot " + std::string(what) + " " + std::string(path) + ": " + std::strerror(error),
            hint};
}

std::string contents(int fd) {
    std::string text;
    return read_from_start(fd, text) ? text : "";
}

Status write_to(int fd, std::string_view data, const std::string& path) {
    return write_all(fd, data) ? Status(Done{}) : system_failure("write", path);
}

ProcessOptions helper_options(int output) {
    ProcessOptions options;
    options.input = ProcessOptions::none;
    options.output = options.errors = output;
    options.bound = true;
    return options;
}

Result<std::string> cache_folder() {
    const std::string folder = std::filesystem::absolute(cache_directory()) / "guest";
    if (Status made = make_cache_folder(folder); !made)
        return made.failure();
    return folder;
}

Result<std::string> find_tool(const std::string& name, const std::string& package) {
    std::string program = find_program(name, {"/usr/sbin", "/sbin"});
    if (!program.empty())
        return program;
    return Failure{"missing " + name + ", which a guest needs", "install the package " + package};
}

Result<std::string> output_of(const std::vector<std::string>& words) {
    auto outcome = run_program(words, {}, helper_options());
    if (!outcome)
        return outcome.failure();
    if (outcome->status)
        return Failure{words[0] + " failed with status " + std::to_string(outcome->status) + ": " +
                           outcome->output,
                       ""};
    return std::move(outcome->output);
}

} // namespace djstap::guest
