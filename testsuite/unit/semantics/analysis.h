// SPDX-License-Identifier: GPL-2.0-or-later
// Converts text to a program or diagnostics, for the tests of semantics.
#pragma once
#include "library/library.h"
#include "probes/probes.h"
#include "semantics/print.h"
#include "semantics/semantics.h"
#include "syntax/syntax.h"
#include "system/file.h"
#include "system/temporary.h"

#include "../surroundings.h"

#include <filesystem>
#include <gtest/gtest.h>
#include <utility>

namespace djstap::test {

// To index the tapsets takes most of an analysis, half a second with sanitizers, and each test is a
// process: the index is kept beside the build. The library finds out itself whether it is outdated.
constexpr const char* kept_index = DJSTAP_BINARY_DIR "/testsuite/tapset-index";

// The cache of all analyses of this process.
inline const std::string& shared_cache() {
    static const TemporaryFolder cache = [] {
        auto folder = TemporaryFolder::create(temporary_directory());
        std::error_code none;
        if (folder)
            std::filesystem::copy(kept_index, folder->path(), none);
        return folder ? std::move(*folder) : TemporaryFolder();
    }();
    return cache.path();
}

// Keeps the index that the cache has, which is that of the tapsets alone.
inline void keep_index() {
    std::error_code none;
    std::filesystem::create_directories(kept_index, none);
    for (const auto& file : std::filesystem::directory_iterator(shared_cache(), none)) {
        const std::filesystem::path kept = kept_index / file.path().filename();
        const auto made = read_file(file.path()), before = read_file(kept);
        if (made && (!before || *made != *before))
            static_cast<void>(write_atomically(kept, *made));
    }
}

// A folder. From the first one on, the cache is that of all analyses: some are kept by later tests.
struct Folder : TestFolder {
    Folder() { static const Environment is_used("DJSTAP_CACHE", shared_cache()); }
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
        library = Library::open(folders, sources, context, diagnostics);
        static bool first = true;
        if (std::exchange(first, false) && own_tapsets && library_text.empty())
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
};

} // namespace djstap::test
