// SPDX-License-Identifier: GPL-2.0-or-later
// Resolves the target variables of one body at one candidate.
#pragma once
#include "probes/target_values.h"

#include <optional>
#include <set>
#include <vector>

namespace djstap {

// $value of a procfs probe: the only variable that semantics types as a string.
bool is_file_text(const program::TargetValue& node);

// Returns whether it needs debug information.
bool is_typed(const program::Expression& node);

// Skips code that @defined keeps from running, so that its variables need not exist.
class BodyResolver {
  public:
    // `entry_values`: those of a return probe.
    BodyResolver(const VariableScope& scope, AccessMap& accesses, DefinedMap& defined,
                 bool skip_bad, const std::vector<program::ExpressionPtr>* entry_values = nullptr)
        : scope_(scope), accesses_(accesses), defined_(defined), skip_bad_(skip_bad),
          entry_values_(entry_values) {}

    void statement(program::Statement& node);
    void expression(program::Expression& node);
    const std::vector<AccessError>& errors() const { return errors_; }
    // Variables of earlier kernels that were found by today's names: warnings.
    const std::vector<AccessError>& former() const { return former_; }

  private:
    AccessResult resolve(const program::TargetValue& node);
    AccessResult counter(const program::TargetValue& node) const;
    void value(const program::TargetValue& node);
    bool is_defined(program::Expression& operand);
    // Returns a number that is already known: one that consists of literals and @defined.
    std::optional<int64_t> constant(const program::Expression& node) const;

    const VariableScope& scope_;
    AccessMap& accesses_;
    DefinedMap& defined_;
    bool skip_bad_;
    const std::vector<program::ExpressionPtr>* entry_values_;
    std::set<uint32_t> entries_seen_;
    std::vector<AccessError> errors_, former_;
};

} // namespace djstap
