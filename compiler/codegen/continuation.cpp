#include "codegen/continuation.h"

#include "include/script.h"

#include <llvm/IR/InlineAsm.h>
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

// Goes to the address in r11.
void emit_elsewhere(ScriptModule& script) {
    if (script.module.getNamedValue(elsewhere))
        return;
    std::string code = script.kernel.ibt ? "endbr64\n" : ""; // for objtool: the table names it
    code += script.kernel.retpolines ? "jmp __x86_indirect_thunk_r11\n" : "jmp *%r11\n";
    script.module.appendModuleInlineAsm(in_section(elsewhere, code));
    script.elsewhere = script.code_symbol(elsewhere);
}

const char* return_code(const ScriptModule& script) {
    return script.kernel.return_thunks ? "jmp __x86_return_thunk\n" : "ret\nint3\n";
}

} // namespace

llvm::Function* resume_function(ScriptModule& script, llvm::FunctionType* type) {
    const char* name = "djs_resume_function";
    if (llvm::Function* known = script.module.getFunction(name))
        return known;
    script.module.appendModuleInlineAsm(
        in_section(name, std::string("movq %r10, %rax\n") + return_code(script)));
    auto* function =
        llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, name, script.module);
    function->setDSOLocal(true);
    function->addParamAttr(Continuation::entry_rax, llvm::Attribute::Nest);
    return function;
}

llvm::FunctionType* Continuation::target_type(ScriptModule& script) {
    std::vector<llvm::Type*> parameters(entry_rax, script.types.i64);
    parameters.push_back(script.types.pointer); // which "nest" asks for
    return llvm::FunctionType::get(llvm::StructType::get(script.types.i64, script.types.i64),
                                   parameters, false);
}

// r10 is what LLVM passes a "nest" parameter in; nobody has anything in it where a function begins.
void Continuation::keep_rax(ScriptModule& script, llvm::Function* function) {
    std::vector<uint8_t> code;
    if (script.kernel.ibt) {
        code = {0xf3, 0x0f, 0x1e, 0xfa}; // endbr64, before LLVM's own
        function->addFnAttr(llvm::Attribute::NoCfCheck);
    }
    code.insert(code.end(), {0x49, 0x89, 0xc2}); // mov %rax, %r10
    function->setPrologueData(llvm::ConstantDataArray::get(script.context, code));
    function->addParamAttr(entry_rax, llvm::Attribute::Nest);
}

Continuation::Continuation(ScriptModule& script, llvm::IRBuilder<>& builder,
                           llvm::Function* function, uint32_t index)
    : script_(script), builder_(builder), function_(function),
      name_("djs_dispatch_" + std::to_string(index)),
      functions_(script.plan.targets[index].functions) {
    emit_elsewhere(script_);
    const bool in_module = script.plan.targets[index].in_module;
    if (!in_module && functions_.size() == 1)
        return;
    dispatch_ = script_.code_symbol(name_);
    if (in_module)
        emit_static_call();
    else
        emit_dispatch();
}

// Where the direct call returns to, which is in r11, tells the function. A search by direct jumps:
// an indirect one would need an endbr64 there, and a return to there would leave the processor's
// return stack out of step. What is none of the functions is where a livepatch goes on.
void Continuation::emit_dispatch() {
    std::vector<uint64_t> functions = functions_;
    std::sort(functions.begin(), functions.end());
    std::string code = script_.kernel.ibt ? "endbr64\n" : "";
    auto search = [&](auto& self, size_t begin, size_t end) -> void {
        if (end - begin == 1) {
            const std::string address = script_.kernel_address(functions[begin]);
            code += "cmpq $" + address + ", %r11\njne " + elsewhere + "\njmp " + address + "\n";
            return;
        }
        size_t middle = begin + (end - begin) / 2;
        std::string label = ".L" + name_ + "_" + std::to_string(middle);
        code +=
            "cmpq $" + script_.kernel_address(functions[middle]) + ", %r11\njae " + label + "\n";
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
    code += return_code(script_);
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

FunctionResult Continuation::call_to(const std::string& callee, llvm::Value* rax,
                                     llvm::Value* r11) {
    llvm::IntegerType* word = script_.types.i64;
    std::vector<llvm::Value*> arguments;
    for (unsigned argument : {3u, 2u, 0u, 1u, 4u, 5u})
        arguments.push_back(function_->getArg(argument));
    arguments.insert(arguments.end(), {rax, r11});
    std::vector<llvm::Type*> parameters(arguments.size(), word);
    auto* type = llvm::FunctionType::get(
        llvm::StructType::get(script_.context, std::vector<llvm::Type*>(8, word)), parameters,
        false);
    // What a function may change is told as outputs that nobody uses.
    llvm::Value* out = builder_.CreateCall(
        type,
        llvm::InlineAsm::get(type, "call " + callee,
                             "={ax},={cx},={dx},={di},={si},={r8},={r9},={r11},1,2,3,4,5,6,0,7,"
                             "~{r10},~{memory},~{dirflag},~{fpsr},~{flags}",
                             true),
        arguments);
    return {builder_.CreateExtractValue(out, 0), builder_.CreateExtractValue(out, 2)};
}

// Whether the direct call returns to the one function that this is for.
llvm::Value* Continuation::is_expected(llvm::Value* from) {
    if (aim_)
        return builder_.CreateICmpEQ(from, builder_.CreateLoad(script_.types.i64, aim_));
    auto* type = llvm::FunctionType::get(script_.types.i32, {script_.types.i64}, false);
    const std::string code = "cmpq $$" + script_.kernel_address(functions_.front()) + ", $1";
    llvm::Value* same = builder_.CreateCall(
        type, llvm::InlineAsm::get(type, code, "={@ccz},r,~{dirflag},~{fpsr},~{flags}", true),
        {from});
    return builder_.CreateIsNotNull(same);
}

llvm::Value* Continuation::return_address() {
    return builder_.CreatePtrToInt(
        builder_.CreateIntrinsic(llvm::Intrinsic::returnaddress, {}, {script_.word(0)}),
        script_.types.i64);
}

FunctionResult Continuation::call() {
    count("incq");
    llvm::IntegerType* word = script_.types.i64;
    llvm::Value* from = return_address();
    llvm::Value* rax = builder_.CreatePtrToInt(function_->getArg(entry_rax), word);
    if (functions_.size() > 1)
        return call_to(name_, rax, from);
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
    const FunctionResult of_other = call_to(elsewhere, rax, from);
    builder_.CreateBr(returned);
    builder_.SetInsertPoint(returned);
    auto either = [&](llvm::Value* first, llvm::Value* second) {
        llvm::PHINode* value = builder_.CreatePHI(word, 2);
        value->addIncoming(first, usual);
        value->addIncoming(second, other);
        return value;
    };
    return {either(of_function.rax, of_other.rax), either(of_function.rdx, of_other.rdx)};
}

void Continuation::leave(const FunctionResult& result) {
    emit_second_return();
    count("decq");
    auto* slot = builder_.CreateIntrinsic(llvm::Intrinsic::addressofreturnaddress,
                                          {script_.types.pointer}, {});
    builder_.CreateStore(script_.code_symbol(second_return), slot, true);
    llvm::Value* values[]{result.rax, result.rdx};
    builder_.CreateAggregateRet(values, 2);
}

} // namespace djstap::codegen
