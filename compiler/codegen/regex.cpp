// SPDX-License-Identifier: GPL-2.0-or-later
#include "codegen/regex.h"

#include "codegen/body.h"
#include "include/regex.h"
#include "regex/regex.h"
#include "semantics/walk.h"

#include <llvm/IR/Constants.h>

namespace djstap::codegen {

namespace {

static_assert(static_cast<int>(regex::Step::Kind::Group) == DJS_REGEX_GROUP);
static_assert(static_cast<int>(regex::Step::Kind::Star) == DJS_REGEX_STAR);
static_assert(regex::Step::none == DJS_REGEX_NONE);
static_assert(regex::max_groups == DJS_REGEX_GROUPS);

template <class Visit> void each_expression(const program::Program& program, const Visit& visit) {
    for (const auto& probe : program.probes) {
        program::walk_expressions(*probe->body, visit);
        if (probe->condition)
            program::walk_expressions(*probe->condition, visit);
        for (const auto& value : probe->entry_values)
            program::walk_expressions(*value, visit);
    }
    for (const auto& function : program.functions)
        if (function->body)
            program::walk_expressions(*function->body, visit);
}

} // namespace

RegexTables::RegexTables(llvm::Module& module, const AbiTypes& types,
                         const program::Program& program, Diagnostics& diagnostics)
    : module_(module), types_(types) {
    for (const auto& function : program.functions)
        keeps_matches_ |= function->intrinsic == "matched" || function->intrinsic == "ngroups";
    each_expression(program, [&](program::Expression& node) {
        if (node.kind == program::ExpressionKind::RegexMatch)
            compile(program::as<program::RegexMatch>(node), diagnostics);
    });
}

llvm::Constant* RegexTables::bytes(llvm::Constant* data) {
    return new llvm::GlobalVariable(module_, data->getType(), true,
                                    llvm::GlobalValue::PrivateLinkage, data, "djs_regex");
}

void RegexTables::compile(const program::RegexMatch& match, Diagnostics& diagnostics) {
    auto [entry, added] = tables_.try_emplace(match.pattern, nullptr);
    if (!added)
        return;
    entry->second = llvm::ConstantPointerNull::get(types_.pointer);
    Result<regex::Automaton> compiled = regex::compile(match.pattern, keeps_matches_);
    if (!compiled) { // semantics has checked that it is valid, but with groups it may be too large
        diagnostics
            .report(DiagnosticKind::RegexTooLarge, match.pattern_range,
                    {compiled.failure().message})
            .hint(compiled.failure().hint);
        return;
    }
    max_steps_ = std::max(max_steps_, static_cast<uint32_t>(compiled->steps.size()));
    llvm::LLVMContext& context = module_.getContext();
    auto start = [&](regex::Start value) {
        return types_.make(
            contract::djs_regex_start{.at_end = value.at_end, .inside = value.inside});
    };
    std::vector<llvm::Constant*> steps;
    for (const regex::Step& step : compiled->steps)
        steps.push_back(
            types_.make(contract::djs_regex_step{.kind = static_cast<uint16_t>(step.kind),
                                                 .low = step.low,
                                                 .high = step.high,
                                                 .first = step.first,
                                                 .second = step.second,
                                                 .forward = start(step.forward),
                                                 .backward = start(step.backward)}));
    auto* step_table =
        llvm::ConstantArray::get(llvm::ArrayType::get(types_.djs_regex_step, steps.size()), steps);
    const llvm::ArrayRef<uint8_t> classes(compiled->classes.data(), compiled->classes.size());
    const llvm::ArrayRef<uint16_t> next(compiled->next);
    const llvm::ArrayRef<uint8_t> accept(compiled->accept);
    entry->second = bytes(types_.make(
        contract::djs_regex{.classes = bytes(llvm::ConstantDataArray::get(context, classes)),
                            .next = bytes(llvm::ConstantDataArray::get(context, next)),
                            .accept = bytes(llvm::ConstantDataArray::get(context, accept)),
                            .steps = bytes(step_table),
                            .class_count = compiled->class_count,
                            .step_count = steps.size(),
                            .group_count = compiled->group_count,
                            .search = start(compiled->search),
                            .starts = start(compiled->starts),
                            .match = start(compiled->match)}));
}

uint32_t RegexTables::match_bytes(uint32_t string_bytes) const {
    if (!keeps_matches_ || tables_.empty())
        return 0;
    return djs_match_bytes(string_bytes, max_steps_);
}

// Makes matched() and ngroups() errors before any =~ of this handler.
void Body::forget_match() {
    const uint32_t bytes = script_.regex().match_bytes(script_.string_bytes());
    if (bytes == 0)
        return;
    if (ctx_)
        builder_.CreateStore(script_.u32(DJS_MATCH_NONE), scratch(bytes));
}

Value Body::regex_match(const program::RegexMatch& node) {
    llvm::Constant* table = script_.regex().table(node.pattern);
    Value subject = text(*node.operand);
    const bool keeps = script_.regex().keeps_matches();
    Value found =
        keeps ? builder_.CreateCall(script_.runtime("djs_match_regex"),
                                    {ctx_, table, subject, script_.u32(script_.place(node.range))})
              : builder_.CreateCall(script_.runtime("djs_regex_search"), {table, subject});
    if (keeps)
        check_error();
    Value is_found = builder_.CreateICmpNE(found, script_.u32(0));
    return node.negated ? builder_.CreateNot(is_found) : is_found;
}

} // namespace djstap::codegen
