// SPDX-License-Identifier: GPL-2.0-or-later
// Which functions of the runtime handlers call: none for what is known when they are compiled. How
// fast a handler is depends on it, not what it does.
#include "executed.h"

#include <map>
#include <sstream>

namespace djstap {
namespace {

using Calls = std::map<std::string, unsigned>;

// How often the code of a script calls each of these functions.
Calls calls(const std::string& text, const std::vector<std::string>& functions,
            CodegenOptions options = {}) {
    options.dump_ir = true;
    std::string problem, line;
    const auto object = test::user_object(text, options, problem);
    Calls found;
    if (!object) {
        ADD_FAILURE() << problem << text;
        return found;
    }
    std::istringstream lines(object->ir);
    while (std::getline(lines, line))
        for (const std::string& function : functions)
            found[function] += line.find("call ") != std::string::npos &&
                               line.find("@" + function + "(") != std::string::npos;
    return found;
}
unsigned calls_of(const std::string& function, const std::string& text,
                  const CodegenOptions& options = {}) {
    return calls(text, {function}, options)[function];
}

std::string text_of(size_t length) {
    return '"' + std::string(length, 'x') + '"';
}

} // namespace

// A literal is copied by the handler if it has at most 64 bytes with its end, in words of 8, and no
// more than any string has room for.
TEST(CallsOfRuntime, ShortLiteralsAreCopiedByTheHandler) {
    const auto copies = [](size_t length, int64_t room) {
        CodegenOptions options;
        options.limits.MAXSTRINGLEN = room;
        return calls_of("djs_text_copy",
                        "global g\nprobe begin { g = " + text_of(length) +
                            " }\nprobe end { if (g == \"x\") println(1); g = \"\" }",
                        options);
    };
    const unsigned others = copies(1, 512);
    for (const size_t length : {0, 7, 8, 55, 56, 63})
        EXPECT_EQ(copies(length, 512), others) << length;
    for (const size_t length : {64, 65, 200})
        EXPECT_EQ(copies(length, 512), others + 1) << length;
    for (const int64_t room : {int64_t{64}, int64_t{72}})
        EXPECT_EQ(copies(63, room), others) << room;
    EXPECT_EQ(copies(15, 20), others);
    EXPECT_EQ(copies(16, 20), others + 1); // 24 bytes
    EXPECT_EQ(copies(15, 16), others);
}

// What a record has of a literal is known, and copied by the handler up to 32 bytes.
TEST(CallsOfRuntime, LiteralsInRecordsHaveTheirLength) {
    const std::vector<std::string> functions{"djs_text_length", "memcpy"};
    const auto print = [&](const std::string& argument) {
        return calls("global t\nprobe begin { printf(\"%s %d\\n\", " + argument +
                         ", 1) }\nprobe end { t = sprintf(\"%d\", strlen(t)) }",
                     functions);
    };
    const Calls none = print("\"\"");
    for (const size_t length : {1, 8, 31, 32})
        EXPECT_EQ(print(text_of(length)), none) << length;
    Calls one = none;
    one["memcpy"]++;
    for (const size_t length : {33, 34, 100})
        EXPECT_EQ(print(text_of(length)), one) << length;
    one["djs_text_length"]++;
    EXPECT_EQ(print("t"), one);
    // A variable that is always the same literal is that.
    const auto print_variable = [&](const std::string& statements) {
        return calls("global t\nprobe begin { " + statements +
                         " printf(\"%s %d\\n\", v, 1) }\n"
                         "probe end { t = sprintf(\"%d\", strlen(t)) }",
                     functions);
    };
    EXPECT_EQ(print_variable("v = \"literal\";"), none);
    EXPECT_EQ(print_variable("v = \"literal\"; v = \"another\";"), one);
    EXPECT_EQ(print_variable("if (strlen(t)) v = \"literal\";")["memcpy"], one["memcpy"]);
}

// A variable that is set once, to a literal, is not copied at all; neither is an operand that
// nothing changes while its statement runs.
TEST(CallsOfRuntime, TextsAreNotCopiedWithoutNeed) {
    const auto copies = [](const std::string& statements) {
        return calls_of("djs_text_copy", "global g, h\nfunction f:string() { return \"f\" }\n"
                                         "probe begin { s = sprintf(\"%d\", g); t = s . \"y\"\n" +
                                             statements +
                                             "\nprintln(s, t) }\n"
                                             "probe end { g = 3; h = \"h\"; println(h, f()) }");
    };
    const unsigned none = copies("");
    EXPECT_EQ(copies("println(s)"), none);
    EXPECT_EQ(copies("println(s, t)"), none);
    EXPECT_EQ(copies("println(s . t)"), none);
    EXPECT_EQ(copies("println(s == t)"), none);
    EXPECT_EQ(copies("println(strlen(s))"), none);
    EXPECT_EQ(copies("println(s, t = \"new\")"), none + 1);
    EXPECT_EQ(copies("println(s . (t = \"new\"))"), none + 1);
    EXPECT_EQ(copies("println(s == (t = \"new\"))"), none + 1);
    EXPECT_EQ(copies("println(h)"), none + 1); // a global one
    EXPECT_EQ(copies("t = s"), none + 1);
    EXPECT_EQ(copies("t = s . \"x\""), none);
    EXPECT_EQ(copies("t = s . t"), none + 1); // into another place first
    EXPECT_EQ(copies("t = t . s"), none);
    EXPECT_EQ(copies("t .= s"), none);
    EXPECT_EQ(copies("t .= t"), none + 1);
    EXPECT_EQ(copies("t = f()"), none);
    EXPECT_EQ(copies("t = sprintf(\"%d\", 5)"), none);
    EXPECT_EQ(copies("t = g ? \"yes\" : \"no\""), none);
    EXPECT_EQ(copies("t = g ? s : \"no\""), none + 1);
}

TEST(CallsOfRuntime, ElementsAreFoundByTheirKindOfKeys) {
    const std::vector<std::string> functions{
        "djs_map_find",        "djs_map_find_long",   "djs_map_find_slot", "djs_map_insert",
        "djs_map_insert_long", "djs_map_insert_slot", "djs_map_erase",     "djs_map_erase_slot",
        "djs_has_slice",       "djs_erase_slice",     "djs_map_clear"};
    const auto asked = [&](const std::string& statement) {
        const std::string head =
            "global a, t, s, b, p\nprobe end { a[1] = 1; t[1] = \"x\"; s[1] <<< 1\n"
            "x = sprintf(\"%d\", 3); b[x] = 1; p[1, x] = 1\n"
            "println(a[9], t[9], @count(s[9]), b[\"y\"], p[9, \"y\"])\n";
        Calls all = calls(head + statement + " }", functions);
        std::string text;
        for (const auto& [name, before] : calls(head + "}", functions))
            for (; all[name] > before; all[name]--)
                text += (text.empty() ? "" : " ") + name;
        return text;
    };
    for (const auto& [statement, functions_called] :
         {std::pair{"println(a[2])", "djs_map_find_slot"},
          {"a[2] = 3", "djs_map_insert_slot"},
          {"a[2]++", "djs_map_insert_slot"},
          {"println(2 in a)", "djs_map_find_slot"},
          {"delete a[2]", "djs_map_erase_slot"},
          {"delete a", "djs_map_clear"},
          {"println(t[2])", "djs_map_find_long"},
          {"t[2] = \"x\"", "djs_map_insert_long"},
          {"s[2] <<< 3", "djs_map_insert_long"},
          {"println(@count(s[2]))", "djs_map_find_long"},
          {"println(2 in t)", "djs_map_find"},
          {"delete t[2]", "djs_map_erase"},
          {"println(b[x])", "djs_map_find"},
          {"b[x] += 2", "djs_map_insert"},
          {"println(x in b)", "djs_map_find"},
          {"delete b[x]", "djs_map_erase"},
          {"println([1, x] in p)", "djs_map_find"},
          {"println([1, *] in p)", "djs_has_slice"},
          {"println([*, x] in p)", "djs_has_slice"},
          {"delete p[1, x]", "djs_map_erase"},
          {"delete p[1, *]", "djs_erase_slice"},
          {"delete p[*, x]", "djs_erase_slice"}})
        EXPECT_EQ(asked(statement), functions_called) << statement;
}

// The text of a group is that of the last match in the handler.
TEST(CallsOfRuntime, MatchesAreKeptOnlyForThoseWhoAsk) {
    const std::vector<std::string> functions{"djs_match_regex", "djs_regex_search"};
    const std::string match = "probe begin { t = sprintf(\"%d\", 12); if (t =~ \"1(.)\") println(";
    EXPECT_EQ(calls(match + "t) }", functions),
              (Calls{{"djs_match_regex", 0}, {"djs_regex_search", 1}}));
    for (const char* const ask : {"matched(1)", "ngroups()"})
        EXPECT_EQ(calls(match + ask + ") }", functions),
                  (Calls{{"djs_match_regex", 1}, {"djs_regex_search", 0}}))
            << ask;
    // Nothing is left of another run's.
    const auto executed = test::execute(R"s(
        global n, seen, lost
        probe timer.s(100000) {
            if (n++ == 0) { t = sprintf("%d", n); if (t =~ "(.)") seen .= matched(1) }
            try { seen .= matched(0) } catch { lost++ }
            try { if (ngroups()) seen .= "g" } catch { lost++ }
        }
        probe end { println(seen, " ", lost) })s",
                                        3);
    EXPECT_EQ(executed.output, "11g 4\n");
}

