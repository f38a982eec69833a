// SPDX-License-Identifier: GPL-2.0-or-later
// Every diagnostic of semantics: its message, its hint, its notes; one mistake must give one error.
#include "analysis.h"

#include <set>

using namespace djstap;
using namespace djstap::test;

namespace {

struct Case {
    const char* tag;
    const char* script;
    const char* message;
    const char* hint = "";
    const char* note = "";
    SemanticsOptions options = {};
};

const std::vector<Case>& cases() {
    static const std::vector<Case> list = {
        // names
        {"unknown-function", "probe begin { prnt(1) }", "unknown function 'prnt'",
         "did you mean 'print'?"},
        {"unknown-function", "probe begin { print(pidd()) }", "'pidd'", "did you mean 'pid'?"},
        {"unknown-function", "global hits probe begin { hits[1] = 2 print(hits(1)) }", "'hits'",
         "hits[key]"},
        {"argument-count", "probe begin { print(pid(1)) }",
         "'pid' takes 0 arguments, but 1 is given"},
        {"argument-count", "function f(a) { print(a) } probe begin { f(1) f(1, 2) }",
         "'f' takes 1 argument, but 2 are given", "", "it is defined here"},
        {"argument-count", "probe begin { print(substr(\"a\", 1)) }",
         "'substr' takes 3 arguments, but 2 are given"},
        {"unknown-array", "probe begin { a[1] = 2 }", "unknown global array 'a'", "global a"},
        {"unknown-array", "global count probe begin { count[1] = 2 print(coutn[1]) }", "'coutn'",
         "did you mean 'count'?"},
        {"unknown-probe-point", "probe begn { exit() }", "'begn'", "did you mean 'begin'?"},
        {"unknown-probe-point", "probe timr.s(1) { exit() }", "'timr.s'",
         "did you mean 'timer.s'?"},
        {"too-many-aliases",
         "probe a = begin, begin, begin, begin, begin, begin, begin, begin, begin, begin {} "
         "probe b = a, a, a, a, a, a, a, a, a, a {} probe c = b, b, b, b, b, b, b, b, b, b {} "
         "probe d = c, c, c, c, c, c, c, c, c, c {} probe d, begin { exit() }",
         "lead to more than 10000 points"},
        {"alias-loop", "probe a = b {} probe b = a {} probe a { exit() }", "leads back to itself",
         "", "the alias is defined here"},
        {"never-assigned", "global count probe begin { count = 1 printf(\"%d %d\", cuont, count) }",
         "'cuont' is read here but never assigned: it is always 0", "did you mean 'count'?"},
        {"never-assigned", "probe begin { print(execnam . \"a\") }", "it is always \"\"",
         "did you mean 'execname()'?"},
        {"unknown-global",
         "global bound = 5 probe begin { print(bound) }",
         "-G bond",
         "did you mean 'bound'?",
         "",
         {false, false, {{"bond", "3"}}}},
        {"bad-global-value",
         "global bound = 5 probe begin { print(bound) }",
         "expected a number",
         "",
         "",
         {false, false, {{"bound", "many"}}}},
        {"bad-global-value",
         "global a probe begin { a[1] = 2 print(a[1]) }",
         "only numbers and strings",
         "",
         "",
         {false, false, {{"a", "3"}}}},
        // types
        {"type-conflict", "probe begin { x = 1; x = \"a\"; print(x) }", "'x' is a string here", "",
         "it was used as a number here"},
        {"type-conflict", "function unused() { x = 1; x = \"a\" } probe begin { exit() }",
         "'x' is a string here", "", "it was used as a number here"},
        {"type-conflict",
         "function f:string() { return \"a\" } probe begin { x = f() + 1 print(x) }",
         "the value of 'f' is a number here", "strings are concatenated with '.'",
         "declared as a string here"},
        {"type-conflict", "global a probe begin { a[1] = 2; a[\"x\"] = 3; print(a[1]) }",
         "the key of 'a' is a string here", "", "it was used as a number here"},
        {"type-conflict",
         "function f() { if (pid()) return 1; return \"a\" } probe begin { print(f()) }",
         "the value returned by 'f' is a string here", "", "it was used as a number"},
        {"type-conflict", "global s probe begin { s = 1; s <<< 2; print(s) }",
         "'s' is a statistic here", "", "it was used as a number here"},
        {"type-conflict", "global c probe begin { c = pid() ? 1 : \"a\"; print(c) }",
         "the other value of ?: is a string here"},
        {"type-needed", "probe begin { print(1 + \"a\") }",
         "expected a number, but this is a string", "strings are concatenated with '.'"},
        {"type-needed", "probe begin { print(strlen(5)) }",
         "expected a string, but this is a number", "the parameter 's' is a string"},
        {"type-needed", "function f(x:long) { print(x) } probe begin { f(\"a\") }",
         "expected a number", "", "the parameter 'x' is a number"},
        {"type-needed", "probe begin { if (1 == \"a\") exit() }",
         "expected a number, but this is a string"},
        {"unresolved-type", "global total probe begin { total = 1 print(totl) print(total) }",
         "cannot infer the type of 'totl', which is never assigned", "did you mean 'total'?"},
        {"unresolved-type", "function f() { exit() } probe begin { print(f()) x = f() print(x) }",
         "cannot infer the type of the value of 'f'", "it returns no value"},
        {"unresolved-type", "function f(n) { return f(n + 1) } probe begin { print(f(1)) }",
         "cannot infer the type of the value of 'f'",
         "it returns only results of its own recursive calls; declare its type: function "
         "f:long(…)"},
        {"unresolved-type", "global a probe begin { if (5 in a) exit() }",
         "cannot infer the type of 'a'", "nothing is ever stored in it"},
        {"key-count", "global a probe begin { a[1] = 2; a[1, 2] = 3; print(a[1]) }",
         "'a' is used with 2 keys here", "", "it is used with 1 key here"},
        {"key-count", "global a probe begin { a[1] = 2; a = 3; print(a[1]) }",
         "'a' is used without a key here", "", "with 1 key here"},
        {"key-count", "global a[10] probe begin { a = 3; print(a) }", "without a key here", "",
         "as an array here"},
        {"missing-key", "global a probe begin { a[1, 2] = 5; print(a[1, *]) }",
         "'*' does not select a single element"},
        {"key-count", "global a probe begin { a[1] = 2; println(a[1, 2], a[1, 2, 3]) }",
         "'a' is used with 2 keys here", "", "it is used with 1 key here"},
        {"key-count", "global a% probe begin { println(a) }", "without a key here", "",
         "it is declared as an array here"},
        {"missing-key", "global a probe begin { a[1] = 2; println(a[*]) }",
         "'*' does not select a single element", "allowed in foreach, delete and 'in'"},
        {"key-count", "global s probe begin { s[1] <<< 1; s <<< 2; println(@count(s[1])) }",
         "'s' is used without a key here", "", "it is used with 1 key here"},
        {"key-count", "global s probe begin { s[1] <<< 1; println(@count(s)) }",
         "'s' is used without a key here", "", "it is used with 1 key here"},
        // statistics
        {"statistic-value", "global s probe begin { s <<< 1; print(s) }",
         "'s' is a statistic, not a single value", "@count(s)"},
        {"statistic-value", "global s probe begin { s[1] <<< 1; printf(\"%d\", s[1]) }",
         "'s[…]' is a statistic", "@count(s[…])"},
        {"statistic-value", "global s probe begin { x = s; s <<< 1; }", "'s' is a statistic"},
        {"not-a-statistic", "probe begin { x = 5; print(@count(x)) }", "@count requires a global"},
        {"not-a-statistic", "probe begin { print(@count(5)) }", "@count requires a global"},
        {"local-statistic", "probe begin { x <<< 5 }", "'x' is a local variable", "global x"},
        {"local-statistic", "probe begin { x = 1; x <<< 2 }", "'x' is a local variable",
         "global x"},
        {"statistic-value", "global a, s probe begin { s <<< 1; a[s] = 2; println(a[1]) }",
         "'s' is a statistic", "@count(s)"},
        {"not-a-statistic", "global count probe begin { count <<< 1; println(@sum(coutn)) }",
         "@sum requires a global", "did you mean 'count'?"},
        {"not-a-statistic",
         "global count probe begin { count <<< 1; coutn = 2; println(@sum(coutn)) }",
         "@sum requires a global", "did you mean 'count'?"},
        {"key-count", "global s probe begin { s <<< 1; println(@hist_log(s)[1, 2]) }",
         "'a histogram' is used with 2 keys", "has one key, the number of the bucket"},
        {"key-count", "global s probe begin { s <<< 1; println([1, 2] in @hist_log(s)) }",
         "'a histogram' is used with 2 keys", "has one key, the number of the bucket"},
        {"not-a-variable", "global s probe begin { s <<< 1; println(@count(s)[1]) }", "",
         "only histograms have buckets"},
        {"histogram-conflict",
         "global s probe begin { s <<< 1; print(@hist_log(s)); print(@hist_linear(s, 0, 9, 1)) }",
         "'s' is used as @hist_linear from 0 to 9 in steps of 1 here", "a second global",
         "it is used as @hist_log here"},
        {"histogram-conflict",
         "global s probe begin { s <<< 1; print(@hist_linear(s, 0, 9, 2)); print(@hist_linear(s, "
         "0, 9, 1)) }",
         "in steps of 1 here", "", "in steps of 2 here"},
        {"histogram-range", "global s probe begin { s <<< 1; print(@hist_linear(s, 9, 0, 1)) }",
         "the lower bound must be below"},
        {"histogram-range", "global s probe begin { s <<< 1; print(@hist_linear(s, 0, 9, 0)) }",
         "the width must be positive"},
        {"histogram-range",
         "global s probe begin { s <<< 1; print(@hist_linear(s, 0, 90000000, 1)) }",
         "more than 4096 buckets"},
        {"histogram-value", "global s probe begin { s <<< 1; x = @hist_log(s); print(x) }",
         "a histogram cannot be used as a value", "print it"},
        {"variance-conflict",
         "global s probe begin { s <<< 1; print(@variance(s, 2)); print(@variance(s, 3)) }",
         "a bit shift of 3 here", "", "it is 2 here"},
        {"variance-range", "global s probe begin { s <<< 1; print(@variance(s, 70)) }",
         "from 0 to 62"},
        // printing
        {"unknown-conversion", "probe begin { printf(\"%y\\n\", 1) }", "unknown conversion '%y'",
         "%d"},
        {"unknown-conversion", "probe begin { printf(\"%H\\n\", 1) }", "unknown conversion '%H'"},
        {"incomplete-conversion", "probe begin { printf(\"100%\") }", "the format ends within '%'",
         "%%"},
        {"bad-conversion", "probe begin { printf(\"%99999d\", 1) }", "at most 8192"},
        {"format-arguments", "probe begin { printf(\"%d %s\\n\", 1) }",
         "the format takes 2 arguments, but 1 is given", "'%s' has no argument"},
        {"format-arguments", "probe begin { printf(\"%d\\n\", 1, 2) }",
         "the format takes 1 argument, but 2 are given", "",
         "no conversion in the format uses this"},
        {"format-arguments", "probe begin { printf(\"%*d\\n\", 1) }", "takes 2 arguments"},
        {"format-type", "probe begin { printf(\"%s\\n\", 5) }",
         "'%s' takes a string, but this is a number", "a number is printed with %d"},
        {"format-type", "probe begin { x = \"a\"; printf(\"%-5d\\n\", x) }",
         "'%-5d' takes a number, but this is a string", "a string is printed with %s",
         "it became a string here"},
        // statements
        {"outside-loop", "probe begin { break }", "'break' is not inside a loop", "'next'"},
        {"outside-loop", "function f() { continue } probe begin { f() }",
         "'continue' is not inside", "'return'"},
        {"foreach-read-only", "global a probe begin { a[1] = 2; foreach (k in a) a[k] = 3 }",
         "'a' is modified while a foreach iterates over it", "", "the foreach begins here"},
        {"foreach-read-only", "global a probe begin { a[1] = 2; foreach (k in a) delete a[k] }",
         "'a' is modified"},
        {"foreach-read-only",
         "global a function f() { g() } function g() { a[1]++ } "
         "probe begin { a[1] = 2; foreach (k in a) f() }",
         "'a' is modified while", "", "'f' changes it"},
        {"foreach-read-only",
         "global a function f() { a[1] <<< 2 return 1 } "
         "probe begin { foreach (k in a limit f()) print(@count(a[k])) }",
         "'a' is modified while", "", "'f' changes it"},
        {"foreach-variable",
         "global a, k probe begin { a[1] = 2; k[1] = 3; foreach (k in a) print(1) }",
         "'k' is an array"},
        {"catch-variable",
         "global m[5] probe begin { m[1] = \"\"; try { print(m[1]) } catch (m) { exit() } }",
         "'m' is an array"},
        {"statistic-value", "global s probe begin { s[1] <<< 2; foreach (v = k in s) print(v) }",
         "'v' is a statistic", "@count(s[…])"},
        {"foreach-variable", "global a, k% probe begin { a[1] = 2; foreach (k in a) exit() }",
         "'k' is an array"},
        {"catch-variable", "global m% probe begin { try { exit() } catch (m) { exit() } }",
         "'m' is an array"},
        {"type-conflict", "global m = 1 probe begin { try { exit() } catch (m) { print(m) } }",
         "'m' is a string here", "", "it was used as a number here"},
        {"key-count",
         "global s probe begin { s <<< 1; foreach ([a, b] in @hist_log(s)) print(a, b) }",
         "'a histogram' is used with 2 keys here"},
        {"type-conflict",
         "global s probe begin { s <<< 1; foreach (v = b in @hist_log(s)) println(v . \"\") }",
         "'v' is a string here", "sprint(", "it was used as a number here"},
        {"type-conflict",
         "global s probe begin { s <<< 1; foreach (b in @hist_log(s)) println(b . \"\") }",
         "'b' is a string here", "sprint(", "it was used as a number here"},
        {"type-conflict",
         "global a probe begin { a[1] = \"x\"; foreach (v = k in a) println(v + 1) }",
         "'v' is a number here", "", "it was used as a string here"},
        {"type-conflict",
         "global a probe begin { a[1] = \"x\"; foreach (v = k in a) println(k . v) }",
         "'k' is a string here", "sprint(", "it was used as a number here"},
        {"type-conflict", "global a probe begin { a[1] = 2; foreach (k in a @sum-) println(k) }",
         "'a' is a statistic here", "", "it was used as a number here"},
        {"type-needed", "probe begin { if (\"a\") exit() }", "expected a number", "compare it"},
        {"type-needed", "probe begin { while (\"a\") exit() }", "expected a number"},
        {"type-needed", "probe begin { for (; \"a\";) exit() }", "expected a number"},
        {"type-needed", "probe begin { print(\"a\" ? 1 : 2) }", "expected a number"},
        {"type-needed", "probe begin { print(1 && \"a\") }", "expected a number"},
        {"type-needed", "probe begin { print(!\"a\") }", "expected a number"},
        {"type-needed", "probe begin if (\"a\") { exit() }", "expected a number"},
        {"type-conflict", "global s = \"a\" probe begin if (s) { exit() }", "'s' is a number"},
        {"condition-local", "global a probe begin if (a = 1) { exit() }", "has a side effect",
         "must not have side effects"},
        {"condition-local", "global a probe begin if (a++) { exit() }", "has a side effect"},
        {"condition-local", "global a probe begin if (3 > ++a) { exit() }", "has a side effect"},
        {"condition-local", "global a probe begin if (a <<< 1) { print(@count(a)) }",
         "has a side effect"},
        {"condition-local",
         "global a function f() { a = 2 return 1 } probe begin if (f()) { print(a) }",
         "does more than"},
        {"condition-local", "function f() { println(1) return 1 } probe begin if (f()) { exit() }",
         "does more than"},
        {"target-not-available", "probe procfs(\"x\").read { print($value) }", "is not available"},
        {"not-a-variable", "probe procfs(\"x\").write { $value = \"a\" }", "cannot be changed"},
        {"too-many-keys",
         "global a probe begin { a[1,2,3,4,5,6,7,8,9,0] = 1; println(a[1,2,3,4,5,6,7,8,9,0]) }",
         "'a' has 10 keys here; an array has at most 9"},
        {"too-many-keys", "global s probe begin { s[1,2,3,4,5,6,7,8,9,0] <<< 1 }", "has 10 keys"},
        {"too-many-keys",
         "global a probe begin { foreach ([b,c,d,e,f,g,h,i,j,k] in a) println(b) }", "has 10 keys"},
        {"too-many-keys", "global a probe begin { if ([1,2,3,4,5,6,7,8,9,0] in a) exit() }",
         "has 10 keys"},
        {"not-a-structure", "probe procfs(\"x\").write { print($value->x) }", "no members"},
        {"not-indexable", "probe procfs(\"x\").write { print($value[0]) }", "a string"},
        {"no-address", "probe procfs(\"x\").write { print(&$value) }", "'&' applies only"},
        {"never-assigned", "probe kernel.function(\"f\") { printf(\"%d\", count) }",
         "'count' is read here", "$count"},
        {"unknown-function", "probe kernel.function(\"f\") { println(str($x)) }", "'str'",
         "kernel_string(pointer)"},
        {"format-type", "probe kernel.function(\"f\") { printf(\"%s\", $name) }",
         "'%s' takes a string", "kernel_string(…)"},
        {"unknown-probe-point", "probe BEGIN { exit() }", "'BEGIN'", "probe begin"},
        // context
        {"target-in-function", "function f() { return $x } probe begin { print(f()) }",
         "'$x' is used in a function", "as an argument"},
        {"target-in-function", "function f() { return @var(\"v\") } probe begin { print(f()) }",
         "'@var' is used in a function", "@var(\"name@file\", \"kernel\")"},
        {"condition-local", "probe timer.s(1) if (@var(\"v\")) { exit() }",
         "'@var' in a probe's condition", "next"},
        {"no-address", "probe kernel.function(\"f\") { print(&$$vars) }", "'&' applies only"},
        {"not-indexable", "probe kernel.function(\"f\") { print($$vars[0]) }", "a string"},
        {"not-a-structure", "probe kernel.function(\"f\") { print($$vars->x) }", "no members"},
        {"target-write", "probe kernel.function(\"f\") { $x = 5 }",
         "'$x' belongs to the probed program", "-g"},
        {"entry-outside-return", "probe kernel.function(\"f\") { print(@entry(pid())) }",
         "allowed only in a return", ".return"},
        {"entry-local", "probe kernel.function(\"f\").return { x = 1; print(@entry(x)) }",
         "the local variable 'x'"},
        {"entry-local", "probe kernel.function(\"f\").return { println(@entry(x = 1)) }",
         "the local variable 'x'"},
        {"condition-local",
         "global on probe begin { on = 1 } probe timer.s(1) if (onn) { print(on) }",
         "'onn' in a probe's condition", "did you mean 'on'?"},
        {"condition-local", "probe kernel.function(\"f\") if ($x > 1) { exit() }",
         "'$x' in a probe's condition", "next"},
        {"intrinsic",
         "function f:long() %{ /* pure */ /* intrinsic */ %} probe begin { print(f()) }",
         "which only the library may do",
         "",
         "",
         {true, false, {}}},
        {"bad-regex", "probe begin { if (\"a\" =~ \"(a\") exit() }", "has a '(' without its ')'",
         "for the character itself"},
        {"enumerator-name", "probe begin { print(@enum(\"x\", 1)) }",
         "takes the name of an enumerator"},
        {"embedded-global",
         "function f() %{ /* pragma:read:m */ %} probe begin { f() }",
         "the C code's pragma names 'm', which is not a global variable",
         "",
         "",
         {true, false, {}}},
        {"histogram-sort",
         "global s probe begin { s <<< 1; foreach (v- = b in @hist_log(s)) print(v, b) }",
         "only in their own order", "foreach (bucket- in"},
        // unused code
        {"unused-function", "function f() { exit() } probe begin { exit() }",
         "'f' is never called"},
        {"unused-global", "global a probe begin { exit() }", "'a' is never used"},
        {"unused-local", "probe begin { x = 1; exit() }", "'x' is assigned but never read"},
        {"empty-probe", "probe begin { }", "this probe does nothing"},
        {"no-effect", "probe begin { 1 + 2; exit() }", "has no effect"},
        {"assignment-as-condition", "probe begin { if (a = 1) print(a); if ((a = 2)) print(a) }",
         "this condition is an assignment", "in its own parentheses"},
    };
    return list;
}

TEST(SemanticsDiagnostics, SayWhatWhereAndWhatToDo) {
    for (const Case& item : cases()) {
        Analysis analysis(item.script, item.options);
        const std::string text = analysis.errors();
        EXPECT_EQ(analysis.count(item.tag), 1u) << item.script << "\n" << text;
        const Diagnostic* found = nullptr;
        for (const Diagnostic& diagnostic : analysis.diagnostics.all())
            if (info(diagnostic.kind).tag == item.tag)
                found = &diagnostic;
        if (!found)
            continue;
        EXPECT_NE(found->message.find(item.message), std::string::npos) << item.script << "\n"
                                                                        << text;
        EXPECT_NE(found->hint_text.find(item.hint), std::string::npos) << item.script << "\n"
                                                                       << text;
        std::string notes;
        for (const DiagnosticNote& note : found->notes)
            notes += note.message + "\n";
        EXPECT_NE(notes.find(item.note), std::string::npos) << item.script << "\n" << text;
        const bool is_error = info(found->kind).severity == Severity::Error;
        EXPECT_EQ(analysis.diagnostics.error_count(), is_error ? 1u : 0u) << item.script << "\n"
                                                                          << text;
        EXPECT_EQ(analysis.program.has_value(), !is_error) << item.script << "\n" << text;
    }
}

TEST(SemanticsDiagnostics, AllAreCovered) {
    // Tested by hand below; guru-function and system-refused, which need a library, in
    // testsuite/language.
    std::set<std::string> covered = {"foreach-sort", "not-a-variable", "guru-function",
                                     "system-refused", "write-at-return"};
    for (const Case& item : cases())
        covered.insert(item.tag);
    static constexpr const char* tags[] = {
#define DIAGNOSTIC(Name, Tag, Level, Message) Tag,
#include "diagnostics/kinds/semantics.def"
#undef DIAGNOSTIC
    };
    for (const char* tag : tags)
        EXPECT_TRUE(covered.count(tag)) << tag << " has no test";
}

// The places of a function's parameters hold anything when it returns.
TEST(SemanticsDiagnostics, ParametersAreNotWrittenAtTheReturn) {
    SemanticsOptions options;
    options.guru = true;
    for (const char* statement :
         {"$x = 1", "$x++", "$x += 2", "$x->a = 1", "$x->a[pid()]++", "$x[0] = 3"}) {
        const std::string body = std::string("{ ") + statement + " }";
        const Analysis at_return("probe kernel.function(\"f\").return " + body, options);
        EXPECT_EQ(at_return.count("write-at-return"), 1u) << statement << at_return.errors();
        EXPECT_NE(at_return.errors().find("'$x' cannot be changed in a return probe"),
                  std::string::npos)
            << at_return.errors();
        const Analysis at_entry("probe kernel.function(\"f\") " + body, options);
        EXPECT_TRUE(at_entry.program) << statement << at_entry.errors();
    }
    const Analysis result(
        "probe kernel.function(\"f\").return { $return = 1; $return->a = 2; @var(\"v\") = 3 }",
        options);
    EXPECT_TRUE(result.program) << result.errors();
}

TEST(SemanticsDiagnostics, CaretIsAtTheMistake) {
    Analysis analysis("probe begin {\n    x = 1\n    x = \"a\"\n    print(x)\n}\n");
    const std::string text = analysis.errors();
    EXPECT_NE(text.find("input:3:9: error: 'x' is a string here"), std::string::npos) << text;
    EXPECT_NE(text.find("input:2:9"), std::string::npos) << text;
}

// A global that has a value at first has no keys.
TEST(SemanticsDiagnostics, NotesOfInitialValuesAreAtTheGlobal) {
    const Analysis analysis("global other\nglobal a = 1\nprobe begin {\n    a[2] = other++\n}\n");
    const std::string text = analysis.errors();
    EXPECT_EQ(analysis.count("key-count"), 1u) << text;
    EXPECT_NE(text.find("input:4:5: error: 'a' is used with 1 key here"), std::string::npos)
        << text;
    EXPECT_NE(text.find("input:2:8: note: it is used without a key here"), std::string::npos)
        << text;
}

TEST(SemanticsDiagnostics, SeveralMistakesAreAllReported) {
    Analysis analysis(
        "probe begin { prnt(1) }\nprobe end { printf(\"%d\") }\nfunction f() { return $x }");
    EXPECT_EQ(analysis.diagnostics.error_count(), 3u) << analysis.errors();
    const Analysis within("probe begin { nowhere[prnt(1)] = 2 }");
    EXPECT_EQ(within.count("unknown-array"), 1u) << within.errors();
    EXPECT_EQ(within.count("unknown-function"), 1u) << within.errors();
    // Arguments are read, whatever becomes of the call: x is used.
    const Analysis called("probe begin { x = 1; prnt(pidd(), x); pid(1, tidd(), x) }");
    EXPECT_EQ(called.count("unknown-function"), 3u) << called.errors();
    EXPECT_EQ(called.count("argument-count"), 1u) << called.errors();
    EXPECT_EQ(called.diagnostics.all().size(), 4u) << called.errors();
}

TEST(SemanticsDiagnostics, LibraryCodeGivesNoWarnings) {
    Analysis analysis("probe mine { exit() }", {},
                      "probe mine = begin { unused = 1 }\nfunction never_called() { 1 }");
    EXPECT_TRUE(analysis.program) << analysis.errors();
    EXPECT_TRUE(analysis.diagnostics.all().empty()) << analysis.errors();
}

// Trees that no script can produce, because the parser rejects it first.
struct ByHand {
    std::string errors(ast::StatementPtr statement) {
        ast::Global global;
        global.name = "a";
        global.range = range;
        file.globals.push_back(std::move(global));
        ast::Probe probe;
        probe.range = range;
        probe.points.emplace_back();
        probe.points.back().range = range;
        probe.points.back().components.emplace_back();
        probe.points.back().components.back().name = "begin";
        probe.body = std::make_unique<ast::Block>(range);
        probe.body->statements.push_back(std::move(statement));
        file.source = range.file;
        file.probes.push_back(std::move(probe));
        Folder folder;
        auto library = Library::open({}, sources, {}, diagnostics);
        EXPECT_FALSE(analyze(std::move(file), *library, {.points = probe_shapes()}, diagnostics));
        EXPECT_EQ(diagnostics.error_count(), 1u) << render_all(diagnostics);
        return diagnostics.all().front().message;
    }
    SourceManager sources;
    SourceRange range{sources.add("input", "global a probe begin { }"), 0, 6, 0};
    Diagnostics diagnostics{sources};
    ast::File file;
};

TEST(SemanticsDiagnostics, SortKeyThatIsNotThere) {
    ByHand tree;
    auto loop = std::make_unique<ast::Foreach>(tree.range);
    loop->keys = {"k"};
    loop->key_ranges = {tree.range};
    auto array = std::make_unique<ast::Identifier>(tree.range);
    array->name = "a";
    loop->array = std::move(array);
    loop->sort_key = 2;
    loop->sort_range = tree.range;
    loop->body = std::make_unique<ast::Block>(tree.range);
    EXPECT_EQ(tree.errors(std::move(loop)), "cannot sort by key number 2: the loop has 1 key");
}

TEST(SemanticsDiagnostics, WhatIsNoVariableIsNotAssigned) {
    ByHand tree;
    auto assignment = std::make_unique<ast::Assignment>(tree.range);
    assignment->place = std::make_unique<ast::NumberLiteral>(tree.range);
    assignment->value = std::make_unique<ast::NumberLiteral>(tree.range);
    auto statement = std::make_unique<ast::ExpressionStatement>(tree.range);
    statement->expression = std::move(assignment);
    EXPECT_EQ(tree.errors(std::move(statement)), "this is not a variable and cannot be changed");
}

} // namespace
