// SPDX-License-Identifier: GPL-2.0-or-later
// Random programs: well typed, without endless loops, and the same everywhere for a given seed.
#pragma once
#include "interpreter.h"
#include "markup.h"

#include <cstdint>
#include <string>

namespace djstap::differential {

struct RandomProgram {
    std::string marked; // two texts in one: markup.h
    Rules rules;
    std::string script() const { return script_of(marked); }
    std::string meaning() const { return meaning_of(marked); }
};
// `portable`: nothing that SystemTap leaves undefined (the order of operands), that its version 4.8
// does not support (>>>, assignments as keys), or that has another meaning in djstap
// (docs/language.md, "Where djstap differs from SystemTap").
RandomProgram generate_program(uint64_t seed, bool portable = false);

} // namespace djstap::differential
