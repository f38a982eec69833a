// SPDX-License-Identifier: GPL-2.0-or-later
#include "module/units.h"

#include "arch/arch.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <sstream>
#include <thread>

namespace djstap::module {

namespace fs = std::filesystem;

namespace {

// The words of the first command that runs objtool, but for the object, which is the last one.
std::vector<std::string> objtool_words(const std::vector<std::string>& noted) {
    std::vector<std::string> words;
    for (const std::string& text : noted) {
        const size_t at = text.find("/objtool/objtool ");
        if (at == std::string::npos)
            continue;
        const size_t begin = text.find_last_of(" ;\t", at) + 1;
        std::istringstream line(text.substr(begin, text.find('\n', begin) - begin));
        for (std::string word; line >> word;)
            words.push_back(word);
        words.pop_back();
        break;
    }
    return words;
}

std::string replaced(std::string text, std::string_view what, std::string_view by) {
    for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
        text.replace(at, what.size(), by);
    return text;
}

bool is_relative_include(std::string_view word) {
    return word == "-I." || word.starts_with("-I./");
}

// Newer Kbuild runs the compiler in the module's folder: returns the word for any other.
std::string from_folder(const std::string& word, std::string_view folder, std::string_view source) {
    if (is_relative_include(word))
        return "-I" + std::string(folder) + word.substr(3);
    if (word == std::string(source) + ".o" || word == std::string(source) + ".c")
        return std::string(folder) + "/" + word;
    return word;
}

} // namespace

bool run_jobs(const std::vector<std::function<bool()>>& jobs, unsigned threads) {
    std::atomic<size_t> next = 0;
    std::atomic<bool> failed = false;
    auto work = [&] {
        for (size_t job; !failed && (job = next++) < jobs.size();)
            if (!jobs[job]())
                failed = true;
    };
    std::vector<std::thread> others;
    for (unsigned i = 1; i < std::min<size_t>(threads, jobs.size()); i++)
        others.emplace_back(work);
    work();
    for (std::thread& thread : others)
        thread.join();
    return !failed;
}

std::string compile_command(std::string_view commands, std::string_view folder,
                            std::string_view source) {
    const std::string path = std::string(folder) + "/" + std::string(source);
    size_t files = commands.find(" -c -o " + path + ".o " + path + ".c");
    const bool in_folder = files == std::string_view::npos;
    if (in_folder)
        files = commands.find(" -c -o " + std::string(source) + ".o " + std::string(source) + ".c");
    if (files == std::string_view::npos)
        return {};
    const size_t before = commands.rfind("; ", files);
    const size_t line = commands.rfind('\n', files);
    size_t begin = before == std::string_view::npos ? 0 : before + 2;
    if (line != std::string_view::npos && line > begin)
        begin = line + 1;
    // What follows notes how the object was made, for a later make.
    const size_t note = commands.find("scripts/basic/fixdep ", files);
    const size_t end = commands.rfind("; ", note);
    if (note == std::string_view::npos || end == std::string_view::npos || end < files ||
        commands.substr(files, end - files).find('\n') != std::string_view::npos)
        return {};
    std::istringstream words{std::string(commands.substr(begin, end - begin))};
    std::string result;
    for (std::string word; words >> word;)
        if (!word.starts_with("-Wp,-MMD,"))
            result += (result.empty() ? "" : " ") +
                      (in_folder ? from_folder(word, folder, source) : word);
    return result;
}

std::string command_for(const std::string& command, std::string_view source, std::string_view other,
                        bool cold) {
    std::string text =
        replaced(command, "/" + std::string(source) + ".", "/" + std::string(other) + ".");
    text = replaced(text, "\"" + std::string(source) + "\"", "\"" + std::string(other) + "\"");
    return compiler_for(text, cold);
}

std::string compiler_for(const std::string& compiler, bool cold) {
    return cold ? replaced(compiler, " -O2 ", " -O1 ") : compiler;
}

std::string compiler_of(std::string_view command, std::string_view folder) {
    command = command.substr(0, command.find(" ; "));
    const bool in_folder = command.find(" -o " + std::string(folder)) == std::string_view::npos;
    std::string result;
    std::istringstream words{std::string(command)};
    for (std::string word; words >> word;) {
        if (word == "-c")
            return result;
        if (word.starts_with("-Wp,-MMD") || word.find(folder) != std::string::npos ||
            (in_folder && is_relative_include(word)))
            continue;
        result += (result.empty() ? "" : " ") + word;
    }
    return {};
}

Result<Objtool> find_objtool(const std::vector<std::string>& noted, const std::string& build_dir) {
    Objtool found{objtool_words(noted)};
    if (found.command.empty())
        return found;
    std::string& program = found.command[0];
    std::error_code error;
    const fs::path real =
        fs::canonical(program.starts_with('/') ? program : build_dir + "/" + program, error);
    if (error)
        return Failure{program + ": " + error.message(), ""};
    program = real;
    // Debian's is a wrapper that selects the architecture's own program by $SRCARCH.
    const std::string own = program + ".real-" + arch::names().kernel;
    if (fs::exists(own, error))
        program = own;
    found.is_delayed =
        std::find(found.command.begin(), found.command.end(), "--link") != found.command.end();
    return found;
}

} // namespace djstap::module
