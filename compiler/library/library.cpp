// SPDX-License-Identifier: GPL-2.0-or-later
#include "library/library.h"

#include "cache/cache.h"
#include "library/index.h"
#include "system/hash.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <filesystem>
#include <numeric>
#include <sstream>
#include <sys/stat.h>
#include <unordered_map>
#include <unordered_set>

namespace djstap {

namespace {

using library::Index;
using library::IndexedFile;
using library::NameKind;

// Returns whether a folder of a library is only for another machine or another of SystemTap's
// runtimes.
bool foreign_folder(const std::string& folder, const std::string& arch) {
    static const std::unordered_set<std::string> special = {
        "arm",   "arm64", "aarch64", "i386",  "i686",        "ia64",   "mips", "powerpc",
        "ppc64", "riscv", "s390",    "s390x", "loongarch64", "x86_64", "bpf",  "dyninst"};
    return folder != arch && special.count(folder) > 0;
}

bool ends_with(const std::string& text, const std::string& end) {
    return text.size() >= end.size() &&
           text.compare(text.size() - end.size(), end.size(), end) == 0;
}

constexpr std::string_view index_prefix = "library-", index_suffix = ".index";

// Returns one name for each list of folders.
std::string cache_name(const std::vector<std::string>& folders, const std::string& arch) {
    uint64_t hash = hash_bytes(arch);
    for (const std::string& folder : folders)
        hash = hash_bytes(folder, hash);
    return std::string(index_prefix) + hexadecimal(hash) + std::string(index_suffix);
}

// Removes the indexes that no library can use any more: those of folders that are gone, or were
// changed and not opened since. Whoever is about to load one builds it instead.
void remove_outdated(const std::string& cache) {
    std::error_code error;
    for (std::filesystem::directory_iterator at(cache, error), end; !error && at != end;
         at.increment(error)) {
        const std::string name = at->path().filename();
        std::error_code ignored;
        if (name.starts_with(index_prefix) && name.ends_with(index_suffix) &&
            Index::outdated(at->path()))
            std::filesystem::remove(at->path(), ignored);
    }
}

std::vector<std::string> split(const std::string& text, char separator) {
    std::vector<std::string> parts;
    std::stringstream stream(text);
    for (std::string part; std::getline(stream, part, separator);)
        parts.push_back(part);
    return parts;
}

bool matches(const std::string& pattern, const std::string& name) {
    size_t p = 0, n = 0, star = std::string::npos, mark = 0;
    while (n < name.size()) {
        if (p < pattern.size() && pattern[p] == '*')
            star = p++, mark = n;
        else if (p < pattern.size() && (pattern[p] == name[n] || pattern[p] == '?'))
            ++p, ++n;
        else if (star != std::string::npos)
            p = star + 1, n = ++mark;
        else
            return false;
    }
    while (p < pattern.size() && pattern[p] == '*')
        ++p;
    return p == pattern.size();
}

// Returns whether an alias can be what the components mean: all of its own components match, and
// the rest is a suffix.
bool alias_matches(const std::vector<std::string>& pattern, const std::vector<std::string>& alias) {
    for (size_t i = 0; i < alias.size(); ++i) {
        if (i == pattern.size())
            return false;
        if (pattern[i].find("**") != std::string::npos)
            return true;
        if (!matches(pattern[i], alias[i]))
            return false;
    }
    return true;
}

class IndexedLibrary final : public Library {
  public:
    IndexedLibrary(SourceManager& sources, PreprocessorContext context, Diagnostics& diagnostics)
        : sources_(sources), context_(std::move(context)), diagnostics_(diagnostics) {}

    void open(const std::vector<std::string>& folders) {
        std::unordered_set<std::string> seen;
        for (const std::string& folder : folders)
            collect(folder, seen, true);
        const std::string cache = cache_directory();
        const std::string path = cache + "/" + cache_name(folders, context_.arch);
        if (auto loaded = Index::load(path, files_)) {
            index_ = std::move(*loaded);
            return;
        }
        index_ = Index::build(files_);
        if (files_.empty())
            return;
        index_.save(path); // without a cache only the next start is slower
        remove_outdated(cache);
    }

    std::vector<const ast::File*> files_defining_function(const std::string& name) override {
        return parsed(index_.files_defining(NameKind::Function, name));
    }
    std::vector<const ast::File*> files_defining_global(const std::string& name) override {
        return parsed(index_.files_defining(NameKind::Global, name));
    }
    std::vector<const ast::File*> files_defining_alias(const std::string& components) override {
        const std::vector<std::string> pattern = split(components, '.');
        std::vector<uint32_t> found;
        if (components.find_first_of("*?") == std::string::npos) {
            // Without wildcards only names that are prefixes of the components can match.
            for (size_t end = components.find('.');; end = components.find('.', end + 1)) {
                for (const uint32_t file :
                     index_.files_defining(NameKind::Alias, components.substr(0, end)))
                    found.push_back(file);
                if (end == std::string::npos)
                    break;
            }
            std::sort(found.begin(), found.end());
            found.erase(std::unique(found.begin(), found.end()), found.end());
            return parsed(found);
        }
        for (const auto& [name, file] : index_.names(NameKind::Alias))
            if (alias_matches(pattern, split(std::string(name), '.')))
                found.push_back(file);
        std::sort(found.begin(), found.end());
        found.erase(std::unique(found.begin(), found.end()), found.end());
        return parsed(found);
    }

