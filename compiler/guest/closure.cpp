// SPDX-License-Identifier: GPL-2.0-or-later
#include "guest/closure.h"

#include "diagnostics/suggest.h"
#include "guest/files.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <elf.h>
#include <filesystem>
#include <set>
#include <sstream>
#include <sys/stat.h>
#include <unistd.h>

namespace djstap {

using namespace guest;
namespace fs = std::filesystem;

namespace {

const std::string_view shell_characters = "|&;<>()$`\\\"'*?[]#~={}!\n";

// The folders in a guest's $PATH: a program in them is found by its name.
const std::set<std::string> standard_folders = {"/bin",      "/sbin",          "/usr/bin",
                                                "/usr/sbin", "/usr/local/bin", "/usr/local/sbin"};

// Words that the guest's shell handles without a program: using them is no mistake.
const std::set<std::string> shell_words = {
    "!",     "[",       ".",        ":",      "{",     "alias",  "bg",   "break",  "case",
    "cd",    "command", "continue", "do",     "done",  "echo",   "elif", "else",   "esac",
    "eval",  "exec",    "exit",     "export", "false", "fi",     "for",  "if",     "kill",
    "let",   "local",   "printf",   "pwd",    "read",  "return", "set",  "shift",  "source",
    "test",  "then",    "time",     "times",  "trap",  "true",   "type", "ulimit", "umask",
    "unset", "until",   "wait",     "while",  "}",     "in"};

// Returns the host's path of a program, or "" if there is none.
std::string host_program(const std::string& name) {
    const std::string path = find_program(name);
    return path.empty() ? path : fs::absolute(path).lexically_normal().string();
}

std::vector<std::string> program_names(const std::string& folder) {
    std::vector<std::string> names;
    std::error_code error;
    for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
        if (access(it->path().c_str(), X_OK) == 0 && !it->is_directory(error))
            names.push_back(it->path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
}

Failure no_program(const std::string& name) {
    size_t slash = name.rfind('/');
    std::vector<std::string> candidates;
    std::string before = slash == std::string::npos ? "" : name.substr(0, slash + 1);
    std::string last = slash == std::string::npos ? name : name.substr(slash + 1);
    if (slash == std::string::npos) {
        for (const std::string& folder : search_path())
            for (std::string& found : program_names(folder))
                candidates.push_back(std::move(found));
    } else {
        candidates = program_names(before);
    }
    std::error_code error;
    if (slash != std::string::npos && fs::exists(name, error))
        return {name + " is not an executable file", "chmod +x makes it one"};
    std::string hint;
    if (std::optional<std::string> near = nearest(last, candidates))
        hint = "did you mean '" + before + *near + "'?";
    else if (slash == std::string::npos && is_program("./" + name))
        hint = "it is in the current folder: ./" + name;
    return {slash == std::string::npos ? "program '" + name + "' was not found in $PATH"
                                       : name + " does not exist",
            hint};
}

// Returns the path in PT_INTERP of a 64-bit ELF file; "" for a static one.
std::string elf_interpreter(const std::string& elf) {
    Elf64_Ehdr header;
    if (elf.size() < sizeof header)
        return "";
    elf.copy(reinterpret_cast<char*>(&header), sizeof header);
    for (unsigned i = 0; i < header.e_phnum; ++i) {
        Elf64_Phdr segment;
        size_t at = header.e_phoff + i * sizeof segment;
        if (header.e_phoff > elf.size() || at + sizeof segment > elf.size())
            return "";
        elf.copy(reinterpret_cast<char*>(&segment), sizeof segment, at);
        if (segment.p_type == PT_INTERP && segment.p_offset < elf.size())
            return elf.substr(segment.p_offset, segment.p_filesz).c_str();
    }
    return "";
}

class Collector {
  public:
    Status add_program(const std::string& path, int depth = 0) {
        if (!seen_.insert(path).second)
            return Done{};
        files_.push_back({path, path, 0, ""});
        Result<std::string> bytes = read_file(path);
        if (!bytes)
            return system_failure("open", path);
        if (bytes->starts_with("\177ELF"))
            return add_libraries(path, *bytes);
        if (bytes->starts_with("#!"))
            return add_interpreter(path, bytes->substr(2, bytes->find('\n') - 2), depth);
        return Done{}; // the kernel or a shell will report what is wrong with it
    }

    // Links a program whose folder is not in a guest's $PATH to a folder that is.
    void add_name(const std::string& name, const std::string& path) {
        if (name.find('/') == std::string::npos &&
            !standard_folders.count(fs::path(path).parent_path()))
            files_.push_back({"", "/usr/local/bin/" + name, 0, path});
    }

    std::vector<FileToCopy> take() { return std::move(files_); }

  private:
    void add_file(const std::string& path) {
        if (seen_.insert(path).second)
            files_.push_back({path, path, 0, ""});
    }

    Status add_interpreter(const std::string& path, const std::string& line, int depth) {
        std::istringstream words(line);
        std::string interpreter, argument;
        words >> interpreter >> argument;
        if (interpreter.empty() || depth > 4)
            return Done{};
        bool env = fs::path(interpreter).filename() == "env";
        if (!is_program(interpreter))
            return Failure{path + " is a script for " + interpreter + ", which does not exist", ""};
        if (Status added = add_program(interpreter, depth + 1); !added)
            return added;
        if (!env || argument.empty())
            return Done{};
        if (argument == "-S")
            words >> argument;
        std::string program = host_program(argument);
        if (program.empty())
            return Failure{path + " is a script for " + argument + ", which is not in $PATH", ""};
        add_name(argument, program);
        return add_program(program); // env executes it anew: the kernel counts from there on
    }

    Status add_libraries(const std::string& path, const std::string& elf) {
        std::string loader = elf_interpreter(elf);
        if (loader.empty())
            return Done{};
        add_file(loader);
        // The loader knows its search path, caches and $ORIGIN best; --list does not run the
        // program.
        Result<std::string> list = output_of({loader, "--list", path});
        if (!list)
            return Failure{
                "the libraries of " + path + " could not be found: " + list.failure().message, ""};
        std::istringstream lines(*list);
        for (std::string line; std::getline(lines, line);) {
            size_t arrow = line.find(" => "), address = line.rfind(" (0x");
            std::string name = line.substr(line.find_first_not_of(" \t") == std::string::npos
                                               ? 0
                                               : line.find_first_not_of(" \t"));
            if (arrow != std::string::npos && line.compare(arrow + 4, 9, "not found") == 0)
                return Failure{path + " needs the library " + name.substr(0, name.find(' ')) +
                                   ", which does not exist",
                               ""};
            std::string library =
                arrow == std::string::npos
                    ? name.substr(0, name.find(" (0x"))
                    : line.substr(arrow + 4,
                                  address == std::string::npos ? address : address - arrow - 4);
            if (library.starts_with("/"))
                add_file(library);
        }
        return Done{};
    }

    std::vector<FileToCopy> files_;
    std::set<std::string> seen_;
};

// Returns the words of a shell command that are in the position of a command's name.
std::vector<std::string> command_names(std::string_view command) {
    std::vector<std::string> names;
    bool expected = true;
    for (size_t i = 0; i < command.size();) {
        char c = command[i];
        if (c == ' ' || c == '\t') {
            ++i;
        } else if (std::string_view("|&;()\n`{!").find(c) != std::string_view::npos) {
            // Not the & of a redirection (2>&1).
            expected = !(c == '&' && i > 0 && (command[i - 1] == '>' || command[i - 1] == '<'));
            ++i;
        } else if (c == '#') {
            i = std::min(command.find('\n', i), command.size());
        } else {
            std::string word;
            for (char quote = 0; i < command.size(); ++i) {
                c = command[i];
                if (quote ? c == quote : (c == '\'' || c == '"')) {
                    quote = quote ? 0 : c;
                    continue;
                }
                if (!quote && std::string_view(" \t|&;()\n`<>").find(c) != std::string_view::npos)
                    break;
                if (c == '\\' && quote != '\'' && i + 1 < command.size())
                    c = command[++i];
                word += c;
            }
            if (i < command.size() && (command[i] == '<' || command[i] == '>')) {
                // A descriptor's number, or a command directly before its redirection: the file
                // follows.
                if (expected && !word.empty() &&
                    word.find_first_not_of("0123456789") != std::string::npos) {
                    names.push_back(word);
                    expected = false;
                }
                while (i < command.size() &&
                       std::string_view("<>&| \t").find(command[i]) != std::string_view::npos)
                    ++i;
                while (i < command.size() &&
                       std::string_view(" \t|&;()\n").find(command[i]) == std::string_view::npos)
                    ++i;
                continue;
            }
            bool assignment = word.find('=') != std::string::npos && word.find('=') > 0 &&
                              word.find('/') > word.find('=');
            if (expected && !assignment && !word.empty()) {
                names.push_back(word);
                // A command follows these words.
                static const std::set<std::string> openers = {"if",    "then",   "else", "elif",
                                                              "while", "until",  "do",   "exec",
                                                              "time",  "command"};
                expected = openers.count(word) > 0;
            }
        }
    }
    return names;
}

// Returns all words of a command, in any position.
std::vector<std::string> all_words(std::string_view command) {
    std::vector<std::string> words;
    std::string word;
    char quote = 0;
    for (char c : command) {
        if (quote ? c == quote : (c == '\'' || c == '"')) {
            quote = quote ? 0 : c;
        } else if (quote || std::string_view(" \t\n|&;<>()`").find(c) == std::string_view::npos) {
            word += c;
        } else if (!word.empty()) {
            words.push_back(std::move(word));
            word.clear();
        }
    }
    words.push_back(word);
    return words;
}

} // namespace

bool needs_shell(std::string_view command) {
    return command.find_first_of(shell_characters) != std::string_view::npos;
}

std::vector<std::string> command_words(std::string_view command) {
    if (needs_shell(command))
        return {"/bin/sh", "-c", std::string(command)};
    std::istringstream text{std::string(command)};
    std::vector<std::string> words;
    for (std::string word; text >> word;)
        words.push_back(word);
    return words;
}

Result<std::vector<FileToCopy>> program_closure(const std::string& path) {
    Collector collector;
    if (!is_program(path))
        return no_program(path);
    if (Status added = collector.add_program(fs::absolute(path).lexically_normal()); !added)
        return added.failure();
    return collector.take();
}

Result<std::vector<FileToCopy>> command_closure(std::string_view command) {
    bool shell = needs_shell(command);
    std::vector<std::string> names = shell ? command_names(command) : command_words(command);
    if (names.empty())
        return shell ? Result<std::vector<FileToCopy>>(std::vector<FileToCopy>{})
                     : Failure{"the command is empty", ""};
    if (!shell)
        names.resize(1);
    Collector collector;
    if (shell)
        if (Status added = collector.add_program("/bin/sh"); !added)
            return added.failure();
    for (size_t i = 0; i < names.size(); ++i) {
        bool builtin = shell && shell_words.count(names[i]);
        // The guest's own shell provides these; the host's program of that name would only add to
        // the copy.
        if (builtin || names[i].find('$') != std::string::npos)
            continue;
        std::string path = host_program(names[i]);
        if (path.empty()) {
            // Only the first word is certainly a program: later ones may be functions or arguments.
            if (i == 0)
                return no_program(names[i]);
            continue;
        }
        if (Status added = collector.add_program(path); !added)
            return added.failure();
        collector.add_name(names[i], path);
    }
    return collector.take();
}

std::vector<FileToCopy> data_files(std::string_view command) {
    constexpr uintmax_t largest = 64 << 20;
    std::vector<std::string> paths = {"/etc/passwd",        "/etc/group",     "/etc/hosts",
                                      "/etc/nsswitch.conf", "/etc/localtime", "/etc/timezone"};
    const char* terminal = getenv("TERM");
    if (terminal && *terminal && !strchr(terminal, '/'))
        for (const char* folder : {"/etc/terminfo/", "/lib/terminfo/", "/usr/share/terminfo/"})
            paths.push_back(std::string(folder) + terminal[0] + "/" + terminal);
    std::error_code error;
    const fs::path here = fs::current_path(error);
    for (const std::string& word : all_words(command))
        paths.push_back(here / word);
    std::vector<FileToCopy> files;
    for (const std::string& path : paths) {
        if (fs::is_regular_file(path, error) && access(path.c_str(), R_OK) == 0 &&
            fs::file_size(path, error) <= largest)
            files.push_back({path, fs::path(path).lexically_normal(), 0, ""});
    }
    return files;
}

} // namespace djstap
