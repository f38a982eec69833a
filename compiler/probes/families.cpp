// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/families.h"

#include "diagnostics/suggest.h"
#include "image/elf_file.h"
#include "image/glob.h"
#include "include/contract.h"

#include <algorithm>
#include <array>
#include <cstdlib>

namespace djstap {

namespace {

// Further probe points of SystemTap, by the beginning of their shapes, as patterns.
constexpr std::array not_supported_patterns{
    "hwbkpt",       "debuginfod",   "process[({STRING|NUMBER})].{insn[.block]|itrace}",
    "java(STRING)", "java(NUMBER)", "python2",
    "python3",
};

// Splits at `separator` outside of brackets.
std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    size_t begin = 0, depth = 0;
    for (size_t i = 0; i < text.size(); i++) {
        depth += text[i] == '{' || text[i] == '[';
        depth -= text[i] == '}' || text[i] == ']';
        if (text[i] == separator && depth == 0) {
            parts.push_back(text.substr(begin, i - begin));
            begin = i + 1;
        }
    }
    parts.push_back(text.substr(begin));
    return parts;
}

size_t closing(std::string_view text, size_t at) {
    size_t depth = 0;
    for (; at < text.size(); at++) {
        depth += text[at] == '{' || text[at] == '[';
        depth -= text[at] == '}' || text[at] == ']';
        if (depth == 0)
            break;
    }
    return at;
}

// Expands a pattern: {a|b} is one of them, [a] is optional.
std::vector<std::string> shapes_of(std::string_view pattern) {
    const size_t at = pattern.find_first_of("{[");
    if (at == std::string_view::npos)
        return {std::string(pattern)};
    const size_t end = closing(pattern, at);
    std::vector<std::string> middles;
    if (pattern[at] == '[')
        middles.emplace_back();
    for (std::string_view choice : split(pattern.substr(at + 1, end - at - 1), '|'))
        for (std::string& middle : shapes_of(choice))
            middles.push_back(std::move(middle));
    std::vector<std::string> out;
    for (const std::string& middle : middles)
        for (const std::string& rest : shapes_of(pattern.substr(end + 1)))
            out.push_back(std::string(pattern.substr(0, at)) + middle + rest);
    return out;
}

const std::vector<std::string>& not_supported_yet() {
    static const std::vector<std::string> shapes = [] {
        std::vector<std::string> out;
        for (const char* pattern : not_supported_patterns)
            for (std::string& shape : shapes_of(pattern))
                out.push_back(std::move(shape));
        return out;
    }();
    return shapes;
}

struct Form {
    std::string shape;
    const ProbeForms* forms;
};

const std::vector<Form>& all_forms() {
    static const std::vector<Form> forms = [] {
        std::vector<Form> out;
        for (const std::vector<ProbeForms>* family : {
#define DJS_PROBE_FAMILY(name) &name##_family,
#include "probes/families.def"
#undef DJS_PROBE_FAMILY
             })
            for (const ProbeForms& each : *family)
                for (std::string& shape : shapes_of(each.pattern))
                    out.push_back({std::move(shape), &each});
        return out;
    }();
    return forms;
}

} // namespace

std::vector<std::string> probe_types() {
    std::vector<std::string> out;
    for (const Form& form : all_forms())
        out.push_back(form.shape);
    std::sort(out.begin(), out.end());
    return out;
}

PointShapes probe_shapes() {
    std::vector<PointShape> shapes;
    for (const Form& form : all_forms())
        shapes.push_back({form.shape, form.forms->traits});
    for (const std::string& shape : not_supported_yet()) {
        const bool in_code = shape.starts_with("process");
        shapes.push_back({shape, PointIsNotSupported | (in_code ? code_traits : 0)});
    }
    // A point with * matches shapes in the order of their names.
    std::sort(shapes.begin(), shapes.end(),
              [](const auto& a, const auto& b) { return a.shape < b.shape; });
    return PointShapes(std::move(shapes));
}

namespace {

bool report_not_supported(const ast::ProbePoint& point, const std::string& shape,
                          Resolver& resolver) {
    const std::vector<std::string>& beginnings = not_supported_yet();
    auto known =
        std::find_if(beginnings.begin(), beginnings.end(), [&](const std::string& beginning) {
            return shape == beginning || shape.starts_with(beginning + ".");
        });
    if (known == beginnings.end())
        return false;
    const size_t last = split(*known, '.').size() - 1;
    resolver.diagnostics
        .report(DiagnosticKind::ProbeNotSupported, point.components[last].range, {*known})
        .hint(known->find(".insn") != std::string::npos ||
                      known->find(".itrace") != std::string::npos
                  ? "it would stop the program at each of its instructions; .statement and "
                    ".function probe places in it"
                  : "djstap --dump-probe-types lists the probe points");
    return true;
}

std::string joined(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names)
        text += (text.empty() ? "" : ", ") + name;
    return text;
}

