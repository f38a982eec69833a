// SPDX-License-Identifier: GPL-2.0-or-later
// Parsing for tests: returns a script's canonical text or its diagnostics.
#pragma once
#include "../../harness/structure.h"
#include "syntax/syntax.h"

#include <gtest/gtest.h>
#include <string>

namespace djstap::test {

struct Parsed {
    std::optional<ast::File> file;
    std::string text;        // printed; empty if there is no file
    std::string diagnostics; // rendered
    size_t errors = 0;
};

struct Parsing {
    SourceManager sources;
    MacroTable macros;
    PreprocessorContext context;

    Parsing() {
        context.kernel_release = [] { return std::string("6.1.0-56-cloud-amd64"); };
        context.kernel_config = [](const std::string& name) {
            return name == "CONFIG_SMP"  ? std::string("y")
                   : name == "CONFIG_HZ" ? std::string("250")
                                         : std::string();
        };
    }

    Parsed parse(const std::string& script, bool is_library = false) {
        Diagnostics diagnostics(sources);
        Parsed out;
        out.file = parse_file(sources, sources.add("t.stp", script, is_library), context, macros,
                              diagnostics);
        out.diagnostics = render_all(diagnostics);
        out.errors = diagnostics.error_count();
        EXPECT_EQ(out.file.has_value(), out.errors == 0) << script;
        if (out.file)
            out.text = ast::print(*out.file);
        return out;
    }

    bool parse_macros(const std::string& text, std::string* rendered = nullptr) {
        Diagnostics diagnostics(sources);
        bool good = parse_macro_file(sources, sources.add("t.stpm", text, true), context, macros,
                                     diagnostics);
        if (rendered)
            *rendered = render_all(diagnostics);
        EXPECT_EQ(good, !diagnostics.has_errors()) << text;
        return good;
    }
};

// Returns the canonical text of a script that must parse, and checks that it parses to the same
// tree.
inline std::string canonical(const std::string& script, Parsing parsing = {}) {
    parsing.context.guru = true;
    Parsed first = parsing.parse(script);
    EXPECT_EQ(first.diagnostics, "") << script;
    Parsed second = parsing.parse(first.text);
    EXPECT_EQ(second.diagnostics, "") << first.text;
    EXPECT_EQ(second.text, first.text) << script;
    if (first.file && second.file) {
        EXPECT_EQ(Structure::of(*second.file), Structure::of(*first.file)) << script;
    }
    return first.text;
}

// Returns one statement's canonical text.
inline std::string canonical_statement(const std::string& statement) {
    std::string text = canonical("function f() { " + statement + " }");
    std::string begin = "function f() {\n", end = "}\n";
    if (!text.starts_with(begin) || !text.ends_with(end))
        return text;
    text = text.substr(begin.size(), text.size() - begin.size() - end.size());
    std::string out;
    for (size_t at = 0; at < text.size();) {
        size_t next = text.find('\n', at);
        out += (out.empty() ? "" : "\n") + text.substr(at + 4, next - at - 4);
        at = next + 1;
    }
    return out;
}

// Returns an expression's canonical text, without the ';'.
inline std::string canonical_expression(const std::string& expression) {
    std::string text = canonical_statement("v = " + expression);
    return text.starts_with("v = ") ? text.substr(4, text.size() - 5) : text;
}

inline std::string diagnostics_of(const std::string& script, size_t errors = 1,
                                  Parsing parsing = {}) {
    Parsed parsed = parsing.parse(script);
    EXPECT_EQ(parsed.errors, errors) << parsed.diagnostics;
    return parsed.diagnostics;
}

} // namespace djstap::test
