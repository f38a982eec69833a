// SPDX-License-Identifier: GPL-2.0-or-later
// The parser's errors: it stops at the first token that cannot be right, with one useful message.
#pragma once
#include "diagnostics/diagnostic.h"
#include "grammar/DjstapParser.h"
#include "syntax/token_list.h"

namespace djstap::syntax {

// The limit of nested rules: bounds the parser's stack where no bracket does (!!!!x, if (a) if (b)
// …).
constexpr size_t rule_limit = 3000;
// The limit of operators in a row: bounds the depth of the tree of a + b + c …
constexpr size_t chain_limit = 1000;

// The generated parser, which stops before its recursion is too deep.
class BoundedParser final : public grammar::DjstapParser {
  public:
    explicit BoundedParser(antlr4::TokenStream* tokens) : DjstapParser(tokens) {}

    void enterRule(antlr4::ParserRuleContext* context, size_t state, size_t rule) override;
    void enterRecursionRule(antlr4::ParserRuleContext* context, size_t state, size_t rule,
                            int precedence) override;
    void pushNewRecursionContext(antlr4::ParserRuleContext* context, size_t state,
                                 size_t rule) override;

    // The limit that ended the last parse; 0: none.
    size_t limit_reached = 0;
    // Drops the tree and continues at the stream's position.
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

// Stops at the first error. The first attempt at an item is fast and silent; if it fails, the item
// is parsed again with `reporting`.
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
