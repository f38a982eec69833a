// SPDX-License-Identifier: GPL-2.0-or-later
#include "syntax/builder.h"

#include "arch/arch.h"

#include <algorithm>

namespace djstap::syntax {

using P = Builder::P;

namespace {

// Returns the properties of print, sprintf and the like; nullopt for any other name.
std::optional<ast::Print> print_of(std::string_view name, SourceRange place) {
    ast::Print out(place);
    if (name == "print_char") {
        out.single_char = true;
        return out;
    }
    if (name.starts_with("s")) {
        out.to_string = true;
        name.remove_prefix(1);
    }
    if (!name.starts_with("print"))
        return std::nullopt;
    name.remove_prefix(5);
    if (name == "f") {
        out.formatted = true;
        return out;
    }
    if (name.starts_with("d")) {
        out.delimited = true;
        name.remove_prefix(1);
    }
    if (name == "ln") {
        out.newline = true;
        name = {};
    }
    return name.empty() ? std::optional(std::move(out)) : std::nullopt;
}

// $x->y$ and y->z$$: the trailing $ requests the value as text; a name itself may contain a $.
std::string take_pretty(std::string& name) {
    size_t keep = name.find_last_not_of('$');
    if (keep == std::string::npos || keep + 1 == name.size())
        return "";
    std::string suffix = name.substr(keep + 1);
    if (suffix.size() > 2)
        return "";
    name.resize(keep + 1);
    return suffix;
}

ast::Component pretty_component(std::string suffix, SourceRange place) {
    ast::Component out;
    out.kind = ast::Component::Kind::PrettyPrint;
    out.range = place;
    if (place.end >= place.begin + suffix.size())
        out.range.begin = place.end - static_cast<uint32_t>(suffix.size());
    out.member = std::move(suffix);
    return out;
}

bool is_histogram(const ast::ExpressionPtr& value) {
    if (value->kind != ast::ExpressionKind::StatisticOp)
        return false;
    ast::StatOp op = ast::as<ast::StatisticOp>(*value).op;
    return op == ast::StatOp::HistLog || op == ast::StatOp::HistLinear;
}

// &(c ? $x : $y): macros wrap a target in parentheses.
ast::ExpressionPtr address_of_group(ast::ExpressionPtr value) {
    auto out = std::make_unique<ast::Autocast>(value->range);
    out->address_of = true;
    out->operand = std::move(value);
    return out;
}

} // namespace

ast::StatOp stat_op(size_t token_type) {
    switch (token_type) {
    case P::AtCount:
        return ast::StatOp::Count;
    case P::AtSum:
        return ast::StatOp::Sum;
    case P::AtMin:
        return ast::StatOp::Min;
    case P::AtMax:
        return ast::StatOp::Max;
    case P::AtAvg:
        return ast::StatOp::Avg;
    case P::AtVariance:
        return ast::StatOp::Variance;
    case P::AtHistLog:
        return ast::StatOp::HistLog;
    default:
        return ast::StatOp::HistLinear;
    }
}

std::string describe(const ast::Expression& expression) {
    using K = ast::ExpressionKind;
    switch (expression.kind) {
    case K::NumberLiteral:
        return "a number";
    case K::StringLiteral:
        return "a string";
    case K::Identifier:
        return "'" + ast::as<ast::Identifier>(expression).name + "'";
    case K::Call:
        return "the value of '" + ast::as<ast::Call>(expression).function + "'";
    case K::Print:
        return "a print function";
    case K::StatisticOp:
        return "a statistic";
    case K::Membership:
        return "an 'in' expression";
    case K::Assignment:
    case K::Increment:
        return "an assignment";
    case K::EmbeddedC:
        return "embedded C";
    case K::Conditional:
        return "a '?:' expression";
    case K::ArrayIndex:
        return "this element";
    case K::TargetSymbol:
    case K::Cast:
    case K::Autocast:
        return "the address or string of a target variable";
    default:
        return "this expression";
    }
}

std::vector<ast::ExpressionPtr> Builder::indexes(const std::vector<P::IndexItemContext*>& items) {
    std::vector<ast::ExpressionPtr> out;
    out.reserve(items.size());
    for (P::IndexItemContext* item : items)
        out.push_back(item->value ? expression(*item->value) : nullptr);
    return out;
}

ast::ExpressionPtr Builder::array_name(P::ArrayNameContext& array) {
    if (array.histogram)
        return statistic(*array.histogram);
    auto out = std::make_unique<ast::Identifier>(range(array.name));
    out->name = text_of(array.name);
    return out;
}

std::optional<ast::Component> Builder::component(P::StepContext& step) {
    ast::Component out;
    out.range = range(step);
    if (step.member) {
        out.member = text_of(step.member);
        return out;
    }
    if (step.pretty) {
        out.kind = ast::Component::Kind::PrettyPrint;
        out.member = text_of(step.pretty);
        return out;
    }
    out.kind = ast::Component::Kind::Index;
    if (step.indexes.size() != 1 || !step.indexes[0]->value) {
        diagnostics_.report(
            DiagnosticKind::NotAnArray, out.range,
            {"a target variable", step.indexes.size() != 1 ? "several keys" : "'*'"});
        return std::nullopt;
    }
    out.index = expression(*step.indexes[0]->value);
    return out;
}

ast::ExpressionPtr Builder::postfix(P::PostfixContext& context) {
    ast::ExpressionPtr value = primary(*context.base);
    std::vector<ast::Component>* components = nullptr;
    bool bare = context.base->token == nullptr || context.base->token->getType() != P::OpenParen;
    auto attach = [&] {
        if (!bare)
            components = nullptr;
        else if (value->kind == ast::ExpressionKind::TargetSymbol)
            components = &ast::as<ast::TargetSymbol>(*value).components;
        else if (value->kind == ast::ExpressionKind::Cast)
            components = &ast::as<ast::Cast>(*value).components;
    };
    attach();
    for (P::StepContext* step : context.steps) {
        bool element = !step->indexes.empty() && !components && bare &&
                       (value->kind == ast::ExpressionKind::Identifier ||
                        value->kind == ast::ExpressionKind::StatisticOp);
        SourceRange place = cover(value->range, range(*step));
        if (element) {
            auto out = std::make_unique<ast::ArrayIndex>(place);
            out->base = std::move(value);
            out->indexes = indexes(step->indexes);
            value = std::move(out);
            continue;
        }
        if (!components) {
            bool constant = value->kind == ast::ExpressionKind::NumberLiteral ||
                            value->kind == ast::ExpressionKind::StringLiteral ||
                            value->kind == ast::ExpressionKind::Print;
            if (constant) {
                diagnostics_
                    .report(DiagnosticKind::NoMembers, range(*step),
                            {describe(*value), "'" + text_of(step->start) + "'"})
                    .hint("members can be accessed in a target variable such as $x, in @cast(…), "
                          "or in a variable that holds such a pointer");
                return value;
            }
            auto out = std::make_unique<ast::Autocast>(place);
            out->operand = std::move(value);
            value = std::move(out);
            components = &ast::as<ast::Autocast>(*value).components;
        }
        auto one = component(*step);
        if (!one)
            return value;
        std::string suffix =
            one->kind == ast::Component::Kind::Member ? take_pretty(one->member) : "";
        SourceRange at = one->range;
        if (!components->empty() && components->back().kind == ast::Component::Kind::PrettyPrint)
            diagnostics_.report(DiagnosticKind::NoMembers, at,
                                {"the printed form of a value", "'" + text_of(step->start) + "'"});
        components->push_back(std::move(*one));
        if (!suffix.empty())
            components->push_back(pretty_component(std::move(suffix), at));
        value->range = place;
    }
    if (context.address) {
        SourceRange place = cover(range(context.address), value->range);
        if (value->kind == ast::ExpressionKind::TargetSymbol && components)
            ast::as<ast::TargetSymbol>(*value).address_of = true;
        else if (value->kind == ast::ExpressionKind::Cast && components)
            ast::as<ast::Cast>(*value).address_of = true;
        else if (value->kind == ast::ExpressionKind::Autocast && components)
            ast::as<ast::Autocast>(*value).address_of = true;
        else if (!bare && !components)
            value = address_of_group(std::move(value));
        else
            diagnostics_.report(DiagnosticKind::NoAddress, range(context.address));
        value->range = place;
    }
    if (context.crement)
        return increment(std::move(value), *context.crement, false, range(context));
    return value;
}

template <class Node> ast::ExpressionPtr Builder::with_operand(P::PrimaryContext& context) {
    auto out = std::make_unique<Node>(range(context));
    out->operand = expression(*context.inner);
    return out;
}

ast::ExpressionPtr Builder::primary(P::PrimaryContext& context) {
    if (context.extract)
        return statistic(*context.extract);
    const Token& token = as_token(context.token);
    SourceRange place = range(context);
    switch (token.type) {
    case P::Number: {
        auto out = std::make_unique<ast::NumberLiteral>(place);
        out->value = token.number;
        return out;
    }
    case P::String: {
        auto out = std::make_unique<ast::StringLiteral>(place);
        out->value = *token.string;
        return out;
    }
    case P::Identifier: {
        auto out = std::make_unique<ast::Identifier>(place);
        out->name = token.text;
        return out;
    }
    case P::TargetName: {
        auto out = std::make_unique<ast::TargetSymbol>(place);
        out->name = token.text;
        std::string suffix = take_pretty(out->name);
        if (!suffix.empty())
            out->components.push_back(pretty_component(std::move(suffix), place));
        return out;
    }
    case P::EmbeddedC: {
        auto out = std::make_unique<ast::EmbeddedC>(place);
        out->code = embedded_code(&token);
        return out;
    }
    case P::CallName:
        return call(context);
    case P::OpenParen: {
        ast::ExpressionPtr inner = expression(*context.inner);
        if (inner && inner->kind == ast::ExpressionKind::Assignment)
            ast::as<ast::Assignment>(*inner).parenthesized = true;
        return inner;
    }
    case P::TupleOpen: {
        auto out = std::make_unique<ast::Membership>(place);
        out->indexes = indexes(context.indexes);
        out->array = array_name(*context.array);
        return out;
    }
    case P::AtCast:
        return cast(context);
    case P::AtVar: {
        auto out = std::make_unique<ast::TargetSymbol>(place);
        out->name = "@var";
        out->variable = string_of(context.strings[0]);
        if (context.strings.size() > 1)
            out->module = string_of(context.strings[1]);
        return out;
    }
    case P::AtPerf: {
        auto out = std::make_unique<ast::PerfCounter>(place);
        out->name = string_of(context.strings[0]);
        return out;
    }
    case P::AtConst: {
        check_privilege(token);
        auto out = std::make_unique<ast::Const>(place);
        out->text = string_of(context.strings[0]);
        return out;
    }
    case P::AtDefined:
        return with_operand<ast::Defined>(context);
    case P::AtEntry:
        return with_operand<ast::Entry>(context);
    case P::AtProbewrite:
        return with_operand<ast::ProbeWrite>(context);
    case P::AtKregister:
    case P::AtUregister: {
        auto out = std::make_unique<ast::Register>(place);
        out->user = token.type == P::AtUregister;
        if (!out->user)
            check_privilege(token);
        out->number = as_token(context.number).number;
        if (!arch::register_of_dwarf(static_cast<uint64_t>(out->number)))
            diagnostics_
                .report(DiagnosticKind::RegisterNumber, range(context.number), {text_of(&token)})
                .hint(std::string(arch::dwarf_register_names()));
        return out;
    }
    case P::AtKderef:
    case P::AtUderef: {
        auto out = std::make_unique<ast::Dereference>(place);
        out->user = token.type == P::AtUderef;
        if (!out->user)
            check_privilege(token);
        out->size = as_token(context.number).number;
        if (out->size != 1 && out->size != 2 && out->size != 4 && out->size != 8)
            diagnostics_.report(DiagnosticKind::DereferenceSize, range(context.number),
                                {text_of(&token)});
        out->address = expression(*context.inner);
        return out;
    }
    default: {
        auto out = std::make_unique<ast::Enumerator>(place);
        for (P::ExpressionContext* argument : context.arguments)
            out->arguments.push_back(expression(*argument));
        return out;
    }
    }
}

ast::ExpressionPtr Builder::cast(P::PrimaryContext& context) {
    auto out = std::make_unique<ast::Cast>(range(context));
    out->operand = expression(*context.inner);
    out->type = string_of(context.strings[0]);
    if (context.strings.size() > 1)
        out->module = string_of(context.strings[1]);
    return out;
}

ast::ExpressionPtr Builder::statistic(P::StatisticCallContext& context) {
    auto out = std::make_unique<ast::StatisticOp>(range(context));
    out->op = stat_op(context.op->getType());
    out->operand = expression(*context.inner);
    bool strings = false;
    for (P::LiteralContext* parameter : context.parameters) {
        strings |= parameter->string != nullptr;
        out->parameters.push_back(parameter->string ? 0 : literal_number(*parameter));
    }
    size_t given = out->parameters.size();
    const char* wanted = nullptr;
    if (out->op == ast::StatOp::HistLinear)
        wanted = given == 3
                     ? nullptr
                     : "a variable, the lowest value, the highest value and the width of a bucket";
    else if (out->op == ast::StatOp::Variance)
        wanted = given <= 1 ? nullptr : "a variable and optionally a bit shift";
    else
        wanted = given == 0 ? nullptr : "one variable";
    if (!wanted && strings)
        wanted = "numbers after the variable";
    if (wanted)
        diagnostics_.report(DiagnosticKind::BadStatisticArguments, out->range,
                            {text_of(context.op), wanted});
    return out;
}

// Checks for what requires guru mode.
void Builder::check_privilege(const Token& op) {
    if (!privileged_)
        diagnostics_.report(DiagnosticKind::OperatorNeedsGuru, op.range, {std::string(op.text)})
            .hint("run djstap with -g if you trust the code");
}

// Checks the number of values of a print.
bool Builder::check_print(const ast::Print& print, std::string_view name) {
    size_t given = print.arguments.size();
    bool histogram = std::any_of(print.arguments.begin(), print.arguments.end(), is_histogram);
    const char* wanted = histogram && given > 1 && !print.formatted ? "a histogram alone"
                         : print.single_char ? given == 1 ? nullptr : "1 argument"
                         : print.delimited && given > 0
                             ? given > 2 ? nullptr : "a delimiter and two or more values"
                         : print.formatted || print.newline || print.delimited ? nullptr
                         : given > 0                                           ? nullptr
                                     : "at least 1 argument";
    if (wanted)
        diagnostics_.report(
            DiagnosticKind::PrintArguments, print.name_range,
            {std::string(name), wanted, std::to_string(given) + (given == 1 ? " is" : " are")});
    return !wanted;
}

ast::ExpressionPtr Builder::call(P::PrimaryContext& context) {
    const Token& name = as_token(context.token);
    SourceRange place = range(context);
    std::vector<ast::ExpressionPtr> arguments;
    arguments.reserve(context.arguments.size());
    for (P::ExpressionContext* argument : context.arguments)
        arguments.push_back(expression(*argument));
    auto print = print_of(name.text, place);
    if (!print) {
        auto out = std::make_unique<ast::Call>(place);
        out->function = name.text;
        out->name_range = name.range;
        out->arguments = std::move(arguments);
        return out;
    }
    auto out = std::make_unique<ast::Print>(std::move(*print));
    out->name_range = name.range;
    out->arguments = std::move(arguments);
    if (!check_print(*out, name.text) || (!out->formatted && !out->delimited))
        return out;
    if (out->arguments.empty() || out->arguments[0]->kind != ast::ExpressionKind::StringLiteral) {
        SourceRange at = out->arguments.empty() ? name.range : out->arguments[0]->range;
        diagnostics_.report(DiagnosticKind::MissingFormat, at, {std::string(name.text)})
            .hint(out->formatted
                      ? "write " + std::string(name.text) + "(\"%d\", value), or print(value)"
                      : "the first argument is the delimiter: " + std::string(name.text) +
                            "(\", \", a, b)");
        return out;
    }
    if (out->formatted) {
        auto& format = ast::as<ast::StringLiteral>(*out->arguments[0]);
        out->format = std::move(format.value);
        out->format_range = format.range;
        out->arguments.erase(out->arguments.begin());
    }
    return out;
}

} // namespace djstap::syntax
