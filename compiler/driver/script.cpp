// SPDX-License-Identifier: GPL-2.0-or-later
#include "driver/script.h"

#include "diagnostics/suggest.h"
#include "system/file.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>

namespace djstap::driver {

namespace {

constexpr size_t largest_script = 64u << 20;

Failure cannot(const std::string& path, const std::string& why, std::string hint = {}) {
    return Failure{"cannot read " + (path == "-" ? "standard input" : path) + ": " + why,
                   std::move(hint)};
}

// Returns the file in the same folder with the most similar name.
std::string similar_file(const std::string& path) {
    namespace fs = std::filesystem;
    std::error_code error;
    fs::path folder = fs::path(path).parent_path();
    std::vector<std::string> names;
    for (fs::directory_iterator at(folder.empty() ? "." : folder, error), end; !error && at != end;
         at.increment(error))
        names.push_back(at->path().filename());
    std::string name = fs::path(path).filename();
    if (auto found = nearest(name, names))
        return "did you mean '" + (folder / *found).string() + "'?";
    return {};
}

// Detects a script given without -e instead of a file.
bool looks_like_script(const std::string& text) {
    return text.find_first_of("{ ") != std::string::npos;
}

} // namespace

Result<std::string> read_script(const std::string& path) {
    FileDescriptor file;
    if (path != "-")
        file = FileDescriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (path != "-" && !file) {
        int code = errno;
        std::string hint = code != ENOENT      ? ""
                           : path == "regions" ? "the options of djstap regions follow this word"
                           : looks_like_script(path) ? "use -e to give a script on the command line"
                                                     : similar_file(path);
        return cannot(path, strerror(code), hint);
    }
    const int fd = file ? file.get() : STDIN_FILENO;
    struct stat status;
    if (fstat(fd, &status) == 0 && S_ISDIR(status.st_mode))
        return cannot(path, "it is a folder", "name a file with a script");
    std::string text;
    if (!read_rest(fd, text, largest_script))
        return cannot(path, strerror(errno));
    if (text.size() > largest_script)
        return cannot(path, "it is larger than 64 MB");
    return text;
}

std::optional<std::vector<uint32_t>> read_scripts(const Options& options, SourceManager& sources,
                                                  Diagnostics& diagnostics) {
    std::vector<uint32_t> ids;
    if (options.expression) {
        ids.push_back(sources.add(options.script_name(), *options.expression));
    } else {
        Result<std::string> text = options.fallback && options.fallback->script
                                       ? *options.fallback->script
                                       : read_script(options.script_file);
        if (!text) {
            diagnostics.report(DiagnosticKind::CannotReadScript, {}, {text.failure().message})
                .hint(text.failure().hint);
            return std::nullopt;
        }
        ids.push_back(sources.add(options.script_name(), std::move(*text)));
    }
    for (size_t i = 0; i < options.additional.size(); i++)
        ids.push_back(sources.add("<input " + std::to_string(i + 2) + ">", options.additional[i]));
    return ids;
}

} // namespace djstap::driver
