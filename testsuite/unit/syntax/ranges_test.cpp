// SPDX-License-Identifier: GPL-2.0-or-later
// The places of all nodes: messages of later phases underline them.
#include "parsing.h"

namespace djstap::test {
namespace {

using ast::ExpressionKind;

// The text of an expression, then those of its parts, each in order.
class Ranges {
  public:
    static std::string of(const std::string& expression) {
        Ranges ranges;
        ranges.parsing_.context.guru = true;
        const std::string script = "probe x { v = " + expression + " }";
        const Parsed parsed = ranges.parsing_.parse(script);
        if (!parsed.file)
            return parsed.diagnostics;
        const auto& statement =
            ast::as<ast::ExpressionStatement>(*parsed.file->probes[0].body->statements[0]);
        const auto& whole = ast::as<ast::Assignment>(*statement.expression);
        ranges.add(whole.op_range);
        ranges.add(*whole.value);
        EXPECT_EQ(ranges.parsing_.sources.text(whole.range), "v = " + expression);
        EXPECT_EQ(ranges.parsing_.sources.text(statement.range), "v = " + expression);
        return ranges.text_.substr(std::string_view("= | ").size());
    }

  private:
    void add(SourceRange range) {
        text_ += (text_.empty() ? "" : " | ") + std::string(parsing_.sources.text(range));
    }
    void add(const std::vector<ast::Component>& components) {
        for (const ast::Component& each : components) {
            add(each.range);
            if (each.index)
                add(*each.index);
        }
    }
    void add(const std::vector<ast::ExpressionPtr>& list) {
        for (const ast::ExpressionPtr& each : list)
            if (each)
                add(*each);
    }
    void add(const ast::Expression& node) {
        add(node.range);
        switch (node.kind) {
        case ExpressionKind::ArrayIndex:
            add(*ast::as<ast::ArrayIndex>(node).base);
            return add(ast::as<ast::ArrayIndex>(node).indexes);
        case ExpressionKind::TargetSymbol:
            return add(ast::as<ast::TargetSymbol>(node).components);
        case ExpressionKind::Cast:
            add(*ast::as<ast::Cast>(node).operand);
            return add(ast::as<ast::Cast>(node).components);
        case ExpressionKind::Autocast:
            add(*ast::as<ast::Autocast>(node).operand);
            return add(ast::as<ast::Autocast>(node).components);
        case ExpressionKind::Binary:
            add(ast::as<ast::Binary>(node).op_range);
            add(*ast::as<ast::Binary>(node).left);
            return add(*ast::as<ast::Binary>(node).right);
        case ExpressionKind::Unary:
            return add(*ast::as<ast::Unary>(node).operand);
        case ExpressionKind::Increment:
            return add(*ast::as<ast::Increment>(node).operand);
        case ExpressionKind::Conditional:
            add(*ast::as<ast::Conditional>(node).condition);
            add(*ast::as<ast::Conditional>(node).then_value);
            return add(*ast::as<ast::Conditional>(node).else_value);
        case ExpressionKind::Assignment:
            add(ast::as<ast::Assignment>(node).op_range);
            add(*ast::as<ast::Assignment>(node).place);
            return add(*ast::as<ast::Assignment>(node).value);
        case ExpressionKind::Call:
            add(ast::as<ast::Call>(node).name_range);
            return add(ast::as<ast::Call>(node).arguments);
        case ExpressionKind::Print:
            add(ast::as<ast::Print>(node).name_range);
            if (ast::as<ast::Print>(node).formatted)
                add(ast::as<ast::Print>(node).format_range);
            return add(ast::as<ast::Print>(node).arguments);
        case ExpressionKind::StatisticOp:
            return add(*ast::as<ast::StatisticOp>(node).operand);
        case ExpressionKind::Membership:
            add(ast::as<ast::Membership>(node).indexes);
            return add(*ast::as<ast::Membership>(node).array);
        case ExpressionKind::RegexMatch:
            add(*ast::as<ast::RegexMatch>(node).operand);
            return add(ast::as<ast::RegexMatch>(node).pattern_range);
        default:
            return;
        }
    }

