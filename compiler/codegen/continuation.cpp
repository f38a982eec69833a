#include "codegen/continuation.h"

#include "include/script.h"

#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Intrinsics.h>

#include <algorithm>

namespace djstap::codegen {

namespace {

const char* const second_return = "djs_second_return";

std::string in_section(const std::string& name, const std::string& code) {
    return ".pushsection .kprobes.text,\"ax\",@progbits\n.type " + name + ",@function\n" + name +
           ":\n" + code + ".size " + name + ",.-" + name + "\n.popsection\n";
}

} // namespace

Continuation::Continuation(ScriptModule& script, llvm::IRBuilder<>& builder,
                           llvm::Function* function, uint32_t index)
    : script_(script), builder_(builder), function_(function),
      name_("djs_dispatch_" + std::to_string(index)),
      functions_(script.plan.targets[index].functions) {
    const bool in_module = script.plan.targets[index].in_module;
    if (!in_module && functions_.size() == 1)
        return;
    dispatch_ = code_symbol(name_);
    if (in_module)
        emit_static_call();
    else
        emit_dispatch();
}

llvm::Constant* Continuation::code_symbol(const std::string& name) {
    auto* symbol = script_.module.getOrInsertGlobal(name, script_.types.i8);
    llvm::cast<llvm::GlobalVariable>(symbol)->setDSOLocal(true);
    return symbol;
}

// Where the direct call returns to, which is in rax, tells the function. A search by direct jumps:
// an indirect one would need an endbr64 there, and a return to there would leave the processor's
// return stack out of step.
void Continuation::emit_dispatch() {
    std::vector<uint64_t> functions = functions_;
    std::sort(functions.begin(), functions.end());
    std::string code = script_.kernel.ibt ? "endbr64\n" : "";
    auto search = [&](auto& self, size_t begin, size_t end) -> void {
        if (end - begin == 1) {
            code += "jmp " + script_.kernel_address(functions[begin]) + "\n";
            return;
        }
        size_t middle = begin + (end - begin) / 2;
        std::string label = ".L" + name_ + "_" + std::to_string(middle);
        code +=
            "cmpq $" + script_.kernel_address(functions[middle]) + ", %rax\njae " + label + "\n";
        self(self, begin, middle);
        code += label + ":\n";
        self(self, middle, end);
    };
    search(search, 0, functions.size());
    script_.module.appendModuleInlineAsm(in_section(name_, code));
}

// Where a module's function lies is known when the module is there. The kernel patches the jump of
// a static call's trampoline then (static_call_update): the bytes after it are what it knows one
// by (arch/x86/include/asm/static_call.h; a function of their own for objtool, which looks for a
// way to every instruction). Until then it goes to a function that returns.
void Continuation::emit_static_call() {
    std::string code = script_.kernel.ibt ? "endbr64\n" : "";
    code += "{disp32} jmp djs_not_aimed\n";
    script_.module.appendModuleInlineAsm(in_section(name_, code) +
                                         in_section(name_ + "_end", ".byte 0x0f, 0xb9, 0xcc\n"));
    auto* key = llvm::ArrayType::get(script_.types.i64, DJS_AIM_WORDS);
    aim_ = new llvm::GlobalVariable(script_.module, key, false, llvm::GlobalValue::InternalLinkage,
                                    llvm::ConstantAggregateZero::get(key), name_ + "_aim");
}

// The direct call left its return address on the stack, below that of the function's caller. It is
// not dropped but replaced by the address of a second return: thus each of the processor's return
// predictions but one meets the call that it was made for. The instruction before it belongs to the
// same function, so that a stack trace finds it by the address minus one.
void Continuation::emit_second_return() {
    if (script_.module.getNamedValue(second_return))
        return;
    std::string code = "nop\n" + std::string(second_return) + ":\n";
    if (script_.kernel.ibt)
        code += "endbr64\n";
    code += script_.kernel.return_thunks ? "jmp __x86_return_thunk\n" : "ret\nint3\n";
    script_.module.appendModuleInlineAsm(in_section("djs_leave_function", code));
}

// One instruction: whole, whatever interrupts it.
void Continuation::count(const char* instruction) {
    auto inside = script_.kernel.offset ? script_.kernel.offset("djs_cpu.inside") : std::nullopt;
    if (!inside) {
        script_.diagnostics.report(DiagnosticKind::CodegenInternal, {},
                                   {"the runtime does not tell where djs_cpu.inside is"});
        return;
    }
    auto* type = llvm::FunctionType::get(script_.types.void_type, false);
    builder_.CreateCall(type, llvm::InlineAsm::get(type,
                                                   std::string(instruction) + " %gs:djs_cpu+" +
                                                       std::to_string(inside->second) + "(%rip)",
                                                   "~{memory},~{dirflag},~{fpsr},~{flags}", true));
}

FunctionResult Continuation::call() {
    count("incq");
    llvm::IntegerType* word = script_.types.i64;
    std::vector<llvm::Value*> arguments{function_->getArg(3), function_->getArg(2)};
    for (unsigned other : {0u, 1u, 4u, 5u})
        arguments.push_back(function_->getArg(other));
    const std::string callee = dispatch_ ? name_ : script_.kernel_address(functions_.front());
    llvm::Value* from = llvm::UndefValue::get(word);
    if (functions_.size() > 1)
        from = builder_.CreatePtrToInt(
            builder_.CreateIntrinsic(llvm::Intrinsic::returnaddress, {}, {script_.word(0)}), word);
    arguments.push_back(from);
    std::vector<llvm::Type*> parameters(arguments.size(), word);
    auto* type = llvm::FunctionType::get(
        llvm::StructType::get(script_.context, std::vector<llvm::Type*>(7, word)), parameters,
        false);
    // What a function may change is told as outputs that nobody uses.
    llvm::Value* out = builder_.CreateCall(
        type,
        llvm::InlineAsm::get(
            type, "call " + callee,
            "={ax},={cx},={dx},={di},={si},={r8},={r9},1,2,3,4,5,6,0,~{r10},~{r11},"
            "~{memory},~{dirflag},~{fpsr},~{flags}",
            true),
        arguments);
    return {builder_.CreateExtractValue(out, 0), builder_.CreateExtractValue(out, 2)};
}

void Continuation::leave(const FunctionResult& result) {
    emit_second_return();
    count("decq");
    auto* slot = builder_.CreateIntrinsic(llvm::Intrinsic::addressofreturnaddress,
                                          {script_.types.pointer}, {});
    builder_.CreateStore(code_symbol(second_return), slot, true);
    llvm::Value* values[]{result.rax, result.rdx};
    builder_.CreateAggregateRet(values, 2);
}

} // namespace djstap::codegen
