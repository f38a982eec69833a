// SPDX-License-Identifier: GPL-2.0-or-later
// The strings of $x$, $x$$ (one value with its members) and of $$vars, $$parms, $$locals, $$return,
// $$name.
#include "probes/target_values.h"

#include "diagnostics/suggest.h"

#include <algorithm>
#include <utility>

namespace djstap {

namespace {

constexpr size_t max_parts = 64;     // a string has at most MAXSTRINGLEN bytes anyway
constexpr uint64_t max_elements = 8; // of an array
constexpr uint64_t longest_text = 4096;
constexpr int deepest = 16; // of $x$$: structures in structures

// Collects literals and conversions in their order.
class Format {
  public:
    explicit Format(TargetAccess& out) : out_(out) {}
    void text(std::string_view literal) { pending_ += literal; }
    void value(char conversion, bool alternate, const Access& part, int precision = -1) {
        program::FormatPiece piece;
        piece.literal = std::move(pending_);
        pending_.clear();
        piece.conversion = conversion;
        piece.alternate = alternate;
        piece.precision = precision;
        out_.format.push_back(std::move(piece));
        out_.parts.push_back(part);
    }
    bool full() const { return out_.parts.size() >= max_parts; }
    // What follows shows one value, until end_value().
    void begin_value() {
        flush();
        first_ = out_.format.size();
    }
    void end_value() {
        flush();
        if (out_.format.size() > first_)
            out_.shown.push_back({first_, out_.format.size()});
    }
    ~Format() { flush(); }

  private:
    void flush() {
        if (pending_.empty())
            return;
        program::FormatPiece piece;
        piece.literal = std::exchange(pending_, {});
        out_.format.push_back(std::move(piece));
    }

