// SPDX-License-Identifier: GPL-2.0-or-later
#include "driver/regions_command.h"

#include "diagnostics/suggest.h"
#include "driver/pipeline.h"
#include "driver/progress_bar.h"
#include "driver/regions_file.h"
#include "driver/regions_map.h"
#include "driver/regions_output.h"
#include "image/kernel_files.h"
#include "regions/module_text.h"
#include "system/file.h"
#include "system/number.h"

#include <unistd.h>

namespace djstap::driver {

namespace {

using regions::Analysis;

Result<std::string> path_of(const RegionsOptions& options) {
    if (options.kernel.empty())
        return options.file;
    Result<KernelFiles> files = find_kernel(options.kernel);
    if (!files)
        return files.failure();
    if (files->vmlinux.empty())
        return Failure{"kernel " + files->release + " has no vmlinux",
                       "install its debug symbols, or name the file"};
    return files->vmlinux;
}

std::optional<uint64_t> number(std::string_view text) {
    uint64_t value = 0;
    if (text.starts_with("0x") || text.starts_with("0X"))
        text.remove_prefix(2);
    return parse_number(text, value, 16) ? std::optional(value) : std::nullopt;
}

Failure no_function(const Analysis& analysis, const std::string& name) {
    std::vector<std::string> names;
    for (const regions::FunctionResult& each : analysis.functions())
        names.push_back(each.name);
    std::string hint = did_you_mean(name, names);
    if (hint.empty())
        hint = "djstap regions FILE lists the functions";
    return {"there is no function '" + name + "'", hint};
}

// Finds an address, NAME or NAME+OFFSET; the offset is hexadecimal.
Result<uint64_t> find_place(const Analysis& analysis, const std::string& place) {
    if (place.starts_with("0x"))
        if (const auto address = number(place))
            return *address;
    const size_t plus = place.rfind('+');
    const std::string name = place.substr(0, plus);
    if (const auto function = analysis.function(name)) {
        const auto offset =
            plus == std::string::npos ? std::optional<uint64_t>(0) : number(place.substr(plus + 1));
        if (!offset)
            return Failure{"the offset of '" + place + "' is not a hexadecimal number",
                           "offsets are written as in " + name + "+0x1f"};
        return *analysis.address_of(name) + *offset;
    }
    if (const auto address = number(place))
        return *address;
    return no_function(analysis, name);
}

Result<Analysis> analyze(const RegionsFile& file, regions::Model model, std::string_view live) {
    ProgressBar bar(STDERR_FILENO, "Analyzing");
    return Analysis::of(*file.elf,
                        {model, 0, live, file.rule, [&](double share) { bar.show(share); }});
}

Result<std::string> answer(const RegionsOptions& options) {
    const Result<std::string> path = path_of(options);
    if (!path)
        return path.failure();
    Result<RegionsFile> file = open_regions_file(*path);
    if (!file)
        return file.failure();
    if (file->is_module && !file->rule)
        warn("the module's kernel" + (file->release.empty() ? "" : ", " + file->release + ",") +
                 " is not installed here: what it copies is what older kernels copy",
             DiagnosticKind::AssumedRule);
    std::string live;
    if (!options.text.empty()) {
        Result<std::string> text = read_file(options.text);
        if (!text)
            return text.failure();
        if (text->empty())
            return Failure{options.text + ": the text from memory is empty",
                           "--text takes a file with a kernel's bytes from _text to _etext, or "
                           "those of a module's section .text"};
        if (file->is_module)
            text = regions::module_text(*file->elf, *text);
        if (!text)
            return text.failure();
        live = std::move(*text);
    }
    auto analysis = analyze(*file, options.model, live);
    if (!analysis)
        return analysis.failure();
    if (!options.places.empty()) {
        std::vector<AskedPlace> places;
        for (const std::string& asked : options.places) {
            const Result<uint64_t> address = find_place(*analysis, asked);
            if (!address)
                return address.failure();
            places.push_back({asked, *address, analysis->place(*address)});
        }
        return options.json ? places_as_json(*analysis, places) : places_as_text(*analysis, places);
    }
    if (!options.function.empty()) {
        const auto function = analysis->function(options.function);
        if (!function)
            return no_function(*analysis, options.function);
        if (Status prepared = file->prepare_lines(); !prepared)
            return prepared.failure();
        return options.json ? function_as_json(*analysis, file->lines, *function)
                            : function_as_text(*analysis, file->lines, *function);
    }
    if (!options.map.empty()) {
        const std::string map = regions_map(*analysis, *path);
        if (Status written = write_file(options.map, map); !written)
            return Failure{written.failure().message, "--svg takes the file to write"};
        return options.json ? totals_as_json(*analysis) : totals_as_text(*analysis);
    }
    if (options.lines) {
        if (Status prepared = file->prepare_lines(); !prepared)
            return prepared.failure();
        const auto rows = file->lines.empty() ? std::nullopt : read_line_rows(file->lines);
        if (!rows)
            return Failure{*path + ": has no line program",
                           "compile with -g, or name the file with the debug information"};
        const ElfSection* section = file->elf->section(".debug_line");
        const regions::LineCheck check = analysis->check_lines(*rows);
        const uint64_t bytes = section ? section->size : 0;
        return options.json ? lines_as_json(*analysis, check, bytes)
                            : lines_as_text(*analysis, check, bytes);
    }
    if (options.unsafe)
        return options.json ? unsafe_as_json(*analysis) : unsafe_as_text(*analysis);
    return options.json ? functions_as_json(*analysis) : functions_as_text(*analysis);
}

} // namespace

int run_regions(const RegionsOptions& options) {
    const Result<std::string> text = answer(options);
    return text ? print({*text}) : refuse(text.failure(), DiagnosticKind::CannotAnalyze);
}

} // namespace djstap::driver
