// SPDX-License-Identifier: GPL-2.0-or-later
// Dumps a script's tree as text that contains every field of every node but its place. Two scripts
// mean the same to the compiler if, and only if, their structures are equal; the printer's own text
// could omit what it fails to print.
#pragma once
#include "ast/ast.h"

#include <string>

namespace djstap::test {

class Structure {
  public:
    static std::string of(const ast::File& file) {
        Structure out;
        for (const auto& block : file.embedded)
            out.node("embedded", block.code);
        for (const auto& global : file.globals)
            out.add(global);
        for (const auto& function : file.functions)
            out.add(function);
        for (const auto& alias : file.aliases)
            out.add(alias);
        for (const auto& probe : file.probes)
            out.node("probe", probe.points, *probe.body);
        return std::move(out.text_);
    }

  private:
    // (name part part …), one per line.
    template <class... Parts> void node(const char* name, const Parts&... parts) {
        text_ += "(";
        text_ += name;
        (put(parts), ...);
        text_ += ")\n";
    }

    void put(bool value) { text_ += value ? " yes" : " no"; }
    void put(int64_t value) { text_ += " " + std::to_string(value); }
    void put(int value) { put(int64_t{value}); }
    template <class T>
        requires std::is_enum_v<T>
    void put(T value) {
        put(static_cast<int64_t>(value));
    }
    void put(const char* word) { text_ += std::string(" ") + word; }
    // Includes the length, so that no string looks like the end of another one.
    void put(const std::string& text) { text_ += " " + std::to_string(text.size()) + ":" + text; }
    template <class T> void put(const std::optional<T>& value) {
        if (value)
            put(*value);
        else
            text_ += " none";
    }
    template <class T> void put(const std::unique_ptr<T>& value) {
        if (value)
            put(*value);
        else
            text_ += " none";
    }
    template <class T> void put(const std::vector<T>& list) {
        text_ += " [";
        for (const T& item : list)
            put(item);
        text_ += "]";
    }

    void put(const ast::Component& step) { node("step", step.kind, step.member, step.index); }
    void put(const ast::PointComponent& part) {
        node("part", part.name, part.argument, part.number, part.string);
    }
    void put(const ast::ProbePoint& point) {
        node("point", point.components, point.optional, point.sufficient, point.condition);
    }
    void put(const ast::Parameter& parameter) { node("parameter", parameter.name, parameter.type); }
    void add(const ast::Global& global) {
        node("global", global.name, global.is_private, global.size, global.wrap, global.initial);
    }
    void add(const ast::Function& function) {
        node("function", function.name, function.is_private, function.return_type,
             function.parameters, function.priority, function.body, function.embedded_code);
    }
    void add(const ast::Alias& alias) {
        node("alias", alias.names, alias.append, alias.points, alias.body, alias.epilogue);
    }

    void put(const ast::Expression& e);
    void put(const ast::Statement& s);

    std::string text_;
};

inline void Structure::put(const ast::Expression& e) {
    using namespace ast;
    using K = ExpressionKind;
    switch (e.kind) {
    case K::NumberLiteral:
        return node("number", as<NumberLiteral>(e).value);
    case K::StringLiteral:
        return node("string", as<StringLiteral>(e).value);
    case K::Identifier:
        return node("name", as<Identifier>(e).name);
    case K::ArrayIndex:
        return node("element", as<ArrayIndex>(e).base, as<ArrayIndex>(e).indexes);
    case K::TargetSymbol: {
        const auto& n = as<TargetSymbol>(e);
        return node("target", n.name, n.variable, n.module, n.address_of, n.components);
    }
    case K::Cast: {
        const auto& n = as<Cast>(e);
        return node("cast", n.operand, n.type, n.module, n.address_of, n.components);
    }
    case K::Autocast: {
        const auto& n = as<Autocast>(e);
        return node("autocast", n.operand, n.address_of, n.components);
    }
    case K::Defined:
        return node("defined", as<Defined>(e).operand);
    case K::Entry:
        return node("entry", as<Entry>(e).operand);
    case K::PerfCounter:
        return node("perf", as<PerfCounter>(e).name);
    case K::Const:
        return node("const", as<Const>(e).text);
    case K::Enumerator:
        return node("enum", as<Enumerator>(e).arguments);
    case K::Dereference: {
        const auto& n = as<Dereference>(e);
        return node("dereference", n.user, n.size, n.address);
    }
    case K::Register:
        return node("register", as<Register>(e).user, as<Register>(e).number);
    case K::ProbeWrite:
        return node("probewrite", as<ProbeWrite>(e).operand);
    case K::Unary:
        return node("unary", as<Unary>(e).op, as<Unary>(e).operand);
    case K::Binary:
        return node("binary", as<Binary>(e).op, as<Binary>(e).left, as<Binary>(e).right);
    case K::Logical: {
        const auto& n = as<Logical>(e);
        return node("logical", n.conjunction, n.left, n.right);
    }
    case K::Conditional: {
        const auto& n = as<Conditional>(e);
        return node("conditional", n.condition, n.then_value, n.else_value);
    }
    case K::Assignment: {
        const auto& n = as<Assignment>(e);
        return node("assignment", n.form, n.op, n.place, n.value);
    }
    case K::Increment: {
        const auto& n = as<Increment>(e);
        return node("increment", n.prefix, n.decrement, n.operand);
    }
    case K::Call:
        return node("call", as<Call>(e).function, as<Call>(e).arguments);
    case K::Print: {
        const auto& n = as<Print>(e);
        return node("print", n.to_string, n.newline, n.delimited, n.formatted, n.single_char,
                    n.format, n.arguments);
    }
    case K::StatisticOp: {
        const auto& n = as<StatisticOp>(e);
        return node("statistic", n.op, n.operand, n.parameters);
    }
    case K::Membership:
        return node("in", as<Membership>(e).indexes, as<Membership>(e).array);
    case K::RegexMatch: {
        const auto& n = as<RegexMatch>(e);
        return node("regex", n.negated, n.operand, n.pattern);
    }
    case K::EmbeddedC:
        return node("c", as<EmbeddedC>(e).code);
    }
}

inline void Structure::put(const ast::Statement& s) {
    using namespace ast;
    using K = StatementKind;
    switch (s.kind) {
    case K::Block:
        return node("block", as<Block>(s).statements);
    case K::ExpressionStatement:
        return node("evaluate", as<ExpressionStatement>(s).expression);
    case K::Null:
        return node("null");
    case K::If: {
        const auto& n = as<If>(s);
        return node("if", n.condition, n.then_branch, n.else_branch);
    }
    case K::While:
        return node("while", as<While>(s).condition, as<While>(s).body);
    case K::For: {
        const auto& n = as<For>(s);
        return node("for", n.init, n.condition, n.step, n.body);
    }
    case K::Foreach: {
        const auto& n = as<Foreach>(s);
        return node("foreach", n.keys, n.value, n.array, n.slice, n.sort_key, n.ascending,
                    n.sort_stat, n.limit, n.body);
    }
    case K::Break:
        return node("break");
    case K::Continue:
        return node("continue");
    case K::Next:
        return node("next");
    case K::Return:
        return node("return", as<Return>(s).value);
    case K::Delete:
        return node("delete", as<Delete>(s).erased);
    case K::TryCatch: {
        const auto& n = as<TryCatch>(s);
        return node("try", n.body, n.variable, n.handler);
    }
    case K::EmbeddedStatement:
        return node("c", as<EmbeddedStatement>(s).code);
    }
}

} // namespace djstap::test
