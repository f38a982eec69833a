// SPDX-License-Identifier: GPL-2.0-or-later
// A dispatch receives the return address of the direct call in r11: no function expects anything in
// it, or in r10, at its entry.
#include "arch/arch.h"
#include "arch/codegen.h"
#include "arch/x86_64/assembly.h"

namespace djstap::arch {

namespace {

using x86_64::as_bool;
using x86_64::emit_assembly;

} // namespace

std::string landing_pad_code(const Mitigations& mitigations) {
    return mitigations.landing_pads ? "endbr64\n" : "";
}

std::string return_code(const Mitigations& mitigations) {
    return mitigations.return_thunks ? "jmp __x86_return_thunk\n" : "ret\nint3\n";
}

std::string resume_code(const Mitigations& mitigations) {
    return "movq %r10, %rax\n" + return_code(mitigations);
}

std::string go_on_code(const Mitigations& mitigations) {
    return mitigations.indirect_thunks ? "jmp __x86_indirect_thunk_r11\n" : "jmp *%r11\n";
}

std::string go_on_at_code(const std::string& address, const std::string& elsewhere) {
    return "cmpq $" + address + ", %r11\njne " + elsewhere + "\njmp " + address + "\n";
}

std::string branch_if_not_below_code(const std::string& address, const std::string& label) {
    return "cmpq $" + address + ", %r11\njae " + label + "\n";
}

// arch/x86/include/asm/static_call.h
std::string static_jump_code(const std::string& callee) {
    return "{disp32} jmp " + callee + "\n";
}

std::string static_jump_mark() {
    return ".byte 0x0f, 0xb9, 0xcc\n";
}

std::string no_op_code() {
    return "nop\n";
}

// LLVM passes a "nest" parameter in r10.
void keep_result(llvm::Function& function, unsigned parameter, const Mitigations& mitigations) {
    std::vector<uint8_t> code;
    if (mitigations.landing_pads) { // before LLVM's own landing pad
        code.assign(landing_pad().begin(), landing_pad().end());
        function.addFnAttr(llvm::Attribute::NoCfCheck);
    }
    code.insert(code.end(), {0x49, 0x89, 0xc2}); // mov %rax, %r10
    function.setPrologueData(llvm::ConstantDataArray::get(function.getContext(), code));
    function.addParamAttr(parameter, llvm::Attribute::Nest);
}

FunctionResult call_kernel(llvm::IRBuilderBase& builder, const std::string& callee,
                           std::span<llvm::Value* const> arguments, llvm::Value* result,
                           llvm::Value* from) {
    std::vector<llvm::Value*> operands;
    for (size_t argument : {3, 2, 0, 1, 4, 5}) // in the order of the results
        operands.push_back(arguments[argument]);
    operands.insert(operands.end(), {result, from});
    auto* type = llvm::StructType::get(
        builder.getContext(), std::vector<llvm::Type*>(operands.size(), builder.getInt64Ty()));
    // Registers that the function may change are declared as unused outputs.
    llvm::Value* out = emit_assembly(
        builder, type,
        {"call " + callee,
         "={ax},={cx},={dx},={di},={si},={r8},={r9},={r11},1,2,3,4,5,6,0,7,~{r10}", operands});
    return {builder.CreateExtractValue(out, 0), builder.CreateExtractValue(out, 2)};
}

llvm::Value* is_kernel_address(llvm::IRBuilderBase& builder, llvm::Value* value,
                               const std::string& address) {
    return as_bool(
        builder, emit_assembly(builder, builder.getInt32Ty(),
                               {"cmpq $$" + address + ", $1", "={@ccz},r", {value}, true, false}));
}

} // namespace djstap::arch
