#include "guest/files.h"

#include "cache/cache.h"
#include "guest/process.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sstream>
#include <sys/stat.h>
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
    std::string all;
    char buffer[65536];
    ssize_t n;
    while ((n = pread(fd, buffer, sizeof buffer, static_cast<off_t>(all.size()))) > 0)
        all.append(buffer, static_cast<size_t>(n));
    return all;
}

Result<std::string> read_file(const std::string& path) {
    FileDescriptor fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd)
        return system_failure("open", path);
    std::string all;
    char buffer[65536];
    ssize_t n;
    while ((n = read(fd.get(), buffer, sizeof buffer)) > 0)
        all.append(buffer, static_cast<size_t>(n));
    if (n < 0)
        return system_failure("read", path);
    return all;
}

Status write_all(int fd, std::string_view data, const std::string& path) {
    while (!data.empty()) {
        ssize_t n = write(fd, data.data(), data.size());
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return system_failure("write", path);
        data.remove_prefix(static_cast<size_t>(n));
    }
    return Done{};
}

Result<std::string> cache_folder() {
    const std::string folder = std::filesystem::absolute(cache_directory()) / "guest";
    if (Status made = make_cache_folder(folder); !made)
        return made.failure();
    return folder;
}

Result<std::string> find_tool(const std::string& name, const std::string& package) {
    const char* path = getenv("PATH");
    std::istringstream folders(std::string(path ? path : "/usr/bin:/bin") + ":/usr/sbin:/sbin");
    for (std::string folder; std::getline(folders, folder, ':');) {
        std::string program = (folder.empty() ? "." : folder) + "/" + name;
        if (access(program.c_str(), X_OK) == 0)
            return program;
    }
    return Failure{"there is no " + name + ", which a guest needs",
                   "install the package " + package};
}

Result<std::string> output_of(const std::vector<std::string>& words) {
    int pipe[2];
    if (pipe2(pipe, O_CLOEXEC))
        return system_failure("make", "a pipe");
    FileDescriptor reader(pipe[0]), writer(pipe[1]);
    SpawnOptions options;
    options.output = writer.get();
    Result<Process> process = Process::start(words, options);
    if (!process)
        return process.failure();
    writer.reset();
    std::string all;
    char buffer[65536];
    ssize_t n;
    while ((n = read(reader.get(), buffer, sizeof buffer)) > 0 || (n < 0 && errno == EINTR))
        all.append(buffer, static_cast<size_t>(n > 0 ? n : 0));
    int status = process->wait();
    if (status)
        return Failure{words[0] + " failed with status " + std::to_string(status) + ": " + all, ""};
    return all;
}

} // namespace djstap::guest
