// SPDX-License-Identifier: GPL-2.0-or-later
#include "codegen/continuation.h"

#include "include/script.h"

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/MDBuilder.h>

#include <algorithm>

namespace djstap::codegen {

namespace {

const char* const second_return = "djs_second_return";
const char* const elsewhere = "djs_elsewhere";

std::string in_section(const std::string& name, const std::string& code) {
    return ".pushsection .kprobes.text,\"ax\",@progbits\n.type " + name + ",@function\n" + name +
           ":\n" + code + ".size " + name + ",.-" + name + "\n.popsection\n";
}

// Continues where the direct call returns to.
void emit_elsewhere(ScriptModule& script) {
    if (script.module.getNamedValue(elsewhere))
        return;
    const arch::Mitigations& mitigations = script.kernel.mitigations;
    // for objtool, because the table refers to it
    script.module.appendModuleInlineAsm(
        in_section(elsewhere, arch::landing_pad_code(mitigations) + arch::go_on_code(mitigations)));
    script.elsewhere = script.code_symbol(elsewhere);
}

} // namespace

llvm::Function* resume_function(ScriptModule& script, llvm::FunctionType* type) {
    const char* name = "djs_resume_function";
    if (llvm::Function* known = script.module.getFunction(name))
        return known;
    script.module.appendModuleInlineAsm(
        in_section(name, arch::resume_code(script.kernel.mitigations)));
    auto* function =
        llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, name, script.module);
    function->setDSOLocal(true);
    function->addParamAttr(Continuation::entry_result, llvm::Attribute::Nest);
    return function;
}

llvm::FunctionType* Continuation::trampoline_type(ScriptModule& script) {
    std::vector<llvm::Type*> parameters(entry_result, script.types.i64);
    parameters.push_back(script.types.pointer); // for "nest"
    return llvm::FunctionType::get(llvm::StructType::get(script.types.i64, script.types.i64),
                                   parameters, false);
}

void Continuation::keep_result(ScriptModule& script, llvm::Function* function) {
    arch::keep_result(*function, entry_result, script.kernel.mitigations);
}

Continuation::Continuation(ScriptModule& script, llvm::IRBuilder<>& builder,
                           llvm::Function* function, uint32_t index)
    : script_(script), builder_(builder), function_(function),
      name_("djs_dispatch_" + std::to_string(index)),
      functions_(script.plan.trampolines[index].functions) {
    emit_elsewhere(script_);
    const bool in_module = script.plan.trampolines[index].in_module;
    if (!in_module && functions_.size() == 1)
        return;
    dispatch_ = script_.code_symbol(name_);
    if (in_module)
        emit_static_call();
    else
        emit_dispatch();
}

// The return address of the direct call identifies the function. It is searched for by direct
// jumps: an indirect one would need a landing pad at its target, and a return to it would put the
// processor's return stack out of step. An address in none of the functions is where a livepatch
// continues.
void Continuation::emit_dispatch() {
    std::vector<uint64_t> functions = functions_;
    std::sort(functions.begin(), functions.end());
    std::string code = arch::landing_pad_code(script_.kernel.mitigations);
    auto search = [&](auto& self, size_t begin, size_t end) -> void {
        if (end - begin == 1) {
            code += arch::go_on_at_code(script_.kernel_address(functions[begin]), elsewhere);
            return;
        }
        size_t middle = begin + (end - begin) / 2;
        std::string label = ".L" + name_ + "_" + std::to_string(middle);
        code += arch::branch_if_not_below_code(script_.kernel_address(functions[middle]), label);
        self(self, begin, middle);
        code += label + ":\n";
        self(self, middle, end);
    };
    search(search, 0, functions.size());
    script_.module.appendModuleInlineAsm(in_section(name_, code));
}

// The address of a module's function is known when the module is loaded. The kernel then patches
// the jump of a static call's trampoline (static_call_update): it recognizes a trampoline by the
// bytes after the jump (a function of their own for objtool, which requires a path to every
// instruction). Until then the jump leads to a function that returns.
void Continuation::emit_static_call() {
    const std::string code = arch::landing_pad_code(script_.kernel.mitigations) +
                             arch::static_jump_code("djs_not_aimed");
    script_.module.appendModuleInlineAsm(in_section(name_, code) +
                                         in_section(name_ + "_end", arch::static_jump_mark()));
    auto* key = llvm::ArrayType::get(script_.types.i64, DJS_AIM_WORDS);
    aim_ = new llvm::GlobalVariable(script_.module, key, false, llvm::GlobalValue::InternalLinkage,
                                    llvm::ConstantAggregateZero::get(key), name_ + "_aim");
}

