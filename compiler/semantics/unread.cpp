// SPDX-License-Identifier: GPL-2.0-or-later
// Globals that are written and never read are printed when the session ends.
#include "semantics/passes.h"
#include "semantics/shown.h"

namespace djstap::semantics {

using namespace program;

void print_unread(Program& program, const GlobalUses& uses, const Names& names,
                  const PointShapes& points) {
    std::unique_ptr<Probe> probe;
    for (auto& global : program.globals) {
        if (names.in_library(global->range)) // a script need not know of it
            continue;
        const auto found = uses.find(global.get());
        const bool is_used = found != uses.end();
        // Hosts add to a shared one.
        if (!global->is_shared && (!is_used || !found->second.written))
            continue;
        if (is_used && found->second.read)
            continue;
        if (!probe)
            probe = synthetic_probe(global->range);
        probe->body->statements.push_back(GlobalPrinter(*probe).show(*global));
    }
    if (probe)
        add_last_probe(program, std::move(probe), points);
}

} // namespace djstap::semantics
