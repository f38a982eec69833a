// SPDX-License-Identifier: GPL-2.0-or-later
// Converts scripts to typed programs, shown by the dump: types, storage, unused code.
#include "dumps.h"

#include "semantics/walk.h"

using namespace djstap;
using namespace djstap::test;
using program::Storage;

TEST(SemanticsProgram, TheSmallestScript) {
    expect_dump("probe begin { printf(\"%s(%d)\\n\", execname(), pid()) }",
                "function pid(): long, pure, intrinsic\n"
                "function execname(): string, pure, intrinsic\n"
                "probe begin\n"
                "    # prints, strings\n"
                "    printf(\"%s(%d)\\n\", execname(), pid())\n");
}

TEST(SemanticsProgram, LatencyOfACall) {
    expect_dump("global n, t, lat\n"
                "probe kernel.function(\"f\") { n++; t[tid()] = gettimeofday_ns() }\n"
                "probe kernel.function(\"f\").return { if (tid() in t) { lat <<< gettimeofday_ns() "
                "- t[tid()]\n"
                "    delete t[tid()] } }\n"
                "probe end { printf(\"%d calls\\n\", n); print(@hist_log(lat)) }",
                "global n: long, per CPU\n"
                "global t[long]: long, locked\n"
                "global lat: stats, per CPU, keeps count hist_log\n"
                "function tid(): long, pure, intrinsic\n"
                "function gettimeofday_ns(): long, pure, intrinsic\n"
                "probe kernel.function(\"f\")\n"
                "    # reads t, writes t, can fail\n"
                "    n++\n"
                "    t[tid()] = gettimeofday_ns()\n"
                "probe kernel.function(\"f\").return (return)\n"
                "    # reads t, writes t\n"
                "    if ([tid()] in t)\n"
                "        lat <<< (gettimeofday_ns() - t[tid()])\n"
                "        delete t[tid()]\n"
                "probe end\n"
                "    # prints\n"
                "    printf(\"%d calls\\n\", n)\n"
                "    printf(\"%H\", @hist_log(lat))\n");
}

TEST(SemanticsProgram, DeclarationsOfGlobals) {
    expect_dump("global w%[3], s = \"x\", k = 7 probe begin { w[k] = 1; k++; println(s) }",
                "global w[long]: long, locked, wraps, size 3\n"
                "global s: string, constant, initially \"x\"\n"
                "global k: long, locked, initially 7\n"
                "probe begin\n"
                "    # reads w, reads k, writes w, writes k, prints, strings\n"
                "    w[k] = 1\n"
                "    k++\n"
                "    printf(\"%s\\n\", s)\n"
                "probe end(2147483647) (synthetic)\n"
                "    # reads w, prints, can fail, loops\n"
                "    local key1: long\n"
                "    foreach ([key1] in w sorted by value, falling)\n"
                "        printf(\"w[%d]=%d\\n\", key1, w[key1])\n");
}

TEST(SemanticsTypes, FlowThroughCallsBothWays) {
    Analysis analysis("function twice(x) { return x . x }\nfunction pass(y) { return y }\n"
                      "global a\nprobe begin { a[pass(\"k\"), 1] = twice(\"b\"); foreach ([k, n] "
                      "in a) print(a[k, n]) }");
    ASSERT_TRUE(analysis.program) << analysis.errors();
    const auto& array = analysis.global("a");
    EXPECT_EQ(array.keys, (std::vector<program::Type>{program::Type::String, program::Type::Long}));
    EXPECT_EQ(array.value, program::Type::String);
    for (const auto& function : analysis.program->functions)
        EXPECT_EQ(function->return_type, program::Type::String) << function->name;
}

namespace {

// Returns the type of the first key of array `a` in a script with this probe.
program::Type key_of(const std::string& body) {
    Analysis analysis("global a, b, text probe kernel.function(\"f\") { " + body + " }");
    EXPECT_TRUE(analysis.program) << analysis.errors();
    return analysis.program ? analysis.global("a").keys.at(0) : program::Type::Void;
}

} // namespace

