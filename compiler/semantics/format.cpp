// SPDX-License-Identifier: GPL-2.0-or-later
#include "semantics/format.h"

#include "semantics/lower.h"

#include <algorithm>
#include <cctype>

namespace djstap::semantics {

using program::FormatPiece;
using program::Type;

namespace {

// The same as it is written in a script: "%\n" for a line break.
std::string with_escapes(const std::string& text) {
    std::string out;
    for (const char c : text)
        out += c == '\n' ? "\\n" : c == '\t' ? "\\t" : std::string(1, c);
    return out;
}

constexpr int max_width = 8192; // the most that one conversion may pad to

Type argument_type(char conversion) {
    return conversion == 's' ? Type::String : Type::Long;
}

bool is_digit(char c) {
    return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

// Reads digits or * at text[i…]: -1: none, -2: the next argument; max_width + 1 for larger sizes.
int read_size(const std::string& text, size_t& i) {
    if (i < text.size() && text[i] == '*') {
        ++i;
        return -2;
    }
    if (i >= text.size() || !is_digit(text[i]))
        return -1;
    int value = 0;
    for (; i < text.size() && is_digit(text[i]); ++i)
        value = std::min(value * 10 + (text[i] - '0'), max_width + 1);
    return value;
}

} // namespace

void append_literal(std::vector<FormatPiece>& pieces, const std::string& text) {
    if (text.empty())
        return;
    if (pieces.empty() || pieces.back().conversion)
        pieces.emplace_back();
    pieces.back().literal += text;
}

std::string conversion_text(const FormatPiece& piece) {
    std::string text = "%";
    if (piece.left)
        text += '-';
    if (piece.plus)
        text += '+';
    if (piece.space)
        text += ' ';
    if (piece.alternate)
        text += '#';
    if (piece.zero)
        text += '0';
    if (piece.width != -1)
        text += piece.width == -2 ? "*" : std::to_string(piece.width);
    if (piece.precision != -1)
        text += piece.precision == -2 ? ".*" : "." + std::to_string(piece.precision);
    return text + piece.conversion;
}

std::optional<std::vector<FormatPiece>> parse_format(const std::string& format, SourceRange range,
                                                     Diagnostics& diagnostics) {
    std::vector<FormatPiece> pieces;
    FormatPiece piece;
    for (size_t i = 0; i < format.size();) {
        if (format[i] != '%') {
            piece.literal += format[i++];
            continue;
        }
        const size_t start = i++;
        if (i < format.size() && format[i] == '%') {
            piece.literal += '%';
            ++i;
            continue;
        }
        for (bool more = true; more && i < format.size(); i += more)
            switch (format[i]) {
            case '-':
                piece.left = true;
                break;
            case '+':
                piece.plus = true;
                break;
            case ' ':
                piece.space = true;
                break;
            case '#':
                piece.alternate = true;
                break;
            case '0':
                piece.zero = true;
                break;
            default:
                more = false;
            }
        piece.width = read_size(format, i);
        if (i < format.size() && format[i] == '.') {
            ++i;
            piece.precision = read_size(format, i);
            if (piece.precision == -1)
                piece.precision = 0;
        }
        // C's length modifiers have no meaning if every number is 64 bits wide.
        while (i < format.size() && (format[i] == 'l' || format[i] == 'h'))
            ++i;
        const std::string written = format.substr(start, i - start + 1);
        if (i >= format.size()) {
            diagnostics.report(DiagnosticKind::IncompleteConversion, range, {format.substr(start)})
                .hint("a percent sign is written %%");
            return std::nullopt;
        }
        const char conversion = format[i++];
        if (std::string_view("bcdimMopsuxX").find(conversion) == std::string_view::npos) {
            diagnostics.report(DiagnosticKind::UnknownConversion, range, {with_escapes(written)})
                .hint("the conversions are %d %i %u %x %X %o %p %s %c %b %m %M, and %% for a "
                      "percent sign");
            return std::nullopt;
        }
        piece.conversion = conversion;
        if (piece.width > max_width || piece.precision > max_width) {
            diagnostics.report(DiagnosticKind::BadConversion, range,
                               {written, "its width and precision may be at most " +
                                             std::to_string(max_width) + ""});
            return std::nullopt;
        }
        if (conversion == 'm' || conversion == 'M')
            piece.size = std::max(piece.precision, 1);
        pieces.push_back(std::move(piece));
        piece = FormatPiece();
    }
    if (!piece.literal.empty())
        pieces.push_back(std::move(piece));
    return pieces;
}

Value Lowering::print(const ast::Print& node) {
    auto to = make<program::Print>(node.range);
    to->to_string = node.to_string;
    std::vector<Value> values;
    for (size_t i = 0; i < node.arguments.size(); ++i) {
        const ast::Expression& argument = *node.arguments[i];
        // printd's delimiter becomes part of the format.
        if (node.delimited && i == 0) {
            values.push_back(argument.kind == ast::ExpressionKind::StringLiteral
                                 ? literal(argument)
                                 : broken(argument.range));
            continue;
        }
        const bool histogram = argument.kind == ast::ExpressionKind::StatisticOp &&
                               !node.formatted &&
                               (ast::as<ast::StatisticOp>(argument).op == ast::StatOp::HistLog ||
                                ast::as<ast::StatisticOp>(argument).op == ast::StatOp::HistLinear);
        values.push_back(histogram ? histogram_text(ast::as<ast::StatisticOp>(argument))
                                   : expression(argument));
    }
    if (node.formatted)
        formatted(node, *to, values);
    else
        unformatted(node, *to, values);
    const bool has_delimiter = node.delimited && !values.empty();
    if (has_delimiter)
        discarded_.push_back(std::move(values[0].node));
    for (size_t i = has_delimiter ? 1 : 0; i < values.size(); ++i)
        to->arguments.push_back(std::move(values[i].node));
    if (node.to_string)
        return known(std::move(to), Type::String);
    // A print has the value 0.
    to->type = Type::Void;
    const SourceRange range = to->range;
    return {std::move(to), types_.of(Type::Long, range)};
}

void Lowering::formatted(const ast::Print& node, program::Print& print,
                         std::vector<Value>& values) {
    auto pieces = parse_format(node.format, node.format_range, diagnostics_);
    if (!pieces)
        return;
    std::vector<std::pair<Type, std::string>> wanted;
    for (const FormatPiece& piece : *pieces) {
        if (piece.width == -2)
            wanted.emplace_back(Type::Long, "*");
        if (piece.precision == -2)
            wanted.emplace_back(Type::Long, "*");
        if (piece.conversion)
            wanted.emplace_back(argument_type(piece.conversion), conversion_text(piece));
    }
    if (wanted.size() != values.size()) {
        Diagnostic& diagnostic = diagnostics_.report(
            DiagnosticKind::FormatArguments, node.format_range,
            {count_text(wanted.size(), "argument"),
             std::to_string(values.size()) + (values.size() == 1 ? " is" : " are")});
        if (values.size() > wanted.size())
            diagnostic.note(node.arguments[wanted.size()]->range,
                            "no conversion in the format uses this");
        else
            diagnostic.hint("'" + wanted[values.size()].second + "' has no argument");
        return;
    }
    for (size_t i = 0; i < values.size(); ++i) {
        const auto& [type, conversion] = wanted[i];
        auto conflict = types_.unify(values[i].type, types_.of(type, node.arguments[i]->range));
        if (!conflict)
            continue;
        Diagnostic& diagnostic =
            diagnostics_.report(DiagnosticKind::FormatType, node.arguments[i]->range,
                                {conversion, type_name(type), type_name(conflict->first)});
        const char* fitting = conflict->first == Type::String ? "%s" : "%d";
        if (const std::string hint = hint_for_pointer(*node.arguments[i]);
            conflict->first == Type::Long && !hint.empty())
            diagnostic.hint(hint);
        else if (conflict->first == Type::Long || conflict->first == Type::String)
            diagnostic.hint(std::string("a ") + type_name(conflict->first) + " is printed with " +
                            fitting);
        const SourceRange& origin = conflict->first_at;
        const SourceRange& own = node.arguments[i]->range;
        if (origin.valid() &&
            (origin.file != own.file || origin.begin < own.begin || origin.end > own.end))
            diagnostic.note(origin,
                            std::string("it became a ") + type_name(conflict->first) + " here");
    }
    print.format = std::move(*pieces);
}

void Lowering::unformatted(const ast::Print& node, program::Print& print,
                           std::vector<Value>& values) {
    std::string delimiter;
    if (node.delimited) {
        // The parser accepts nothing but a literal.
        const ast::Expression& first = *node.arguments.front();
        if (first.kind == ast::ExpressionKind::StringLiteral)
            delimiter = ast::as<ast::StringLiteral>(first).value;
    }
    if (node.single_char)
        require(values.front(), *node.arguments.front(), Type::Long);
    std::vector<TypeVar> types;
    for (size_t i = node.delimited ? 1 : 0; i < values.size(); ++i) {
        types.push_back(values[i].type);
        const bool histogram = values[i].node->kind == program::ExpressionKind::HistogramText;
        const bool variable = node.arguments[i]->kind == ast::ExpressionKind::Identifier ||
                              node.arguments[i]->kind == ast::ExpressionKind::ArrayIndex;
        if (histogram && values.size() == 1)
            print.shows = ast::print(*ast::as<ast::StatisticOp>(*node.arguments[i]).operand);
        if (!histogram && variable)
            needed_.push_back(
                {values[i].type, node.arguments[i]->range, subject(*node.arguments[i]), ""});
    }
    const bool single = node.single_char, newline = node.newline;
    // The conversion of a value is known when all types are.
    deferred_.push_back([this, &print, types, delimiter, single, newline] {
        std::vector<FormatPiece> pieces;
        for (size_t i = 0; i < types.size(); ++i) {
            if (i > 0)
                append_literal(pieces, delimiter);
            if (pieces.empty() || pieces.back().conversion)
                pieces.emplace_back();
            const bool histogram =
                print.arguments[i]->kind == program::ExpressionKind::HistogramText;
            const bool text = types_.get(types[i]) == Type::String;
            pieces.back().conversion = histogram ? 'H' : single ? 'c' : text ? 's' : 'd';
        }
        if (newline)
            append_literal(pieces, "\n");
        print.format = std::move(pieces);
    });
}

} // namespace djstap::semantics
