// SPDX-License-Identifier: GPL-2.0-or-later
// From a script's probes to what is attached where.
#include "planned.h"

#include "arch/arch.h"

#include "include/script.h"

namespace djstap {
namespace {

// What a point of one probe is told, as numbers in the order of enum djs_argument.
template <class Kind> Kind payload_of(const std::string& point, const ProbeOptions& options = {}) {
    const Planned planned("probe " + point + " { println(1) }", options);
    EXPECT_TRUE(planned.plan) << planned.errors();
    const Kind* payload = planned.plan ? std::get_if<Kind>(&planned.payload()) : nullptr;
    EXPECT_TRUE(payload) << point;
    return payload ? *payload : Kind{};
}

// The line of the one error, or "fine".
std::string refusal(const std::string& point) {
    const Planned planned("probe " + point + " { println(1) }");
    if (planned.plan)
        return "fine";
    const std::string errors = planned.errors();
    return errors.substr(0, errors.find('\n'));
}

TEST(Plans, OneFunctionIsNotCountedAsSeveral) {
    ProbeOptions options;
    options.max_kprobes = 0;
    for (const auto& [point, message, hint] :
         {std::tuple("kernel.function(\"inlined\")",
                     "it is inlined at 1 place, more than MAXKPROBES",
                     "hint: -D MAXKPROBES=1 probes it as well"),
          std::tuple("kernel.function(\"*inlined\")", "omits 1 inline instance of a function [",
                     "hint: -D MAXKPROBES=1 probes it as well"),
          std::tuple("kernel.function(\"fiel*\").call",
                     "omits 1 function that has no fentry site [",
                     "hint: -D MAXKPROBES=1 probes it as well")}) {
        const Planned planned(std::string("probe ") + point + " { println(1) }", options);
        const std::string errors = planned.errors();
        EXPECT_NE(errors.find(message), std::string::npos) << errors;
        EXPECT_NE(errors.find(hint), std::string::npos) << errors;
    }
}

// The names of a point's places, in the order of the plan.
std::vector<std::string> places_of(const std::string& point) {
    const Planned planned("probe " + point + " { println(1) }");
    EXPECT_TRUE(planned.plan) << planned.errors();
    std::vector<std::string> names;
    for (size_t i = 0; planned.plan && i < planned.plan->sites.size(); i++)
        names.push_back(planned.site(i).point);
    return names;
}

// The message of the one error.
std::string message_of(const std::string& point) {
    const std::string line = refusal(point);
    const size_t begin = line.find("error: "), end = line.rfind(" [");
    return begin == std::string::npos ? line : line.substr(begin + 7, end - begin - 7);
}

uint64_t entry_of(const std::string& function) {
    auto symbol = kernel().image->symbol(function);
    EXPECT_TRUE(symbol) << function;
    return symbol ? symbol->address : 0;
}

} // namespace

// Functions and places in them.

TEST(FunctionPlans, BracesStandForSeveralPatterns) {
    using Names = std::vector<std::string>;
    const std::string both = R"(kernel.function("{nothing,retu*}@fs/{made,other}.c").call)";
    const Names names = places_of(both);
    ASSERT_EQ(names.size(), 2u);
    EXPECT_EQ(names[0].substr(0, 33), "kernel.function(\"nothing@fs/made.");
    EXPECT_EQ(names[1].substr(0, 33), "kernel.function(\"returns@fs/made.");
    EXPECT_EQ(places_of(R"(kprobe.function("{nothing,fields}"))").size(), 2u);
    std::string many;
    for (int i = 0; i < 9; i++)
        many += "{a,b}";
    EXPECT_EQ(message_of("kernel.function(\"" + many + "\")"),
              "its braces stand for more than 256 patterns");
}

TEST(FunctionPlans, AnAddressNamesTheFunctionThatContainsIt) {
    const uint64_t entry = entry_of("fields");
    for (const uint64_t address : {entry, entry + 5}) {
        const Planned planned("probe kernel.function(" + address_text(address) +
                              ") { println($n) }");
        ASSERT_TRUE(planned.plan) << planned.errors();
        ASSERT_EQ(planned.plan->sites.size(), 1u);
        EXPECT_EQ(planned.site().function, "fields");
        EXPECT_EQ(planned.site().entry, entry);
    }
    EXPECT_EQ(message_of("kernel.function(5)"), "\"0x5\" cannot be probed: no function is there");
    EXPECT_EQ(message_of("kernel.function(" + address_text(entry) + ").inline"),
              "\"" + address_text(entry) +
                  "\" cannot be probed: no inline instance of a function is there");
}

TEST(FunctionPlans, AnAddressNamesOneOfTheFunctionsWithAName) {
    const MadeKernel twins(
        {{"one.c", "static int twin(int a) { return a; }\nint one(void) { return twin(1); }\n"},
         {"two.c", "static int twin(int a) { return a; }\nint two(void) { return twin(2); }\n"}},
        {"-O0"});
    const auto sites_of = [&](const std::string& argument) {
        Images images(twins.folder());
        test::Analysis analysis("probe kernel.function(" + argument + ") { println(1) }");
        const auto plan = resolve_probes(*analysis.program, images, {}, analysis.diagnostics);
        EXPECT_TRUE(plan) << analysis.errors();
        return plan ? plan->sites : std::vector<Site>();
    };
    const std::vector<Site> both = sites_of("\"twin\"");
    ASSERT_EQ(both.size(), 2u);
    EXPECT_NE(both[0].entry, both[1].entry);
    for (const Site& one : both) {
        const std::vector<Site> found = sites_of(address_text(one.entry));
        ASSERT_EQ(found.size(), 1u);
        EXPECT_EQ(found[0].entry, one.entry);
        EXPECT_EQ(found[0].point, one.point);
    }
}

TEST(FunctionPlans, AnAddressInAnInlineInstanceNamesThatFunction) {
    const Planned inlined("probe kernel.function(\"inlined\") { println($a) }");
    ASSERT_TRUE(inlined.plan) << inlined.errors();
    const std::string at = address_text(inlined.site().address);
    for (const char* form : {"", ".inline"}) {
        const Planned planned("probe kernel.function(" + at + ")" + form + " { println($a) }");
        ASSERT_TRUE(planned.plan) << planned.errors();
        EXPECT_EQ(planned.site().address, inlined.site().address);
        EXPECT_EQ(planned.site().function, "inlined");
        EXPECT_EQ(planned.site().point, inlined.site().point);
    }
    const Planned around("probe kernel.function(" + at + ").call { println(1) }");
    ASSERT_TRUE(around.plan) << around.errors();
    EXPECT_EQ(around.site().function, "uses_inlined");
}

TEST(FunctionPlans, InlineInstancesHaveThePlaceOfTheirFunction) {
    const Planned planned("probe kernel.function(\"inlined\") { println($a) }");
    ASSERT_TRUE(planned.plan) << planned.errors();
    const std::string before = planned_source.substr(0, planned_source.find(" inlined(int a)"));
    const auto line = std::count(before.begin(), before.end(), '\n') + 1;
    EXPECT_EQ(planned.site().point,
              "kernel.function(\"inlined@fs/made.c:" + std::to_string(line) + "\").inline");
    EXPECT_EQ(planned.site().reason, "inlined into uses_inlined");
    EXPECT_EQ(planned.site().entry, entry_of("uses_inlined"));
    ASSERT_TRUE(planned.site().info);
    EXPECT_EQ(planned.site().info->name, "inlined");
    EXPECT_EQ(planned.site().info->symbol, "uses_inlined");
    EXPECT_EQ(planned.site().info->file, "fs/made.c");
    EXPECT_EQ(planned.site().info->line, static_cast<uint32_t>(line));
}

TEST(StatementPlans, AnAddressIsThatOfAStatement) {
    const Planned second("probe kernel.statement(\"labelled@fs/made.c+3\") { println($a) }");
    ASSERT_TRUE(second.plan) << second.errors();
    const uint64_t address = second.site().address;
    const Planned planned("probe kernel.statement(" + address_text(address) + ") { println($a) }");
    ASSERT_TRUE(planned.plan) << planned.errors();
    EXPECT_EQ(planned.site().address, address);
    EXPECT_EQ(planned.site().function, "labelled");
    EXPECT_EQ(planned.site().point, "kernel.statement(" + address_text(address) + ")");
    const Planned within("probe kernel.statement(" + address_text(address + 1) +
                         ") { println(1) }");
    EXPECT_NE(within.errors().find("no statement begins there"), std::string::npos);
    EXPECT_NE(
        within.errors().find("hint: the one that it is in begins at " + address_text(address)),
        std::string::npos)
        << within.errors();
    EXPECT_EQ(message_of("kernel.statement(7)"), "\"0x7\" cannot be probed: no function is there");
}

TEST(StatementPlans, AMissTellsWhereStatementsAre) {
    const Planned behind("probe kernel.statement(\"labelled@fs/made.c:999\") { println(1) }");
    EXPECT_FALSE(behind.plan);
    EXPECT_NE(behind.errors().find("error"), std::string::npos);
    EXPECT_EQ(message_of("kernel.statement(\"absent@fs/made.c:3\")").find("fine"),
              std::string::npos);
}

TEST(LabelPlans, ALabelIsTheStatementBehindIt) {
    const Planned third("probe kernel.statement(\"labelled@fs/made.c+5\") { println(1) }");
    const Planned planned("probe kernel.function(\"labelled\").label(\"three\") { println($a) }");
    ASSERT_TRUE(third.plan && planned.plan) << planned.errors();
    ASSERT_EQ(planned.plan->sites.size(), 1u);
    EXPECT_EQ(planned.site().address, third.site().address);
    EXPECT_EQ(planned.site().function, "labelled");
    EXPECT_EQ(planned.site().point,
              "kernel.function(\"labelled@fs/made.c:" +
                  std::to_string(std::count(planned_source.begin(),
                                            planned_source.begin() +
                                                static_cast<long>(planned_source.find("three:")),
                                            '\n') +
                                 1) +
                  "\").label(\"three\")");
    EXPECT_EQ(places_of("kernel.function(\"l*\").label(\"*\")").size(), 2u);
}

TEST(LabelPlans, AMissTellsWhatThereIs) {
    const Planned near("probe kernel.function(\"labelled\").label(\"tree\") { println(1) }");
    EXPECT_NE(near.errors().find("no label of \"labelled\" matches \"tree\" [no-label]"),
              std::string::npos);
    EXPECT_NE(near.errors().find("did you mean 'three'?"), std::string::npos) << near.errors();
    const Planned far("probe kernel.function(\"labelled\").label(\"x*\") { println(1) }");
    EXPECT_NE(far.errors().find("hint: it has three, four"), std::string::npos) << far.errors();
    const Planned none("probe kernel.function(\"same\").label(\"x\") { println(1) }");
    EXPECT_NE(none.errors().find("hint: it has no labels that the compiler kept"),
              std::string::npos)
        << none.errors();
    const Planned many("probe kernel.function(\"has_many_labels\").label(\"x*\") { println(1) }");
    EXPECT_NE(many.errors().find("hint: it has place1, place2, place3, place4, place5, place6, "
                                 "place7, place8\n"),
              std::string::npos)
        << many.errors();
    EXPECT_EQ(message_of("kernel.function(\"absent\").label(\"x\")"),
              "no function of kernel 6.1.0-made matches \"absent\"");
}

// Timers.

TEST(TimerPlans, UnitsAreNanoseconds) {
    for (const auto& [point, ns] :
         {std::pair("s(2)", 2'000'000'000u), std::pair("sec(1)", 1'000'000'000u),
          std::pair("ms(3)", 3'000'000u), std::pair("msec(3)", 3'000'000u),
          std::pair("us(40)", 40'000u), std::pair("usec(50)", 50'000u),
          std::pair("ns(10000)", 10'000u), std::pair("nsec(10001)", 10'001u),
          std::pair("hz(8)", 125'000'000u), std::pair("jiffies(3)", 30'000'000u)})
        EXPECT_EQ(payload_of<TimerPeriod>(std::string("timer.") + point).ns, ns) << point;
    ProbeOptions options;
    options.hz = 1000;
    EXPECT_EQ(payload_of<TimerPeriod>("timer.jiffies(3)", options).ns, 3'000'000u);
}

TEST(TimerPlans, RandomPartsAreShorterThanThePeriod) {
    EXPECT_EQ(payload_of<TimerPeriod>("timer.ms(3).randomize(2)").random_ns, 2'000'000u);
    EXPECT_EQ(payload_of<TimerPeriod>("timer.ms(3).randomize(0)").random_ns, 0u);
    EXPECT_EQ(payload_of<TimerPeriod>("timer.ms(3)").random_ns, 0u);
    EXPECT_NE(refusal("timer.ms(3).randomize(3)"), "fine");
    EXPECT_NE(refusal("timer.ms(3).randomize(-1)"), "fine");
    // As nanoseconds it is 290448384 more than 2^64.
    EXPECT_NE(refusal("timer.s(1).randomize(18446744074)"), "fine");
}

TEST(TimerPlans, PeriodsHaveTheirBounds) {
    EXPECT_EQ(refusal("timer.ns(10000)"), "fine");
    EXPECT_NE(refusal("timer.ns(9999)"), "fine");
    EXPECT_NE(Planned("probe timer.ns(9999) { println(1) }")
                  .errors()
                  .find("hint: the shortest period is 10 microseconds"),
              std::string::npos);
    EXPECT_NE(refusal("timer.s(0)"), "fine");
    EXPECT_NE(refusal("timer.s(-1)"), "fine");
    EXPECT_EQ(refusal("timer.s(4611686018)"), "fine");
    EXPECT_NE(refusal("timer.s(4611686019)"), "fine");
    EXPECT_EQ(refusal("timer.hz(100000)"), "fine");
    EXPECT_NE(refusal("timer.hz(100001)"), "fine");
}

// Counters and profiles.

TEST(PerfPlans, HaveTheirEventAndRate) {
    const PerfEvent usual = payload_of<PerfEvent>("perf.type(3).config(7)");
    EXPECT_EQ(usual.type, 3u);
    EXPECT_EQ(usual.config, 7u);
    EXPECT_EQ(usual.how, uint64_t{DJS_PERF_BY_COUNT});
    EXPECT_EQ(usual.rate, 1'000'000u);
    const PerfEvent sampled = payload_of<PerfEvent>("perf.type(0).config(1).sample(1)");
    EXPECT_EQ(sampled.how, uint64_t{DJS_PERF_BY_COUNT});
    EXPECT_EQ(sampled.rate, 1u);
    const PerfEvent often = payload_of<PerfEvent>("perf.type(0).config(1).hz(99)");
    EXPECT_EQ(often.how, uint64_t{DJS_PERF_BY_FREQUENCY});
    EXPECT_EQ(often.rate, 99u);
    EXPECT_NE(refusal("perf.type(0).config(1).sample(0)"), "fine");
    EXPECT_NE(refusal("perf.type(0).config(1).hz(0)"), "fine");
    EXPECT_EQ(usual.program, "");
}

TEST(PerfPlans, AreLimitedToAProgramOrAProcess) {
    const PerfEvent program =
        payload_of<PerfEvent>("perf.type(0).config(1).hz(9).process(\"/a/b\")");
    EXPECT_EQ(program.how, uint64_t{DJS_PERF_BY_FREQUENCY | DJS_PERF_OF_PROGRAM});
    EXPECT_EQ(program.rate, 9u);
    EXPECT_EQ(program.program, "/a/b");
    const PerfEvent target = payload_of<PerfEvent>("perf.type(0).config(1).sample(3).process");
    EXPECT_EQ(target.how, uint64_t{DJS_PERF_BY_COUNT | DJS_PERF_OF_TARGET});
    EXPECT_EQ(target.program, "");
    EXPECT_TRUE(
        payload_of<PerfEvent>("perf.type(0).config(1).process(\"sh\")").program.ends_with("/sh"));
    EXPECT_NE(refusal("perf.type(0).config(1).process(\"no such program\")"), "fine");
    EXPECT_NE(refusal("perf.type(0).config(1).process(\"bin/sh\")"), "fine");
    EXPECT_NE(refusal("perf.type(0).config(1).process(\"\")"), "fine");
    EXPECT_NE(refusal("perf.type(0).config(1).process(\"/b\").sample(0)"), "fine");
    // One handler cannot be of two programs.
    const Planned two(
        "probe perf.type(0).config(1).process(\"/a\"), perf.type(0).config(1).process(\"/b\"), "
        "perf.type(0).config(1) {}");
    ASSERT_TRUE(two.plan) << two.errors();
    EXPECT_EQ(two.plan->variants.size(), 3u);
}

TEST(PerfPlans, ProfilesGoByTheKernelsTick) {
    const PerfEvent tick = payload_of<PerfEvent>("timer.profile");
    EXPECT_EQ(tick.type, 1u);
    EXPECT_EQ(tick.config, 0u);
    EXPECT_EQ(tick.how, uint64_t{DJS_PERF_BY_COUNT});
    EXPECT_EQ(tick.rate, 10'000'000u);
    EXPECT_EQ(payload_of<PerfEvent>("timer.profile.freq.hz(1000)").rate, 1'000'000u);
    EXPECT_EQ(payload_of<PerfEvent>("timer.profile.freq.hz(1)").rate, 1'000'000'000u);
    EXPECT_EQ(payload_of<PerfEvent>("timer.profile.freq.hz(100000)").rate, 10'000u);
    EXPECT_NE(refusal("timer.profile.freq.hz(0)"), "fine");
    EXPECT_NE(refusal("timer.profile.freq.hz(100001)"), "fine");
}

// Files below /proc.

TEST(ProcfsPlans, HaveTheirModeAndSize) {
    const ProcfsFile plain = payload_of<ProcfsFile>("procfs(\"a\").read");
    EXPECT_FALSE(plain.writes);
    EXPECT_EQ(plain.umask, 077u);
    EXPECT_EQ(plain.bytes, 0u);
    const ProcfsFile sized = payload_of<ProcfsFile>("procfs(\"a\").umask(0777).read.maxsize(100)");
    EXPECT_EQ(sized.umask, 0777u);
    EXPECT_EQ(sized.bytes, 101u);
    EXPECT_TRUE(payload_of<ProcfsFile>("procfs(\"a\").umask(0).write").writes);
    EXPECT_EQ(Planned("probe procfs.read { println(1) }").site().function, "command");
    EXPECT_EQ(Planned("probe procfs(\"a\").umask(7).read { println(1) }").site().point,
              "procfs(\"a\").umask(7).read");
    EXPECT_EQ(Planned("probe procfs(\"x.y\").read { println(1) }").site().function, "x.y");
}

TEST(ProcfsPlans, RefuseOtherNamesAndSizes) {
    for (const char* name : {"", ".", "..", "a/b"})
        EXPECT_NE(refusal("procfs(\"" + std::string(name) + "\").read"), "fine") << name;
    EXPECT_EQ(refusal("procfs(\"" + std::string(199, 'x') + "\").read"), "fine");
    EXPECT_NE(refusal("procfs(\"" + std::string(200, 'x') + "\").read"), "fine");
    EXPECT_NE(refusal("procfs(\"a\").umask(01000).read"), "fine");
    EXPECT_NE(refusal("procfs(\"a\").umask(-1).read"), "fine");
    EXPECT_EQ(refusal("procfs(\"a\").read.maxsize(1)"), "fine");
    EXPECT_NE(refusal("procfs(\"a\").read.maxsize(0)"), "fine");
    EXPECT_EQ(refusal("procfs(\"a\").read.maxsize(16777216)"), "fine");
    EXPECT_NE(refusal("procfs(\"a\").read.maxsize(16777217)"), "fine");
}

// Hooks of the packet filter.

PacketHook hook_of(const std::string& hook, const std::string& family,
                   const std::string& priority = "") {
    return payload_of<PacketHook>("netfilter.hook(\"" + hook + "\").pf(\"" + family + "\")" +
                                  (priority.empty() ? "" : ".priority(\"" + priority + "\")"));
}

TEST(NetfilterPlans, NamesAreTheKernelsNumbers) {
    EXPECT_EQ(hook_of("NF_INET_LOCAL_IN", "NFPROTO_IPV4").hook, 1);
    EXPECT_EQ(hook_of("NF_IP_POST_ROUTING", "NFPROTO_IPV4").hook, 4);
    EXPECT_EQ(hook_of("NF_IP6_FORWARD", "NFPROTO_IPV6").hook, 2);
    EXPECT_EQ(hook_of("NF_ARP_OUT", "NFPROTO_ARP").hook, 1);
    EXPECT_EQ(hook_of("NF_BR_LOCAL_OUT", "NFPROTO_BRIDGE").hook, 3);
    EXPECT_EQ(hook_of("3", "2").hook, 3);
    EXPECT_EQ(hook_of("0", "NFPROTO_INET").family, 1);
    EXPECT_EQ(hook_of("0", "NFPROTO_IPV4").family, 2);
    EXPECT_EQ(hook_of("0", "NFPROTO_ARP").family, 3);
    EXPECT_EQ(hook_of("0", "NFPROTO_BRIDGE").family, 7);
    EXPECT_EQ(hook_of("0", "NFPROTO_IPV6").family, 10);
}

TEST(NetfilterPlans, VariablesAreThoseThatTheRuntimePasses) {
    const Planned planned("probe netfilter.hook(\"0\").pf(\"2\") { println($hooknum, $skb, $in, "
                          "$out, $verdict, $pf) }");
    ASSERT_TRUE(planned.plan) << planned.errors();
    const auto& parameters = planned.site().info->parameters;
    const auto registers = arch::argument_registers();
    const char* const names[] = {"hooknum", "skb", "in", "out", "verdict", "pf"};
    ASSERT_EQ(parameters.size(), std::size(names));
    for (size_t i = 0; i < parameters.size(); i++) {
        EXPECT_EQ(parameters[i].name, names[i]);
        EXPECT_EQ(parameters[i].location.reg, registers[i]) << i;
    }
}

TEST(NetfilterPlans, PrioritiesAreOfEitherProtocol) {
    EXPECT_EQ(hook_of("0", "2").priority, 0);
    EXPECT_EQ(hook_of("0", "2", "NF_IP_PRI_CONNTRACK").priority, -200);
    EXPECT_EQ(hook_of("0", "2", "NF_IP6_PRI_NAT_SRC").priority, 100);
    EXPECT_EQ(hook_of("0", "2", "NF_IP_PRI_FIRST").priority, INT32_MIN);
    EXPECT_EQ(hook_of("0", "2", "-7").priority, -7);
    EXPECT_NE(refusal("netfilter.hook(\"0\").pf(\"2\").priority(\"FIRST\")"), "fine");
    EXPECT_NE(refusal("netfilter.hook(\"NF_INET_NOWHERE\").pf(\"2\")"), "fine");
    EXPECT_NE(refusal("netfilter.hook(\"0\").pf(\"2x\")"), "fine");
}

// Functions.

TEST(FunctionPlans, AreAtTheirEntries) {
    const Planned planned("probe kernel.function(\"fields\") { println(1) }");
    ASSERT_TRUE(planned.plan) << planned.errors();
    ASSERT_EQ(planned.plan->sites.size(), 1u);
    EXPECT_EQ(planned.site().entry, kernel().address("fields"));
    EXPECT_EQ(planned.site().address, kernel().address("fields"));
    EXPECT_EQ(planned.site().mechanism, Mechanism::Kprobe);
    EXPECT_EQ(planned.site().function, "fields");
    EXPECT_EQ(planned.site().written, "kernel.function(\"fields\")");
    EXPECT_FALSE(planned.site().forced);
}

TEST(FunctionPlans, ReturnsAreKretprobesWhereThereIsNoSite) {
    const Planned planned("probe kernel.function(\"fields\").return.maxactive(7) { println(1) }");
    ASSERT_TRUE(planned.plan) << planned.errors();
    EXPECT_EQ(planned.site().mechanism, Mechanism::Kretprobe);
    EXPECT_EQ(planned.site().maxactive, 7u);
    EXPECT_EQ(planned.plan->variants.at(0).kind, HandlerKind::Return);
    EXPECT_EQ(refusal(fields + ".return.maxactive(65535)"), "fine");
    EXPECT_NE(refusal(fields + ".return.maxactive(65536)"), "fine");
    EXPECT_NE(refusal(fields + ".return.maxactive(-1)"), "fine");
}

TEST(FunctionPlans, PatternsTakeAllThatMatch) {
    const Planned planned("probe kernel.function(\"*same@fs/made.c\") { println(1) }");
    ASSERT_TRUE(planned.plan) << planned.errors();
    std::vector<std::string> functions;
    for (const Site& site : planned.plan->sites)
        functions.push_back(site.function);
    EXPECT_EQ(functions, (std::vector<std::string>{"same", "uses_same"}));
    EXPECT_EQ(planned.plan->variants.size(), 1u);
    EXPECT_NE(refusal("kernel.function(\"no_such*\")"), "fine");
    EXPECT_EQ(refusal("kernel.function(\"no_such*\")?"), "fine");
}

} // namespace djstap
