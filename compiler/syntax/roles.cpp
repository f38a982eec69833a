// SPDX-License-Identifier: GPL-2.0-or-later
#include "syntax/roles.h"

#include "diagnostics/suggest.h"
#include "grammar/DjstapParser.h"
#include "syntax/literals.h"
#include "syntax/names.h"
#include "syntax/preprocessor.h"

#include <utility>

namespace djstap::syntax {

namespace {

using P = grammar::DjstapParser;

bool is_keyword(size_t type) {
    return type >= P::Probe && type <= P::StringType;
}

bool adjacent(SourceRange a, SourceRange b) {
    return a.file == b.file && a.expansion == b.expansion && a.end == b.begin;
}

// Returns a hint for characters that editors do not show, recognized by their UTF-8 encoding.
std::string hint_for_invisible(std::string_view text, size_t at) {
    std::string_view rest = text.substr(std::min(at, text.size()));
    if (rest.starts_with("\xef\xbb\xbf"))
        return "this is a byte order mark: save the file as UTF-8 without it";
    for (std::string_view space : {"\xc2\xa0", "\xe2\x80\xaf", "\xe2\x80\x87", "\xe3\x80\x80"})
        if (rest.starts_with(space))
            return "this is a non-breaking space, often copied from a web page: use a plain space";
    if (rest.starts_with("\xe2\x80\x8b"))
        return "this is a zero-width space, often copied from a web page: delete it";
    return {};
}

class RoleAssigner {
  public:
    RoleAssigner(const Lexemes& words, const MacroNames& macro_names, TokenList& out,
                 Diagnostics& diagnostics)
        : words_(words), macro_names_(macro_names), out_(out), diagnostics_(diagnostics) {}

    bool run() {
        out_.tokens.reserve(words_.size() + 1);
        for (at_ = 0; at_ < words_.size(); at_++)
            if (!take(words_[at_]))
                return false;
        return true;
    }

  private:
    struct Bracket {
        size_t type;
        bool heads_statement; // of if (…), while (…) and the like: does not end an operand
        bool groups_points;   // { in a list of probe points
    };

    size_t previous() const { return out_.tokens.empty() ? 0 : out_.tokens.back().type; }
    size_t next_type() const { return at_ + 1 < words_.size() ? words_[at_ + 1].type : 0; }

    void push(const Lexeme& word, size_t type) {
        Token& token = out_.tokens.emplace_back();
        token.type = type;
        token.index = static_cast<uint32_t>(out_.tokens.size() - 1);
        token.range = word.range;
        token.text = word.text;
    }

    // Returns whether an operand may end with the previous token.
    bool after_operand() const {
        switch (previous()) {
        case P::Identifier:
        case P::Number:
        case P::String:
        case P::TargetName:
        case P::Dollars:
        case P::CloseBracket:
        case P::PostIncrement:
        case P::PostDecrement:
        case P::EmbeddedC:
            return true;
        case P::CloseParen:
            return !closed_head_;
        default:
            return false;
        }
    }

    // An operand has at most one ++ or -- behind it: the next one is a prefix of what follows.
    bool after_crement() const {
        return previous() == P::PostIncrement || previous() == P::PostDecrement;
    }

    // Returns whether a semicolon may belong to the statement that the previous token ends.
    bool ends_with_semicolon() const {
        switch (previous()) {
        case P::Break:
        case P::Continue:
        case P::Next:
        case P::Return:
            return true;
        default:
            return after_operand();
        }
    }

    bool starts_expression(size_t type) const {
        switch (type) {
        case P::Identifier:
        case P::Number:
        case P::String:
        case P::TargetName:
        case P::EmbeddedC:
        case P::OpenParen:
        case P::OpenBracket:
        case P::Plus:
        case P::Minus:
        case P::Not:
        case P::Complement:
        case P::Increment:
        case P::Decrement:
        case P::Ampersand:
            return true;
        default:
            return type >= P::AtCast && type <= P::AtHistLinear;
        }
    }

    bool in_points() const {
        return points_ && (brackets_.size() == points_depth_ || brackets_.back().groups_points);
    }
    // Returns whether a component of a probe point may begin after the previous token.
    bool component_begins() const {
        switch (previous()) {
        case P::Dot:
        case P::Comma:
        case P::OpenBrace:
        case P::Probe:
        case P::Assign:
        case P::AddAssign:
            return true;
        default:
            return false;
        }
    }

