// SPDX-License-Identifier: GPL-2.0-or-later
// Arrays by padded strings: the handler hashes the keys and compares those of the first entry in
// their bucket; the runtime searches the rest.
#include "codegen/body.h"

#include "arch/codegen.h"
#include "codegen/lean.h"
#include "include/map.h"
#include "include/record.h"

#include <cstring>

namespace djstap::codegen {

using program::Type;

namespace {

// Longer literals are left to the runtime.
constexpr size_t max_words = 8;

} // namespace

bool Body::is_padded(const program::Expression& node) const {
    // What is the current task's is not that of the task that was hit.
    const bool of_task = is_task_name(script_, node) || short_process_text(script_, node);
    return is_padded_text(script_, hit_.function, node) && !(of_task && run_contexts_.task);
}

// Returns whether all strings among the keys are padded, and there are some.
bool Body::has_padded_keys(const program::Global& array,
                           const std::vector<program::ExpressionPtr>& keys) const {
    bool found = false;
    for (size_t i = 0; i < keys.size(); i++) {
        if (array.keys[i] == Type::Long)
            continue;
        if (array.keys[i] == Type::Stack || !is_padded(*keys[i]))
            return false;
        found = true;
    }
    return found;
}

Body::PaddedText Body::padded_text(const program::Expression& node) {
    PaddedText padded;
    if (is_task_name(script_, node)) {
        const auto words = task_name_words(script_, builder_);
        padded.words.assign(words.begin(), words.end());
    } else if (const program::Call* call = short_process_text(script_, node)) {
        padded.words = process_words(*call);
    }
    if (!padded.words.empty()) {
        padded.address =
            entry_alloca(llvm::ArrayType::get(script_.types.i64, padded.words.size()), "padded");
        padded.is_stored = false;
        return padded;
    }
    const std::string& whole = node.kind == program::ExpressionKind::Text
                                   ? program::as<program::Text>(node).value
                                   : *hit_.function;
    const std::string_view text =
        std::string_view(whole.c_str()).substr(0, script_.string_bytes() - 1);
    padded.address = script_.text(text);
    padded.is_literal = true;
    for (size_t at = 0; at <= text.size(); at += 8) {
        const std::string_view part = text.substr(at, 8);
        uint64_t word = 0;
        std::memcpy(&word, part.data(), part.size());
        padded.words.push_back(script_.number(static_cast<int64_t>(word)));
    }
    return padded;
}

// Stores the words of a string that are only in registers.
void Body::store_words(PaddedText& text) {
    for (unsigned i = 0; !text.is_stored && i < text.words.size(); i++)
        builder_.CreateStore(text.words[i],
                             builder_.CreateConstGEP1_32(script_.types.i64, text.address, i));
    text.is_stored = true;
}

// Returns the element's value, in a new block, as element_or() does.
Value Body::find_padded(const program::GlobalValue& place, bool insert, llvm::BasicBlock* absent) {
    const program::Global& array = *place.global;
    const AbiTypes& types = script_.types;
    std::vector<PaddedText> texts;
    auto* area_type = llvm::ArrayType::get(types.i64, place.keys.size());
    auto* area = key_area(place.keys.size());
    std::vector<Value> keys;
    size_t words = 0;
    for (size_t i = 0; i < place.keys.size(); i++) {
        PaddedText key;
        if (array.keys[i] == Type::String) {
            key = padded_text(*place.keys[i]);
            keys.push_back(builder_.CreatePtrToInt(key.address, types.i64));
        } else {
            keys.push_back(number(*place.keys[i]));
            key.words = {keys.back()};
            key.is_literal = true; // of one word
        }
        words += key.words.size();
        texts.push_back(std::move(key));
    }
    Value the_map = map(array);
    auto *search = block("search"), *found = block("found");
    Value here = nullptr;
    llvm::BasicBlock* compared = nullptr;
    if (words <= max_words) {
        here = first_in_bucket(array, texts, the_map, search);
        compared = builder_.GetInsertBlock();
        builder_.CreateBr(found);
    } else {
        builder_.CreateBr(search);
    }
    begin(search);
    for (PaddedText& text : texts)
        store_words(text);
    for (size_t i = 0; i < keys.size(); i++)
        builder_.CreateStore(
            keys[i], builder_.CreateConstGEP2_32(area_type, area, 0, static_cast<unsigned>(i)));
    const char* runtime = insert ? "djs_map_insert" : "djs_map_find";
    Value elsewhere =
        ctx_ || has_calls_
            ? builder_.CreateCall(script_.runtime(runtime), {the_map, area})
            : call_slow(script_, builder_, insert ? "djs_slow_insert_keys" : "djs_slow_find_keys",
                        runtime, {the_map, area});
    builder_.CreateCondBr(builder_.CreateIsNull(elsewhere), absent, found);
    auto* searched = builder_.GetInsertBlock();
    begin(found);
    auto* at = builder_.CreatePHI(types.pointer, 2);
    if (here)
        at->addIncoming(here, compared);
    at->addIncoming(elsewhere, searched);
    return at;
}

// Returns the value of the first entry in the bucket of these keys, in a new block; if it has other
// keys, or there is none, the code continues in `search`.
Value Body::first_in_bucket(const program::Global& array, const std::vector<PaddedText>& keys,
                            Value the_map, llvm::BasicBlock* search) {
    const AbiTypes& types = script_.types;
    auto front = [&](size_t offset, llvm::Type* type) {
        return builder_.CreateLoad(
            type, builder_.CreateConstGEP1_32(types.i8, the_map, static_cast<unsigned>(offset)));
    };
    auto* wide = llvm::IntegerType::get(script_.context, 128);
    Value factor = builder_.CreateZExt(front(offsetof(djs_map_front, factor), types.i64), wide);
    auto stir = [&](Value hash, Value word) {
        Value product =
            builder_.CreateMul(builder_.CreateZExt(builder_.CreateXor(hash, word), wide), factor);
        return builder_.CreateXor(
            builder_.CreateTrunc(product, types.i64),
            builder_.CreateTrunc(builder_.CreateLShr(product, 64), types.i64));
    };
    Value hash = front(offsetof(djs_map_front, seed), types.i64);
    for (const PaddedText& key : keys) {
        for (size_t i = 0; i < key.words.size(); i++) {
            Value next = stir(hash, key.words[i]);
            hash = i == 0 || key.is_literal
                       ? next
                       : builder_.CreateSelect(continues(builder_, key.words[i - 1]), next, hash);
        }
    }
    hash = builder_.CreateLShr(
        builder_.CreateMul(hash, script_.number(static_cast<int64_t>(DJS_MAP_FACTOR))), 32);
    Value shift = builder_.CreateZExt(front(offsetof(djs_map_front, shift), types.i32), types.i64);
    Value buckets = builder_.CreateConstGEP1_32(types.i8, the_map, DJS_MAP_SLOTS_AT);
    Value number = builder_.CreateLoad(
        types.i32, builder_.CreateGEP(types.i32, buckets, builder_.CreateLShr(hash, shift)));
    auto *compare = block("compare"), *same = block("same");
    branch_unlikely(builder_.CreateICmpEQ(number, script_.u32(0)), search, compare);
    begin(compare);
    Value stride = front(offsetof(djs_map_front, stride), types.i32);
    Value entry =
        builder_.CreateGEP(types.i8, front(offsetof(djs_map_front, entries), types.pointer),
                           builder_.CreateMul(builder_.CreateZExt(number, types.i64),
                                              builder_.CreateZExt(stride, types.i64)));
    uint64_t offset = DJS_MAP_KEYS_AT;
    Value differences = nullptr;
    for (size_t k = 0; k < keys.size(); k++) {
        for (size_t i = 0; i < keys[k].words.size(); i++) {
            Value stored = builder_.CreateLoad(
                types.i64, builder_.CreateConstGEP1_64(types.i8, entry, offset + 8 * i));
            Value differs = builder_.CreateXor(stored, keys[k].words[i]);
            if (i > 0 && !keys[k].is_literal)
                differs = builder_.CreateSelect(continues(builder_, keys[k].words[i - 1]), differs,
                                                script_.number(0));
            differences = differences ? builder_.CreateOr(differences, differs) : differs;
        }
        offset += djs_map_key_bytes(array.keys[k] == Type::String, script_.string_bytes());
    }
    branch_unlikely(builder_.CreateICmpNE(differences, script_.number(0)), search, same);
    begin(same);
    return builder_.CreateConstGEP1_64(types.i8, entry, offset);
}

} // namespace djstap::codegen
