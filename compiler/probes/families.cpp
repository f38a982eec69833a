#include "probes/families.h"

#include "diagnostics/suggest.h"
#include "target/glob.h"

#include <algorithm>
#include <array>

namespace djstap {

const std::vector<ProbeFamily>& probe_families() {
    static const std::vector<ProbeFamily> families{
        {"begin", resolve_begin},
        {"begin(NUMBER)", resolve_begin},
        {"oneshot", resolve_begin},
        {"end", resolve_end},
        {"end(NUMBER)", resolve_end},
        {"error", resolve_error},
        {"error(NUMBER)", resolve_error},
        {"never", resolve_never},
        {"timer.s(NUMBER)", resolve_timer},
        {"timer.sec(NUMBER)", resolve_timer},
        {"timer.ms(NUMBER)", resolve_timer},
        {"timer.msec(NUMBER)", resolve_timer},
        {"timer.us(NUMBER)", resolve_timer},
        {"timer.usec(NUMBER)", resolve_timer},
        {"timer.ns(NUMBER)", resolve_timer},
        {"timer.nsec(NUMBER)", resolve_timer},
        {"timer.hz(NUMBER)", resolve_timer},
        {"timer.jiffies(NUMBER)", resolve_timer},
        {"timer.s(NUMBER).randomize(NUMBER)", resolve_timer},
        {"timer.sec(NUMBER).randomize(NUMBER)", resolve_timer},
        {"timer.ms(NUMBER).randomize(NUMBER)", resolve_timer},
        {"timer.msec(NUMBER).randomize(NUMBER)", resolve_timer},
        {"timer.us(NUMBER).randomize(NUMBER)", resolve_timer},
        {"timer.usec(NUMBER).randomize(NUMBER)", resolve_timer},
        {"timer.ns(NUMBER).randomize(NUMBER)", resolve_timer},
        {"timer.nsec(NUMBER).randomize(NUMBER)", resolve_timer},
        {"timer.jiffies(NUMBER).randomize(NUMBER)", resolve_timer},
        {"kernel.function(STRING)", resolve_function},
        {"kernel.function(STRING).call", resolve_function_call},
        {"kernel.function(STRING).inline", resolve_function_inline},
        {"kernel.function(STRING).exported", resolve_function_exported},
        {"kernel.function(STRING).return", resolve_function_return},
        {"kernel.function(STRING).return.maxactive(NUMBER)", resolve_function_return},
        {"kernel.function(STRING).call.return", resolve_function_return},
        {"kernel.statement(STRING)", resolve_statement},
        {"kernel.statement(STRING).nearest", resolve_statement},
        {"kernel.statement(NUMBER).absolute", resolve_absolute},
        {"kernel.trace(STRING)", resolve_tracepoint},
        {"module(STRING).function(STRING)", resolve_function},
        {"module(STRING).function(STRING).call", resolve_function_call},
        {"module(STRING).function(STRING).inline", resolve_function_inline},
        {"module(STRING).function(STRING).exported", resolve_function_exported},
        {"module(STRING).function(STRING).return", resolve_function_return},
        {"module(STRING).function(STRING).return.maxactive(NUMBER)", resolve_function_return},
        {"module(STRING).function(STRING).call.return", resolve_function_return},
        {"module(STRING).statement(STRING)", resolve_statement},
        {"module(STRING).statement(STRING).nearest", resolve_statement},
        {"kprobe.function(STRING)", resolve_kprobe},
        {"kprobe.function(STRING).call", resolve_kprobe},
        {"kprobe.function(STRING).return", resolve_kprobe_return},
        {"kprobe.function(STRING).return.maxactive(NUMBER)", resolve_kprobe_return},
        {"kprobe.statement(NUMBER).absolute", resolve_absolute},
        {"timer.profile", resolve_profile},
        {"timer.profile.tick", resolve_profile},
        {"timer.profile.freq.hz(NUMBER)", resolve_profile},
        {"perf.type(NUMBER).config(NUMBER)", resolve_perf},
        {"perf.type(NUMBER).config(NUMBER).sample(NUMBER)", resolve_perf},
        {"perf.type(NUMBER).config(NUMBER).hz(NUMBER)", resolve_perf},
        {"perf.type(NUMBER).config(NUMBER).counter(STRING)", resolve_perf_counter},
        {"procfs.read", resolve_procfs},
        {"procfs.read.maxsize(NUMBER)", resolve_procfs},
        {"procfs.umask(NUMBER).read", resolve_procfs},
        {"procfs.umask(NUMBER).read.maxsize(NUMBER)", resolve_procfs},
        {"procfs.write", resolve_procfs},
        {"procfs.umask(NUMBER).write", resolve_procfs},
        {"procfs(STRING).read", resolve_procfs},
        {"procfs(STRING).read.maxsize(NUMBER)", resolve_procfs},
        {"procfs(STRING).umask(NUMBER).read", resolve_procfs},
        {"procfs(STRING).umask(NUMBER).read.maxsize(NUMBER)", resolve_procfs},
        {"procfs(STRING).write", resolve_procfs},
        {"procfs(STRING).umask(NUMBER).write", resolve_procfs},
        {"netfilter.hook(STRING).pf(STRING)", resolve_netfilter},
        {"netfilter.pf(STRING).hook(STRING)", resolve_netfilter},
        {"netfilter.hook(STRING).pf(STRING).priority(STRING)", resolve_netfilter},
        {"netfilter.pf(STRING).hook(STRING).priority(STRING)", resolve_netfilter},
    };
    return families;
}

std::vector<std::string> probe_types() {
    std::vector<std::string> out;
    for (const ProbeFamily& family : probe_families())
        out.emplace_back(family.shape);
    std::sort(out.begin(), out.end());
    return out;
}

namespace {

std::string shape_of(const ast::ProbePoint& point) {
    std::string shape;
    for (const ast::PointComponent& component : point.components) {
        if (!shape.empty())
            shape += '.';
        shape += component.name;
        if (component.argument == ast::PointComponent::Argument::Number)
            shape += "(NUMBER)";
        else if (component.argument == ast::PointComponent::Argument::String)
            shape += "(STRING)";
    }
    return shape;
}

// "kernel.function(STRING).call" → {"kernel", "function(STRING)", "call"}
std::vector<std::string> parts(std::string_view shape) {
    std::vector<std::string> out;
    while (!shape.empty()) {
        size_t dot = shape.find('.');
        out.emplace_back(shape.substr(0, dot));
        shape = dot == std::string_view::npos ? std::string_view() : shape.substr(dot + 1);
    }
    return out;
}

// What SystemTap probes besides, by the beginning of its shape.
constexpr std::array not_supported_yet{
    "process",
    "process(STRING)",
    "process(NUMBER)",
    "module(STRING).function(NUMBER)",
    "module(STRING).statement(NUMBER)",
    "module(STRING).function(STRING).callee(STRING)",
    "module(STRING).function(STRING).callees",
    "module(STRING).function(STRING).callees(NUMBER)",
    "module(STRING).function(STRING).label(STRING)",
    "java(STRING)",
    "java(NUMBER)",
    "python2",
    "python3",
    "perf.type(NUMBER).config(NUMBER).process",
    "perf.type(NUMBER).config(NUMBER).process(STRING)",
    "kprobe.module(STRING)",
    "kernel.data(STRING)",
    "kernel.data(NUMBER)",
    "kernel.mark(STRING)",
    "kernel.function(NUMBER)",
    "kernel.function(STRING).callee(STRING)",
    "kernel.function(STRING).callees",
    "kernel.function(STRING).callees(NUMBER)",
    "kernel.function(STRING).label(STRING)",
};

bool report_not_supported(const ast::ProbePoint& point, const std::string& shape,
                          Resolver& resolver) {
    auto known = std::find_if(
        not_supported_yet.begin(), not_supported_yet.end(), [&](std::string_view beginning) {
            return shape == beginning || shape.starts_with(std::string(beginning) + ".");
        });
    if (known != not_supported_yet.end())
        resolver.diagnostics
            .report(DiagnosticKind::ProbeNotSupported, point.range, {std::string(*known)})
            .hint("djstap --dump-probe-types lists what there is");
    return known != not_supported_yet.end();
}

} // namespace

const ProbeFamily* find_family(const ast::ProbePoint& point, Resolver& resolver) {
    std::string wanted = shape_of(point);
    for (const ProbeFamily& family : probe_families())
        if (family.shape == wanted)
            return &family;
    if (report_not_supported(point, wanted, resolver))
        return nullptr;

    // The first component up to which no family goes along is the wrong one.
    std::vector<std::string> have = parts(wanted);
    size_t agree = 0;
    std::vector<std::string> could_follow;
    for (const ProbeFamily& family : probe_families()) {
        std::vector<std::string> shape = parts(family.shape);
        size_t n = 0;
        while (n < shape.size() && n < have.size() && shape[n] == have[n])
            n++;
        if (n > agree) {
            agree = n;
            could_follow.clear();
        }
        if (n == agree && n < shape.size() &&
            std::find(could_follow.begin(), could_follow.end(), shape[n]) == could_follow.end())
            could_follow.push_back(shape[n]);
    }
    if (agree >= point.components.size()) {
        auto& diagnostic = resolver.diagnostics.report(DiagnosticKind::ProbePointIncomplete,
                                                       point.range, {ast::to_string(point)});
        if (!could_follow.empty())
            diagnostic.hint("one of these could follow: " + could_follow.front());
        return nullptr;
    }
    const ast::PointComponent& wrong = point.components[agree];
    // The right name with the wrong kind of argument, or a name that is nearly right.
    std::vector<std::string> names;
    std::string same_name;
    for (const std::string& candidate : could_follow) {
        std::string name = candidate.substr(0, candidate.find('('));
        names.push_back(name);
        if (name == wrong.name)
            same_name = candidate;
    }
    auto& diagnostic =
        resolver.diagnostics.report(DiagnosticKind::UnknownProbeFamily, wrong.range, {wrong.name});
    if (!same_name.empty())
        diagnostic.hint("it is written " + same_name);
    else if (std::string hint = did_you_mean(wrong.name, names); !hint.empty())
        diagnostic.hint(hint);
    else
        diagnostic.hint("djstap --dump-probe-types lists what there is");
    return nullptr;
}

const Target* need_target(const ast::ProbePoint& point, Resolver& resolver) {
    auto target = resolver.kernel.target();
    if (target)
        return *target;
    resolver.diagnostics
        .report(DiagnosticKind::KernelNotFound, point.range, {target.failure().message})
        .hint(target.failure().hint);
    return nullptr;
}

const DebugInfo* need_debuginfo(const ast::ProbePoint& point, Resolver& resolver) {
    if (!need_target(point, resolver))
        return nullptr;
    auto info = resolver.kernel.debuginfo();
    if (info)
        return *info;
    resolver.diagnostics.report(DiagnosticKind::NoDebugInfo, point.range, {info.failure().message})
        .hint(info.failure().hint);
    return nullptr;
}

std::optional<std::vector<CodeView>> find_code(const ast::ProbePoint& point, Resolver& resolver) {
    const ast::PointComponent& first = point.components.front();
    if (first.name == "kernel") {
        const DebugInfo* info = need_debuginfo(point, resolver);
        if (!info)
            return std::nullopt;
        return std::vector<CodeView>{{need_target(point, resolver), info, nullptr, "kernel"}};
    }
    if (!need_target(point, resolver))
        return std::nullopt;
    std::vector<std::string> names{first.string};
    if (has_wildcard(first.string)) {
        auto matching = resolver.kernel.modules_matching(first.string);
        if (matching)
            names = std::move(*matching);
    }
    auto complain = [&](const Failure& failure) {
        resolver.diagnostics
            .report(DiagnosticKind::NoModule, first.argument_range, {failure.message})
            .hint(failure.hint);
    };
    std::vector<CodeView> views;
    for (const std::string& name : names) {
        auto module = resolver.kernel.module(name);
        if (module) {
            views.push_back({(*module)->target.get(), (*module)->info.get(), *module,
                             "module(\"" + (*module)->name + "\")"});
            continue;
        }
        if (point.optional || resolver.quiet)
            continue;
        complain(module.failure());
        return std::nullopt;
    }
    if (views.empty() && !point.optional && !resolver.quiet) {
        complain({"no module matches \"" + first.string + "\"",
                  "of the running kernel a pattern means the modules that are loaded"});
        return std::nullopt;
    }
    return views;
}

const ast::PointComponent* find_component(const ast::ProbePoint& point, std::string_view name) {
    for (const ast::PointComponent& component : point.components)
        if (component.name == name)
            return &component;
    return nullptr;
}

} // namespace djstap
