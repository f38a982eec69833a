// SPDX-License-Identifier: GPL-2.0-or-later
// Which mechanism a site gets, and the reason for it.
#pragma once
#include "image/image.h"
#include "probes/plan.h"
#include "probes/return_safety.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace djstap {

// The length of the instruction that the compiler put at an fentry site: call rel32, or its nop.
constexpr uint64_t fentry_bytes = 5;

struct MechanismChoice {
    Mechanism mechanism = Mechanism::None;
    std::string reason;
    uint64_t address = 0;  // link-time: what is patched or probed
    uint64_t fallback = 0; // as in Site
    std::string refusal;   // not empty: no mechanism, and why
    bool never = false;    // of a refusal: another mechanism would be refused, too
};

// For the entry of the function at `entry`. `forced`: that mechanism or none. `symbol`: its name,
// which is all there is where addresses are hidden.
MechanismChoice choose_for_entry(const Image& image, uint64_t entry,
                                 std::optional<Mechanism> forced, bool all_registers = false,
                                 std::string_view symbol = {});
// For the return of the function at `entry`. `safety` is what is known of it, or a reason of the
// probe's own why it cannot have a return djprobe.
MechanismChoice choose_for_return(const Image& image, uint64_t entry, const ReturnSafety& safety,
                                  std::optional<Mechanism> forced, std::string_view symbol = {});
// For the instruction at `address`.
MechanismChoice choose_for_instruction(const Image& image, uint64_t address,
                                       std::optional<Mechanism> forced);

// "djprobe", "kprobe-int3" … as --mechanism takes them.
std::optional<Mechanism> mechanism_by_name(std::string_view name);
std::vector<std::string> mechanism_names();

} // namespace djstap
