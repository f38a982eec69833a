// SPDX-License-Identifier: GPL-2.0-or-later
#include "codegen/needs.h"

#include "codegen/clocks.h"
#include "codegen/lean.h"
#include "semantics/walk.h"

#include <algorithm>
#include <functional>

namespace djstap::codegen {

using program::ExpressionKind;
using program::StatementKind;
using program::Type;

namespace {

bool may_divide_by_zero(ast::BinaryOp op, const program::Expression& divisor) {
    return (op == ast::BinaryOp::Divide || op == ast::BinaryOp::Modulo) &&
           (divisor.kind != ExpressionKind::Number ||
            program::as<program::Number>(divisor).value == 0);
}

class NeedsCheck {
  public:
    NeedsCheck(const ScriptModule& script, const Variant& variant)
        : script_(script), accesses_(variant.accesses),
          function_(
              script.only_function(static_cast<uint32_t>(&variant - script.plan.variants.data()))),
          can_record_(LeanRecorder::possible(script)), can_read_(knows_interrupts(script)) {}

    Needs statement(const program::Statement& node) const {
        switch (node.kind) {
        case StatementKind::Block: {
            Needs needs = Needs::Nothing;
            for (const auto& inner : program::as<program::Block>(node).statements)
                needs = std::max(needs, statement(*inner));
            return needs;
        }
        case StatementKind::If: {
            const auto& branch = program::as<program::If>(node);
            Needs needs = std::max(value(*branch.condition), statement(*branch.then_branch));
            return branch.else_branch ? std::max(needs, statement(*branch.else_branch)) : needs;
        }
        case StatementKind::Evaluate:
            return effect(*program::as<program::Evaluate>(node).expression);
        case StatementKind::Next:
            return Needs::Nothing;
        case StatementKind::Delete: {
            const auto& erased = program::as<program::Delete>(node);
            bool element = script_.storage(*erased.global).kind == GlobalStorage::Kind::Map &&
                           !erased.keys.empty();
            return element ? keys(*erased.global, erased.keys) : Needs::Context;
        }
        default:
            return Needs::Context;
        }
    }

    Needs value(const program::Expression& node) const {
        if (node.type != Type::Long)
            return Needs::Context;
        switch (node.kind) {
        case ExpressionKind::Number:
            return Needs::Nothing;
        case ExpressionKind::GlobalValue: {
            const auto& global = program::as<program::GlobalValue>(node);
            bool constant = script_.storage(*global.global).kind == GlobalStorage::Kind::Constant;
            return constant ? Needs::Nothing : locked_place(global);
        }
        case ExpressionKind::LocalValue:
            return Needs::Nothing;
        case ExpressionKind::Membership: {
            const auto& membership = program::as<program::Membership>(node);
            return keys(*membership.array, membership.keys);
        }
        case ExpressionKind::Unary:
            return value(*program::as<program::Unary>(node).operand);
        case ExpressionKind::Arithmetic: {
            const auto& binary = program::as<program::Arithmetic>(node);
            if (may_divide_by_zero(binary.op, *binary.right))
                return Needs::Context;
            return std::max(value(*binary.left), value(*binary.right));
        }
        case ExpressionKind::Comparison: {
            const auto& comparison = program::as<program::Comparison>(node);
            return std::max(value(*comparison.left), value(*comparison.right));
        }
        case ExpressionKind::Logical: {
            const auto& logical = program::as<program::Logical>(node);
            return std::max(value(*logical.left), value(*logical.right));
        }
        case ExpressionKind::Call: {
            const auto& call = program::as<program::Call>(node);
            if (const auto* only = only_value(call))
                return value(*only);
            if (attempt_of(call).value)
                return reads(AddressSpace::User) ? value(*call.arguments[0]) : Needs::Context;
            if (is_clock(script_, call.function->intrinsic))
                return Needs::Locks;
            // Without preemption, RCU keeps the parent from being another task by then.
            if (is_parent(script_, call))
                return can_record_ && can_read_ ? Needs::Preemption : Needs::Context;
            bool inlined =
                call.arguments.empty() && has_inline_intrinsic(script_, call.function->intrinsic);
            return inlined ? Needs::Nothing : Needs::Context;
        }
        case ExpressionKind::EntryValue:
            return Needs::Nothing; // in the trampoline's own frame
        case ExpressionKind::TargetValue:
            return target(node);
        case ExpressionKind::Dereference: {
            const auto& read = program::as<program::Dereference>(node);
            const auto space = read.user ? AddressSpace::User : AddressSpace::Kernel;
            return reads(space) ? value(*read.address) : Needs::Context;
        }
        default:
            return Needs::Context;
        }
    }

