// SPDX-License-Identifier: GPL-2.0-or-later
// The identifiers and descriptions of metrics, which archives expect not to change, and the
// instances that clients see.
#include "metrics_fixture.h"

#include "include/recorder.h"
#include "include/statistic.h"

#include <set>

namespace djstap::pmda {
namespace {

using Identifiers = MetricsTest;

unsigned cluster_of(pmID id) {
    return pmID_cluster(id);
}

unsigned item_of(pmID id) {
    return pmID_item(id);
}

constexpr int of_the_agent = 17; // metrics

TEST_F(Identifiers, OfTheAgentStayWhatTheyAre) {
    const pmInDom none = PM_INDOM_NULL;
    const pmInDom scripts = pmInDom_build(static_cast<unsigned>(domain_), 0),
                  info = pmInDom_build(static_cast<unsigned>(domain_), 1);
    const struct {
        const char* name;
        unsigned item;
        int type, semantics;
        pmInDom instances;
    } all[] = {{"version", 0, PM_TYPE_STRING, PM_SEM_DISCRETE, none},
               {"kernel.release", 1, PM_TYPE_STRING, PM_SEM_DISCRETE, none},
               {"kernel.build_id", 2, PM_TYPE_STRING, PM_SEM_DISCRETE, none},
               {"script.state", 3, PM_TYPE_STRING, PM_SEM_INSTANT, scripts},
               {"script.message", 4, PM_TYPE_STRING, PM_SEM_INSTANT, scripts},
               {"script.starts", 5, PM_TYPE_U64, PM_SEM_COUNTER, scripts},
               {"script.snapshots", 6, PM_TYPE_U64, PM_SEM_COUNTER, scripts},
               {"script.incomplete", 7, PM_TYPE_U64, PM_SEM_COUNTER, scripts},
               {"script.lost", 8, PM_TYPE_U64, PM_SEM_COUNTER, scripts},
               {"script.skipped", 9, PM_TYPE_U64, PM_SEM_COUNTER, scripts},
               {"script.errors", 10, PM_TYPE_U64, PM_SEM_COUNTER, scripts},
               {"store", 11, PM_TYPE_STRING, PM_SEM_DISCRETE, none},
               {"stores", 12, PM_TYPE_U64, PM_SEM_COUNTER, none},
               {"refusals", 13, PM_TYPE_U64, PM_SEM_COUNTER, none},
               {"script.owner", 14, PM_TYPE_STRING, PM_SEM_INSTANT, scripts},
               {"info.present", 15, PM_TYPE_U64, PM_SEM_DISCRETE, info},
               {"info.value", 16, PM_TYPE_STRING, PM_SEM_DISCRETE, info}};
    for (const auto& each : all) {
        const pmDesc is = description(std::string("agent.") + each.name);
        EXPECT_EQ(is.pmid, pmID_build(static_cast<unsigned>(domain_), 0, each.item)) << each.name;
        EXPECT_EQ(is.type, each.type) << each.name;
        EXPECT_EQ(is.sem, each.semantics) << each.name;
        EXPECT_EQ(is.indom, each.instances) << each.name;
        EXPECT_EQ(is.units.dimCount, each.semantics == PM_SEM_COUNTER ? 1 : 0) << each.name;
        EXPECT_EQ(is.units.dimSpace, 0) << each.name;
        EXPECT_EQ(is.units.dimTime, 0) << each.name;
    }
    EXPECT_EQ(extension_->e_nmetrics, of_the_agent);
}

// So they are the same in each run, whatever other scripts there are.
TEST_F(Identifiers, OfScriptsFollowFromTheirNames) {
    const auto hash = [](const std::string& name) {
        return djs_hash_bytes(name.data(), name.size());
    };
    describe("reads", {global("calls", "number"), global("size", "statistic")});
    EXPECT_EQ(cluster_of(id("reads.calls")), 1 + hash("reads") % 4095);
    EXPECT_EQ(item_of(id("reads.calls")), hash("calls") % 1024);
    EXPECT_EQ(item_of(id("reads.size.sum")), hash("size.sum") % 1024);
}

// pmapi.h: a cluster has 12 bits, an item ten. The agent's own cluster is 0.
TEST_F(Identifiers, AreThoseOfAsManyScriptsAsPcpCanNumber) {
    constexpr int most = 4095;
    const auto name = [](int number) { return "s" + std::to_string(number); };
    for (int i = 0; i < most; i++)
        describe(name(i), {global("n", "number")});
    metrics_.publish(*extension_);
    std::set<unsigned> seen;
    for (int i = 0; i < extension_->e_nmetrics; i++)
        seen.insert(cluster_of(extension_->e_metrics[i].m_desc.pmid));
    EXPECT_EQ(seen.size(), size_t{most} + 1);
    EXPECT_EQ(extension_->e_nmetrics, of_the_agent + most);
    describe("more", {global("n", "number")});
    EXPECT_EQ(id("more.n"), PM_ID_NULL);
    EXPECT_EQ(metrics_.script("more").message,
              "it has more metrics than Performance Co-Pilot can name");
    EXPECT_EQ(metrics_.script(name(most - 1)).message, "");
    // There is room again.
    const unsigned freed = cluster_of(id("s7.n"));
    metrics_.remove("more");
    metrics_.remove("s7");
    describe("more", {global("n", "number")});
    EXPECT_EQ(cluster_of(id("more.n")), freed);
}

TEST_F(Identifiers, AreThoseOfAsManyGlobalsAsPcpCanNumber) {
    constexpr int most = 1024;
    std::vector<ModuleMeta::Global> globals;
    for (int i = 0; i < most; i++)
        globals.push_back(global("n" + std::to_string(i), "number"));
    describe("s", globals);
    metrics_.publish(*extension_);
    std::set<pmID> seen;
    for (int i = 0; i < extension_->e_nmetrics; i++)
        seen.insert(extension_->e_metrics[i].m_desc.pmid);
    EXPECT_EQ(seen.size(), size_t{of_the_agent + most});
    EXPECT_EQ(metrics_.script("s").message, "");
    globals.push_back(global("more", "number"));
    describe("s", globals);
    EXPECT_EQ(id("s.more"), PM_ID_NULL);
    EXPECT_NE(id("s.n0"), PM_ID_NULL);
    EXPECT_EQ(metrics_.script("s").message,
              "it has more metrics than Performance Co-Pilot can name");
}

// a-b and a_b are one name: the metrics are those of one of them, as a whole.
TEST_F(Identifiers, OfOneNameAreThoseOfOneScript) {
    for (const char* script : {"a-b", "a_b"}) {
        describe(script, {global("n", "number")});
        show(script, {values_of(0, {element({script[1] == '-' ? 1 : 2})})});
    }
    EXPECT_EQ(values("a_b.n"), "1");
    EXPECT_EQ(extension_->e_nmetrics, of_the_agent + 1);
}

TEST_F(Identifiers, OfATextTellNoUnit) {
    describe("s", {global("t", "text", 0, "The last one [counter, ms]")});
    const pmDesc is = description("s.t");
    EXPECT_EQ(is.type, PM_TYPE_STRING);
    EXPECT_EQ(is.sem, PM_SEM_INSTANT);
    EXPECT_EQ(is.units.dimTime, 0);
}

// pmcd lists the instances that PCP's library has as active ones.
TEST_F(Identifiers, OfInstancesAreListedWhileTheyAreThere) {
    ModuleMeta::Global histogram = global("x", "statistic", 1);
    histogram.histogram = true;
    describe("s", {global("a", "number", 1), histogram});
    const pmInDom elements = description("s.a").indom, buckets = description("s.x.histogram").indom,
                  scripts = description("agent.script.state").indom;
    const auto active = [](pmInDom domain) { return pmdaCacheOp(domain, PMDA_CACHE_SIZE_ACTIVE); };
    const auto show_key = [&](const std::string& key, std::vector<int64_t> counts) {
        GlobalElement with = element({1, 1, 1, 1, 1}, key);
        with.buckets = std::move(counts);
        GlobalValues of = values_of(1, {with});
        of.shape = HistogramShape{DJS_HISTOGRAM_LINEAR, 4, 0, 19, 10};
        show("s", {values_of(0, {element({1}, key), element({2}, key + "2")}), of});
    };
    show_key("k", {1, 0, 1, 1});
    EXPECT_EQ(active(elements), 2);
    EXPECT_EQ(active(buckets), 3);
    show_key("l", {0, 0, 1, 0});
    EXPECT_EQ(active(elements), 2);
    EXPECT_EQ(active(buckets), 1);
    metrics_.forget_values("s");
    EXPECT_EQ(active(elements), 0);
    EXPECT_EQ(active(buckets), 0);
    EXPECT_EQ(active(scripts), 1);
    metrics_.remove("s");
    EXPECT_EQ(active(scripts), 0);
}

// As those of elements are: see MetricsTest.FormerInstancesAreForgottenInTheEnd.
TEST_F(Identifiers, OfFormerBucketsAreForgottenInTheEnd) {
    ModuleMeta::Global histogram = global("x", "statistic", 1);
    histogram.histogram = true;
    describe("s", {histogram});
    const pmInDom buckets = description("s.x.histogram").indom;
    const auto show_keys = [&](int first, int count) {
        GlobalValues of = values_of(0, {});
        of.shape = HistogramShape{DJS_HISTOGRAM_LINEAR, 3, 0, 10, 10};
        for (int i = 0; i < count; i++) {
            of.elements.push_back(element({1, 1, 1, 1, 1}, "k" + std::to_string(first + i)));
            of.elements.back().buckets = {0, 1, 0};
        }
        show("s", {std::move(of)});
    };
    show_keys(0, 10'010);
    show_keys(20'000, 1);
    EXPECT_EQ(pmdaCacheOp(buckets, PMDA_CACHE_SIZE_INACTIVE), 10'010);
    show_keys(30'000, 1);
    EXPECT_EQ(pmdaCacheOp(buckets, PMDA_CACHE_SIZE_INACTIVE), 0);
    EXPECT_EQ(values("s.x.histogram"), "k30000:0..9=1");
}

// pmcd sets the time of a result; that of the next one is not this one's.
TEST_F(Identifiers, OfNothingHaveNoValues) {
    pmResult* const result = metrics_.fetch({}, nullptr);
    EXPECT_EQ(result->numpmid, 0);
    result->timestamp.tv_sec = 5;
    result->timestamp.tv_usec = 6;
    const pmID version = id("agent.version");
    const pmResult* const next = metrics_.fetch({&version, 1}, nullptr);
    EXPECT_EQ(next->numpmid, 1);
    EXPECT_EQ(next->vset[0]->numval, 0);
    EXPECT_EQ(next->timestamp.tv_sec, 0);
    EXPECT_EQ(next->timestamp.tv_usec, 0);
}

} // namespace
} // namespace djstap::pmda
