// SPDX-License-Identifier: GPL-2.0-or-later
// procfs("name").read, .write: files below /proc/systemtap/MODULE.
#include "probes/families.h"

#include "include/script.h"

namespace djstap {

namespace {

constexpr int64_t max_bytes = 1 << 24;
constexpr uint64_t default_umask = 077; // only the owner has access

bool is_file_name(std::string_view name) {
    return !name.empty() && name.size() < 200 && name.find('/') == std::string_view::npos &&
           name != "." && name != "..";
}

bool resolve_procfs(const ast::ProbePoint& point, Resolver& resolver, std::vector<Candidate>& out) {
    const ast::PointComponent& file = point.components[0];
    const bool named = file.argument == ast::PointComponent::Argument::String;
    const ast::PointComponent* umask = find_component(point, "umask");
    const ast::PointComponent* maxsize = find_component(point, "maxsize");
    auto refuse = [&](const ast::PointComponent& component, const char* what, const char* why) {
        resolver.diagnostics.report(DiagnosticKind::CannotProbe, component.argument_range,
                                    {what, why});
        return false;
    };
    if (named && !is_file_name(file.string))
        return refuse(file, file.string.c_str(), "this is not a valid file name");
    if (umask && (umask->number < 0 || umask->number > 0777))
        return refuse(*umask, "umask", "it must be from 0 to 0777");
    if (maxsize && (maxsize->number < 1 || maxsize->number > max_bytes))
        return refuse(*maxsize, "maxsize", "it must be from 1 to 16777216");
    Candidate candidate;
    candidate.kind = HandlerKind::Entry;
    candidate.payload =
        ProcfsFile{.writes = find_component(point, "write") != nullptr,
                   .umask = umask ? static_cast<uint64_t>(umask->number) : default_umask,
                   .bytes = maxsize ? static_cast<uint64_t>(maxsize->number) + 1 : 0};
    candidate.site.mechanism = Mechanism::Procfs;
    candidate.site.reason = "a file of its own";
    candidate.site.function = named ? file.string : "command";
    candidate.site.point = ast::to_string(point);
    out.push_back(std::move(candidate));
    return true;
}

} // namespace

const std::vector<ProbeForms> procfs_family{
    {"procfs[(STRING)][.umask(NUMBER)].read[.maxsize(NUMBER)]", resolve_procfs, PointHasFile},
    {"procfs[(STRING)][.umask(NUMBER)].write", resolve_procfs, PointHasFile | PointIsWritten},
};

} // namespace djstap
