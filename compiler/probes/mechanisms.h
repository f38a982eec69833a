// SPDX-License-Identifier: GPL-2.0-or-later
// Selects the mechanism of a site, with the reason.
#pragma once
#include "image/image.h"
#include "probes/plan.h"
#include "probes/return_safety.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace djstap {

// The size of the compiler's instruction at an fentry site: call rel32, or its no-op.
constexpr uint64_t fentry_bytes = 5;

struct MechanismChoice {
    Mechanism mechanism = Mechanism::None;
    std::string reason;
    uint64_t address = 0;  // link-time: where it is patched or probed
    uint64_t fallback = 0; // as in Site
    std::string refusal;   // not empty: the reason why there is no mechanism
    std::string hint;      // for a refusal: what to write instead
    bool never = false;    // for a refusal: other mechanisms would be refused, too
};

// Code that is freed after the boot or after a module's initialization is never probed: it is gone,
// or its place is unknown.
bool is_gone(const Image& image, uint64_t address);
inline constexpr const char* gone = "it is initialization code, which the kernel frees after boot";

// For the entry of the function at `entry`. `forced`: only that mechanism. `all_registers`: the
// handler needs some that a direct call does not save. `symbol`: the
// function's name, which is all that is known if addresses are hidden.
MechanismChoice choose_for_entry(const Image& image, uint64_t entry,
                                 std::optional<Mechanism> forced, bool all_registers,
                                 std::string_view symbol = {});
// For the return of the function at `entry`. `safety` is what is known about it, or the probe's own
// reason against a return djprobe.
MechanismChoice choose_for_return(const Image& image, uint64_t entry, const ReturnSafety& safety,
                                  std::optional<Mechanism> forced, std::string_view symbol = {});
// For the instruction at `address`.
MechanismChoice choose_for_instruction(const Image& image, uint64_t address,
                                       std::optional<Mechanism> forced);

// Parse and return "djprobe", "kprobe-int3" …, the values of --mechanism.
std::optional<Mechanism> mechanism_by_name(std::string_view name);
std::vector<std::string> mechanism_names();

// Returns whether a program is written in Go, which copies stacks, and finds the callers of
// functions by their return addresses.
bool is_go(const Image& program);

} // namespace djstap
