// SPDX-License-Identifier: GPL-2.0-or-later
// Executes statements, conditions of probes, and what limits a handler.
#include "executed.h"

#include <algorithm>
#include <cstdlib>

namespace djstap {
namespace {

using test::execute;
using test::printed_by;

CodegenOptions limited_to(int64_t statements) {
    CodegenOptions options;
    options.limits.MAXACTION = options.limits.MAXACTION_INTERRUPTIBLE = statements;
    return options;
}

// What the script prints although MAXACTION ends one of its handlers.
std::string printed_within(int64_t statements, const std::string& text) {
    const auto executed = execute(text, 0, limited_to(statements));
    EXPECT_NE(executed.messages.find("MAXACTION"), std::string::npos) << executed.messages;
    return executed.output;
}

TEST(Flow, LoopsAndBranches) {
    EXPECT_EQ(printed_by(R"(
        probe begin {
            for (i = 0; i < 10; i++) { if (i == 3) continue; if (i == 6) break; print(i); j += 2 }
            while (1) { if (k++ > 4) break; if (k % 2) continue; print(":", k) }
            for (;;) { if (++m >= 3) break; else print(".") }
            for (x = 0; x < 2; x++) for (y = 0; y < 5; y++) { if (y > x) break; print(x, y, " ") }
            if (i > 6) print("a"); else if (i == 6) print("b"); else print("c")
            println(j)
            next
            println("not")
        }
        probe end { if (1) { println("end"); next } println("not") })"),
              "01245:2:4..00 10 11 b10\nend\n");
}

// Whoever calls a function for what it does gets that, whatever becomes of its value.
TEST(Flow, UnusedTextsAreMade) {
    EXPECT_EQ(printed_by("function f:string(x:long) { print(x); return \"text\" }\n"
                         "probe begin { f(1); f(2) . f(3); f(4) == \"\" ? f(5) : f(6); "
                         "print(\"\\n\") }"),
              "12346\n");
}

TEST(Flow, ErrorsAreCaught) {
    const auto executed = execute(R"(
        function f(n) { if (n) error("inner"); return 5 }
        probe begin {
            try { print(f(0)); print(f(1)); print("no") } catch (e) { print(e) }
            try { try { error("a") } catch (e) { print(e); error("b") } } catch (e) { print(e) }
            try { print("fine") } catch { print("no") }
            println(e)
            f(1)
            println("no")
        })");
    EXPECT_EQ(executed.output, "5innerabfineb\n");
    EXPECT_NE(executed.messages.find("inner"), std::string::npos) << executed.messages;
}

TEST(Flow, ProbesHaveConditions) {
    EXPECT_EQ(printed_by(R"(
        global n
        probe timer.s(100000) if (n < 3) { n++ }
        probe end if (n == 3) { println(n) }
        probe end if (n != 3) { println("not ", n) })",
                         7),
              "3\n");
    EXPECT_EQ(printed_by(R"(
        global n, hits
        probe timer.s(100000) { if (n % 3 == 0) { n = n + 1; next } n = n + 1; hits = hits + 1 }
        probe end { println(n, " ", hits) })",
                         7),
              "7 4\n");
}

// A match looks at each byte of its text several times.
TEST(Flow, MatchesOfLongTextsAreSeveralStatements) {
    CodegenOptions options = limited_to(1000);
    options.limits.MAXSTRINGLEN = 4096;
    const auto executed = execute(R"s(
        global n, total
        probe begin {
            text = "ab"
            for (i = 0; i < 10; i++) text .= text
            while (text =~ "((a|b)*)$") { n++; total += strlen(matched(1)) }
        }
        probe end { println(n, " ", total / n) })s",
                                  0, options);
    EXPECT_NE(executed.messages.find("MAXACTION"), std::string::npos) << executed.messages;
    const int matches = std::atoi(executed.output.c_str());
    EXPECT_GT(matches, 10);
    EXPECT_LT(matches, 150) << "without them it is more than 200";
}

TEST(Flow, HandlersExecuteAtMostMaxaction) {
    for (const int64_t most : {int64_t{100}, int64_t{101}}) {
        // One for the loop, and two for each iteration.
        EXPECT_EQ(printed_within(most, "global n\nprobe begin { while (1) { n++ } }\n"
                                       "probe end { println(n) }"),
                  std::to_string(most / 2) + "\n");
        EXPECT_EQ(printed_by("global n\nprobe begin { for (i = 0; i < " + std::to_string(most) +
                                 "; i++) n++ }\nprobe end { println(n) }",
                             0, limited_to(1000)),
                  std::to_string(most) + "\n");
    }
}

