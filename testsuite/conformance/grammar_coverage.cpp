// SPDX-License-Identifier: GPL-2.0-or-later
// Which places of the grammar do these scripts reach? A place is what the parser can do in one
// state of its network (ATN): match one kind of token, or enter a rule. Together they are all
// alternatives of all rules.
//
//     grammar_coverage FILE…      each file is one script
//
// Prints the places that no script reaches, one per line, and their number; exits with 1 if there
// are any.
#include "grammar/DjstapParser.h"
#include "library/library.h"
#include "syntax/preprocessor.h"
#include "syntax/roles.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <set>
#include <sstream>

using namespace djstap;
using grammar::DjstapParser;

namespace {

using Place = std::pair<size_t, size_t>; // a state's number; a token's type, or `rule_entered`
constexpr size_t rule_entered = SIZE_MAX;

// Follows the parser: a rule knows the state from which it was entered, a token was matched in the
// current one.
class Follower final : public antlr4::tree::ParseTreeListener {
  public:
    explicit Follower(DjstapParser& parser) : parser_(parser) {}
    void enterEveryRule(antlr4::ParserRuleContext* context) override {
        reached.emplace(context->invokingState, rule_entered);
    }
    void exitEveryRule(antlr4::ParserRuleContext*) override {}
    void visitTerminal(antlr4::tree::TerminalNode* node) override {
        reached.emplace(parser_.getState(), node->getSymbol()->getType());
    }
    void visitErrorNode(antlr4::tree::ErrorNode*) override {}

    std::set<Place> reached;

  private:
    DjstapParser& parser_;
};

// Adds the places that the script in `path` reaches; none if it cannot be read or does not parse.
void follow(const std::string& path, const MacroTable& macros, std::set<Place>& reached) {
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    SourceManager sources;
    Diagnostics diagnostics(sources);
    uint32_t source = sources.add(path, text.str());
    PreprocessorContext context;
    context.kernel_release = [] { return "6.1.0"; };
    context.kernel_config = [](const std::string&) { return "y"; };
    context.arguments = {"1", "2", "3"};
    context.guru = true;

    const SourceFile& script = sources.file(source);
    syntax::Lexemes words, kept;
    syntax::MacroExpander expander(sources, macros, diagnostics);
    syntax::Conditionals conditionals(context, diagnostics);
    syntax::TokenList tokens;
    if (!syntax::lex(script.text, {source, 0, 0, 0}, false, words, diagnostics) ||
        !conditionals.filter(words = expander.expand_file(words), kept) ||
        !syntax::assign_roles(
            kept, source, static_cast<uint32_t>(script.text.size()),
            [] { return std::vector<std::string>(); }, tokens, diagnostics))
        return;
    DjstapParser parser(&tokens);
    parser.removeErrorListeners();
    parser.setErrorHandler(std::make_shared<antlr4::BailErrorStrategy>());
    Follower follower(parser);
    parser.addParseListener(&follower);
    try {
        parser.script();
    } catch (const antlr4::ParseCancellationException&) {
        return;
    }
    reached.merge(follower.reached);
}

} // namespace

int main(int count, char** arguments) {
    SourceManager sources;
    Diagnostics diagnostics(sources);
    auto library = Library::open({DJSTAP_SOURCE_DIR "/tapsets"}, sources, {}, diagnostics);
    std::set<Place> reached;
    for (int i = 1; i < count; i++)
        follow(arguments[i], library->macros(), reached);

    syntax::TokenList none;
    none.tokens.emplace_back().type = antlr4::Token::EOF;
    DjstapParser parser(&none);
    const antlr4::atn::ATN& network = parser.getATN();
    const antlr4::dfa::Vocabulary& vocabulary = parser.getVocabulary();
    size_t total = 0, missing = 0;
    auto expect = [&](const antlr4::atn::ATNState& state, size_t what, const std::string& name) {
        total++;
        if (reached.contains({state.stateNumber, what}))
            return;
        missing++;
        printf("%s: %s\n", parser.getRuleNames()[state.ruleIndex].c_str(), name.c_str());
    };
    for (const antlr4::atn::ATNState* state : network.states) {
        if (!state)
            continue;
        for (const antlr4::atn::Transition* transition : state->transitions) {
            if (transition->getSerializationType() == antlr4::atn::Transition::RULE) {
                const auto& call = static_cast<const antlr4::atn::RuleTransition&>(*transition);
                expect(*state, rule_entered, parser.getRuleNames()[call.ruleIndex]);
            } else if (!transition->isEpsilon()) {
                for (ssize_t type : transition->label().toList())
                    expect(*state, static_cast<size_t>(type),
                           vocabulary.getDisplayName(static_cast<size_t>(type)));
            }
        }
    }
    printf("%zu of %zu places of the grammar are reached\n", total - missing, total);
    return missing ? 1 : 0;
}
