// SPDX-License-Identifier: GPL-2.0-or-later
// How messages name words, and what the parser accepts.
#include "syntax/names.h"

#include "parsing.h"
#include "syntax/syntax_error.h"

#include <algorithm>
#include <set>

namespace djstap::syntax {
namespace {

using P = grammar::DjstapParser;
using antlr4::misc::IntervalSet;

std::string named(uint16_t type, std::string_view text) {
    return describe(Lexeme{type, false, {}, text});
}

std::string accepted(const std::set<size_t>& types, size_t rule = P::RuleExpression) {
    IntervalSet set;
    for (const size_t type : types)
        set.add(static_cast<ssize_t>(type));
    return describe_expected(set, rule);
}

// What may begin a rule, as the grammar says.
std::set<size_t> beginnings(size_t rule) {
    TokenList tokens;
    tokens.tokens.emplace_back().type = antlr4::Token::EOF;
    const P parser(&tokens);
    const antlr4::atn::ATN& atn = parser.getATN();
    std::set<size_t> types;
    for (const ssize_t type : atn.nextTokens(atn.ruleToStartState[rule]).toList())
        types.insert(static_cast<size_t>(type));
    return types;
}

// Whether a message has a word for it where a rule expects it.
bool has_name(size_t type) {
    return !token_text(type).empty() || type == P::Identifier || type == P::Number ||
           type == P::String || type == P::PointName || type == P::EmbeddedC || type == P::Dollars;
}

TEST(WordNames, OfWhatHasNoWordAlone) {
    EXPECT_EQ(named(P::If, "if"), "'if'");
    EXPECT_EQ(named(P::Identifier, "abc"), "'abc'");
    EXPECT_EQ(named(P::String, "\"abc\""), "string \"abc\"");
    EXPECT_EQ(named(P::String, "abc"), "string \"abc\""); // an argument's
    EXPECT_EQ(named(P::OpenString, "\"abc"), "string \"abc");
    EXPECT_EQ(named(P::EmbeddedC, "%{ 1 %}"), "embedded C");
    Token end;
    end.type = antlr4::Token::EOF;
    EXPECT_EQ(describe(end), "end of file");
}

// What cannot be seen is named by its number.
TEST(WordNames, OfBytes) {
    for (const auto& [text, name] : std::initializer_list<std::pair<std::string_view, const char*>>{
             {"\x01", "byte 0x01"},
             {"\x1f", "byte 0x1f"},
             {" ", "' '"},
             {"!", "'!'"},
             {"~", "'~'"},
             {"\x7f", "byte 0x7f"},
             {"\x80", "byte 0x80"},
             {"\xab", "byte 0xab"},
             {"\xff", "byte 0xff"},
             {"\xc3\xa4", "'\xc3\xa4'"}}) {
        EXPECT_EQ(named(P::Unknown, text), name);
        EXPECT_EQ(named(P::Bad, text), name);
    }
    EXPECT_EQ(named(P::Identifier, "\x01"), "'\x01'");
}

TEST(WordNames, AreCut) {
    const std::string letters = "abcdefghijklmnopqrstuvwx"; // 24
    EXPECT_EQ(named(P::Identifier, letters), "'" + letters + "'");
    EXPECT_EQ(named(P::Identifier, letters + "y"), "'" + letters + "…'");
}

TEST(TokenTexts, AreThoseOfTheGrammar) {
    for (const auto& [type, text] :
         std::initializer_list<std::pair<size_t, const char*>>{{P::Probe, "probe"},
                                                               {P::StringType, "string"},
                                                               {P::AtHistLinear, "@hist_linear"},
                                                               {P::Arrow, "->"},
                                                               {P::Aggregate, "<<<"},
                                                               {P::SignPlus, "+"},
                                                               {P::SignMinus, "-"},
                                                               {P::AddressOf, "&"},
                                                               {P::PostIncrement, "++"},
                                                               {P::PostDecrement, "--"},
                                                               {P::TupleOpen, "["},
                                                               {P::EmptyStatement, ";"},
                                                               {P::ReturnValue, "return"},
                                                               {P::Identifier, ""},
                                                               {P::Number, ""},
                                                               {P::Unknown, ""},
                                                               {0, ""},
                                                               {P::Unknown + 1, ""},
                                                               {P::Unknown + 2, ""}})
        EXPECT_EQ(token_text(type), text) << type;
}

// What may begin an expression and the like has one name, and so has nothing else.
TEST(Accepted, GroupsAreThoseOfTheGrammar) {
    struct Group {
        std::string name;
        std::set<size_t> types;
        std::set<size_t> others; // which are named no more beside it
    };
    const std::set<size_t> calls = beginnings(P::RuleStatisticCall);
    std::set<size_t> operators{P::Question, P::In};
    for (size_t type = P::Plus; type <= P::Aggregate; type++)
        operators.insert(type);
    for (const Group& group : {
             Group{"a probe, a function or a global", beginnings(P::RuleItem), {P::Semicolon}},
             Group{"a statement", beginnings(P::RuleStatement), {P::Else, P::Catch, P::Semicolon}},
             Group{"an expression", beginnings(P::RuleExpression), {}},
             Group{"an operator", operators, {}},
             Group{"a statistic such as @count", calls, {}},
             Group{"a number or a string", beginnings(P::RuleLiteral), {}},
             Group{"'long' or 'string'", beginnings(P::RuleTypeName), {}},
             Group{"a probe point", beginnings(P::RuleComponent), {}},
         }) {
        EXPECT_EQ(accepted(group.types), group.name);
        for (size_t type = 1; type <= P::Unknown; type++) {
            std::set<size_t> types = group.types;
            types.insert(type);
            const std::string text = accepted(types);
            const bool belongs = group.types.contains(type) || group.others.contains(type);
            // A sign is named as the operator is.
            if (belongs || !has_name(type) || type == P::CallName) {
                EXPECT_EQ(text, group.name) << type;
            } else {
                EXPECT_TRUE(text.starts_with(group.name + " or ")) << type << " " << text;
            }
        }
        // Each one alone is named itself.
        for (const size_t type : group.types)
            if (group.types.size() > 2 && has_name(type)) {
                EXPECT_NE(accepted({type}), group.name) << type;
            }
    }
}

TEST(Accepted, NamesDependOnTheRule) {
    for (const auto& [rule, name] : std::initializer_list<std::pair<size_t, const char*>>{
             {P::RuleGlobalVariable, "the name of a variable"},
             {P::RuleFunctionName, "the name of a function"},
             {P::RuleParameter, "the name of a parameter"},
             {P::RuleForeachHead, "the name of a loop variable"},
             {P::RuleArrayName, "the name of an array"},
             {P::RuleStep, "the name of a member"},
             {P::RuleStatement, "a name"}}) {
        EXPECT_EQ(accepted({P::Identifier}, rule), name);
        EXPECT_EQ(accepted({P::Identifier, P::CallName}, rule), name);
    }
}

TEST(Accepted, ListsWhatIsLeft) {
    EXPECT_EQ(accepted({}), "something else");
    EXPECT_EQ(accepted({P::Unknown}), "something else");
    EXPECT_EQ(accepted({antlr4::Token::EOF}), "the end of the file");
    EXPECT_EQ(accepted({antlr4::Token::EOF, P::Comma}), "','");
    EXPECT_EQ(accepted({P::Number}), "a number");
    EXPECT_EQ(accepted({P::Comma, P::CloseParen}), "')' or ','");
    EXPECT_EQ(accepted({P::Comma, P::CloseParen, P::Colon}), "')', ',' or ':'");
    EXPECT_EQ(accepted({P::Plus, P::SignPlus}), "'+'"); // once
    EXPECT_EQ(accepted({P::Dollars}), "'$'");
    EXPECT_EQ(accepted({P::EmbeddedC}), "'%{'");
    IntervalSet set;
    set.add(static_cast<ssize_t>(antlr4::Token::EPSILON));
    EXPECT_EQ(describe_expected(set, P::RuleExpression), "something else");
}

} // namespace
} // namespace djstap::syntax
