// SPDX-License-Identifier: GPL-2.0-or-later
// @count … @variance, histograms.
#include "ast/printer.h"
#include "diagnostics/suggest.h"
#include "semantics/lower.h"

namespace djstap::semantics {

using program::Type;
using Histogram = program::StatisticNeeds::Histogram;

namespace {

std::string histogram_name(const program::StatisticNeeds& needs) {
    if (needs.histogram == Histogram::Log)
        return "@hist_log";
    return "@hist_linear from " + std::to_string(needs.low) + " to " + std::to_string(needs.high) +
           " in steps of " + std::to_string(needs.width);
}

constexpr int64_t max_buckets = 4096;
constexpr int64_t log_buckets = 128; // DJS_LOG_BUCKETS

} // namespace

Value Lowering::statistic_place(const ast::StatisticOp& node, GlobalState** found) {
    *found = nullptr;
    const ast::Expression& operand = *node.operand;
    const bool named =
        operand.kind == ast::ExpressionKind::Identifier ||
        (operand.kind == ast::ExpressionKind::ArrayIndex &&
         ast::as<ast::ArrayIndex>(operand).base->kind == ast::ExpressionKind::Identifier);
    if (!named) {
        diagnostics_.report(DiagnosticKind::NotAStatistic, operand.range,
                            {std::string(ast::name_of(node.op))});
        return broken(node.range);
    }
    if (operand.kind == ast::ExpressionKind::Identifier) {
        const std::string& name = ast::as<ast::Identifier>(operand).name;
        if (body_->index.count(name) || !names_.global(name, *body_->file)) {
            diagnostics_
                .report(DiagnosticKind::NotAStatistic, operand.range,
                        {std::string(ast::name_of(node.op))})
                .hint(did_you_mean(name, names_.global_names(*body_->file)));
            return broken(node.range);
        }
    }
    const std::vector<ast::ExpressionPtr>* indexes = nullptr;
    GlobalState* global = global_of(operand, &indexes);
    if (!global)
        return broken(node.range);
    auto place = make<program::GlobalValue>(operand.range);
    place->global = global->node.get();
    place->type = Type::Statistic;
    if (indexes)
        place->keys = keys(*global, *indexes, false, operand.range);
    else if (!key_count(*global, 0, operand.range))
        return broken(node.range);
    agree(global->value, types_.of(Type::Statistic, operand.range), subject(operand),
          operand.range);
    *found = global;
    return {std::move(place), global->value};
}

bool Lowering::note_histogram(const ast::StatisticOp& node, GlobalState& global) {
    program::StatisticNeeds needs;
    if (node.op == ast::StatOp::HistLog) {
        needs.histogram = Histogram::Log;
    } else {
        needs.histogram = Histogram::Linear;
        if (node.parameters.size() >= 3) {
            needs.low = node.parameters[0];
            needs.high = node.parameters[1];
            needs.width = node.parameters[2];
        }
        std::string reason;
        if (node.parameters.size() != 3)
            reason = "it takes a lower bound, an upper bound and a width";
        else if (needs.width <= 0)
            reason = "the width must be positive";
        else if (needs.low >= needs.high)
            reason = "the lower bound must be below the upper bound";
        else if ((static_cast<uint64_t>(needs.high) - static_cast<uint64_t>(needs.low)) /
                     static_cast<uint64_t>(needs.width) >
                 static_cast<uint64_t>(max_buckets))
            reason = "that is more than " + std::to_string(max_buckets) + " buckets";
        if (!reason.empty()) {
            diagnostics_.report(DiagnosticKind::HistogramRange, node.range,
                                {std::to_string(needs.low), std::to_string(needs.high),
                                 std::to_string(needs.width), reason});
            return false;
        }
    }
    if (!global.histogram) {
        global.histogram = needs;
        global.histogram_at = node.range;
        return true;
    }
    const program::StatisticNeeds& first = *global.histogram;
    if (first.histogram == needs.histogram && first.low == needs.low && first.high == needs.high &&
        first.width == needs.width)
        return true;
    diagnostics_
        .report(DiagnosticKind::HistogramConflict, node.range,
                {global.declaration->name, histogram_name(needs)})
        .hint("use a second global for a second kind of histogram")
        .note(global.histogram_at, "it is used as " + histogram_name(first) + " here");
    return false;
}

Value Lowering::statistic(const ast::StatisticOp& node) {
    if (node.op == ast::StatOp::HistLog || node.op == ast::StatOp::HistLinear) {
        diagnostics_.report(DiagnosticKind::HistogramAsValue, node.range)
            .hint("print it, read one bucket with [n], or iterate over its buckets with foreach");
        return broken(node.range);
    }
    GlobalState* global = nullptr;
    Value place = statistic_place(node, &global);
    if (!global)
        return broken(node.range);
    auto to = make<program::StatisticRead>(node.range);
    to->op = node.op;
    to->place = std::move(place.node);
    if (node.op == ast::StatOp::Variance) {
        const int64_t shift = node.parameters.empty() ? 0 : node.parameters.front();
        if (shift < 0 || shift > 62) {
            diagnostics_.report(DiagnosticKind::VarianceRange, node.range, {std::to_string(shift)});
        } else if (global->variance_shift && *global->variance_shift != shift) {
            diagnostics_
                .report(DiagnosticKind::VarianceConflict, node.range,
                        {global->declaration->name, std::to_string(shift)})
                .note(global->variance_at,
                      "it is " + std::to_string(*global->variance_shift) + " here");
        } else {
            global->variance_shift = static_cast<int>(shift);
            global->variance_at = node.range;
            to->variance_shift = static_cast<int>(shift);
        }
    }
    return known(std::move(to), Type::Long);
}

Value Lowering::histogram_text(const ast::StatisticOp& node) {
    GlobalState* global = nullptr;
    Value place = statistic_place(node, &global);
    if (!global || !note_histogram(node, *global))
        return broken(node.range);
    auto to = make<program::HistogramText>(node.range);
    to->op = node.op;
    to->place = std::move(place.node);
    return known(std::move(to), Type::String);
}

// Returns whether these are the one key of a histogram; reports an error otherwise.
bool Lowering::is_one_bucket(const std::vector<ast::ExpressionPtr>& indexes, SourceRange range) {
    if (indexes.size() == 1 && indexes.front())
        return true;
    diagnostics_
        .report(DiagnosticKind::KeyCount, range,
                {"a histogram", "with " + count_text(indexes.size(), "key")})
        .hint("a histogram has one key, the number of the bucket");
    return false;
}

// n in @hist_log(s): whether a bucket with that number exists.
Value Lowering::bucket_membership(const ast::Membership& node) {
    const auto& histogram = ast::as<ast::StatisticOp>(*node.array);
    if (!is_one_bucket(node.indexes, node.range))
        return broken(node.range);
    GlobalState* global = nullptr;
    Value place = statistic_place(histogram, &global);
    if (!global || !note_histogram(histogram, *global))
        return broken(node.range);
    discarded_.push_back(std::move(place.node));
    const program::StatisticNeeds& needs = *global->histogram;
    const int64_t buckets =
        needs.histogram == Histogram::Log ? log_buckets : int64_t{needs.linear_buckets()};
    // 0 <= n < buckets in one comparison: unsigned, by inverting the sign bit of both sides.
    auto number = [&](int64_t value) {
        auto made = make<program::Number>(node.range);
        made->value = value;
        return known(std::move(made), Type::Long).node;
    };
    auto turned = make<program::Arithmetic>(node.range);
    turned->op = ast::BinaryOp::Xor;
    turned->op_range = node.range;
    turned->left = expect(*node.indexes.front(), Type::Long);
    turned->right = number(INT64_MIN);
    auto to = make<program::Comparison>(node.range);
    to->op = ast::BinaryOp::Less;
    to->left = known(std::move(turned), Type::Long).node;
    to->right = number(buckets ^ INT64_MIN);
    return known(std::move(to), Type::Long);
}

Value Lowering::bucket(const ast::StatisticOp& node, program::ExpressionPtr index) {
    if (node.op != ast::StatOp::HistLog && node.op != ast::StatOp::HistLinear) {
        diagnostics_.report(DiagnosticKind::NotAPlace, node.range)
            .hint("only histograms have buckets");
        return broken(node.range);
    }
    GlobalState* global = nullptr;
    Value place = statistic_place(node, &global);
    if (!global || !note_histogram(node, *global))
        return broken(node.range);
    auto to = make<program::StatisticRead>(node.range);
    to->op = node.op;
    to->place = std::move(place.node);
    to->bucket = std::move(index);
    return known(std::move(to), Type::Long);
}

} // namespace djstap::semantics
