// SPDX-License-Identifier: GPL-2.0-or-later
// Functions of code that the compiler emits, loaded into this process. The base of per-CPU memory
// is 0 here, so that its places are plain memory.
#pragma once
#include "arch/codegen.h"
#include "machine_code.h"

#include <dlfcn.h>
#include <functional>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

namespace djstap::arch {

class Emitted : public testing::Test {
  protected:
    using Values = std::vector<llvm::Value*>;
    static constexpr Mitigations no_mitigations{false, false, false};

    Emitted() { prepare_module(module_, no_mitigations, true); }
    ~Emitted() override {
        if (library_)
            dlclose(library_);
    }

    // Adds a function of numbers that returns a number or a bool.
    void add(const std::string& name, size_t parameters,
             const std::function<llvm::Value*(const Values&)>& body) {
        llvm::Function* const function = declare(name, of_numbers(parameters));
        Values values;
        for (llvm::Argument& argument : function->args())
            values.push_back(&argument);
        builder_.SetInsertPoint(llvm::BasicBlock::Create(context_, "", function));
        finish(body(values));
    }
    // A block of the function that is added.
    llvm::BasicBlock* block() {
        return llvm::BasicBlock::Create(context_, "", builder_.GetInsertBlock()->getParent());
    }
    void finish(llvm::Value* value) {
        builder_.CreateRet(builder_.CreateZExt(value, builder_.getInt64Ty()));
    }
    llvm::Value* number(int64_t value) { return builder_.getInt64(static_cast<uint64_t>(value)); }

    // Compiles and loads all of them.
    void load() {
        std::string problems;
        llvm::raw_string_ostream stream(problems);
        ASSERT_FALSE(llvm::verifyModule(module_, &stream)) << problems;
        const auto machine = make_target_machine(2, true);
        ASSERT_TRUE(machine);
        module_.setDataLayout(machine->createDataLayout());
        llvm::SmallVector<char, 0> object;
        llvm::raw_svector_ostream out(object);
        llvm::legacy::PassManager passes;
        ASSERT_FALSE(
            machine->addPassesToEmitFile(passes, out, nullptr, llvm::CodeGenFileType::ObjectFile));
        passes.run(module_);
        auto folder = TemporaryFolder::create(temporary_directory());
        ASSERT_TRUE(folder);
        const std::string file = folder->file("code.o"), library = folder->file("code.so");
        ASSERT_TRUE(write_file(file, std::string_view(object.data(), object.size())));
        const auto linked =
            run_program({"ld", "-shared", "-z", "noexecstack", "-o", library, file});
        ASSERT_TRUE(linked && linked->status == 0) << linked->output;
        library_ = dlopen(library.c_str(), RTLD_NOW);
        ASSERT_TRUE(library_) << dlerror();
    }
    template <class Result = uint64_t, class... Numbers>
    Result call(const std::string& name, Numbers... numbers) {
        using Function = uint64_t (*)(std::conditional_t<true, uint64_t, Numbers>...);
        void* const found = dlsym(library_, name.c_str());
        if (!found) {
            ADD_FAILURE() << "no function " << name;
            return {};
        }
        return static_cast<Result>(
            reinterpret_cast<Function>(found)(static_cast<uint64_t>(numbers)...));
    }
    void* symbol(const std::string& name) { return dlsym(library_, name.c_str()); }

    llvm::FunctionType* of_numbers(size_t parameters) {
        return llvm::FunctionType::get(builder_.getInt64Ty(),
                                       std::vector<llvm::Type*>(parameters, builder_.getInt64Ty()),
                                       false);
    }
    llvm::Function* declare(const std::string& name, llvm::FunctionType* type) {
        auto* function =
            llvm::Function::Create(type, llvm::Function::ExternalLinkage, name, module_);
        // As in the kernel: what is below the stack pointer is nobody's.
        function->addFnAttr(llvm::Attribute::NoRedZone);
        prepare_function(*function, no_mitigations);
        return function;
    }

    llvm::LLVMContext context_;
    llvm::Module module_{"test", context_};
    llvm::IRBuilder<> builder_{context_};

  private:
    void* library_ = nullptr;
};

} // namespace djstap::arch
