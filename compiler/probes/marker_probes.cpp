// SPDX-License-Identifier: GPL-2.0-or-later
// kernel.mark("name"), module("m").mark("name"): static markers, which an author put into the code
// (runtime/include/djstap/marker.h). Their formats give the number and the types of $arg1 ….
#include "probes/families.h"

#include "arch/arch.h"
#include "ast/printer.h"
#include "diagnostics/suggest.h"
#include "image/glob.h"
#include "image/markers.h"

#include <algorithm>
#include <cctype>

namespace djstap {

namespace {

// ---- the format ---------------------------------------------------------------------------------

enum class Length : uint8_t { Char, Short, Int, Long, LongLong };

struct MarkerArgument {
    enum class Kind : uint8_t { Signed, Unsigned, Text, Pointer } kind = Kind::Signed;
    Length length = Length::Int;
};

size_t skip_any(std::string_view text, size_t at, std::string_view characters) {
    return std::min(text.find_first_not_of(characters, at), text.size());
}

Length take_length(std::string_view format, size_t& at) {
    const size_t end = skip_any(format, at, "hlLqjzt");
    const std::string_view modifier = format.substr(at, end - at);
    at = end;
    if (modifier == "hh")
        return Length::Char;
    if (modifier == "h")
        return Length::Short;
    if (modifier == "ll" || modifier == "L" || modifier == "q")
        return Length::LongLong;
    return modifier.empty() ? Length::Int : Length::Long;
}

// Returns the arguments that a format of printf takes; nothing if it has a conversion that a marker
// cannot have.
std::optional<std::vector<MarkerArgument>> arguments_of(std::string_view format) {
    using Kind = MarkerArgument::Kind;
    constexpr std::string_view digits = "0123456789";
    std::vector<MarkerArgument> arguments;
    for (size_t at = format.find('%'); at != std::string_view::npos; at = format.find('%', at)) {
        at = skip_any(format, at + 1, "-+ #0");
        auto take_number = [&] {
            if (at < format.size() && format[at] == '*') {
                arguments.push_back({});
                at++;
            }
            at = skip_any(format, at, digits);
        };
        take_number();
        if (at < format.size() && format[at] == '.') {
            at++;
            take_number();
        }
        const Length length = take_length(format, at);
        const char conversion = at < format.size() ? format[at] : '\0';
        at = std::min(at + 1, format.size());
        switch (conversion) {
        case '%':
            break;
        case 'c':
            arguments.push_back({});
            break;
        case 'd':
        case 'i':
            arguments.push_back({Kind::Signed, length});
            break;
        case 'u':
        case 'o':
        case 'x':
        case 'X':
            arguments.push_back({Kind::Unsigned, length});
            break;
        case 's':
            if (length != Length::Int)
                return std::nullopt;
            arguments.push_back({Kind::Text, Length::Long});
            break;
        case 'p': // the kernel's extensions follow: %pS
            arguments.push_back({Kind::Pointer, Length::Long});
            break;
        default:
            return std::nullopt;
        }
    }
    return arguments;
}

// Returns the type of an argument in the image; void if it knows none.
TypeId type_of(const MarkerArgument& argument, const DebugInfo& info) {
    auto member = [&](const char* structure, const char* name) -> TypeId {
        auto type = info.type_by_name(structure);
        auto found = type ? info.member(*type, name) : std::nullopt;
        return found ? found->type : 0;
    };
    switch (argument.kind) {
    case MarkerArgument::Kind::Text:
        return member("struct tracepoint", "name");
    case MarkerArgument::Kind::Pointer:
        return member("struct tracepoint_func", "data");
    case MarkerArgument::Kind::Signed:
    case MarkerArgument::Kind::Unsigned:
        break;
    }
    // An image has the types that it uses. The number that is passed has 64 bits and the same value
    // by any wider type.
    static const std::vector<std::string> of_signed{"signed char", "short int", "int", "long int",
                                                    "long long int"};
    static const std::vector<std::string> of_unsigned{"unsigned char", "short unsigned int",
                                                      "unsigned int", "long unsigned int",
                                                      "long long unsigned int"};
    const auto& names = argument.kind == MarkerArgument::Kind::Signed ? of_signed : of_unsigned;
    for (size_t i = static_cast<size_t>(argument.length); i < names.size(); i++)
        if (auto type = info.type_by_name(names[i]))
            return *type;
    return info.type_by_name("long int").value_or(0);
}

// Returns $arg1 …: the marker calls a handler with its data and the arguments, as numbers of 64
// bits.
std::vector<Variable> variables_of(const std::vector<MarkerArgument>& arguments,
                                   const DebugInfo& info) {
    arch::ArgumentShape number;
    number.size = sizeof(uint64_t);
    number.known = true;
    const std::vector<Location> locations = arch::argument_locations(
        std::vector<arch::ArgumentShape>(arguments.size() + 1, number), arch::ArgumentShape());
    std::vector<Variable> variables;
    for (size_t i = 0; i < arguments.size(); i++) {
        Variable variable;
        variable.name = "arg" + std::to_string(i + 1);
        variable.type = type_of(arguments[i], info);
        variable.location = locations[i + 1];
        variable.is_parameter = true;
        variables.push_back(std::move(variable));
    }
    return variables;
}

// ---- the markers --------------------------------------------------------------------------------

struct Search {
    const ast::PointComponent& name;
    const ast::PointComponent* format; // null: any
    Resolver& resolver;
    std::vector<Candidate>& out;
    std::vector<std::string> seen;      // names of markers, for hints
    std::vector<std::string> formats{}; // of markers with the right name, but another format
    std::string unreadable{};           // why a module that has the marker cannot be opened
};

// A site in an image has an address there. The kernel knows a marker by its name, so this one only
// tells the image, and is different for each marker. A module may have no code but its init
// function. 0: nothing in the image would show on a running system that it is this one.
uint64_t address_for(const Image& image, size_t index) {
    for (const bool executable : {true, false})
        for (const Segment& segment : image.segments()) {
            const uint64_t first = std::max(segment.begin, segment.address);
            if (segment.executable == executable && index < segment.end - first)
                return first + index;
        }
    return 0;
}

bool add_marker(const ImageView& view, const Marker& marker, size_t index, Search& search) {
    const uint64_t address = address_for(view.image(), index);
    const auto arguments = arguments_of(marker.format);
    const bool fits = arguments && arguments->size() <= most_marker_arguments;
    if (address == 0 || !fits) {
        const std::string why =
            fits ? view.image().title() + " has no symbol by which it can be recognized"
                 : "its format " + ast::quote(marker.format) + " is not one that a marker can have";
        if (has_wildcard(search.name.string)) {
            search.resolver.diagnostics.report(DiagnosticKind::MarkerLeftOut,
                                               search.name.argument_range,
                                               {search.name.string, marker.name, why});
            return true;
        }
        auto& diagnostic = search.resolver.diagnostics.report(
            DiagnosticKind::CannotProbe, search.name.argument_range, {marker.name, why});
        if (!fits)
            diagnostic.hint("%d, %i, %u, %x, %X, %o, %c, %s and %p, numbers with h, l, z or t, for "
                            "at most " +
                            std::to_string(most_marker_arguments) + " arguments");
        return false;
    }
    Candidate candidate;
    candidate.kind = HandlerKind::Entry;
    candidate.image = &view;
    candidate.payload = MarkerFormat{marker.format};
    candidate.site.mechanism = Mechanism::Marker;
    candidate.site.reason = "its own call";
    candidate.site.address = address;
    candidate.site.point = view.prefix() + ".mark(" + ast::quote(marker.name) + ").format(" +
                           ast::quote(marker.format) + ")";
    candidate.site.function = marker.name;
    candidate.function = std::make_unique<FunctionInfo>();
    candidate.function->name = marker.name;
    candidate.function->return_type = 0;
    if (search.resolver.details)
        candidate.function->parameters = variables_of(*arguments, view.info());
    search.out.push_back(std::move(candidate));
    return true;
}

bool add_markers(const ImageView& view, Search& search) {
    const ElfFile* file = view.image().elf();
    const std::vector<Marker> markers = file ? markers_in(*file) : std::vector<Marker>();
    for (size_t i = 0; i < markers.size(); i++) {
        const Marker& marker = markers[i];
        search.seen.push_back(marker.name);
        if (!glob_match(search.name.string, marker.name))
            continue;
        if (search.format && !glob_match(search.format->string, marker.format)) {
            search.formats.push_back(marker.format);
            continue;
        }
        if (!add_marker(view, marker, i, search))
            return false;
    }
    return true;
}

// Adds the modules that have the marker, as depmod tells.
void add_modules(std::vector<const ImageView*>& images, Search& search) {
    std::vector<std::string> names;
    auto kernel = search.resolver.images.kernel();
    for (const ListedMarker& each : listed_markers((*kernel)->files())) {
        search.seen.push_back(each.marker);
        if (glob_match(search.name.string, each.marker))
            names.push_back(each.module);
    }
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    for (const std::string& each : names)
        if (auto module = search.resolver.images.module(each))
            images.push_back(*module);
        else
            search.unreadable = module.failure().message;
}

bool report_no_match(const Search& search, const std::string& where, bool in_kernel) {
    Diagnostics& diagnostics = search.resolver.diagnostics;
    if (!search.formats.empty()) {
        diagnostics
            .report(DiagnosticKind::MarkerFormatDiffers, search.format->argument_range,
                    {search.name.string, ast::quote(search.formats.front()),
                     ast::quote(search.format->string)})
            .hint("omit .format to accept any");
        return false;
    }
    auto& diagnostic = diagnostics.report(DiagnosticKind::NoMarker, search.name.argument_range,
                                          {search.name.string, where});
    const std::string near =
        has_wildcard(search.name.string) ? "" : did_you_mean(search.name.string, search.seen);
    if (!search.unreadable.empty())
        diagnostic.hint("a module that has it cannot be read: " + search.unreadable);
    else if (!near.empty())
        diagnostic.hint(near);
    else if (in_kernel)
        diagnostic.hint("djstap -l 'kernel.mark(\"*\")' lists the markers of the kernel and of the "
                        "modules that depmod knows; name another one's file: "
                        "module(\"/path/m.ko\").mark(\"…\")");
    else
        diagnostic.hint("markers are put into code by DJSTAP_MARK(), of djstap/marker.h");
    return false;
}

bool resolve_marker(const ast::ProbePoint& point, Resolver& resolver, std::vector<Candidate>& out) {
    const ast::PointComponent& name = point.components[1];
    const bool in_kernel = point.components.front().name == "kernel";
    auto images = find_images(point, resolver);
    if (!images)
        return false;
    if (resolver.options.forced) {
        resolver.diagnostics
            .report(DiagnosticKind::CannotProbe, name.argument_range,
                    {name.string, "a marker calls its handlers directly"})
            .hint("omit --mechanism to let djstap choose");
        return false;
    }
    const std::string where = images->size() != 1 ? "any module" : images->front()->image().title();
    Search search{name, find_component(point, "format"), resolver, out, {}};
    if (in_kernel)
        add_modules(*images, search);
    for (const ImageView* view : *images)
        if (!add_markers(*view, search))
            return false;
    if (!out.empty() || point.optional || resolver.quiet || images->empty())
        return true;
    return report_no_match(search, where, in_kernel);
}

} // namespace

const std::vector<ProbeForms> marker_family{
    {"{kernel|module(STRING)}.mark(STRING)[.format(STRING)]", resolve_marker,
     code_traits | PointIsMarker},
};

} // namespace djstap
