// @kregister and @uregister.
#include "codegen/body.h"

#include <algorithm>
#include <array>

namespace djstap::codegen {

namespace {

// By DWARF's numbers for x86-64.
constexpr std::array registers{PtReg::Rax, PtReg::Rdx, PtReg::Rcx, PtReg::Rbx, PtReg::Rsi,
                               PtReg::Rdi, PtReg::Rbp, PtReg::Rsp, PtReg::R8,  PtReg::R9,
                               PtReg::R10, PtReg::R11, PtReg::R12, PtReg::R13, PtReg::R14,
                               PtReg::R15, PtReg::Rip};
// Those that a direct call leaves to its target.
constexpr std::array kept{PtReg::Rdi, PtReg::Rsi, PtReg::Rdx, PtReg::Rcx,
                          PtReg::R8,  PtReg::R9,  PtReg::Rsp};

} // namespace

Value Body::register_value(const program::Register& node) {
    const PtReg reg = registers.at(static_cast<size_t>(node.number));
    const bool direct = function_->getCallingConv() == llvm::CallingConv::PreserveMost;
    if (!node.user && direct) {
        if (std::find(kept.begin(), kept.end(), reg) != kept.end())
            return hit_.reg(reg);
        script_.diagnostics.report(DiagnosticKind::CodegenInternal, node.range,
                                   {"a register that a direct call does not keep"});
        return script_.number(0); // probes/ chooses another mechanism for such a handler
    }
    auto* place = script_.word(script_.place(node.user ? "@uregister" : "@kregister", node.range));
    Value value = builder_.CreateCall(
        script_.runtime(node.user ? "djs_user_register" : "djs_kernel_register"),
        {ctx_, script_.word(static_cast<uint32_t>(reg)), place});
    check_error();
    return value;
}

} // namespace djstap::codegen
