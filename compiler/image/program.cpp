// SPDX-License-Identifier: GPL-2.0-or-later
#include "image/program.h"

#include "arch/arch.h"
#include "image/debug_file.h"
#include "image/glob.h"
#include "image/opened.h"
#include "system/process.h"
#include "system/process_status.h"
#include "system/regular_file.h"

#include <cstring>
#include <filesystem>
#include <glob.h>

namespace djstap {

namespace {

namespace fs = std::filesystem;

class OpenedProgram final : public OpenedImage<Image> {
  public:
    OpenedProgram(const Kernel& kernel, std::string path)
        : kernel_(kernel), path_(std::move(path)), title_("'" + path_ + "'") {}
    Status open();

    ImageKind kind() const override { return ImageKind::Program; }
    const std::string& name() const override { return path_; }
    std::string title() const override { return title_; }
    AddressSpace address_space() const override { return AddressSpace::User; }
    const Kernel& kernel() const override { return kernel_; }
    const std::string& file() const override { return path_; }
    bool in_text(uint64_t address) const override {
        return std::any_of(segments_.begin(), segments_.end(), [&](const Segment& segment) {
            return segment.executable && segment.contains(address);
        });
    }

  private:
    const Kernel& kernel_;
    const std::string path_, title_;
};

// A file's loaded parts. Their ends are those of what is in the file: nothing else is code, but
// zeroed variables follow.
std::vector<Segment> program_segments(const ElfFile& elf) {
    std::vector<Segment> segments;
    for (const Elf64_Phdr& header : elf.program_headers()) {
        if (header.p_type != PT_LOAD || header.p_memsz == 0 ||
            header.p_memsz > UINT64_MAX - header.p_vaddr)
            continue;
        Segment segment;
        segment.begin = header.p_vaddr;
        segment.end = header.p_vaddr + header.p_memsz;
        segment.address = segment.begin;
        segment.check_address = segment.end;
        segment.file_distance = header.p_vaddr - header.p_offset;
        segment.executable = header.p_flags & PF_X;
        segments.push_back(std::move(segment));
    }
    return segments;
}

Status OpenedProgram::open() {
    auto elf = ElfFile::open(path_);
    if (!elf)
        return elf.failure();
    elf_ = std::move(*elf);
    build_id_ = elf_->build_id();
    segments_ = program_segments(*elf_);
    const bool is_code = std::any_of(segments_.begin(), segments_.end(),
                                     [](const Segment& segment) { return segment.executable; });
    if (!is_code || (elf_->type() != ET_EXEC && elf_->type() != ET_DYN))
        return Failure{title_ + " is neither a program nor a library", ""};
    std::unique_ptr<ElfFile> separate;
    if (elf_->symbols().empty()) {
        // Servers are asked when the debug information is needed.
        const DebugFileSearch search = find_debug_file(*this, DebugServers::Ignore);
        auto debug = search.found ? ElfFile::open(search.found->path)
                                  : Result<std::unique_ptr<ElfFile>>(Failure{});
        if (debug)
            separate = std::move(*debug);
    }
    symbols_ = SymbolTable::hold(SymbolTable::serialize(symbols_of_program(*elf_, separate.get())));
    return Done{};
}

Failure no_program(const std::string& why, const std::string& hint = {}) {
    return Failure{why, hint};
}

// Returns the interpreter that a script's first line names; "" if it is no script.
std::string interpreter_of(const std::string& path) {
    constexpr std::string_view mark = "#!";
    constexpr size_t longest = 256; // as in the kernel
    std::string line = begin_of_regular(path, mark.size() + longest);
    if (!line.starts_with(mark))
        return {};
    line = line.substr(mark.size(), line.find('\n') - mark.size());
    const size_t begin = line.find_first_not_of(" \t");
    if (begin == std::string::npos)
        return {};
    const size_t end = line.find_first_of(" \t\r", begin);
    const std::string first = line.substr(begin, end - begin);
    // "#!/usr/bin/env python3"
    if (fs::path(first).filename() != "env" || end == std::string::npos)
        return first;
    const size_t next = line.find_first_not_of(" \t", end);
    if (next == std::string::npos || line[next] == '-')
        return first;
    const std::string program =
        find_program(line.substr(next, line.find_first_of(" \t\r", next) - next));
    return program.empty() ? first : program;
}

} // namespace

bool is_elf_file(const std::string& path) {
    return begin_of_regular(path, SELFMAG) == ELFMAG;
}

Result<std::unique_ptr<Image>> open_program(const Kernel& kernel, const std::string& path) {
    auto program = std::make_unique<OpenedProgram>(kernel, path);
    if (Status opened = program->open(); !opened)
        return opened.failure();
    return std::unique_ptr<Image>(std::move(program));
}

Result<std::string> find_program_file(const std::string& name) {
    constexpr int most_interpreters = 4; // as in the kernel
    std::string path = name;
    if (name.empty())
        return no_program("the path of a program is empty",
                          "without an argument, process is the program of -c or -x");
    if (name.find('/') == std::string::npos)
        path = find_program(name);
    if (path.empty())
        return no_program("no folder of $PATH contains a program '" + name + "'",
                          "a path that contains / names any file");
    for (int i = 0; i <= most_interpreters; i++) {
        std::error_code error;
        const std::string real = fs::canonical(path, error).string();
        if (error || !fs::is_regular_file(real, error)) {
            const std::string other = in_folder_of_machine(path);
            if (fs::is_regular_file(other, error)) {
                path = other;
                continue;
            }
            return no_program("there is no file '" + path + "'", "");
        }
        const std::string interpreter = interpreter_of(real);
        if (interpreter.empty())
            return real;
        path = interpreter;
    }
    return no_program("'" + name + "' is a script whose interpreters are scripts, too");
}

Result<std::string> program_file_of_process(int64_t pid) {
    const std::string folder = "/proc/" + std::to_string(pid);
    std::error_code error;
    if (!fs::exists(folder, error))
        return Failure{"there is no process " + std::to_string(pid),
                       "its program is that of a process that runs now"};
    if (auto process = check_is_process(pid); !process)
        return process.failure();
    (void)fs::read_symlink(folder + "/exe", error);
    if (error == std::errc::permission_denied)
        return Failure{"the program of process " + std::to_string(pid) +
                           " cannot be read: " + error.message(),
                       "the process belongs to another user, or has more rights"};
    if (error)
        return Failure{"process " + std::to_string(pid) + " runs no program",
                       "it is a thread of the kernel, or has ended"};
    auto file = find_program_file(folder + "/exe");
    return file ? file
                : Failure{"the program of process " + std::to_string(pid) + " cannot be found",
                          "its file was removed, replaced, or is that of another container"};
}

namespace {

// Returns whether a file is a program or a library for this machine: there may be 32-bit ones of
// the same name.
bool is_for_machine(const std::string& path) {
    Elf64_Ehdr header = {};
    const std::string bytes = begin_of_regular(path, sizeof header);
    if (bytes.size() < sizeof header)
        return false;
    std::memcpy(&header, bytes.data(), sizeof header);
    return std::string_view(reinterpret_cast<const char*>(header.e_ident), SELFMAG) == ELFMAG &&
           header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_machine == arch::elf_machine();
}

// Returns the files for this machine that a pattern matches, without symbolic links.
std::vector<std::string> files_matching(const std::string& pattern) {
    std::vector<std::string> found;
    glob_t matches = {};
    if (glob(pattern.c_str(), GLOB_BRACE, nullptr, &matches) == 0)
        for (size_t i = 0; i < matches.gl_pathc; i++) {
            std::error_code error;
            const std::string real = fs::canonical(matches.gl_pathv[i], error).string();
            if (!error && fs::is_regular_file(real, error) && is_for_machine(real) &&
                std::find(found.begin(), found.end(), real) == found.end())
                found.push_back(real);
        }
    globfree(&matches);
    return found;
}

} // namespace

std::string in_folder_of_machine(const std::string& path) {
    const size_t slash = path.rfind('/');
    if (slash == std::string::npos || path.find(".so", slash) == std::string::npos)
        return {};
    std::string folder = path.substr(0, slash);
    const std::string_view last = std::string_view(folder).substr(folder.rfind('/') + 1);
    if (last != "lib" && last != "lib64" && last != "lib*")
        return {};
    if (last == "lib64")
        folder.resize(folder.size() - 2);
    return folder + "/" + arch::names().machine + "-linux-gnu" + path.substr(slash);
}

std::vector<std::string> program_files_matching(const std::string& pattern) {
    std::vector<std::string> found = files_matching(pattern);
    if (const std::string other = in_folder_of_machine(pattern); found.empty() && !other.empty())
        found = files_matching(other);
    return found;
}

} // namespace djstap
