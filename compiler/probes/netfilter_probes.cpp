// SPDX-License-Identifier: GPL-2.0-or-later
// netfilter.hook("NF_INET_…").pf("NFPROTO_…").priority("N"): hooks of the packet filter.
#include "probes/families.h"

#include "arch/arch.h"
#include "diagnostics/suggest.h"
#include "include/script.h"
#include "system/number.h"

#include <algorithm>
#include <array>
#include <span>

namespace djstap {

namespace {

// From the kernel's user API: linux/netfilter.h, netfilter_ipv4.h, _arp.h, _bridge.h.
struct Named {
    std::string_view name;
    int64_t value;
};
constexpr std::array families{Named{"NFPROTO_INET", 1}, Named{"NFPROTO_IPV4", 2},
                              Named{"NFPROTO_ARP", 3}, Named{"NFPROTO_BRIDGE", 7},
                              Named{"NFPROTO_IPV6", 10}};
constexpr std::array hooks{Named{"NF_INET_PRE_ROUTING", 0},  Named{"NF_INET_LOCAL_IN", 1},
                           Named{"NF_INET_FORWARD", 2},      Named{"NF_INET_LOCAL_OUT", 3},
                           Named{"NF_INET_POST_ROUTING", 4}, Named{"NF_IP_PRE_ROUTING", 0},
                           Named{"NF_IP_LOCAL_IN", 1},       Named{"NF_IP_FORWARD", 2},
                           Named{"NF_IP_LOCAL_OUT", 3},      Named{"NF_IP_POST_ROUTING", 4},
                           Named{"NF_IP6_PRE_ROUTING", 0},   Named{"NF_IP6_LOCAL_IN", 1},
                           Named{"NF_IP6_FORWARD", 2},       Named{"NF_IP6_LOCAL_OUT", 3},
                           Named{"NF_IP6_POST_ROUTING", 4},  Named{"NF_ARP_IN", 0},
                           Named{"NF_ARP_OUT", 1},           Named{"NF_ARP_FORWARD", 2},
                           Named{"NF_BR_PRE_ROUTING", 0},    Named{"NF_BR_LOCAL_IN", 1},
                           Named{"NF_BR_FORWARD", 2},        Named{"NF_BR_LOCAL_OUT", 3},
                           Named{"NF_BR_POST_ROUTING", 4}};
// Those of IPv4; IPv6 has the same with NF_IP6_.
constexpr std::array priorities{Named{"FIRST", INT32_MIN},
                                Named{"RAW_BEFORE_DEFRAG", -450},
                                Named{"CONNTRACK_DEFRAG", -400},
                                Named{"RAW", -300},
                                Named{"SELINUX_FIRST", -225},
                                Named{"CONNTRACK", -200},
                                Named{"MANGLE", -150},
                                Named{"NAT_DST", -100},
                                Named{"FILTER", 0},
                                Named{"SECURITY", 50},
                                Named{"NAT_SRC", 100},
                                Named{"SELINUX_LAST", 225},
                                Named{"CONNTRACK_HELPER", 300},
                                Named{"CONNTRACK_CONFIRM", INT32_MAX},
                                Named{"LAST", INT32_MAX}};

std::optional<int64_t> number_of(std::string_view text, std::span<const Named> names,
                                 std::initializer_list<std::string_view> prefixes = {""}) {
    int32_t number = 0;
    if (parse_number(text, number))
        return number;
    for (std::string_view prefix : prefixes)
        if (text.starts_with(prefix))
            for (const Named& each : names)
                if (each.name == text.substr(prefix.size()))
                    return each.value;
    return std::nullopt;
}

bool refuse(const ast::PointComponent& component, std::span<const Named> names,
            Resolver& resolver) {
    std::vector<std::string> known;
    for (const Named& each : names)
        known.emplace_back(each.name);
    std::string hint = did_you_mean(component.string, known);
    if (hint.empty() && !known.empty())
        hint = "known names are " + known.front() + " and similar ones";
    resolver.diagnostics
        .report(DiagnosticKind::CannotProbe, component.argument_range,
                {component.string, "netfilter has no " + component.name + " of that name"})
        .hint(hint);
    return false;
}

// Returns how many hooks a family has, 0 if there is no such family: the kernel emits a warning if
// it is asked for another one (nf_hook_entry_head in net/netfilter/core.c).
int64_t hooks_of(int64_t family) {
    constexpr int64_t arp = 3, arp_hooks = 3, all_hooks = 5;
    const bool known =
        std::ranges::any_of(families, [&](const Named& each) { return each.value == family; });
    return !known ? 0 : family == arp ? arp_hooks : all_hooks;
}

// Defines what a script sees as variables: runtime/netfilter passes them like a function's
// arguments.
void add_variables(FunctionInfo& function, const DebugInfo& info) {
    auto add = [&](const char* name, TypeId type) {
        Variable variable;
        variable.name = name;
        variable.type = type;
        variable.location.kind = LocationKind::Register;
        variable.location.reg = arch::argument_registers()[function.parameters.size()];
        variable.is_parameter = true;
        function.parameters.push_back(std::move(variable));
    };
    auto member = [&](const char* structure, const char* name) -> TypeId {
        auto type = info.type_by_name(structure);
        auto found = type ? info.member(*type, name) : std::nullopt;
        return found ? found->type : 0;
    };
    const TypeId number = info.type_by_name("unsigned int").value_or(0);
    add("hooknum", number);
    add("skb", member("struct sk_buff", "next"));
    add("in", member("struct nf_hook_state", "in"));
    add("out", member("struct nf_hook_state", "out"));
    add("verdict", number);
    add("pf", number);
}

bool resolve_netfilter(const ast::ProbePoint& point, Resolver& resolver,
                       std::vector<Candidate>& out) {
    const ast::PointComponent& hook = *find_component(point, "hook");
    const ast::PointComponent& family = *find_component(point, "pf");
    const ast::PointComponent* priority = find_component(point, "priority");
    const auto hook_number = number_of(hook.string, hooks);
    const auto family_number = number_of(family.string, families);
    const auto rank = priority
                          ? number_of(priority->string, priorities, {"NF_IP_PRI_", "NF_IP6_PRI_"})
                          : std::optional<int64_t>(0);
    if (!hook_number)
        return refuse(hook, hooks, resolver);
    if (!family_number || hooks_of(*family_number) == 0)
        return refuse(family, families, resolver);
    if (*hook_number < 0 || *hook_number >= hooks_of(*family_number)) {
        resolver.diagnostics
            .report(DiagnosticKind::CannotProbe, hook.argument_range,
                    {hook.string, family.string + " has no such hook"})
            .hint(family.string + " has the hooks 0 to " +
                  std::to_string(hooks_of(*family_number) - 1));
        return false;
    }
    if (!rank)
        return refuse(*priority, {}, resolver);
    Candidate candidate;
    candidate.kind = HandlerKind::Entry;
    candidate.payload =
        PacketHook{.family = *family_number, .hook = *hook_number, .priority = *rank};
    candidate.site.mechanism = Mechanism::Netfilter;
    candidate.site.reason = "a hook of its own";
    candidate.site.point = ast::to_string(point);
    if (resolver.details) {
        const DebugInfo* info = need_kernel_types(point, resolver);
        if (!info)
            return false;
        candidate.function = std::make_unique<FunctionInfo>();
        candidate.function->name = hook.string;
        add_variables(*candidate.function, *info);
    }
    out.push_back(std::move(candidate));
    return true;
}

} // namespace

const std::vector<ProbeForms> netfilter_family{
    {"netfilter.{hook(STRING).pf(STRING)|pf(STRING).hook(STRING)}[.priority(STRING)]",
     resolve_netfilter},
};

} // namespace djstap
