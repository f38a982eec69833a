// SPDX-License-Identifier: GPL-2.0-or-later
// What is said of points that do not exist, and what a listing has of those that do.
#include "unit/probes/whole_kernel.h"

#include "include/script.h"

namespace djstap::whole {
namespace {

TEST(WrittenPoints, TheFirstWrongComponentIsNamed) {
    const std::string unknown = "unknown probe point component ";
    EXPECT_EQ(said("kernel.functon(\"f\")"), unknown + "'functon'; did you mean 'function'?");
    EXPECT_EQ(said("kernel.function(\"f\").cal"), unknown + "'cal'; did you mean 'call'?");
    EXPECT_EQ(said("kernel.tracepoint(\"f\")"), unknown + "'tracepoint'; did you mean 'trace'?");
    EXPECT_EQ(said("kernel.trace(5)"), unknown + "'trace'; write it as trace(STRING)");
    EXPECT_EQ(said("timer.s"), unknown + "'s'; write it as s(NUMBER)");
    EXPECT_EQ(said("kernel.function"),
              unknown + "'function'; write it as function(STRING) or function(NUMBER)");
    EXPECT_EQ(said("begin(\"x\")"), unknown + "'begin'; write it as begin or begin(NUMBER)");
    EXPECT_EQ(said("kernel.function(\"six\").return.maxactive(\"x\")"),
              unknown + "'maxactive'; write it as maxactive(NUMBER)");
    EXPECT_EQ(said("kernel.function(\"six\").label(\"x\").call"),
              unknown + "'call'; nothing can follow .label");
    EXPECT_EQ(said("timer.ms(3).randomize(1).randomize(1)"),
              unknown + "'randomize'; nothing can follow .randomize");
}

TEST(WrittenPoints, ThatEndTooEarlyAreContinued) {
    const std::string said_of_timer = said("timer");
    EXPECT_TRUE(
        said_of_timer.starts_with("the probe point timer is incomplete; one of these can follow: "))
        << said_of_timer;
    for (const char* next : {"hz(NUMBER)", "ms(NUMBER)", "profile", "jiffies(NUMBER)"})
        EXPECT_EQ(said_of_timer.find(next), said_of_timer.rfind(next)) << next;
    EXPECT_EQ(said("netfilter.hook(\"x\")"),
              "the probe point netfilter.hook(\"x\") is incomplete; one of these can follow: "
              "pf(STRING)");
    EXPECT_EQ(said("kernel.data(\"shared\")"),
              "the probe point kernel.data(\"shared\") is incomplete; one of these can follow: "
              "write, rw, length(NUMBER)");
}

TEST(WrittenPoints, OfSystemTapThatAreNotThere) {
    const std::string list = "; djstap --dump-probe-types lists the probe points",
                      not_yet = " are not supported yet";
    EXPECT_EQ(said("java(\"x\").class(\"y\")"),
              "probe points of the kind java(STRING)" + not_yet + list);
    EXPECT_EQ(said("python2.module(\"x\")"), "probe points of the kind python2" + not_yet + list);
    const std::string each = "; it would stop the program at each of its instructions; .statement "
                             "and .function probe places in it";
    EXPECT_EQ(said("process(\"/bin/sh\").insn"),
              "probe points of the kind process(STRING).insn" + not_yet + each);
    EXPECT_EQ(said("process.insn.block"), "probe points of the kind process.insn" + not_yet + each);
    EXPECT_EQ(said("process.itrace"), "probe points of the kind process.itrace" + not_yet + each);
}

TEST(WrittenPoints, BracesStandForNotTooManyPatterns) {
    std::string braces = "{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}";
    EXPECT_NE(said("kernel.function(\"" + braces + "\")").find("its braces stand for more than "),
              std::string::npos)
        << said("kernel.function(\"" + braces + "\")");
    EXPECT_NE(said("kernel.function(\"f\").label(\"" + braces + "\")").find("its braces stand"),
              std::string::npos);
}

TEST(SessionPoints, HaveAPriorityOf32Bits) {
    for (const auto& [point, priority] :
         {std::pair("begin", int64_t{0}), std::pair("begin(5)", int64_t{5}),
          std::pair("end(-5)", int64_t{-5}), std::pair("begin(2147483647)", int64_t{INT32_MAX}),
          std::pair("begin(2147483648)", int64_t{INT32_MAX}),
          std::pair("end(-2147483648)", int64_t{INT32_MIN}),
          std::pair("error(-2147483649)", int64_t{INT32_MIN})}) {
        const Planned planned(std::string("probe ") + point + " { println(1) }");
        ASSERT_TRUE(planned.plan) << planned.errors();
        const auto* order = std::get_if<SessionOrder>(&planned.plan->variants.at(0).payload);
        ASSERT_TRUE(order);
        EXPECT_EQ(order->priority, priority) << point;
    }
    const auto kind = [](const std::string& point) {
        return Planned("probe " + point + " { println(1) }").plan->variants.at(0).kind;
    };
    EXPECT_EQ(kind("begin"), HandlerKind::Begin);
    EXPECT_EQ(kind("oneshot"), HandlerKind::Begin);
    EXPECT_EQ(kind("end"), HandlerKind::End);
    EXPECT_EQ(kind("error"), HandlerKind::Error);
    EXPECT_EQ(kind("timer.s(1)"), HandlerKind::Timer);
    EXPECT_EQ(kind("perf.type(0).config(1)"), HandlerKind::Timer);
    EXPECT_EQ(kind("procfs.read"), HandlerKind::Entry);
    EXPECT_EQ(kind("netfilter.hook(\"0\").pf(\"2\")"), HandlerKind::Entry);
}

// The kernel emits a warning if it is asked for a hook or a family that it lacks.
TEST(PacketHooks, AreThoseThatTheFamilyHas) {
    const auto errors = [](const std::string& hook, const std::string& family) {
        const Planned planned("probe netfilter.hook(\"" + hook + "\").pf(\"" + family +
                              "\") { println(1) }");
        return planned.plan ? "fine" : planned.errors();
    };
    for (const char* family : {"NFPROTO_INET", "NFPROTO_IPV4", "NFPROTO_IPV6", "NFPROTO_BRIDGE"}) {
        EXPECT_EQ(errors("0", family), "fine") << family;
        EXPECT_EQ(errors("4", family), "fine") << family;
        EXPECT_NE(errors("5", family).find("has no such hook"), std::string::npos) << family;
    }
    EXPECT_EQ(errors("NF_ARP_FORWARD", "NFPROTO_ARP"), "fine");
    EXPECT_NE(errors("NF_INET_LOCAL_OUT", "NFPROTO_ARP").find("NFPROTO_ARP has the hooks 0 to 2"),
              std::string::npos);
    for (const char* hook : {"-1", "77", "2147483647"})
        EXPECT_NE(errors(hook, "2").find("has no such hook"), std::string::npos) << hook;
    for (const char* family : {"0", "4", "5", "12", "13", "258", "-2"})
        EXPECT_NE(errors("0", family).find("netfilter has no pf of that name"), std::string::npos)
            << family;
}

TEST(PacketHooks, NamesThatAreUnknownHaveNeighbours) {
    const std::string hook = "netfilter.hook(\"", no_hook = "netfilter has no hook of that name; ";
    EXPECT_EQ(said(hook + "NF_INET_LOCAL_INN\").pf(\"2\")"),
              "\"NF_INET_LOCAL_INN\" cannot be probed: " + no_hook +
                  "did you mean 'NF_INET_LOCAL_IN'?");
    EXPECT_EQ(said(hook + "something else\").pf(\"2\")"),
              "\"something else\" cannot be probed: " + no_hook +
                  "known names are NF_INET_PRE_ROUTING and similar ones");
    EXPECT_TRUE(
        said(hook + "0\").pf(\"something else\")")
            .ends_with("no pf of that name; known names are NFPROTO_INET and similar ones"));
    // A priority may be any number: none of the names is proposed.
    EXPECT_EQ(said(hook + "0\").pf(\"2\").priority(\"FIRST\")"),
              "\"FIRST\" cannot be probed: netfilter has no priority of that name");
}

// enum nf_ip_hook_priorities of linux/netfilter_ipv4.h.
TEST(PacketHooks, HaveThePrioritiesOfTheKernel) {
    for (const auto& [name, number] :
         {std::pair("FIRST", int64_t{INT32_MIN}), std::pair("RAW_BEFORE_DEFRAG", int64_t{-450}),
          std::pair("CONNTRACK_DEFRAG", int64_t{-400}), std::pair("RAW", int64_t{-300}),
          std::pair("SELINUX_FIRST", int64_t{-225}), std::pair("CONNTRACK", int64_t{-200}),
          std::pair("MANGLE", int64_t{-150}), std::pair("NAT_DST", int64_t{-100}),
          std::pair("FILTER", int64_t{0}), std::pair("SECURITY", int64_t{50}),
          std::pair("NAT_SRC", int64_t{100}), std::pair("SELINUX_LAST", int64_t{225}),
          std::pair("CONNTRACK_HELPER", int64_t{300}),
          std::pair("CONNTRACK_CONFIRM", int64_t{INT32_MAX}),
          std::pair("LAST", int64_t{INT32_MAX})}) {
        const Planned planned("probe netfilter.hook(\"0\").pf(\"2\").priority(\"NF_IP_PRI_" +
                              std::string(name) + "\") { println(1) }");
        ASSERT_TRUE(planned.plan) << planned.errors();
        const auto* hook = std::get_if<PacketHook>(&planned.plan->variants.at(0).payload);
        ASSERT_TRUE(hook);
        EXPECT_EQ(hook->priority, number) << name;
    }
}

TEST(TimerPoints, JiffiesAreThoseOfTheKernel) {
    const auto period = [](const std::string& point) {
        const Planned planned("probe " + point + " { println(1) }");
        return mechanism_arguments(planned.plan->variants.at(0).payload);
    };
    EXPECT_EQ(period("timer.jiffies(2)")[DJS_TIMER_PERIOD_NS], 2'000'000U);
    EXPECT_EQ(period("timer.profile")[DJS_PERF_RATE], 1'000'000U);
}

// Types of the kernel are needed for variables only.
TEST(PointsWithoutTypes, NeedNoKernelToBeFound) {
    const auto errors = [](const std::string& point, const std::string& body) {
        Images images("no-such-kernel");
        test::Analysis analysis("probe " + point + " { " + body + " }");
        EXPECT_TRUE(analysis.program) << analysis.errors();
        const auto plan = resolve_probes(*analysis.program, images, {}, analysis.diagnostics);
        return plan ? "nothing" : said(analysis.diagnostics);
    };
    for (const char* point :
         {"process.syscall", "process.syscall.return", "netfilter.hook(\"0\").pf(\"2\")"})
        EXPECT_EQ(errors(point, "println(1)"), "nothing") << point;
    EXPECT_NE(errors("process.syscall", "println($syscall)"), "nothing");
    EXPECT_NE(errors("netfilter.hook(\"0\").pf(\"2\")", "println($hooknum)"), "nothing");
    // All others say that there is none.
    Images none("no-such-kernel");
    const auto kernel = none.kernel();
    ASSERT_FALSE(kernel);
    for (const char* point :
         {"kernel.function(\"f\")", "kernel.function(5)", "kernel.function(\"f\").return",
          "kernel.function(\"f\").label(\"l\")", "kernel.function(\"f\").callees",
          "kernel.statement(\"f@a.c:1\")", "kernel.statement(5)", "kernel.statement(5).absolute",
          "kernel.trace(\"t\")", "kernel.mark(\"m\")", "kernel.data(\"d\").write",
          "kernel.data(0xffffffff81000000).rw", "kprobe.function(\"f\")",
          "kprobe.statement(5).absolute", "module(\"m\").function(\"f\")", "timer.jiffies(1)",
          "timer.profile"})
        EXPECT_NE(errors(point, "println(1)").find(kernel.failure().message), std::string::npos)
            << point << ": " << errors(point, "println(1)");
}

// ---- counters -----------------------------------------------------------------------------------

TEST(Counters, AreNumberedByTheirNames) {
    const std::string event = "perf.type(0).config(";
    const auto counter = [&](int config, const std::string& name) {
        return "probe " + event + std::to_string(config) + ").counter(\"" + name + "\") {} ";
    };
    const Planned planned(counter(1, "b") + counter(2, "a") + counter(3, "c") +
                          "probe begin { println(@perf(\"b\")) }");
    ASSERT_TRUE(planned.plan) << planned.errors();
    std::vector<uint64_t> numbers;
    for (const Variant& variant : planned.plan->variants)
        if (const auto* counted = std::get_if<PerfEvent>(&variant.payload))
            numbers.push_back(counted->how - DJS_PERF_COUNTER);
    EXPECT_EQ(numbers, (std::vector<uint64_t>{1, 0, 2}));
    const AccessMap& accesses = planned.plan->variants.back().accesses;
    ASSERT_EQ(accesses.size(), 1U);
    EXPECT_EQ(accesses.begin()->second.value.base, Access::Base::PerfCounter);
    EXPECT_EQ(accesses.begin()->second.value.constant, 1U);

    const auto wrong = [](const std::string& script) {
        return said(Planned(script).analysis.diagnostics);
    };
    EXPECT_EQ(wrong(counter(1, "a") + "probe begin { println(@perf(\"b\")) }"),
              "no probe point defines a counter named 'b'; define it with probe "
              "perf.type(T).config(C).counter(\"b\") { }");
    EXPECT_NE(wrong(counter(1, "a") + counter(2, "a")), "nothing");
    EXPECT_EQ(wrong(counter(1, "a") + counter(1, "a")), "nothing");
    EXPECT_NE(wrong(counter(1, "")), "nothing");
    EXPECT_NE(wrong("probe " + event + "1).counter(\"a\") { println(1) }"), "nothing");
    std::string many;
    for (int i = 0; i < DJS_MOST_PERF_COUNTERS; i++)
        many += counter(i, "c" + std::to_string(100 + i));
    EXPECT_EQ(wrong(many), "nothing");
    EXPECT_NE(wrong(many + counter(1, "d")), "nothing");
}

// ---- listings -----------------------------------------------------------------------------------

std::string listed(const std::string& point, const ListingOptions& wanted = {}) {
    Images images(files().path());
    const test::Analysis analysis("probe " + point + " { println(1) }");
    EXPECT_TRUE(analysis.program) << analysis.errors();
    Diagnostics diagnostics(analysis.sources);
    ast::ProbePoint copy;
    const ast::ProbePoint& meant = *analysis.program->probes.at(0)->points.at(0);
    copy.components = (meant.one_of ? *meant.one_of : meant).components;
    const auto all = list_probes(copy, wanted, images, diagnostics);
    if (!all)
        return said(diagnostics);
    std::string text;
    for (const ProbeListing& each : *all) {
        text += each.point + " " + std::string(mechanism_name(each.mechanism));
        for (const std::string& variable : each.variables)
            text += " " + variable;
        text += each.jump.empty() ? "\n" : "; " + each.jump + "\n";
    }
    return text + (diagnostics.all().empty() ? "" : said(diagnostics));
}

TEST(Listings, AreSortedAndHaveEachPointOnce) {
    const std::string with = "kernel.function(\"" + declared("with_site") + "\")",
                      without = "kernel.function(\"" + declared("without_site") + "\")";
    EXPECT_EQ(listed("kernel.function(\"{without,with,w*}_site\")"),
              with + " djprobe\n" + without + " kprobe\n");
    EXPECT_EQ(listed("kernel.function(\"with_site\")", {true}),
              with + " djprobe $a:int $b:long int\n");
    EXPECT_EQ(listed("kernel.function(\"with_site\").return", {true}),
              with + ".return return-djprobe $return:int $a:int $b:long int\n");
    EXPECT_EQ(listed("kernel.function(\"do_exit\").return", {true}),
              "kernel.function(\"" + declared("do_exit") + "\").return kretprobe $code:long int\n");
    EXPECT_EQ(listed("kernel.function(\"without_site\")", {false, true}),
              without + " kprobe; a jump is safe here\n");
    EXPECT_EQ(listed("kernel.function(\"with_site\")", {false, true}), with + " djprobe\n");
    EXPECT_EQ(listed("never"), "never session\n");
    EXPECT_EQ(listed("timer.s(1)"), "timer.s(1) timer\n");
    // More functions than the limit of a script.
    EXPECT_EQ(listed("kernel.function(\"with*_site\")").find("omits"), std::string::npos);
}

TEST(Listings, OfSeveralFamiliesHaveWhatExists) {
    EXPECT_EQ(listed("kernel.*(\"first\")"), "kernel.trace(\"made:first\") tracepoint\n");
    EXPECT_EQ(listed("kernel.*(\"nothing_of_that_name*\")"), "");
    // What is no pattern of a function may be one of another family.
    EXPECT_EQ(listed("kernel.*(\"f@g@h\")"), "");
    EXPECT_EQ(listed("kernel.function(\"six\").l*(\"*\")"), "");
    EXPECT_EQ(listed("*.*(\"six\").call"), "kernel.function(\"" + declared("six") +
                                               "\").call djprobe\n"
                                               "kprobe.function(\"six\") djprobe\n");
    EXPECT_EQ(listed("module(\"extra\").function(\"extra_more\")", {false, true}),
              "module(\"extra\").function(\"" + declared("extra_more", true) +
                  "\") kprobe; a jump is safe here\n");
}

// What the kernel would replace by a jump is compared when the module is loaded.
TEST(JumpPlans, AreToldOrForced) {
    ProbeOptions options;
    options.jumps = true;
    const std::string point = "kernel.function(\"without_site\").call";
    const Planned told("probe " + point + ", timer.s(1) { println(1) }", options);
    ASSERT_TRUE(told.plan) << told.errors();
    EXPECT_EQ(told.site().jump, "a jump is safe here");
    EXPECT_EQ(told.site(1).jump, "");
    EXPECT_EQ(told.site().code, "");
    const Planned forced_one("probe " + point + " { println(1) }", forced(Mechanism::KprobeJump));
    ASSERT_TRUE(forced_one.plan) << forced_one.errors();
    Images images(files().path());
    const auto bytes = (*images.kernel())->bytes_at(forced_one.site().address, 5);
    EXPECT_EQ(forced_one.site().code.substr(0, 5), bytes);
    EXPECT_EQ(forced_one.site().code.substr(forced_one.site().code.size() / 2),
              std::string(forced_one.site().code.size() / 2, '\xff'));
}

// Whatever the kernel's rule says of the instructions that it finds: they may be others by then.
TEST(JumpPlans, AreRefusedWhereControlEnters) {
    const Planned entered("probe kprobe.function(\"loops\") { println(1) }",
                          forced(Mechanism::KprobeJump));
    EXPECT_FALSE(entered.plan);
    EXPECT_NE(entered.errors().find("no jump may replace the breakpoint: a jump leads into it"),
              std::string::npos)
        << entered.errors();
    // Without bytes to compare, the breakpoint stays one.
    const Planned calls("probe kprobe.function(\"calls\") { println(1) }",
                        forced(Mechanism::KprobeJump));
    ASSERT_TRUE(calls.plan) << calls.errors();
    EXPECT_EQ(calls.site().code, "");
}

TEST(Listings, OfPatternsMayBeEmpty) {
    EXPECT_EQ(listed("kernel.function(\"xyz*\")"), "");
    EXPECT_EQ(listed("module(\"xyz*\").function(\"f\")"), "");
    EXPECT_EQ(listed("kernel.trace(\"xyz*\")"), "");
    EXPECT_EQ(listed("kernel.mark(\"xyz*\")"), "");
    EXPECT_EQ(listed("kprobe.function(\"xyz*\")"), "");
    EXPECT_NE(listed("kernel.function(\"sixx\")").find("no function"), std::string::npos);
    EXPECT_NE(listed("module(\"extr\").function(\"f\")").find("no module 'extr'"),
              std::string::npos);
    EXPECT_NE(listed("kernel.trace(\"fist\")").find("no tracepoint"), std::string::npos);
    EXPECT_NE(listed("kprobe.function(\"sixx\")").find("no function"), std::string::npos);
    EXPECT_NE(listed("module(\"extra\").mark(\"f\")").find("no "), std::string::npos);
}

} // namespace
} // namespace djstap::whole