  private:
    Needs target(const program::Expression& node) const {
        auto found = accesses_.find(&node);
        if (found == accesses_.end() || found->second.is_text)
            return Needs::Context;
        const Access& access = found->second.value;
        Needs needs = Needs::Nothing;
        // Only the context knows where the process has the program.
        if (uses_image_address(access) &&
            script_.plan.images[access.image].kind == ImageKind::Program)
            return Needs::Context;
        if (access.base == Access::Base::Operand)
            needs = value(*access.operand);
        else if (access.base == Access::Base::PerfCounter || access.base == Access::Base::FileText)
            return Needs::Context;
        if (loads(access.operations) && !reads(access.space))
            return Needs::Context;
        for (const AccessStep& step : access.steps) {
            if (step.kind == AccessStep::Kind::AddIndex)
                needs = std::max(needs, value(*step.index));
            if (step.kind == AccessStep::Kind::Load && !reads(access.space))
                return Needs::Context;
        }
        return needs;
    }
    bool reads(AddressSpace space) const { return can_read_ && loads_are_inline(script_, space); }
    // Only whole elements, indexed by numbers and padded strings.
    Needs keys(const program::Global& array,
               const std::vector<program::ExpressionPtr>& keys) const {
        Needs needs = Needs::Locks;
        for (size_t i = 0; i < keys.size(); i++) {
            if (!keys[i])
                return Needs::Context;
            if (array.keys[i] == Type::Long)
                needs = std::max(needs, value(*keys[i]));
            else if (!is_padded_text(script_, function_, *keys[i]))
                return Needs::Context;
            else if (const program::Call* text = short_process_text(script_, *keys[i]))
                needs = std::max(needs, reads(AddressSpace::User) ? value(*text->arguments[0])
                                                                  : Needs::Context);
        }
        return needs;
    }
    // A number or a statistic that only its lock protects.
    Needs locked_place(const program::GlobalValue& place) const {
        switch (script_.storage(*place.global).kind) {
        case GlobalStorage::Kind::Number:
        case GlobalStorage::Kind::Statistic:
            return Needs::Locks;
        case GlobalStorage::Kind::Map:
            return place.global->value == Type::String ? Needs::Context
                                                       : keys(*place.global, place.keys);
        default:
            return Needs::Context;
        }
    }
    Needs number_place(const program::Expression& place) const {
        if (place.type != Type::Long)
            return Needs::Context;
        if (place.kind == ExpressionKind::LocalValue)
            return Needs::Nothing;
        return place.kind == ExpressionKind::GlobalValue
                   ? locked_place(program::as<program::GlobalValue>(place))
                   : Needs::Context;
    }
    bool counter(const program::Expression& place) const {
        return place.kind == ExpressionKind::GlobalValue &&
               script_.storage(*program::as<program::GlobalValue>(place).global).kind ==
                   GlobalStorage::Kind::Counter;
    }
    Needs effect(const program::Expression& node) const {
        if (node.kind == ExpressionKind::Increment)
            return counter(*program::as<program::Increment>(node).place)
                       ? Needs::Nothing
                       : number_place(*program::as<program::Increment>(node).place);
        if (node.kind == ExpressionKind::Assignment) {
            const auto& assignment = program::as<program::Assignment>(node);
            if (assignment.op && may_divide_by_zero(*assignment.op, *assignment.value))
                return Needs::Context;
            return std::max(value(*assignment.value), counter(*assignment.place)
                                                          ? Needs::Nothing
                                                          : number_place(*assignment.place));
        }
        if (node.kind == ExpressionKind::Aggregation) {
            const auto& aggregation = program::as<program::Aggregation>(node);
            const auto& place = program::as<program::GlobalValue>(*aggregation.place);
            return std::max(value(*aggregation.value), script_.storage(*place.global).inline_adds
                                                           ? Needs::Nothing
                                                           : locked_place(place));
        }
        if (node.kind == ExpressionKind::Print) {
            const auto& print = program::as<program::Print>(node);
            Needs needs = print.to_string || !can_record_ || !has_inline_fields(script_)
                              ? Needs::Context
                              : Needs::Preemption;
            for (const auto& argument : print.arguments)
                if (!is_task_name(script_, *argument))
                    needs = std::max(needs, value(*argument));
            return needs;
        }
        return value(node);
    }

