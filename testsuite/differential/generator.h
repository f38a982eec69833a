// Random programs: well typed, without end-less loops, the same for the same seed everywhere.
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
RandomProgram generate_program(uint64_t seed);

} // namespace djstap::differential