    TargetAccess& out_;
    size_t first_ = 0;
    std::string pending_;
};

bool is_character(const CType& type) {
    return type.kind == CTypeKind::Char ||
           (type.kind == CTypeKind::Integer && type.size == 1 && type.name == "char");
}

// `longest`: for an array, which need not be terminated; -1 for a pointee.
void quoted(Format& format, const Access& text, int longest) {
    format.text("\"");
    format.value('s', false, text, longest);
    format.text("\"");
}

void scalar(Format& format, const AccessBuilder& at, const DebugInfo& info, SourceRange range) {
    CType type = info.resolve(at.type());
    AccessBuilder end = at;
    if (type.kind == CTypeKind::Float || !end.finish(false, range)) {
        format.text("?");
        return;
    }
    if (type.kind == CTypeKind::Pointer) {
        if (is_character(info.resolve(type.base_type))) {
            quoted(format, end.access(), -1);
        } else {
            format.value('x', true, end.access());
        }
    } else if (is_character(type)) {
        format.text("'");
        format.value('c', true, end.access());
        format.text("'");
    } else if (type.is_signed || type.kind == CTypeKind::Enum) {
        format.value('d', false, end.access());
    } else {
        format.value('u', false, end.access());
    }
}

void structure(Format& format, const AccessBuilder& at, const DebugInfo& info, int depth,
               SourceRange range);

void element(Format& format, const AccessBuilder& at, const DebugInfo& info, int depth,
             SourceRange range) {
    CType type = info.resolve(at.type());
    if (type.kind == CTypeKind::Struct || type.kind == CTypeKind::Union) {
        if (depth > 0)
            structure(format, at, info, depth, range);
        else
            format.text("{...}");
    } else if (type.kind == CTypeKind::Array) {
        AccessBuilder end = at;
        if (type.count > 0 && is_character(info.resolve(type.base_type)) &&
            end.finish(false, range)) {
            quoted(format, end.access(), static_cast<int>(std::min(type.count, longest_text)));
            return;
        }
        if (depth <= 0 || type.count == 0) {
            format.text("[...]");
            return;
        }
        format.text("[");
        for (uint64_t i = 0; i < type.count && i < max_elements && !format.full(); i++) {
            // The element has its own builder: a constant index needs no expression.
            AccessBuilder inner = at;
            program::Number number;
            number.value = static_cast<int64_t>(i);
            format.text(i ? ", " : "");
            if (inner.index(&number, range))
                element(format, inner, info, depth - 1, range);
        }
        format.text(type.count > max_elements ? ", ...]" : "]");
    } else {
        scalar(format, at, info, range);
    }
}

void structure(Format& format, const AccessBuilder& at, const DebugInfo& info, int depth,
               SourceRange range) {
    format.text("{");
    bool first = true;
    for (const CMember& member : info.members(at.type())) {
        if (format.full()) {
            format.text(", ...");
            break;
        }
        AccessBuilder inner = at;
        if (member.name.empty() ? !inner.member(member) : !inner.member(member.name, range))
            continue;
        const char* anonymous =
            info.resolve(member.type).kind == CTypeKind::Union ? "<union>" : "<class>";
        format.text((first ? "" : ", ") + (member.name.empty() ? anonymous : "." + member.name) +
                    "=");
        first = false;
        element(format, inner, info, depth - 1, range);
    }
    format.text("}");
}

// Shows a variable: the pointee of a pointer to a structure. `pretty`: the number of '$' after its
// name.
void whole_value(Format& format, const AccessBuilder& builder, const DebugInfo& info, int pretty,
                 SourceRange range) {
    const int depth = pretty > 1 ? deepest : pretty;
    AccessBuilder at = builder;
    CType type = info.resolve(at.type());
    if (type.kind == CTypeKind::Pointer) {
        CType pointee = info.resolve(type.base_type);
        program::Number zero;
        if ((pointee.kind == CTypeKind::Struct || pointee.kind == CTypeKind::Union) &&
            pointee.size > 0 && at.index(&zero, range)) {
            structure(format, at, info, depth, range);
            return;
        }
    }
    element(format, builder, info, depth, range);
}

// As SystemTap does, shows nothing of a value that cannot be read in all its parts.
void whole(Format& format, const AccessBuilder& builder, const DebugInfo& info, int pretty,
           SourceRange range) {
    format.begin_value();
    whole_value(format, builder, info, pretty, range);
    format.end_value();
}

// $$name, $$provider, and $$parms and $$vars, which begin with the arguments; nothing for others.
std::optional<AccessResult> mark_variables(const program::TargetValue& value,
                                           const VariableScope& scope) {
    if (value.name == "$$name")
        return constant_text(scope.mark->name);
    if (value.name == "$$provider")
        return constant_text(scope.mark->provider);
    if (value.name != "$$parms" && value.name != "$$vars")
        return std::nullopt;
    TargetAccess out;
    out.is_text = true;
    {
        Format format(out);
        for (size_t i = 1; i <= scope.mark->arguments.size(); i++) {
            format.text((i > 1 ? " arg" : "arg") + std::to_string(i) + "=");
            AccessResult argument = mark_argument(scope, i, value.range);
            if (const auto* access = std::get_if<TargetAccess>(&argument))
                format.value('x', true, access->value);
            else
                format.text("?");
        }
    }
    return out;
}

} // namespace

void append_pretty(TargetAccess& out, const AccessBuilder& builder, const DebugInfo& info,
                   int depth, SourceRange range) {
    Format format(out);
    whole(format, builder, info, depth, range);
}

AccessResult constant_text(std::string_view text) {
    TargetAccess constant;
    constant.is_text = true;
    Format(constant).text(text);
    return constant;
}

AccessResult pretty_variables(const program::TargetValue& value, const VariableScope& scope) {
    if (!scope.function)
        return AccessError{
            DiagnosticKind::NoTargetVariables, value.range, value.name, "this probe point", {}, {}};
    if (scope.mark)
        if (auto of_mark = mark_variables(value, scope))
            return std::move(*of_mark);
    static const std::vector<std::string> known{"$$vars", "$$parms", "$$locals", "$$return",
                                                "$$name"};
    if (std::find(known.begin(), known.end(), value.name) == known.end()) {
        const std::string hint = did_you_mean(value.name, known);
        return AccessError{
            DiagnosticKind::UnknownTargetVariable,
            value.range,
            value.name,
            scope.where,
            {},
            hint.empty() ? "$$vars, $$parms, $$locals, $$return and $$name show variables" : hint};
    }
    if (value.name == "$$name") {
        if (scope.tracepoint.empty())
            return AccessError{DiagnosticKind::UnknownTargetVariable,
                               value.range,
                               value.name,
                               scope.where,
                               {},
                               "it is the name of a tracepoint; probefunc() is that of a function"};
        return constant_text(scope.tracepoint);
    }
    if (!scope.function->parameters_hint.empty() && value.name != "$$return")
        return AccessError{
            DiagnosticKind::UnknownTargetVariable, value.range, value.name, scope.where, {},
            scope.function->parameters_hint};
    bool parameters = value.name == "$$vars" || value.name == "$$parms";
    bool locals = value.name == "$$vars" || value.name == "$$locals";
    TargetAccess out;
    out.is_text = true;
    {
        Format format(out);
        bool first = true;
        auto show = [&](const std::string& name, AccessBuilder& builder, bool good) {
            format.text((first ? "" : " ") + name + "=");
            first = false;
            AccessBuilder end = builder;
            const bool in_parts = good && builder.in_parts();
            if (!good || (!in_parts && !end.finish(false, value.range)))
                format.text("?");
            else if (in_parts && value.pretty == 0)
                format.text("{...}");
            else if (value.pretty > 0)
                whole(format, builder, *scope.info, value.pretty, value.range);
            else
                format.value('x', true, end.access());
        };
        if (value.name == "$$return") {
            const auto& type = scope.function->return_type;
            if (scope.is_return && type && *type != 0) {
                AccessBuilder builder = access_builder(*scope.info, scope);
                builder.start_value(Access::Base::ReturnValue, *type);
                show("return", builder, true);
            }
        }
        for (const Variable& variable : scope.variables) {
            if (format.full() || (variable.is_parameter ? !parameters : !locals))
                continue;
            AccessBuilder builder = access_builder(*scope.info, scope);
            bool good = builder.start(variable.location, variable.type, variable.name, scope.where,
                                      value.range);
            show(variable.name, builder, good);
        }
    }
    return out;
}

} // namespace djstap
