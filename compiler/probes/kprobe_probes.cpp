// SPDX-License-Identifier: GPL-2.0-or-later
// kprobe.function("symbol"), .return: functions of the kernel and, by kprobe.module("name"), of
// modules by their symbols, without debug information; addresses.
#include "probes/families.h"

#include "diagnostics/suggest.h"
#include "image/glob.h"

#include <algorithm>

namespace djstap {

namespace {

bool report_no_symbol(const ast::PointComponent& name, const Image& image, Resolver& resolver) {
    std::vector<std::string> near;
    for (const Symbol& symbol :
         image.symbols_matching("*" + name.string.substr(0, name.string.size() / 2) + "*"))
        near.emplace_back(symbol.name);
    resolver.diagnostics
        .report(DiagnosticKind::NoFunction, name.argument_range, {name.string, image.title()})
        .hint(has_wildcard(name.string) ? "" : did_you_mean(name.string, near));
    return false;
}

// Adds the symbols of one image that the point names.
void add_symbols(const ast::ProbePoint& point, const ImageView& view, const Resolver& resolver,
                 std::vector<Candidate>& out, bool is_return, MechanismChoice& refused) {
    const std::string& name = find_component(point, "function")->string;
    const Image& image = view.image();
    std::vector<Symbol> symbols;
    for (const std::string& each : glob_alternatives(name)) {
        auto found = has_wildcard(each) ? image.symbols_matching(each) : image.symbols_named(each);
        symbols.insert(symbols.end(), found.begin(), found.end());
    }
    std::erase_if(symbols, [&](const Symbol& symbol) {
        return image.has_addresses() && !image.in_text(symbol.address);
    });
    const ast::PointComponent* maxactive = find_component(point, "maxactive");
    const ReturnSafety unknown{ReturnSafety::Verdict::Unsafe, "its calling convention is unknown"};
    for (const Symbol& symbol : symbols) {
        MechanismChoice choice =
            is_return ? choose_for_return(image, symbol.address, unknown, resolver.options.forced,
                                          symbol.name)
                      : choose_for_entry(image, symbol.address, resolver.options.forced,
                                         resolver.needs_all_registers(), symbol.name);
        if (!choice.refusal.empty()) {
            refused = choice;
            continue;
        }
        Candidate candidate =
            candidate_at(choice, view, symbol.address, std::string(symbol.name), resolver);
        candidate.kind = is_return ? HandlerKind::Return : HandlerKind::Entry;
        candidate.site.maxactive = maxactive ? static_cast<uint32_t>(maxactive->number) : 0;
        candidate.site.point =
            "kprobe." + (image.kind() == ImageKind::Module ? view.prefix() + "." : "") +
            "function(\"" + candidate.site.function + "\")" + (is_return ? ".return" : "");
        out.push_back(std::move(candidate));
    }
}

bool resolve_symbols(const ast::ProbePoint& point, Resolver& resolver, std::vector<Candidate>& out,
                     bool is_return) {
    const ast::PointComponent& name = *find_component(point, "function");
    const ast::PointComponent* module = find_component(point, "module");
    std::optional<std::vector<const ImageView*>> images;
    if (module)
        images = find_modules(*module, point.optional, resolver);
    else if (const ImageView* kernel = need_kernel(point, resolver))
        images = {kernel};
    if (!images)
        return false;
    MechanismChoice refused;
    for (const ImageView* each : *images)
        add_symbols(point, *each, resolver, out, is_return, refused);
    if (!out.empty() || point.optional || resolver.quiet || images->empty())
        return true;
    if (refused.refusal.empty())
        return report_no_symbol(name, images->front()->image(), resolver);
    resolver.diagnostics
        .report(DiagnosticKind::CannotProbe, name.argument_range, {name.string, refused.refusal})
        .hint(refused.hint);
    return false;
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
    const auto where = static_cast<uint64_t>(address.number);
    const auto symbol = image.symbol_at(where);
    MechanismChoice choice =
        image.fentry_site(where) || (symbol && symbol->address == where)
            ? choose_for_entry(image, symbol ? symbol->address : where, resolver.options.forced,
                               resolver.needs_all_registers())
            : choose_for_instruction(image, where, resolver.options.forced);
    if (choice.refusal.empty() && !symbol)
        choice.refusal = "no function of the kernel is there";
    if (!choice.refusal.empty())
        return point.optional || refuse_address(point, resolver, choice.refusal);
    Candidate candidate =
        candidate_at(choice, *kernel, symbol->address, std::string(symbol->name), resolver);
    candidate.site.point =
        point.components[0].name + ".statement(" + address_text(where) + ").absolute";
    out.push_back(std::move(candidate));
    return true;
}

} // namespace

const std::vector<ProbeForms> kprobe_family{
    {"kprobe[.module(STRING)].function(STRING)[.call]", resolve_kprobe, PointTellsOfTask},
    {"kprobe[.module(STRING)].function(STRING).return[.maxactive(NUMBER)]", resolve_kprobe_return,
     PointTellsOfTask},
    {"kprobe.statement(NUMBER).absolute", resolve_absolute, PointTellsOfTask},
    {"kernel.statement(NUMBER).absolute", resolve_absolute, code_traits},
};

} // namespace djstap
