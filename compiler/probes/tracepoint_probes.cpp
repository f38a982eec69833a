// SPDX-License-Identifier: GPL-2.0-or-later
// kernel.trace("name"), kernel.trace("system:name"): the kernel's tracepoints; module("m").trace:
// those that a module defines.
#include "probes/families.h"

#include "arch/arch.h"
#include "diagnostics/suggest.h"
#include "image/elf_file.h"
#include "image/glob.h"

#include <algorithm>
#include <cctype>
#include <cstring>

namespace djstap {

namespace {

// The tracepoint NAME is the variable __tracepoint_NAME; the function __traceiter_NAME calls its
// probes and has their parameters, with the names in its definition.
constexpr std::string_view variable_prefix = "__tracepoint_";
constexpr std::string_view caller_prefix = "__traceiter_";
// The variable event_NAME describes it for tracefs, if it is an event at all.
constexpr std::string_view event_prefix = "event_";

// ---- systems ------------------------------------------------------------------------------------

// Determines the system of a tracepoint ("sched") from the trace_event_call structures in the file.
// Symbols alone do not tell it, but which systems there are: each has a string with its name.
class Systems {
  public:
    Systems(const Image& image, const DebugInfo& info) : image_(image) {
        call_class_ = offset(info, "struct trace_event_call", "class");
        call_tracepoint_ = offset(info, "struct trace_event_call", "tp");
        class_system_ = offset(info, "struct trace_event_class", "system");
    }

    // False if the file does not contain the structures, or if there is no file.
    bool known() const { return image_.elf() && call_class_ && call_tracepoint_ && class_system_; }

    // Returns whether a tracepoint may be in a system of which only the name is known. The names
    // of tracepoints are unique: no other one can be meant.
    bool may_be(std::string_view tracepoint, std::string_view system) const {
        if (image_.symbols_named(std::string(event_prefix).append(tracepoint)).empty())
            return false;
        std::string name(system); // as a part of an identifier
        std::replace_if(
            name.begin(), name.end(), [](unsigned char c) { return !std::isalnum(c); }, '_');
        return !image_.symbols_named("str__" + name + "__trace_system_name").empty();
    }

    // Empty if it has none, or if it is not known.
    std::string of(std::string_view tracepoint, uint64_t address) const {
        if (!known())
            return {};
        const ElfFile* elf = image_.elf();
        for (const Symbol& event :
             image_.symbols_named(std::string(event_prefix).append(tracepoint))) {
            if (pointer_at(*elf, event.address + *call_tracepoint_) != address)
                continue;
            uint64_t event_class = pointer_at(*elf, event.address + *call_class_);
            uint64_t name = event_class ? pointer_at(*elf, event_class + *class_system_) : 0;
            std::string_view text = name ? elf->bytes_from(name) : std::string_view();
            return std::string(text.substr(0, std::min(text.find('\0'), text.size())));
        }
        return {};
    }

  private:
    static std::optional<uint64_t> offset(const DebugInfo& info, std::string_view type,
                                          std::string_view member) {
        auto found = info.type_by_name(type);
        auto field = found ? info.member(*found, member) : std::nullopt;
        return field ? std::optional(field->offset) : std::nullopt;
    }
    static uint64_t pointer_at(const ElfFile& elf, uint64_t address) {
        uint64_t value = 0;
        std::string_view bytes = elf.bytes_at(address, sizeof value);
        if (bytes.size() == sizeof value)
            std::memcpy(&value, bytes.data(), sizeof value);
        return value;
    }

    const Image& image_;
    std::optional<uint64_t> call_class_, call_tracepoint_, class_system_;
};

// ---- the pattern --------------------------------------------------------------------------------

struct TracepointPattern {
    std::string system; // empty: any
    std::string name;

