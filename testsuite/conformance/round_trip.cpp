// SPDX-License-Identifier: GPL-2.0-or-later
// Prints scripts like -p1 and parses the output: the second tree must equal the first one.
//
//   round_trip [-v] [--random N] FOLDER-OR-FILE…
//
// Reads every *.stp below the folders (macros from every *.stpm first) and generates N random
// programs. Scripts that do not parse are counted and skipped: other tests check that they are
// rejected. The exit status is 1 if a tree changed.
#include "../differential/generator.h"
#include "harness/structure.h"
#include "library/library.h"
#include "syntax/syntax.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

using namespace djstap;

namespace {

namespace fs = std::filesystem;

std::string read(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
}

std::vector<fs::path> files_in(const fs::path& place, const std::string& extension) {
    std::vector<fs::path> out;
    std::error_code error;
    if (place.extension() == extension)
        out.push_back(place);
    for (auto it = fs::recursive_directory_iterator(place, error);
         !error && it != fs::recursive_directory_iterator(); it.increment(error))
        if (it->path().extension() == extension)
            out.push_back(it->path());
    std::sort(out.begin(), out.end());
    return out;
}

class RoundTrip {
  public:
    RoundTrip() {
        context_.kernel_release = [] { return std::string("6.1.0"); };
        context_.kernel_config = [](const std::string&) { return std::string("y"); };
        context_.arguments.assign(16, "1");
        context_.guru = true;
        Diagnostics diagnostics(macro_sources_);
        auto library =
            Library::open({DJSTAP_SOURCE_DIR "/tapsets"}, macro_sources_, {}, diagnostics);
        macros_ = library->macros();
    }

    void macros(const fs::path& path) {
        Diagnostics diagnostics(macro_sources_);
        uint32_t source = macro_sources_.add(path, read(path), true);
        parse_macro_file(macro_sources_, source, context_, macros_, diagnostics);
    }

    void script(const std::string& name, const std::string& text) {
        SourceManager sources;
        std::string complaints;
        auto first = parse(sources, name, text, complaints);
        if (!first) {
            refused_++;
            if (verbose)
                printf("%s", complaints.c_str());
            return;
        }
        const std::string printed = ast::print(*first);
        auto second = parse(sources, name + " as printed", printed, complaints);
        const std::string before = test::Structure::of(*first);
        const std::string after = second ? test::Structure::of(*second) : complaints;
        if (before == after) {
            equal_++;
            return;
        }
        changed_++;
        printf("FAILED %s\n", name.c_str());
        show_difference(before, after);
    }

    bool verbose = false; // say why a script does not parse

    int result() const {
        printf("%zu scripts printed and parsed again, %zu changed, %zu do not parse\n",
               equal_ + changed_, changed_, refused_);
        return changed_ == 0 && equal_ > 0 ? 0 : 1;
    }

  private:
    std::optional<ast::File> parse(SourceManager& sources, const std::string& name,
                                   const std::string& text, std::string& complaints) {
        Diagnostics diagnostics(sources);
        auto file = parse_file(sources, sources.add(name, text), context_, macros_, diagnostics);
        complaints = render_all(diagnostics);
        return file;
    }

    static void show_difference(const std::string& before, const std::string& after) {
        std::istringstream one(before), other(after);
        std::string left, right;
        while (std::getline(one, left) && std::getline(other, right) && left == right) {
        }
        printf("  was: %s\n  is:  %s\n", left.c_str(), right.c_str());
    }

    PreprocessorContext context_;
    SourceManager macro_sources_; // macros are words of these texts
    MacroTable macros_;
    size_t equal_ = 0, changed_ = 0, refused_ = 0;
};

} // namespace

int main(int count, char** arguments) {
    RoundTrip trip;
    unsigned long random = 0;
    std::vector<fs::path> places;
    for (int i = 1; i < count; i++) {
        if (strcmp(arguments[i], "--random") == 0 && i + 1 < count)
            random = strtoul(arguments[++i], nullptr, 10);
        else if (strcmp(arguments[i], "-v") == 0)
            trip.verbose = true;
        else
            places.emplace_back(arguments[i]);
    }
    for (const fs::path& place : places)
        for (const fs::path& path : files_in(place, ".stpm"))
            trip.macros(path);
    for (const fs::path& place : places)
        for (const fs::path& path : files_in(place, ".stp"))
            trip.script(path, read(path));
    for (unsigned long seed = 1; seed <= random; seed++)
        trip.script("random program " + std::to_string(seed),
                    differential::generate_program(seed).script());
    return trip.result();
}
