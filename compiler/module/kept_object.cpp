// SPDX-License-Identifier: GPL-2.0-or-later
// The list of the files is beside the object. Each line has a file's size, the times of its last
// modification and of its last change, and its path. The object's name has a hash of the list.
#include "module/kept_object.h"

#include "cache/cache.h"
#include "module/tool.h"
#include "system/hash.h"

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <set>
#include <sys/stat.h>
#include <vector>

namespace djstap::module {

namespace {

constexpr int64_t billion = 1000000000;
// A file's times are those of the last tick of the kernel's clock.
constexpr int64_t longest_tick = billion / 100;

int64_t nanoseconds(const timespec& time) {
    return time.tv_sec * billion + time.tv_nsec;
}

// In place of the state of a file that is not there, or is so new that the compiler may have read
// another one.
constexpr std::string_view unknown = "-";

// Returns a line without its path; `before`: a newer file's state is unknown.
std::string state_of(const std::string& path, int64_t before) {
    struct stat found{};
    if (stat(path.c_str(), &found) != 0 || nanoseconds(found.st_ctim) >= before)
        return std::string(unknown);
    return std::to_string(found.st_size) + " " + std::to_string(nanoseconds(found.st_mtim)) + " " +
           std::to_string(nanoseconds(found.st_ctim));
}

// Returns the prerequisites of a rule in make's syntax.
std::vector<std::string> prerequisites(std::string_view rule) {
    std::vector<std::string> names(1);
    bool in_target = true;
    for (size_t i = 0; i < rule.size(); i++) {
        const char next = i + 1 < rule.size() ? rule[i + 1] : '\n';
        if ((rule[i] == '\\' && (next == ' ' || next == '#' || next == ':' || next == '\\')) ||
            (rule[i] == '$' && next == '$')) {
            names.back() += rule[++i];
        } else if (rule[i] == '\\' && next == '\n') {
            continue;
        } else if (in_target && rule[i] == ':' && (next == ' ' || next == '\n')) {
            in_target = false;
            names.back().clear();
        } else if (rule[i] == ' ' || rule[i] == '\n') {
            if (!names.back().empty())
                names.emplace_back();
        } else {
            names.back() += rule[i];
        }
    }
    names.pop_back();
    return names;
}

} // namespace

KeptObject::KeptObject(std::string stem) : stem_(std::move(stem)) {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    began_ = nanoseconds(now);
}

std::string KeptObject::listing_options(const std::string& to) {
    return " -MD -MF " + quoted_for_shell(to);
}

std::string KeptObject::object_path(std::string_view files) const {
    return stem_ + "-" + hexadecimal(hash_bytes(files)) + ".o";
}

std::string KeptObject::find() const {
    const auto files = read_cached(stem_ + ".files");
    if (!files)
        return "";
    for (size_t at = 0; at < files->size();) {
        const size_t end = std::min(files->find('\n', at), files->size());
        const size_t name = files->find('/', at);
        if (name > end || name < at + 2)
            return "";
        const std::string kept = files->substr(at, name - 1 - at);
        if (kept == unknown || kept != state_of(files->substr(name, end - name), INT64_MAX))
            return "";
        at = end + 1;
    }
    const std::string path = object_path(*files);
    std::error_code error;
    return std::filesystem::exists(path, error) ? path : "";
}

Result<std::string> KeptObject::keep(std::string_view bytes, std::string_view listed,
                                     const std::string& folder, const std::string& scratch) const {
    std::set<std::string> paths;
    for (const std::string& name : prerequisites(listed)) {
        const auto path = (std::filesystem::path(folder) / name).lexically_normal().string();
        if (!path.starts_with(scratch + "/"))
            paths.insert(path);
    }
    std::string files;
    for (const std::string& path : paths)
        files += state_of(path, began_ - longest_tick) + " " + path + "\n";
    const std::string path = object_path(files);
    if (Status written = write_cached(path, bytes); !written)
        return written.failure();
    if (Status written = write_cached(stem_ + ".files", files); !written)
        return written.failure();
    return path;
}

} // namespace djstap::module