    // Every system meets it, and a tracepoint that is in none.
    bool any_system() const { return system.find_first_not_of('*') == std::string::npos; }
    // Several tracepoints or systems may meet it: it must be known which of them belong together.
    bool needs_systems() const {
        return !any_system() && (has_wildcard(name) || has_wildcard(system));
    }
};

std::optional<TracepointPattern> parse_pattern(const std::string& text) {
    TracepointPattern pattern;
    size_t colon = text.find(':');
    if (colon == std::string::npos) {
        pattern.name = text;
    } else {
        pattern.system = text.substr(0, colon);
        pattern.name = text.substr(colon + 1);
    }
    bool empty = pattern.name.empty() || (colon != std::string::npos && pattern.system.empty());
    if (empty || pattern.name.find(':') != std::string::npos)
        return std::nullopt;
    return pattern;
}

// Returns a pattern for each alternative in braces, which may hold systems: "{a:b,c:d}".
std::optional<std::vector<TracepointPattern>> parse_patterns(const ast::PointComponent& component,
                                                             Resolver& resolver) {
    std::vector<TracepointPattern> patterns;
    for (const std::string& each : glob_alternatives(component.string)) {
        auto pattern = parse_pattern(each);
        if (!pattern) {
            resolver.diagnostics
                .report(DiagnosticKind::BadFunctionPattern, component.argument_range,
                        {"\"" + each + "\" does not name a tracepoint"})
                .hint("write \"name\" or \"system:name\", as in "
                      "kernel.trace(\"sched:sched_switch\")");
            return std::nullopt;
        }
        patterns.push_back(std::move(*pattern));
    }
    return patterns;
}

// ---- the existing tracepoints -------------------------------------------------------------------

struct Tracepoint {
    std::string system, name;
    uint64_t address = 0; // of its variable, as linked
    FunctionInfo caller;
};

std::string_view name_of(const FunctionInfo& caller) {
    return std::string_view(caller.name).substr(caller_prefix.size());
}

// Finds tracepoints by name alone, in the order of names.
std::vector<Tracepoint> find_tracepoints(std::string_view name, const Image& image,
                                         const DebugInfo& info, const Systems& systems,
                                         bool details) {
    FunctionPattern pattern;
    pattern.function = std::string(caller_prefix).append(name);
    std::vector<Tracepoint> found;
    for (FunctionInfo& caller : info.functions(pattern, details)) {
        if (!caller.name.starts_with(caller_prefix) || caller.symbol != caller.name)
            continue;
        auto variable = image.symbol(std::string(variable_prefix).append(name_of(caller)));
        if (!variable)
            continue;
        Tracepoint tracepoint;
        tracepoint.name = name_of(caller);
        tracepoint.address = variable->address;
        tracepoint.system = systems.of(tracepoint.name, tracepoint.address);
        tracepoint.caller = std::move(caller);
        found.push_back(std::move(tracepoint));
    }
    return found;
}

// Returns the parameters of the callback: the first one is the probe's own data.
std::vector<Variable> parameters_of_probe(const FunctionInfo& caller, const DebugInfo& info) {
    std::vector<arch::ArgumentShape> shapes;
    for (const Variable& parameter : caller.parameters) {
        CType type = info.resolve(parameter.type);
        arch::ArgumentShape shape;
        shape.size = type.size;
        shape.aggregate = type.kind == CTypeKind::Struct || type.kind == CTypeKind::Union;
        shape.floating = type.kind == CTypeKind::Float;
        shape.known = type.size != 0 || shape.aggregate;
        shapes.push_back(shape);
    }
    std::vector<Location> locations = arch::argument_locations(shapes, arch::ArgumentShape());
    std::vector<Variable> parameters = caller.parameters;
    for (size_t i = 0; i < parameters.size(); i++)
        parameters[i].location = locations[i];
    if (!parameters.empty())
        parameters.erase(parameters.begin());
    return parameters;
}

std::string full_name(const Tracepoint& tracepoint) {
    return (tracepoint.system.empty() ? "" : tracepoint.system + ":") + tracepoint.name;
}

// Returns the module that defines a tracepoint, or null: kvm_entry is probably in the module kvm.
// The longest prefix that is a module's name is used.
const ImageView* module_of(const TracepointPattern& pattern, Resolver& resolver) {
    if (has_wildcard(pattern.name))
        return nullptr;
    for (size_t end = pattern.name.rfind('_'); end != std::string::npos && end > 0;
         end = pattern.name.rfind('_', end - 1)) {
        auto module = resolver.images.module(pattern.name.substr(0, end));
        if (module && (*module)->image().symbol(std::string(variable_prefix).append(pattern.name)))
            return *module;
    }
    return nullptr;
}

// bpftrace and perf know tracepoints of system calls, which the kernel makes of one for them all.
bool is_of_system_call(const TracepointPattern& pattern) {
    return pattern.system == "syscalls" || pattern.name.starts_with("sys_enter_") ||
           pattern.name.starts_with("sys_exit_");
}

// Why no tracepoint was added.
struct Missed {
    std::string elsewhere;  // one has the pattern's name, but is in another system
    std::string of_unknown; // the name in a pattern: which systems have those is not known
};

void report_no_match(const ast::PointComponent& component, const TracepointPattern& pattern,
                     const Missed& missed, const Image& image, const Resolver& resolver) {
    auto& diagnostic = resolver.diagnostics.report(
        DiagnosticKind::NoTracepoint, component.argument_range, {component.string, image.title()});
    if (!missed.elsewhere.empty()) {
        diagnostic.hint("did you mean \"" + missed.elsewhere + "\"?");
        return;
    }
    if (is_of_system_call(pattern)) {
        diagnostic.hint("system calls are probed by syscall.NAME and syscall.NAME.return, all of "
                        "them by syscall_any: djstap -l 'syscall.*' lists them");
        return;
    }
    if (!missed.of_unknown.empty()) {
        diagnostic.hint("which system a tracepoint is in is known only from debug symbols, which "
                        "are missing; \"*:" +
                        missed.of_unknown + "\" means those of all systems");
        return;
    }
    const bool in_kernel = image.kind() == ImageKind::Kernel;
    std::vector<std::string> names;
    for (const Symbol& symbol : image.symbols_matching(std::string(caller_prefix) + "*"))
        names.emplace_back(symbol.name.substr(caller_prefix.size()));
    std::string hint = has_wildcard(pattern.name) ? "" : did_you_mean(pattern.name, names);
    const std::string owner = in_kernel ? "kernel" : "module(\"" + image.name() + "\")";
    diagnostic.hint(hint.empty() ? "djstap -l '" + owner + ".trace(\"*\")' lists all tracepoints"
                                 : hint);
}

void add_tracepoints(const ImageView& view, const TracepointPattern& pattern,
                     const Resolver& resolver, std::vector<Candidate>& out, Missed& missed) {
    const Systems systems(view.image(), view.info());
    if (!systems.known() && pattern.needs_systems()) {
        missed.of_unknown = pattern.name;
        return;
    }
    auto in_system = [&](const Tracepoint& tracepoint) {
        return pattern.any_system() ||
               (systems.known() ? glob_match(pattern.system, tracepoint.system)
                                : systems.may_be(tracepoint.name, pattern.system));
    };
    for (Tracepoint& tracepoint :
         find_tracepoints(pattern.name, view.image(), view.info(), systems, resolver.details)) {
        if (!in_system(tracepoint)) {
            if (missed.elsewhere.empty())
                missed.elsewhere = full_name(tracepoint);
            continue;
        }
        if (tracepoint.system.empty() && !has_wildcard(pattern.system))
            tracepoint.system = pattern.system;
        Candidate candidate;
        candidate.kind = HandlerKind::Entry;
        candidate.image = &view;
        candidate.site.mechanism = Mechanism::Tracepoint;
        candidate.site.reason = "its own call";
        candidate.site.forced = true; // no other mechanism can replace it
        candidate.site.address = tracepoint.address;
        candidate.site.point = view.prefix() + ".trace(\"" + full_name(tracepoint) + "\")";
        candidate.site.function = tracepoint.name;
        FunctionInfo seen = tracepoint.caller;
        seen.name = tracepoint.name;
        seen.parameters = parameters_of_probe(tracepoint.caller, view.info());
        seen.return_type = 0;
        candidate.function = std::make_unique<FunctionInfo>(std::move(seen));
        out.push_back(std::move(candidate));
    }
}

bool resolve_tracepoint(const ast::ProbePoint& point, Resolver& resolver,
                        std::vector<Candidate>& out) {
    const ast::PointComponent& component = point.components[1];
    auto patterns = parse_patterns(component, resolver);
    auto images = patterns ? find_images(point, resolver) : std::nullopt;
    if (!images)
        return false;
    if (resolver.options.forced && *resolver.options.forced != Mechanism::Tracepoint) {
        resolver.diagnostics
            .report(DiagnosticKind::CannotProbe, component.argument_range,
                    {component.string, "a tracepoint calls its handlers directly"})
            .hint("omit --mechanism to let djstap choose");
        return false;
    }
    Missed missed;
    for (const ImageView* view : *images)
        for (const TracepointPattern& pattern : *patterns)
            add_tracepoints(*view, pattern, resolver, out, missed);
    // As in SystemTap, the tracepoints of modules are reached by kernel.trace, too.
    if (out.empty() && missed.elsewhere.empty() && point.components.front().name == "kernel")
        for (const TracepointPattern& pattern : *patterns)
            if (const ImageView* module = module_of(pattern, resolver))
                add_tracepoints(*module, pattern, resolver, out, missed);
    // A listing of what other tools know, or of what cannot be told, is not just empty.
    const bool quiet =
        resolver.quiet && patterns->front().system != "syscalls" && missed.of_unknown.empty();
    if (!out.empty() || point.optional || quiet || images->empty())
        return true;
    report_no_match(component, patterns->front(), missed, images->front()->image(), resolver);
    return false;
}

} // namespace

const std::vector<ProbeForms> tracepoint_family{
    {"{kernel|module(STRING)}.trace(STRING)", resolve_tracepoint, code_traits},
};

} // namespace djstap
