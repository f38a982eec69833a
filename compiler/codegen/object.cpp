// SPDX-License-Identifier: GPL-2.0-or-later
#include "codegen/object.h"

#include "arch/codegen.h"
#include "codegen/sanitizer.h"
#include "codegen/script_module.h"
#include "include/script.h"

#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/CodeGen/MachineOptimizationRemarkEmitter.h>
#include <llvm/IR/DiagnosticHandler.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/Object/ObjectFile.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/TargetParser/Triple.h>
#include <llvm/Transforms/IPO/GlobalDCE.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>

#include <cstddef>
#include <cstring>

namespace djstap::codegen {

namespace {

// LLVM reports each frame that is larger than the function's "warn-stack-size" and, when a function
// is emitted, its number of instructions.
class SizeListener : public llvm::DiagnosticHandler {
  public:
    explicit SizeListener(FunctionSizes& sizes) : sizes_(sizes) {}
    bool handleDiagnostics(const llvm::DiagnosticInfo& info) override {
        if (const auto* frame = llvm::dyn_cast<llvm::DiagnosticInfoStackSize>(&info)) {
            sizes_[frame->getFunction().getName().str()].frame = frame->getStackSize();
            return true;
        }
        const auto* remark = llvm::dyn_cast<llvm::MachineOptimizationRemarkAnalysis>(&info);
        if (!remark || remark->getRemarkName() != "InstructionCount")
            return false;
        uint64_t count = 0;
        for (const auto& argument : remark->getArgs())
            if (argument.Key == "NumInstructions")
                llvm::StringRef(argument.Val).getAsInteger(10, count);
        sizes_[remark->getFunction().getName().str()].instructions += count;
        return true;
    }

  private:
    FunctionSizes& sizes_;
};

// LLVM's own pipelines look at functions again and again to inline some; this takes a third of
// their time.
llvm::ModulePassManager quick_passes() {
    llvm::FunctionPassManager each;
    each.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
    each.addPass(llvm::EarlyCSEPass(true));
    each.addPass(llvm::SimplifyCFGPass());
    each.addPass(llvm::InstCombinePass());
    each.addPass(llvm::SimplifyCFGPass());
    llvm::ModulePassManager all;
    all.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(each)));
    all.addPass(llvm::GlobalDCEPass());
    return all;
}

} // namespace

std::string compile_object(llvm::Module& module, llvm::TargetMachine& machine, int optimization,
                           bool quick, Sanitizer sanitizer, FunctionSizes& sizes) {
    module.getContext().setDiagnosticHandler(std::make_unique<SizeListener>(sizes));
    for (llvm::Function& function : module)
        if (!function.isDeclaration())
            function.addFnAttr("warn-stack-size", "0");
    llvm::TargetLibraryInfoImpl library(llvm::Triple(module.getTargetTriple()));
    library.disableAllFunctions(); // the kernel is not a C library
    if (optimization > 0 || sanitizer != Sanitizer::None) {
        llvm::LoopAnalysisManager loops;
        llvm::FunctionAnalysisManager functions;
        llvm::CGSCCAnalysisManager components;
        llvm::ModuleAnalysisManager modules;
        llvm::PipelineTuningOptions tuning;
        tuning.LoopVectorization = false;
        tuning.SLPVectorization = false;
        tuning.LoopUnrolling = false;
        llvm::PassBuilder passes(&machine, tuning);
        functions.registerPass([&] { return llvm::TargetLibraryAnalysis(library); });
        passes.registerModuleAnalyses(modules);
        passes.registerCGSCCAnalyses(components);
        passes.registerFunctionAnalyses(functions);
        passes.registerLoopAnalyses(loops);
        passes.crossRegisterProxies(loops, functions, components, modules);
        if (quick)
            quick_passes().run(module, modules);
        else if (optimization > 0)
            passes
                .buildPerModuleDefaultPipeline(optimization == 1 ? llvm::OptimizationLevel::O1
                                                                 : llvm::OptimizationLevel::O2)
                .run(module, modules);
        sanitizer_passes(module, sanitizer).run(module, modules);
    }
    for (const llvm::Function& function : module)
        if (!function.isDeclaration())
            sizes[function.getName().str()].instructions = arch::further_in_assembly(function);
    llvm::SmallVector<char, 0> object;
    llvm::raw_svector_ostream stream(object);
    llvm::legacy::PassManager emission;
    emission.add(new llvm::TargetLibraryInfoWrapperPass(library));
    if (machine.addPassesToEmitFile(emission, stream, nullptr, llvm::CodeGenFileType::ObjectFile))
        return {};
    emission.run(module);
    return {object.begin(), object.end()};
}

bool store_stacks(std::string& object, const std::vector<uint32_t>& stacks) {
    auto file = llvm::object::ObjectFile::createELFObjectFile(
        llvm::MemoryBufferRef(llvm::StringRef(object.data(), object.size()), ""));
    if (!file) {
        llvm::consumeError(file.takeError());
        return false;
    }
    for (const llvm::object::SymbolRef& symbol : (*file)->symbols()) {
        auto name = symbol.getName();
        auto section = symbol.getSection();
        // in a relocatable file: relative to the section's beginning
        auto offset = symbol.getAddress();
        const bool is_table = name && *name == handlers_table && section && offset;
        llvm::consumeError(name.takeError());
        llvm::consumeError(offset.takeError());
        if (!section) {
            llvm::consumeError(section.takeError());
            continue;
        }
        if (!is_table)
            continue;
        auto contents = (**section).getContents();
        if (!contents) {
            llvm::consumeError(contents.takeError());
            return false;
        }
        if (*offset + stacks.size() * sizeof(djs_handler) > contents->size())
            return false;
        const auto begin = static_cast<size_t>(contents->data() - object.data()) + *offset;
        for (size_t i = 0; i < stacks.size(); i++)
            std::memcpy(object.data() + begin + i * sizeof(djs_handler) +
                            offsetof(djs_handler, stack),
                        &stacks[i], sizeof(uint32_t));
        return true;
    }
    return false;
}

} // namespace djstap::codegen