// The context keeps these while it is in use: a handler that has none of them does not touch them.
TEST(CallsOfRuntime, StatementsAreCountedWhereTheyMayBeMany) {
    const std::string more = "djs_more_actions";
    EXPECT_EQ(calls_of(more, "probe begin { println(1); x = 3; println(x) }"), 0u);
    EXPECT_GT(calls_of(more, "probe begin { while (i < 3) i++ }"), 0u);
    EXPECT_GT(calls_of(more, "global a\nprobe begin { a[1] = 2; foreach (i in a) println(i) }"),
              0u);
    // Those of a function without loops fall due together.
    const auto of_function = [&](const std::string& body) {
        return calls_of(more, "global g\nfunction f(n) { " + body +
                                  " }\nprobe begin { while (i < 3) i += f(1) + g; g = 2 }");
    };
    const unsigned once = of_function("return n");
    EXPECT_EQ(of_function("x = n; if (x > 3) return 2; if (x > 4) return x; return 5"), once);
    for (const char* const several :
         {"g++; if (n > 3) return 2; if (n > 4) return 5; return 5",
          "if (g > 3) return 2; if (n > 4) return 5; return 5",
          "println(n); if (n > 3) return 2; if (n > 4) return 5; return 5",
          "while (n++ < 3) x++; return x", "if (n > 3) exit(); if (n > 4) return 5; return 5",
          "try { x = 7 / n } catch { return 5 } if (n > 4) return 5; return x"})
        EXPECT_GT(of_function(several), once + 1) << several;
}

} // namespace djstap