    const ScriptModule& script_;
    const AccessMap& accesses_;
    const std::string* function_;
    bool can_record_, can_read_;
};

bool uses_locked_global(const ScriptModule& script, program::Expression& expression) {
    bool found = false;
    program::walk_expressions(expression, [&](program::Expression& node) {
        found |= node.kind == ExpressionKind::Membership;
        if (node.kind == ExpressionKind::GlobalValue)
            found |= script.storage(*program::as<program::GlobalValue>(node).global).kind !=
                     GlobalStorage::Kind::Constant;
    });
    return found;
}

} // namespace

Needs needs_of(const ScriptModule& script, const Variant& variant) {
    const auto& locals = variant.probe->locals;
    const auto index = static_cast<uint32_t>(&variant - script.plan.variants.data());
    if (script.heavy.count(index) || script.lengthy.count(index))
        return Needs::Context;
    if (!variant.probe->arms_others.empty())
        return Needs::Context;
    // Its guard against re-entry ends what the handler's own fault would repeat for ever.
    if (variant.faults_again)
        return Needs::Context;
    // Only the context knows where the process has the callers.
    if (!variant.callers.frames.empty() &&
        script.plan.images[variant.callers.image].kind == ImageKind::Program)
        return Needs::Context;
    if (std::any_of(locals.begin(), locals.end(),
                    [](const program::Local& local) { return local.type != Type::Long; }))
        return Needs::Context;
    NeedsCheck check(script, variant);
    Needs needs = check.statement(*variant.probe->body);
    return variant.probe->condition ? std::max(needs, check.value(*variant.probe->condition))
                                    : needs;
}

Needs needs_of_entry_values(const ScriptModule& script, const Variant& variant) {
    NeedsCheck check(script, variant);
    Needs needs = Needs::Nothing;
    for (const auto& expression : variant.probe->entry_values) {
        // After a fault the values are missing, which only the context's error tells.
        if (may_fault(variant.accesses, *expression))
            return Needs::Context;
        needs = std::max(needs, check.value(*expression));
        if (uses_locked_global(script, *expression))
            return Needs::Context;
    }
    // Without a context, errors are reported where they occur.
    return needs != Needs::Nothing && variant.probe->suppresses_errors ? Needs::Context : needs;
}

namespace {

// Returns whether an expression consists of numbers and intrinsics: it reads no memory and no
// global, and calls no function of a script, which may call itself.
bool is_plain(const program::Expression& node) {
    if (node.kind == ExpressionKind::Number)
        return true;
    if (node.kind == ExpressionKind::Arithmetic) {
        const auto& binary = program::as<program::Arithmetic>(node);
        return is_plain(*binary.left) && is_plain(*binary.right);
    }
    if (node.kind != ExpressionKind::Call)
        return false;
    const auto& call = program::as<program::Call>(node);
    return !call.function->intrinsic.empty() && call.arguments.empty();
}

} // namespace

const program::Expression* only_value(const program::Call& call) {
    const program::Function& function = *call.function;
    if (!function.body || !function.locals.empty() || function.next_overload ||
        function.body->statements.size() != 1 ||
        function.body->statements[0]->kind != StatementKind::Return)
        return nullptr;
    const auto* value = program::as<program::Return>(*function.body->statements[0]).value.get();
    return value && value->type == Type::Long && is_plain(*value) ? value : nullptr;
}

namespace {

// Returns whether the expression consists of a read at the function's first parameter and of
// arithmetic with numbers.
bool only_reads_parameter(const program::Expression& node) {
    if (node.kind == ExpressionKind::Arithmetic) {
        const auto& binary = program::as<program::Arithmetic>(node);
        return binary.right->kind == ExpressionKind::Number &&
               !may_divide_by_zero(binary.op, *binary.right) && only_reads_parameter(*binary.left);
    }
    if (node.kind != ExpressionKind::Dereference)
        return false;
    const auto& read = program::as<program::Dereference>(node);
    return read.user && read.address->kind == ExpressionKind::LocalValue &&
           program::as<program::LocalValue>(*read.address).local == 0;
}

// Returns the value of a return, which may be alone in a block; else null.
const program::Expression* returned_by(const program::Statement& node) {
    if (node.kind == StatementKind::Block) {
        const auto& block = program::as<program::Block>(node);
        return block.statements.size() == 1 ? returned_by(*block.statements[0]) : nullptr;
    }
    return node.kind == StatementKind::Return ? program::as<program::Return>(node).value.get()
                                              : nullptr;
}

} // namespace

Attempt attempt_of(const program::Call& call) {
    const program::Function& function = *call.function;
    if (!function.body || function.parameter_count != 1 || function.locals.size() != 1 ||
        function.locals[0].type != Type::Long || function.next_overload ||
        function.body->statements.size() != 1 ||
        function.body->statements[0]->kind != StatementKind::TryCatch)
        return {};
    const auto& attempt = program::as<program::TryCatch>(*function.body->statements[0]);
    const auto* value = returned_by(*attempt.body);
    const auto* otherwise = returned_by(*attempt.handler);
    if (!value || !otherwise || !only_reads_parameter(*value) ||
        otherwise->kind != ExpressionKind::Number)
        return {};
    return {value, program::as<program::Number>(*otherwise).value};
}

bool loads_are_inline(const ScriptModule& script, AddressSpace space) {
    if (script.kernel.user_space)
        return false;
    if (space == AddressSpace::Kernel)
        return true;
    auto known = [&](std::string_view offset) {
        return script.kernel.offset && script.kernel.offset(offset).has_value();
    };
    return known("current_task") && known("task_struct.mm") &&
           known("task_struct.pagefault_disabled");
}

namespace {

// Returns whether this node itself, not one in it, reads memory.
bool is_read(const AccessMap& accesses, const program::Expression& node) {
    if (node.kind == ExpressionKind::Dereference)
        return true;
    if (node.kind == ExpressionKind::Call) {
        const auto& call = program::as<program::Call>(node);
        const std::string& name = call.function->intrinsic;
        return name == "user_string_n" || name == "ppid" || attempt_of(call).value;
    }
    auto access = accesses.find(&node);
    return access != accesses.end() && loads(access->second.value);
}

} // namespace

bool may_fault(const AccessMap& accesses, program::Expression& expression) {
    bool found = false;
    program::walk_expressions(expression,
                              [&](program::Expression& node) { found |= is_read(accesses, node); });
    return found;
}

bool may_fault(const Variant& variant) {
    bool found = variant.probe->condition && may_fault(variant.accesses, *variant.probe->condition);
    program::walk_expressions(*variant.probe->body, [&](program::Expression& node) {
        found |= is_read(variant.accesses, node);
    });
    return found;
}

namespace {

using IsClock = bool(const ScriptModule& script, const std::string& intrinsic);

// Returns whether the expression has a clock that is one of `which`.
bool has_clock(const ScriptModule& script, program::Expression& expression, IsClock* which) {
    bool found = false;
    std::function<void(program::Expression&)> look = [&](program::Expression& node) {
        if (node.kind != ExpressionKind::Call)
            return;
        const auto& call = program::as<program::Call>(node);
        found |= which(script, call.function->intrinsic);
        if (only_value(call))
            program::walk_expressions(*call.function->body, look);
    };
    program::walk_expressions(expression, look);
    return found;
}

bool has_clock(const ScriptModule& script, const Variant& variant, IsClock* which) {
    bool found = variant.probe->condition && has_clock(script, *variant.probe->condition, which);
    program::walk_expressions(*variant.probe->body, [&](program::Expression& node) {
        found |= node.kind == ExpressionKind::Call && has_clock(script, node, which);
    });
    return found;
}

bool is_called_clock(const ScriptModule& script, const std::string& intrinsic) {
    return is_clock(script, intrinsic) && !is_read_inline(script, intrinsic);
}

} // namespace

bool calls_often(const ScriptModule& script, const Variant& variant) {
    const std::set<const program::Global*>& shrinking = script.contexts.shrinking;
    bool found = has_clock(script, variant, is_called_clock);
    program::walk_statements(*variant.probe->body, [&](program::Statement& node) {
        found |= node.kind == StatementKind::Delete;
    });
    program::walk_expressions(*variant.probe->body, [&](program::Expression& node) {
        const program::Expression* place = program::assigned_place(node);
        found |= place && place->kind == ExpressionKind::GlobalValue &&
                 shrinking.count(program::as<program::GlobalValue>(*place).global);
    });
    return found;
}

bool may_be_nested(const ScriptModule& script, const Variant& variant) {
    return may_fault(variant) || has_clock(script, variant, is_clock);
}

bool entry_calls_often(const ScriptModule& script, const Variant& variant) {
    const auto& values = variant.probe->entry_values;
    return std::any_of(values.begin(), values.end(), [&](const program::ExpressionPtr& value) {
        return has_clock(script, *value, is_called_clock);
    });
}

bool sets_return_value(const Variant& variant) {
    bool found = false;
    program::walk_expressions(*variant.probe->body, [&](program::Expression& node) {
        const program::Expression* place = program::assigned_place(node);
        found |= place && place->kind == ExpressionKind::TargetValue &&
                 program::as<program::TargetValue>(*place).name == "$return";
    });
    return found;
}

} // namespace djstap::codegen