TEST(SemanticsStacks, AddressesStandForTheTextThatNothingLooksAt) {
    for (const char* body :
         {"a[backtrace()]++", "a[backtrace(), pid()] <<< 1", "s = backtrace(); a[s]++; print(s)",
          "if (pid()) s = backtrace(); a[s]++", "a[pid() ? backtrace() : backtrace()] = 1",
          "a[s = backtrace()]++; delete a[s]", "if (backtrace() in a) a[backtrace()]++",
          "a[backtrace()]++; foreach (s in a-) { print_stack(s); printf(\"%s\", s) }",
          "a[backtrace()]++; foreach (s in a) b[s] = a[s]; foreach (s in b) println(s)",
          "a[backtrace(), 1]++; foreach ([s, n] in a[backtrace(), *]) println(s)",
          "a[backtrace()]++; b[backtrace() . \"x\"]++; text = backtrace()",
          "a[backtrace()]++; foreach (s in a) println(strlen(s), s == \"\", s . s)",
          "a[backtrace()]++; foreach (s in a) b[s]++; b[\"x\"]++"})
        EXPECT_EQ(key_of(body), program::Type::Stack) << body;
}

TEST(SemanticsStacks, TextsRemainWhereAnythingElseIsAKey) {
    for (const char* body :
         {"a[backtrace()]++; a[\"x\"]++", "a[backtrace()]++; println(execname() in a)",
          "a[backtrace()]++; delete a[\"\"]", "a[backtrace() . \"\"]++", "a[sprint_backtrace()]++",
          "s = backtrace(); s .= \"x\"; a[s]++", "s = backtrace(); if (pid()) s = \"\"; a[s]++",
          "a[pid() ? backtrace() : \"\"]++", "text = backtrace(); a[text]++",
          "a[backtrace()]++; foreach (s+ in a) println(s)",
          "a[backtrace(), 1]++; foreach ([s, n-] in a) println(s); foreach ([s-, n] in a) "
          "println(s)",
          "a[backtrace(), 1]++; foreach ([s, n] in a[\"x\", *]) println(s)",
          "a[backtrace()]++; a[unset]++",
          "b[1] = \"x\"; foreach (s = k in b) a[s]++; s = backtrace(); a[s]++",
          "try { error(\"e\") } catch (s) { a[s]++ } a[backtrace()]++"})
        EXPECT_EQ(key_of(body), program::Type::String) << body;
}

TEST(SemanticsStacks, FunctionsTakeAndReturnText) {
    Analysis analysis("global a function f(s) { a[s]++; return s } "
                      "probe kernel.function(\"f\") { println(f(backtrace())) }");
    ASSERT_TRUE(analysis.program) << analysis.errors();
    EXPECT_EQ(analysis.global("a").keys[0], program::Type::String);
    // What is never set is an empty text there, too.
    Analysis unset("global a function f() { a[unset]++ } "
                   "probe kernel.function(\"f\") { a[backtrace()]++; f() }");
    ASSERT_TRUE(unset.program) << unset.errors();
    EXPECT_EQ(unset.global("a").keys[0], program::Type::String);
}

TEST(SemanticsStacks, CodeInCHasText) {
    SemanticsOptions options;
    options.guru = true;
    Analysis analysis("global a function f() %{ /* pragma:read:a */ %} "
                      "probe kernel.function(\"f\") { a[backtrace()]++; f() }",
                      options);
    ASSERT_TRUE(analysis.program) << analysis.errors();
    EXPECT_EQ(analysis.global("a").keys[0], program::Type::String);
}

TEST(SemanticsChanges, CodeInCThatWritesToAnArrayIsNotCalledInItsLoop) {
    SemanticsOptions options;
    options.guru = true;
    const auto errors = [&](const std::string& pragma) {
        return Analysis("global a function f() %{ /* pragma:" + pragma +
                            ":a */ %} probe begin { a[1] = 2; foreach (k in a) f() }",
                        options)
            .errors();
    };
    EXPECT_EQ(errors("read"), "");
    EXPECT_NE(errors("write").find("'a' is modified while a foreach iterates over it"),
              std::string::npos);
}

