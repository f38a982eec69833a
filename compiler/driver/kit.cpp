// SPDX-License-Identifier: GPL-2.0-or-later
#include "driver/kit.h"

#include <algorithm>
#include <future>

namespace djstap::driver {

void begin_kit(Invocation& invocation) {
    Result<const Kernel*> kernel = invocation.images.kernel();
    if (!kernel)
        return;
    // Without a second thread, generate() does the work.
    invocation.kit =
        std::async(std::launch::async | std::launch::deferred,
                   [kernel = *kernel, sources = RuntimeSources{invocation.places.runtime},
                    &needs = invocation.needs] {
                       if (Status agreed = check_agreement(sources); !agreed)
                           return Result<RuntimeKit>(agreed.failure());
                       return open_runtime_kit(*kernel, sources, show_progress,
                                               [&needs] { return needs.wait(); });
                   });
}

Status complete_kit(Invocation& invocation, GeneratedScript& generated) {
    RuntimeKit& kit = *generated.kit;
    auto needed = needed_symbols(generated.object.object);
    if (!needed)
        return needed.failure();
    needed->merge(symbols_for_tables(generated.script.script.program, generated.script.plan));
    const bool anything = !generated.object.c_source.empty();
    if (!anything && std::all_of(needed->begin(), needed->end(), [&](const std::string& symbol) {
            return kit.has_runtime_symbol(symbol);
        }))
        return Done{};
    Result<const Kernel*> kernel = invocation.images.kernel();
    if (!kernel)
        return kernel.failure();
    auto complete =
        open_runtime_kit(**kernel, RuntimeSources{invocation.places.runtime}, show_progress,
                         anything ? NeededSymbols() : NeededSymbols([&] { return *needed; }));
    if (!complete)
        return complete.failure();
    kit = std::move(*complete);
    return Done{};
}

} // namespace djstap::driver
