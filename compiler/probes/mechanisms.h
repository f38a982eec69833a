// Which mechanism a site gets, and the reason for it.
#pragma once
#include "probes/plan.h"
#include "probes/return_safety.h"
#include "target/target.h"

#include <optional>
#include <string>

namespace djstap {

// The length of the instruction that the compiler put at an fentry site: call rel32, or its nop.
constexpr uint64_t fentry_bytes = 5;

struct MechanismChoice {
    Mechanism mechanism = Mechanism::None;
    std::string reason;
    uint64_t address = 0;  // link-time: what is patched or probed
    uint64_t fallback = 0; // as in Site
    std::string refusal;   // not empty: no mechanism, and why
};

// For the entry of the function at `entry`. `forced`: that mechanism or none.
MechanismChoice choose_for_entry(const Target& target, uint64_t entry,
                                 std::optional<Mechanism> forced, bool all_registers = false);
// For the return of the function at `entry`. `safety` is what is known of it, or a reason of the
// probe's own why it cannot have a return djprobe.
MechanismChoice choose_for_return(const Target& target, uint64_t entry, const ReturnSafety& safety,
                                  std::optional<Mechanism> forced);
// For the instruction at `address`.
MechanismChoice choose_for_instruction(const Target& target, uint64_t address,
                                       std::optional<Mechanism> forced);

// "djprobe", "kprobe-int3" … as --mechanism takes them.
std::optional<Mechanism> mechanism_by_name(std::string_view name);
std::vector<std::string> mechanism_names();

} // namespace djstap
