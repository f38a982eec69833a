// SPDX-License-Identifier: GPL-2.0-or-later
// @kregister and @uregister.
#include "codegen/body.h"

#include "arch/arch.h"

namespace djstap::codegen {

Value Body::register_value(const program::Register& node) {
    const auto number = static_cast<uint64_t>(node.number); // syntax/ has checked the range
    const PtReg reg = arch::register_of_dwarf(number).value_or(arch::stack_pointer());
    if (!node.user && hit_.kernel_registers != KernelRegisters::Saved) {
        if (hit_.kernel_registers == KernelRegisters::Seen && arch::is_seen_by_direct_call(reg))
            return hit_.reg(reg);
        script_.diagnostics.report(DiagnosticKind::CodegenInternal, node.range,
                                   {"a register that a direct call does not preserve"});
        return script_.number(0); // probes/ selects another mechanism for such a handler
    }
    auto* place = script_.u32(script_.place(node.user ? "@uregister" : "@kregister", node.range));
    Value value = builder_.CreateCall(
        script_.runtime(node.user ? "djs_user_register" : "djs_kernel_register"),
        {ctx_, script_.u32(static_cast<uint32_t>(reg)), place});
    check_error();
    return value;
}

} // namespace djstap::codegen
