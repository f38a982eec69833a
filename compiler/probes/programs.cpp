// SPDX-License-Identifier: GPL-2.0-or-later
// What `process`, process("PATH") and process(PID) name.
#include "image/program.h"

#include "image/glob.h"
#include "probes/families.h"

namespace djstap {

namespace {

Result<std::vector<std::string>> named_files(const ast::PointComponent& process,
                                             const Images& images) {
    using Argument = ast::PointComponent::Argument;
    if (process.argument == Argument::None) {
        if (!images.target())
            return images.target().failure();
        return std::vector<std::string>{*images.target()};
    }
    if (process.argument == Argument::Number) {
        const std::string link = "/proc/" + std::to_string(process.number) + "/exe";
        auto file = find_program_file(link);
        if (!file)
            return Failure{"there is no process " + std::to_string(process.number),
                           "its program is that of a process that runs now"};
        return std::vector<std::string>{*file};
    }
    if (!has_wildcard(process.string))
        return std::vector<std::string>{process.string};
    return program_files_matching(process.string);
}

} // namespace

std::optional<std::vector<const ImageView*>> find_programs(const ast::ProbePoint& point,
                                                           Resolver& resolver) {
    const ast::PointComponent& process = point.components.front();
    const bool is_optional = point.optional || resolver.quiet;
    auto complain = [&](const Failure& failure) {
        const bool has_argument = process.argument != ast::PointComponent::Argument::None;
        resolver.diagnostics
            .report(DiagnosticKind::NoProgram,
                    has_argument ? process.argument_range : process.range, {failure.message})
            .hint(failure.hint);
    };
    std::vector<const ImageView*> images;
    auto files = named_files(process, resolver.images);
    if (!files) {
        if (point.optional)
            return images;
        complain(files.failure());
        return std::nullopt;
    }
    const bool is_pattern = has_wildcard(process.string);
    for (const std::string& file : *files) {
        auto program = resolver.images.program(file);
        if (program) {
            images.push_back(*program);
            continue;
        }
        if (point.optional || is_pattern)
            continue;
        complain(program.failure());
        return std::nullopt;
    }
    if (images.empty() && !is_optional) {
        complain({"no program matches \"" + process.string + "\"", ""});
        return std::nullopt;
    }
    return images;
}

void note_process(const ast::ProbePoint& point, Candidate& candidate) {
    if (!mechanism_can(candidate.site.mechanism, DJS_IN_PROGRAM))
        return;
    if (!std::holds_alternative<ProgramPlace>(candidate.payload))
        candidate.payload = ProgramPlace();
    const ast::PointComponent& process = point.components.front();
    if (process.argument == ast::PointComponent::Argument::Number)
        std::get<ProgramPlace>(candidate.payload).process = static_cast<uint64_t>(process.number);
}

} // namespace djstap
