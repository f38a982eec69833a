// SPDX-License-Identifier: GPL-2.0-or-later
// Reads of memory that may be unmapped.
#include "arch/codegen.h"
#include "arch/x86_64/assembly.h"

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

// Returns the entry in the exception table for the instruction at the label 1. One line: it is no
// instruction.
std::string fixup_entry(const std::string& label) {
    return "; .pushsection __ex_table,\"a\"; .balign 4; .long 1b - .; .long " + label +
           " - .; .long " + std::to_string(fixup_only) + "; .popsection";
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
    const std::string text = "1: " + load_of(bytes, is_signed, from) + fixup_entry("${2:l}");
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

llvm::Value* in_process_half(llvm::IRBuilderBase& builder, llvm::Value* address) {
    // LLVM would see a select in the usual form, and might make it a branch.
    llvm::Value* sign = builder.CreateAShr(address, builder.getInt64(63));
    return builder.CreateOr(address, sign);
}

// The count is part of the statement, so that nothing else that may fault comes between.
llvm::Value* process_load(llvm::IRBuilderBase& builder, const ProcessMemory& memory,
                          llvm::Value* base, int64_t offset, unsigned bytes, bool is_signed,
                          llvm::BasicBlock* read, llvm::BasicBlock* fault) {
    const std::string from = (offset ? std::to_string(offset) : std::string()) + "($1)";
    const std::string count = std::to_string(memory.no_faults_at) + "($2)";
    const std::string text = "incl " + count + "\n\tstac\n\t1: " + load_of(bytes, is_signed, from) +
                             fixup_entry("${3:l}") + "\n\tclac\n\tdecl " + count;
    auto* type = llvm::FunctionType::get(builder.getInt64Ty(),
                                         {base->getType(), memory.task->getType()}, false);
    auto* code =
        llvm::InlineAsm::get(type, text, "=&r,r,r,!i,~{memory},~{dirflag},~{fpsr},~{flags}", true);
    return builder.CreateCallBr(type, code, read, {fault}, {base, memory.task});
}

void end_process_load(llvm::IRBuilderBase& builder, const ProcessMemory& memory) {
    x86_64::emit_assembly(
        builder, builder.getVoidTy(),
        {"clac\n\tdecl " + std::to_string(memory.no_faults_at) + "($0)", "r", {memory.task}});
}

} // namespace djstap::arch