TEST(SemanticsTypes, ValueOfAFunctionThatReturnsNothingIsZeroWhereANumberIsNeeded) {
    EXPECT_EQ(body("function f() { exit() } probe begin { printf(\"%d\", f() + 1) }"),
              "printf(\"%d\", (f() + 1))");
}

TEST(SemanticsPrinting, BecomesFormats) {
    EXPECT_EQ(body("probe begin { print(1, \"a%\") }"), "printf(\"%d%s\", 1, \"a%\")");
    EXPECT_EQ(body("probe begin { println() }"), "printf(\"\\n\")");
    EXPECT_EQ(body("probe begin { println(pid()) }"), "printf(\"%d\\n\", pid())");
    EXPECT_EQ(body("probe begin { printdln(\", \", 1, \"b\", 3) }"),
              "printf(\"%d, %s, %d\\n\", 1, \"b\", 3)");
    EXPECT_EQ(body("probe begin { print_char(65) }"), "printf(\"%c\", 65)");
    EXPECT_EQ(body("probe begin { x = sprint(1) . sprintd(\"-\", 2, 3); print(x) }"),
              "x = (sprintf(\"%d\", 1) . sprintf(\"%d-%d\", 2, 3)) | printf(\"%s\", x)");
    EXPECT_EQ(body("probe begin { printf(\"%-5d|%+05i|%#x|%.3s|%*d|%.*s|%c|%p|%%|%2b|%ld\\n\", 1, "
                   "2, 3, \"a\", 4, 5, 6, "
                   "\"b\", 7, 8, 9, 10) }"),
              "printf(\"%-5d|%+05i|%#x|%.3s|%*d|%.*s|%c|%p|%%|%2b|%d\\n\", 1, 2, 3, \"a\", 4, 5, "
              "6, \"b\", 7, 8, 9, 10)");
}

TEST(SemanticsPrinting, SizesOfMemoryConversions) {
    Analysis analysis("probe begin { printf(\"%4m%.4m%M%.0M\", 1, 2, 3, 4) }");
    ASSERT_TRUE(analysis.program) << analysis.errors();
    std::vector<int> sizes;
    program::walk_expressions(*analysis.program->probes[0]->body, [&](program::Expression& node) {
        if (node.kind == program::ExpressionKind::Print)
            for (const auto& piece : program::as<program::Print>(node).format)
                sizes.push_back(piece.size);
    });
    EXPECT_EQ(sizes, (std::vector<int>{1, 4, 1, 1}));
}

TEST(SemanticsStorage, PerCpuOnlyWhenEveryWriteIsALoneUpdate) {
    struct Case {
        const char* script;
        Storage storage;
    };
    for (const Case& item : std::initializer_list<Case>{
             {"n++", Storage::PerCpu},
             {"--n", Storage::PerCpu},
             {"n += 5", Storage::PerCpu},
             {"n -= pid()", Storage::PerCpu},
             {"n++; delete n", Storage::PerCpu},
             {"for (i = 0; i < 3; n++) i++", Storage::PerCpu},
             {"n = 5", Storage::Locked},
             {"n *= 2", Storage::Locked},
             {"n += n", Storage::Locked},
             {"x = n++; print(x)", Storage::Locked},
             {"if (n++ > 3) exit()", Storage::Locked},
             {"print(n += 2)", Storage::Locked},
             {"exit()", Storage::Constant},
         }) {
        Analysis analysis(std::string("global n probe timer.s(1) { ") + item.script +
                          " } probe end { print(n + 0) }");
        ASSERT_TRUE(analysis.program) << item.script << analysis.errors();
        EXPECT_EQ(analysis.global("n").storage, item.storage) << item.script;
    }
}

