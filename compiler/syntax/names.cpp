// SPDX-License-Identifier: GPL-2.0-or-later
#include "syntax/names.h"

#include "grammar/DjstapLexer.h"
#include "grammar/DjstapParser.h"

#include <algorithm>

namespace djstap::syntax {

namespace {

using P = grammar::DjstapParser;

// The texts of the token types in the grammar.
const std::vector<std::string>& texts() {
    static const std::vector<std::string> table = [] {
        antlr4::ANTLRInputStream nothing{std::string()};
        grammar::DjstapLexer lexer(&nothing);
        const antlr4::dfa::Vocabulary& vocabulary = lexer.getVocabulary();
        std::vector<std::string> out;
        for (size_t type = 0; type <= vocabulary.getMaxTokenType(); type++) {
            std::string quoted = vocabulary.getLiteralName(type);
            out.push_back(quoted.size() > 2 ? quoted.substr(1, quoted.size() - 2) : "");
        }
        auto role = [&](size_t type, const char* text) { out[type] = text; };
        role(P::SignPlus, "+");
        role(P::SignMinus, "-");
        role(P::AddressOf, "&");
        role(P::PostIncrement, "++");
        role(P::PostDecrement, "--");
        role(P::TupleOpen, "[");
        role(P::EmptyStatement, ";");
        role(P::ReturnValue, "return");
        return out;
    }();
    return table;
}

std::string shortened(std::string_view text) {
    constexpr size_t shown = 24;
    std::string out(text.substr(0, shown));
    if (text.size() > shown)
        out += "…";
    return out;
}

std::string describe(size_t type, std::string_view text) {
    switch (type) {
    case antlr4::Token::EOF:
        return "end of file";
    case P::String:
        return text.starts_with('"') ? "string " + shortened(text)
                                     : "string \"" + shortened(text) + "\"";
    case P::OpenString:
        return "string " + shortened(text);
    case P::EmbeddedC:
        return "embedded C";
    case P::Unknown:
    case P::Bad:
        if (text.size() == 1) {
            auto byte = static_cast<unsigned char>(text[0]);
            if (byte < ' ' || byte >= 0x7f) {
                constexpr char digits[] = "0123456789abcdef";
                return std::string("byte 0x") + digits[byte >> 4] + digits[byte & 15];
            }
        }
        [[fallthrough]];
    default:
        return "'" + shortened(text) + "'";
    }
}

// A set of token types that has one name where all of them may occur.
struct Group {
    std::vector<size_t> types;
    const char* name;
};

const std::vector<size_t> expression_starts{P::SignMinus,  P::Not,      P::TupleOpen, P::Number,
                                            P::Identifier, P::CallName, P::OpenParen, P::AtCast};

const std::vector<Group>& groups() {
    static const std::vector<Group> table = [] {
        std::vector<size_t> statement = expression_starts;
        statement.insert(statement.end(), {P::If, P::While, P::OpenBrace});
        return std::vector<Group>{
            {{P::Probe, P::Global, P::Function}, "a probe, a function or a global"},
            {statement, "a statement"},
            {expression_starts, "an expression"},
            {{P::Assign, P::AddAssign, P::Aggregate, P::Plus, P::Star}, "an operator"},
            {{P::AtCount, P::AtSum, P::AtMin}, "a statistic such as @count"},
            {{P::Number, P::String}, "a number or a string"},
            {{P::Long, P::StringType}, "'long' or 'string'"},
            {{P::PointName, P::OpenBrace}, "a probe point"},
        };
    }();
    return table;
}

// Returns whether a type belongs to a group: the message omits such types once the group is named.
bool belongs(const char* name, size_t type) {
    std::string_view group = name;
    bool expression = type == P::SignPlus || type == P::SignMinus || type == P::Not ||
                      type == P::Complement || type == P::Increment || type == P::Decrement ||
                      type == P::AddressOf || type == P::TupleOpen || type == P::Number ||
                      type == P::String || type == P::Identifier || type == P::CallName ||
                      type == P::TargetName || type == P::EmbeddedC || type == P::OpenParen ||
                      (type >= P::AtCast && type <= P::AtHistLinear);
    if (group == "an expression")
        return expression;
    if (group == "a statement")
        return expression ||
               (type >= P::If && type <= P::Catch && type != P::In && type != P::Limit) ||
               type == P::EmptyStatement || type == P::OpenBrace || type == P::Semicolon ||
               type == P::ReturnValue;
    if (group == "a probe, a function or a global")
        return (type >= P::Probe && type <= P::Function) || type == P::EmbeddedC ||
               type == P::Semicolon;
    if (group == "an operator")
        return (type >= P::Plus && type <= P::Aggregate) || type == P::Question || type == P::In;
    if (group == "a statistic such as @count")
        return type >= P::AtCount && type <= P::AtHistLinear;
    if (group == "a number or a string")
        return type == P::Number || type == P::String || type == P::SignMinus;
    if (group == "'long' or 'string'")
        return type == P::Long || type == P::StringType;
    return type == P::PointName || type == P::OpenBrace;
}

// Returns what a name denotes where rule `rule` expects one.
const char* name_wanted(size_t rule) {
    switch (rule) {
    case P::RuleGlobalVariable:
    case P::RuleGlobalList:
    case P::RuleItem:
        return "the name of a variable";
    case P::RuleFunctionName:
    case P::RuleFunctionDeclaration:
        return "the name of a function";
    case P::RuleParameter:
        return "the name of a parameter";
    case P::RuleForeachHead:
    case P::RuleForeachKey:
    case P::RuleForeachTuple:
        return "the name of a loop variable";
    case P::RuleArrayName:
        return "the name of an array";
    case P::RuleStep:
        return "the name of a member";
    default:
        return "a name";
    }
}

std::string name_of(size_t type, size_t rule) {
    switch (type) {
    case antlr4::Token::EOF:
        return "the end of the file";
    case P::Identifier:
        return name_wanted(rule);
    case P::Number:
        return "a number";
    case P::String:
        return "a string";
    case P::PointName:
        return "a probe point";
    case P::EmbeddedC:
        return "'%{'";
    case P::Dollars:
        return "'$'";
    default:
        return "'" + token_text(type) + "'";
    }
}

} // namespace

std::string describe(const Lexeme& word) {
    return describe(word.type, word.text);
}
std::string describe(const Token& token) {
    return describe(token.type, token.text);
}

std::string token_text(size_t type) {
    return type < texts().size() ? texts()[type] : "";
}

std::string describe_expected(const antlr4::misc::IntervalSet& expected, size_t rule) {
    std::vector<size_t> types;
    for (ssize_t type : expected.toList())
        if (type != static_cast<ssize_t>(antlr4::Token::EPSILON))
            types.push_back(static_cast<size_t>(type));
    auto has = [&](size_t type) {
        return std::find(types.begin(), types.end(), type) != types.end();
    };
    std::vector<std::string> parts;
    for (const Group& group : groups()) {
        if (!std::all_of(group.types.begin(), group.types.end(), has))
            continue;
        parts.emplace_back(group.name);
        std::erase_if(types, [&](size_t type) { return belongs(group.name, type); });
    }
    for (size_t type : types) {
        std::string name = name_of(type, rule);
        // A role of a name has no text of its own.
        if (name != "''" && std::find(parts.begin(), parts.end(), name) == parts.end())
            parts.push_back(std::move(name));
    }
    // "the end of the file" is never what the author meant when something else is possible.
    if (parts.size() > 1)
        std::erase(parts, std::string("the end of the file"));
    if (parts.empty())
        return "something else";
    std::string out = parts[0];
    for (size_t i = 1; i < parts.size(); i++)
        out += (i + 1 == parts.size() ? " or " : ", ") + parts[i];
    return out;
}

} // namespace djstap::syntax
