// SPDX-License-Identifier: GPL-2.0-or-later
// Converts text to a program or diagnostics, for the tests of semantics.
#pragma once
#include "library/library.h"
#include "probes/probes.h"
#include "semantics/print.h"
#include "semantics/semantics.h"
#include "syntax/syntax.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <unistd.h>

namespace djstap::test {

// The cache of all analyses of this process: the index of djstap's own tapsets is the same for all.
inline const std::string& shared_cache() {
    struct Cache {
        std::string path = std::filesystem::temp_directory_path() / "djstap-cache-XXXXXX";
        Cache() { path = mkdtemp(path.data()); }
        ~Cache() { std::filesystem::remove_all(path); }
    };
    static const Cache cache;
    return cache.path;
}

// A folder that is removed at the end.
struct Folder {
    Folder() {
        std::string name = std::filesystem::temp_directory_path() / "djstap-semantics-XXXXXX";
        path = mkdtemp(name.data());
        setenv("DJSTAP_CACHE", shared_cache().c_str(), 1);
    }
    ~Folder() { std::filesystem::remove_all(path); }
    std::string write(const std::string& name, const std::string& text) const {
        const std::filesystem::path file = std::filesystem::path(path) / name;
        std::filesystem::create_directories(file.parent_path());
        std::ofstream(file) << text;
        return file;
    }
    std::string path;
};

struct Analysis {
    // `library`: text of a library file in addition to djstap's own tapsets.
    explicit Analysis(const std::string& script, SemanticsOptions options = {},
                      const std::string& library_text = "", bool own_tapsets = true)
        : diagnostics(sources) {
        context.kernel_release = [] { return "6.1.0-test"; };
        context.kernel_config = [](const std::string&) { return ""; };
        context.guru = options.guru;
        std::vector<std::string> folders;
        if (own_tapsets)
            folders.push_back(DJSTAP_SOURCE_DIR "/tapsets");
        if (!library_text.empty()) {
            folder.write("lib/extra.stp", library_text);
            folders.push_back(folder.path + "/lib");
        }
        if (library_text.empty())
            take_kept_index();
        library = Library::open(folders, sources, context, diagnostics);
        if (library_text.empty())
            keep_index();
        const uint32_t source = sources.add("input", script);
        auto file = parse_file(sources, source, context, library->macros(), diagnostics);
        if (file) {
            options.points = probe_shapes();
            program = analyze(std::move(*file), *library, options, diagnostics);
        }
    }

    std::string errors() const { return render_all(diagnostics); }
    size_t count(std::string_view tag) const {
        size_t found = 0;
        for (const Diagnostic& diagnostic : diagnostics.all())
            found += info(diagnostic.kind).tag == tag;
        return found;
    }
    std::string dump() const {
        return program ? program::print(*program) : "no program:\n" + errors();
    }
    const program::Global& global(const std::string& name) const {
        for (const auto& item : program->globals)
            if (item->name == name)
                return *item;
        throw std::out_of_range("no global " + name);
    }

    Folder folder;
    SourceManager sources;
    PreprocessorContext context;
    Diagnostics diagnostics;
    std::unique_ptr<Library> library;
    std::optional<program::Program> program;

  private:
    // To index the tapsets takes most of an analysis, half a second with sanitizers, and each test
    // is a process with a cache of its own: the index is kept beside the build. The library finds
    // out itself whether it is outdated.
    static constexpr const char* kept_folder = DJSTAP_BINARY_DIR "/testsuite/tapset-index";
    void take_kept_index() const {
        std::error_code none;
        std::filesystem::copy(kept_folder, folder.path + "/cache", none);
    }
    void keep_index() const {
        std::error_code none;
        std::filesystem::create_directories(kept_folder, none);
        for (const auto& file : std::filesystem::directory_iterator(folder.path + "/cache", none)) {
            const std::filesystem::path kept = kept_folder / file.path().filename();
            if (text_of(file.path()) == text_of(kept))
                continue;
            const std::string made = kept.string() + "." + std::to_string(getpid());
            std::filesystem::copy_file(file.path(), made, none);
            std::filesystem::rename(made, kept, none);
        }
    }
    static std::string text_of(const std::filesystem::path& path) {
        std::ostringstream text;
        text << std::ifstream(path, std::ios::binary).rdbuf();
        return std::move(text).str();
    }
};

} // namespace djstap::test
