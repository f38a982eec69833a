// SPDX-License-Identifier: GPL-2.0-or-later
// foreach over the buckets of a histogram.
#include "codegen/body.h"

#include "include/statistic.h"

#include <llvm/IR/Constants.h>

namespace djstap::codegen {

void Body::foreach_bucket(const program::Foreach& node) {
    const auto& read = program::as<program::StatisticRead>(*node.histogram);
    const auto& place = program::as<program::GlobalValue>(*read.place);
    auto* shape = script_.storage(*place.global).shape;
    auto* buckets = llvm::cast<llvm::ConstantInt>(shape->getInitializer()->getAggregateElement(1u));
    const int64_t count = buckets->getSExtValue();
    Value limit = script_.number(count);
    if (node.limit) {
        Value wanted = number(*node.limit);
        wanted = builder_.CreateSelect(builder_.CreateICmpSLT(wanted, script_.number(0)),
                                       script_.number(0), wanted);
        limit = builder_.CreateSelect(builder_.CreateICmpSLT(wanted, limit), wanted, limit);
    }
    Value first = nullptr;
    if (node.value) {
        Value statistic = statistic_address(place);
        auto in = [&] {
            return builder_.CreateConstGEP1_32(script_.types.i8, statistic,
                                               static_cast<unsigned>(sizeof(djs_statistic)));
        };
        if (place.global->is_array()) {
            // A copy: meanwhile the element may be deleted, and another one may get its memory. The
            // buckets of an absent one are empty.
            const auto bytes = static_cast<uint32_t>(count * int64_t{sizeof(int64_t)});
            auto *present = block("present"), *absent = block("absent"), *copied = block("copied");
            first = scratch(bytes);
            builder_.CreateCondBr(builder_.CreateIsNotNull(statistic), present, absent);
            begin(present);
            builder_.CreateCall(script_.runtime("memcpy"), {first, in(), script_.number(bytes)});
            builder_.CreateBr(copied);
            begin(absent);
            builder_.CreateCall(script_.runtime("memset"),
                                {first, script_.u32(0), script_.number(bytes)});
            builder_.CreateBr(copied);
            begin(copied);
        } else {
            first = in();
        }
    }

    auto* index = entry_alloca(script_.types.i64, "index");
    builder_.CreateStore(script_.number(0), index);
    auto next = [&](llvm::BasicBlock* done) {
        Value at = builder_.CreateLoad(script_.types.i64, index);
        auto* more = block("more");
        builder_.CreateCondBr(builder_.CreateICmpULT(at, limit), more, done);
        begin(more);
        builder_.CreateStore(builder_.CreateAdd(at, script_.number(1)), index);
        return at;
    };
    iterate(node, next, [&](Value at) {
        const bool downwards = node.sort_key == 1 && !node.ascending;
        Value bucket = downwards ? builder_.CreateSub(script_.number(count - 1), at) : at;
        builder_.CreateStore(bucket, locals_[node.keys[0]]);
        if (!node.value)
            return;
        Value hits = builder_.CreateLoad(script_.types.i64,
                                         builder_.CreateGEP(script_.types.i64, first, bucket));
        builder_.CreateStore(hits, locals_[*node.value]);
    });
}

} // namespace djstap::codegen
