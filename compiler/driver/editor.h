// SPDX-License-Identifier: GPL-2.0-or-later
// What an editor asks about a script that is open in it.
#pragma once
#include "documentation/documentation.h"
#include "driver/options.h"
#include "lsp/text.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace djstap::driver {

// A message about a part of the script, as bytes.
struct EditorMessage {
    size_t begin = 0, end = 0;
    bool is_error = true;
    std::string tag;
    std::string text; // with its hint
    struct Note {
        size_t begin = 0, end = 0;
        std::string text;
    };
    std::vector<Note> notes;
};

// Where a name is defined: in the script itself, by bytes, or in a file of the library, by its
// line.
struct Definition {
    std::string file = {};     // empty: the script
    size_t begin = 0, end = 0; // of the script
    uint32_t line = 0;         // of another file, from 1
};

class Editor {
  public:
    // `options` of the server's command line hold for all scripts: -r, -I, -D, -g …
    explicit Editor(Options options);
    ~Editor();

    // Returns what passes 1 and 2 report about the script.
    std::vector<EditorMessage> check(const std::string& script) const;
    // Returns what the name at an offset is, as Markdown; "": unknown.
    std::string describe(const lsp::Text& script, size_t offset);
    std::optional<Definition> define(const lsp::Text& script, size_t offset);

  private:
    const std::vector<Documentation>& documented();
    // Of a name of the library, or of the language.
    const Documentation* documentation(const std::string& name);
    std::string target_variable(const lsp::Text& script, lsp::Text::Word word) const;

    Options options_;
    std::unique_ptr<std::vector<Documentation>> documented_;
};

} // namespace djstap::driver
