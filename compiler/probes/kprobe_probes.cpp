// SPDX-License-Identifier: GPL-2.0-or-later
// kprobe.function("symbol"), .return: functions by their symbols, without debug information;
// addresses.
#include "probes/families.h"

#include "diagnostics/suggest.h"

#include <algorithm>
#include <cstdio>

namespace djstap {

namespace {

bool is_pattern(std::string_view text) {
    return text.find_first_of("*?[") != std::string_view::npos;
}

// "__{ia32,x64}_sys_open" → both names; braces may be nested.
std::vector<std::string> alternatives(const std::string& text) {
    const size_t open = text.find('{');
    size_t depth = 0, from = open + 1;
    std::vector<std::string> choices;
    for (size_t at = open; open != std::string::npos && at < text.size(); at++) {
        depth += text[at] == '{';
        if ((text[at] == ',' && depth == 1) || (text[at] == '}' && depth == 1)) {
            choices.push_back(text.substr(from, at - from));
            from = at + 1;
        }
        depth -= text[at] == '}';
        if (depth == 0) {
            std::vector<std::string> out;
            for (const std::string& choice : choices)
                for (std::string& whole :
                     alternatives(text.substr(0, open) + choice + text.substr(at + 1)))
                    out.push_back(std::move(whole));
            return out;
        }
    }
    return {text};
}

bool report_no_symbol(const ast::PointComponent& name, const Image& image, Resolver& resolver) {
    std::vector<std::string> near;
    for (const Symbol& symbol :
         image.symbols_matching("*" + name.string.substr(0, name.string.size() / 2) + "*"))
        near.emplace_back(symbol.name);
    resolver.diagnostics
        .report(DiagnosticKind::NoFunction, name.argument_range, {name.string, image.title()})
        .hint(is_pattern(name.string) ? "" : did_you_mean(name.string, near));
    return false;
}

bool resolve_symbols(const ast::ProbePoint& point, Resolver& resolver, std::vector<Candidate>& out,
                     bool is_return) {
    const ast::PointComponent& name = point.components[1];
    const ImageView* kernel = need_kernel(point, resolver);
    if (!kernel)
        return false;
    const Image& image = kernel->image();
    std::vector<Symbol> symbols;
    for (const std::string& each : alternatives(name.string)) {
        auto found = is_pattern(each) ? image.symbols_matching(each) : image.symbols_named(each);
        symbols.insert(symbols.end(), found.begin(), found.end());
    }
    std::erase_if(symbols, [&](const Symbol& symbol) {
        return image.has_addresses() && !image.in_text(symbol.address);
    });
    if (symbols.empty())
        return point.optional || resolver.quiet || report_no_symbol(name, image, resolver);
    const ast::PointComponent* maxactive = find_component(point, "maxactive");
    const ReturnSafety unknown{ReturnSafety::Verdict::Unsafe, "its calling convention is unknown"};
    MechanismChoice refusal;
    for (const Symbol& symbol : symbols) {
        MechanismChoice choice =
            is_return ? choose_for_return(image, symbol.address, unknown, resolver.options.forced,
                                          symbol.name)
                      : choose_for_entry(image, symbol.address, resolver.options.forced,
                                         resolver.probe && resolver.probe->effects.registers,
                                         symbol.name);
        if (!choice.refusal.empty()) {
            refusal = choice;
            continue;
        }
        Candidate candidate;
        candidate.image = kernel;
        candidate.kind = is_return ? HandlerKind::Return : HandlerKind::Entry;
        candidate.site.mechanism = choice.mechanism;
        candidate.site.reason = choice.reason;
        candidate.site.forced = resolver.options.forced.has_value();
        candidate.site.address = choice.address;
        candidate.site.fallback = choice.fallback;
        candidate.site.entry = symbol.address;
        candidate.site.maxactive = maxactive ? static_cast<uint32_t>(maxactive->number) : 0;
        candidate.site.function = std::string(symbol.name);
        candidate.site.point =
            "kprobe.function(\"" + candidate.site.function + "\")" + (is_return ? ".return" : "");
        out.push_back(std::move(candidate));
    }
    if (out.empty() && !point.optional && !resolver.quiet) {
        resolver.diagnostics.report(DiagnosticKind::CannotProbe, name.argument_range,
                                    {name.string, refusal.refusal});
        return false;
    }
    return true;
}

bool resolve_kprobe(const ast::ProbePoint& point, Resolver& resolver, std::vector<Candidate>& out) {
    return resolve_symbols(point, resolver, out, false);
}

bool resolve_kprobe_return(const ast::ProbePoint& point, Resolver& resolver,
                           std::vector<Candidate>& out) {
    return resolve_symbols(point, resolver, out, true);
}

// An address as linked. The user is responsible for what is there, except for what the kernel
// itself refuses.
bool resolve_absolute(const ast::ProbePoint& point, Resolver& resolver,
                      std::vector<Candidate>& out) {
    const ast::PointComponent& address = point.components[1];
    const ImageView* kernel = need_kernel(point, resolver);
    if (!kernel)
        return false;
    const Image& image = kernel->image();
    char text[24];
    snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(address.number));
    const auto where = static_cast<uint64_t>(address.number);
    const auto symbol = image.symbol_at(where);
    MechanismChoice choice =
        image.fentry_site(where) || (symbol && symbol->address == where)
            ? choose_for_entry(image, symbol ? symbol->address : where, resolver.options.forced,
                               resolver.probe && resolver.probe->effects.registers)
            : choose_for_instruction(image, where, resolver.options.forced);
    if (choice.refusal.empty() && !symbol)
        choice.refusal = "no function of the kernel is there";
    if (!choice.refusal.empty()) {
        if (point.optional)
            return true;
        resolver.diagnostics.report(DiagnosticKind::CannotProbe, address.argument_range,
                                    {text, choice.refusal});
        return false;
    }
    Candidate candidate;
    candidate.kind = HandlerKind::Entry;
    candidate.image = kernel;
    candidate.site.mechanism = choice.mechanism;
    candidate.site.reason = choice.reason;
    candidate.site.forced = resolver.options.forced.has_value();
    candidate.site.address = choice.address;
    candidate.site.fallback = choice.fallback;
    candidate.site.entry = symbol->address;
    candidate.site.function = std::string(symbol->name);
    candidate.site.point =
        point.components[0].name + ".statement(" + std::string(text) + ").absolute";
    out.push_back(std::move(candidate));
    return true;
}

} // namespace

const std::vector<ProbeForms> kprobe_family{
    {"kprobe.function(STRING)[.call]", resolve_kprobe, PointTellsOfTask},
    {"kprobe.function(STRING).return[.maxactive(NUMBER)]", resolve_kprobe_return, PointTellsOfTask},
    {"kprobe.statement(NUMBER).absolute", resolve_absolute, PointTellsOfTask},
    {"kernel.statement(NUMBER).absolute", resolve_absolute, code_traits},
};

} // namespace djstap
