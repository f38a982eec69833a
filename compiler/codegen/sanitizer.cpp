// SPDX-License-Identifier: GPL-2.0-or-later
#include "codegen/sanitizer.h"

#include <llvm/Support/CommandLine.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Transforms/Instrumentation/AddressSanitizer.h>
#include <llvm/Transforms/Instrumentation/ThreadSanitizer.h>

namespace djstap::codegen {

namespace {

// Sets what the passes read only from LLVM's command line, once per process; false: this LLVM does
// not support it.
bool set_command_line() {
    static const bool done = [] {
        const char* arguments[] = {
            "djstap", "-asan-stack=0", "-asan-globals=0",
            // One access that reads and writes counts as one.
            "-tsan-compound-read-before-write=1", "-tsan-distinguish-volatile=1",
            "-tsan-instrument-func-entry-exit=0", "-tsan-instrument-memintrinsics=0"};
        std::string ignored; // without a stream for errors it would end the process
        llvm::raw_string_ostream stream(ignored);
        return llvm::cl::ParseCommandLineOptions(std::size(arguments), arguments, "", &stream);
    }();
    return done;
}

} // namespace

llvm::ModulePassManager sanitizer_passes(llvm::Module& module, Sanitizer sanitizer) {
    llvm::ModulePassManager passes;
    if (sanitizer == Sanitizer::None || !set_command_line())
        return passes;
    const auto attribute = sanitizer == Sanitizer::Address ? llvm::Attribute::SanitizeAddress
                                                           : llvm::Attribute::SanitizeThread;
    for (llvm::Function& function : module)
        if (!function.isDeclaration() && !function.hasFnAttribute(llvm::Attribute::Naked))
            function.addFnAttr(attribute);
    if (sanitizer == Sanitizer::Thread) {
        passes.addPass(llvm::createModuleToFunctionPassAdaptor(llvm::ThreadSanitizerPass()));
        return passes;
    }
    llvm::AddressSanitizerOptions options;
    options.CompileKernel = true;
    options.Recover = true;
    options.UseAfterReturn = llvm::AsanDetectStackUseAfterReturnMode::Never;
    // calls, whatever the layout of the kernel's shadow memory
    options.InstrumentationWithCallsThreshold = 0;
    options.InsertVersionCheck = false;
    passes.addPass(llvm::AddressSanitizerPass(options, false, false, llvm::AsanDtorKind::None,
                                              llvm::AsanCtorKind::None));
    return passes;
}

} // namespace djstap::codegen
