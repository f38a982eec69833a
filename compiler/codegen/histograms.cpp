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
    Value statistic = node.value ? statistic_address(place) : nullptr;

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
        // The buckets of an absent element are empty.
        auto *present = block("present"), *joined = block("joined");
        builder_.CreateStore(script_.number(0), locals_[*node.value]);
        builder_.CreateCondBr(builder_.CreateIsNotNull(statistic), present, joined);
        begin(present);
        Value first = builder_.CreateConstGEP1_32(script_.types.i8, statistic,
                                                  static_cast<unsigned>(sizeof(djs_statistic)));
        Value hits = builder_.CreateLoad(script_.types.i64,
                                         builder_.CreateGEP(script_.types.i64, first, bucket));
        builder_.CreateStore(hits, locals_[*node.value]);
        builder_.CreateBr(joined);
        begin(joined);
    });
}

} // namespace djstap::codegen
