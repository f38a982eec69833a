// SPDX-License-Identifier: GPL-2.0-or-later
// The memory that a context has for strings while a handler runs: as much as is in use at the same
// time, where most is, in any of its functions.
#include "kernel_handlers.h"
#include "loaded_tables.h"

#include <memory>

namespace djstap {
namespace {

constexpr int64_t string_bytes = 256;

// The bytes for handlers with these statements.
int64_t scratch(const std::vector<std::string>& handlers, int64_t nesting = 0) {
    std::string text = "global s, t, n\n"
                       "function f:string(a:string) { return a . \"x\" }\n"
                       "function g:string(a:string) { return f(a) }\n"
                       "function r:string(a:string, i) { if (i <= 0) return a; "
                       "return r(a . \"x\", i - 1) }\n"
                       "probe timer.s(9) { s = sprintf(\"%d\", n); n = get_cycles(); t = \"t\" }\n"
                       "probe begin { if (s == t) exit() }\n";
    for (const std::string& each : handlers)
        text += "probe timer.s(1) { " + each + " }\n";
    test::KernelScript script;
    script.options.limits.MAXSTRINGLEN = string_bytes;
    script.options.limits.MAXNESTING = nesting;
    script.options.optimization = 1;
    int64_t bytes = 0;
    script.options.plant = [&bytes](llvm::Module& module) {
        bytes = LoadedTables(module)->scratch_bytes;
    };
    script.compile(text);
    EXPECT_EQ(bytes % 8, 0);
    return bytes;
}

} // namespace

TEST(ScratchMemory, IsFreeAgainAfterAStatement) {
    const int64_t once = scratch({"println(f(s))"});
    EXPECT_GE(once, 2 * string_bytes); // the argument's copy and the result
    EXPECT_EQ(scratch({"println(f(s)); println(f(s))"}), once);
    EXPECT_EQ(scratch({"if (n) println(f(s)); else println(f(t))"}), once);
    EXPECT_EQ(scratch({"println(f(s))", "println(f(s))"}), once);
    EXPECT_EQ(scratch({"println(n)", "println(f(s))"}), once);
    // A variable stays.
    EXPECT_EQ(scratch({"v = s . t; println(f(s), v)"}), scratch({"println(f(s))"}) + string_bytes);
}

TEST(ScratchMemory, HoldsWhatIsNeededTogether) {
    const int64_t once = scratch({"println(f(s))"});
    EXPECT_EQ(scratch({"println(f(s), f(t))"}), once + 2 * string_bytes)
        << "the first result, and a copy of the second variable";
    EXPECT_EQ(scratch({"println(f(f(s)))"}), once + string_bytes);
    EXPECT_EQ(scratch({"println(f(f(f(s))))"}), once + 2 * string_bytes);
}

TEST(ScratchMemory, IsThatOfTheDeepestCall) {
    const int64_t once = scratch({"println(f(s))"});
    EXPECT_EQ(scratch({"println(g(s))"}), once + string_bytes);
    EXPECT_EQ(scratch({"println(g(s)); println(f(s))"}), once + string_bytes);
    EXPECT_EQ(scratch({"println(f(s)); println(g(s))"}), once + string_bytes);
    // Functions that call themselves are nested as far as they may be.
    const int64_t one = scratch({"println(r(s, n))"}, 1), two = scratch({"println(r(s, n))"}, 2),
                  five = scratch({"println(r(s, n))"}, 5);
    EXPECT_GE(two - one, string_bytes);
    EXPECT_EQ(five - one, 4 * (two - one));
}

// A call writes its result to the variable that gets it, unless a catch could see half of it.
TEST(ScratchMemory, ResultsAreWrittenToVariables) {
    const int64_t once = scratch({"println(f(s))"});
    EXPECT_EQ(scratch({"v = f(s); println(v)"}), once);
    EXPECT_EQ(scratch({"try { v = f(s) } catch { n = 1 } println(v)"}), once + string_bytes);
}

// A variable that is set once, to a literal, before anything reads it, is the literal.
TEST(ScratchMemory, LiteralsTakeNone) {
    const int64_t none = scratch({"println(f(s), \"x\")"});
    EXPECT_EQ(scratch({"v = \"x\"; println(f(s), v)"}), none);
    EXPECT_EQ(scratch({"v = \"x\"; { w = \"y\"; println(f(s), v, w) }"}), none);
    for (const std::string statements :
         {"v = \"x\"; v = \"y\";", "v = \"x\"; v .= \"y\";", "if (n) v = \"x\";",
          "println(v); v = \"x\";", "v = \"x\"; try { error(s) } catch (v) { n = 1 }"})
        EXPECT_EQ(scratch({statements + " println(f(s), v)"}), none + string_bytes) << statements;
}

} // namespace djstap
