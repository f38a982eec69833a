// SPDX-License-Identifier: GPL-2.0-or-later
#include "arch/codegen.h"

#include <llvm/IR/InlineAsm.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>

namespace djstap::arch {

namespace {

const char* const triple = "x86_64-pc-linux-gnu";
const char* const processor = "x86-64";

// No floating point, no vectors: in the kernel these registers belong to user space. Calls through
// pointers and returns go through the kernel's thunks, which it patches at boot.
std::string target_features(const Mitigations& mitigations) {
    std::string features =
        "-mmx,-sse,-sse2,-sse3,-ssse3,-sse4.1,-sse4.2,-sse4a,-avx,-avx2,-x87,+soft-float,"
        "+cmov,+cx8,+fxsr,+harden-sls-ijmp,+harden-sls-ret";
    if (mitigations.indirect_thunks)
        features +=
            ",+retpoline-external-thunk,+retpoline-indirect-branches,+retpoline-indirect-calls";
    return features;
}

} // namespace

std::unique_ptr<llvm::TargetMachine> make_target_machine(int optimization, bool user_space) {
    static const llvm::Target* target = [] {
        LLVMInitializeX86TargetInfo();
        LLVMInitializeX86Target();
        LLVMInitializeX86TargetMC();
        LLVMInitializeX86AsmPrinter();
        LLVMInitializeX86AsmParser();
        std::string error;
        return llvm::TargetRegistry::lookupTarget(triple, error);
    }();
    if (!target)
        return nullptr;
    auto level = optimization >= 2   ? llvm::CodeGenOptLevel::Default
                 : optimization == 1 ? llvm::CodeGenOptLevel::Less
                                     : llvm::CodeGenOptLevel::None;
    return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
        triple, processor, "-sse,-sse2,-mmx,-avx,-x87,+soft-float", llvm::TargetOptions(),
        user_space ? llvm::Reloc::PIC_ : llvm::Reloc::Static,
        user_space ? llvm::CodeModel::Small : llvm::CodeModel::Kernel, level));
}

void prepare_module(llvm::Module& module, const Mitigations& mitigations, bool user_space) {
    module.setTargetTriple(triple);
    if (user_space)
        module.setPICLevel(llvm::PICLevel::BigPIC);
    else
        module.setCodeModel(llvm::CodeModel::Kernel);
    if (mitigations.return_thunks)
        module.addModuleFlag(llvm::Module::Override, "function_return_thunk_extern", 1);
    module.addModuleFlag(llvm::Module::Override, "indirect_branch_cs_prefix", 1);
    if (!user_space)
        module.addModuleFlag(llvm::Module::Error, "override-stack-alignment", 8);
    module.addModuleFlag(llvm::Module::Override, "SkipRaxSetup", 1);
    if (mitigations.landing_pads)
        module.addModuleFlag(llvm::Module::Min, "cf-protection-branch", 1);
}

void prepare_function(llvm::Function& function, const Mitigations& mitigations) {
    if (mitigations.return_thunks)
        function.addFnAttr(llvm::Attribute::FnRetThunkExtern);
    function.addFnAttr("target-cpu", processor);
    function.addFnAttr("tune-cpu", "generic");
    function.addFnAttr("target-features", target_features(mitigations));
}

uint64_t further_in_assembly(const llvm::Function& function) {
    uint64_t count = 0;
    for (const llvm::BasicBlock& block : function)
        for (const llvm::Instruction& instruction : block)
            if (const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction))
                if (const auto* text = llvm::dyn_cast<llvm::InlineAsm>(call->getCalledOperand()))
                    count += llvm::StringRef(text->getAsmString()).count('\n');
    return count;
}

} // namespace djstap::arch
