// SPDX-License-Identifier: GPL-2.0-or-later
#include "system/regular_file.h"

#include "system/file.h"

#include <algorithm>
#include <sys/stat.h>

namespace djstap {

Result<FileDescriptor> open_regular(const std::string& path) {
    const FileDescriptor place(open(path.c_str(), O_PATH | O_CLOEXEC));
    struct stat status = {};
    if (!place || fstat(place.get(), &status) != 0)
        return path_failure(path, "cannot open");
    if (!S_ISREG(status.st_mode))
        return Failure{path + ": is not a file", ""};
    // The file that was looked at, whatever has its name by now. Its owner may hold a lease.
    const std::string same = "/proc/self/fd/" + std::to_string(place.get());
    FileDescriptor file(open(same.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (!file)
        return path_failure(path, "cannot open");
    return file;
}

std::string begin_of_regular(const std::string& path, size_t most) {
    const auto file = open_regular(path);
    std::string text;
    if (file && !read_rest(file->get(), text, most))
        text.clear();
    text.resize(std::min(text.size(), most));
    return text;
}

} // namespace djstap
