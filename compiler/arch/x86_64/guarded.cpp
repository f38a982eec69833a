// SPDX-License-Identifier: GPL-2.0-or-later
// Reads of kernel memory that may be unmapped.
#include "arch/codegen.h"

#include <llvm/IR/InlineAsm.h>

namespace djstap::arch {

namespace {

// The vsyscall page is the last one of the kernel's half that does not fault like kernel memory
// (fault_in_kernel_space, arch/x86/mm/fault.c).
constexpr int64_t vsyscall_page = -10 * 1024 * 1024;
constexpr int64_t widest_load = 8;

// EX_TYPE_DEFAULT of arch/x86/include/asm/extable_fixup_types.h: the kernel continues at the
// fixup, after a page fault as well as after the protection fault of an address that is not
// canonical.
constexpr int fixup_only = 1;

// Returns the instruction that reads `bytes`, with its operands in AT&T syntax.
std::string load_of(unsigned bytes, bool is_signed, const std::string& from) {
    switch (bytes) {
    case 1:
        return is_signed ? "movsbq " + from + ", $0" : "movzbl " + from + ", ${0:k}";
    case 2:
        return is_signed ? "movswq " + from + ", $0" : "movzwl " + from + ", ${0:k}";
    case 4:
        return is_signed ? "movslq " + from + ", $0" : "movl " + from + ", ${0:k}";
    default:
        return "movq " + from + ", $0";
    }
}

} // namespace

llvm::Value* allows_guarded_load(llvm::IRBuilderBase& builder, llvm::Value* base) {
    return builder.CreateICmpSLT(
        base, builder.getInt64(static_cast<uint64_t>(vsyscall_page - guarded_span - widest_load)));
}

GuardedLoad guarded_load(llvm::IRBuilderBase& builder, llvm::Value* base, int64_t offset,
                         unsigned bytes, bool is_signed, llvm::BasicBlock* read,
                         llvm::BasicBlock* fault) {
    const std::string from = (offset ? std::to_string(offset) : std::string()) + "($1)";
    // One line: it is one instruction.
    const std::string text = "1: " + load_of(bytes, is_signed, from) +
                             "; .pushsection __ex_table,\"a\"; .balign 4; .long 1b - .; "
                             ".long ${2:l} - .; .long " +
                             std::to_string(fixup_only) + "; .popsection";
    auto* type = llvm::FunctionType::get(builder.getInt64Ty(), {builder.getInt64Ty()}, false);
    // An argument stays in its register. Any other base shares one with the result, which still
    // holds the base after a fault: a second register would have to be saved.
    const bool shares = !llvm::isa<llvm::Argument>(base);
    // It reads memory that others change.
    auto* code =
        llvm::InlineAsm::get(type, text, shares ? "=r,0,!i,~{memory}" : "=r,r,!i,~{memory}", true);
    llvm::Value* result = builder.CreateCallBr(type, code, read, {fault}, {base});
    return {result, shares ? result : base};
}

} // namespace djstap::arch