// As in SystemTap, the charges fall due ten at a time, and at the end of a loop's body: those of
// the loop itself before it, then three for each iteration.
TEST(Flow, LastStatementThatIsExecuted) {
    for (int64_t most = 1; most <= 8; most++)
        EXPECT_EQ(printed_within(most, "probe begin { for (;;) { i++; print(\".\") } }").size(),
                  static_cast<size_t>(most + 1) / 3)
            << most;
    std::string script = "probe begin {";
    for (int i = 0; i < 25; i++)
        script += " print(\".\")\n";
    script += " while (never) print(\"!\"); print(\".\") }";
    for (const auto& [most, printed] :
         {std::pair{1, 10u}, {10, 10u}, {11, 20u}, {20, 20u}, {21, 25u}, {26, 25u}, {27, 26u}})
        EXPECT_EQ(execute(script, 0, limited_to(most)).output.size(), printed) << most;
}

// What begins a loop is charged before it, what steps it behind it, and a condition before what
// depends on it.
TEST(Flow, LoopsAreChargedWithTheirParts) {
    for (int64_t most = 3; most <= 10; most++) {
        // Two before, and two for each iteration: the one that exceeds the limit is the last.
        EXPECT_EQ(printed_within(most, "probe begin { for (i = 0; ; ) print(\".\") }").size(),
                  static_cast<size_t>(most - 1) / 2)
            << most;
        EXPECT_EQ(printed_within(most, "probe begin { for (; ; i++) print(\".\") }").size(),
                  static_cast<size_t>(most) / 2)
            << most;
        // One before, and three for each iteration, two of which are due before it prints.
        EXPECT_EQ(
            printed_within(most, "probe begin { for (; ; i++) if (i >= 0) print(\".\") }").size(),
            static_cast<size_t>(most - 1) / 3)
            << most;
    }
}

// An endless loop around them is ended sooner the more they count.
TEST(Flow, EachStatementCountsAsOne) {
    struct Counted {
        const char* statements;
        size_t count;
    };
    for (const auto& [statements, count] :
         {Counted{"n++", 1}, Counted{"{ n++; n--; n++ }", 3}, Counted{"a[1] = 2; delete a[9]", 2},
          // A condition and one of its branches.
          Counted{"if (n) n++; else n--", 2}, Counted{"if (n < 0) n++", 1},
          // What begins the loop, the loop, two for each iteration, and its step, once.
          Counted{"for (i = 0; i < 3; i++) n++", 9}, Counted{"for (i = 0; i < 3; i++) continue", 9},
          Counted{"i = 0; while (i < 3) i++", 8}, Counted{"while (1) { n++; break }", 4},
          Counted{"foreach (i in a) n++", 7}, Counted{"foreach (i in a) break", 3},
          // Only what is executed, and the catch.
          Counted{"try { n++ } catch { n--; n++ }", 1},
          Counted{"try { error(\"x\"); n++ } catch { n-- }", 2}, Counted{"f()", 3}}) {
        const std::string text = "global n, a\nfunction f() { n++; return 1 }\n"
                                 "probe begin { a[1] = 1; a[2] = 1; a[3] = 1\n"
                                 "while (1) { " +
                                 std::string(statements) +
                                 "; print(\".\") } }\nprobe end { println(n, a[2]) }";
        const std::string printed = printed_within(1000, text);
        const auto runs = static_cast<size_t>(std::count(printed.begin(), printed.end(), '.'));
        // Of 1000, three assignments and the loop; the loop itself, and what prints.
        const size_t each = count + 2, all = 1000 - 4;
        EXPECT_GE((runs + 1) * each, all) << statements;
        EXPECT_LE((runs - 1) * each, all) << statements;
    }
}

// What a function without loops executes is charged when it returns.
TEST(Flow, StatementsOfFunctionsCount) {
    // Four in each of 25 iterations, and one before.
    EXPECT_EQ(printed_within(101, "global n\nfunction f(x) { y = x * 2; return y }\n"
                                  "probe begin { while (1) n += f(1) }\n"
                                  "probe end { println(n) }"),
              "50\n");
}

// A catch would otherwise continue for ever.
TEST(Flow, NothingIsCaughtWhenNoStatementsAreLeft) {
    EXPECT_EQ(printed_within(100, "global n\nprobe begin { try { while (1) n++ } catch { "
                                  "println(\"caught\") } }\nprobe end { println(n) }"),
              "50\n");
    const auto aborted = execute("probe begin { try { abort() } catch { println(\"caught\") }\n"
                                 "println(\"went on\") }\nprobe end { println(\"end\") }");
    EXPECT_EQ(aborted.output.find("caught"), std::string::npos);
    EXPECT_EQ(aborted.output.find("went on"), std::string::npos);
}

