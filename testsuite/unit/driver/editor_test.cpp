// SPDX-License-Identifier: GPL-2.0-or-later
// What an editor is told of a script that is open in it.
#include "driver/editor.h"

#include "own_library.h"
#include "parsed_options.h"

namespace djstap::driver {
namespace {

class Editing : public OwnLibrary {
  protected:
    static Editor editor() { return Editor(accept({"--lsp"})); }
    // The place of « in a script, which is removed.
    static std::pair<lsp::Text, size_t> cursor(std::string script) {
        const std::string mark = "\u00ab";
        const size_t at = script.find(mark);
        script.erase(at, mark.size());
        return {lsp::Text(script), at};
    }
    static std::string described(const std::string& script) {
        const auto [text, at] = cursor(script);
        return editor().describe(text, at);
    }
    // "FILE:LINE", or the bytes of the script.
    static std::string defined(const std::string& script) {
        const auto [text, at] = cursor(script);
        const auto found = editor().define(text, at);
        return !found                ? "nowhere"
               : found->file.empty() ? text.text().substr(found->begin, found->end - found->begin)
                                     : found->file + ":" + std::to_string(found->line);
    }
};

TEST_F(Editing, MessagesHaveTheirPlaceInTheScript) {
    const std::string script = "global unused\nprobe begin { println(1 +) }\n";
    const auto all = editor().check(script);
    ASSERT_EQ(all.size(), 1u);
    EXPECT_TRUE(all[0].is_error);
    EXPECT_EQ(script.substr(all[0].begin, all[0].end - all[0].begin), ")");
    EXPECT_FALSE(all[0].tag.empty());
    EXPECT_FALSE(all[0].text.empty());
    const std::string other = "global unused\nprobe begin { println(1) }\n";
    const auto warnings = editor().check(other);
    ASSERT_EQ(warnings.size(), 1u);
    EXPECT_FALSE(warnings[0].is_error);
    EXPECT_EQ(other.substr(warnings[0].begin, warnings[0].end - warnings[0].begin), "unused");
    EXPECT_TRUE(editor().check("probe begin { println(1) }").empty());
    // A hint follows, and what is wrong with a limit has no place.
    const auto hinted = editor().check("probe begin { printn(1) }");
    ASSERT_EQ(hinted.size(), 1u);
    EXPECT_NE(hinted[0].text.find("\nhint: did you mean 'print"), std::string::npos)
        << hinted[0].text;
    const auto limit = Editor(accept({"--lsp", "-DMAXACTION=0"})).check("probe begin {}");
    ASSERT_EQ(limit.size(), 1u);
    EXPECT_EQ(limit[0].begin + limit[0].end, 0u);
    EXPECT_EQ(limit[0].text, "-D MAXACTION=0: invalid value for this limit\nhint: it must be a "
                             "number from 1 to 2147483647");
}

// Whoever opens a script has not decided to run it, and the compiler reads what headers name.
TEST_F(Editing, OpensNoHeadersThatTheScriptNamesByPath) {
    const std::string header = tapset("struct only_here { int x; };", "own.h");
    const auto script = [](const std::string& name) {
        return "probe begin { println(@cast(0, \"only_here\", \"<" + name + ">\")->x) }";
    };
    const auto all = editor().check(script(header));
    ASSERT_EQ(all.size(), 1u);
    EXPECT_TRUE(all[0].is_error);
    EXPECT_NE(all[0].text.find("with names like <sys/time.h>"), std::string::npos) << all[0].text;
    EXPECT_TRUE(editor()
                    .check("probe begin { println(@cast(0, \"timespec\", \"<time.h>\")->tv_sec) "
                           "}")
                    .empty());
}

// What a macro's text is to blame for is shown where the macro is used.
TEST_F(Editing, MessagesOfMacrosAreAtTheirUse) {
    const std::string script = "@define inner %( printn(1) %)\n@define outer %( @inner %)\n"
                               "probe begin { @outer }\n";
    const auto all = editor().check(script);
    ASSERT_EQ(all.size(), 1u);
    EXPECT_EQ(script.substr(all[0].begin, all[0].end - all[0].begin), "@outer");
    // Another place of the script.
    const std::string loop = "probe a = b {}\nprobe b = a {}\nprobe a {}\n";
    const auto notes = editor().check(loop);
    ASSERT_FALSE(notes.empty());
    EXPECT_EQ(notes[0].begin, loop.find("a {}"));
    ASSERT_EQ(notes[0].notes.size(), 1u);
    EXPECT_EQ(notes[0].notes[0].begin, 0u);
    EXPECT_LT(notes[0].notes[0].end, loop.find('\n') + 1);
    EXPECT_EQ(notes[0].notes[0].text, "the alias is defined here");
    // A file of the library is named with its line.
    const std::string path =
        tapset("\nfunction broken() { return undefined_name() }\n", "broken.stp");
    std::string told;
    for (const EditorMessage& each : editor().check("probe begin { println(broken()) }"))
        told +=
            std::to_string(each.begin) + "-" + std::to_string(each.end) + " " + each.text + "\n";
    EXPECT_NE(told.find("0-0 " + path + ":2:"), std::string::npos) << told;
}

TEST_F(Editing, NamesAreDescribed) {
    tapset(
        "/**\n * sfunction half - Half of a number\n * @n: the number\n *\n * Description: It is "
        "rounded.\n */\nfunction half:long (n:long) { return n / 2 }\n"
        "/**\n * probe own.first - The first\n * @size: how large it is\n */\n"
        "probe own.first = begin { size = 5 }\n"
        "function bare() { return 1 }\n");
    const std::string half = described("probe begin { println(ha\u00ablf(4)) }");
    EXPECT_TRUE(half.starts_with("```\n")) << half;
    EXPECT_NE(half.find("half:long (n:long)\n```\n\n"), std::string::npos) << half;
    EXPECT_NE(half.find("rounded"), std::string::npos) << half;
    EXPECT_NE(half.find("\n- `n`"), std::string::npos) << half;
    EXPECT_NE(half.find(", the number"), std::string::npos) << half;
    for (const char* place : {"probe own.fi\u00abrst { }", "probe own.\u00abfirst {}",
                              "probe begin, own.first\u00ab {}"}) {
        const std::string alias = described(place);
        EXPECT_NE(alias.find("own.first"), std::string::npos) << place << alias;
        EXPECT_NE(alias.find("\n- `size`: long, how large it is"), std::string::npos) << alias;
    }
    const std::string bare = described("probe begin { println(bare\u00ab()) }");
    EXPECT_EQ(bare.find("- `"), std::string::npos);
    EXPECT_TRUE(bare.ends_with("```\n")) << bare;
    EXPECT_EQ(described("probe begin { println(no_such_na\u00abme()) }"), "");
    EXPECT_EQ(described("probe begin { \u00ab }"), "");
    // A component behind one with an argument, and a word of the language.
    EXPECT_NE(described("probe timer.m\u00abs(5) {}"), "");
    EXPECT_NE(described("probe kernel.function(\"f\").re\u00abturn {}").find("kernel.function"),
              std::string::npos);
    EXPECT_NE(described("probe begin { for\u00abeach (x in y) {} }"), "");
}

TEST_F(Editing, NamesAreFoundWhereTheyAreDefined) {
    const std::string path =
        tapset("\nfunction half:long (n:long) { return n / 2 }\nprobe own.first = begin {}\n");
    const std::string script = "global count\nfunction twice(n) { return 2 * n }\n"
                               "probe own.first { count = twice(half(4)) }\n";
    const auto at = [&](const std::string& word, size_t from = 0) {
        std::string marked = script;
        return defined(marked.insert(marked.find(word, from), "\u00ab"));
    };
    EXPECT_EQ(at("twice(half"), "twice");
    EXPECT_EQ(at("count ="), "count");
    EXPECT_EQ(at("half"), path + ":2");
    EXPECT_EQ(at("first"), path + ":3");
    EXPECT_EQ(at("4"), "nowhere");
    EXPECT_EQ(defined("probe begin { foreach\u00ab (x in y) {} }"), "nowhere") << "no file has it";
    EXPECT_EQ(defined("probe begin { \u00ab }"), "nowhere");
}

} // namespace
} // namespace djstap::driver
