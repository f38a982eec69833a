// SPDX-License-Identifier: GPL-2.0-or-later
#include "syntax/syntax_error.h"

#include "diagnostics/foreign_words.h"
#include "diagnostics/suggest.h"
#include "syntax/names.h"

#include <algorithm>

namespace djstap::syntax {

namespace {

using P = grammar::DjstapParser;

// Returns the innermost bracket of `type` that is open before tokens[end], from tokens[begin] on.
const Token* innermost_open(const TokenList& tokens, size_t begin, size_t end, size_t type) {
    std::vector<const Token*> open;
    for (size_t i = begin; i < end && i < tokens.tokens.size(); i++) {
        const Token& token = tokens.at(i);
        if (token.type == P::OpenParen || token.type == P::OpenBracket ||
            token.type == P::TupleOpen || token.type == P::OpenBrace)
            open.push_back(&token);
        else if ((token.type == P::CloseParen || token.type == P::CloseBracket ||
                  token.type == P::CloseBrace) &&
                 !open.empty())
            open.pop_back();
    }
    while (!open.empty() && open.back()->type != type)
        open.pop_back();
    return open.empty() ? nullptr : open.back();
}

bool touches(const Token& left, const Token& right) {
    return left.range.file == right.range.file && left.range.end == right.range.begin;
}

} // namespace

void BoundedParser::stop(size_t limit) {
    limit_reached = limit;
    throw antlr4::ParseCancellationException();
}

void BoundedParser::enter(antlr4::ParserRuleContext* context) {
    while (!levels_.empty() && levels_.back().context != context->parent)
        levels_.pop_back();
    levels_.push_back({context, 0});
    if (levels_.size() > rule_limit)
        stop(rule_limit);
}

void BoundedParser::enterRule(antlr4::ParserRuleContext* context, size_t state, size_t rule) {
    DjstapParser::enterRule(context, state, rule);
    enter(context);
}

void BoundedParser::enterRecursionRule(antlr4::ParserRuleContext* context, size_t state,
                                       size_t rule, int precedence) {
    DjstapParser::enterRecursionRule(context, state, rule, precedence);
    enter(context);
}

void BoundedParser::pushNewRecursionContext(antlr4::ParserRuleContext* context, size_t state,
                                            size_t rule) {
    const antlr4::RuleContext* previous = _ctx;
    DjstapParser::pushNewRecursionContext(context, state, rule);
    while (!levels_.empty() && levels_.back().context != previous)
        levels_.pop_back();
    if (levels_.empty())
        return;
    levels_.back().context = context;
    if (++levels_.back().chain > chain_limit)
        stop(chain_limit);
}

void BoundedParser::restart(antlr4::TokenStream* tokens) {
    levels_.clear();
    limit_reached = 0;
    setTokenStream(tokens);
}

antlr4::Token* ErrorStrategy::recoverInline(antlr4::Parser* parser) {
    if (reporting)
        report(parser, as_token(parser->getCurrentToken()));
    throw antlr4::ParseCancellationException();
}

void ErrorStrategy::recover(antlr4::Parser*, std::exception_ptr) {
    throw antlr4::ParseCancellationException();
}

void ErrorStrategy::reportError(antlr4::Parser* parser, const antlr4::RecognitionException& error) {
    if (reporting)
        report(parser, as_token(error.getOffendingToken()));
}

// Looks ahead at every choice, so that the message can name everything that is accepted, not only
// what the chosen path would need next.
void ErrorStrategy::sync(antlr4::Parser* parser) {
    if (!reporting)
        return;
    auto next = parser->getATN().nextTokens(parser->getATN().states[parser->getState()]);
    size_t type = parser->getCurrentToken()->getType();
    if (next.contains(antlr4::Token::EPSILON) || next.contains(type))
        return;
    report(parser, as_token(parser->getCurrentToken()));
    throw antlr4::ParseCancellationException();
}

void ErrorStrategy::report(antlr4::Parser* parser, const Token& guilty) {
    // Its own message was already reported.
    if (guilty.type == P::Bad)
        return;
    size_t rule = parser->getContext() ? parser->getContext()->getRuleIndex() : size_t{P::RuleItem};
    antlr4::misc::IntervalSet expected = parser->getExpectedTokens();
    // Suggesting an alias does not help a user who forgot the braces.
    if (rule == P::RuleProbeDeclaration && expected.contains(static_cast<size_t>(P::OpenBrace)))
        expected = antlr4::misc::IntervalSet::of(P::OpenBrace);
    auto& diagnostic = diagnostics_.report(DiagnosticKind::SyntaxError, guilty.range,
                                           {describe(guilty), describe_expected(expected, rule)});
    add_hint(diagnostic, guilty, expected, rule);
    const Token* open = nullptr;
    size_t opener = expected.contains(static_cast<size_t>(P::CloseBrace))   ? size_t{P::OpenBrace}
                    : expected.contains(static_cast<size_t>(P::CloseParen)) ? size_t{P::OpenParen}
                    : expected.contains(static_cast<size_t>(P::CloseBracket))
                        ? size_t{P::OpenBracket}
                        : size_t{0};
    // The token could not be inside any bracket: the bracket is unclosed rather than filled
    // wrongly.
    bool outside =
        guilty.type == antlr4::Token::EOF || guilty.type == P::Probe ||
        guilty.type == P::Function ||
        (opener != P::OpenBrace && (guilty.type == P::OpenBrace || guilty.type == P::CloseBrace ||
                                    guilty.type == P::Semicolon));
    if (opener && outside)
        open = innermost_open(tokens_, item_begin, guilty.index, opener);
    if (open)
        diagnostic.note(open->range, "this '" + std::string(open->text) + "' is not closed");
}

void ErrorStrategy::add_hint(Diagnostic& diagnostic, const Token& guilty,
                             const antlr4::misc::IntervalSet& expected, size_t rule) {
    const Token& before = tokens_.at(guilty.index > 0 ? guilty.index - 1 : 0);
    const Token& after = tokens_.at(guilty.index + 1);
    bool expression_wanted = expected.contains(static_cast<size_t>(P::Number)) &&
                             expected.contains(static_cast<size_t>(P::CallName));
    bool item_wanted = guilty.index == item_begin;
    if (item_wanted && (guilty.type == P::Identifier || guilty.type == P::CallName)) {
        std::string word(guilty.text);
        std::string near = did_you_mean(word, {"probe", "function", "global", "private"});
        if (std::string hint = hint_for_foreign_probe(word); !hint.empty())
            diagnostic.hint(hint);
        else if (word == "def" || word == "fn" || word == "func" || word == "sub")
            diagnostic.hint("the syntax of a function is: function name(parameters) { … }");
        else if (!near.empty())
            diagnostic.hint(near);
        else if (after.type == P::Assign || after.type == P::OpenBracket || after.type == P::Comma)
            diagnostic.hint("variables are declared with: global " + word);
        else if (after.type == P::Dot || after.type == P::OpenBrace || after.type == P::Colon)
            diagnostic.hint("a probe begins with the keyword 'probe': probe " + word + " …");
        else
            diagnostic.hint("statements belong in a probe: probe begin { … }");
        return;
    }
    if (item_wanted && guilty.type == P::CloseBrace) {
        diagnostic.hint("there is an extra '}' here or before");
        return;
    }
    if (item_wanted && guilty.type >= P::If && guilty.type <= P::Try) {
        diagnostic.hint("statements belong in a probe: probe begin { … }");
        return;
    }
    if (expression_wanted && before.type == P::Assign && touches(before, guilty) &&
        (guilty.type == P::Less || guilty.type == P::Greater)) {
        diagnostic.hint("did you mean '" + std::string(guilty.text) + "='?");
        return;
    }
    if (expression_wanted && guilty.type == P::Assign && before.type == P::Equal &&
        touches(before, guilty)) {
        diagnostic.hint("'==' compares values of any type");
        return;
    }
    if (expression_wanted && guilty.type == P::Star && after.type == P::TargetName &&
        touches(guilty, after) && before.type != P::Star) {
        diagnostic.hint("a pointer is dereferenced by an index: " + std::string(after.text) +
                        "[0]");
        return;
    }
    if (rule == P::RuleProbeDeclaration && guilty.type == P::Slash) {
        diagnostic.hint("a condition is tested in the probe's body: if (!(…)) next");
        return;
    }
    if (rule == P::RuleProbeDeclaration && expected.contains(static_cast<size_t>(P::OpenBrace))) {
        diagnostic.hint("the statements of a probe are enclosed in '{' and '}'");
        return;
    }
    if (rule == P::RuleStatement && before.type >= P::If && before.type <= P::Foreach &&
        expected.contains(static_cast<size_t>(P::OpenParen))) {
        diagnostic.hint("enclose what follows '" + std::string(before.text) + "' in parentheses");
        return;
    }
    if ((rule == P::RuleForeachHead || rule == P::RuleStatement) && guilty.type == P::Comma &&
        expected.contains(static_cast<size_t>(P::In))) {
        diagnostic.hint("several keys need brackets: foreach ([a, b] in array)");
        return;
    }
    // Not 'long' and 'string', which follow in the grammar: before '=' they end a declaration.
    bool after_keyword = before.type >= P::Probe && before.type <= P::Catch;
    if (guilty.type == P::Assign && after_keyword) {
        diagnostic.hint("'" + std::string(before.text) +
                        "' is a keyword and cannot name a variable");
        return;
    }
    bool in_block = expected.contains(static_cast<size_t>(P::CloseBrace)) && expression_wanted;
    if (in_block && (guilty.type == P::Long || guilty.type == P::StringType)) {
        diagnostic.hint("local variables are not declared: their type is inferred from their use");
        return;
    }
    if (in_block && (guilty.type == P::Global || guilty.type == P::Private)) {
        diagnostic.hint("globals are declared outside of probes and functions");
        return;
    }
    if (in_block && guilty.type == P::Else) {
        diagnostic.hint("this 'else' has no 'if' before it");
        return;
    }
    if (in_block && guilty.type == P::Catch) {
        diagnostic.hint("this 'catch' has no 'try' before it");
        return;
    }
    if (expression_wanted && !in_block && guilty.type >= P::Probe && guilty.type <= P::StringType &&
        guilty.type != P::If && before.type != P::Comma) {
        diagnostic.hint("'" + std::string(guilty.text) +
                        "' is a keyword and cannot name a variable");
        return;
    }
}

} // namespace djstap::syntax
