// SPDX-License-Identifier: GPL-2.0-or-later
// The location of a kernel's modules, and their content.
#include "image/module_file.h"

#include "cache/cache.h"
#include "image/decompress.h"
#include "system/hash.h"
#include "system/process.h"
#include "system/regular_file.h"
#include "system/trust.h"

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <sys/stat.h>
#include <sys/utsname.h>

namespace djstap {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view layout_version = "2"; // of the output of link_module_image

// A script may name any file: a small one does not become one that fills the memory.
constexpr uintmax_t highest_ratio_of_file = 64, smallest_bound_of_file = 1 << 26;

Result<std::string> decompressed_by(const std::string& program, const std::string& path) {
    const auto file = open_regular(path);
    if (!file)
        return file.failure();
    struct stat status = {};
    if (fstat(file->get(), &status) != 0)
        return path_failure(path, "cannot stat");
    OutputOptions wanted;
    wanted.errors = false;
    wanted.most =
        static_cast<uintmax_t>(status.st_size) * highest_ratio_of_file + smallest_bound_of_file;
    // The file that is open, whatever has its name by now.
    ProcessOptions options;
    options.inherited = {file->get()};
    const std::string open_file = "/proc/self/fd/" + std::to_string(file->get());
    auto outcome = run_program({"sh", "-c", "exec \"$0\" -dcq < " + open_file, program}, wanted,
                               std::move(options));
    if (!outcome || outcome->status != 0)
        return Failure{program + " failed on " + path,
                       "is the file damaged, or the program " + program + " not installed?"};
    if (outcome->output.size() >= wanted.most)
        return Failure{path + " is too large when it is decompressed",
                       "it may be damaged: install it again"};
    return std::move(outcome->output);
}

void each_line(const std::string& path, const std::function<void(const std::string&)>& line) {
    auto text = read_file(path);
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
        return decompressed_by("xz", path);
    if (path.ends_with(".gz"))
        return decompressed_by("gzip", path);
    if (path.ends_with(".zst"))
        return decompressed_by("zstd", path);
    const auto file = open_regular(path);
    return file ? read_file(*file, path) : file.failure();
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
    std::error_code error; // depmod has not been run
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

Result<std::string> cached_copy(const Kernel& kernel, const std::string& path,
                                const std::string& name, const std::string& suffix,
                                const std::function<Result<std::string>(std::string)>& link) {
    std::error_code error;
    const auto size = fs::file_size(path, error);
    const auto time = error ? fs::file_time_type() : fs::last_write_time(path, error);
    if (error)
        return Failure{path + ": " + error.message(), ""};
    const uint64_t key = hash_bytes(path + "/" + std::to_string(size) + "/" +
                                    std::to_string(time.time_since_epoch().count()));
    std::string copy = cache_directory() + "/kernels/" +
                       (kernel.build_id().empty() ? kernel.release() : kernel.build_id()) + "/" +
                       name + "-" + hexadecimal(key) + suffix;
    if (fs::exists(copy, error) && check_trusted(copy))
        return copy;
    auto bytes = module_bytes(path);
    if (!bytes)
        return bytes.failure();
    auto whole = decompress_sections(std::move(*bytes), path);
    if (whole)
        whole = link(std::move(*whole));
    if (!whole)
        return whole.failure();
    if (Status written = write_cached(copy, *whole); !written)
        return written.failure();
    return copy;
}

Result<std::string> linked_module(const Kernel& kernel, const std::string& path) {
    return cached_copy(
        kernel, path, "modules/" + module_name_of(path), "-v" + std::string(layout_version) + ".ko",
        [&](std::string whole) { return link_module_image(std::move(whole), path); });
}

} // namespace djstap
