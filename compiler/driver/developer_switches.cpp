// SPDX-License-Identifier: GPL-2.0-or-later
#include "driver/developer_switches.h"

#include <cstdlib>
#include <string_view>

namespace djstap {

namespace {

std::string_view value_of(const char* variable) {
    const char* value = getenv(variable);
    return value ? value : "";
}

std::optional<HandlerForms> forms_by_name(std::string_view name) {
    if (name.empty())
        return HandlerForms::Chosen;
    if (name == "called")
        return HandlerForms::Called;
    if (name == "context")
        return HandlerForms::Context;
    if (name == "separate")
        return HandlerForms::Separate;
    return std::nullopt;
}

} // namespace

std::optional<Failure> apply_switches(CodegenOptions& options, const CodegenKernel& kernel) {
    options.sanitize = value_of("DJSTAP_SANITIZE") == "1" && !kernel.user_space;
    if (options.sanitize && kernel.sanitizer == Sanitizer::None)
        return Failure{"the kernel " + kernel.release + " has no sanitizer",
                       "DJSTAP_SANITIZE requires CONFIG_KASAN_GENERIC or CONFIG_KCSAN"};
    const std::string_view name = value_of("DJSTAP_HANDLER_FORMS");
    const auto forms = forms_by_name(name);
    if (!forms)
        return Failure{"handlers have no form " + std::string(name),
                       "DJSTAP_HANDLER_FORMS may be called, context or separate"};
    options.forms = *forms;
    return std::nullopt;
}

} // namespace djstap
