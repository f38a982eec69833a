// SPDX-License-Identifier: GPL-2.0-or-later
// What `process`, process("PATH") and process(PID) name.
#include "image/program.h"

#include "image/elf_file.h"
#include "image/glob.h"
#include "image/libraries.h"
#include "include/mechanisms.h"
#include "probes/families.h"

#include <algorithm>
#include <cstring>

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
        auto file = program_file_of_process(process.number);
        if (!file)
            return file.failure();
        return std::vector<std::string>{*file};
    }
    if (!has_wildcard(process.string))
        return std::vector<std::string>{process.string};
    return program_files_matching(process.string);
}

} // namespace

namespace {

// Returns the program's libraries that a name or a pattern means: by their path, or its last part.
std::vector<const ImageView*> find_libraries(const ImageView& program, const std::string& wanted,
                                             Images& images, Failure& failure) {
    std::vector<const ImageView*> found;
    const bool is_file = wanted.find('/') != std::string::npos && !has_wildcard(wanted);
    std::vector<std::string> files =
        is_file ? std::vector<std::string>{wanted} : libraries_of(program.image());
    if (!is_file)
        std::erase_if(files, [&](const std::string& file) {
            return !glob_match(wanted, file) &&
                   !glob_match(wanted, file.substr(file.rfind('/') + 1));
        });
    for (const std::string& file : files) {
        auto library = images.program(file);
        if (library)
            found.push_back(*library);
        else
            failure = library.failure();
    }
    return found;
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
    const ast::PointComponent* library = find_component(point, "library");
    if (!library)
        return images;
    std::vector<const ImageView*> libraries;
    Failure failure{"no library of the program matches \"" + library->string + "\"",
                    "a name is that of the file, as in \"libc.so.6\"; a library that the program "
                    "loads later is named by its path"};
    for (const ImageView* program : images)
        for (const ImageView* each :
             find_libraries(*program, library->string, resolver.images, failure))
            if (std::find(libraries.begin(), libraries.end(), each) == libraries.end())
                libraries.push_back(each);
    if (libraries.empty() && !images.empty() && !is_optional) {
        resolver.diagnostics
            .report(DiagnosticKind::NoProgram, library->argument_range, {failure.message})
            .hint(failure.hint);
        return std::nullopt;
    }
    return libraries;
}

std::optional<std::vector<std::string>> find_program_files(const ast::ProbePoint& point,
                                                           Resolver& resolver) {
    const ast::PointComponent& process = point.components.front();
    const bool is_optional = point.optional || resolver.quiet;
    std::vector<std::string> files;
    Failure failure{"no program matches \"" + process.string + "\"", ""};
    if (has_wildcard(process.string))
        files = program_files_matching(process.string);
    else if (auto file = find_program_file(process.string))
        files.push_back(*file);
    else
        failure = file.failure();
    if (!files.empty() || is_optional)
        return files;
    resolver.diagnostics
        .report(DiagnosticKind::NoProgram, process.argument_range, {failure.message})
        .hint(failure.hint);
    return std::nullopt;
}

void note_process(const ast::ProbePoint& point, const Resolver& resolver, Candidate& candidate) {
    if (!mechanism_can(candidate.site.mechanism, DJS_IN_PROGRAM))
        return;
    if (!std::holds_alternative<ProgramPlace>(candidate.payload))
        candidate.payload = ProgramPlace();
    const ast::PointComponent& process = point.components.front();
    auto& place = std::get<ProgramPlace>(candidate.payload);
    if (process.argument == ast::PointComponent::Argument::Number) {
        place.process = static_cast<uint64_t>(process.number);
        return;
    }
    // A library counts in the processes that run the program.
    if (!find_component(point, "library") || has_wildcard(process.string))
        return;
    auto file = process.argument == ast::PointComponent::Argument::None
                    ? resolver.images.target()
                    : find_program_file(process.string);
    if (file)
        place.program = *file;
}

void note_code(Candidate& candidate) {
    const Image* image = candidate.image ? &candidate.image->image() : nullptr;
    const ElfFile* elf = image ? image->elf() : nullptr;
    if (!elf || image->kind() != ImageKind::Program || !image->build_id().empty())
        return;
    constexpr size_t enough = 8;
    Site& site = candidate.site;
    site.code = elf->bytes_from(site.address).substr(0, enough);
}

bool names_program(const std::string& name) {
    return name.find('/') != std::string::npos && name.find(".ko") == std::string::npos;
}

const program::Expression* value_of_other_program(const ProbePlan& plan, const AccessMap& accesses,
                                                  uint32_t here) {
    auto is_foreign = [&](const Access& access) {
        return uses_image_address(access) && access.image != here &&
               plan.images[access.image].kind == ImageKind::Program;
    };
    for (const auto& [node, access] : accesses)
        if (is_foreign(access.value) ||
            std::any_of(access.parts.begin(), access.parts.end(), is_foreign))
            return node;
    return nullptr;
}

} // namespace djstap
