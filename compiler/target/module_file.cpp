// Where a kernel's modules are, and their bytes.
#include "target/module_file.h"

#include "cache/cache.h"
#include "cache/trust.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <functional>
#include <sstream>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

namespace djstap {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view layout_version = "1"; // of link_module_image's result

// What a program writes to its standard output.
Result<std::string> output_of(const std::vector<std::string>& words) {
    std::vector<char*> arguments;
    for (const std::string& word : words)
        arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    int pipe_ends[2];
    if (pipe2(pipe_ends, O_CLOEXEC) != 0)
        return Failure{std::string("cannot make a pipe: ") + std::strerror(errno), ""};
    pid_t child = fork();
    if (child == 0) {
        dup2(pipe_ends[1], STDOUT_FILENO);
        execvp(arguments[0], arguments.data());
        _exit(127);
    }
    close(pipe_ends[1]);
    std::string output;
    char part[65536];
    for (ssize_t count; (count = read(pipe_ends[0], part, sizeof part)) != 0;) {
        if (count < 0 && errno != EINTR)
            break;
        if (count > 0)
            output.append(part, static_cast<size_t>(count));
    }
    close(pipe_ends[0]);
    int status = -1;
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (child < 0 || status != 0)
        return Failure{words.front() + " failed on " + words.back(),
                       "is the program " + words.front() + " installed?"};
    return output;
}

void each_line(const std::string& path, const std::function<void(const std::string&)>& line) {
    auto text = read_whole(path);
    std::istringstream lines(text ? *text : std::string());
    for (std::string each; std::getline(lines, each);)
        line(each);
}

} // namespace

std::string module_name_of(std::string_view path) {
    std::string name(path.substr(path.rfind('/') + 1));
    name.resize(std::min(name.size(), name.find(".ko")));
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
}

Result<std::string> module_bytes(const std::string& path) {
    if (path.ends_with(".xz"))
        return output_of({"xz", "-dc", path});
    if (path.ends_with(".gz"))
        return output_of({"gzip", "-dc", path});
    if (path.ends_with(".zst"))
        return output_of({"zstd", "-dcq", path});
    return read_whole(path);
}

std::map<std::string, std::string> module_files(const KernelFiles& kernel) {
    std::map<std::string, std::string> files;
    if (kernel.modules.empty())
        return files;
    each_line(kernel.modules + "/modules.dep", [&](const std::string& line) {
        std::string path = line.substr(0, line.find(':'));
        if (path.find(".ko") != std::string::npos)
            files.emplace(module_name_of(path),
                          path.front() == '/' ? path : kernel.modules + "/" + path);
    });
    if (!files.empty())
        return files;
    std::error_code error; // depmod has not run
    for (fs::recursive_directory_iterator at(kernel.modules + "/kernel", error), end;
         !error && at != end; at.increment(error)) {
        std::string path = at->path().string();
        if (path.find(".ko") != std::string::npos && at->is_regular_file(error))
            files.emplace(module_name_of(path), path);
    }
    return files;
}

bool is_built_in(const KernelFiles& kernel, std::string_view module) {
    bool found = false;
    each_line(kernel.modules + "/modules.builtin",
              [&](const std::string& line) { found |= module_name_of(line) == module; });
    return found;
}

std::optional<std::vector<std::string>> loaded_modules(const KernelFiles& kernel) {
    struct utsname running = {};
    if (!kernel.root.empty() || uname(&running) != 0 || kernel.release != running.release)
        return std::nullopt;
    std::vector<std::string> names;
    each_line("/proc/modules",
              [&](const std::string& line) { names.push_back(line.substr(0, line.find(' '))); });
    return names;
}

Result<std::string> linked_module(const Target& kernel, const std::string& path) {
    std::error_code error;
    auto size = fs::file_size(path, error);
    auto time = error ? fs::file_time_type() : fs::last_write_time(path, error);
    if (error)
        return Failure{path + ": " + error.message(), ""};
    size_t key = std::hash<std::string>()(path + "/" + std::to_string(size) + "/" +
                                          std::to_string(time.time_since_epoch().count()));
    std::ostringstream name;
    name << cache_directory() << "/kernels/"
         << (kernel.build_id().empty() ? kernel.release() : kernel.build_id()) << "/modules/"
         << module_name_of(path) << "-" << std::hex << key << "-v" << layout_version << ".ko";
    if (fs::exists(name.str(), error) && check_trusted(name.str()))
        return name.str();
    auto bytes = module_bytes(path);
    if (!bytes)
        return bytes.failure();
    auto linked = link_module_image(std::move(*bytes), path);
    if (!linked)
        return linked.failure();
    if (Status written = write_cached(name.str(), *linked); !written)
        return written.failure();
    return name.str();
}

} // namespace djstap
