// SPDX-License-Identifier: GPL-2.0-or-later
#include "codegen/lean.h"

#include "arch/codegen.h"
#include "codegen/needs.h"
#include "include/record.h"
#include "include/script.h"

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/MDBuilder.h>

#include <algorithm>
#include <array>

namespace djstap::codegen {

using program::ExpressionKind;

namespace {

struct TaskField {
    std::string_view intrinsic;
    std::string_view offset;
};
constexpr std::array task_fields{TaskField{"pid", "task_struct.tgid"},
                                 TaskField{"tid", "task_struct.pid"}};
// In the credentials of the current task, which nobody else replaces.
constexpr std::array credentials{TaskField{"uid", "cred.uid"}, TaskField{"euid", "cred.euid"},
                                 TaskField{"gid", "cred.gid"}, TaskField{"egid", "cred.egid"}};
constexpr std::string_view credentials_of_task = "task_struct.cred";

} // namespace

// ---- intrinsics without a call ------------------------------------------------------------------

bool has_inline_intrinsic(const ScriptModule& script, const std::string& name) {
    auto known = [&](std::string_view offset) {
        return script.kernel.offset && script.kernel.offset(offset).has_value();
    };
    if (name == "cpu")
        return known("cpu_number");
    if (name == "get_cycles" || name == "target")
        return true;
    if (name == "task_current")
        return known("current_task");
    if (name == "stp_pid")
        return !script.kernel.user_space;
    for (const TaskField& field : task_fields)
        if (field.intrinsic == name)
            return known("current_task") && known(field.offset);
    for (const TaskField& field : credentials)
        if (field.intrinsic == name)
            return known("current_task") && known(credentials_of_task) && known(field.offset);
    return false;
}

bool is_parent(const ScriptModule& script, const program::Call& call) {
    auto known = [&](std::string_view offset) {
        return script.kernel.offset && script.kernel.offset(offset).has_value();
    };
    return call.function->intrinsic == "ppid" && loads_are_inline(script, AddressSpace::Kernel) &&
           known("current_task") && known("task_struct.real_parent") && known("task_struct.tgid");
}

bool has_inline_fields(const ScriptModule& script) {
    return (!script.records(DJS_EVENT_PID) || has_inline_intrinsic(script, "pid")) &&
           (!script.records(DJS_EVENT_TID) || has_inline_intrinsic(script, "tid"));
}

llvm::Value* inline_intrinsic(ScriptModule& script, llvm::IRBuilder<>& builder,
                              const std::string& name) {
    if (!has_inline_intrinsic(script, name))
        return nullptr;
    if (name == "get_cycles")
        return builder.CreateIntrinsic(llvm::Intrinsic::readcyclecounter, {}, {});
    if (name == "target" || name == "stp_pid") {
        const char* variable = name == "target" ? "djs_traced_pid" : "djs_reader_pid";
        auto* process = script.module.getOrInsertGlobal(variable, script.types.i32);
        llvm::cast<llvm::GlobalVariable>(process)->setDSOLocal(!script.kernel.user_space ||
                                                               script.kernel.injected);
        return builder.CreateSExt(builder.CreateLoad(script.types.i32, process), script.types.i64);
    }
    auto percpu = [&](std::string_view what, llvm::Type* type) {
        auto [symbol, addend] = *script.kernel.offset(what);
        return arch::load_percpu_constant(builder, type, {.symbol = symbol, .offset = addend});
    };
    if (name == "cpu")
        return builder.CreateZExt(percpu("cpu_number", script.types.i32), script.types.i64);
    if (name == "task_current")
        return builder.CreatePtrToInt(percpu("current_task", script.types.pointer),
                                      script.types.i64);
    auto field_at = [&](llvm::Value* structure, std::string_view field, llvm::Type* type) {
        auto offset = static_cast<unsigned>(script.kernel.offset(field)->second);
        return builder.CreateLoad(type,
                                  builder.CreateConstGEP1_32(script.types.i8, structure, offset));
    };
    for (const TaskField& field : task_fields) {
        if (field.intrinsic != name)
            continue;
        llvm::Value* task = percpu("current_task", script.types.pointer);
        auto* id = field_at(task, field.offset, script.types.i32);
        // Below PID_MAX_LIMIT, so a search need not ask whether it is -1.
        llvm::MDBuilder metadata(script.context);
        id->setMetadata(llvm::LLVMContext::MD_range,
                        metadata.createRange(llvm::APInt(32, 0), llvm::APInt(32, 1u << 31)));
        return builder.CreateSExt(id, script.types.i64);
    }
    for (const TaskField& field : credentials) {
        if (field.intrinsic != name)
            continue;
        llvm::Value* task = percpu("current_task", script.types.pointer);
        auto* held = field_at(task, credentials_of_task, script.types.pointer);
        return builder.CreateZExt(field_at(held, field.offset, script.types.i32), script.types.i64);
    }
    return nullptr;
}

bool is_task_name(const ScriptModule& script, const program::Expression& expression) {
    if (expression.kind != ExpressionKind::Call ||
        program::as<program::Call>(expression).function->intrinsic != "execname" ||
        !script.kernel.offset || script.string_bytes() < DJS_NAME_BYTES)
        return false;
    const auto length = script.kernel.offset("task_comm_len");
    return length && length->second == DJS_NAME_BYTES && script.kernel.offset("current_task") &&
           script.kernel.offset("task_struct.comm");
}

llvm::Value* task_name(ScriptModule& script, llvm::IRBuilder<>& builder) {
    auto [symbol, addend] = *script.kernel.offset("current_task");
    llvm::Value* task = arch::load_percpu_constant(builder, script.types.pointer,
                                                   {.symbol = symbol, .offset = addend});
    return builder.CreateConstGEP1_32(
        script.types.i8, task,
        static_cast<unsigned>(script.kernel.offset("task_struct.comm")->second));
}

bool is_padded_text(const ScriptModule& script, const std::string* function,
                    const program::Expression& expression) {
    if (expression.kind == ExpressionKind::Text || is_task_name(script, expression) ||
        short_process_text(script, expression))
        return true;
    if (!function || expression.kind != ExpressionKind::Call)
        return false;
    const std::string& name = program::as<program::Call>(expression).function->intrinsic;
    return name == "probefunc" || name == "ppfunc";
}

// As before_end (runtime/text/words.h).
llvm::Value* until_end(const ScriptModule& script, llvm::IRBuilder<>& builder, llvm::Value* word) {
    llvm::Value* ends = builder.CreateAnd(
        builder.CreateAnd(builder.CreateSub(word, script.number(0x0101010101010101)),
                          builder.CreateNot(word)),
        script.number(static_cast<int64_t>(0x8080808080808080)));
    llvm::Value* first = builder.CreateAnd(ends, builder.CreateNeg(ends));
    llvm::Value* before = builder.CreateSub(builder.CreateLShr(first, 7), script.number(1));
    return builder.CreateAnd(word, before);
}

llvm::Value* continues(llvm::IRBuilder<>& builder, llvm::Value* word) {
    return builder.CreateICmpNE(builder.CreateLShr(word, 56), builder.getInt64(0));
}

// The kernel does not clear what follows a name's end.
std::array<llvm::Value*, 2> task_name_words(ScriptModule& script, llvm::IRBuilder<>& builder) {
    static_assert(DJS_NAME_BYTES == 16);
    llvm::Value* name = task_name(script, builder);
    std::array<llvm::Value*, 2> words{};
    for (unsigned i = 0; i < words.size(); i++) {
        llvm::Value* word = builder.CreateAlignedLoad(
            script.types.i64, builder.CreateConstGEP1_32(script.types.i8, name, 8 * i),
            llvm::Align(8), true);
        if (i == 1) // whatever another task may be writing there
            word = builder.CreateAnd(word, script.number(INT64_MAX >> 7));
        words[i] = until_end(script, builder, word);
    }
    return words;
}

// ---- strings of the process ---------------------------------------------------------------------

const program::Call* short_process_text(const ScriptModule& script,
                                        const program::Expression& expression) {
    if (expression.kind != ExpressionKind::Call || !loads_are_inline(script, AddressSpace::User))
        return nullptr;
    const auto& call = program::as<program::Call>(expression);
    if (call.function->intrinsic != "user_string_n" ||
        call.arguments[1]->kind != ExpressionKind::Number)
        return nullptr;
    constexpr int64_t most = 32; // each word is read by code of its own
    const int64_t bytes = program::as<program::Number>(*call.arguments[1]).value;
    return bytes > 0 && bytes <= most ? &call : nullptr;
}

uint32_t short_text_bytes(const ScriptModule& script, const program::Call& call) {
    const auto bytes =
        static_cast<uint32_t>(program::as<program::Number>(*call.arguments[1]).value);
    return std::min<uint32_t>(bytes, script.string_bytes() - 1);
}

// ---- the record path ----------------------------------------------------------------------------

bool LeanRecorder::possible(const ScriptModule& script) {
    constexpr std::array wanted{"djs_cpu.head", "djs_cpu.limit", "djs_cpu.data", "djs_cpu.mask"};
    if (!script.kernel.offset ||
        (!script.kernel.injected &&
         !(script.kernel.offset("preempt_count") && script.kernel.offset("preempt_count_bytes"))))
        return false;
    return std::all_of(wanted.begin(), wanted.end(),
                       [&](const char* name) { return script.kernel.offset(name).has_value(); });
}

// The rare cases are called with all registers preserved, so that the handler saves none for them.
llvm::CallInst* call_slow(ScriptModule& script, llvm::IRBuilder<>& builder, const char* name,
                          const char* runtime_name, llvm::ArrayRef<llvm::Value*> arguments) {
    return call_slow(script, builder, name, script.runtime(runtime_name), arguments);
}

llvm::CallInst* call_slow(ScriptModule& script, llvm::IRBuilder<>& builder, llvm::StringRef name,
                          llvm::Function* callee, llvm::ArrayRef<llvm::Value*> arguments) {
    auto* function = script.module.getFunction(name);
    if (!function) {
        function = script.create_function(callee->getFunctionType(), name.str());
        function->setCallingConv(llvm::CallingConv::PreserveMost);
        function->addFnAttr(llvm::Attribute::NoInline);
        function->addFnAttr(llvm::Attribute::Cold);
        llvm::IRBuilder<> inside(llvm::BasicBlock::Create(script.context, "entry", function));
        script.set_attributes(function);
        std::vector<llvm::Value*> passed;
        for (llvm::Argument& argument : function->args())
            passed.push_back(&argument);
        // In front of all handlers: the overload check takes an address between two handlers for
        // one of the first of them (owner_of_code), and this runs for whichever called it.
        function->removeFromParent();
        script.module.getFunctionList().push_front(function);
        llvm::Value* value = inside.CreateCall(callee, passed);
        if (value->getType()->isVoidTy())
            inside.CreateRetVoid();
        else
            inside.CreateRet(value);
    }
    llvm::CallInst* call = builder.CreateCall(function, arguments);
    call->setCallingConv(llvm::CallingConv::PreserveMost);
    return call;
}

void check_gate(ScriptModule& script, llvm::IRBuilder<>& builder, llvm::BasicBlock* closed,
                uint32_t flags) {
    auto* gate = llvm::cast<llvm::GlobalVariable>(
        script.module.getOrInsertGlobal("djs_gate", script.types.i32));
    gate->setDSOLocal(true);
    llvm::Value* closing =
        builder.CreateAnd(builder.CreateLoad(script.types.i32, gate, true), script.u32(flags));
    llvm::Value* shut = builder.CreateICmpNE(closing, script.u32(0));
    auto* open =
        llvm::BasicBlock::Create(script.context, "open", builder.GetInsertBlock()->getParent());
    builder.CreateCondBr(shut, closed, open,
                         llvm::MDBuilder(script.context).createUnlikelyBranchWeights());
    builder.SetInsertPoint(open);
}

bool knows_interrupts(const ScriptModule& script) {
    return script.kernel.offset && script.kernel.offset("preempt_count") &&
           script.kernel.offset("preempt_mask_interrupt");
}

llvm::Value* is_in_interrupt(ScriptModule& script, llvm::IRBuilder<>& builder) {
    auto [symbol, addend] = *script.kernel.offset("preempt_count");
    const auto mask = script.kernel.offset("preempt_mask_interrupt")->second;
    return arch::has_percpu_bits(builder, static_cast<uint32_t>(mask),
                                 {.symbol = symbol, .offset = addend});
}

// The bit says that at least as much of a task's stack is left, whatever its size; an interrupt's
// stack begins at any address.
void check_stack(ScriptModule& script, llvm::IRBuilder<>& builder, llvm::BasicBlock* skipped) {
    constexpr uint32_t ample = 8192;
    static_assert(ample >= DJS_FAULT_STACK);
    auto block = [&](const char* name) {
        return llvm::BasicBlock::Create(script.context, name,
                                        builder.GetInsertBlock()->getParent());
    };
    auto *task = block("ample"), *ask = block("ask"), *enough = block("enough");
    llvm::MDNode* rarely = llvm::MDBuilder(script.context).createUnlikelyBranchWeights();
    builder.CreateCondBr(arch::has_zero_stack_bits(builder, ample), ask, task, rarely);
    builder.SetInsertPoint(task);
    builder.CreateCondBr(is_in_interrupt(script, builder), ask, enough, rarely);
    builder.SetInsertPoint(ask);
    arch::branch_rarely(builder, "djs_lacks_stack", {{script.u32(DJS_FAULT_STACK)}}, enough,
                        skipped);
    builder.SetInsertPoint(enough);
}

// In newer kernels the counter has 64 bits, the uppermost of which is set while nothing is due.
static unsigned preempt_count_bytes(const ScriptModule& script) {
    return static_cast<unsigned>(script.kernel.offset("preempt_count_bytes")->second);
}

void LeanRecorder::enter(llvm::BasicBlock* closed) {
    check_gate(script_, builder_, closed);
    if (script_.kernel.injected) // a thread keeps its slot
        return;
    auto [symbol, addend] = *script_.kernel.offset("preempt_count");
    arch::disable_preemption(builder_, {.symbol = symbol, .offset = addend},
                             preempt_count_bytes(script_));
}

void LeanRecorder::leave() {
    if (script_.kernel.injected)
        return;
    auto [symbol, addend] = *script_.kernel.offset("preempt_count");
    llvm::Value* due = arch::enable_preemption(builder_, {.symbol = symbol, .offset = addend},
                                               preempt_count_bytes(script_));
    auto* reschedule = llvm::BasicBlock::Create(script_.context, "reschedule", function_);
    auto* done = llvm::BasicBlock::Create(script_.context, "done", function_);
    builder_.CreateCondBr(due, reschedule, done,
                          llvm::MDBuilder(script_.context).createUnlikelyBranchWeights());
    builder_.SetInsertPoint(reschedule);
    call_slow(script_, builder_, "djs_slow_reschedule", "djs_reschedule", {});
    builder_.CreateBr(done);
    builder_.SetInsertPoint(done);
}

// Operands are memory operands if possible, and values are short-lived: each additional register
// must be saved and restored.
llvm::Value* LeanRecorder::reserve(uint32_t format, uint32_t size, llvm::BasicBlock* none) {
    auto block = [&](const char* name) {
        return llvm::BasicBlock::Create(script_.context, name, function_);
    };
    auto ring = [&](const char* field) {
        return arch::PercpuPlace{
            .symbol = "djs_cpu",
            .offset = script_.kernel.offset(std::string("djs_cpu.") + field)->second};
    };
    llvm::MDBuilder weights(script_.context);
    auto *attempt = block("attempt"), *fits = block("fits"), *full = block("full"),
         *reserved = block("reserved");
    builder_.CreateBr(attempt);

    // The time is read between the two accesses to the head: an interrupt before the read gets the
    // earlier place and time, and one after it moves the head, so that the exchange fails and is
    // retried.
    builder_.SetInsertPoint(attempt);
    llvm::Value* head = arch::load_percpu(builder_, ring("head"));
    llvm::Value* time = arch::read_clock(builder_);
    llvm::Value* next = builder_.CreateAdd(head, script_.number(size));
    llvm::Value* beyond =
        arch::compare_percpu(builder_, llvm::CmpInst::ICMP_UGT, next, ring("limit"));
    builder_.CreateCondBr(beyond, full, fits, weights.createUnlikelyBranchWeights());

    builder_.SetInsertPoint(full);
    llvm::Value* made =
        call_slow(script_, builder_, "djs_slow_room", "djs_make_room", {script_.u32(size)});
    builder_.CreateCondBr(builder_.CreateICmpNE(made, script_.u32(0)), attempt, none);

    builder_.SetInsertPoint(fits);
    const arch::Exchange outcome = arch::exchange_percpu(builder_, ring("head"), head, next);
    builder_.CreateCondBr(outcome.done, reserved, attempt, weights.createLikelyBranchWeights());

    builder_.SetInsertPoint(reserved);
    llvm::Value* place = arch::wrap_percpu(builder_, outcome.old, ring("mask"), ring("data"));
    llvm::Value* record = builder_.CreateIntToPtr(place, script_.types.pointer, "record");
    auto field = [&](size_t at) {
        return builder_.CreateConstGEP1_32(script_.types.i8, record, static_cast<unsigned>(at));
    };
    if (script_.kernel.injected)
        builder_.CreateStore(script_.u32(size | DJS_RECORD_IN_FLIGHT),
                             field(offsetof(djs_record, size)));
    builder_.CreateStore(script_.u32(format), field(offsetof(djs_record, id)));
    if (script_.kernel.injected) // the size is there before anything else, also for signals
        builder_.CreateFence(llvm::AtomicOrdering::Release, llvm::SyncScope::SingleThread);
    arch::store_clock(builder_, time, field(offsetof(djs_record, time)));
    return record;
}

void LeanRecorder::commit(llvm::Value* record, uint32_t size) {
    builder_.CreateAlignedStore(script_.u32(size), record, llvm::Align(4))
        ->setAtomic(llvm::AtomicOrdering::Release);
}

} // namespace djstap::codegen