// `n++; if (n == 100) exit()` never misses 100: the handler holds a lock across both.
TEST(SemanticsStorage, AHandlerThatAddsAndReadsHoldsALock) {
    struct Case {
        const char* script;
        Storage number, statistic;
    };
    for (const Case& item : std::initializer_list<Case>{
             {"probe timer.s(1) { n++; s <<< 1 }", Storage::PerCpu, Storage::PerCpu},
             {"probe timer.s(1) { n++; if (n == 100) exit() }", Storage::Locked, Storage::PerCpu},
             {"probe timer.s(1) { if (n == 100) exit(); n += 2 }", Storage::Locked,
              Storage::PerCpu},
             {"probe timer.s(1) { s <<< 1; if (@count(s) == 100) exit() }", Storage::PerCpu,
              Storage::Locked},
             {"probe timer.s(1) { s <<< n; n-- }", Storage::Locked, Storage::PerCpu},
             // One handler adds, another reads.
             {"probe timer.s(1) { n++; s <<< 1 } probe timer.s(2) { if (n == 100) exit() }",
              Storage::PerCpu, Storage::PerCpu},
             {"probe timer.s(1) { print(n, @count(s)); delete n; delete s }", Storage::PerCpu,
              Storage::PerCpu},
             // Through functions, the second overload of which is called by `next`.
             {"function at() { return n } probe timer.s(1) { n++; if (at() == 100) exit() }",
              Storage::Locked, Storage::PerCpu},
             {"function add() { n++ } function at() { add(); return n } probe timer.s(1) { at() }",
              Storage::Locked, Storage::PerCpu},
             {"function at(x) { if (x) return 1; next } function at(x) { return n }\n"
              "probe timer.s(1) { n++; if (at(0)) exit() }",
              Storage::Locked, Storage::PerCpu},
             {"function add() { n++ } function at() { return n }\n"
              "probe timer.s(1) { add() } probe timer.s(2) { if (at() == 100) exit() }",
              Storage::PerCpu, Storage::PerCpu},
         }) {
        Analysis analysis(std::string("global n, s probe timer.s(3) { n++; s <<< 1 }\n"
                                      "probe end { print(n, @count(s)) }\n") +
                          item.script);
        ASSERT_TRUE(analysis.program) << item.script << analysis.errors();
        EXPECT_EQ(analysis.global("n").storage, item.number) << item.script;
        EXPECT_EQ(analysis.global("s").storage, item.statistic) << item.script;
    }
}

TEST(SemanticsStorage, InitialValueAndClearingDoNotGoTogetherPerCpu) {
    const std::string reads = " probe timer.s(2) { print(n) }";
    Analysis kept("global n = 3 probe timer.s(1) { n++ }" + reads);
    EXPECT_EQ(kept.global("n").storage, Storage::PerCpu);
    Analysis cleared("global n = 3 probe timer.s(1) { n++; delete n }" + reads);
    EXPECT_EQ(cleared.global("n").storage, Storage::Locked);
    SemanticsOptions options;
    options.global_values = {{"n", "3"}};
    Analysis given("global n probe timer.s(1) { n++; delete n }" + reads, options);
    EXPECT_EQ(given.global("n").storage, Storage::Locked);
}

TEST(SemanticsStorage, OnlyWhatIsAskedOfAStatisticIsKept) {
    Analysis analysis("global a, b, c, d probe timer.s(1) { a <<< 1; b[1] <<< 1; c <<< 1; d <<< 1\n"
                      "print(@count(a)); print(@avg(b[1]) + @max(b[1])); print(@variance(c, 3))\n"
                      "print(@hist_linear(d, -5, 5, 2)); foreach (k in b @min+) print(k) }");
    ASSERT_TRUE(analysis.program) << analysis.errors();
    const auto& a = analysis.global("a").statistic;
    EXPECT_FALSE(a.sum || a.min || a.max || a.variance);
    const auto& b = analysis.global("b").statistic;
    EXPECT_TRUE(b.sum && b.min && b.max && !b.variance);
    const auto& c = analysis.global("c").statistic;
    EXPECT_TRUE(c.variance);
    EXPECT_EQ(c.variance_shift, 3);
    const auto& d = analysis.global("d").statistic;
    EXPECT_EQ(d.histogram, program::StatisticNeeds::Histogram::Linear);
    EXPECT_EQ(d.low, -5);
    EXPECT_EQ(d.high, 5);
    EXPECT_EQ(d.width, 2);
}

