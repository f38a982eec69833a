// SPDX-License-Identifier: GPL-2.0-or-later
// Reads of memory that may be unmapped, by an instruction of the handler, which the kernel skips if
// it faults: of the kernel's memory, and of the current process's where that is the memory that the
// processor sees. All else is read by the runtime.
#include "codegen/body.h"

#include "codegen/lean.h"
#include "include/script.h"

#include <llvm/IR/MDBuilder.h>

namespace djstap::codegen {

Value narrow(const ScriptModule& script, llvm::IRBuilder<>& builder, Value wide, uint8_t size,
             bool is_signed) {
    const AbiTypes& types = script.types;
    if (size >= 8)
        return wide;
    auto* type = size == 1 ? types.i8 : size == 2 ? types.i16 : types.i32;
    Value small = builder.CreateTrunc(wide, type);
    return is_signed ? builder.CreateSExt(small, types.i64) : builder.CreateZExt(small, types.i64);
}

Value Body::sum_of(Address at) {
    return at.offset ? builder_.CreateAdd(at.base, script_.number(at.offset)) : at.base;
}

// Reads at base + offset; the result is extended to 64 bits.
Value Body::read(Value base, int64_t offset, const NumberRead& what) {
    // A call is a quarter of the code, which counts for scripts with many handlers.
    const bool is_short = ctx_ && script_.makes_code_once;
    if (is_short || !loads_are_inline(script_, what.space)) {
        const char* load = what.space == AddressSpace::User ? "djs_load_user" : "djs_load";
        Value value =
            builder_.CreateCall(script_.runtime(load),
                                {ctx_, sum_of({base, offset}), script_.u32(what.size), what.place});
        check_error();
        return narrow(script_, builder_, value, what.size, what.is_signed);
    }
    if (what.space == AddressSpace::User)
        return read_process(sum_of({base, offset}), what);
    if (offset <= -arch::guarded_span || offset >= arch::guarded_span) {
        base = sum_of({base, offset});
        offset = 0;
    }
    auto *here = block("here"), *elsewhere = block("elsewhere"), *fault = block("fault"),
         *unread = block("unread"), *done = block("read");
    builder_.CreateCondBr(arch::allows_guarded_load(builder_, base), here, elsewhere,
                          llvm::MDBuilder(script_.context).createLikelyBranchWeights());
    begin(here);
    const arch::GuardedLoad loaded =
        arch::guarded_load(builder_, base, offset, what.size, what.is_signed, done, fault);
    begin(elsewhere);
    Value other = read_elsewhere({base, offset}, what, unread);
    auto* from_elsewhere = builder_.GetInsertBlock();
    builder_.CreateBr(done);
    begin(fault);
    builder_.CreateBr(unread);
    begin(unread);
    auto* unread_base = builder_.CreatePHI(script_.types.i64, 2);
    unread_base->addIncoming(loaded.base, fault);
    if (!ctx_)
        unread_base->addIncoming(base, refused_);
    fail_read({unread_base, offset}, what);
    begin(done);
    auto* result = builder_.CreatePHI(script_.types.i64, 2);
    result->addIncoming(loaded.result, here);
    result->addIncoming(other, from_elsewhere);
    return result;
}

// Continues in a new block if the current task's memory is the one that this CPU sees, as
// nmi_uaccess_okay() in the kernel: neither a kernel thread nor the code that changes the CPU's mm
// was hit, nor did an NMI interrupt that.
arch::ProcessMemory Body::process_memory(llvm::BasicBlock* elsewhere) {
    auto offset_of = [&](std::string_view name) { return *script_.kernel.offset(name); };
    auto [symbol, addend] = offset_of("current_task");
    Value task = arch::load_percpu_constant(builder_, script_.types.pointer,
                                            {.symbol = symbol, .offset = addend});
    Value mm = builder_.CreateLoad(
        script_.types.i64,
        builder_.CreateConstGEP1_64(script_.types.i8, task,
                                    static_cast<uint64_t>(offset_of("task_struct.mm").second)));
    auto* place = llvm::cast<llvm::GlobalVariable>(
        script_.module.getOrInsertGlobal("djs_loaded_mm", script_.types.i64));
    place->setDSOLocal(true);
    Value loaded = arch::load_percpu(
        builder_, {.base = builder_.CreateLoad(script_.types.i64, place, "place")});
    auto* here = block("process");
    branch_unlikely(builder_.CreateICmpNE(loaded, mm), elsewhere, here);
    begin(here);
    return {task, offset_of("task_struct.pagefault_disabled").second};
}

Value Body::read_process(Value address, const NumberRead& what) {
    auto *elsewhere = block("elsewhere"), *fault = block("fault"), *done = block("read");
    auto* unread = ctx_ ? nullptr : block("unread");
    const arch::ProcessMemory memory = process_memory(elsewhere);
    auto* here = builder_.GetInsertBlock();
    Value read = arch::process_load(builder_, memory, arch::in_process_half(builder_, address), 0,
                                    what.size, what.is_signed, done, fault);
    begin(fault);
    arch::end_process_load(builder_, memory);
    builder_.CreateBr(elsewhere);
    begin(elsewhere);
    Value other = read_elsewhere({address, 0}, what, unread);
    auto* from_elsewhere = builder_.GetInsertBlock();
    builder_.CreateBr(done);
    if (unread) {
        begin(unread);
        fail_read({address, 0}, what);
    }
    begin(done);
    auto* result = builder_.CreatePHI(script_.types.i64, 2);
    result->addIncoming(read, here);
    result->addIncoming(other, from_elsewhere);
    return result;
}

// Returns the words of a short string of the process, padded.
std::vector<Value> Body::process_words(const program::Call& call) {
    const uint32_t bytes = short_text_bytes(script_, call);
    const uint32_t loads = (bytes + 7) / 8, count = bytes / 8 + 1;
    Value address = number(*call.arguments[0]);
    auto *elsewhere = block("elsewhere"), *fault = block("fault"), *done = block("words");
    const arch::ProcessMemory memory = process_memory(elsewhere);
    Value base = arch::in_process_half(builder_, address);
    std::vector<Value> words;
    std::vector<std::pair<llvm::BasicBlock*, std::vector<Value>>> ways; // to `done`
    auto leave_with = [&](std::vector<Value> complete) {
        complete.resize(count, script_.number(0));
        ways.emplace_back(builder_.GetInsertBlock(), std::move(complete));
    };
    for (uint32_t i = 0; i < loads; i++) {
        auto* loaded = block("loaded");
        Value word =
            arch::process_load(builder_, memory, base, 8 * int64_t{i}, 8, false, loaded, fault);
        begin(loaded);
        if (const uint32_t left = bytes - 8 * i; left < 8)
            word = builder_.CreateAnd(word, script_.number((int64_t{1} << 8 * left) - 1));
        words.push_back(until_end(script_, builder_, word));
        leave_with(words);
        if (i + 1 == loads) {
            builder_.CreateBr(done);
        } else {
            auto* more = block("more");
            builder_.CreateCondBr(continues(builder_, words.back()), more, done);
            begin(more);
        }
    }
    begin(fault);
    arch::end_process_load(builder_, memory);
    builder_.CreateBr(elsewhere);
    begin(elsewhere);
    // A string may end in front of what cannot be read.
    auto* type = llvm::ArrayType::get(script_.types.i64, count);
    Value area = ctx_ ? scratch_text() : entry_alloca(type, "words");
    read_words_elsewhere(call, address, area, bytes);
    words.clear();
    for (uint32_t i = 0; i < count; i++) {
        Value word = builder_.CreateLoad(script_.types.i64,
                                         builder_.CreateConstGEP1_32(script_.types.i64, area, i));
        if (ctx_) {
            word = until_end(script_, builder_, word);
            if (i > 0)
                word = builder_.CreateSelect(continues(builder_, words.back()), word,
                                             script_.number(0));
        }
        words.push_back(word);
    }
    leave_with(words);
    builder_.CreateBr(done);
    begin(done);
    for (uint32_t i = 0; i < count; i++) {
        auto* word = builder_.CreatePHI(script_.types.i64, static_cast<unsigned>(ways.size()));
        for (const auto& [from, complete] : ways)
            word->addIncoming(complete[i], from);
        words[i] = word;
    }
    return words;
}

void Body::read_words_elsewhere(const program::Call& call, Value address, Value words,
                                uint32_t bytes) {
    if (ctx_) {
        builder_.CreateCall(script_.intrinsic(*call.function),
                            {ctx_, words, address, script_.number(bytes)});
        check_error_at(call.range);
        return;
    }
    auto *read = block("words_read"), *refused = block("refused"), *skipped = block("skipped");
    arch::ask_rarely(
        builder_, "djs_load_words_alone",
        {{address}, {builder_.CreatePtrToInt(words, script_.types.i64)}, {script_.u32(bytes)}},
        {read, refused, skipped});
    begin(refused);
    fail_read({address, 0}, {.size = DJS_READ_TEXT,
                             .space = AddressSpace::User,
                             .place = script_.u32(script_.place(call.range))});
    begin(skipped);
    builder_.CreateBr(exit_);
    begin(read);
}

// The value of a function that only reads, in the handler itself.
Value Body::attempted(const program::Call& call, const Attempt& attempt) {
    Value address = number(*call.arguments[0]);
    auto *failed = block("attempt_failed"), *done = block("attempted");
    auto* parameter = entry_alloca(script_.types.i64, "parameter");
    builder_.CreateStore(address, parameter);
    std::vector<Value> outer = std::exchange(locals_, {parameter});
    auto* outer_unread = std::exchange(unread_, failed);
    Value value = number(*attempt.value);
    unread_ = outer_unread;
    locals_ = std::move(outer);
    auto* from = builder_.GetInsertBlock();
    builder_.CreateBr(done);
    begin(failed);
    builder_.CreateBr(done);
    begin(done);
    auto* result = builder_.CreatePHI(script_.types.i64, 2);
    result->addIncoming(value, from);
    result->addIncoming(script_.number(attempt.otherwise), failed);
    return result;
}

// As djs_fn_ppid: 0 if it cannot be read. An idle task's parent may be gone.
Value Body::parent_process() {
    auto offset_of = [&](std::string_view name) { return *script_.kernel.offset(name); };
    auto [symbol, addend] = offset_of("current_task");
    Value task = arch::load_percpu_constant(builder_, script_.types.pointer,
                                            {.symbol = symbol, .offset = addend});
    Value parent = builder_.CreateLoad(
        script_.types.i64, builder_.CreateConstGEP1_64(
                               script_.types.i8, task,
                               static_cast<uint64_t>(offset_of("task_struct.real_parent").second)));
    auto *here = block("parent"), *fault = block("no_parent"), *done = block("ppid");
    branch_unlikely(builder_.CreateNot(arch::allows_guarded_load(builder_, parent)), fault, here);
    begin(here);
    const arch::GuardedLoad loaded = arch::guarded_load(
        builder_, parent, offset_of("task_struct.tgid").second, 4, true, done, fault);
    begin(fault);
    builder_.CreateBr(done);
    begin(done);
    auto* result = builder_.CreatePHI(script_.types.i64, 2);
    result->addIncoming(loaded.result, here);
    result->addIncoming(script_.number(0), fault);
    return result;
}

Value Body::read_elsewhere(Address at, const NumberRead& what, llvm::BasicBlock* unread) {
    const bool of_process = what.space == AddressSpace::User;
    Value value = nullptr;
    if (ctx_) {
        value = builder_.CreateCall(script_.runtime(of_process ? "djs_load_user" : "djs_load"),
                                    {ctx_, sum_of(at), script_.u32(what.size), what.place});
        check_error();
    } else {
        auto *loaded = block("loaded"), *refused = block("refused"), *skipped = block("skipped");
        refused_ = refused;
        const uint32_t which = what.size | (of_process ? DJS_READ_PROCESS : 0);
        value = arch::ask_rarely(builder_, "djs_load_alone",
                                 {{at.base, at.offset}, {script_.u32(which)}},
                                 {loaded, refused, skipped});
        begin(refused);
        builder_.CreateBr(unread);
        begin(skipped);
        builder_.CreateBr(exit_);
        begin(loaded);
    }
    return narrow(script_, builder_, value, what.size, what.is_signed);
}

// Ends the block: goes on as the reader of the value wants, or reports a failed read, or keeps it
// until locks are released.
void Body::fail_read(Address at, const NumberRead& what) {
    if (unread_) {
        builder_.CreateBr(unread_);
        return;
    }
    const bool of_process = what.space == AddressSpace::User;
    auto* bytes = script_.u32(what.size | (of_process ? DJS_READ_PROCESS : 0));
    if (ctx_) {
        builder_.CreateCall(script_.runtime("djs_fail_load"),
                            {ctx_, sum_of(at), bytes, what.place});
    } else if (kept_error_) {
        if (!kept_error_->address) {
            // They are not among slots_, which end with the body: the error is reported later.
            llvm::BasicBlock& entry = function_->getEntryBlock();
            llvm::IRBuilder<> at_entry(&entry, entry.begin());
            kept_error_->address = at_entry.CreateAlloca(script_.types.i64, nullptr, "address");
            kept_error_->size = at_entry.CreateAlloca(script_.types.i32, nullptr, "size");
        }
        builder_.CreateStore(script_.text(unread_message), kept_error_->message);
        builder_.CreateStore(what.place, kept_error_->place);
        builder_.CreateStore(sum_of(at), kept_error_->address);
        builder_.CreateStore(bytes, kept_error_->size);
    } else {
        arch::call_rarely(builder_, "djs_fail_read_alone",
                          {{at.base, at.offset}, {bytes}, {what.place}});
    }
    builder_.CreateBr(error_);
}

} // namespace djstap::codegen
