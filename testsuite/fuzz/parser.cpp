// SPDX-License-Identifier: GPL-2.0-or-later
// The preprocessor and the parser. A text that parses must print as a text that parses to the same
// tree; a text that does not must have an error.
#include "scripts.h"
#include "target.h"

using namespace djstap;

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    fuzz::Script script(fuzz::view(data, size));
    fuzz::require(script.file.has_value() != script.diagnostics.has_errors(),
                  "an outcome without its reason");
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