TEST(SemanticsUnread, GlobalsPrintThemselvesAtTheEnd) {
    expect_dump("global n, s, a, h probe timer.s(1) { n = 1; s = \"x\"; a[1, \"k\"] = 2; h <<< 3 }",
                "global n: long, locked\n"
                "global s: string, locked\n"
                "global a[long, string]: long, locked\n"
                "global h: stats, per CPU, keeps count min max sum\n"
                "probe timer.s(1)\n"
                "    # reads n, reads s, reads a, writes n, writes s, writes a, can fail, strings\n"
                "    n = 1\n"
                "    s = \"x\"\n"
                "    a[1, \"k\"] = 2\n"
                "    h <<< 3\n"
                "probe end(2147483647) (synthetic)\n"
                "    # reads n, reads s, reads a, prints, can fail, loops, strings\n"
                "    local key1: long, key2: string\n"
                "    printf(\"n=%d\\n\", n)\n"
                "    printf(\"s=\\\"%s\\\"\\n\", s)\n"
                "    foreach ([key1, key2] in a sorted by value, falling)\n"
                "        printf(\"a[%d,\\\"%s\\\"]=%d\\n\", key1, key2, a[key1, key2])\n"
                "    if @count(h)\n"
                "        printf(\"h @count=%d @min=%d @max=%d @sum=%d @avg=%d\\n\", "
                "@count(h), @min(h), "
                "@max(h), @sum(h), @avg(h))\n");
}

// Both ends of a session are the last chance to print.
TEST(SemanticsUnread, IsPrintedAtEachEndThatTheScriptHas) {
    const auto last = [](const std::string& script) {
        const Analysis analysis(script);
        EXPECT_TRUE(analysis.program) << analysis.errors();
        std::string points;
        for (const ast::ProbePoint* point : analysis.program->probes.back()->points)
            points += ast::to_string(*point) + " ";
        return points;
    };
    EXPECT_EQ(last("global n probe timer.s(1) { n++ }"), "end(2147483647) ");
    EXPECT_EQ(last("global n probe timer.s(1) { n++ } probe error { exit() }"),
              "end(2147483647) error(2147483647) ");
    EXPECT_EQ(last("global n probe timer.s(1) { n++ } probe end { exit() }"), "end(2147483647) ");
    EXPECT_EQ(last("global n probe timer.s(1) { n++; println(n) } probe end { exit() }"), "end ");
}

TEST(SemanticsUnread, ACounterThatNobodyReadsStaysPerCpu) {
    Analysis analysis("global n probe timer.s(1) { n++ }");
    ASSERT_TRUE(analysis.program) << analysis.errors();
    EXPECT_EQ(analysis.global("n").storage, Storage::PerCpu);
    EXPECT_EQ(analysis.program->probes.size(), 2u);
    const program::Effects& effects = analysis.program->probes[0]->effects;
    EXPECT_TRUE(effects.reads.empty() && effects.writes.empty());
    EXPECT_FALSE(effects.prints || effects.can_fail || effects.loops || effects.strings ||
                 effects.calls_runtime);
}

TEST(SemanticsUnused, WhatAnAliasPreparesAndNobodyReadsIsDropped) {
    const std::string library = "probe mine = kernel.function(\"f\") { a = $x; b = $y; if "
                                "(@defined($z)) c = $z; d = exit_it() }\n"
                                "function exit_it() { exit(); return 1 }\n";
    EXPECT_EQ(body("probe mine { print(b) }", library), "b = $y | exit_it() | printf(\"%d\", b)");
    EXPECT_EQ(body("probe mine { print(b) }", library, {false, true, {}}),
              "a = $x | b = $y | if @defined($z) |     c = $z | d = exit_it() | printf(\"%d\", b)");
}

TEST(SemanticsUnused, TheLibrarysLoopsEnd) {
    const std::string loop = "function last(n) { while (n > 9) n = n % 10; return n }\n";
    EXPECT_EQ(body("probe mine { exit() }", "probe mine = begin { x = last(12) }\n" + loop),
              "exit()");
    EXPECT_EQ(body(loop + "probe begin { x = last(12); exit() }"), "last(12) | exit()");
}

