// SPDX-License-Identifier: GPL-2.0-or-later
// Accesses to values as text.
#pragma once
#include "probes/plan.h"

#include <string>

namespace djstap {

// How a number is had: "rdi +8 load4s", and so on.
inline std::string steps_of(const Access& access) {
    std::string text;
    switch (access.base) {
    case Access::Base::Register:
        text = "register " + std::to_string(static_cast<int>(access.reg));
        break;
    case Access::Base::ReturnValue:
        text = "return";
        break;
    case Access::Base::Constant:
        text = "constant " + std::to_string(access.constant);
        break;
    case Access::Base::ImageAddress:
        text = "address";
        break;
    case Access::Base::PerCpu:
        text = "per CPU";
        break;
    case Access::Base::Operand:
        text = "operand";
        break;
    default:
        text = "other";
    }
    for (const AccessStep& step : access.steps) {
        const std::string sign = step.is_signed ? "s" : "u";
        if (step.kind == AccessStep::Kind::Add)
            text += " +" + std::to_string(step.amount);
        else if (step.kind == AccessStep::Kind::AddIndex)
            text += " +index*" + std::to_string(step.amount);
        else if (step.kind == AccessStep::Kind::Load)
            text += " load" + std::to_string(step.size) + sign;
        else if (step.kind == AccessStep::Kind::Extend)
            text += " extend" + std::to_string(step.size) + sign;
        else if (step.kind == AccessStep::Kind::Widen)
            text += " widen";
        else
            text += " bits" + std::to_string(step.bit_offset) + "+" +
                    std::to_string(step.bit_size) + sign;
    }
    return text;
}

} // namespace djstap