    bool take(const Lexeme& word);
    bool take_in_points(const Lexeme& word, bool& taken);
    bool take_bracket(const Lexeme& word);
    void take_string(const Lexeme& word);
    void take_unknown(const Lexeme& word);
    size_t role(size_t type) const;

    const Lexemes& words_;
    const MacroNames& macro_names_;
    TokenList& out_;
    Diagnostics& diagnostics_;
    size_t at_ = 0;
    std::vector<Bracket> brackets_;
    bool closed_head_ = false;                   // the previous ')' closed the head of a statement
    bool points_ = false;                        // between `probe` and its body
    size_t points_depth_ = 0;                    // brackets that were open at `probe`
    std::pair<uint32_t, uint32_t> unknown_line_; // file and line of the last unknown character
};

size_t RoleAssigner::role(size_t type) const {
    if (previous() == P::Arrow && is_keyword(type))
        return P::Identifier;
    auto either = [](bool first, size_t one, size_t other) { return first ? one : other; };
    switch (type) {
    case P::Identifier:
        return either(next_type() == P::OpenParen && previous() != P::Arrow, P::CallName, type);
    case P::Plus:
        return either(after_operand(), type, P::SignPlus);
    case P::Minus:
        return either(after_operand(), type, P::SignMinus);
    case P::Ampersand:
        return either(after_operand(), type, P::AddressOf);
    case P::Increment:
        return either(after_operand() && !after_crement(), P::PostIncrement, type);
    case P::Decrement:
        return either(after_operand() && !after_crement(), P::PostDecrement, type);
    case P::Return:
        return either(starts_expression(next_type()), P::ReturnValue, type);
    case P::Semicolon:
        return either(brackets_.empty() || brackets_.back().type != P::OpenBrace ||
                          ends_with_semicolon(),
                      type, P::EmptyStatement);
    default:
        return type;
    }
}

bool RoleAssigner::take(const Lexeme& word) {
    bool taken = false;
    if (points_ && !take_in_points(word, taken))
        return false;
    if (taken)
        return true;
    switch (word.type) {
    case P::OpenParen:
    case P::OpenBracket:
    case P::OpenBrace:
    case P::CloseParen:
    case P::CloseBracket:
    case P::CloseBrace:
        return take_bracket(word);
    case P::String:
        take_string(word);
        return true;
    case P::Number:
        push(word, P::Number);
        out_.tokens.back().number = decode_number(word, diagnostics_);
        return true;
    case P::Probe:
        if (previous() != P::Arrow) {
            points_ = true;
            points_depth_ = brackets_.size();
        }
        push(word, role(word.type));
        return true;
    case P::OpenString:
    case P::AtName:
    case P::AtDefine:
    case P::Unknown:
    case P::ConditionOpen:
    case P::ConditionThen:
    case P::ConditionElse:
    case P::ConditionClose:
        take_unknown(word);
        return true;
    default:
        push(word, role(word.type));
        return true;
    }
}

bool RoleAssigner::take_in_points(const Lexeme& word, bool& taken) {
    if (!in_points())
        return true;
    bool is_name = word.type == P::Identifier || is_keyword(word.type) || word.type == P::Star;
    if (previous() == P::PointName && (is_name || word.type == P::Number) &&
        adjacent(out_.tokens.back().range, word.range)) {
        Token& token = out_.tokens.back();
        auto& name = const_cast<std::string&>(*token.string);
        name += word.text;
        token.text = name;
        token.range.end = word.range.end;
        taken = true;
        return true;
    }
    bool begins_item = word.type == P::Probe || word.type == P::Function ||
                       word.type == P::Global || word.type == P::Private;
    if (begins_item && previous() != P::Dot && brackets_.size() == points_depth_)
        is_name = false;
    if (component_begins() && (is_name || (word.type == P::Number && previous() == P::Dot))) {
        push(word, P::PointName);
        out_.strings.emplace_back(word.text);
        out_.tokens.back().string = &out_.strings.back();
        taken = true;
        return true;
    }
    if (word.type == P::OpenBrace && component_begins()) {
        taken = true;
        if (!take_bracket(word))
            return false;
        brackets_.back().groups_points = true;
        return true;
    }
    if (word.type == P::OpenBrace || begins_item)
        points_ = false;
    return true;
}

bool RoleAssigner::take_bracket(const Lexeme& word) {
    size_t type = word.type;
    switch (type) {
    case P::OpenParen:
    case P::OpenBracket:
    case P::OpenBrace: {
        if (brackets_.size() >= nesting_limit) {
            diagnostics_.report(DiagnosticKind::NestedTooDeeply, word.range,
                                {std::to_string(nesting_limit)});
            return false;
        }
        size_t before = previous();
        bool head =
            type == P::OpenParen && (before == P::If || before == P::While || before == P::For ||
                                     before == P::Foreach || before == P::Catch);
        push(word, type == P::OpenBracket && !after_operand() ? size_t{P::TupleOpen} : type);
        brackets_.push_back({type, head, false});
        return true;
    }
    default:
        // The parser reports mismatches: only the nearest partner closes a bracket.
        closed_head_ = false;
        for (size_t i = brackets_.size(); i-- > 0;) {
            size_t open = brackets_[i].type;
            bool match = (type == P::CloseParen && open == P::OpenParen) ||
                         (type == P::CloseBracket && open == P::OpenBracket) ||
                         (type == P::CloseBrace && open == P::OpenBrace);
            if (match) {
                closed_head_ = brackets_[i].heads_statement;
                brackets_.resize(i);
                break;
            }
            if (open == P::OpenBrace)
                break;
        }
        if (points_ && brackets_.size() < points_depth_)
            points_ = false;
        push(word, type);
        return true;
    }
}

void RoleAssigner::take_string(const Lexeme& word) {
    std::string value = decode_string(word, diagnostics_);
    if (previous() == P::String) {
        Token& token = out_.tokens.back();
        const_cast<std::string&>(*token.string) += value;
        if (token.range.file == word.range.file && token.range.expansion == word.range.expansion &&
            token.range.begin <= word.range.begin)
            token.range.end = word.range.end;
        return;
    }
    push(word, P::String);
    out_.strings.push_back(std::move(value));
    out_.tokens.back().string = &out_.strings.back();
}

void RoleAssigner::take_unknown(const Lexeme& word) {
    push(word, P::Bad);
    if (word.type == P::OpenString) {
        diagnostics_.report(DiagnosticKind::UnterminatedString, word.range)
            .hint("close it with '\"'; adjacent strings are joined, so a string can continue on "
                  "the next line");
        return;
    }
    if (word.type == P::AtName || word.type == P::AtDefine) {
        std::vector<std::string> known = macro_names_();
        for (size_t type = P::AtCast; type <= P::AtHistLinear; type++)
            known.push_back(token_text(type));
        std::string hint = did_you_mean(word.text, known);
        auto& diagnostic = diagnostics_.report(DiagnosticKind::UnknownDirective, word.range,
                                               {std::string(word.text)});
        diagnostic.hint(
            hint.empty() ? "a macro is defined with: @define name %( … %), before its use" : hint);
        return;
    }
    // One report per line: two quotes of the wrong kind are one mistake.
    std::pair line{word.range.file, diagnostics_.sources().position(word.range).line};
    if (std::exchange(unknown_line_, line) == line)
        return;
    auto& diagnostic =
        diagnostics_.report(DiagnosticKind::UnknownCharacter, word.range, {describe(word)});
    unsigned char byte = word.text.empty() ? 0 : static_cast<unsigned char>(word.text[0]);
    if (word.text == "'")
        diagnostic.hint("strings are enclosed in double quotes: \"text\"");
    else if (std::string hint = hint_for_invisible(
                 diagnostics_.sources().file(word.range.file).text, word.range.begin);
             !hint.empty())
        diagnostic.hint(hint);
    else if (byte >= 0x80)
        diagnostic.hint(
            "outside strings and comments only ASCII is allowed: look for a typographic quote");
    else if (word.type >= P::ConditionOpen && word.type <= P::ConditionClose)
        diagnostic.hint(
            "the syntax of a conditional is: %( condition %? tokens %: other tokens %)");
}

} // namespace

bool assign_roles(const Lexemes& words, uint32_t file, uint32_t end, const MacroNames& macro_names,
                  TokenList& out, Diagnostics& diagnostics) {
    if (!RoleAssigner(words, macro_names, out, diagnostics).run())
        return false;
    Token& last = out.tokens.emplace_back();
    last.type = antlr4::Token::EOF;
    last.index = static_cast<uint32_t>(out.tokens.size() - 1);
    last.range = {file, end, end, 0};
    return true;
}

} // namespace djstap::syntax
