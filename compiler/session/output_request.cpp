// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/output_request.h"

#include "diagnostics/suggest.h"
#include "session/monitor_screen.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

namespace djstap {

namespace {

std::string option_of(const OutputRequest& request) {
    return "--output=" + std::string(request.kind->name) +
           (request.file.empty() ? "" : ":" + request.file);
}

// Returns the file of a request; empty: standard output.
const std::string& file_of(const OutputRequest& request, const OutputChoice& options) {
    return request.file.empty() ? options.file : request.file;
}

Failure same_file(const OutputRequest& request, const std::string& file) {
    const std::string hint =
        request.kind->has.is_interactive
            ? "give the other output a file: --output=FORMAT:FILE"
            : "each output needs a file of its own: --output=" + std::string(request.kind->name) +
                  ":FILE";
    return {option_of(request) + ": another output writes to " +
                (file.empty() ? "standard output" : file) + ", too",
            hint};
}

// Text may appear on a terminal twice, and what goes to /dev/null needs no order.
bool is_exclusive(const struct stat& status) {
    return S_ISREG(status.st_mode) || S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode);
}

Result<OutputFile> open_one(const std::string& path) {
    OutputFile file{path, FileDescriptor()};
    if (path.empty())
        return file;
    file.descriptor = FileDescriptor(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
    if (!file.descriptor)
        return unwritable(path, errno);
    return file;
}

// An output with several files has a folder of its own, which may exist already.
Status make_folder(const std::string& path) {
    if (mkdir(path.c_str(), 0777) == 0)
        return Done();
    const int error = errno;
    struct stat status = {};
    if (error == EEXIST && stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode))
        return Done();
    return unwritable(path, error == EEXIST ? ENOTDIR : error);
}

} // namespace

Failure unwritable(const std::string& name, int error) {
    std::string hint;
    if (error == ENOENT)
        hint = "its folder does not exist: create it, or name another file";
    else if (error == EACCES || error == EPERM || error == EROFS)
        hint = "name a file in a folder that you may write to";
    else if (error == EISDIR)
        hint = "name a file, not a folder";
    else if (error == ENOTDIR)
        hint = "name a folder";
    else if (error == ENOSPC || error == EDQUOT)
        hint = "what was written before is kept; name a file where there is more room";
    if (error == ETIME)
        return {name + ": its reader takes nothing", "what it did not take is lost"};
    return {name + ": " + std::strerror(error), hint};
}

Result<OutputRequest> parse_output(const std::string& text) {
    const size_t colon = text.find(':');
    const std::string name = text.substr(0, colon);
    const auto kinds = output_kinds();
    const auto kind = std::ranges::find(kinds, name, &OutputKind::name);
    if (kind == kinds.end()) {
        std::string names;
        for (const std::string& each : output_names())
            names += (names.empty() ? "" : ", ") + each;
        const std::string hint = did_you_mean(name, output_names());
        return Failure{"--output=" + text + ": '" + name + "' is not one of " + names,
                       hint.empty() ? "the format comes first: --output=FORMAT:FILE" : hint};
    }
    if (colon == std::string::npos)
        return OutputRequest{&*kind, ""};
    if (colon + 1 == text.size())
        return Failure{"--output=" + text + ": the name of the file is missing",
                       "--output=" + name + ":FILE, or without the colon for standard output"};
    return OutputRequest{&*kind, text.substr(colon + 1)};
}

Status check_outputs(const OutputChoice& options) {
    const auto has_file = [](const OutputRequest& each) { return !each.file.empty(); };
    if (!options.file.empty() && !options.requests.empty() &&
        std::ranges::all_of(options.requests, has_file))
        return Failure{"-o " + options.file + ": each output has a file of its own",
                       "omit -o, or add --output=text, which is written there"};
    std::vector<std::string> files;
    for (const OutputRequest& request : options.requests) {
        const std::string& file = file_of(request, options);
        if (std::ranges::find(files, file) != files.end())
            return same_file(request, file);
        files.push_back(file);
        const std::string title(request.kind->title);
        if (request.kind->has.is_interactive && !file.empty())
            return Failure{option_of(request) + ": the " + title +
                               " is shown on a terminal and not written to a file",
                           "--output=text:FILE writes what the script prints"};
        if (request.kind->has.is_interactive)
            if (auto checked = MonitorScreen::check(); !checked)
                return checked;
        if (file.empty() && !request.kind->has.files.empty())
            return Failure{option_of(request) + ": " + title +
                               " output is a folder, whose name is "
                               "missing",
                           "name one: " + option_of(request) + ":FOLDER"};
        if (file.empty() && request.kind->has.is_binary && isatty(STDOUT_FILENO))
            return Failure{option_of(request) + ": " + title +
                               " output is binary and not for terminals",
                           "name a file: " + option_of(request) + ":FILE"};
    }
    return Done();
}

Result<std::vector<OutputFile>> open_outputs(const OutputChoice& options) {
    if (auto checked = check_outputs(options); !checked)
        return checked.failure();
    std::vector<OutputFile> files;
    std::vector<struct stat> known, read;
    for (const std::string& input : options.inputs)
        if (struct stat status = {}; stat(input.c_str(), &status) == 0 && S_ISREG(status.st_mode))
            read.push_back(status);
    const std::vector<OutputRequest> only_text{OutputRequest{}};
    for (const OutputRequest& request : options.requests.empty() ? only_text : options.requests) {
        std::vector<std::string> paths;
        const std::string& file = file_of(request, options);
        if (request.kind->has.files.empty())
            paths.push_back(file);
        else if (auto made = make_folder(file); !made)
            return made.failure();
        for (const std::string_view name : request.kind->has.files)
            paths.push_back(file + "/" + std::string(name));
        for (const std::string& path : paths) {
            auto opened = open_one(path);
            if (!opened)
                return opened.failure();
            struct stat status = {};
            const bool exclusive = fstat(opened->fd(), &status) == 0 && is_exclusive(status);
            const auto same = [&](const struct stat& other) {
                return other.st_dev == status.st_dev && other.st_ino == status.st_ino;
            };
            if (exclusive && std::ranges::any_of(read, same))
                return Failure{path + ": it is read, too, and would be overwritten",
                               "name another file for the output"};
            if (exclusive && std::ranges::any_of(known, same))
                return same_file(request, path);
            if (exclusive)
                known.push_back(status);
            files.push_back(std::move(*opened));
        }
    }
    return files;
}

Status empty_outputs(const std::vector<OutputFile>& files) {
    for (const OutputFile& file : files)
        if (file.descriptor && ftruncate(file.descriptor.get(), 0) != 0 && errno != EINVAL)
            return unwritable(file.path, errno);
    return Done();
}

} // namespace djstap
