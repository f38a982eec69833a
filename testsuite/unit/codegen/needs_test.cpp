// SPDX-License-Identifier: GPL-2.0-or-later
// What handlers in a kernel need of their environment: a context only where they cannot do without,
// because it takes most of a short handler's time. --explain tells it.
#include "kernel_handlers.h"

#include "include/record.h"

#include <set>

namespace djstap {
namespace {

using test::kernel_offsets;
using test::KernelScript;

struct Case {
    std::string statement, need;
};

// All statements are handlers of one script, so that its globals have one storage each.
void expect_needs(const std::string& declared, const std::vector<Case>& cases,
                  KernelScript script = {}) {
    std::string text;
    for (const Case& each : cases)
        text += "probe timer.s(1) { " + each.statement + " }\n";
    const auto found = script.needs(text + declared);
    ASSERT_GE(found.size(), cases.size());
    for (size_t i = 0; i < cases.size(); i++)
        EXPECT_EQ(found[i], cases[i].need) << cases[i].statement;
}

TEST(Needs, OfNumbers) {
    expect_needs("global c, n = 1, k = 5\nprobe end { println(c, n, k) }",
                 {{"c++", "nothing"},
                  {"c--", "nothing"},
                  {"c += 5", "nothing"},
                  {"c -= k", "nothing"},
                  {"next", "nothing"},
                  {"x = 5; y = x; c += x + y", "nothing"},
                  {"c += -k + ~k + !k + (k == 3) + (k && k < 9) + (k || k)", "nothing"},
                  {"if (k) c++; else c--", "nothing"},
                  {"{ c++; { c += 2 } }", "nothing"},
                  {"c += 7 / 2 + k % 3", "nothing"},
                  {"n++", "locks"},
                  {"n = 3", "locks"},
                  {"n *= 3", "locks"},
                  {"c += n", "locks"},
                  {"c += -n", "locks"},
                  {"c += n + k", "locks"},
                  {"c += k + n", "locks"},
                  {"c += n == k", "locks"},
                  {"c += k < n", "locks"},
                  {"c += n && k", "locks"},
                  {"c += k || n", "locks"},
                  {"if (n) c++", "locks"},
                  {"if (k) c++; else n++", "locks"},
                  {"if (k) n++; else c++", "locks"},
                  {"c++; n++", "locks"},
                  {"{ n++; c++ }", "locks"},
                  {"n /= 7", "locks"},
                  {"n %= 7", "locks"},
                  {"x = n; c += x", "locks"},
                  // What may fail, or repeats.
                  {"n /= k", "context"},
                  {"n %= c", "context"},
                  {"n /= 0", "context"},
                  {"c += 7 % n", "context"},
                  {"c += 7 / 0", "context"},
                  {"c += n ? 1 : 2", "context"},
                  {"for (i = 0; i < 3; i++) c++", "context"},
                  {"while (n < k) n++", "context"},
                  {"try { c++ } catch { }", "context"},
                  {"delete n", "context"},
                  {"println(c)", "context"}, // the sum of all CPUs
                  {"c += (n = 3)", "context"}});
}

TEST(Needs, OfTextsAndStatistics) {
    expect_needs("global c, t, s, v, w, k = 3, n = 1\n"
                 "probe end { println(c, t, @sum(s), @variance(v), @sum(w)) }\n"
                 "probe timer.s(2) { n = 5; w <<< n; println(@count(w)) }",
                 {{"s <<< k", "nothing"},
                  {"s <<< n", "locks"},
                  {"v <<< k", "context"}, // squares of 128 bits
                  {"t = \"text\"", "context"},
                  {"c += strlen(t)", "context"},
                  {"c += t == \"x\"", "context"},
                  {"c += @count(s)", "context"}});
}

TEST(Needs, OfArrays) {
    expect_needs(
        "global a, b, p, texts, s, t, c, n, k = 3\n"
        "probe end { foreach (i in a) println(i, b[\"x\"], p[i, \"y\"], texts[i], @sum(s[i])); "
        "println(c) }\n"
        "probe timer.s(2) { n = 5; t = sprintf(\"%d\", n) }",
        {{"a[1]++", "locks"},
         {"a[n] = k", "locks"},
         {"a[k] += a[2]", "locks"},
         {"c += a[1]", "locks"},
         {"c += k in a", "locks"},
         {"s[k] <<< n", "locks"},
         {"b[\"read\"]++", "locks"},
         {"c += \"read\" in b", "locks"},
         {"p[k, \"read\"] = 1", "locks"},
         {"delete a[k]", "locks"},
         {"delete b[\"x\"]", "locks"},
         {"delete p[k, \"x\"]", "locks"},
         {"a[a[1]]++", "locks"},
         {"a[c]++", "context"},
         {"a[n / k]++", "context"},
         {"a[1] /= k", "context"},
         {"b[t]++", "context"},
         {"b[sprintf(\"%d\", k)]++", "context"},
         {"p[k, t]++", "context"},
         {"p[c, \"x\"]++", "context"},
         {"c += [k, *] in p", "context"},
         {"c += [k, t] in p", "context"},
         {"delete a", "context"},
         {"delete p[*, \"x\"]", "context"},
         {"delete p[k, t]", "context"},
         {"texts[1] = \"x\"", "context"},
         {"c += strlen(texts[1])", "context"},
         {"foreach (i in a) c++", "context"}});
}

// A name, a function's name where all sites have one, and short texts of the process are as good as
// literals.
TEST(Needs, OfTextsThatHandlersFind) {
    const std::string declared =
        "global b, p, c, k = 4096\nprobe end { println(b[\"x\"], p[1, \"y\"], c) }";
    expect_needs(declared, {{"b[execname()]++", "locks"},
                            {"p[k, execname()] = 1", "locks"},
                            {"c += execname() in b", "locks"},
                            {"delete b[execname()]", "locks"},
                            {"b[user_string_n(k, 1)]++", "guarded"},
                            {"b[user_string_n(k, 32)]++", "guarded"},
                            {"p[k, user_string_n(k, 8)]++", "guarded"},
                            {"b[user_string_n(k, 33)]++", "context"},
                            {"b[user_string_n(k, 0)]++", "context"},
                            {"b[user_string_n(k, k)]++", "context"},
                            {"b[user_string_n(c, 8)]++", "context"},
                            {"b[user_string(k)]++", "context"},
                            {"b[kernel_string_n(k, 8)]++", "context"},
                            {"b[probefunc()]++", "context"}, // a timer has none
                            {"c += strlen(execname())", "context"}});
    const std::string by_function = "global b\nprobe end { println(b[\"x\"]) }";
    for (const char* const function : {"probefunc", "ppfunc"}) {
        const std::string counted = std::string("b[") + function + "()]++";
        KernelScript of_function;
        of_function.change = [](ProbePlan& plan) { plan.sites[0].function = "f"; };
        EXPECT_EQ(of_function.need(counted, by_function), "locks") << function;
        of_function.change = [](ProbePlan& plan) {
            plan.sites[0].function = "f";
            plan.sites.push_back(plan.sites[0]);
        };
        EXPECT_EQ(of_function.need(counted, by_function), "locks") << function;
        of_function.change = [](ProbePlan& plan) {
            plan.sites[0].function = "f";
            plan.sites.push_back(plan.sites[0]);
            plan.sites.back().function = "g";
        };
        EXPECT_EQ(of_function.need(counted, by_function), "context") << function;
        of_function.change = [](ProbePlan& plan) {
            plan.sites.push_back(plan.sites[0]);
            plan.sites.back().function = "g";
        };
        EXPECT_EQ(of_function.need(counted, by_function), "context") << function;
    }
    KernelScript longer;
    longer.offsets["task_comm_len"].second = 32;
    EXPECT_EQ(longer.need("b[execname()]++", by_function), "context");
    KernelScript shorter;
    shorter.options.limits.MAXSTRINGLEN = 16; // with the name's end
    EXPECT_EQ(shorter.need("b[execname()]++", by_function), "locks");
}

TEST(Needs, OfPrints) {
    const std::string declared = "global c, n, k = 3, a\nprobe end { println(c, n, a[1]) }\n"
                                 "probe timer.s(2) { n = 5; a[2] = 1 }";
    expect_needs(declared, {{"println(k)", "record"},
                            {"printf(\"%d of %d\\n\", k, 7)", "record"},
                            {"println(pid(), execname())", "record"},
                            {"println(n)", "locks"},
                            {"println(a[k])", "locks"},
                            {"println(k); n++", "locks"},
                            {"if (n) println(k)", "locks"},
                            {"println(gettimeofday_ns())", "guarded"},
                            {"println(c)", "context"},
                            {"println(k / n)", "context"},
                            {"println(user_string(k))", "context"},
                            {"c += strlen(sprintf(\"%d\", k))", "context"}});
}

TEST(Needs, OfMemory) {
    expect_needs("global c, n, k = 4096\nprobe end { println(c, n) }\nprobe timer.s(2) { n = 5 }",
                 {{"c += @kderef(4, k)", "nothing"},
                  {"c += @uderef(8, k)", "nothing"},
                  {"c += @uderef(8, @kderef(8, k))", "nothing"},
                  {"c += @kderef(4, n)", "guarded"},
                  {"n = @uderef(4, k)", "guarded"},
                  {"c += kernel_int(k)", "context"},
                  {"c += user_int(k)", "nothing"},
                  {"c += user_int(n)", "guarded"},
                  {"c += user_long(k)", "context"}});
}

// Clocks call functions of the kernel that may be probed, or read its memory while nothing
// interrupts.
TEST(Needs, OfClocks) {
    expect_needs("global c, n, a\nprobe end { println(c, n, a[1]) }\nprobe timer.s(2) { n = 5 }",
                 {{"c += gettimeofday_ns()", "guarded"},
                  {"c += ktime_get_ns()", "guarded"},
                  {"c += local_clock_ns()", "guarded"},
                  {"c += gettimeofday_us()", "guarded"},
                  {"if (local_clock_us() > 3) n++", "guarded"},
                  {"a[gettimeofday_s()]++", "guarded"},
                  {"n = get_cycles()", "locks"}});
    KernelScript unknown;
    unknown.offsets.erase("djs_cpu.locked_alone");
    for (const char* const clock : {"gettimeofday_ns", "ktime_get_ns", "local_clock_ns"})
        EXPECT_EQ(unknown.need(std::string("c += ") + clock + "()"), "context") << clock;
}

// What the kernel does not tell needs a call.
TEST(Needs, OfWhatAKernelDoesNotTell) {
    struct Asked {
        std::string statement, need;
        std::set<std::string> offsets;
    };
    const std::string read = "preempt_mask_interrupt", count = "preempt_count",
                      task = "current_task";
    const std::set<std::string> ring{count,           "preempt_count_bytes", "djs_cpu.head",
                                     "djs_cpu.limit", "djs_cpu.data",        "djs_cpu.mask"};
    const std::set<std::string> process{count, read, task, "task_struct.mm",
                                        "task_struct.pagefault_disabled"};
    const auto both = [](std::set<std::string> some, const std::set<std::string>& more) {
        some.insert(more.begin(), more.end());
        return some;
    };
    const std::set<std::string> name{"task_comm_len", task, "task_struct.comm"};
    const std::vector<Asked> all{
        {"c += target()", "nothing", {}},
        {"c += stp_pid()", "nothing", {}},
        {"c += cpu()", "nothing", {"cpu_number"}},
        {"c += task_current()", "nothing", {task}},
        {"c += pid()", "nothing", {task, "task_struct.tgid"}},
        {"c += tid()", "nothing", {task, "task_struct.pid"}},
        {"c += uid()", "nothing", {task, "task_struct.cred", "cred.uid"}},
        {"c += euid()", "nothing", {task, "task_struct.cred", "cred.euid"}},
        {"c += gid()", "nothing", {task, "task_struct.cred", "cred.gid"}},
        {"c += egid()", "nothing", {task, "task_struct.cred", "cred.egid"}},
        {"c += ppid()", "record",
         both(ring, {read, task, "task_struct.real_parent", "task_struct.tgid"})},
        {"println(1 + one)", "record", ring},
        {"println(execname())", "record", both(ring, name)},
        {"names[execname()]++", "locks", name},
        {"c += @kderef(4, one)", "nothing", {count, read}},
        {"c += @uderef(4, one)", "nothing", process},
        {"c += user_int(one)", "nothing", process},
        {"names[user_string_n(one, 9)]++", "guarded", process},
        {"c += ktime_get_ns()", "guarded", {"djs_cpu.locked_alone"}},
    };
    std::string text;
    for (const Asked& each : all)
        text += "probe timer.s(1) { " + each.statement + " }\n";
    text += "global c, one = 1, names\nprobe end { println(c, names[\"x\"]) }";
    test::Analysis analysis(text, {.guru = true});
    for (const auto& [offset, where] : kernel_offsets()) {
        KernelScript script;
        script.options.optimization = 1;
        script.offsets.erase(offset);
        const auto found = script.needs(analysis);
        ASSERT_EQ(found.size(), all.size() + 1);
        for (size_t i = 0; i < all.size(); i++)
            EXPECT_EQ(found[i], all[i].offsets.count(offset) ? "context" : all[i].need)
                << all[i].statement << " without " << offset;
    }
    KernelScript nothing;
    nothing.offsets.clear();
    const auto found = nothing.needs(analysis);
    for (size_t i = 0; i < all.size(); i++)
        EXPECT_EQ(found.at(i), i < 2 ? "nothing" : "context") << all[i].statement;
}

TEST(Needs, OfFieldsOfEvents) {
    const auto need = [](uint32_t fields, const char* unknown) {
        KernelScript script;
        script.options.event_fields = fields;
        script.offsets.erase(unknown);
        return script.need("println(k)", "global k = 3");
    };
    for (const auto& [field, offset] :
         {std::pair{DJS_EVENT_PID, "task_struct.tgid"}, {DJS_EVENT_TID, "task_struct.pid"}}) {
        EXPECT_EQ(need(field, "cred.uid"), "record");
        EXPECT_EQ(need(field, offset), "context");
        EXPECT_EQ(need(0, offset), "record");
    }
    EXPECT_EQ(need(DJS_EVENT_PID, "task_struct.pid"), "record");
    EXPECT_EQ(need(DJS_EVENT_TID, "task_struct.tgid"), "record");
}

// What each of these functions makes of a handler that calls it as f(4096), or as f().
void expect_needs_of_calls(const std::vector<Case>& functions) {
    std::vector<Case> calls;
    std::string declared = "global c, n\nprobe timer.s(2) { n = c }\n"
                           "function five() { return 5 }\n";
    for (size_t i = 0; i < functions.size(); i++) {
        const std::string& function = functions[i].statement;
        const std::string name = "f" + std::to_string(i);
        declared += "function " + name + function + "\n";
        calls.push_back(
            {"c += " + name + (function.starts_with("()") ? "()" : "(4096)"), functions[i].need});
    }
    KernelScript script;
    script.options.optimization = 1;
    expect_needs(declared, calls, script);
}

// A function that only computes with numbers and what a handler finds itself is no call.
TEST(Needs, OfFunctionsThatOnlyCompute) {
    expect_needs_of_calls({{"() { return 3 }", "nothing"},
                           {"() { return (pid() << 32) + tid() }", "nothing"},
                           {"() { return gettimeofday_ns() / 60 }", "guarded"},
                           {"() { return n }", "context"},
                           {"() { return 1 + n }", "context"},
                           {"() { return n + 1 }", "context"},
                           {"() { return -pid() }", "context"},
                           {"() { x = 3; return x }", "context"},
                           {"() { c++; return 3 }", "context"},
                           {"() { if (pid()) return 3; return 4 }", "context"},
                           {"() { return five() + 1 }", "context"},
                           {"() { return strlen(\"x\") }", "context"}});
}

// A function that reads the process's memory, or else yields a number, is no call either.
TEST(Needs, OfFunctionsThatOnlyRead) {
    expect_needs_of_calls({
        {"(a) { try { return @uderef(4, a) } catch { return 7 } }", "nothing"},
        {"(a) { try { { return @uderef(4, a) } } catch { { return 7 } } }", "nothing"},
        {"(a) { try { return (@uderef(4, a) << 32) >> 32 } catch { return 7 } }", "nothing"},
        {"(a) { try { return @uderef(4, a) / 3 } catch { return 7 } }", "nothing"},
        {"(a) { try { return @uderef(4, a) / 0 } catch { return 7 } }", "context"},
        {"(a) { try { return @kderef(4, a) } catch { return 7 } }", "context"},
        {"(a) { try { return 1 + @uderef(4, a) } catch { return 7 } }", "context"},
        {"(a) { try { return @uderef(4, a) + n } catch { return 7 } }", "context"},
        {"(a) { try { return @uderef(4, a + 1) } catch { return 7 } }", "context"},
        {"(a) { try { return @uderef(4, 4096) } catch { return 7 } }", "context"},
        {"(a) { try { return @uderef(4, a) } catch { return n } }", "context"},
        {"(a) { try { return @uderef(4, a) } catch { c++; return 7 } }", "context"},
        {"(a) { try { c++; return @uderef(4, a) } catch { return 7 } }", "context"},
        {"(a) { try { return @uderef(4, a) } catch { c++ } }", "context"},
        {"(a) { try { c++ } catch { return 7 } }", "context"},
        {"(a) { try { return @uderef(4, a) } catch { return 7 } return 8 }", "context"},
        {"(a) { x = a; try { return @uderef(4, x) } catch { return 7 } }", "context"},
        {"(a) { try { return @uderef(4, a) } catch (e) { return 7 } }", "context"},
        {"(a) { return @uderef(4, a) }", "context"},
        {"(a) { try { return a } catch { return 7 } }", "context"},
    });
    KernelScript two;
    EXPECT_EQ(two.need("c += f(4096, 3)",
                       "global c\n"
                       "function f(a, b) { try { return @uderef(4, a) } catch { return 7 } }"),
              "context");
    EXPECT_EQ(two.need("c += f(\"x\")",
                       "global c\n"
                       "function f(a:string) { try { return @uderef(4, 0) } catch { return 7 } }"),
              "context");
}

// What is said of symbols, where they are looked up.
TEST(Needs, OfSymbolsAreExplained) {
    const auto tells = [](const std::string& statement) {
        KernelScript script;
        script.options.explain = true;
        const auto object = script.compile("probe timer.s(1) { " + statement + " }");
        return object && object->explanation.back().starts_with("symbols: looked up once");
    };
    EXPECT_TRUE(tells("println(symname(4096))"));
    EXPECT_FALSE(tells("println(4096)"));
}

// These handlers need the context for more than their statements: the guard against themselves, or
// the comparison of conditions.
TEST(Needs, OfHandlersThatOthersDependOn) {
    KernelScript script;
    EXPECT_EQ(script.need("c++"), "nothing");
    script.change = [](ProbePlan& plan) { plan.variants[0].faults_again = true; };
    EXPECT_EQ(script.need("c++"), "context");
    EXPECT_EQ(KernelScript().need("c++", "global c, n\nprobe timer.s(2) if (n > 3) { c++ }\n"
                                         "probe timer.s(3) { n = 7 }"),
              "nothing");
    const auto all = KernelScript().needs("global c, n\nprobe timer.s(1) { n = 7 }\n"
                                          "probe timer.s(2) if (n > 3) { c++ }\n"
                                          "probe end { println(c, n) }");
    EXPECT_EQ(all, (std::vector<std::string>{"context", "locks", "alone"}));
    for (const HandlerForms forms : {HandlerForms::Context, HandlerForms::Separate}) {
        KernelScript forced;
        forced.options.forms = forms;
        EXPECT_EQ(forced.need("c++"), "context");
    }
}

} // namespace
} // namespace djstap
