// Which mechanism a site gets, and the reason for it.
#pragma once
#include "probes/plan.h"
#include "target/target.h"

#include <optional>
#include <string>

namespace djstap {

struct MechanismChoice {
    Mechanism mechanism = Mechanism::None;
    std::string reason;
    uint64_t address = 0;  // link-time: what is patched or probed
    uint64_t fallback = 0; // djprobe: the instruction after the fentry site
    std::string refusal;   // not empty: no mechanism, and why
};

// For the entry of the function at `entry`. `forced`: that mechanism or none.
MechanismChoice choose_for_entry(const Target& target, uint64_t entry,
                                 std::optional<Mechanism> forced);
// For the return of the function at `entry`.
MechanismChoice choose_for_return(const Target& target, uint64_t entry,
                                  std::optional<Mechanism> forced);
// For the instruction at `address`.
MechanismChoice choose_for_instruction(const Target& target, uint64_t address,
                                       std::optional<Mechanism> forced);

// "djprobe", "kprobe-int3" … as --mechanism takes them.
std::optional<Mechanism> mechanism_by_name(std::string_view name);
std::vector<std::string> mechanism_names();

} // namespace djstap
