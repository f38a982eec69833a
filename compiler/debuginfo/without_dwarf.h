// SPDX-License-Identifier: GPL-2.0-or-later
// What is the same wherever there is no DWARF: nothing is known of lines, inlining, labels, calls.
#pragma once
#include "debuginfo/debuginfo.h"

namespace djstap {

class WithoutDwarf : public DebugInfo {
  public:
    explicit WithoutDwarf(const Image& image) : image_(image) {}

    const Image& image() const override { return image_; }
    bool has_dwarf() const override { return false; }
    std::vector<std::string> similar_variables(std::string_view) const override { return {}; }
    bool only_inlined(std::string_view) const override { return false; }
    std::vector<StatementAddress> inlined(const FunctionPattern&,
                                          const PlaceFilter&) const override {
        return {};
    }
    size_t inlined_count(const FunctionPattern&) const override { return 0; }
    std::vector<Variable> variables_of_inlined(const StatementAddress&) const override {
        return {};
    }
    std::optional<StatementAddress> inlined_at(uint64_t) const override { return std::nullopt; }
    std::vector<LabelAddress> labels(const FunctionPattern&, std::string_view) const override {
        return {};
    }
    CallSites calls(const CallerScope&) const override { return {}; }

  protected:
    const Image& image_;
};

} // namespace djstap
