// SPDX-License-Identifier: GPL-2.0-or-later
#include "syntax/lexing.h"

#include "grammar/DjstapLexer.h"

namespace djstap::syntax {

namespace {

using grammar::DjstapLexer;

// A stream of bytes, so that an index is an offset in the file (ANTLR's own stream decodes UTF-8,
// counts characters, and throws on invalid UTF-8).
class ByteStream final : public antlr4::CharStream {
  public:
    explicit ByteStream(std::string_view text) : text_(text) {}

    void consume() override { index_++; }
    size_t LA(ssize_t offset) override {
        size_t at = index_ + static_cast<size_t>(offset) - (offset > 0 ? 1 : 0);
        return at < text_.size() ? static_cast<unsigned char>(text_[at]) : IntStream::EOF;
    }
    ssize_t mark() override { return -1; }
    void release(ssize_t) override {}
    size_t index() override { return index_; }
    void seek(size_t index) override { index_ = std::min(index, text_.size()); }
    size_t size() override { return text_.size(); }
    std::string getSourceName() const override { return "script"; }
    std::string getText(const antlr4::misc::Interval& range) override {
        return std::string(
            text_.substr(static_cast<size_t>(range.a), static_cast<size_t>(range.b - range.a + 1)));
    }
    std::string toString() const override { return std::string(text_); }

  private:
    std::string_view text_;
    size_t index_ = 0;
};

} // namespace

bool lex(std::string_view text, SourceRange place, bool fixed, Lexemes& out,
         Diagnostics& diagnostics) {
    auto at = [&](size_t begin, size_t end) {
        if (fixed)
            return place;
        SourceRange range = place;
        range.begin = place.begin + static_cast<uint32_t>(begin);
        range.end = place.begin + static_cast<uint32_t>(end);
        return range;
    };
    size_t zero = text.find('\0');
    if (zero != std::string_view::npos) {
        diagnostics.report(DiagnosticKind::NotText, at(zero, zero + 1))
            .hint("djstap expects the script's source text");
        return false;
    }
    ByteStream stream(text);
    DjstapLexer lexer(&stream);
    lexer.removeErrorListeners();
    out.reserve(out.size() + text.size() / 6);
    for (;;) {
        auto token = lexer.nextToken();
        size_t type = token->getType();
        if (type == antlr4::Token::EOF)
            return true;
        size_t begin = token->getStartIndex(), end = token->getStopIndex() + 1;
        if (type == DjstapLexer::OpenComment) {
            diagnostics.report(DiagnosticKind::UnterminatedComment, at(begin, begin + 2))
                .hint("close it with */");
            return false;
        }
        if (type == DjstapLexer::OpenEmbeddedC) {
            diagnostics.report(DiagnosticKind::UnterminatedEmbeddedC, at(begin, begin + 2))
                .hint("close it with %}");
            return false;
        }
        out.push_back(
            {static_cast<uint16_t>(type), false, at(begin, end), text.substr(begin, end - begin)});
    }
}

} // namespace djstap::syntax
