// SPDX-License-Identifier: GPL-2.0-or-later
#include "driver/user_kernel.h"

#include "arch/injection.h"
#include "injected/injected.h"

#include <cstddef>
#include <map>

namespace djstap::driver {

namespace {

// What a thread's slot has of what a CPU has in a kernel (injected/injected.h).
std::optional<std::pair<std::string, int64_t>> slot_offset(std::string_view name) {
    static const std::map<std::string_view, size_t> offsets{
        {"djs_cpu.head", offsetof(djs_thread_slot, head)},
        {"djs_cpu.limit", offsetof(djs_thread_slot, limit)},
        {"djs_cpu.data", offsetof(djs_thread_slot, data)},
        {"djs_cpu.mask", offsetof(djs_thread_slot, mask)}};
    const auto known = offsets.find(name);
    if (known == offsets.end())
        return std::nullopt;
    return std::pair("djs_cpu", static_cast<int64_t>(known->second));
}

} // namespace

CodegenKernel user_space_kernel(bool in_process) {
    CodegenKernel kernel;
    kernel.user_space = true;
    kernel.injected = in_process;
    kernel.stub_bytes = in_process ? static_cast<int64_t>(arch::stub_stack_bytes()) : 0;
    kernel.mitigations.return_thunks = kernel.mitigations.indirect_thunks = false;
    if (in_process)
        kernel.offset = slot_offset;
    return kernel;
}

} // namespace djstap::driver
