// SPDX-License-Identifier: GPL-2.0-or-later
#include "codegen/body.h"

#include "arch/codegen.h"
#include "codegen/lean.h"
#include "include/script.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/Intrinsics.h>

namespace djstap::codegen {

using Kind = GlobalStorage::Kind;
using program::Type;

// One instruction on this CPU's memory: atomic with respect to interrupts, and without a lock.
void Body::add_to_counter(const program::GlobalValue& counted, Value delta) {
    const uint32_t counter = script_.storage(*counted.global).index;
    arch::PercpuPlace place;
    if (script_.kernel.user_space &&
        !script_.kernel.injected) { // too far away for an offset from the instruction
        place.base = script_.counter_address(counter);
    } else {
        place.symbol = "djs_counters";
        place.offset = 8 * counter;
    }
    arch::add_percpu(builder_, place, delta, false);
}

Value Body::map(const program::Global& array) {
    return builder_.CreateLoad(script_.types.pointer, script_.storage(array).variable, "map");
}

// Returns an array of union djs_value on the stack. `fixed` (may be null) gets a bit for each key
// that is not *. Strings that `stay` are copied for the whole statement.
Value Body::keys(const program::Global& array,
                 const std::vector<program::ExpressionPtr>& expressions, uint32_t* fixed,
                 bool stay) {
    auto* type = llvm::ArrayType::get(script_.types.i64, expressions.size());
    std::vector<Value> values;
    std::vector<program::Expression*> all;
    for (const auto& expression : expressions)
        all.push_back(expression.get());
    for (size_t i = 0; i < expressions.size(); i++) {
        if (!expressions[i]) {
            values.push_back(nullptr);
            continue;
        }
        if (fixed)
            *fixed |= 1u << i;
        if (array.keys[i] == Type::Stack) {
            values.push_back(builder_.CreatePtrToInt(stack(*expressions[i]), script_.types.i64));
            continue;
        }
        if (array.keys[i] != Type::String) {
            values.push_back(number(*expressions[i]));
            continue;
        }
        Value key = stay ? scratch_text() : nullptr;
        if (stay)
            text_into(key, *expressions[i]);
        else if (is_padded(*expressions[i])) {
            PaddedText padded = padded_text(*expressions[i]);
            store_words(padded);
            key = padded.address;
        } else
            key = text_in_place(*expressions[i], all);
        values.push_back(builder_.CreatePtrToInt(key, script_.types.i64));
    }
    auto* area = stay ? entry_alloca(type, "keys") : key_area(expressions.size());
    for (size_t i = 0; i < values.size(); i++)
        if (values[i])
            builder_.CreateStore(
                values[i], builder_.CreateConstGEP2_32(type, area, 0, static_cast<unsigned>(i)));
    return area;
}

// Returns the element's value, or null: absent (find), no room (insert).
Value Body::find_element(const program::GlobalValue& place, bool insert) {
    const program::Global& array = *place.global;
    if (array.keys.size() == 1 && array.keys[0] == Type::Long) {
        Value key = number(*place.keys[0]);
        return builder_.CreateCall(
            script_.runtime(insert ? "djs_map_insert_long" : "djs_map_find_long"),
            {map(array), key});
    }
    Value key_values = keys(array, place.keys, nullptr);
    return builder_.CreateCall(script_.runtime(insert ? "djs_map_insert" : "djs_map_find"),
                               {map(array), key_values});
}

// As has_slots (runtime/map/layout.h).
bool Body::has_slots(const program::Global& array) {
    return array.keys.size() == 1 && array.keys[0] == Type::Long && array.value == Type::Long;
}

// An array of longs by one long: checks the slot of the key's hash (djs_map_home) inline; the
// runtime checks all others.
Value Body::find_slot(const program::Global& array, Value key, bool insert,
                      llvm::BasicBlock* absent) {
    auto *search = block("search"), *home = block("home"), *found = block("found");
    Value the_map = map(array);
    Value complement = builder_.CreateNot(key);
    branch_unlikely(builder_.CreateICmpEQ(key, script_.number(-1)), search, home);
    begin(home);
    auto* wide = llvm::IntegerType::get(script_.context, 128);
    const uint64_t count = djs_map_slot_count(script_.capacity(array));
    Value hash = builder_.CreateMul(key, script_.number(static_cast<int64_t>(DJS_MAP_FACTOR)));
    Value product =
        builder_.CreateMul(builder_.CreateZExt(hash, wide), llvm::ConstantInt::get(wide, count));
    Value index = builder_.CreateTrunc(builder_.CreateLShr(product, 64), script_.types.i64);
    auto* slot_type = llvm::ArrayType::get(script_.types.i64, sizeof(djs_slot) / 8);
    // The offset of the slots remains part of each address, where it costs no instruction.
    Value at_home = builder_.CreateGEP(slot_type, the_map, index);
    auto from = [this](Value base, int64_t offset) {
        return builder_.CreateGEP(script_.types.i8, base, script_.number(offset));
    };
    constexpr int64_t value_at = DJS_MAP_SLOTS_AT + offsetof(djs_slot, value);
    Value here = builder_.CreateICmpEQ(
        builder_.CreateLoad(script_.types.i64, from(at_home, DJS_MAP_SLOTS_AT)), complement);
    branch_unlikely(builder_.CreateNot(here), search, found);
    begin(search);
    const char* runtime = insert ? "djs_map_insert_slot" : "djs_map_find_slot";
    // A handler without a context would otherwise save all registers for this.
    Value elsewhere =
        ctx_ || has_calls_
            ? builder_.CreateCall(script_.runtime(runtime), {the_map, key})
            : call_slow(script_, builder_, insert ? "djs_slow_insert" : "djs_slow_find", runtime,
                        {the_map, key});
    Value elsewhere_base = from(elsewhere, -value_at);
    builder_.CreateCondBr(builder_.CreateIsNull(elsewhere), absent, found);
    begin(found);
    auto* base = builder_.CreatePHI(script_.types.pointer, 2);
    base->addIncoming(at_home, home);
    base->addIncoming(elsewhere_base, search);
    return from(base, value_at);
}

// Returns the element's value; if it is absent (find) or there is no room (insert), the code
// continues in `absent`.
Value Body::element_or(const program::GlobalValue& place, bool insert, llvm::BasicBlock* absent) {
    const program::Global& array = *place.global;
    if (has_slots(array))
        return find_slot(array, number(*place.keys[0]), insert, absent);
    if (has_padded_keys(array, place.keys))
        return find_padded(place, insert, absent);
    Value at = find_element(place, insert);
    auto* found = block("found");
    if (insert)
        branch_unlikely(builder_.CreateIsNull(at), absent, found);
    else
        builder_.CreateCondBr(builder_.CreateIsNull(at), absent, found);
    begin(found);
    return at;
}

// Returns the value of an element, creating it if necessary. Lack of room is an error.
Value Body::make_element(const program::GlobalValue& place) {
    auto* full = block("full");
    Value at = element_or(place, true, full);
    auto* good = builder_.GetInsertBlock();
    begin(full);
    fail(array_overflow(*place.global), place.range);
    begin(good);
    return at;
}

Value Body::read_global(const program::GlobalValue& node) {
    const program::Global& global = *node.global;
    const GlobalStorage& storage = script_.storage(global);
    bool is_text = global.value == Type::String;
    switch (storage.kind) {
    case Kind::Constant:
        if (is_text)
            return script_.text(
                std::string_view(global.initial_text).substr(0, script_.string_bytes() - 1));
        return script_.number(global.initial_number);
    case Kind::Counter: {
        // Every CPU's copy starts at 0.
        Value sum =
            builder_.CreateCall(script_.runtime("djs_counter_read"), {script_.u32(storage.index)});
        return builder_.CreateAdd(sum, script_.number(global.initial_number));
    }
    case Kind::Number:
        return builder_.CreateLoad(script_.types.i64, storage.variable);
    case Kind::Text: {
        Value copy = scratch_text();
        copy_text(copy, storage.variable);
        return copy;
    }
    case Kind::Map: {
        auto *absent = block("absent"), *joined = block("joined");
        Value copy = is_text ? scratch_text() : nullptr;
        Value element = element_or(node, false, absent);
        Value value = nullptr;
        if (is_text)
            copy_text(copy, element);
        else
            value = builder_.CreateLoad(script_.types.i64, element);
        auto* from_present = builder_.GetInsertBlock();
        builder_.CreateBr(joined);
        begin(absent);
        if (is_text)
            builder_.CreateStore(llvm::ConstantInt::get(script_.types.i8, 0), copy);
        builder_.CreateBr(joined);
        begin(joined);
        if (is_text)
            return copy;
        auto* result = builder_.CreatePHI(script_.types.i64, 2);
        result->addIncoming(script_.number(0), absent);
        result->addIncoming(value, from_present);
        return result;
    }
    case Kind::PerCpuStatistic:
    case Kind::Statistic:
        break; // only through an operator
    }
    return script_.number(0);
}

void Body::write_global(const program::GlobalValue& place, Value value) {
    const GlobalStorage& storage = script_.storage(*place.global);
    if (storage.kind == Kind::Number) {
        builder_.CreateStore(value, storage.variable);
    } else if (storage.kind == Kind::Text) {
        copy_text(storage.variable, value);
    } else if (storage.kind == Kind::Map) {
        Value element = make_element(place);
        if (place.global->value == Type::String)
            copy_text(element, value);
        else
            builder_.CreateStore(value, element);
    } else {
        script_.unexpected(place.range, "an assignment to what is no variable");
    }
}

std::pair<Value, Value> Body::update_global(const program::GlobalValue& place,
                                            const std::function<Value(Value)>& change) {
    const GlobalStorage& storage = script_.storage(*place.global);
    bool is_text = place.global->value == Type::String;
    Value at = storage.variable;
    if (storage.kind == Kind::Map)
        at = make_element(place);
    Value old = is_text ? at : builder_.CreateLoad(script_.types.i64, at);
    Value changed = change(old);
    if (is_text)
        copy_text(at, changed);
    else
        builder_.CreateStore(changed, at);
    return {old, changed};
}

// <<< on a per-CPU statistic by single instructions, each atomic with respect to interrupts and on
// any CPU: no lock, and interrupts unchanged. The count changes last, so that a reader that sees it
// also sees the rest (djs_statistic_read).
void Body::add_to_statistic(const program::Global& global, Value value) {
    Value copy = builder_.CreateLoad(script_.types.i64, script_.storage(global).variable, "copy");
    auto at = [copy](size_t offset) {
        return arch::PercpuPlace{.offset = static_cast<int64_t>(offset), .base = copy};
    };
    // A new minimum or maximum is rare.
    auto extreme = [&](size_t offset, llvm::CmpInst::Predicate beyond) {
        auto *change = block("extreme"), *done = block("recorded");
        branch_unlikely(arch::compare_percpu(builder_, beyond, value, at(offset)), change, done);
        begin(change);
        arch::replace_percpu_extreme(builder_, beyond, value, at(offset));
        builder_.CreateBr(done);
        begin(done);
    };
    const program::StatisticNeeds& needs = global.statistic;
    if (needs.min)
        extreme(offsetof(djs_statistic, min), llvm::CmpInst::ICMP_SLT);
    if (needs.max)
        extreme(offsetof(djs_statistic, max), llvm::CmpInst::ICMP_SGT);
    if (needs.histogram == program::StatisticNeeds::Histogram::Log) {
        // Like djs_statistic_bucket. The number of bits of 0 is 0, of any other number one more
        // than the index of its highest bit.
        Value negative = builder_.CreateICmpSLT(value, script_.number(0));
        Value magnitude = builder_.CreateSelect(negative, builder_.CreateNeg(value), value);
        Value zeros = builder_.CreateBinaryIntrinsic(
            llvm::Intrinsic::ctlz, builder_.CreateOr(magnitude, script_.number(1)),
            llvm::ConstantInt::getTrue(script_.context));
        Value highest = builder_.CreateXor(zeros, script_.number(63));
        Value bits = builder_.CreateAdd(
            highest, builder_.CreateZExt(builder_.CreateICmpNE(magnitude, script_.number(0)),
                                         script_.types.i64));
        arch::PercpuPlace place =
            at(offsetof(djs_statistic, buckets) + DJS_LOG_ZERO * sizeof(int64_t));
        place.index = builder_.CreateSelect(negative, builder_.CreateNeg(bits), bits);
        arch::add_percpu(builder_, place, script_.number(1), true);
    }
    if (needs.sum || needs.histogram != program::StatisticNeeds::Histogram::None)
        arch::add_percpu(builder_, at(offsetof(djs_statistic, sum)), value, true);
    arch::add_percpu(builder_, at(offsetof(djs_statistic, count)), script_.number(1), true);
}

// <<< on a per-CPU statistic.
void Body::record(const program::Global& statistic, Value value) {
    const GlobalStorage& storage = script_.storage(statistic);
    if (storage.inline_adds)
        add_to_statistic(statistic, value);
    else
        builder_.CreateCall(script_.runtime("djs_statistic_record"),
                            {script_.u32(storage.index), value});
}

// Returns the added value.
Value Body::aggregate(const program::Aggregation& node) {
    const auto& place = program::as<program::GlobalValue>(*node.place);
    const GlobalStorage& storage = script_.storage(*place.global);
    Value value = number(*node.value);
    if (storage.kind == Kind::PerCpuStatistic) {
        record(*place.global, value);
        return value;
    }
    Value at = storage.variable;
    if (storage.kind == Kind::Map)
        at = make_element(place);
    builder_.CreateCall(script_.runtime("djs_statistic_add"), {storage.shape, at, value});
    return value;
}

Value Body::statistic_address(const program::GlobalValue& place) {
    const GlobalStorage& storage = script_.storage(*place.global);
    if (storage.kind == Kind::Statistic)
        return storage.variable;
    if (storage.kind == Kind::Map)
        return find_element(place, false);
    auto bytes =
        llvm::cast<llvm::ConstantInt>(storage.shape->getInitializer()->getAggregateElement(7u))
            ->getZExtValue();
    Value merged = scratch(static_cast<uint32_t>(bytes));
    builder_.CreateCall(script_.runtime("djs_statistic_read"),
                        {script_.u32(storage.index), merged});
    return merged;
}

// For an empty statistic, or an absent element.
void Body::fail_if_empty(Value at, SourceRange range) {
    auto *checked = block("count"), *empty = block("empty"), *present = block("filled");
    branch_unlikely(builder_.CreateIsNull(at), empty, checked);
    begin(checked);
    Value count = builder_.CreateLoad(script_.types.i64, at);
    branch_unlikely(builder_.CreateICmpEQ(count, script_.number(0)), empty, present);
    begin(empty);
    fail("empty aggregate", range);
    begin(present);
}

Value Body::read_statistic(const program::StatisticRead& node) {
    const auto& place = program::as<program::GlobalValue>(*node.place);
    const GlobalStorage& storage = script_.storage(*place.global);
    // Evaluated first: its calls may change the array, or let others do so.
    Value index = node.bucket ? number(*node.bucket) : nullptr;
    Value at = statistic_address(place);

    // An absent element reads as an empty statistic.
    auto *present = block("present"), *joined = block("joined");
    auto* from = builder_.GetInsertBlock();
    bool may_be_empty = node.op == ast::StatOp::Count || node.op == ast::StatOp::Sum || node.bucket;
    if (may_be_empty) {
        builder_.CreateCondBr(builder_.CreateIsNotNull(at), present, joined);
    } else {
        fail_if_empty(at, node.range);
        builder_.CreateBr(present);
    }
    begin(present);
    auto word_at = [&](size_t offset) {
        return builder_.CreateLoad(
            script_.types.i64,
            builder_.CreateConstGEP1_32(script_.types.i8, at, static_cast<unsigned>(offset)));
    };
    Value value = nullptr;
    switch (node.op) {
    case ast::StatOp::Count:
        value = word_at(offsetof(djs_statistic, count));
        break;
    case ast::StatOp::Sum:
        value = word_at(offsetof(djs_statistic, sum));
        break;
    case ast::StatOp::Min:
        value = word_at(offsetof(djs_statistic, min));
        break;
    case ast::StatOp::Max:
        value = word_at(offsetof(djs_statistic, max));
        break;
    case ast::StatOp::Avg:
        value = builder_.CreateCall(script_.runtime("djs_statistic_avg"), {at});
        break;
    case ast::StatOp::Variance:
        value = builder_.CreateCall(script_.runtime("djs_statistic_variance"), {storage.shape, at});
        break;
    case ast::StatOp::HistLog:
    case ast::StatOp::HistLinear: {
        auto buckets =
            llvm::cast<llvm::ConstantInt>(storage.shape->getInitializer()->getAggregateElement(1u));
        fail_if(builder_.CreateICmpUGE(index, script_.number(buckets->getSExtValue())),
                "histogram index out of range", node.range);
        Value bucket = builder_.CreateGEP(
            script_.types.i64,
            builder_.CreateConstGEP1_32(script_.types.i8, at,
                                        static_cast<unsigned>(sizeof(djs_statistic))),
            index);
        value = builder_.CreateLoad(script_.types.i64, bucket);
        break;
    }
    }
    auto* from_present = builder_.GetInsertBlock();
    builder_.CreateBr(joined);
    begin(joined);
    if (!may_be_empty)
        return value;
    auto* result = builder_.CreatePHI(script_.types.i64, 2);
    result->addIncoming(script_.number(0), from);
    result->addIncoming(value, from_present);
    return result;
}

llvm::ConstantInt* Body::array_place(const program::Global& array, SourceRange range) {
    return script_.u32(script_.place("array '" + array.name + "'", range));
}

Value Body::membership(const program::Membership& node) {
    if (has_slots(*node.array) && node.keys[0]) {
        auto *absent = block("absent"), *joined = block("joined");
        find_slot(*node.array, number(*node.keys[0]), false, absent);
        auto* present = builder_.GetInsertBlock();
        builder_.CreateBr(joined);
        begin(absent);
        builder_.CreateBr(joined);
        begin(joined);
        auto* result = builder_.CreatePHI(script_.types.i64, 2);
        result->addIncoming(script_.number(0), absent);
        result->addIncoming(script_.number(1), present);
        return result;
    }
    uint32_t fixed = 0;
    Value key_values = keys(*node.array, node.keys, &fixed);
    bool whole = fixed == (1u << node.keys.size()) - 1;
    if (!whole) {
        Value found =
            builder_.CreateCall(script_.runtime("djs_has_slice"),
                                {ctx_, script_.u32(script_.storage(*node.array).index), key_values,
                                 script_.u32(fixed), array_place(*node.array, node.range)});
        check_error();
        return builder_.CreateZExt(builder_.CreateICmpNE(found, script_.u32(0)), script_.types.i64);
    }
    Value found =
        builder_.CreateCall(script_.runtime("djs_map_find"), {map(*node.array), key_values});
    return builder_.CreateZExt(builder_.CreateIsNotNull(found), script_.types.i64);
}

} // namespace djstap::codegen
