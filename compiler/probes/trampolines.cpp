// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/trampolines.h"

#include "include/mechanisms.h"
#include "probes/mechanisms.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace djstap {

namespace {

bool is_direct(const Site& site) {
    return mechanism_can(site.mechanism, DJS_IS_DIRECT);
}

} // namespace

bool Trampoline::returns(const ProbePlan& plan) const {
    return std::any_of(variants.begin(), variants.end(), [&](uint32_t variant) {
        return plan.variants[variant].kind == HandlerKind::Return;
    });
}

void choose_trampolines(ProbePlan& plan) {
    std::map<std::pair<uint32_t, uint64_t>, std::vector<uint32_t>> sites_at; // image, address
    for (uint32_t i = 0; i < plan.sites.size(); i++)
        if (is_direct(plan.sites[i]))
            sites_at[{plan.sites[i].image, plan.sites[i].address}].push_back(i);

    // A trampoline that calls a function of a module has no other functions: its call is pointed at
    // the function when the module is loaded.
    using Key = std::tuple<std::vector<uint32_t>, uint32_t, uint64_t>;
    std::map<Key, uint32_t> known;
    for (uint32_t i = 0; i < plan.sites.size(); i++) {
        if (!is_direct(plan.sites[i]))
            continue;
        const std::vector<uint32_t>& sites = sites_at[{plan.sites[i].image, plan.sites[i].address}];
        if (sites.front() != i)
            continue;
        Trampoline trampoline;
        for (uint32_t site : sites)
            trampoline.variants.push_back(plan.sites[site].variant);
        trampoline.in_module = plan.is_in_module(plan.sites[i]) && trampoline.returns(plan);
        Key key = trampoline.in_module
                      ? Key{trampoline.variants, plan.sites[i].image, plan.sites[i].address}
                      : Key{trampoline.variants, no_index, 0};
        auto [entry, added] =
            known.emplace(std::move(key), static_cast<uint32_t>(plan.trampolines.size()));
        if (added)
            plan.trampolines.push_back(std::move(trampoline));
        plan.trampolines[entry->second].functions.push_back(plan.sites[i].address + fentry_bytes);
        for (size_t k = 0; k < sites.size(); k++) {
            plan.sites[sites[k]].trampoline = entry->second;
            plan.sites[sites[k]].next = k + 1 < sites.size() ? sites[k + 1] : no_index;
        }
    }
}

} // namespace djstap
