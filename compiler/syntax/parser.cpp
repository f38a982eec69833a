// SPDX-License-Identifier: GPL-2.0-or-later
#include "syntax/builder.h"
#include "syntax/preprocessor.h"
#include "syntax/roles.h"
#include "syntax/syntax.h"
#include "syntax/syntax_error.h"

#include "syntax/names.h"

namespace djstap {

namespace syntax {
namespace {

using P = grammar::DjstapParser;

constexpr size_t error_limit = 20;

bool starts_item(size_t type) {
    return type == P::Probe || type == P::Function || type == P::Global || type == P::Private;
}

// Parses the top-level items of a file one by one: each item's tree is dropped once its nodes are
// built, and an error in one does not hide those of the others.
class ItemParser {
  public:
    ItemParser(TokenList& tokens, Builder& builder, Diagnostics& diagnostics)
        : tokens_(tokens), builder_(builder), diagnostics_(diagnostics),
          strategy_(std::make_shared<ErrorStrategy>(tokens, diagnostics)), parser_(&tokens) {
        parser_.setBuildParseTree(false);
        parser_.setErrorHandler(strategy_);
    }

    void parse_all(ast::File& file) {
        size_t errors_before = diagnostics_.error_count();
        while (tokens_.LA(1) != antlr4::Token::EOF) {
            if (diagnostics_.error_count() - errors_before >= error_limit) {
                diagnostics_.report(DiagnosticKind::TooManyErrors,
                                    tokens_.at(tokens_.index()).range,
                                    {std::to_string(diagnostics_.error_count() - errors_before)});
                return;
            }
            size_t begin = tokens_.index();
            P::ItemContext* item = parse_item(begin);
            if (item)
                builder_.add_item(*item, file);
            else if (!go_on_ || !resume(begin, tokens_.index()))
                return;
        }
    }

  private:
    P::ItemContext* parse_item(size_t begin) {
        for (bool careful : {false, true}) {
            tokens_.seek(begin);
            parser_.restart(&tokens_);
            parser_.getInterpreter<antlr4::atn::ParserATNSimulator>()->setPredictionMode(
                careful ? antlr4::atn::PredictionMode::LL : antlr4::atn::PredictionMode::SLL);
            strategy_->reporting = careful;
            strategy_->item_begin = begin;
            try {
                return parser_.item();
            } catch (const antlr4::ParseCancellationException&) {
                if (parser_.limit_reached) {
                    diagnostics_.report(DiagnosticKind::NestedTooDeeply,
                                        tokens_.at(tokens_.index()).range,
                                        {std::to_string(parser_.limit_reached)});
                    go_on_ = false;
                    return nullptr;
                }
            }
        }
        return nullptr;
    }

    // Moves to where the next item seems to begin: behind the body that contains the error if that
    // body ends, otherwise at the next word that starts an item.
    bool resume(size_t begin, size_t error) {
        size_t open = 0;
        for (size_t i = begin; i < error; i++)
            count_brace(i, open);
        for (size_t i = error; tokens_.at(i).type != antlr4::Token::EOF; i++) {
            size_t type = tokens_.at(i).type;
            bool declaration_in_body =
                open > 0 && i == error && (type == P::Global || type == P::Private);
            bool is_component = i > 0 && tokens_.at(i - 1).type == P::Dot;
            if (starts_item(type) && i > begin && !declaration_in_body && !is_component) {
                tokens_.seek(i);
                return true;
            }
            size_t before = open;
            count_brace(i, open);
            if (before == 1 && open == 0) {
                tokens_.seek(i + 1);
                return true;
            }
        }
        return false;
    }

    void count_brace(size_t i, size_t& open) const {
        if (tokens_.at(i).type == P::OpenBrace)
            open++;
        else if (tokens_.at(i).type == P::CloseBrace && open > 0)
            open--;
    }

    TokenList& tokens_;
    Builder& builder_;
    Diagnostics& diagnostics_;
    std::shared_ptr<ErrorStrategy> strategy_;
    BoundedParser parser_;
    bool go_on_ = true;
};

// Reads the definitions among `words`, after evaluating the conditionals around them.
bool read_definitions(const Lexemes& words, MacroExpander& expander, Conditionals& conditionals,
                      Diagnostics& diagnostics, size_t depth) {
    using L = P;
    for (size_t at = 0; at < words.size();) {
        if (words[at].type == L::AtDefine) {
            if (!expander.define(words, at))
                return false;
            continue;
        }
        if (words[at].type != L::ConditionOpen) {
            diagnostics.report(DiagnosticKind::OnlyMacrosHere, words[at].range,
                               {describe(words[at])});
            return false;
        }
        SourceRange place = words[at].range;
        if (depth >= nesting_limit) {
            diagnostics.report(DiagnosticKind::NestedTooDeeply, place,
                               {std::to_string(nesting_limit)});
            return false;
        }
        auto parts = conditionals.cut(words, at);
        if (!parts)
            return false;
        Lexemes condition =
            expander.expand_file({parts->condition.begin(), parts->condition.end()});
        auto chosen = conditionals.decide(condition, place);
        if (!chosen)
            return false;
        auto branch = *chosen ? parts->then_words : parts->else_words;
        if (!read_definitions({branch.begin(), branch.end()}, expander, conditionals, diagnostics,
                              depth + 1))
            return false;
    }
    return true;
}

} // namespace
} // namespace syntax

std::optional<ast::File> parse_file(SourceManager& sources, uint32_t source,
                                    const PreprocessorContext& context,
                                    const MacroTable& public_macros, Diagnostics& diagnostics) {
    using namespace syntax;
    size_t errors_before = diagnostics.error_count();
    const SourceFile& text = sources.file(source);
    Lexemes words;
    if (!lex(text.text, {source, 0, 0, 0}, false, words, diagnostics))
        return std::nullopt;
    MacroExpander expander(sources, public_macros, diagnostics);
    words = expander.expand_file(words);
    if (expander.too_large())
        return std::nullopt;
    Conditionals conditionals(context, diagnostics);
    Lexemes kept;
    kept.reserve(words.size());
    if (!conditionals.filter(words, kept))
        return std::nullopt;
    auto macro_names = [&] {
        std::vector<std::string> names;
        for (const MacroTable* table :
             {&public_macros, static_cast<const MacroTable*>(&expander.defined())})
            for (const auto& [name, macro] : *table)
                names.push_back("@" + name);
        return names;
    };
    TokenList tokens;
    if (!assign_roles(kept, source, static_cast<uint32_t>(text.text.size()), macro_names, tokens,
                      diagnostics))
        return std::nullopt;
    Builder builder(sources, tokens, context.guru || text.is_library, diagnostics);
    ast::File file;
    file.source = source;
    ItemParser(tokens, builder, diagnostics).parse_all(file);
    if (diagnostics.error_count() > errors_before)
        return std::nullopt;
    return file;
}

bool parse_macro_file(SourceManager& sources, uint32_t source, const PreprocessorContext& context,
                      MacroTable& macros, Diagnostics& diagnostics) {
    using namespace syntax;
    size_t errors_before = diagnostics.error_count();
    Lexemes words;
    if (!lex(sources.file(source).text, {source, 0, 0, 0}, false, words, diagnostics))
        return false;
    MacroExpander expander(sources, macros, diagnostics);
    Conditionals conditionals(context, diagnostics);
    if (!read_definitions(words, expander, conditionals, diagnostics, 0) ||
        diagnostics.error_count() > errors_before)
        return false;
    for (auto& [name, macro] : expander.defined())
        macros[name] = macro;
    return true;
}

} // namespace djstap
