// SPDX-License-Identifier: GPL-2.0-or-later
// planted-mistake access|race [djstap's options]: runs djstap, but each handler begins with an
// error, for which the script has embedded C code:
//   access  reads the long behind `planted_place`'s 24 bytes
//   race    counts in `planted_count` as if there were no other CPUs; fifty times, as KCSAN
//           watches one of some hundred accesses
// It shows that a sanitizer checks generated code (see compiler/codegen/sanitizer.h).
#include "driver/options.h"
#include "driver/pipeline.h"

#include <cstdio>
#include <cstring>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Module.h>

namespace {

using namespace djstap;

// The names of handlers' bodies (codegen/handlers.cpp), and of the trampolines that contain the
// handlers of direct calls (codegen/trampolines.cpp).
bool is_handler(const llvm::Function& function) {
    return !function.isDeclaration() && (function.getName().starts_with("djs_body_") ||
                                         function.getName().starts_with("djs_direct_"));
}

llvm::Value* variable(llvm::Module& module, const char* name, llvm::Type* type) {
    auto* found = llvm::cast<llvm::GlobalVariable>(module.getOrInsertGlobal(name, type));
    found->setDSOLocal(true);
    return found;
}

void plant_access(llvm::Module& module, llvm::IRBuilder<>& builder) {
    llvm::Value* place = builder.CreateLoad(builder.getPtrTy(),
                                            variable(module, "planted_place", builder.getPtrTy()));
    llvm::Value* behind = builder.CreateConstGEP1_32(builder.getInt8Ty(), place, 24);
    llvm::Value* read = builder.CreateLoad(builder.getInt64Ty(), behind);
    builder.CreateStore(read, variable(module, "planted_count", builder.getInt64Ty()));
}

void plant_race(llvm::Module& module, llvm::IRBuilder<>& builder) {
    constexpr int times = 50;
    llvm::Value* count = variable(module, "planted_count", builder.getInt64Ty());
    auto* nothing = llvm::FunctionType::get(builder.getVoidTy(), false);
    auto* barrier = llvm::InlineAsm::get(nothing, "", "~{memory}", true);
    for (int i = 0; i < times; i++) {
        llvm::Value* read = builder.CreateLoad(builder.getInt64Ty(), count);
        builder.CreateStore(builder.CreateAdd(read, builder.getInt64(1)), count);
        builder.CreateCall(nothing, barrier);
    }
}

} // namespace

int main(int argc, char** argv) {
    const bool access = argc > 1 && !strcmp(argv[1], "access");
    if (!access && (argc < 2 || strcmp(argv[1], "race") != 0)) {
        fprintf(stderr, "usage: planted-mistake access|race [djstap's options]\n");
        return 1;
    }
    driver::ParsedOptions parsed = driver::parse_options({argv + 2, argv + argc});
    if (auto* failure = std::get_if<Failure>(&parsed))
        return driver::refuse(*failure);
    auto options = std::get<driver::Options>(std::move(parsed));
    options.plant = [access](llvm::Module& module) {
        for (llvm::Function& function : module) {
            if (!is_handler(function))
                continue;
            llvm::IRBuilder<> builder(&*function.getEntryBlock().getFirstInsertionPt());
            (access ? plant_access : plant_race)(module, builder);
        }
    };
    return driver::run(std::move(options));
}
