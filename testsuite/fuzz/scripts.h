// SPDX-License-Identifier: GPL-2.0-or-later
// An input as a script: shared by the targets for the parser and for the whole front end.
#pragma once
#include "library/library.h"
#include "syntax/syntax.h"

namespace djstap::fuzz {

inline PreprocessorContext context(bool guru) {
    PreprocessorContext context;
    context.kernel_release = [] { return "6.1.0-1-cloud-amd64"; };
    context.kernel_config = [](const std::string& name) { return name == "CONFIG_SMP" ? "y" : ""; };
    context.arguments = {"1", "two", "-3"};
    context.guru = guru;
    return context;
}

struct Script {
    explicit Script(std::string_view text, bool guru = true)
        : context(fuzz::context(guru)), diagnostics(sources) {
        library = Library::open({DJSTAP_SOURCE_DIR "/tapsets"}, sources, context, diagnostics);
        parse(text);
    }
    void parse(std::string_view text) {
        source = sources.add("input", std::string(text));
        file = parse_file(sources, source, context, library->macros(), diagnostics);
    }

    PreprocessorContext context;
    SourceManager sources;
    Diagnostics diagnostics;
    std::unique_ptr<Library> library;
    uint32_t source = 0;
    std::optional<ast::File> file;
};

} // namespace djstap::fuzz
