#include "module/process.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

extern char** environ;

namespace djstap::module {

namespace {

constexpr size_t output_limit = 1 << 20;

// Variables that steer make, Kbuild or the compiler from outside.
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
    return name.starts_with("KBUILD_") || name.starts_with("LC_") || name.starts_with("INSTALL_");
}

int exit_status(int status) {
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

} // namespace

Result<Tool> Tool::start(const std::vector<std::string>& words) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return Failure{"cannot run " + words[0] + ": " + std::strerror(errno), ""};
    std::vector<char*> argv;
    for (const std::string& word : words)
        argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    std::vector<char*> environment;
    for (char** each = environ; *each; each++) {
        if (!steers_a_build(*each))
            environment.push_back(*each);
    }
    environment.push_back(const_cast<char*>("LC_ALL=C"));
    environment.push_back(nullptr);

    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    pid_t pid = -1;
    int error = posix_spawnp(&pid, argv[0], &actions, &attributes, argv.data(), environment.data());
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    if (error != 0) {
        close(ends[0]);
        return Failure{"cannot run " + words[0] + ": " + std::strerror(error), ""};
    }
    return Tool(pid, ends[0]);
}

Tool::Tool(Tool&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), output_(std::exchange(other.output_, -1)) {}

Tool::~Tool() {
    if (pid_ > 0)
        finish();
}

ToolOutcome Tool::finish(const std::function<void(std::string_view)>& line) {
    ToolOutcome outcome;
    char buffer[16384];
    size_t told = 0; // all lines before this were given to `line`
    for (;;) {
        ssize_t count = read(output_, buffer, sizeof buffer);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            break;
        if (outcome.output.size() < output_limit)
            outcome.output.append(buffer, count);
        while (line) {
            size_t end = outcome.output.find('\n', told);
            if (end == std::string::npos)
                break;
            line(std::string_view(outcome.output).substr(told, end - told));
            told = end + 1;
        }
    }
    close(std::exchange(output_, -1));
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    outcome.status = exit_status(status);
    return outcome;
}

Result<ToolOutcome> run_tool(const std::vector<std::string>& words,
                             const std::function<void(std::string_view)>& line) {
    auto tool = Tool::start(words);
    if (!tool)
        return tool.failure();
    return tool->finish(line);
}

std::string find_program(std::string_view name) {
    std::string wanted(name);
    if (name.find('/') != std::string_view::npos)
        return access(wanted.c_str(), X_OK) == 0 ? wanted : "";
    const char* path = std::getenv("PATH");
    std::string_view rest = path ? path : "/usr/bin:/bin";
    for (;;) {
        size_t end = rest.find(':');
        std::string candidate = std::string(rest.substr(0, end)) + "/" + wanted;
        if (access(candidate.c_str(), X_OK) == 0)
            return candidate;
        if (end == std::string_view::npos)
            return {};
        rest = rest.substr(end + 1);
    }
}

} // namespace djstap::module