TEST(SemanticsUnused, WhatNobodyReadsLeavesNoLocalsEntryValuesOrFunctions) {
    const std::string library =
        "probe mine = kernel.function(\"f\").return { a = $a; b = kernel_string($b); c = $c; "
        "d = @entry(execname()); e = $return }\n";
    Analysis counting("global n probe mine { n++ }", {}, library);
    ASSERT_TRUE(counting.program) << counting.errors();
    const program::Probe& counter = *counting.program->probes.front();
    EXPECT_TRUE(counter.locals.empty());
    EXPECT_TRUE(counter.entry_values.empty());
    EXPECT_TRUE(counting.program->functions.empty());
    Analysis all(
        "global n, o probe mine { println(b, c, d); o[1] = 1; foreach ([x] in o) try { n[c] = e } "
        "catch (m) { println(m, x) } }",
        {}, library);
    ASSERT_TRUE(all.program) << all.errors();
    const program::Probe& probe = *all.program->probes.front();
    ASSERT_EQ(probe.entry_values.size(), 3u);
    std::vector<std::string> names;
    for (const program::Local& local : probe.locals)
        names.push_back(local.name);
    EXPECT_EQ(names, (std::vector<std::string>{"b", "c", "d", "e", "x", "m"}));
    EXPECT_NE(all.dump().find("    entry#0 = $b\n    entry#1 = $c\n    entry#2 = execname()\n"),
              std::string::npos)
        << all.dump();
    EXPECT_NE(all.dump().find("c = entry#1"), std::string::npos) << all.dump();
}

TEST(SemanticsUnused, PruningEnds) {
    // Blocks that are or become empty, where a block is required.
    EXPECT_EQ(body("probe begin { try { error(\"x\") } catch { } }"),
              "try |     error(\"x\") | catch");
    EXPECT_EQ(body("probe begin { while (pid()) { x = 1 } if (pid()) { y = 2 } else exit() }"),
              "for (; pid(); ) | if pid() | else |     exit()");
    EXPECT_EQ(body("global a probe begin { a[1] = 1; foreach (k in a) { z = k } exit() }"),
              "a[1] = 1 | foreach ([k] in a) | exit()");
}

TEST(SemanticsTarget, ProcfsValueIsTextThatItsProbesWrite) {
    EXPECT_EQ(body("probe procfs(\"x\").read { $value = \"a\" . sprint(1) }"),
              "$value = (\"a\" . sprintf(\"%d\", 1))");
}

TEST(SemanticsUnused, EmptyProbesAreKept) {
    Analysis analysis("probe begin { } probe end { exit() }");
    ASSERT_TRUE(analysis.program) << analysis.errors();
    EXPECT_EQ(analysis.program->probes.size(), 2u);
}

TEST(SemanticsStatements, AllLower) {
    EXPECT_EQ(
        body("global a probe begin { for (i = 0; i < 3; i++) { if (i == 1) continue; a[i] = i; if "
             "(i) break }\n"
             "try { error(\"x\") } catch (m) { println(m) } delete a[1]; delete a\n"
             "foreach (k+ in a limit 5) println(a[k]); next }"),
        "for (i = 0; (i < 3); i++) |     if (i == 1) |         continue |     a[i] = i |     if i "
        "|         break | "
        "try |     error(\"x\") | catch (m) |     printf(\"%s\\n\", m) | delete a[1] | delete a | "
        "foreach ([k] in a sorted by key 1, rising limit 5) |     printf(\"%d\\n\", a[k]) | next");
    EXPECT_EQ(body("global a probe begin { a[1, \"x\"] = 2; foreach ([k, s] in a[1, *]) println(k, "
                   "s); delete a[*, \"x\"]\n"
                   "if ([*, \"x\"] in a) exit() }"),
              "a[1, \"x\"] = 2 | foreach ([k, s] in a[1, *]) |     printf(\"%d%s\\n\", k, s) | "
              "delete a[*, \"x\"] | "
              "if ([*, \"x\"] in a) |     exit()");
    EXPECT_EQ(body("global s probe begin { s <<< 1; foreach (b in @hist_log(s)) "
                   "println(@hist_log(s)[b]) }"),
              "s <<< 1 | foreach ([b] in @hist_log(s)) |     printf(\"%d\\n\", @hist_log(s)[b])");
}

