// SPDX-License-Identifier: GPL-2.0-or-later
// kernel.data("symbol" or ADDRESS).write, .rw, .length(N): accesses to memory of the kernel, by a
// breakpoint of the processor.
#include "probes/families.h"

#include "diagnostics/suggest.h"

#include "include/script.h"

namespace djstap {

namespace {

// Addresses of the kernel are negative numbers. Those of per-CPU variables are offsets.
bool is_kernel_address(uint64_t address) {
    return static_cast<int64_t>(address) < 0;
}

bool refuse_data(const ast::PointComponent& component, const std::string& what,
                 const std::string& why, const std::string& hint, Resolver& resolver) {
    resolver.diagnostics.report(DiagnosticKind::CannotProbe, component.argument_range, {what, why})
        .hint(hint);
    return false;
}

bool check_length(const ast::ProbePoint& point, const std::string& what, uint64_t address,
                  Resolver& resolver, uint64_t& bytes) {
    const ast::PointComponent* length = find_component(point, "length");
    if (!length)
        return true;
    if (length->number != 1 && length->number != 2 && length->number != 4 && length->number != 8)
        return refuse_data(*length, what, "a breakpoint is on 1, 2, 4 or 8 bytes", "", resolver);
    bytes = static_cast<uint64_t>(length->number);
    if (address % bytes != 0)
        return refuse_data(*length, what,
                           "its address, " + address_text(address) + ", is not a multiple of " +
                               std::to_string(bytes),
                           "", resolver);
    return true;
}

// The point as the user wrote it, but with an address as other points have it.
std::string point_name(const ast::ProbePoint& point) {
    const ast::PointComponent& data = point.components[1];
    if (data.argument == ast::PointComponent::Argument::String)
        return ast::to_string(point);
    ast::ProbePoint rest;
    rest.components.assign(point.components.begin() + 2, point.components.end());
    return "kernel.data(" + address_text(static_cast<uint64_t>(data.number)) + ")." +
           ast::to_string(rest);
}

bool resolve_data(const ast::ProbePoint& point, Resolver& resolver, std::vector<Candidate>& out) {
    const ast::PointComponent& data = point.components[1];
    const ImageView* kernel = need_kernel(point, resolver);
    if (!kernel)
        return false;
    WatchedData watched;
    std::string what = address_text(static_cast<uint64_t>(data.number));
    watched.address = static_cast<uint64_t>(data.number);
    if (data.argument == ast::PointComponent::Argument::String) {
        what = data.string;
        const auto symbol = kernel->image().symbol(data.string);
        if (!symbol && (point.optional || resolver.quiet))
            return true;
        if (!symbol) {
            auto info = kernel->debuginfo();
            resolver.diagnostics
                .report(DiagnosticKind::UnknownKernelVariable, data.argument_range,
                        {data.string, kernel->image().title()})
                .hint(info ? did_you_mean(data.string, (*info)->similar_variables(data.string))
                           : "");
            return false;
        }
        watched.address = symbol->address;
        watched.how |= DJS_BREAKPOINT_AS_LINKED;
        if (!is_kernel_address(watched.address))
            return refuse_data(data, what, "each CPU has a variable of its own",
                               "kernel.data(ADDRESS) takes the address of one of them", resolver);
    } else if (!is_kernel_address(watched.address)) {
        return refuse_data(data, what, "it is not an address of the kernel", "", resolver);
    }
    if (!check_length(point, what, watched.address, resolver, watched.bytes))
        return false;
    if (resolver.options.forced && *resolver.options.forced != Mechanism::Breakpoint)
        return refuse_data(data, what, "only a breakpoint of the processor notices accesses",
                           "omit --mechanism to let djstap choose", resolver);
    if (point.components.back().name == "rw")
        watched.how |= DJS_BREAKPOINT_READS;
    Candidate candidate;
    candidate.kind = HandlerKind::Timer;
    candidate.payload = watched;
    candidate.site.mechanism = Mechanism::Breakpoint;
    candidate.site.reason = "the processor compares addresses";
    candidate.site.forced = true; // no other mechanism can replace it
    candidate.site.point = point_name(point);
    out.push_back(std::move(candidate));
    return true;
}

} // namespace

const std::vector<ProbeForms> data_family{
    {"kernel.data({STRING|NUMBER})[.length(NUMBER)].{write|rw}", resolve_data,
     PointTellsOfTask | PointInterrupts},
};

} // namespace djstap
