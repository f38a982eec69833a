// SPDX-License-Identifier: GPL-2.0-or-later
// The preprocessor and the parser. A text that parses must print as a text that parses to the same
// tree; a text that does not must have an error. The header of a tool is read, and described, or
// has an error. The doc comments of a tapset are read from any text.
#include "documentation/comments.h"
#include "documentation/documentation.h"
#include "scripts.h"
#include "target.h"
#include "tools/command_line.h"

using namespace djstap;

namespace {

void read_tool(fuzz::Script& script) {
    Diagnostics diagnostics(script.sources);
    auto header = read_header(script.sources, script.source, diagnostics);
    fuzz::require(header.has_value() != diagnostics.has_errors(), "a header without its reason");
    if (!header)
        return;
    const std::string help = help_text(*header, "x");
    for (const ToolOption& option : header->options)
        fuzz::require(help.find("--" + option.name) != std::string::npos, "an undescribed option");
    if (script.file)
        fuzz::require(take_globals(*header, *script.file, diagnostics) != diagnostics.has_errors(),
                      "a missing global without its reason");
}

void read_comments(std::string_view text) {
    const auto comments =
        documentation::read_comments(text, [](const std::string& name) { return !name.empty(); });
    for (const documentation::Entry& entry : comments.entries) {
        fuzz::require(!entry.heads.empty(), "an entry about nothing");
        for (const documentation::Item& item : entry.items)
            fuzz::require(!item.names.empty(), "an item about nothing");
        fuzz::require(entry.text.starts_with(first_sentence(entry.text)), "a wrong sentence");
    }
    for (uint32_t line = 1; line < 10; line++)
        documentation::comment_above(text, line);
    plain_name(text);
}

} // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    fuzz::Script script(fuzz::view(data, size));
    fuzz::require(script.file.has_value() != script.diagnostics.has_errors(),
                  "an outcome without its reason");
    read_tool(script);
    read_comments(fuzz::view(data, size));
    const std::string told = render_all(script.diagnostics);
    if (!script.file) {
        fuzz::require(!told.empty(), "an error that is not shown");
        return 0;
    }
    const std::string printed = ast::print(*script.file);
    fuzz::Script again(printed);
    fuzz::require(again.file.has_value(), "what is printed does not parse",
                  printed + render_all(again.diagnostics));
    const std::string twice = ast::print(*again.file);
    fuzz::require(twice == printed, "what is printed parses to something else",
                  printed + "\n--- again\n" + twice);
    return 0;
}
