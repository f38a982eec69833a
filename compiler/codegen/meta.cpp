// SPDX-License-Identifier: GPL-2.0-or-later
#include "codegen/meta.h"

#include "include/control.h"
#include "include/record.h"

#include <llvm/Support/ConvertUTF.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

namespace djstap::codegen {

namespace {

constexpr std::pair<const char*, uint32_t> field_names[] = {
#define FIELD(name, bit) {#name, bit},
    DJS_EVENT_FIELDS(FIELD)
#undef FIELD
};

// input.char and input.line are probes of this file: the session writes its standard input to it.
bool takes_input(const Site& site) {
    return site.point.starts_with("procfs(\"__stdin\").write");
}

// A string of a script may contain any bytes, one of JSON only UTF-8.
bool is_utf8(const std::string& text) {
    const auto* begin = reinterpret_cast<const llvm::UTF8*>(text.data());
    return llvm::isLegalUTF8String(&begin, begin + text.size());
}

// ModuleMeta::Global
nlohmann::json description_of(const program::Global& global) {
    using program::Type;
    const char* value = global.value == Type::Long     ? "number"
                        : global.value == Type::String ? "text"
                                                       : "statistic";
    return {
        {"name", global.name},
        {"adds_up", global.adds_up ? 1 : 0},
        {"initial", global.initial_number},
        {"value", value},
        {"keys", global.keys.size()},
        {"histogram", global.value == Type::Statistic &&
                              global.statistic.histogram != program::StatisticNeeds::Histogram::None
                          ? 1
                          : 0},
        {"description", global.description}};
}

} // namespace

std::string describe(const ScriptModule& script) {
    // A pattern may have tens of thousands of sites: the description contains the first ones and
    // their number.
    constexpr size_t listed_sites = 200;
    using nlohmann::json;
    json formats = json::array();
    formats.get_ref<json::array_t&>().resize(script.formats().size());
    for (const auto& [format, index] : script.formats()) {
        formats[index] = {{"text", format.text}, {"types", format.types}};
        if (!is_utf8(format.text))
            formats[index]["bytes"] = std::vector<uint8_t>(format.text.begin(), format.text.end());
        if (!format.shows.empty())
            formats[index].update({{"shows", format.shows}, {"keys", format.keys}});
        if (format.in_snapshot)
            formats[index]["in_snapshot"] = 1;
    }
    json probes = json::array();
    for (const Site& site : script.plan.sites) {
        if (probes.size() == listed_sites)
            break;
        probes.push_back({{"point", site.point},
                          {"mechanism", mechanism_name(site.mechanism)},
                          {"reason", site.reason},
                          {"function", site.function}});
    }
    json out = {{"version", 1},
                {"abi", DJS_ABI_VERSION},
                {"name", script.options.module_name},
                {"script", script.options.script_name},
                {"release", script.kernel.release},
                {"kernel_version", script.kernel.version},
                {"build_id", script.kernel.image.build_id},
                {"formats", formats},
                {"places", script.places()},
                {"sites", script.plan.sites.size()},
                {"probes", probes},
                {"max_skipped", script.options.limits.MAXSKIPPED},
                {"max_speculations", script.options.limits.MAXSPECULATIONS}};
    json globals = json::array();
    for (const auto& global : script.program.globals)
        if (global->is_published)
            globals.push_back(description_of(*global));
    if (!globals.empty())
        out["globals"] = globals;
    if (std::any_of(script.plan.sites.begin(), script.plan.sites.end(), takes_input))
        out["takes_input"] = 1;
    if (script.options.lines)
        out["lines"] = 1;
    if (script.options.event_fields) {
        out["version"] = 2;
        json& fields = out["fields"] = json::array();
        for (const auto& [name, bit] : field_names)
            if (script.records(bit))
                fields.push_back(name);
    }
    if (script.records(DJS_EVENT_PROBE)) {
        json& points = out["points"] = json::array();
        for (const Site& site : script.plan.sites)
            points.push_back(script.plan.variants[site.variant].probe->effects.prints ? site.point
                                                                                      : "");
    }
    return out.dump(-1, ' ', false, json::error_handler_t::replace);
}

} // namespace djstap::codegen
