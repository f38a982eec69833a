// SPDX-License-Identifier: GPL-2.0-or-later
// Where the probes of a script on many machines run, and what happens to its globals.
#include "analysis.h"

namespace djstap::test {
namespace {

using Side = SemanticsOptions::Side;

SemanticsOptions on(Side side) {
    SemanticsOptions options;
    options.side = side;
    options.guru = true;
    if (side == Side::Hosts) {
        options.shown_every_ms = 1000;
        options.shown_whole = true;
    }
    return options;
}

std::string placements(const std::string& script) {
    const Analysis hosts(script, on(Side::Hosts)), here(script, on(Side::Controller));
    if (!hosts.program || !here.program)
        return hosts.errors() + here.errors();
    // Both sides decide alike.
    EXPECT_EQ(hosts.program->placements, here.program->placements);
    std::string all;
    for (const std::string& line : here.program->placements)
        all += line + "\n";
    return all;
}

// "calls" and the like: of each global whether it is shared here, and taken on hosts.
std::string globals(const std::string& script) {
    const Analysis hosts(script, on(Side::Hosts)), here(script, on(Side::Controller));
    std::string all;
    for (const auto& global : here.program->globals)
        all += "here " + global->name + (global->is_shared ? " shared" : "") + "; ";
    for (const auto& global : hosts.program->globals)
        all += "hosts " + global->name + (global->is_taken ? " taken" : "") +
               (global->adds_up ? " adds up" : "") + "; ";
    return all;
}

constexpr const char* hit = "probe kernel.function(\"f\") ";
constexpr const char* there = "kernel.function(\"f\"): runs on each host: it is hit there\n";

TEST(Placement, EndProbesThatReadSumsRunHere) {
    const std::string script =
        std::string("global n, a, s ") + hit +
        "{ n++; a[pid()] += 2; s <<< 3 } probe end { println(n, a[1], @max(s)) }";
    EXPECT_EQ(placements(script), there + std::string("end: runs here, on the merged globals\n"));
    EXPECT_EQ(globals(script), "here n shared; here a shared; here s shared; "
                               "hosts n adds up; hosts a adds up; hosts s; ");
}

TEST(Placement, WhatIsClearedHereIsTakenFromHosts) {
    const std::string script =
        std::string("global n = 7, a ") + hit +
        "{ n++; a[pid()]++ } probe timer.s(1) { foreach (p in a-) println(p) "
        "delete a; n = 0 }";
    EXPECT_EQ(placements(script),
              there + std::string("timer.s(1): runs here, on the merged globals\n"));
    EXPECT_EQ(globals(script),
              "here n shared; here a shared; hosts n taken adds up; hosts a taken adds up; ");
    const Analysis hosts(script, on(Side::Hosts)), here(script, on(Side::Controller));
    // The initial value is counted once: here.
    EXPECT_EQ(hosts.global("n").initial_number, 0);
    EXPECT_EQ(here.global("n").initial_number, 7);
    // It is shown and cleared under one lock.
    EXPECT_EQ(hosts.global("n").storage, program::Storage::Locked);
    EXPECT_EQ(here.global("n").storage, program::Storage::Locked);
    // An element is deleted before the loop comes to the next one, where it may pause: what is
    // added meanwhile is part of the next snapshot.
    EXPECT_NE(hosts.dump().find("delete a["), std::string::npos) << hosts.dump();
}

TEST(Placement, WhatHostsOnlyAddToIsCountedWithoutALock) {
    const std::string script = std::string("global n ") + hit + "{ n++ } probe end { println(n) }";
    EXPECT_EQ(Analysis(script, on(Side::Hosts)).global("n").storage, program::Storage::PerCpu);
}

TEST(Placement, GlobalsWithoutASumKeepTheirProbesOnHosts) {
    EXPECT_EQ(placements(std::string("global last ") + hit +
                         "{ last = execname() } probe end { println(last) }"),
              there +
                  std::string("end: runs on each host: the hosts' values of 'last' have no sum\n"));
    // A number that is set; one that a host reads although it is cleared here.
    EXPECT_EQ(placements(std::string("global n ") + hit + "{ n = 3 } probe end { println(n) }"),
              there +
                  std::string("end: runs on each host: the hosts' values of 'n' have no sum\n"));
    EXPECT_EQ(placements(std::string("global n ") + hit +
                         "{ if (n++ > 3) println(n) } probe timer.s(1) { n = 0 }"),
              there + std::string(
                          "timer.s(1): runs on each host: the hosts' values of 'n' have no sum\n"));
    // Likewise one that is read at the entry, for a probe of the return.
    EXPECT_EQ(placements(std::string("global n ") + hit +
                         "{ n++ } probe kernel.function(\"f\").return { println(@entry(n)) } "
                         "probe timer.s(1) { n = 0 }"),
              there + std::string(
                          "kernel.function(\"f\").return: runs on each host: it is hit there\n"
                          "timer.s(1): runs on each host: the hosts' values of 'n' have no sum\n"));
    EXPECT_EQ(placements(std::string("global s ") + hit +
                         "{ s <<< 3 } probe end { println(@variance(s)) }"),
              there +
                  std::string("end: runs on each host: it uses @variance, which is not merged\n"));
}

// A probe that stays on the hosts may keep others there.
TEST(Placement, IsSettledTogether) {
    EXPECT_EQ(
        placements(std::string("global n, m, last ") + hit +
                   "{ n++; last = execname() } probe timer.s(1) { println(last) m = 1; n = 0 } "
                   "probe end { println(n, m) }"),
        there +
            std::string("timer.s(1): runs on each host: the hosts' values of 'last' have no sum\n"
                        "end: runs on each host: the hosts' values of 'n' have no sum\n"));
}

TEST(Placement, ProbesThatAskTheMachineStayThere) {
    const auto end = [](const std::string& body, const std::string& reason) {
        EXPECT_EQ(placements(std::string(hit) + "{ println(1) } " + body),
                  there + std::string("end: runs on each host: ") + reason + "\n");
    };
    end("probe end { println(execname()) }", "it calls execname(), which tells of the machine");
    end("function f() { return @cast(0, \"task_struct\")->pid } probe end { println(f()) }",
        "it reads the machine's memory");
    end("probe end { println(host_name()) }", "it calls host_name(), which tells of the machine");
    end("probe end { system(\"id\") }", "it calls system(), which tells of the machine");
    end("function f:long() %{ /* pure */ STAP_RETURN(1); %} probe end { println(f()) }",
        "it calls f(), which is C code");
    // The function that is called passes the call on to the next one of its name.
    end("function f:long(n) { if (n > 5) next; return 1 } "
        "function f:long(n) %{ /* pure */ STAP_RETURN(2); %} probe end { println(f(7)) }",
        "it calls f(), which is C code");
}

// Whatever asks memory, registers or C code, and whatever is hit by more than the session's course.
TEST(Placement, EachReasonToStayIsTold) {
    const auto reason = [](const std::string& probe, const std::string& point) {
        const std::string text = placements("global on " + std::string(hit) +
                                            "{ println(1) } probe timer.s(9) { on = 1 } " + probe);
        const std::string begin = "\n" + point + ": ";
        const size_t at = text.find(begin);
        if (at == std::string::npos)
            return text;
        return text.substr(at + begin.size(), text.find('\n', at + 1) - at - begin.size());
    };
    const auto end = [&](const std::string& statement) {
        return reason("probe end { println(on); " + statement + " }", "end");
    };
    const std::string stays = "runs on each host: ",
                      memory = stays + "it reads the machine's memory",
                      code = stays + "it contains C code";
    EXPECT_EQ(end("exit()"), "runs here, on the merged globals");
    EXPECT_EQ(end("println(@kderef(8, 1))"), memory);
    EXPECT_EQ(end("println(@uderef(8, 1))"), memory);
    EXPECT_EQ(end("println(@cast(1, \"t\")->a)"), memory);
    EXPECT_EQ(end("println(@var(\"v\", \"kernel\"))"), memory);
    EXPECT_EQ(end("%{ int i; (void)i; %}"), code);
    EXPECT_EQ(end("println(%{ 1 %})"), code);
    EXPECT_EQ(reason("probe timer.s(1) if (on) { println(2) }", "timer.s(1) if (on)"),
              stays + "it has a condition");
    EXPECT_EQ(reason("probe error { println(2) }", "error"), stays + "it is hit there");
}

TEST(Placement, FunctionsOfTheLanguageRunHere) {
    EXPECT_EQ(
        placements(std::string("global began, line ") + hit +
                   "{ println(1) } probe begin { began = gettimeofday_s(); println(\"begins\") } "
                   "probe timer.ms(10) { line++ } probe end { println(gettimeofday_s() - began, "
                   "substr(sprintf(\"%d\", line), 0, 2), ctime(3), errno_str(2)) exit() }"),
        there + std::string("begin: runs here, on the merged globals\n"
                            "timer.ms(10): runs here, on the merged globals\n"
                            "end: runs here, on the merged globals\n"));
}

TEST(Placement, AConstantIsOnBothSides) {
    const std::string script = std::string("global least = 5 ") + hit +
                               "{ if ($x > least) println(1) } probe end { println(least) }";
    EXPECT_EQ(placements(script), there + std::string("end: runs here, on the merged globals\n"));
    EXPECT_EQ(globals(script), "here least; hosts least adds up; ");
}

TEST(Placement, WhatIsNeverReadIsPrintedHereIfItHasASum) {
    const std::string script = std::string("global n, last ") + hit + "{ n++; last = execname() }";
    const Analysis here(script, on(Side::Controller)), hosts(script, on(Side::Hosts));
    EXPECT_EQ(here.program->unread_by_host, std::vector<std::string>{"last"});
    ASSERT_EQ(here.program->probes.size(), 1u);
    EXPECT_NE(here.dump().find("n="), std::string::npos) << here.dump();
    // On the hosts, only the snapshots print.
    ASSERT_EQ(hosts.program->probes.size(), 2u);
}

TEST(Placement, AScriptThatProbesNothingElseRunsOnHosts) {
    EXPECT_EQ(placements("probe begin { println(1) exit() }"),
              "begin: runs on each host: the script probes nothing there otherwise\n");
    EXPECT_EQ(globals("global n probe begin { n++ } probe end { println(n) }"),
              "hosts n adds up; ");
}

} // namespace
} // namespace djstap::test
