// SPDX-License-Identifier: GPL-2.0-or-later
// The output of a run that ends after pass 1, 2, 3 or 4.
#include "diagnostics/plain_text.h"
#include "driver/passes.h"

namespace djstap::driver {

namespace {

const char* type_name(program::Type type) {
    switch (type) {
    case program::Type::Void:
        return "void";
    case program::Type::Long:
        return "long";
    case program::Type::String:
        return "string";
    case program::Type::Statistic:
        return "stats";
    case program::Type::Stack:
        return "stack";
    }
    return "unknown";
}

const char* storage_name(program::Storage storage) {
    switch (storage) {
    case program::Storage::PerCpu:
        return "a copy on each CPU";
    case program::Storage::Locked:
        return "locked";
    case program::Storage::Constant:
        return "constant";
    }
    return "unknown";
}

std::string describe(const program::Global& global) {
    std::string text = global.name;
    if (global.wrap)
        text += '%';
    if (global.is_array()) {
        text += '[';
        for (size_t i = 0; i < global.keys.size(); i++)
            text += (i ? ", " : "") + std::string(type_name(global.keys[i]));
        text += ']';
    }
    return text + ":" + type_name(global.value) + "  # " + storage_name(global.storage);
}

std::string describe(const program::Function& function) {
    std::string text = function.name + ":" + type_name(function.return_type) + " (";
    for (uint32_t i = 0; i < function.parameter_count; i++)
        text +=
            (i ? ", " : "") + function.locals[i].name + ":" + type_name(function.locals[i].type);
    return text + ")";
}

} // namespace

std::string describe_site(const std::string& point, Mechanism mechanism,
                          const std::string& reason) {
    if (mechanism == Mechanism::None)
        return point;
    return point + "  # " + std::string(mechanism_name(mechanism)) +
           (reason.empty() ? "" : ": " + reason);
}

void print_script(Invocation& invocation, const ParsedScript& parsed) {
    invocation.output().writer().append(ast::print(parsed.file));
}

void print_plan(Invocation& invocation, const ResolvedScript& resolved) {
    if (!resolved.script.program.globals.empty()) {
        invocation.output().line("# globals");
        for (const auto& global : resolved.script.program.globals)
            invocation.output().line(describe(*global));
    }
    if (!resolved.script.program.functions.empty()) {
        invocation.output().line("# functions");
        for (const auto& function : resolved.script.program.functions)
            invocation.output().line(describe(*function));
    }
    invocation.output().line("# probes");
    for (const Site& site : resolved.plan.sites) {
        const bool added = resolved.plan.variants[site.variant].probe->synthetic;
        std::string text = describe_site(site.point, site.mechanism,
                                         site.reason + (site.jump.empty() ? "" : "; " + site.jump));
        if (added) // it prints globals that are not read, times of probes, or what --monitor shows
            text +=
                std::string(site.mechanism == Mechanism::None ? "  # " : "; ") + "added by djstap";
        invocation.output().line(without_controls(text));
    }
}

void print_ir(Invocation& invocation, const GeneratedScript& generated) {
    invocation.output().writer().append(generated.object.ir);
}

void print_module(Invocation& invocation, const RunnableScript& runnable) {
    invocation.output().line(runnable.module_path);
}

} // namespace djstap::driver