bool check_alternatives(const ast::ProbePoint& point, Resolver& resolver) {
    for (const ast::PointComponent& component : point.components)
        if (has_too_many_alternatives(component.string)) {
            resolver.diagnostics.report(DiagnosticKind::BadFunctionPattern,
                                        component.argument_range,
                                        {"its braces stand for more than " +
                                         std::to_string(most_alternatives) + " patterns"});
            return false;
        }
    return true;
}

} // namespace

const ProbeForms* find_forms(const ast::ProbePoint& point, Resolver& resolver) {
    if (!check_alternatives(point, resolver))
        return nullptr;
    std::string wanted = shape_of(point);
    for (const Form& form : all_forms())
        if (form.shape == wanted)
            return form.forms;
    if (report_not_supported(point, wanted, resolver))
        return nullptr;

    // The first component that no form continues with is the wrong one.
    const std::vector<std::string_view> have = split(wanted, '.');
    size_t agree = 0;
    std::vector<std::string> could_follow;
    for (const Form& form : all_forms()) {
        const std::vector<std::string_view> shape = split(form.shape, '.');
        size_t n = 0;
        while (n < shape.size() && n < have.size() && shape[n] == have[n])
            n++;
        if (n > agree) {
            agree = n;
            could_follow.clear();
        }
        if (n == agree && n < shape.size() &&
            std::find(could_follow.begin(), could_follow.end(), shape[n]) == could_follow.end())
            could_follow.emplace_back(shape[n]);
    }
    if (agree >= point.components.size()) {
        auto& diagnostic = resolver.diagnostics.report(DiagnosticKind::ProbePointIncomplete,
                                                       point.range, {ast::to_string(point)});
        if (!could_follow.empty())
            diagnostic.hint("one of these can follow: " + joined(could_follow));
        return nullptr;
    }
    const ast::PointComponent& wrong = point.components[agree];
    // The right name with the wrong kind of argument, or a similar name.
    std::vector<std::string> names;
    std::string same_name;
    for (const std::string& candidate : could_follow) {
        std::string name = candidate.substr(0, candidate.find('('));
        names.push_back(name);
        if (name == wrong.name)
            same_name += (same_name.empty() ? "" : " or ") + candidate;
    }
    // "tracepoint" for "trace"
    constexpr size_t shortest = 4;
    const auto beginning = std::find_if(names.begin(), names.end(), [&](const std::string& name) {
        return (name.size() >= shortest && wrong.name.starts_with(name)) ||
               (wrong.name.size() >= shortest - 1 && name.starts_with(wrong.name));
    });
    auto& diagnostic =
        resolver.diagnostics.report(DiagnosticKind::UnknownProbeFamily, wrong.range, {wrong.name});
    if (!same_name.empty())
        diagnostic.hint("write it as " + same_name);
    else if (std::string hint = did_you_mean(wrong.name, names); !hint.empty())
        diagnostic.hint(hint);
    else if (beginning != names.end())
        diagnostic.hint("did you mean '" + *beginning + "'?");
    else if (could_follow.empty() && agree > 0)
        diagnostic.hint("nothing can follow ." + point.components[agree - 1].name);
    else
        diagnostic.hint("djstap --dump-probe-types lists the probe points");
    return nullptr;
}

uint64_t ticks_of(const Kernel& kernel) {
    constexpr uint64_t usual = 250;
    const std::string hz = kernel.config("HZ");
    return hz.empty() ? usual : std::max(1UL, std::strtoul(hz.c_str(), nullptr, 10));
}

const ImageView* need_kernel(const ast::ProbePoint& point, Resolver& resolver) {
    auto kernel = resolver.images.kernel_view();
    if (kernel)
        return *kernel;
    resolver.diagnostics
        .report(DiagnosticKind::KernelNotFound, point.range, {kernel.failure().message})
        .hint(kernel.failure().hint);
    return nullptr;
}

const DebugInfo* need_kernel_types(const ast::ProbePoint& point, Resolver& resolver) {
    const ImageView* kernel = need_kernel(point, resolver);
    return kernel ? need_types(*kernel, point, resolver) : nullptr;
}

const DebugInfo* need_types(const ImageView& image, const ast::ProbePoint& point,
                            Resolver& resolver) {
    auto info = image.debuginfo();
    if (info)
        return *info;
    resolver.diagnostics.report(DiagnosticKind::NoDebugInfo, point.range, {info.failure().message})
        .hint(info.failure().hint);
    return nullptr;
}

