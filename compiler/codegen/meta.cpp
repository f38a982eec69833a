// SPDX-License-Identifier: GPL-2.0-or-later
#include "codegen/meta.h"

#include "include/control.h"

#include <nlohmann/json.hpp>

namespace djstap::codegen {

std::string describe(const ScriptModule& script) {
    // A pattern may have tens of thousands of sites: the description contains the first ones and
    // their number.
    constexpr size_t listed_sites = 200;
    using nlohmann::json;
    json formats = json::array();
    formats.get_ref<json::array_t&>().resize(script.formats().size());
    for (const auto& [format, index] : script.formats()) {
        formats[index] = {{"text", format.text}, {"types", format.types}};
        if (!format.shows.empty())
            formats[index].update({{"shows", format.shows}, {"keys", format.keys}});
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
    return out.dump(-1, ' ', false, json::error_handler_t::replace);
}

} // namespace djstap::codegen
