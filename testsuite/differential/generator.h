// Random programs: well typed, without end-less loops, the same for the same seed everywhere.
#pragma once
#include "interpreter.h"

#include <cstdint>
#include <string>

namespace djstap::differential {

struct RandomProgram {
    std::string script;
    Rules rules;
};
RandomProgram generate_program(uint64_t seed);

} // namespace djstap::differential