TEST(Flow, FailedFunctionsOfTheLanguageEndTheStatement) {
    const auto executed = execute(R"(
        probe begin {
            s = "old"; n = 5
            try { s = kernel_string(8); println("went on") } catch (e) { println(s) }
            try { n = strlen(kernel_string(8) . "x"); println("went on") } catch (e) { println(n) }
            s = kernel_string(16)
            println("went on")
        })");
    EXPECT_EQ(executed.output, "old\n5\n");
    EXPECT_NE(executed.messages.find("script.stp:6:"), std::string::npos) << executed.messages;
}

// Also those that follow another script in the same process.
TEST(Flow, EachScriptMayHaveItsOwnErrors) {
    CodegenOptions options;
    options.limits.MAXERRORS = 1;
    for (int i = 0; i < 3; i++) {
        const std::string script = "global n\nprobe timer.s(100000) { n++; error(\"wrong\") }\n"
                                   "probe end { println(n) }";
        EXPECT_EQ(execute(script, 1, options).output, "1\n");
        EXPECT_EQ(execute(script, 5, options).output, "2\n");
    }
}

TEST(Flow, FunctionsAreNestedUpToMaxnesting) {
    CodegenOptions options;
    options.limits.MAXNESTING = 5;
    const std::string function = "function depth(n) { return n == 1 ? 1 : 1 + depth(n - 1) }\n";
    EXPECT_EQ(printed_by(function + "probe begin { for (i = 0; i < 3; i++) println(depth(5)) }", 0,
                         options),
              "5\n5\n5\n");
    const auto executed =
        execute(function + "probe begin { try { println(depth(6)) } catch (e) { println(e) } "
                           "println(depth(5)) }",
                0, options);
    EXPECT_NE(executed.output.find("MAXNESTING exceeded"), std::string::npos) << executed.output;
}

TEST(Flow, DeleteOfEachKindOfVariable) {
    EXPECT_EQ(printed_by(R"(
        global n, t, s, p, a, c
        probe timer.s(100000) { c++; p <<< 3 }
        probe end {
            n = 7; t = "text"; s <<< 5; a[1] = 2; a[2] = 3
                println(n, t, @count(s), c, @count(p), a[1])
            delete n; delete t; delete s; delete c; delete p; delete a[1]
            println(n, "[", t, "]", @count(s), c, @count(p), 1 in a, 2 in a)
            delete a; println(2 in a)
            n = 4; t = "new"; s <<< 6; p <<< 8; c++
            println(n, t, @sum(s), c, @sum(p))
        })",
                         4),
              "7text1442\n0[]00001\n0\n4new618\n");
}

// --explain names what makes a handler cost more.
TEST(Flow, ExplanationNamesWhatHandlersNeed) {
    CodegenOptions options;
    options.explain = true;
    std::string problem;
    const auto object = test::user_object(R"(
        global a, b, c, i
        probe timer.s(100000) { a[1] = b[1] }
        probe timer.s(200000) { c++ }
        probe timer.s(300000) { while (i < 5) i++; println(i) }
        probe begin { a[2] = c; b[1] = i; while (i < 3) i++ }
        probe end { println(a[1]) })",
                                          options, problem);
    ASSERT_TRUE(object) << problem;
    // The lines of a handler without what its code decides.
    std::vector<std::vector<std::string>> handlers;
    size_t stacks = 0;
    for (const std::string& line : object->explanation) {
        if (!line.starts_with("    "))
            handlers.push_back({line});
        else if (line.starts_with("    uses at most "))
            stacks++;
        else
            handlers.back().push_back(line);
    }
    ASSERT_EQ(handlers.size(), 9u); // and the globals
    EXPECT_EQ(stacks, 5u);
    const auto has = [&](size_t handler, const std::string& what) {
        for (const std::string& line : handlers[handler])
            if (line.find(what) != std::string::npos)
                return true;
        return false;
    };
    EXPECT_TRUE(has(0, "locks a (written), b (read)"));
    EXPECT_FALSE(has(1, "locks"));
    EXPECT_TRUE(has(2, "locks i (written)"));
    for (size_t i = 0; i < 5; i++) {
        EXPECT_EQ(has(i, "counts its statements"), i == 2 || i == 3) << i;
        EXPECT_EQ(has(i, "runs only during the session"), i == 0 || i == 2) << i;
        EXPECT_EQ(has(i, "needs nothing: it runs alone"), i > 2) << i;
    }
}

TEST(Flow, GlobalsBeginWithTheirValues) {
    EXPECT_EQ(printed_by(R"(
        global n = 42, t = "begin", c = 100, k = -3, fixed = "fixed", m = 0
        probe timer.s(100000) { c++; k += 2; k -= 5; n = n + 1 }
        probe end { println(n, t, c, " ", k, fixed, m); t = "changed"; println(t) })",
                         3),
              "45begin103 -12fixed0\nchanged\n");
}

} // namespace
} // namespace djstap
