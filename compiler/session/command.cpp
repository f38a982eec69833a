// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/command.h"

#include "diagnostics/suggest.h"
#include "session/signals.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string_view>
#include <sys/wait.h>
#include <unistd.h>
#include <wordexp.h>

namespace djstap {

namespace {

// First words that only a shell handles.
constexpr std::string_view shell_words[] = {
    "!",      ".",     ":",     "alias",  "bg",   "case",  "cd",   "command",
    "eval",   "exec",  "exit",  "export", "fg",   "for",   "if",   "jobs",
    "read",   "set",   "shift", "source", "time", "times", "trap", "type",
    "ulimit", "umask", "unset", "until",  "wait", "while", "{"};

// Returns the words of the line, with quotes, variables and patterns expanded like in a shell;
// nothing if the line needs a shell, or is not valid for one.
std::optional<std::vector<std::string>> plain_words(const std::string& line) {
    // wordexp() handles comments and negations differently, and only the shell knows $$ and $PPID.
    if (line.find_first_of("#!") != std::string::npos || line.find("$$") != std::string::npos ||
        line.find("PPID") != std::string::npos)
        return std::nullopt;
    wordexp_t expanded = {};
    std::optional<std::vector<std::string>> all;
    const int failed = wordexp(line.c_str(), &expanded, WRDE_NOCMD | WRDE_UNDEF);
    if (!failed)
        all.emplace(expanded.we_wordv, expanded.we_wordv + expanded.we_wordc);
    if (!failed || failed == WRDE_NOSPACE)
        wordfree(&expanded);
    return all;
}

std::string suggestion(const std::string& program) {
    const bool has_folder = program.find('/') != std::string::npos;
    std::vector<std::string> folders = search_path(), names;
    if (has_folder)
        folders = {std::filesystem::path(program).parent_path().string()};
    for (const auto& folder : folders) {
        std::error_code ignored;
        for (std::filesystem::directory_iterator file(folder, ignored), end;
             !ignored && file != end; file.increment(ignored))
            names.push_back(file->path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return did_you_mean(std::filesystem::path(program).filename().string(), names);
}

} // namespace

Status check_program(const std::string& program) {
    if (program.find('/') != std::string::npos) {
        if (is_program(program))
            return Done{};
        if (access(program.c_str(), F_OK) == 0)
            return Failure{"command '" + program + "' is not executable", ""};
    } else {
        for (const auto& folder : search_path())
            if (is_program(folder + "/" + program))
                return Done{};
    }
    return Failure{"command '" + program + "' not found", suggestion(program)};
}

Result<std::vector<std::string>> parse_command(const std::string& line) {
    constexpr std::string_view space = " \t\n";
    const size_t begin = line.find_first_not_of(space);
    if (begin == std::string::npos)
        return Failure{"the command to run is empty", ""};
    std::optional<std::vector<std::string>> arguments = plain_words(line);
    const std::string first = arguments && !arguments->empty()
                                  ? arguments->front()
                                  : line.substr(begin, line.find_first_of(space, begin) - begin);
    const bool shell_word =
        std::find(std::begin(shell_words), std::end(shell_words), first) != std::end(shell_words);
    if (!arguments || arguments->empty() || shell_word || first.find('=') != std::string::npos)
        arguments = {{"/bin/sh", "-c", line}};
    // A first word with quotes, variables or an assignment in it is left to the shell.
    if (!shell_word && first.find_first_of("|&;<>()$`\\\"'*?[]#~={}!") == std::string::npos)
        if (auto found = check_program(first); !found)
            return found.failure();
    return std::move(*arguments);
}

Result<Command> Command::prepare(const std::vector<std::string>& arguments,
                                 const ProcessOptions& options) {
    auto process = Process::hold(arguments, options);
    if (!process)
        return Failure{"cannot start the command: " + process.failure().message, ""};
    return Command(std::move(*process), arguments.front());
}

Status Command::release() {
    const int error = process_.release();
    refused_ = error != 0;
    if (refused_)
        return Failure{"command '" + program_ + "' cannot be run: " + std::strerror(error), ""};
    return Done{};
}

std::string Command::failure() {
    const auto status = ended();
    if (!status || refused_ || (WIFSIGNALED(*status) && StopSignals::stop_requested()))
        return {};
    return describe_status(*status);
}

std::string describe_status(int wait_status) {
    if (WIFSIGNALED(wait_status))
        return "was ended by signal " + std::to_string(WTERMSIG(wait_status)) + " (" +
               strsignal(WTERMSIG(wait_status)) + ")";
    if (WEXITSTATUS(wait_status))
        return "exited with status " + std::to_string(WEXITSTATUS(wait_status));
    return {};
}

} // namespace djstap
