// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <optional>

#include "codegen/codegen.h"
#include "diagnostics/result.h"

namespace djstap {

// Applies the environment variables by which developers change what is generated:
// DJSTAP_SANITIZE=1: the kernel's sanitizer checks the handlers, too;
// DJSTAP_HANDLER_FORMS=called, context or separate: see HandlerForms.
// Yields why that is impossible; nothing if it is not.
std::optional<Failure> apply_switches(CodegenOptions& options, const CodegenKernel& kernel);

} // namespace djstap
