// SPDX-License-Identifier: GPL-2.0-or-later
// The parser's input: words with their roles and values, and the stream over them.
#pragma once
#include "diagnostics/source.h"

#include <antlr4-runtime.h>
#include <deque>
#include <string_view>
#include <vector>

namespace djstap::syntax {

class Token final : public antlr4::Token {
  public:
    size_t type = 0; // DjstapParser's
    uint32_t index = 0;
    SourceRange range;
    std::string_view text; // as written
    int64_t number = 0;    // of a Number
    // Of a String: its decoded text, with adjacent strings joined; of a PointName: its text.
    const std::string* string = nullptr;

    std::string getText() const override { return std::string(text); }
    size_t getType() const override { return type; }
    size_t getLine() const override { return 0; }
    size_t getCharPositionInLine() const override { return range.begin; }
    size_t getChannel() const override { return DEFAULT_CHANNEL; }
    size_t getTokenIndex() const override { return index; }
    size_t getStartIndex() const override { return range.begin; }
    size_t getStopIndex() const override { return range.end; }
    antlr4::TokenSource* getTokenSource() const override { return nullptr; }
    antlr4::CharStream* getInputStream() const override { return nullptr; }
    std::string toString() const override { return getText(); }
};

inline const Token& as_token(const antlr4::Token* token) {
    return static_cast<const Token&>(*token);
}

// All tokens of a file, the last one EOF, as a stream.
class TokenList final : public antlr4::TokenStream {
  public:
    std::vector<Token> tokens;
    std::deque<std::string> strings; // what Token::string points to

    void consume() override;
    size_t LA(ssize_t offset) override { return LT(offset)->getType(); }
    antlr4::Token* LT(ssize_t offset) override;
    antlr4::Token* get(size_t index) const override;
    ssize_t mark() override { return 0; }
    void release(ssize_t) override {}
    size_t index() override { return position_; }
    void seek(size_t index) override { position_ = std::min(index, tokens.size() - 1); }
    size_t size() override { return tokens.size(); }
    std::string getSourceName() const override { return "script"; }
    antlr4::TokenSource* getTokenSource() const override { return nullptr; }
    std::string getText(const antlr4::misc::Interval&) override { return {}; }
    std::string getText() override { return {}; }
    std::string getText(antlr4::RuleContext*) override { return {}; }
    std::string getText(antlr4::Token*, antlr4::Token*) override { return {}; }

    const Token& at(size_t index) const { return tokens[std::min(index, tokens.size() - 1)]; }

  private:
    size_t position_ = 0;
};

} // namespace djstap::syntax
