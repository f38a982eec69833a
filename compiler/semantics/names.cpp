// SPDX-License-Identifier: GPL-2.0-or-later
#include "semantics/names.h"

#include "semantics/points.h"

#include <algorithm>

namespace djstap::semantics {

namespace {

program::Type type_of(ast::TypeName name) {
    return name == ast::TypeName::String ? program::Type::String : program::Type::Long;
}

// Sets initial_number or initial_text; returns the type, or nothing if the expression is not a
// literal.
std::optional<program::Type> read_initial(const ast::Expression& value, program::Global& global) {
    if (value.kind == ast::ExpressionKind::StringLiteral) {
        global.initial_text = ast::as<ast::StringLiteral>(value).value;
        return program::Type::String;
    }
    if (value.kind == ast::ExpressionKind::NumberLiteral) {
        global.initial_number = ast::as<ast::NumberLiteral>(value).value;
        return program::Type::Long;
    }
    if (value.kind == ast::ExpressionKind::Unary) {
        const auto& unary = ast::as<ast::Unary>(value);
        if (unary.op == ast::UnaryOp::Negate &&
            read_initial(*unary.operand, global) == program::Type::Long) {
            global.initial_number =
                static_cast<int64_t>(0 - static_cast<uint64_t>(global.initial_number));
            return program::Type::Long;
        }
    }
    return std::nullopt;
}

// Returns whether pattern[p…] matches all of name[n…], or, with `prefix`, all of name followed by a
// suffix, which begins at *rest.
bool match_alias(const std::vector<ast::PointComponent>& pattern, size_t p,
                 const std::vector<ast::PointComponent>& name, size_t n, size_t* rest) {
    if (n == name.size()) {
        *rest = p;
        return true;
    }
    if (p == pattern.size())
        return false;
    if (pattern[p].name.find("**") != std::string::npos) {
        // ** crosses dots: try it against 1, 2 … joined components.
        std::string joined = name[n].name;
        std::string single = pattern[p].name;
        single.replace(single.find("**"), 2, "*");
        for (size_t end = n + 1; end <= name.size(); ++end) {
            if (matches_component(single, joined) && match_alias(pattern, p + 1, name, end, rest))
                return true;
            if (end < name.size())
                joined += "\x01" + name[end].name; // any byte that is not a dot
        }
        return false;
    }
    if (!matches_component(pattern[p].name, name[n].name))
        return false;
    if (pattern[p].argument != name[n].argument || pattern[p].number != name[n].number ||
        pattern[p].string != name[n].string)
        return false;
    return match_alias(pattern, p + 1, name, n + 1, rest);
}

} // namespace

std::optional<size_t> components_of_name(const std::vector<ast::PointComponent>& components,
                                         const std::vector<ast::PointComponent>& name) {
    size_t taken = 0;
    return match_alias(components, 0, name, 0, &taken) ? std::optional(taken) : std::nullopt;
}

std::string dotted(const std::vector<ast::PointComponent>& components) {
    std::string text;
    for (const ast::PointComponent& component : components)
        text += (text.empty() ? "" : ".") + component.name;
    return text;
}

const std::vector<std::string>& print_names() {
    static const std::vector<std::string> names = {"print",   "println",    "printd", "printdln",
                                                   "printf",  "print_char", "sprint", "sprintln",
                                                   "sprintd", "sprintdln",  "sprintf"};
    return names;
}

bool has_pragma(const std::string& code, const std::string& pragma) {
    return code.find("/* " + pragma + " */") != std::string::npos;
}

bool Names::is_library(const ast::File& file) const {
    return file.source != 0 && diagnostics_.sources().file(file.source).is_library;
}

void Names::include(const ast::File& file) {
    if (!included_.insert(&file).second)
        return;
    files_.push_back(&file);
    const bool library = is_library(file);
    for (const ast::Global& global : file.globals)
        declare(global, file, library);
    for (const ast::Function& function : file.functions)
        declare(function, file, library);
    for (const ast::Alias& alias : file.aliases) {
        aliases_.push_back({&alias, &file});
        for (const auto& name : alias.names)
            aliases_by_name_[dotted(name)].push_back({&alias, &file});
    }
}

void Names::declare(const ast::Global& global, const ast::File& file, bool library) {
    for (const GlobalState* other : globals_by_name_[global.name]) {
        const bool both_public = !other->declaration->is_private && !global.is_private;
        // Of two libraries, the one that was included first has precedence.
        if (library && other->library && other->file != &file)
            return;
        if (other->file == &file || both_public) {
            diagnostics_.report(DiagnosticKind::DuplicateGlobal, global.range, {global.name})
                .note(other->declaration->range, "previous declaration is here");
            return;
        }
    }
    auto state = std::make_unique<GlobalState>();
    state->declaration = &global;
    state->file = &file;
    state->library = library;
    state->value = types_.fresh();
    state->node = std::make_unique<program::Global>();
    state->node->name = global.name;
    state->node->range = global.range;
    state->node->wrap = global.wrap;
    state->node->size = global.size.value_or(0);
    if (global.initial) {
        if (auto type = read_initial(*global.initial, *state->node)) {
            types_.unify(state->value, types_.of(*type, global.initial->range));
            state->arity = 0;
            state->arity_at = global.range;
        }
    }
    globals_by_name_[global.name].push_back(state.get());
    globals_.push_back(std::move(state));
}

void Names::declare(const ast::Function& function, const ast::File& file, bool library) {
    auto state = std::make_unique<FunctionState>();
    state->declaration = &function;
    state->file = &file;
    state->library = library;
    state->node = std::make_unique<program::Function>();
    program::Function& node = *state->node;
    node.name = function.name;
    node.range = function.range;
    node.parameter_count = static_cast<uint32_t>(function.parameters.size());
    for (size_t i = 0; i < function.parameters.size(); ++i) {
        const ast::Parameter& parameter = function.parameters[i];
        node.locals.push_back({parameter.name, program::Type::Long, parameter.range});
        state->parameters.push_back(
            parameter.type == ast::TypeName::None
                ? types_.fresh()
                : types_.of(type_of(parameter.type), parameter.range, true));
    }
    state->returns_value = function.return_type != ast::TypeName::None;
    state->result = state->returns_value
                        ? types_.of(type_of(function.return_type), function.range, true)
                        : types_.fresh();
    if (function.embedded_code) {
        const std::string& code = *function.embedded_code;
        node.pure = has_pragma(code, "pure");
        if (has_pragma(code, "intrinsic")) {
            node.intrinsic = function.name;
            node.effects.prints = has_pragma(code, "prints");
            node.effects.can_fail = has_pragma(code, "fails");
            node.effects.can_exit = has_pragma(code, "exits");
            node.effects.registers = has_pragma(code, "registers");
            node.effects.calls_runtime = true;
            node.site = has_pragma(code, "site");
            node.place = has_pragma(code, "place");
            node.arguments = has_pragma(code, "arguments");
            constexpr std::string_view pointee = "/* points to: ";
            if (const size_t at = code.find(pointee); at != std::string::npos) {
                const size_t begin = at + pointee.size();
                node.points_to = code.substr(begin, code.find(" */", begin) - begin);
            }
            if (!library)
                diagnostics_.report(DiagnosticKind::IntrinsicOutsideLibrary, function.range,
                                    {function.name});
        } else {
            node.embedded = code;
            node.embedded_range = function.body_range;
            node.effects.prints = node.effects.can_fail = true;
            node.effects.calls_runtime = node.effects.strings = true;
        }
    }
    // For callers, overloads are one function: they share their types.
    for (FunctionState* other : functions_by_name_[function.name]) {
        if (other->parameters.size() != state->parameters.size())
            continue;
        // A private one is no overload of those in other files.
        if (other->file != &file && (other->declaration->is_private || function.is_private))
            continue;
        auto agree = [&](TypeVar a, TypeVar b, SourceRange at) {
            if (auto conflict = types_.unify(a, b))
                diagnostics_
                    .report(DiagnosticKind::TypeMismatch, at,
                            {"'" + function.name + "'", type_name(conflict->second)})
                    .note(conflict->first_at,
                          std::string("another overload declares a ") + type_name(conflict->first));
        };
        for (size_t i = 0; i < state->parameters.size(); ++i)
            agree(other->parameters[i], state->parameters[i], function.parameters[i].range);
        agree(other->result, state->result, function.range);
    }
    functions_by_name_[function.name].push_back(state.get());
    functions_.push_back(std::move(state));
}

GlobalState* Names::known_global(const std::string& name, const ast::File& file) {
    auto found = globals_by_name_.find(name);
    if (found == globals_by_name_.end())
        return nullptr;
    GlobalState* result = nullptr;
    const bool library = is_library(file);
    for (GlobalState* candidate : found->second) {
        if (candidate->file == &file)
            return candidate;
        // A script's global is not what the library means by that name.
        if (!candidate->declaration->is_private && (candidate->library || !library))
            result = candidate;
    }
    return result;
}

GlobalState* Names::global(const std::string& name, const ast::File& file) {
    if (GlobalState* known = known_global(name, file))
        return known;
    if (asked_globals_.insert(name).second) {
        for (const ast::File* other : library_.files_defining_global(name))
            include(*other);
        return known_global(name, file);
    }
    return nullptr;
}

std::vector<FunctionState*> Names::functions(const std::string& name, size_t arguments,
                                             const ast::File& file) {
    auto collect = [&] {
        std::vector<FunctionState*> result;
        auto found = functions_by_name_.find(name);
        if (found != functions_by_name_.end())
            for (FunctionState* candidate : found->second)
                if (candidate->parameters.size() == arguments &&
                    (candidate->file == &file || !candidate->declaration->is_private))
                    result.push_back(candidate);
        // A file's private function hides what others define by that name.
        auto own = [&](const FunctionState* candidate) { return candidate->file == &file; };
        if (std::any_of(result.begin(), result.end(), [&](const FunctionState* candidate) {
                return own(candidate) && candidate->declaration->is_private;
            }))
            std::erase_if(result, [&](const auto* candidate) { return !own(candidate); });
        std::stable_sort(result.begin(), result.end(),
                         [](const FunctionState* a, const FunctionState* b) {
                             return a->priority() < b->priority();
                         });
        return result;
    };
    std::vector<FunctionState*> result = collect();
    if (result.empty() && asked_functions_.insert(name).second) {
        for (const ast::File* other : library_.files_defining_function(name))
            include(*other);
        result = collect();
    }
    return result;
}

std::vector<size_t> Names::argument_counts(const std::string& name, const ast::File& file,
                                           SourceRange* place) {
    std::vector<size_t> counts;
    auto found = functions_by_name_.find(name);
    if (found == functions_by_name_.end())
        return counts;
    for (const FunctionState* candidate : found->second)
        if (candidate->file == &file || !candidate->declaration->is_private) {
            counts.push_back(candidate->parameters.size());
            *place = candidate->declaration->range;
        }
    std::sort(counts.begin(), counts.end());
    counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
    return counts;
}

std::vector<AliasState> Names::aliases(const std::vector<ast::PointComponent>& components) {
    if (components.empty())
        return {};
    const std::string whole_name = dotted(components);
    if (asked_aliases_.insert(whole_name).second)
        for (const ast::File* other : library_.files_defining_alias(whole_name))
            include(*other);
    std::vector<AliasState> whole, prefix;
    auto consider = [&](const AliasState& alias) {
        for (const auto& name : alias.declaration->names) {
            const auto taken = components_of_name(components, name);
            if (!taken)
                continue;
            (*taken == components.size() ? whole : prefix).push_back(alias);
            return;
        }
    };
    if (whole_name.find_first_of("*?") != std::string::npos) {
        for (const AliasState& alias : aliases_)
            consider(alias);
        return whole.empty() ? prefix : whole;
    }
    // Without wildcards: the names that are prefixes of the components.
    std::string name;
    for (const ast::PointComponent& component : components) {
        name += (name.empty() ? "" : ".") + component.name;
        if (const auto found = aliases_by_name_.find(name); found != aliases_by_name_.end())
            for (const AliasState& alias : found->second)
                consider(alias);
    }
    return whole.empty() ? prefix : whole;
}

std::vector<AliasState> Names::aliases_named(const std::string& name) const {
    const auto found = aliases_by_name_.find(name);
    return found == aliases_by_name_.end() ? std::vector<AliasState>() : found->second;
}

bool Names::in_alias(SourceRange range) const {
    auto holds = [&](const std::unique_ptr<ast::Block>& body) {
        return body && body->range.file == range.file && body->range.begin <= range.begin &&
               range.end <= body->range.end;
    };
    return std::any_of(aliases_.begin(), aliases_.end(), [&](const AliasState& alias) {
        return holds(alias.declaration->body) || holds(alias.declaration->epilogue);
    });
}

std::vector<std::string> Names::function_names(const ast::File& file) const {
    std::vector<std::string> names = print_names();
    for (const auto& function : functions_)
        if (function->file == &file || !function->declaration->is_private)
            names.push_back(function->declaration->name);
    for (std::string& name : library_.function_names())
        names.push_back(std::move(name));
    return names;
}

std::vector<std::string> Names::global_names(const ast::File& file) const {
    std::vector<std::string> names;
    for (const auto& global : globals_)
        if (global->file == &file || (!global->declaration->is_private && !global->library))
            names.push_back(global->declaration->name);
    return names;
}

std::vector<std::string> Names::alias_names() const {
    std::vector<std::string> names = library_.alias_names();
    for (const AliasState& alias : aliases_)
        for (const auto& components : alias.declaration->names)
            names.push_back(dotted(components));
    return names;
}

} // namespace djstap::semantics
