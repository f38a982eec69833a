// SPDX-License-Identifier: GPL-2.0-or-later
#include "inprocess/check.h"

#include "semantics/walk.h"
#include "userspace/userspace.h"

#include <algorithm>
#include <utility>

namespace djstap {

using program::ExpressionKind;
using program::StatementKind;

namespace {

class Check {
  public:
    Check(UserRuntime runtime, Diagnostics& diagnostics)
        : runtime_(runtime), diagnostics_(diagnostics) {}

    void body(program::Block& block) {
        has_register_ = false;
        expressions(block);
        program::walk_statements(block, [this](program::Statement& node) {
            if (node.kind == StatementKind::EmbeddedStatement)
                refuse("C code", node.range);
        });
    }
    void probe(program::Probe& probe) {
        without_variables_ =
            std::all_of(probe.point_traits.begin(), probe.point_traits.end(),
                        [](uint32_t traits) { return (traits & PointNeedsNoKernel) != 0; });
        in_program_ = !without_variables_;
        body(*probe.body);
        for (const auto& value : probe.entry_values) // the body only refers to them
            expressions(*value);
        in_program_ = false;
        if (probe.condition)
            expressions(*probe.condition);
        without_variables_ = false;
    }
    void expression(const program::Expression& node) {
        switch (node.kind) {
        case ExpressionKind::Call:
            call(program::as<program::Call>(node));
            break;
        case ExpressionKind::TargetValue:
            target_value(program::as<program::TargetValue>(node));
            break;
        case ExpressionKind::Register:
            if (!std::exchange(has_register_, true))
                refuse("a register", node.range);
            break;
        case ExpressionKind::EmbeddedC:
            refuse("C code", node.range);
            break;
        case ExpressionKind::Assignment:
            written(*program::as<program::Assignment>(node).place);
            break;
        case ExpressionKind::Increment:
            written(*program::as<program::Increment>(node).place);
            break;
        default:
            break;
        }
    }

  private:
    // Of a block or an expression.
    template <typename Node> void expressions(Node& root) {
        program::walk_expressions(root, [this](program::Expression& node) { expression(node); });
    }
    // In a probe of a program's function, what names no file is the program's; <…> is a header.
    bool is_of_program(const program::TargetValue& node) const {
        using Base = program::TargetValue::Base;
        return (node.base == Base::GlobalVariable || node.base == Base::Cast) &&
               (node.module.empty() ? in_program_
                                    : node.module.find('/') != std::string::npos &&
                                          node.module.find('<') == std::string::npos);
    }
    void written(const program::Expression& place) {
        if (runtime_ == UserRuntime::InProgram && in_program_ &&
            place.kind == ExpressionKind::TargetValue)
            refuse("writing to '" + std::string(diagnostics_.sources().text(place.range)) + "'",
                   place.range);
    }
    void program_value(const program::TargetValue& node) {
        if (!in_program_)
            diagnostics_
                .report(DiagnosticKind::TargetNotAvailable, node.range,
                        {std::string(diagnostics_.sources().text(node.range)),
                         "this function or probe",
                         "with --runtime=process, variables and types of a program are known only "
                         "in probes of its functions"})
                .hint("read the value there, and pass it on as an argument or in a global");
    }
    void target_value(const program::TargetValue& node) {
        using Base = program::TargetValue::Base;
        // Target variables of other probe points are reported at the point.
        if (node.base == Base::Variable && without_variables_)
            diagnostics_.report(DiagnosticKind::NoTargetVariables, node.range,
                                {node.name, "this probe point"});
        else if (runtime_ == UserRuntime::InProgram && is_of_program(node))
            program_value(node);
        else if (node.base == Base::GlobalVariable)
            refuse("a variable of the kernel", node.range);
        else if (node.base == Base::PerfCounter)
            refuse("a perf event", node.range);
        else if (node.base == Base::Enumerator)
            refuse("an enumerator of the kernel", node.range);
        else if (node.base != Base::Variable)
            refuse("a type of the kernel", node.range);
    }
    void call(const program::Call& node) {
        const program::Function& function = *node.function;
        if (!function.embedded.empty())
            refuse(function.name + "(), which is C code,", node.range);
        else if (!function.intrinsic.empty() &&
                 !djs_user_symbol(("djs_fn_" + function.intrinsic).c_str()))
            refuse(function.name + "()", node.range);
    }
    void refuse(const std::string& what, SourceRange range) {
        const bool in_djstap = runtime_ == UserRuntime::InDjstap;
        const std::string name = in_djstap ? "user" : "process";
        diagnostics_.report(DiagnosticKind::NeedsKernel, range, {what, name})
            .hint("omit --runtime=" + name + " to run the script as a kernel module" +
                  (in_djstap ? "; --guest needs no root" : ", which needs root"));
    }

    const UserRuntime runtime_;
    Diagnostics& diagnostics_;
    bool without_variables_ = false;
    bool has_register_ = false; // register() of the library names all of them
    bool in_program_ = false;   // with "process": in a handler that runs in the program
};

} // namespace

bool check_for_user_space(program::Program& program, UserRuntime runtime,
                          Diagnostics& diagnostics) {
    const size_t errors = diagnostics.error_count();
    Check check(runtime, diagnostics);
    for (const auto& function : program.functions)
        if (function->body)
            check.body(*function->body);
    for (const auto& probe : program.probes)
        check.probe(*probe);
    return diagnostics.error_count() == errors;
}

} // namespace djstap
