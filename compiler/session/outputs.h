// SPDX-License-Identifier: GPL-2.0-or-later
// The functions that the files of single outputs define: make_NAME_output() for each row of
// outputs.def.
#pragma once
#include "session/output.h"

namespace djstap {

#define OUTPUT(name, title, unit, ...)                                                             \
    std::unique_ptr<Output> make_##name##_output(const OutputStreams& streams);
#include "session/outputs.def"
#undef OUTPUT

} // namespace djstap