    std::vector<const ast::File*> all_files() override {
        std::vector<uint32_t> all(files_.size());
        std::iota(all.begin(), all.end(), 0);
        return parsed(all);
    }

    const MacroTable& macros() override {
        if (macros_read_)
            return macros_;
        macros_read_ = true;
        for (const IndexedFile& file : files_) {
            if (!ends_with(file.path, ".stpm"))
                continue;
            if (auto source = read(file.path)) {
                Diagnostics own(sources_);
                if (!parse_macro_file(sources_, *source, context_, macros_, own))
                    skipped(file.path, own);
            }
        }
        return macros_;
    }

    std::vector<std::string> function_names() const override { return names(NameKind::Function); }
    std::vector<std::string> alias_names() const override { return names(NameKind::Alias); }

  private:
    void collect(const std::string& folder, std::unordered_set<std::string>& seen, bool top) {
        DIR* directory = opendir(folder.c_str());
        if (!directory) {
            if (top)
                diagnostics_.report(DiagnosticKind::LibraryFolderUnreadable, {},
                                    {folder, strerror(errno)});
            return;
        }
        // A folder that links lead to again is not read twice.
        struct stat self{};
        if (fstat(dirfd(directory), &self) != 0 ||
            !seen.insert(std::to_string(self.st_dev) + ":" + std::to_string(self.st_ino)).second) {
            closedir(directory);
            return;
        }
        std::vector<std::string> inner, own;
        while (const dirent* entry = readdir(directory)) {
            const std::string name = entry->d_name;
            if (name[0] == '.')
                continue;
            if (ends_with(name, ".stp") || ends_with(name, ".stpm"))
                own.push_back(name);
            else if ((entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN ||
                      entry->d_type == DT_LNK) &&
                     !foreign_folder(name, context_.arch))
                inner.push_back(name);
        }
        closedir(directory);
        // The order of directory entries is arbitrary; that of the index must not be.
        std::sort(own.begin(), own.end());
        std::sort(inner.begin(), inner.end());
        for (const std::string& name : own) {
            auto file = library::describe_file(folder + "/" + name);
            if (file && seen.insert(file->path).second)
                files_.push_back(std::move(*file));
        }
        for (const std::string& name : inner)
            collect(folder + "/" + name, seen, false);
    }

    std::optional<uint32_t> read(const std::string& path) {
        auto text = read_file(path);
        if (!text) {
            diagnostics_.report(DiagnosticKind::LibraryFileUnreadable, {}, {path, strerror(errno)});
            return std::nullopt;
        }
        return sources_.add(path, std::move(*text), true);
    }

    // The user is not to blame for a library file that does not parse, and the script may not need
    // it.
    void skipped(const std::string& path, const Diagnostics& own) {
        const size_t errors = own.error_count();
        Diagnostic& diagnostic = diagnostics_.report(
            DiagnosticKind::LibraryFileSkipped, {},
            {path, errors == 1 ? "an error" : std::to_string(errors) + " errors"});
        for (const Diagnostic& error : own.all())
            if (info(error.kind).severity == Severity::Error) {
                diagnostic.note(error.range, error.message);
                break;
            }
    }

    const ast::File* parse(uint32_t number) {
        auto [found, added] = parsed_.try_emplace(number);
        if (!added)
            return found->second.get();
        const std::string& path = files_[number].path;
        if (ends_with(path, ".stpm"))
            return nullptr;
        const auto source = read(path);
        if (!source)
            return nullptr;
        Diagnostics own(sources_);
        std::optional<ast::File> file = parse_file(sources_, *source, context_, macros(), own);
        if (!file) {
            skipped(path, own);
            return nullptr;
        }
        parsed_[number] = std::make_unique<ast::File>(std::move(*file));
        return parsed_[number].get();
    }

    std::vector<const ast::File*> parsed(const std::vector<uint32_t>& numbers) {
        std::vector<const ast::File*> result;
        for (const uint32_t number : numbers)
            if (const ast::File* file = parse(number))
                result.push_back(file);
        return result;
    }

    std::vector<std::string> names(NameKind kind) const {
        std::vector<std::string> result;
        for (const auto& [name, file] : index_.names(kind))
            if (result.empty() || result.back() != name)
                result.emplace_back(name);
        return result;
    }

    SourceManager& sources_;
    PreprocessorContext context_;
    Diagnostics& diagnostics_;
    std::vector<IndexedFile> files_;
    Index index_;
    std::unordered_map<uint32_t, std::unique_ptr<ast::File>> parsed_;
    MacroTable macros_;
    bool macros_read_ = false;
};

} // namespace

std::unique_ptr<Library> Library::open(std::vector<std::string> folders, SourceManager& sources,
                                       PreprocessorContext context, Diagnostics& diagnostics) {
    auto library = std::make_unique<IndexedLibrary>(sources, std::move(context), diagnostics);
    library->open(folders);
    return library;
}

} // namespace djstap