TEST(SemanticsOptions, GuruAllowsWritingAndEmbeddedC) {
    Analysis analysis("%{ int x; %} function f:long(a:long) %{ STAP_RETURN(1); %}\n"
                      "probe kernel.function(\"f\") { $x->y = f(2) + %{ 3 %} }",
                      {true, false, {}});
    ASSERT_TRUE(analysis.program) << analysis.errors();
    EXPECT_EQ(analysis.program->embedded.size(), 1u);
    EXPECT_EQ(analysis.program->functions[0]->embedded, " STAP_RETURN(1); ");
}

// Whoever names the registers at the hit, in whatever way, gets all of them.
TEST(SemanticsOptions, EmbeddedCThatNamesRegistersNeedsThem) {
    const auto needs_registers = [](const std::string& script) {
        Analysis analysis(script, {true, false, {}});
        EXPECT_TRUE(analysis.program) << analysis.errors();
        return analysis.program && analysis.program->probes[0]->effects.registers;
    };
    const std::string probe = " probe kernel.function(\"f\") { if (f()) exit() }";
    EXPECT_FALSE(needs_registers("function f:long() %{ STAP_RETURN(1); %}" + probe));
    EXPECT_TRUE(needs_registers("function f:long() %{ STAP_RETURN(!!CONTEXT->kregs); %}" + probe));
    EXPECT_TRUE(
        needs_registers("function f:long() %{ STAP_RETURN(!!CONTEXT -> kregs); %}" + probe));
    const std::string macro = "%{\n#define REGISTERS (CONTEXT->kregs)\n%}\n";
    EXPECT_TRUE(
        needs_registers(macro + "function f:long() %{ STAP_RETURN(!!REGISTERS); %}" + probe));
    EXPECT_FALSE(needs_registers(macro + "function f:long() { return 1 }" + probe));
}

TEST(SemanticsOptions, GlobalsTakeValuesFromTheCommandLine) {
    Analysis analysis("global n = 5, s = \"a\" probe begin { print(n); print(s) }",
                      {false, false, {{"n", "-0x10"}, {"s", "b c"}}});
    ASSERT_TRUE(analysis.program) << analysis.errors();
    EXPECT_EQ(analysis.global("n").initial_number, -16);
    EXPECT_EQ(analysis.global("s").initial_text, "b c");
}

TEST(SemanticsLibrary, EveryTapsetFunctionLowers) {
    // Generates a script for each function of djstap's tapsets: all of the library is checked and
    // typed.
    SourceManager sources;
    Diagnostics diagnostics(sources);
    Folder folder;
    PreprocessorContext context;
    auto library = Library::open({DJSTAP_SOURCE_DIR "/tapsets"}, sources, context, diagnostics);
    size_t checked = 0;
    for (const std::string& name : library->function_names()) {
        for (const ast::File* file : library->files_defining_function(name))
            for (const ast::Function& function : file->functions) {
                if (function.name != name || name.rfind("__", 0) == 0)
                    continue;
                std::string call = name + "(";
                for (const ast::Parameter& parameter : function.parameters)
                    call += std::string(call.back() == '(' ? "" : ", ") +
                            (parameter.type == ast::TypeName::String ? "\"a\"" : "1");
                Analysis analysis("probe begin { " + call + ") }", {true, true, {}});
                EXPECT_TRUE(analysis.program) << call << "\n" << analysis.errors();
                ++checked;
            }
    }
    EXPECT_GT(checked, 60u);
    EXPECT_FALSE(diagnostics.has_errors()) << render_all(diagnostics);
}

TEST(SemanticsRobustness, DeepAndLongScripts) {
    std::string sum = "1";
    for (int i = 0; i < 200; ++i)
        sum = "(" + sum + " + 1)";
    EXPECT_TRUE(Analysis("probe begin { print(" + sum + ") }").program);
    std::string many;
    for (int i = 0; i < 5000; ++i)
        many += "global g" + std::to_string(i) + "\nprobe begin { g" + std::to_string(i) + "++ }\n";
    Analysis large(many);
    ASSERT_TRUE(large.program);
    EXPECT_EQ(large.program->globals.size(), 5000u);
}
