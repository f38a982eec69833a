// SPDX-License-Identifier: GPL-2.0-or-later
#include "codegen/body.h"

#include "codegen/lean.h"
#include "include/script.h"
#include "semantics/walk.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/MDBuilder.h>

#include <algorithm>
#include <array>

namespace djstap::codegen {

Body::Body(ScriptModule& script, llvm::Function* function, llvm::IRBuilder<>& builder, Value ctx,
           Value scratch, const std::vector<program::Local>& locals, HitContext hit)
    : script_(script), function_(function), builder_(builder), ctx_(ctx), scratch_base_(scratch),
      hit_(std::move(hit)), local_declarations_(locals) {}

void Body::make_locals(const std::vector<program::Local>& locals) {
    constant_texts_.resize(locals.size());
    for (const program::Local& local : locals) {
        if (const program::Expression* literal = constant_texts_[locals_.size()]) {
            locals_.push_back(text(*literal));
        } else if (local.type == program::Type::String) {
            Value text = scratch_text();
            builder_.CreateStore(llvm::ConstantInt::get(script_.types.i8, 0), text);
            locals_.push_back(text);
        } else if (local.type == program::Type::Stack) {
            Value empty = scratch_stack();
            builder_.CreateStore(script_.number(0), empty);
            locals_.push_back(empty);
        } else {
            auto* slot = entry_alloca(script_.types.i64, local.name.c_str());
            builder_.CreateStore(script_.number(0), slot);
            locals_.push_back(slot);
        }
    }
}

void Body::begin_run(const program::Effects& effects) {
    count_actions(effects.loops);
    if (effects.walks)
        builder_.CreateStore(script_.u32(0), field(offsetof(djs_ctx, walked), "walked"));
    if (effects.embedded)
        builder_.CreateStore(script_.u32(0),
                             field(offsetof(djs_ctx, embedded_used), "embedded_used"));
}

void Body::emit_probe(const program::Probe& probe) {
    exit_ = next_ = block("end");
    error_ = outermost_error_ = kept_error_ ? kept_error_->reported : exit_;
    forget_match();
    constant_texts_.resize(local_declarations_.size());
    find_constant_texts(probe);
    make_locals(local_declarations_);
    auto* const skipped = probe.timing ? block("skipped") : exit_; // what is not timed
    if (probe.has_switch) {
        auto* on = block("on");
        Value off = builder_.CreateLoad(script_.types.i32, script_.switch_of(probe), true, "off");
        branch_unlikely(builder_.CreateICmpNE(off, script_.u32(0)), skipped, on);
        begin(on);
    }
    if (probe.condition) {
        auto* enabled = block("enabled");
        builder_.CreateCondBr(condition(*probe.condition), enabled, skipped);
        begin(enabled);
    }
    const auto cycles = [&] { return inline_intrinsic(script_, builder_, "get_cycles"); };
    Value began = probe.timing ? cycles() : nullptr;
    statement(*probe.body);
    settle_actions(probe.body->range);
    jump(exit_);
    begin(exit_);
    if (began) {
        record(*probe.timing, builder_.CreateSub(cycles(), began));
        jump(skipped);
        begin(skipped);
    }
    for (llvm::Function* comparison : comparisons_)
        builder_.CreateCall(comparison, {ctx_});
}

void Body::emit_condition(const program::Expression& expression) {
    exit_ = block("end");
    error_ = next_ = exit_;
    forget_match();
    Value holds = builder_.CreateZExt(condition(expression), script_.types.i64);
    builder_.CreateStore(holds, field(offsetof(djs_ctx, condition), "condition"));
    jump(exit_);
    begin(exit_);
}

void Body::emit_function(const program::Function& function, const std::vector<Value>& arguments,
                         Value text_result) {
    auto* const end = block("end");
    exit_ = settles_at_end(function) ? block("charge") : end;
    error_ = next_ = outermost_error_ = end;
    if (exit_ != end) {
        charged_ = entry_alloca(script_.types.i32, "charged");
        builder_.CreateStore(script_.u32(0), charged_);
    }
    text_result_ = text_result;
    if (function.return_type != program::Type::String)
        number_result_ = entry_alloca(script_.types.i64, "result");
    if (number_result_)
        builder_.CreateStore(script_.number(0), number_result_);
    if (text_result_)
        builder_.CreateStore(llvm::ConstantInt::get(script_.types.i8, 0), text_result_);
    make_locals(function.locals);
    for (uint32_t i = 0; i < function.parameter_count; i++) {
        if (function.locals[i].type == program::Type::String)
            copy_text(locals_[i], arguments[i]);
        else
            builder_.CreateStore(arguments[i], locals_[i]);
    }
    next_ = block("next");
    if (function.body) {
        statement(*function.body);
        settle_actions(function.body->range);
    }
    jump(exit_);
    begin(next_);
    next_overload(function, arguments);
    if (charged_) {
        begin(exit_);
        check_actions(builder_.CreateLoad(script_.types.i32, charged_), function.range);
        jump(end);
    }
    begin(end);
    if (number_result_)
        builder_.CreateRet(builder_.CreateLoad(script_.types.i64, number_result_));
    else
        builder_.CreateRetVoid();
}

// `next` in a function passes the call on to the overload with the next priority.
void Body::next_overload(const program::Function& function, const std::vector<Value>& arguments) {
    if (!function.next_overload) {
        fail(overloads_exhausted, function.range); // the caller knows the place
        return;
    }
    Value result = call_overload(*function.next_overload, arguments, text_result_, function.range,
                                 Caller::Ended);
    if (number_result_)
        builder_.CreateStore(result, number_result_);
    builder_.CreateBr(exit_);
}

// Calls an overload with the parameters' values; returns a number, or `out`. `caller` tells whether
// this function has ended, so that the overload takes its place in scratch memory and among the
// calls that count.
Value Body::call_overload(const program::Function& function, const std::vector<Value>& arguments,
                          Value out, SourceRange range, Caller caller) {
    if (!function.body && function.intrinsic.empty())
        return call_embedded(function, arguments, out, range, caller);
    std::vector<Value> all{ctx_};
    if (out)
        all.push_back(out);
    all.insert(all.end(), arguments.begin(), arguments.end());
    if (!function.body)
        return call_intrinsic(function, all, out, range);
    Value result;
    if (caller == Caller::Ended) {
        calls_.push_back({0, &function, false});
        all.insert(all.begin() + 1, scratch_base_);
        result = builder_.CreateCall(script_.functions.at(&function).function, all);
    } else {
        result = call_body(function, std::move(all));
    }
    check_error();
    return out ? out : result;
}

void Body::emit_entry_values(const program::Probe& probe) {
    const auto& values = probe.entry_values;
    exit_ = block("end");
    error_ = next_ = exit_;
    forget_match(); // no locals are made: none has a value at the entry (entry-local)
    for (uint32_t i = 0; i < values.size(); i++) {
        Value slot = entry_slot(i);
        if (values[i]->type == program::Type::String)
            copy_text(slot, text(*values[i]));
        else
            builder_.CreateStore(number(*values[i]), slot);
    }
    jump(exit_);
    begin(exit_);
    if (!probe.suppresses_errors || !ctx_)
        return;
    // The values are missing, but nothing is reported.
    Value error =
        builder_.CreateLoad(script_.types.pointer, field(offsetof(djs_ctx, error), "error"));
    Value aborted = load_field(offsetof(djs_ctx, aborted), script_.types.i32, "aborted");
    builder_.CreateStore(
        builder_.CreateOr(aborted,
                          builder_.CreateZExt(builder_.CreateIsNotNull(error), script_.types.i32)),
        field(offsetof(djs_ctx, aborted), "aborted"));
}

uint32_t entry_words(const std::vector<program::ExpressionPtr>& values, size_t slot,
                     uint32_t string_bytes) {
    uint32_t words = 0;
    for (size_t i = 0; i < slot; i++)
        words += values[i]->type == program::Type::String ? (string_bytes + 7) / 8 : 1;
    return words;
}

Value Body::entry_slot(uint32_t slot) {
    Value saved = hit_.saved ? hit_.saved
                             : load_field(offsetof(djs_ctx, saved), script_.types.pointer, "saved");
    uint32_t word = entry_words(*hit_.entry_values, slot, script_.string_bytes());
    return builder_.CreateConstGEP1_32(script_.types.i64, saved, word);
}

llvm::BasicBlock* Body::block(const char* name) {
    return llvm::BasicBlock::Create(script_.context, name, function_);
}

void Body::begin(llvm::BasicBlock* next) {
    builder_.SetInsertPoint(next);
}

void Body::jump(llvm::BasicBlock* next) {
    if (!terminated())
        builder_.CreateBr(next);
}

llvm::AllocaInst* Body::entry_alloca(llvm::Type* type, const char* name) {
    llvm::IRBuilder<> at_entry(&function_->getEntryBlock(), function_->getEntryBlock().begin());
    slots_.push_back(at_entry.CreateAlloca(type, nullptr, name));
    return slots_.back();
}

llvm::AllocaInst* Body::key_area(size_t count) {
    llvm::AllocaInst*& area = key_areas_[count];
    if (!area)
        area = entry_alloca(llvm::ArrayType::get(script_.types.i64, count), "keys");
    return area;
}

Value Body::scratch(uint32_t bytes) {
    Value at = builder_.CreateConstGEP1_32(script_.types.i8, scratch_base_, scratch_top_);
    scratch_top_ += (bytes + 7) & ~7u;
    scratch_peak_ = std::max(scratch_peak_, scratch_top_);
    return at;
}

Value Body::field(size_t offset, const char* name) {
    return builder_.CreateConstGEP1_32(script_.types.i8, ctx_, static_cast<unsigned>(offset), name);
}

Value Body::load_field(size_t offset, llvm::Type* type, const char* name) {
    return builder_.CreateLoad(type, field(offset, name), name);
}

void Body::branch_unlikely(Value condition, llvm::BasicBlock* unlikely, llvm::BasicBlock* likely) {
    builder_.CreateCondBr(condition, unlikely, likely,
                          llvm::MDBuilder(script_.context).createUnlikelyBranchWeights());
}

void Body::fail(const std::string& message, SourceRange range) {
    Value text = script_.text(message);
    auto* place = script_.u32(script_.place(range));
    if (ctx_) {
        builder_.CreateCall(script_.runtime("djs_fail"), {ctx_, text, place});
    } else {
        builder_.CreateStore(text, kept_error_->message);
        builder_.CreateStore(place, kept_error_->place);
    }
    builder_.CreateBr(error_);
}

void Body::fail_if(Value condition, const std::string& message, SourceRange range) {
    // A handler that cannot fail keeps no error.
    if (auto* known = llvm::dyn_cast<llvm::ConstantInt>(condition); known && known->isZero())
        return;
    auto *bad = block("fail"), *good = block("checked");
    branch_unlikely(condition, bad, good);
    begin(bad);
    fail(message, range);
    begin(good);
}

void Body::check_error() {
    Value error = load_field(offsetof(djs_ctx, error), script_.types.pointer, "error");
    auto* good = block("no_error");
    branch_unlikely(builder_.CreateIsNotNull(error), error_, good);
    begin(good);
}

void Body::compare_conditions(const program::Probe& probe) {
    for (const program::Probe* other : probe.arms_others)
        comparisons_.push_back(script_.conditions[script_.condition_number(*other)].comparison);
}

// Charges a statement. As in SystemTap, the charge falls due here, ten statements at a time: a
// script that exceeds MAXACTION has then printed the same. It also keeps LLVM's blocks short; LLVM
// takes quadratic time in their length.
void Body::charge_action(SourceRange range, bool now) {
    constexpr int64_t max_pending = 10;
    if (++pending_actions_ >= max_pending || now)
        settle_actions(range);
}

// Settles what was charged since the last time.
void Body::settle_actions(SourceRange range) {
    if (pending_actions_ > 0 && counts_actions_ && !terminated()) {
        auto* charged = script_.u32(static_cast<uint32_t>(pending_actions_));
        if (charged_)
            builder_.CreateStore(
                builder_.CreateAdd(builder_.CreateLoad(script_.types.i32, charged_), charged),
                charged_);
        else
            check_actions(charged, range);
    }
    pending_actions_ = 0;
}

void Body::check_actions(Value charged, SourceRange range) {
    Value at = field(offsetof(djs_ctx, actions), "actions");
    Value left = builder_.CreateSub(builder_.CreateLoad(script_.types.i32, at), charged);
    builder_.CreateStore(left, at);
    auto *spent = block("spent"), *good = block("checked");
    branch_unlikely(builder_.CreateICmpSLE(left, script_.u32(0)), spent, good);
    begin(spent);
    Value more = builder_.CreateCall(script_.runtime("djs_more_actions"),
                                     {ctx_, script_.u32(script_.place(range))});
    builder_.CreateCondBr(builder_.CreateICmpNE(more, script_.u32(0)), good, error_);
    begin(good);
}

namespace {

bool has_try(program::Block& body) {
    bool found = false;
    program::walk_statements(body, [&](const program::Statement& node) {
        found |= node.kind == program::StatementKind::TryCatch;
    });
    return found;
}

} // namespace

// What a function without loops does cannot be seen before it returns, if it only computes a value:
// its charges may fall due together, for a fraction of the code.
bool Body::settles_at_end(const program::Function& function) const {
    const program::Effects& effects = function.effects;
    return counts_actions_ && function.body && !function.next_overload && effects.reads.empty() &&
           effects.writes.empty() && !effects.prints && !effects.loops && !effects.can_exit &&
           !effects.embedded && !has_try(*function.body);
}

} // namespace djstap::codegen
