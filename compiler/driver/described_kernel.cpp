// SPDX-License-Identifier: GPL-2.0-or-later
#include "driver/described_kernel.h"

#include <charconv>
#include <utility>

namespace djstap::driver {

CodegenKernel describe_kernel(const Kernel& kernel, const RuntimeKit& kit) {
    CodegenKernel known;
    known.release = kernel.release();
    known.version = kernel.version();
    known.image = ProbedImage::of(kernel);
    const auto address_of = [&](const char* name) {
        const auto symbol = kernel.symbol(name);
        return symbol ? symbol->address : 0;
    };
    known.direct_table = address_of("direct_functions");
    known.fast_clock = address_of("tk_fast_mono");
    known.irq_stack = address_of("hardirq_stack_ptr");
    known.loaded_mm = address_of("cpu_tlbstate");
    known.rethook = address_of("arch_rethook_trampoline");
    known.graph_return = address_of("return_to_handler");
    known.reference = address_of(CodegenKernel::reference_symbol);
    known.mitigations.landing_pads = kernel.has_ibt();
    // Checks both names: those of kernels up to 6.8 and the later ones (6.9 renamed the
    // mitigations).
    auto set = [&](const char* older, const char* newer) {
        return kernel.config(older) == "y" || kernel.config(newer) == "y";
    };
    std::string padding = kernel.config("CONFIG_FUNCTION_PADDING_BYTES");
    if (kernel.config("CONFIG_CALL_PADDING") == "y")
        std::from_chars(padding.data(), padding.data() + padding.size(), known.call_padding);
    known.mitigations.return_thunks = set("CONFIG_RETHUNK", "CONFIG_MITIGATION_RETHUNK");
    known.mitigations.indirect_thunks = set("CONFIG_RETPOLINE", "CONFIG_MITIGATION_RETPOLINE");
    if (kernel.config("CONFIG_KASAN_GENERIC") == "y")
        known.sanitizer = Sanitizer::Address;
    else if (kernel.config("CONFIG_KCSAN") == "y")
        known.sanitizer = Sanitizer::Thread;
    known.offset = [&kit](std::string_view name) -> std::optional<std::pair<std::string, int64_t>> {
        if (auto found = kit.offset(name))
            return std::pair(found->symbol, found->value);
        return std::nullopt;
    };
    return known;
}

} // namespace djstap::driver
