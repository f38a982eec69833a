#include "module/scratch.h"

#include "cache/trust.h"

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

namespace djstap::module {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view prefix = "djstap-";

std::string temporary_folder() {
    const char* set = std::getenv("TMPDIR");
    return set && *set == '/' && check_trusted_place(set) ? set : "/tmp";
}

Failure system_failure(const std::string& path, const char* what) {
    int error = errno;
    return {path + ": " + what + ": " + std::strerror(error),
            error == ENOSPC || error == EDQUOT ? "free some space and run djstap again" : ""};
}

} // namespace

Result<Scratch> Scratch::create() {
    Failure last;
    for (const std::string& parent : {std::string("/dev/shm"), temporary_folder()}) {
        std::string path =
            parent + "/" + std::string(prefix) + std::to_string(getpid()) + "-XXXXXX";
        if (mkdtemp(path.data()))
            return Scratch(path);
        last = system_failure(path, "cannot create a temporary folder");
    }
    return last;
}

Scratch::~Scratch() {
    if (path_.empty())
        return;
    std::error_code ignored;
    fs::remove_all(path_, ignored);
}

void remove_stale_scratch() {
    for (const std::string& parent : {std::string("/dev/shm"), temporary_folder()}) {
        std::error_code error;
        for (fs::directory_iterator at(parent, error), end; !error && at != end;
             at.increment(error)) {
            std::string name = at->path().filename();
            int pid = 0;
            if (!name.starts_with(prefix))
                continue;
            const char* begin = name.data() + prefix.size();
            auto [stop, bad] = std::from_chars(begin, name.data() + name.size(), pid);
            struct stat status;
            if (bad != std::errc() || pid <= 0 || *stop != '-' ||
                lstat(at->path().c_str(), &status) != 0 || !S_ISDIR(status.st_mode) ||
                status.st_uid != geteuid() || kill(pid, 0) == 0 || errno != ESRCH)
                continue;
            std::error_code ignored;
            fs::remove_all(at->path(), ignored);
        }
    }
}

Result<std::string> read_file(const std::string& path) {
    int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return system_failure(path, "cannot open");
    struct stat status = {};
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
        close(fd);
        return Failure{path + ": is not a file", ""};
    }
    std::string bytes(status.st_size, '\0');
    size_t done = 0;
    while (done < bytes.size()) {
        ssize_t count = read(fd, bytes.data() + done, bytes.size() - done);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0) {
            Failure failure = system_failure(path, "cannot read");
            close(fd);
            return failure;
        }
        if (count == 0)
            break;
        done += count;
    }
    close(fd);
    bytes.resize(done);
    return bytes;
}

Status write_file(const std::string& path, std::string_view bytes) {
    int fd = open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0644);
    if (fd < 0)
        return system_failure(path, "cannot create");
    struct stat status = {};
    const bool removable = fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
    auto fail = [&] {
        Failure failure = system_failure(path, "cannot write");
        if (removable)
            unlink(path.c_str());
        return failure;
    };
    while (!bytes.empty()) {
        ssize_t count = write(fd, bytes.data(), bytes.size());
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0) {
            Failure failure = fail();
            close(fd);
            return failure;
        }
        bytes.remove_prefix(count);
    }
    if (close(fd) != 0)
        return fail();
    return Done{};
}

} // namespace djstap::module
