// SPDX-License-Identifier: GPL-2.0-or-later
// From text to a checked program: parser, library, semantics. The first byte selects the options.
#include "probes/probes.h"
#include "scripts.h"
#include "semantics/print.h"
#include "semantics/semantics.h"
#include "target.h"

using namespace djstap;

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size == 0)
        return 0;
    SemanticsOptions options;
    options.points = probe_shapes();
    options.guru = data[0] & 1;
    options.keep_unused = data[0] & 2;
    fuzz::Script script(fuzz::view(data + 1, size - 1), options.guru);
    if (!script.file)
        return 0;
    auto program = analyze(std::move(*script.file), *script.library, options, script.diagnostics);
    const std::string told = render_all(script.diagnostics);
    fuzz::require(program.has_value() != script.diagnostics.has_errors(),
                  "an outcome without its reason", told);
    if (program)
        fuzz::require(!print(*program).empty() || program->probes.empty(),
                      "a program that prints as nothing");
    return 0;
}
