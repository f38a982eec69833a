// SPDX-License-Identifier: GPL-2.0-or-later
// How a statement's place is named in messages.
#include "codegen/first_token.h"

#include <gtest/gtest.h>

namespace djstap::codegen {
namespace {

std::string token_of(const std::string& text) {
    SourceManager sources;
    const uint32_t file = sources.add("<test>", "# " + text);
    return first_token(sources, {file, 2, static_cast<uint32_t>(2 + text.size())});
}

TEST(FirstToken, IsNamedByItsKind) {
    for (const auto& [text, token] : {
             std::pair{"n++", "identifier 'n'"},
             {"n_2[1] = 3", "identifier 'n_2'"},
             {"$x->y = 1", "identifier '$x'"},
             {"iffy()", "identifier 'iffy'"},
             {"5 + 3", "number '5'"},
             {"0x1f", "number '0x1f'"},
             {"\"text\" . s", "string 'text'"},
             {"\"\" . s", "string ''"},
             {"@cast(p, \"x\")", "operator '@cast'"},
             {"++n", "operator '++'"},
             {"--n", "operator '--'"},
             {"%{ c %}", "operator '%{'"},
             {"{ n++ }", "operator '{'"},
             {"(n)", "operator '('"},
             {"-n", "operator '-'"},
             {"!n", "operator '!'"},
             {"-", "operator '-'"},
             {"", "statement"},
         })
        EXPECT_EQ(token_of(text), token) << text;
    for (const char* const keyword :
         {"probe", "global", "function", "if",     "else",  "for",    "foreach",
          "in",    "limit",  "return",   "delete", "while", "break",  "continue",
          "next",  "string", "long",     "try",    "catch", "private"}) {
        EXPECT_EQ(token_of(keyword), "keyword") << keyword;
        EXPECT_EQ(token_of(keyword + std::string("(n)")), "keyword") << keyword;
    }
}

} // namespace
} // namespace djstap::codegen
