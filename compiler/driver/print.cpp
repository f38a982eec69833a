// What a run prints that ends after pass 1, 2, 3 or 4.
#include "driver/passes.h"

#include <cstdio>

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

void print(const program::Global& global) {
    std::string text = global.name;
    if (global.wrap)
        text += '%';
    if (global.is_array()) {
        text += '[';
        for (size_t i = 0; i < global.keys.size(); i++)
            text += (i ? ", " : "") + std::string(type_name(global.keys[i]));
        text += ']';
    }
    printf("%s:%s  # %s\n", text.c_str(), type_name(global.value), storage_name(global.storage));
}

void print(const program::Function& function) {
    std::string text = function.name + ":" + type_name(function.return_type) + " (";
    for (uint32_t i = 0; i < function.parameter_count; i++)
        text +=
            (i ? ", " : "") + function.locals[i].name + ":" + type_name(function.locals[i].type);
    printf("%s)\n", text.c_str());
}

} // namespace

std::string describe_site(const std::string& point, Mechanism mechanism,
                          const std::string& reason) {
    if (mechanism == Mechanism::None)
        return point;
    return point + "  # " + std::string(mechanism_name(mechanism)) +
           (reason.empty() ? "" : ": " + reason);
}

void print_script(const RunState& state) {
    std::string text = ast::print(*state.script);
    fwrite(text.data(), 1, text.size(), stdout);
}

void print_plan(const RunState& state) {
    if (!state.program->globals.empty()) {
        puts("# globals");
        for (const auto& global : state.program->globals)
            print(*global);
    }
    if (!state.program->functions.empty()) {
        puts("# functions");
        for (const auto& function : state.program->functions)
            print(*function);
    }
    puts("# probes");
    for (const Site& site : state.plan->sites)
        puts(describe_site(site.point, site.mechanism, site.reason).c_str());
}

void print_ir(const RunState& state) {
    fwrite(state.object->ir.data(), 1, state.object->ir.size(), stdout);
}

void print_module(const RunState& state) {
    puts(state.module_path.c_str());
}

} // namespace djstap::driver