// The direct call left its return address on the stack, below that of the function's caller. It is
// not dropped but replaced by the address of a second return: each of the processor's return
// predictions but one then matches its call. The instruction before it belongs to the same
// function, so that a stack trace finds the function by the address minus one.
void Continuation::emit_second_return() {
    if (script_.module.getNamedValue(second_return))
        return;
    const arch::Mitigations& mitigations = script_.kernel.mitigations;
    const std::string code = arch::no_op_code() + second_return + ":\n" +
                             arch::landing_pad_code(mitigations) + arch::return_code(mitigations);
    script_.module.appendModuleInlineAsm(in_section("djs_leave_function", code));
}

// A single instruction is atomic with respect to interrupts.
void Continuation::count(int64_t calls) {
    auto inside = script_.kernel.offset ? script_.kernel.offset("djs_cpu.inside") : std::nullopt;
    if (!inside) {
        script_.diagnostics.report(DiagnosticKind::CodegenInternal, {},
                                   {"the runtime does not tell where djs_cpu.inside is"});
        return;
    }
    arch::add_percpu(builder_, {.symbol = "djs_cpu", .offset = inside->second},
                     script_.number(calls), true);
}

FunctionResult Continuation::call_to(const std::string& callee, llvm::Value* result,
                                     llvm::Value* from) {
    std::vector<llvm::Value*> arguments;
    for (unsigned i = 0; i < entry_result; i++)
        arguments.push_back(function_->getArg(i));
    return arch::call_kernel(builder_, callee, arguments, result, from);
}

// Returns whether the direct call returns to the only function that this trampoline serves.
llvm::Value* Continuation::is_expected(llvm::Value* from) {
    if (aim_)
        return builder_.CreateICmpEQ(from, builder_.CreateLoad(script_.types.i64, aim_));
    return arch::is_kernel_address(builder_, from, script_.kernel_address(functions_.front()));
}

llvm::Value* Continuation::return_address() {
    return builder_.CreatePtrToInt(
        builder_.CreateIntrinsic(llvm::Intrinsic::returnaddress, {}, {script_.u32(0)}),
        script_.types.i64);
}

FunctionResult Continuation::call() {
    count(1);
    llvm::IntegerType* word = script_.types.i64;
    llvm::Value* from = return_address();
    llvm::Value* result = builder_.CreatePtrToInt(function_->getArg(entry_result), word);
    if (functions_.size() > 1)
        return call_to(name_, result, from);
    auto block = [&](const char* name) {
        return llvm::BasicBlock::Create(script_.context, name, function_);
    };
    auto *usual = block("function"), *other = block("elsewhere"), *returned = block("returned");
    builder_.CreateCondBr(is_expected(from), usual, other,
                          llvm::MDBuilder(script_.context).createBranchWeights(2000, 1));
    builder_.SetInsertPoint(usual);
    llvm::Value* any = llvm::UndefValue::get(word);
    const FunctionResult of_function =
        call_to(dispatch_ ? name_ : script_.kernel_address(functions_.front()), any, any);
    builder_.CreateBr(returned);
    builder_.SetInsertPoint(other);
    const FunctionResult of_other = call_to(elsewhere, result, from);
    builder_.CreateBr(returned);
    builder_.SetInsertPoint(returned);
    auto either = [&](llvm::Value* first, llvm::Value* second) {
        llvm::PHINode* value = builder_.CreatePHI(word, 2);
        value->addIncoming(first, usual);
        value->addIncoming(second, other);
        return value;
    };
    return {either(of_function.low, of_other.low), either(of_function.high, of_other.high)};
}

void Continuation::leave(const FunctionResult& result) {
    emit_second_return();
    count(-1);
    auto* slot = builder_.CreateIntrinsic(llvm::Intrinsic::addressofreturnaddress,
                                          {script_.types.pointer}, {});
    builder_.CreateStore(script_.code_symbol(second_return), slot, true);
    llvm::Value* values[]{result.low, result.high};
    builder_.CreateAggregateRet(values, 2);
}

} // namespace djstap::codegen
