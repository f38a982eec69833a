// SPDX-License-Identifier: GPL-2.0-or-later
// Builds the access to a value: from a variable's location, through members and indexes, to a
// number.
#pragma once
#include "debuginfo/debuginfo.h"
#include "diagnostics/diagnostic.h"
#include "probes/plan.h"

#include <functional>
#include <optional>
#include <string>

namespace djstap {

// Why a value is unavailable: reported, except in @defined.
struct AccessError {
    DiagnosticKind kind{};
    SourceRange range;
    std::string first, second, third; // the diagnostic's arguments
    std::string hint;
};

class AccessBuilder {
  public:
    // `number_of` returns the number (ProbePlan::images) of an image that a value turns out to lie
    // in.
    using NumberOf = std::function<uint32_t(const Image&)>;
    AccessBuilder(const DebugInfo& info, NumberOf number_of)
        : info_(info), number_of_(std::move(number_of)) {
        access_.space = info.image().address_space();
    }

    // Each step returns false and sets error() if it is not possible.
    bool start(const Location& location, TypeId type, const std::string& name,
               const std::string& where, SourceRange range);
    void start_value(Access::Base base, TypeId type, const program::Expression* operand = nullptr);
    // The operand is the address of something of this type; `of_first`: of the first of several,
    // one of which the next index() selects.
    void start_pointer_to(TypeId type, const program::Expression* operand, bool of_first = false);
    bool member(const std::string& name, SourceRange range);
    // For a structure in memory, with the result of DebugInfo::members(): for members without a
    // name.
    bool member(const CMember& member);
    bool index(const program::Expression* index, SourceRange range);
    // Completes the value: a number or an address (arrays, structures, and everything with
    // `address_of`).
    bool finish(bool address_of, SourceRange range);

    const Access& access() const { return access_; }
    const AccessError& error() const { return error_; }
    TypeId type() const { return type_; }
    const DebugInfo& info() const { return info_; }
    // Returns "its members are mnt, dentry" if type() is a structure or a union.
    std::string members_hint() const;
    bool in_memory() const { return is_address_; }
    // Returns whether it is a structure or an array that is not in memory.
    bool in_parts() const { return in_parts_; }

  private:
    bool fail(DiagnosticKind kind, SourceRange range, std::string first, std::string second = {},
              std::string hint = {});
    std::vector<std::string> member_names() const;
    // Loads a pointer that is in memory into the accumulator.
    bool load_pointer(SourceRange range);
    bool start_at(const Location& location, SourceRange range);
    bool check_address(uint64_t address, SourceRange range);
    // Positions the accumulator at the `size` bytes of a value in registers that are meant.
    bool take_part(uint64_t size, SourceRange range);

    const DebugInfo& info_;
    NumberOf number_of_;
    Access access_;
    AccessError error_;
    TypeId type_ = 0;
    bool of_first_ = false;
    bool is_address_ = false; // the accumulator is the address of the value
    uint32_t bit_offset_ = 0, bit_size_ = 0;
    // A structure or an array outside memory: the accumulator holds all of it, or `pieces_` do. The
    // value is its part at part_offset_.
    bool in_parts_ = false;
    uint64_t part_offset_ = 0, whole_size_ = 0;
    std::vector<LocationPiece> pieces_;
    std::string name_, where_; // for messages
};

// Returns a string that is equal for equal accesses: finds handlers that can be shared.
std::string fingerprint(const Access& access);
std::string fingerprint(const TargetAccess& access);
std::string fingerprint(const Callers& callers);

} // namespace djstap
