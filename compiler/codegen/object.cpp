#include "codegen/object.h"

#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/IR/DiagnosticHandler.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/TargetParser/Triple.h>

namespace djstap::codegen {

std::unique_ptr<llvm::TargetMachine> make_target_machine(int optimization, bool user_space) {
    static const llvm::Target* target = [] {
        LLVMInitializeX86TargetInfo();
        LLVMInitializeX86Target();
        LLVMInitializeX86TargetMC();
        LLVMInitializeX86AsmPrinter();
        LLVMInitializeX86AsmParser();
        std::string error;
        return llvm::TargetRegistry::lookupTarget("x86_64-pc-linux-gnu", error);
    }();
    if (!target)
        return nullptr;
    auto level = optimization >= 2   ? llvm::CodeGenOptLevel::Default
                 : optimization == 1 ? llvm::CodeGenOptLevel::Less
                                     : llvm::CodeGenOptLevel::None;
    return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
        "x86_64-pc-linux-gnu", "x86-64", "-sse,-sse2,-mmx,-avx,-x87,+soft-float",
        llvm::TargetOptions(), user_space ? llvm::Reloc::PIC_ : llvm::Reloc::Static,
        user_space ? llvm::CodeModel::Small : llvm::CodeModel::Kernel, level));
}

namespace {

// LLVM tells of each frame that is larger than the function's "warn-stack-size".
class FrameListener : public llvm::DiagnosticHandler {
  public:
    explicit FrameListener(std::map<std::string, uint64_t>& frames) : frames_(frames) {}
    bool handleDiagnostics(const llvm::DiagnosticInfo& info) override {
        if (const auto* frame = llvm::dyn_cast<llvm::DiagnosticInfoStackSize>(&info)) {
            frames_[frame->getFunction().getName().str()] = frame->getStackSize();
            return true;
        }
        return false;
    }

  private:
    std::map<std::string, uint64_t>& frames_;
};

} // namespace

std::string compile_object(llvm::Module& module, llvm::TargetMachine& machine, int optimization,
                           std::map<std::string, uint64_t>& frames) {
    module.getContext().setDiagnosticHandler(std::make_unique<FrameListener>(frames));
    for (llvm::Function& function : module)
        if (!function.isDeclaration())
            function.addFnAttr("warn-stack-size", "0");
    llvm::TargetLibraryInfoImpl library(llvm::Triple(module.getTargetTriple()));
    library.disableAllFunctions(); // the kernel is no C library
    if (optimization > 0) {
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
        auto level = optimization == 1 ? llvm::OptimizationLevel::O1 : llvm::OptimizationLevel::O2;
        passes.buildPerModuleDefaultPipeline(level).run(module, modules);
    }
    llvm::SmallVector<char, 0> object;
    llvm::raw_svector_ostream stream(object);
    llvm::legacy::PassManager emission;
    emission.add(new llvm::TargetLibraryInfoWrapperPass(library));
    if (machine.addPassesToEmitFile(emission, stream, nullptr, llvm::CodeGenFileType::ObjectFile))
        return {};
    emission.run(module);
    return {object.begin(), object.end()};
}

} // namespace djstap::codegen
