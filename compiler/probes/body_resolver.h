// SPDX-License-Identifier: GPL-2.0-or-later
// The target values of one body, resolved at one candidate.
#pragma once
#include "probes/target_values.h"

#include <optional>
#include <set>
#include <vector>

namespace djstap {

// $value of a procfs probe: semantics types no other variable as a text.
bool is_file_text(const program::TargetValue& node);

// Whether debug information is needed for it.
bool is_typed(const program::Expression& node);

// Code that @defined keeps from running is not looked at, so that its variables need not exist.
class BodyResolver {
  public:
    // `entry_values`: of a return probe.
    BodyResolver(const VariableScope& scope, AccessMap& accesses, DefinedMap& defined,
                 bool skip_bad, const std::vector<program::ExpressionPtr>* entry_values = nullptr)
        : scope_(scope), accesses_(accesses), defined_(defined), skip_bad_(skip_bad),
          entry_values_(entry_values) {}

    void statement(program::Statement& node);
    void expression(program::Expression& node);
    const std::vector<AccessError>& errors() const { return errors_; }

  private:
    AccessResult resolve(const program::TargetValue& node);
    AccessResult counter(const program::TargetValue& node) const;
    void value(const program::TargetValue& node);
    bool is_defined(program::Expression& operand);
    // The value of a condition that is known now.
    std::optional<bool> constant(const program::Expression& node) const;

    const VariableScope& scope_;
    AccessMap& accesses_;
    DefinedMap& defined_;
    bool skip_bad_;
    const std::vector<program::ExpressionPtr>* entry_values_;
    std::set<uint32_t> entries_seen_;
    std::vector<AccessError> errors_;
};

} // namespace djstap