    Parsing parsing_;
    std::string text_;
};

TEST(Ranges, OfExpressions) {
    for (const auto& [expression, ranges] :
         std::initializer_list<std::pair<const char*, const char*>>{
             {"5", "5"},
             {"\"a\" \"b\"", "\"a\" \"b\""},
             {"\"a\"\n  \"b\" . c", "\"a\"\n  \"b\" . c | . | \"a\"\n  \"b\" | c"},
             {"-a", "-a | a"},
             {"++a", "++a | a"},
             {"a[1]++", "a[1]++ | a[1] | a | 1"},
             {"a[b, *, 3]", "a[b, *, 3] | a | b | 3"},
             {"$x", "$x"},
             {"$x->y", "$x->y | ->y"},
             {"$x->y[i + 1]$$", "$x->y[i + 1]$$ | ->y | [i + 1] | i + 1 | + | i | 1 | $$"},
             {"$x->y$", "$x->y$ | ->y$ | $"},
             {"$x$$", "$x$$ | $$"},
             {"&$x", "&$x"},
             {"&$x->y", "&$x->y | ->y"},
             {"& $x[2]", "& $x[2] | [2] | 2"},
             {"@cast(p, \"t\")->a", "@cast(p, \"t\")->a | p | ->a"},
             {"&@cast(p, \"t\")->a", "&@cast(p, \"t\")->a | p | ->a"},
             {"@var(\"v\", \"m\")->b->c", "@var(\"v\", \"m\")->b->c | ->b | ->c"},
             {"f(x)->y->z", "f(x)->y->z | f(x) | f | x | ->y | ->z"},
             {"&x->y", "&x->y | x | ->y"},
             {"a + b * c", "a + b * c | + | a | b * c | * | b | c"},
             {"a ? b : c", "a ? b : c | a | b | c"},
             {"(w = 3)", "w = 3 | = | w | 3"},
             {"w += 3", "w += 3 | += | w | 3"},
             {"a ? b : c = 1", "a ? b : c = 1 | a | b | c = 1 | = | c | 1"},
             {"a ? b : d ? e : c = 1",
              "a ? b : d ? e : c = 1 | a | b | d ? e : c = 1 | d | e | c = 1 | = | c | 1"},
             {"f(1, g())", "f(1, g()) | f | 1 | g() | g"},
             {"sprintf(\"%d\", a)", "sprintf(\"%d\", a) | sprintf | \"%d\" | a"},
             {"sprint(a, b)", "sprint(a, b) | sprint | a | b"},
             {"@count(a[1])", "@count(a[1]) | a[1] | a | 1"},
             {"[a, *] in b", "[a, *] in b | a | b"},
             {"a in @hist_log(b)", "a in @hist_log(b) | a | @hist_log(b) | b"},
             {"s =~ \"x\"", "s =~ \"x\" | s | \"x\""},
             {"@uderef(4, p)", "@uderef(4, p)"},
             {"@entry($x)", "@entry($x)"},
             {"%{ 1 %}", "%{ 1 %}"}}) {
        const std::string found = Ranges::of(expression);
        EXPECT_EQ(found, ranges) << expression;
    }
}

// Statements without the semicolon behind them, which may be missing.
TEST(Ranges, OfStatements) {
    const auto statement = [](const std::string& text) {
        Parsing parsing;
        parsing.context.guru = true;
        const Parsed parsed = parsing.parse("function x() { " + text + " }");
        if (!parsed.file)
            return parsed.diagnostics;
        const auto& body = ast::as<ast::Block>(*parsed.file->functions[0].body);
        EXPECT_EQ(parsing.sources.text(body.range), "{ " + text + " }");
        return std::string(parsing.sources.text(body.statements.at(0)->range));
    };
    for (const auto& [text, range] : std::initializer_list<std::pair<const char*, const char*>>{
             {"a = 1;", "a = 1"},
             {"return;", "return"},
             {"return a + 1; b", "return a + 1"},
             {"delete a[1]; b", "delete a[1]"},
             {"break; b", "break"},
             {"continue b", "continue"},
             {"next; b", "next"},
             {"; b", ";"},
             {"if (a) b", "if (a) b"},
             {"if (a) { b } else { c } d", "if (a) { b } else { c }"},
             {"while (a) { b } d", "while (a) { b }"},
             {"for (;;) { b } d", "for (;;) { b }"},
             {"foreach (k in a) { b } d", "foreach (k in a) { b }"},
             {"try { a } catch (e) { b } d", "try { a } catch (e) { b }"},
             {"{ a } b", "{ a }"},
             {"%{ x(); %} b", "%{ x(); %}"}})
        EXPECT_EQ(statement(text), range) << text;
}

// From where it is used, however deep in macros it is.
TEST(Ranges, GoAcrossMacros) {
    Parsing parsing;
    const Parsed parsed = parsing.parse("@define one %( 1 %)\n@define two %( (2 + @one) %)\n"
                                        "probe x { y = @one + 5 z = 6 * @two w = @two * @one }");
    ASSERT_TRUE(parsed.file) << parsed.diagnostics;
    const auto value = [&](size_t number) {
        const auto& statement =
            ast::as<ast::ExpressionStatement>(*parsed.file->probes[0].body->statements.at(number));
        return std::string(
            parsing.sources.text(ast::as<ast::Assignment>(*statement.expression).value->range));
    };
    EXPECT_EQ(value(0), "@one + 5");
    EXPECT_EQ(value(1), "6 * @two");
    EXPECT_EQ(value(2), "@two * @one");
}

TEST(Ranges, OfPointsAndDeclarations) {
    Parsing parsing;
    parsing.context.guru = true;
    const Parsed parsed = parsing.parse(
        "%{ int i; %}\nglobal a[5], b = -2, c% = 1\nfunction f:string(x:long) %{ y %}\n"
        "private function g() { }\nprobe {p, q.r(\"s\")}.t(3)! if (u), v.* { }\n"
        "probe al = al.b += w.x { } , { z }");
    EXPECT_EQ(parsed.errors, 1U); // c
    const Parsed good =
        parsing.parse("%{ int i; %}\nglobal a[5], b = -2\nfunction f:string(x:long) %{ y %}\n"
                      "private function g() { }\nprobe {p, q.r(\"s\")}.t(3)! if (u), v.* { }\n"
                      "probe al = al.b += w.x { } , { z }");
    ASSERT_TRUE(good.file) << good.diagnostics;
    const auto text = [&](SourceRange range) { return std::string(parsing.sources.text(range)); };
    const ast::File& file = *good.file;
    EXPECT_EQ(text(file.embedded.at(0).range), "%{ int i; %}");
    EXPECT_EQ(text(file.globals.at(1).range), "b");
    EXPECT_EQ(text(file.globals.at(1).initial->range), "-2");
    EXPECT_EQ(text(file.functions.at(0).parameters.at(0).range), "x");
    EXPECT_EQ(text(file.functions.at(1).range), "g");
    EXPECT_EQ(text(file.functions.at(1).body_range), "{ }");
    const ast::Probe& probe = file.probes.at(0);
    EXPECT_EQ(text(probe.range), "probe {p, q.r(\"s\")}.t(3)! if (u), v.*");
    ASSERT_EQ(probe.points.size(), 3U);
    EXPECT_EQ(text(probe.points[0].range), "{p, q.r(\"s\")}.t(3)! if (u)");
    EXPECT_EQ(text(probe.points[1].range), "{p, q.r(\"s\")}.t(3)! if (u)");
    EXPECT_EQ(text(probe.points[0].condition->range), "u");
    EXPECT_EQ(text(probe.points[1].components.at(1).argument_range), "\"s\"");
    EXPECT_EQ(text(probe.points[1].components.at(2).range), "t");
    EXPECT_EQ(text(probe.points[1].components.at(2).argument_range), "3");
    EXPECT_EQ(text(probe.points[2].components.at(1).range), "*");
    const ast::Alias& alias = file.aliases.at(0);
    EXPECT_EQ(text(alias.range), "probe al = al.b += w.x");
    EXPECT_EQ(text(alias.names.at(1).at(1).range), "b");
    EXPECT_EQ(text(alias.body->range), "{ }");
    EXPECT_EQ(text(alias.epilogue->range), "{ z }");
    EXPECT_TRUE(alias.append);
    EXPECT_TRUE(file.functions.at(1).is_private);
}

// A name of parts that touch is one component; where it ends, so does its place.
TEST(Ranges, OfComponentsWithStars) {
    Parsing parsing;
    const Parsed parsed = parsing.parse("probe a*b2*.**c(1) {}");
    ASSERT_TRUE(parsed.file) << parsed.diagnostics;
    const auto& components = parsed.file->probes[0].points[0].components;
    ASSERT_EQ(components.size(), 2U);
    EXPECT_EQ(parsing.sources.text(components[0].range), "a*b2*");
    EXPECT_EQ(components[0].name, "a*b2*");
    EXPECT_EQ(parsing.sources.text(components[1].range), "**c");
    EXPECT_EQ(components[1].name, "**c");
}

} // namespace
} // namespace djstap::test