std::optional<std::vector<const ImageView*>> find_images(const ast::ProbePoint& point,
                                                         Resolver& resolver) {
    const ast::PointComponent& first = point.components.front();
    if (first.name == "process" && resolver.images.programs_alone())
        return find_programs(point, resolver);
    const ImageView* kernel = need_kernel(point, resolver);
    if (!kernel)
        return std::nullopt;
    if (first.name == "process")
        return find_programs(point, resolver);
    if (first.name != "kernel")
        return find_modules(first, point.optional, resolver);
    if (!need_types(*kernel, point, resolver))
        return std::nullopt;
    return std::vector<const ImageView*>{kernel};
}

std::optional<std::vector<const ImageView*>> find_modules(const ast::PointComponent& component,
                                                          bool optional, Resolver& resolver) {
    std::vector<std::string> names{component.string};
    if (has_wildcard(component.string)) {
        auto matching = resolver.images.modules_matching(component.string);
        if (matching)
            names = std::move(*matching);
    }
    auto complain = [&](const Failure& failure) {
        resolver.diagnostics
            .report(DiagnosticKind::NoModule, component.argument_range, {failure.message})
            .hint(failure.hint);
    };
    std::vector<const ImageView*> images;
    for (const std::string& name : names) {
        auto module = resolver.images.module(name);
        if (module) {
            images.push_back(*module);
            continue;
        }
        if (optional || (resolver.quiet && has_wildcard(component.string)))
            continue;
        complain(module.failure());
        return std::nullopt;
    }
    if (images.empty() && !optional && !resolver.quiet) {
        complain({"no module matches \"" + component.string + "\"",
                  "for the running kernel a pattern matches only loaded modules"});
        return std::nullopt;
    }
    return images;
}

uint64_t link_time_address(const Image& image, const ast::PointComponent& number) {
    const auto given = static_cast<uint64_t>(number.number);
    const ElfFile* elf = image.kind() == ImageKind::Module ? image.elf() : nullptr;
    const ElfSection* text = elf ? elf->section(".text") : nullptr;
    return text && given < text->address ? text->address + given : given;
}

std::string address_hint(const Image& image) {
    if (image.kind() == ImageKind::Program)
        return "addresses are those in the file (nm)";
    return image.kind() == ImageKind::Kernel
               ? "addresses are those of vmlinux (nm), without the running kernel's load bias"
               : "addresses are offsets in the module's .text (nm)";
}

bool refuse_address(const ast::ProbePoint& point, Resolver& resolver, const std::string& why,
                    const std::string& hint) {
    const ast::PointComponent& address = code_component(point);
    resolver.diagnostics
        .report(DiagnosticKind::CannotProbe, address.argument_range,
                {address_text(static_cast<uint64_t>(address.number)), why})
        .hint(hint);
    return false;
}

const ast::PointComponent& code_component(const ast::ProbePoint& point) {
    for (const ast::PointComponent& component : point.components)
        if (component.name == "function" || component.name == "statement")
            return component;
    return point.components.back();
}

std::string suffix_of(const ast::ProbePoint& point) {
    std::string suffix;
    bool behind = false;
    for (const ast::PointComponent& component : point.components) {
        if (behind && component.name != "maxactive")
            suffix += "." + component.name;
        behind |= &component == &code_component(point);
    }
    return suffix;
}

const ast::PointComponent* find_component(const ast::ProbePoint& point, std::string_view name) {
    for (const ast::PointComponent& component : point.components)
        if (component.name == name)
            return &component;
    return nullptr;
}

namespace {

// A dump lists fentry sites by the names of their functions, which several functions may have.
uint16_t fentry_at(const Image& image, uint64_t address) {
    if (image.kind() == ImageKind::Program || !image.has_addresses() || !image.knows_fentry_sites())
        return DJS_FENTRY_UNKNOWN;
    const auto site = image.fentry_site(address);
    if (site)
        return *site == address ? DJS_FENTRY_YES : DJS_FENTRY_PAD;
    return image.elf() ? DJS_FENTRY_NO : DJS_FENTRY_UNKNOWN;
}

} // namespace

Candidate candidate_at(const MechanismChoice& choice, const ImageView& image, uint64_t entry,
                       std::string function, const Resolver& resolver) {
    Candidate candidate;
    candidate.kind = HandlerKind::Entry;
    candidate.image = &image;
    candidate.site.mechanism = choice.mechanism;
    candidate.site.reason = choice.reason;
    candidate.site.forced = resolver.options.forced.has_value();
    candidate.site.address = choice.address;
    candidate.site.fallback = choice.fallback;
    candidate.site.fentry = fentry_at(image.image(), choice.address);
    candidate.site.entry = entry;
    candidate.site.function = std::move(function);
    return candidate;
}

} // namespace djstap
