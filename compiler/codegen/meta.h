// SPDX-License-Identifier: GPL-2.0-or-later
// Describes a script for its readers: JSON in the section .djstap.meta.
#pragma once
#include "codegen/script_module.h"

namespace djstap::codegen {

// Formats, places, probes with their mechanism and the reason for it. Readers: compiler/session.
std::string describe(const ScriptModule& script);

} // namespace djstap::codegen
