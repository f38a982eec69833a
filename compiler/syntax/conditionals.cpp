// SPDX-License-Identifier: GPL-2.0-or-later
#include "diagnostics/suggest.h"
#include "grammar/DjstapLexer.h"
#include "syntax/literals.h"
#include "syntax/names.h"
#include "syntax/preprocessor.h"

#include <charconv>
#include <cstdint>
#include <cstring>
#include <fnmatch.h>

namespace djstap::syntax {

using grammar::DjstapLexer;

namespace {

bool is_comparison(uint16_t type) {
    return type >= DjstapLexer::Less && type <= DjstapLexer::NotEqual;
}
bool is_equality(uint16_t type) {
    return type == DjstapLexer::Equal || type == DjstapLexer::NotEqual;
}

// `order` is negative, 0 or positive, like the result of strcmp().
bool holds(uint16_t op, int order) {
    switch (op) {
    case DjstapLexer::Less:
        return order < 0;
    case DjstapLexer::LessEqual:
        return order <= 0;
    case DjstapLexer::Greater:
        return order > 0;
    case DjstapLexer::GreaterEqual:
        return order >= 0;
    case DjstapLexer::Equal:
        return order == 0;
    default:
        return order != 0;
    }
}

template <class T> int order_of(const T& a, const T& b) {
    return a < b ? -1 : b < a ? 1 : 0;
}

// "6.1.0-56-cloud-amd64" → "6.1.0"
std::string upstream_part(const std::string& release) {
    return release.substr(0, release.find_first_not_of("0123456789."));
}

} // namespace

std::optional<Conditionals::Parts> Conditionals::cut(std::span<const Lexeme> words, size_t& at) {
    size_t open_at = at;
    size_t depth = 0, question = 0, otherwise = 0;
    for (size_t i = at + 1; i < words.size(); i++) {
        uint16_t type = words[i].type;
        if (type == DjstapLexer::ConditionOpen) {
            depth++;
        } else if (type == DjstapLexer::ConditionClose && depth > 0) {
            depth--;
        } else if (depth == 0 && type == DjstapLexer::ConditionThen) {
            if (question) {
                unexpected(words, i, words[i].range, otherwise ? "'%)'" : "'%:' or '%)'");
                return std::nullopt;
            }
            question = i;
        } else if (depth == 0 && type == DjstapLexer::ConditionElse && question) {
            if (otherwise) {
                unexpected(words, i, words[i].range, "'%)'");
                return std::nullopt;
            }
            otherwise = i;
        } else if (depth == 0 && type == DjstapLexer::ConditionClose) {
            if (!question && open_at > 1 && words[open_at - 2].type == DjstapLexer::AtName) {
                const Lexeme& directive = words[open_at - 2];
                diagnostics_
                    .report(DiagnosticKind::UnknownDirective, directive.range,
                            {std::string(directive.text)})
                    .hint("a macro is defined with: @define name %( … %)");
                return std::nullopt;
            }
            if (!question) {
                unexpected(words, i, words[i].range, "'%?' and the tokens for a true condition");
                return std::nullopt;
            }
            at = i + 1;
            size_t then_end = otherwise ? otherwise : i;
            return Parts{words.subspan(open_at + 1, question - open_at - 1),
                         words.subspan(question + 1, then_end - question - 1),
                         otherwise ? words.subspan(otherwise + 1, i - otherwise - 1)
                                   : std::span<const Lexeme>()};
        }
    }
    diagnostics_.report(DiagnosticKind::UnterminatedCondition, words[open_at].range)
        .hint("the syntax of a conditional is: %( condition %? tokens %: other tokens %)");
    return std::nullopt;
}

bool Conditionals::filter(std::span<const Lexeme> words, Lexemes& out, size_t depth) {
    for (size_t at = 0; at < words.size();) {
        switch (words[at].type) {
        case DjstapLexer::ConditionOpen: {
            SourceRange place = words[at].range;
            if (depth >= nesting_limit) {
                diagnostics_.report(DiagnosticKind::NestedTooDeeply, place,
                                    {std::to_string(nesting_limit)});
                return false;
            }
            auto parts = cut(words, at);
            if (!parts)
                return false;
            auto chosen = decide(parts->condition, place, depth + 1);
            if (!chosen || !filter(*chosen ? parts->then_words : parts->else_words, out, depth + 1))
                return false;
            break;
        }
        case DjstapLexer::Argument:
        case DjstapLexer::StringArgument:
            if (!insert_argument(words[at], out))
                return false;
            at++;
            break;
        default:
            out.push_back(words[at++]);
        }
    }
    return true;
}

bool Conditionals::insert_argument(const Lexeme& word, Lexemes& out) {
    bool as_string = word.type == DjstapLexer::StringArgument;
    size_t given = context_.arguments.size();
    if (word.text == "$#" || word.text == "@#") {
        texts_.push_back(std::to_string(given));
        out.push_back({static_cast<uint16_t>(as_string ? DjstapLexer::String : DjstapLexer::Number),
                       as_string, word.range, texts_.back()});
        return true;
    }
    size_t number = SIZE_MAX; // for a number that is too large: there are never so many arguments
    std::from_chars(word.text.data() + 1, word.text.data() + word.text.size(), number);
    if (number == 0 || number > given) {
        std::string there = given == 0   ? "are none"
                            : given == 1 ? "is 1"
                                         : "are " + std::to_string(given);
        auto& diagnostic = diagnostics_.report(DiagnosticKind::MissingArgument, word.range,
                                               {std::string(word.text), there});
        if (number == 0)
            diagnostic.hint("arguments are numbered from 1");
        else
            diagnostic.hint(
                "arguments follow the script; -- stands before those that begin with -");
        return false;
    }
    const std::string& value = context_.arguments[number - 1];
    if (as_string) {
        out.push_back({DjstapLexer::String, true, word.range, value});
        return true;
    }
    return lex(value, word.range, true, out, diagnostics_);
}

void Conditionals::unexpected(std::span<const Lexeme> words, size_t at, SourceRange place,
                              const char* expected) {
    bool there = at < words.size();
    diagnostics_.report(DiagnosticKind::BadCondition, there ? words[at].range : place,
                        {there ? describe(words[at]) : "'%?'", expected});
}

std::optional<bool> Conditionals::decide(std::span<const Lexeme> condition, SourceRange place,
                                         size_t depth) {
    for (size_t i = 0; i < condition.size(); i++)
        if (condition[i].type == DjstapLexer::ConditionOpen) {
            unexpected(condition, i, place, "a comparison");
            return std::nullopt;
        }
    Lexemes words;
    if (!filter(condition, words, depth))
        return std::nullopt;
    if (!condition.empty())
        place = condition.back().range;
    bool result = false;
    for (size_t at = 0;; at++) {
        bool all = true;
        for (;; at++) {
            auto one = decide_comparison(words, at, place);
            if (!one)
                return std::nullopt;
            all &= *one;
            if (at >= words.size() || words[at].type != DjstapLexer::AndAnd)
                break;
        }
        result |= all;
        if (at >= words.size())
            return result;
        if (words[at].type != DjstapLexer::OrOr) {
            unexpected(words, at, place, "'&&', '||' or '%?'");
            return std::nullopt;
        }
    }
}

std::optional<bool> Conditionals::decide_comparison(std::span<const Lexeme> words, size_t& at,
                                                    SourceRange place) {
    auto type_at = [&](size_t i) { return i < words.size() ? words[i].type : uint16_t{0}; };
    auto side = [&]() -> const Lexeme* {
        uint16_t type = type_at(at);
        bool word = type == DjstapLexer::Identifier || type == DjstapLexer::Number ||
                    type == DjstapLexer::String;
        return word ? &words[at++] : nullptr;
    };
    const Lexeme* left = side();
    if (!left) {
        unexpected(words, at, place, "a name such as kernel_v or arch, a string or a number");
        return std::nullopt;
    }
    if (!is_comparison(type_at(at))) {
        unexpected(words, at, place, "a comparison such as '=='");
        return std::nullopt;
    }
    const Lexeme& op = words[at++];
    const Lexeme* right = side();
    bool two_options =
        right && left->text.starts_with("CONFIG_") && right->text.starts_with("CONFIG_");
    if (two_options)
        return compare_options(*left, op, *right);
    if (!right || right->type == DjstapLexer::Identifier) {
        unexpected(words, right ? at - 1 : at, place, "a string or a number");
        return std::nullopt;
    }
    if (left->type == DjstapLexer::Identifier)
        return compare_named(*left, op, *right);
    if (left->type != right->type) {
        unexpected(words, at - 1, place,
                   left->type == DjstapLexer::String ? "a string" : "a number");
        return std::nullopt;
    }
    if (left->type == DjstapLexer::String)
        return holds(op.type, order_of(decode_string(*left, diagnostics_),
                                       decode_string(*right, diagnostics_)));
    return holds(op.type,
                 order_of(decode_number(*left, diagnostics_), decode_number(*right, diagnostics_)));
}

std::optional<std::string> Conditionals::named_value(const Lexeme& name) {
    std::string_view text = name.text;
    if (text.starts_with("CONFIG_"))
        return context_.kernel_config ? context_.kernel_config(std::string(text)) : "";
    std::string release =
        context_.kernel_release && text.starts_with("kernel_v") ? context_.kernel_release() : "";
    if (text == "kernel_vr")
        return release;
    if (text == "kernel_v")
        return upstream_part(release);
    if (text == "arch")
        return context_.arch;
    if (text == "systemtap_v")
        return context_.language_version;
    if (text == "runtime")
        return context_.runtime;
    if (text == "output")
        return context_.output;
    if (text == "guru_mode")
        return context_.guru ? "1" : "0";
    // Loading a module requires root: there is only one privilege level.
    if (text == "systemtap_privilege")
        return "stapdev";
    diagnostics_.report(DiagnosticKind::UnknownConditionName, name.range, {std::string(text)})
        .hint(did_you_mean(text, {"kernel_v", "kernel_vr", "arch", "systemtap_v",
                                  "systemtap_privilege", "guru_mode", "runtime", "output"}));
    return std::nullopt;
}

// CONFIG_A >= CONFIG_B: compares as numbers if both are, as strings otherwise.
bool Conditionals::compare_options(const Lexeme& left, const Lexeme& op, const Lexeme& right) {
    std::string a = named_value(left).value_or(""), b = named_value(right).value_or("");
    auto is_number = [](const std::string& text) {
        return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
    };
    if (is_number(a) && is_number(b))
        return holds(op.type, order_of(std::strtoll(a.c_str(), nullptr, 10),
                                       std::strtoll(b.c_str(), nullptr, 10)));
    return holds(op.type, order_of(a, b));
}

std::optional<bool> Conditionals::compare_named(const Lexeme& name, const Lexeme& op,
                                                const Lexeme& value) {
    auto actual = named_value(name);
    if (!actual)
        return std::nullopt;
    bool is_version = name.text.starts_with("kernel_v") || name.text == "systemtap_v";
    bool is_config = name.text.starts_with("CONFIG_");
    bool is_guru = name.text == "guru_mode";
    bool is_number = value.type == DjstapLexer::Number;
    auto refuse = [&](const Lexeme& word, const std::string& expected) -> std::optional<bool> {
        diagnostics_.report(DiagnosticKind::BadCondition, word.range, {describe(word), expected});
        return std::nullopt;
    };
    bool ordered = is_version || (is_config && is_number);
    if (!ordered && !is_equality(op.type))
        return refuse(op, "'==' or '!='");
    if (is_number && (is_guru || is_config)) {
        int64_t number = decode_number(value, diagnostics_);
        if (is_guru && number != 0 && number != 1)
            return refuse(value, "0 or 1");
        char* end = nullptr;
        int64_t option = std::strtoll(actual->c_str(), &end, 0);
        if (*end)
            return refuse(value, "a string: " + std::string(name.text) + " is \"" + *actual + "\"");
        return holds(op.type, order_of(option, number));
    }
    if (is_number || is_guru)
        return refuse(value, is_guru ? "0 or 1" : "a string");
    std::string wanted = decode_string(value, diagnostics_);
    bool wildcard = wanted.find_first_of("*?[") != std::string::npos;
    if (wildcard && !is_equality(op.type))
        return refuse(value, "a version without wildcards after " + describe(op));
    bool pattern = !is_version || wildcard;
    if (is_equality(op.type) && pattern)
        return holds(op.type, fnmatch(wanted.c_str(), actual->c_str(), FNM_NOESCAPE));
    return holds(op.type, strverscmp(actual->c_str(), wanted.c_str()));
}

} // namespace djstap::syntax
