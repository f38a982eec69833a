// SPDX-License-Identifier: GPL-2.0-or-later
#include "syntax/preprocessor.h"

#include "diagnostics/suggest.h"
#include "grammar/DjstapLexer.h"
#include "syntax/names.h"

#include <algorithm>

namespace djstap::syntax {

using grammar::DjstapLexer;

namespace {

constexpr size_t expansion_limit = 1'000'000;

bool is_operator(const Lexeme& word) {
    return word.type >= DjstapLexer::AtCast && word.type <= DjstapLexer::AtHistLinear;
}

bool starts_with_at(const Lexeme& word) {
    return word.type == DjstapLexer::AtName || is_operator(word);
}

bool is_name_of_operator(std::string_view name) {
    for (size_t type = DjstapLexer::AtCast; type <= DjstapLexer::AtHistLinear; type++)
        if (token_text(type) == "@" + std::string(name))
            return true;
    return false;
}

bool is_word(const Lexeme& word) {
    return word.type == DjstapLexer::Identifier ||
           (word.type >= DjstapLexer::Probe && word.type <= DjstapLexer::StringType);
}

// Returns the word that closes what `type` opens; 0 if it opens nothing.
uint16_t closer_of(uint16_t type) {
    switch (type) {
    case DjstapLexer::OpenParen:
        return DjstapLexer::CloseParen;
    case DjstapLexer::OpenBracket:
        return DjstapLexer::CloseBracket;
    case DjstapLexer::OpenBrace:
        return DjstapLexer::CloseBrace;
    case DjstapLexer::ConditionOpen:
        return DjstapLexer::ConditionClose;
    default:
        return 0;
    }
}

bool is_closer(uint16_t type) {
    return type == DjstapLexer::CloseParen || type == DjstapLexer::CloseBracket ||
           type == DjstapLexer::CloseBrace || type == DjstapLexer::ConditionClose;
}

std::string counted(size_t n) {
    return std::to_string(n) + (n == 1 ? " argument" : " arguments");
}

} // namespace

struct MacroExpander::Frame {
    const Macro& macro;
    const std::vector<Lexemes>& arguments;
    const Frame* outer;
    size_t depth;
};

const Macro* MacroExpander::find(std::string_view name) const {
    std::string key(name);
    if (auto local = defined_.find(key); local != defined_.end())
        return local->second.get();
    auto global = known_.find(key);
    return global != known_.end() ? global->second.get() : nullptr;
}

bool MacroExpander::bad_definition(const Lexemes& words, size_t at, const char* expected) {
    SourceRange range = at < words.size() ? words[at].range : words.back().range;
    std::string what = at < words.size() ? describe(words[at]) : "end of file";
    diagnostics_.report(DiagnosticKind::BadMacroDefinition, range, {what, expected})
        .hint("the syntax of a macro is: @define name(parameters) %( body %)");
    return false;
}

bool MacroExpander::define(const Lexemes& words, size_t& at) {
    auto type_at = [&](size_t i) { return i < words.size() ? words[i].type : uint16_t{0}; };
    SourceRange place = words[at].range;
    size_t i = at + 1;
    if (i >= words.size() || !is_word(words[i]))
        return bad_definition(words, i, "the macro's name");
    auto macro = std::make_shared<Macro>();
    macro->name = words[i].text;
    macro->range = words[i].range;
    i++;
    if (type_at(i) == DjstapLexer::OpenParen) {
        macro->takes_arguments = true;
        i++;
        while (type_at(i) != DjstapLexer::CloseParen) {
            if (!macro->parameters.empty() && type_at(i++) != DjstapLexer::Comma)
                return bad_definition(words, i - 1, "',' or ')'");
            if (i >= words.size() || !is_word(words[i]))
                return bad_definition(words, i, "a parameter's name");
            macro->parameters.emplace_back(words[i++].text);
        }
        i++;
    }
    if (type_at(i) != DjstapLexer::ConditionOpen)
        return bad_definition(words, i, "'%('");
    size_t body = i + 1;
    size_t open = 1;
    for (i = body; i < words.size(); i++) {
        if (words[i].type == DjstapLexer::AtDefine)
            return bad_definition(words, i, "'%)'");
        if (words[i].type == DjstapLexer::ConditionOpen)
            open++;
        if (words[i].type == DjstapLexer::ConditionClose && --open == 0)
            break;
    }
    if (i >= words.size()) {
        bad_definition(words, i, "'%)'");
        return false;
    }
    macro->body.assign(words.begin() + static_cast<ssize_t>(body),
                       words.begin() + static_cast<ssize_t>(i));
    at = i + 1;
    if (auto earlier = defined_.find(macro->name); earlier != defined_.end()) {
        diagnostics_.report(DiagnosticKind::MacroRedefined, place.to(macro->range), {macro->name})
            .hint("put the %( conditional inside a single definition: macros are read before "
                  "conditionals are evaluated")
            .note(earlier->second->range, "previous definition is here");
        return false;
    }
    // As in SystemTap, it hides the operator.
    if (is_name_of_operator(macro->name))
        diagnostics_.report(DiagnosticKind::MacroHidesOperator, macro->range, {macro->name});
    defined_[macro->name] = std::move(macro);
    return true;
}

Lexemes MacroExpander::expand_file(const Lexemes& words) {
    bool plain = std::none_of(words.begin(), words.end(), [&](const Lexeme& word) {
        return word.type == DjstapLexer::AtName || word.type == DjstapLexer::AtDefine ||
               (is_operator(word) && find(word.text.substr(1)));
    });
    if (plain)
        return words;
    Lexemes out;
    out.reserve(words.size());
    for (size_t at = 0; at < words.size();) {
        if (words[at].type == DjstapLexer::AtDefine) {
            if (!define(words, at))
                break;
            continue;
        }
        size_t end = at;
        while (end < words.size() && words[end].type != DjstapLexer::AtDefine)
            end++;
        expand(std::span(words).subspan(at, end - at), nullptr, out);
        at = end;
    }
    return out;
}

void MacroExpander::expand(std::span<const Lexeme> words, const Frame* frame, Lexemes& out) {
    for (size_t at = 0; at < words.size() && !too_large_;) {
        const Lexeme& word = words[at];
        if (!starts_with_at(word)) {
            out.push_back(word);
            at++;
            continue;
        }
        std::string_view name = word.text.substr(1);
        if (frame) {
            const auto& parameters = frame->macro.parameters;
            auto parameter = std::find(parameters.begin(), parameters.end(), name);
            if (parameter != parameters.end()) {
                const Lexemes& value =
                    frame->arguments[static_cast<size_t>(parameter - parameters.begin())];
                out.insert(out.end(), value.begin(), value.end());
                at++;
                continue;
            }
        }
        const Macro* macro = find(name);
        if (!macro) {
            out.push_back(word);
            at++;
            continue;
        }
        SourceRange place = word.range;
        if (!expand_use(words, at, *macro, frame, out)) {
            out.push_back({DjstapLexer::Bad, false, place, word.text});
            return;
        }
    }
}

bool MacroExpander::expand_use(std::span<const Lexeme> words, size_t& at, const Macro& macro,
                               const Frame* frame, Lexemes& out) {
    SourceRange use = words[at].range;
    for (const Frame* f = frame; f; f = f->outer)
        if (&f->macro == &macro) {
            diagnostics_.report(DiagnosticKind::RecursiveMacro, use, {macro.name})
                .note(macro.range, "defined here");
            return false;
        }
    size_t depth = frame ? frame->depth + 1 : 1;
    if (depth > nesting_limit) {
        diagnostics_.report(DiagnosticKind::NestedTooDeeply, use, {std::to_string(nesting_limit)})
            .hint("macros expand to other macros through too many levels");
        return false;
    }
    at++;
    std::vector<Lexemes> arguments;
    if (macro.takes_arguments) {
        auto read = read_arguments(words, at, macro, frame);
        if (!read)
            return false;
        arguments = std::move(*read);
        use = use.to(words[at - 1].range);
    }
    uint32_t id = sources_.add_expansion(macro.name, use);
    Lexemes body = macro.body;
    for (Lexeme& word : body)
        word.range.expansion = id;
    Frame inner{macro, arguments, frame, depth};
    expand(body, &inner, out);
    if (out.size() > expansion_limit && !too_large_) {
        too_large_ = true;
        diagnostics_.report(DiagnosticKind::MacroTooLarge, use, {std::to_string(expansion_limit)});
        return false;
    }
    return true;
}

std::optional<std::vector<Lexemes>> MacroExpander::read_arguments(std::span<const Lexeme> words,
                                                                  size_t& at, const Macro& macro,
                                                                  const Frame* frame) {
    size_t wanted = macro.parameters.size();
    SourceRange place = words[at - 1].range;
    auto wrong_number = [&](size_t given) {
        diagnostics_
            .report(DiagnosticKind::MacroArguments, place,
                    {macro.name, counted(wanted),
                     std::to_string(given) + (given == 1 ? " is" : " are")})
            .note(macro.range, "defined here");
        return std::nullopt;
    };
    if (at >= words.size() || words[at].type != DjstapLexer::OpenParen)
        return wrong_number(0);
    std::vector<std::span<const Lexeme>> raw;
    std::vector<uint16_t> closers{DjstapLexer::CloseParen};
    size_t begin = ++at;
    for (; at < words.size(); at++) {
        uint16_t type = words[at].type;
        if (closers.size() == 1 &&
            (type == DjstapLexer::Comma || type == DjstapLexer::CloseParen)) {
            raw.push_back(words.subspan(begin, at - begin));
            begin = at + 1;
        }
        if (uint16_t closer = closer_of(type)) {
            closers.push_back(closer);
        } else if (is_closer(type)) {
            if (type != closers.back())
                break;
            closers.pop_back();
            if (closers.empty())
                break;
        }
    }
    if (!closers.empty()) {
        diagnostics_.report(DiagnosticKind::UnterminatedMacroArguments, place, {macro.name});
        return std::nullopt;
    }
    at++;
    if (wanted == 0 && raw.size() == 1 && raw[0].empty())
        raw.clear();
    if (raw.size() != wanted)
        return wrong_number(raw.size());
    std::vector<Lexemes> values;
    for (auto argument : raw)
        expand(argument, frame, values.emplace_back());
    return values;
}

} // namespace djstap::syntax
