// SPDX-License-Identifier: GPL-2.0-or-later
// How the parser fails: at the first token that cannot be right, with one message a person can use.
#pragma once
#include "diagnostics/diagnostic.h"
#include "grammar/DjstapParser.h"
#include "syntax/token_list.h"

namespace djstap::syntax {

// Levels of rules within rules: bounds the parser's stack where no bracket does (!!!!x, if (a) if
// (b) …).
constexpr size_t rule_limit = 3000;
// Operators in a row: bounds the depth of the tree of a + b + c …
constexpr size_t chain_limit = 1000;

// The generated parser, stopping before its recursion gets out of hand.
class BoundedParser final : public grammar::DjstapParser {
  public:
    explicit BoundedParser(antlr4::TokenStream* tokens) : DjstapParser(tokens) {}

    void enterRule(antlr4::ParserRuleContext* context, size_t state, size_t rule) override;
    void enterRecursionRule(antlr4::ParserRuleContext* context, size_t state, size_t rule,
                            int precedence) override;
    void pushNewRecursionContext(antlr4::ParserRuleContext* context, size_t state,
                                 size_t rule) override;

    // Set when the last parse ended because of a limit; the limit that it was.
    size_t limit_reached = 0;
    // Forgets the tree and goes on at the stream's position.
    void restart(antlr4::TokenStream* tokens);

  private:
    struct Level {
        const antlr4::RuleContext* context;
        size_t chain;
    };
    void enter(antlr4::ParserRuleContext* context);
    [[noreturn]] void stop(size_t limit);

    std::vector<Level> levels_;
};

// Stops at the first error. The first try of an item is quick and says nothing; when it fails, the
// item is parsed again with `reporting`.
class ErrorStrategy final : public antlr4::ANTLRErrorStrategy {
  public:
    ErrorStrategy(const TokenList& tokens, Diagnostics& diagnostics)
        : tokens_(tokens), diagnostics_(diagnostics) {}

    bool reporting = false;
    size_t item_begin = 0; // index of the item's first token

    void reset(antlr4::Parser*) override {}
    antlr4::Token* recoverInline(antlr4::Parser* parser) override;
    void recover(antlr4::Parser* parser, std::exception_ptr error) override;
    void sync(antlr4::Parser* parser) override;
    bool inErrorRecoveryMode(antlr4::Parser*) override { return false; }
    void reportMatch(antlr4::Parser*) override {}
    void reportError(antlr4::Parser* parser, const antlr4::RecognitionException& error) override;

  private:
    void report(antlr4::Parser* parser, const Token& guilty);
    void add_hint(Diagnostic& diagnostic, const Token& guilty,
                  const antlr4::misc::IntervalSet& expected, size_t rule);

    const TokenList& tokens_;
    Diagnostics& diagnostics_;
};

} // namespace djstap::syntax
