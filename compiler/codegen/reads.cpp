// SPDX-License-Identifier: GPL-2.0-or-later
// Reads of numbers in memory that may be unmapped: an address of the kernel is read by one
// instruction of the handler, which the kernel skips if it faults; others by the runtime.
#include "codegen/body.h"

#include "arch/codegen.h"
#include "codegen/needs.h"
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
    if (!loads_are_inline(script_, what.space)) {
        const char* load = what.space == AddressSpace::User ? "djs_load_user" : "djs_load";
        Value value =
            builder_.CreateCall(script_.runtime(load),
                                {ctx_, sum_of({base, offset}), script_.u32(what.size), what.place});
        check_error();
        return narrow(script_, builder_, value, what.size, what.is_signed);
    }
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
    builder_.CreateBr(error_);
    begin(done);
    auto* result = builder_.CreatePHI(script_.types.i64, 2);
    result->addIncoming(loaded.result, here);
    result->addIncoming(other, from_elsewhere);
    return result;
}

Value Body::read_elsewhere(Address at, const NumberRead& what, llvm::BasicBlock* unread) {
    Value value = nullptr;
    if (ctx_) {
        value = builder_.CreateCall(script_.runtime("djs_load"),
                                    {ctx_, sum_of(at), script_.u32(what.size), what.place});
        check_error();
    } else {
        auto *loaded = block("loaded"), *refused = block("refused"), *skipped = block("skipped");
        refused_ = refused;
        value = arch::ask_rarely(builder_, "djs_load_alone",
                                 {{at.base, at.offset}, {script_.u32(what.size)}},
                                 {loaded, refused, skipped});
        begin(refused);
        builder_.CreateBr(unread);
        begin(skipped);
        builder_.CreateBr(exit_);
        begin(loaded);
    }
    return narrow(script_, builder_, value, what.size, what.is_signed);
}

// Reports a failed read, or keeps it until locks are released.
void Body::fail_read(Address at, const NumberRead& what) {
    auto* bytes = script_.u32(what.size);
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
}

} // namespace djstap::codegen
