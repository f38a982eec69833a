// SPDX-License-Identifier: GPL-2.0-or-later
// Metrics as a client of Performance Co-Pilot gets them, without pmcd: from frames to results.
#include "metrics_fixture.h"
#include "pmda/host_info.h"

#include "include/statistic.h"

namespace djstap::pmda {
namespace {

TEST_F(MetricsTest, GlobalsOfEachKindHaveTheirValues) {
    describe("s", {global("n", "number"), global("t", "text"), global("a", "number", 1),
                   global("x", "statistic")});
    EXPECT_EQ(values("s.n"), "error " + std::to_string(PM_ERR_VALUE)); // it has shown nothing yet
    GlobalElement text;
    text.text = "some text";
    show("s", {values_of(0, {element({-5})}), values_of(1, {text}),
               values_of(2, {element({7}, "b"), element({8}, "a")}),
               // count, least, greatest, sum, average
               values_of(3, {element({4, -1, 9, 12, 3})})});
    EXPECT_EQ(values("s.n"), "-5");
    EXPECT_EQ(values("s.t"), "some text");
    EXPECT_EQ(values("s.a"), "a=8 b=7");
    EXPECT_EQ(values("s.x.count"), "4");
    EXPECT_EQ(values("s.x.min"), "-1");
    EXPECT_EQ(values("s.x.max"), "9");
    EXPECT_EQ(values("s.x.sum"), "12");
    EXPECT_EQ(values("s.x.average"), "3");
    EXPECT_EQ(values("s.x.histogram"), "no such name"); // it has none
    EXPECT_EQ(values("s.x"), "no such name");
    const pmID nobody = pmID_build(static_cast<unsigned>(domain_), 4000, 1000);
    EXPECT_EQ(metrics_.fetch({&nobody, 1}, nullptr)->vset[0]->numval, PM_ERR_PMID);
}

// A frame has no global without elements: what was shown before is over.
TEST_F(MetricsTest, WhatIsNotShownHasNoValue) {
    describe("s", {global("n", "number"), global("a", "number", 1), global("x", "statistic")});
    show("s", {values_of(0, {element({1})}), values_of(1, {element({2}, "a")}),
               values_of(2, {element({1, 2, 2, 2, 2})})});
    EXPECT_EQ(values("s.a"), "a=2");
    show("s", {values_of(1, {element({3}, "b")})});
    EXPECT_EQ(values("s.n"), "");
    EXPECT_EQ(values("s.a"), "b=3");
    EXPECT_EQ(values("s.x.count"), "0"); // it has counted none
    EXPECT_EQ(values("s.x.sum"), "");
    metrics_.forget_values("s");
    for (const char* each : {"s.n", "s.a", "s.x.count"})
        EXPECT_EQ(values(each), "error " + std::to_string(PM_ERR_VALUE)) << each;
    // What nobody has described, and what is shown twice, is not taken.
    show("s", {values_of(0, {element({1})}), values_of(0, {element({2})}),
               values_of(3, {element({3})})});
    EXPECT_EQ(values("s.n"), "1");
    show("unknown", {values_of(0, {element({1})})});
    metrics_.forget_values("unknown");
    EXPECT_EQ(values("unknown.n"), "no such name");
}

// A script's elements mostly are the same ones in the same order; any other order is right, too.
TEST_F(MetricsTest, InstancesKeepTheirNumbers) {
    describe("s", {global("a", "number", 1)});
    const auto number_of = [&](const std::string& name) {
        int number = -1;
        EXPECT_GE(pmdaCacheLookupName(description("s.a").indom, name.c_str(), &number, nullptr), 0);
        return number;
    };
    show("s", {values_of(0, {element({1}, "one"), element({2}, "two")})});
    EXPECT_EQ(values("s.a"), "one=1 two=2");
    const int one = number_of("one"), two = number_of("two");
    EXPECT_NE(one, two);
    show("s", {values_of(0, {element({3}, "one"), element({4}, "two")})});
    EXPECT_EQ(values("s.a"), "one=3 two=4");
    show("s", {values_of(0, {element({6}, "two"), element({7}, "three")})});
    EXPECT_EQ(values("s.a"), "three=7 two=6");
    show("s", {values_of(0, {element({8}, "two"), element({9}, "one")})});
    EXPECT_EQ(values("s.a"), "one=9 two=8");
    EXPECT_EQ(number_of("one"), one);
    EXPECT_EQ(number_of("two"), two);
    // So do metrics, whatever globals the script has later.
    const pmID before = id("s.a");
    const pmInDom domain = description("s.a").indom;
    describe("s", {global("b", "number"), global("a", "number", 1)});
    EXPECT_EQ(id("s.a"), before);
    EXPECT_EQ(description("s.a").indom, domain);
    EXPECT_NE(id("s.b"), before);
    EXPECT_EQ(values("s.a"), "error " + std::to_string(PM_ERR_VALUE));
}

TEST_F(MetricsTest, ClientsAskForInstances) {
    describe("s", {global("a", "number", 1), global("b", "number", 1)});
    show("s", {values_of(0, {element({1}, "x"), element({2}, "y"), element({3}, "z")}),
               values_of(1, {element({4}, "x")})});
    const pmInDom domain = description("s.a").indom;
    std::vector<int> two(2);
    ASSERT_GE(pmdaCacheLookupName(domain, "z", &two[0], nullptr), 0);
    ASSERT_GE(pmdaCacheLookupName(domain, "x", &two[1], nullptr), 0);
    pmInDomProfile of{domain, PM_PROFILE_INCLUDE, 2, two.data()};
    pmProfile profile{PM_PROFILE_INCLUDE, 1, &of};
    // pmapi.h: all but some, or some alone.
    EXPECT_EQ(values("s.a", &profile), "y=2");
    EXPECT_EQ(values("s.b", &profile), "x=4");
    of.state = PM_PROFILE_EXCLUDE;
    EXPECT_EQ(values("s.a", &profile), "x=1 z=3");
    of.instances_len = 0;
    EXPECT_EQ(values("s.a", &profile), "");
    profile.state = PM_PROFILE_EXCLUDE;
    EXPECT_EQ(values("s.b", &profile), "");
    of.state = PM_PROFILE_INCLUDE;
    EXPECT_EQ(values("s.a", &profile), "x=1 y=2 z=3");
    // What has no instances is not excluded.
    describe("s", {global("n", "number")});
    show("s", {values_of(0, {element({1})})});
    EXPECT_EQ(values("s.n", &profile), "1");
}

TEST_F(MetricsTest, OfSeveralEachHasItsValues) {
    describe("s", {global("a", "number", 1), global("t", "text")});
    GlobalElement text;
    text.text = std::string(1001, 't'); // of odd length: what follows is aligned
    show("s", {values_of(0, {element({1}, "x"), element({2}, "y")}), values_of(1, {text})});
    const pmID nobody = pmID_build(static_cast<unsigned>(domain_), 4000, 1000);
    const std::vector<pmID> asked = {id("s.t"), nobody, id("s.a"), id("s.t")};
    const pmInDom domain = description("s.a").indom;
    const pmResult* const result = metrics_.fetch(asked, nullptr);
    ASSERT_EQ(result->numpmid, 4);
    EXPECT_EQ(shown(*result->vset[0], PM_INDOM_NULL), text.text);
    EXPECT_EQ(result->vset[1]->numval, PM_ERR_PMID);
    EXPECT_EQ(shown(*result->vset[2], domain), "x=1 y=2");
    EXPECT_EQ(shown(*result->vset[3], PM_INDOM_NULL), text.text);
    for (int i = 0; i < 4; i++)
        EXPECT_EQ(result->vset[i]->pmid, asked[static_cast<size_t>(i)]);
}

// An empty bucket has no instance; one that was counted keeps it while its element is there.
TEST_F(MetricsTest, BucketsAreInstances) {
    ModuleMeta::Global histogram = global("x", "statistic", 1);
    histogram.histogram = true;
    ModuleMeta::Global scalar = global("y", "statistic");
    scalar.histogram = true;
    describe("s", {histogram, scalar});
    const HistogramShape shape{DJS_HISTOGRAM_LINEAR, 4, 0, 19, 10};
    const auto of = [&](uint32_t index, const std::string& key, std::vector<int64_t> buckets) {
        GlobalElement with = element({1, 1, 1, 1, 1}, key);
        with.buckets = std::move(buckets);
        GlobalValues out = values_of(index, {with});
        out.shape = shape;
        return out;
    };
    show("s", {of(0, "k", {0, 2, 0, 0}), of(1, "", {3, 0, 0, 4})});
    EXPECT_EQ(values("s.x.histogram"), "k:0..9=2");
    EXPECT_EQ(values("s.y.histogram"), "<=-1=3 >=20=4");
    show("s", {of(0, "k", {0, 0, 5, 0}), of(1, "", {3, 0, 0, 4})});
    EXPECT_EQ(values("s.x.histogram"), "k:0..9=0 k:10..19=5");
    show("s", {of(0, "l", {0, 0, 1, 0})});
    EXPECT_EQ(values("s.x.histogram"), "l:10..19=1");
    show("s", {of(0, "k", {1, 0, 0, 0})});
    EXPECT_EQ(values("s.x.histogram"), "k:<=-1=1");
}

TEST_F(MetricsTest, DescriptionsFollowFromTheGlobal) {
    ModuleMeta::Global histogram = global("x", "statistic", 0, "Sizes [bytes]");
    histogram.histogram = true;
    describe("s", {global("n", "number", 0, "Calls [counter, count]"), global("t", "text", 1),
                   histogram, global("g", "number", 2, "Now [ms]")});
    pmDesc is = description("s.n");
    EXPECT_EQ(is.type, PM_TYPE_64);
    EXPECT_EQ(is.sem, PM_SEM_COUNTER);
    EXPECT_EQ(is.indom, PM_INDOM_NULL);
    EXPECT_EQ(is.units.dimCount, 1);
    is = description("s.t");
    EXPECT_EQ(is.type, PM_TYPE_STRING);
    EXPECT_EQ(is.sem, PM_SEM_INSTANT);
    EXPECT_NE(is.indom, PM_INDOM_NULL);
    is = description("s.g");
    EXPECT_EQ(is.sem, PM_SEM_INSTANT);
    EXPECT_EQ(is.units.dimTime, 1);
    EXPECT_EQ(is.units.scaleTime, static_cast<unsigned>(PM_TIME_MSEC));
    EXPECT_NE(is.indom, description("s.t").indom);
    // How many there are only grows, and has no bytes; what is least may be anything.
    is = description("s.x.count");
    EXPECT_EQ(is.sem, PM_SEM_COUNTER);
    EXPECT_EQ(is.units.dimSpace, 0);
    EXPECT_EQ(is.units.dimCount, 1);
    is = description("s.x.histogram");
    EXPECT_EQ(is.sem, PM_SEM_COUNTER);
    EXPECT_EQ(is.units.dimCount, 1);
    EXPECT_NE(is.indom, PM_INDOM_NULL);
    is = description("s.x.sum");
    EXPECT_EQ(is.sem, PM_SEM_INSTANT); // it does not say that it is a counter
    EXPECT_EQ(is.units.dimSpace, 1);
    EXPECT_EQ(description("s.x.min").sem, PM_SEM_INSTANT);
    describe("s", {global("x", "statistic", 0, "Sizes [counter bytes]")});
    EXPECT_EQ(description("s.x.sum").sem, PM_SEM_COUNTER);
    EXPECT_EQ(description("s.x.max").sem, PM_SEM_INSTANT);
    EXPECT_EQ(description("s.x.average").sem, PM_SEM_INSTANT);
    // Its help is its comment first.
    EXPECT_EQ(metrics_.help(id("s.x.sum"), true), "Sizes [counter bytes]");
    EXPECT_EQ(metrics_.help(id("s.x.sum"), false),
              "Sizes [counter bytes]\nSum of the values of global x of script s");
    describe("s", {global("n", "number")});
    EXPECT_EQ(metrics_.help(id("s.n"), false), "global n of script s");
    EXPECT_FALSE(metrics_.help(PM_ID_NULL, true));
}

// The same description is no change: clients need not look names up again.
TEST_F(MetricsTest, TellOfChangesAlone) {
    const auto is_told = [&] {
        extension_->e_flags = 0;
        metrics_.publish(*extension_);
        return (extension_->e_flags & PMDA_EXT_NAMES_CHANGE) != 0;
    };
    ModuleMeta::Global one = global("a", "number", 1, "text");
    describe("s", {one});
    EXPECT_TRUE(is_told());
    describe("s", {one});
    EXPECT_FALSE(is_told());
    one.keys = 2; // an array, as before
    describe("s", {one});
    EXPECT_FALSE(is_told());
    const auto changes = [&](const ModuleMeta::Global& next) {
        describe("s", {next});
        const bool told = is_told();
        describe("s", {one});
        is_told();
        return told;
    };
    ModuleMeta::Global other = one;
    other.keys = 0;
    EXPECT_TRUE(changes(other));
    other = one;
    other.value = "text";
    EXPECT_TRUE(changes(other));
    other = one;
    other.description = "other";
    EXPECT_TRUE(changes(other));
    other = one;
    other.histogram = true;
    EXPECT_TRUE(changes(other));
    other = one;
    other.name = "b";
    EXPECT_TRUE(changes(other));
    describe("s", {one, other});
    EXPECT_TRUE(is_told());
    metrics_.remove("none");
    EXPECT_FALSE(is_told());
}

TEST_F(MetricsTest, ScriptsTellHowTheyAre) {
    ScriptStatus& status = metrics_.script("a-b");
    EXPECT_EQ(&metrics_.script("a-b"), &status);
    EXPECT_EQ(values("agent.script.state"), "a_b=waiting");
    EXPECT_EQ(values("agent.script.owner"), "a_b=root");
    EXPECT_EQ(values("agent.script.message"), "a_b=");
    status.state = "running";
    status.message = "of this";
    status.owner = "user";
    status.starts = 3;
    GlobalsFrame frame;
    frame.incomplete = true;
    frame.counts.lost_records = 1;
    frame.counts.oversized = 2;
    frame.counts.skipped_busy = 10;
    frame.counts.skipped_locked = 20;
    frame.counts.skipped_stack = 40;
    frame.counts.skipped_kretprobe = 80;
    frame.counts.skipped_kprobe = 160;
    frame.counts.missed_calls = 320;
    frame.counts.errors = 5;
    metrics_.show("a-b", frame);
    frame.incomplete = false;
    metrics_.show("a-b", frame);
    EXPECT_EQ(values("agent.script.state"), "a_b=running");
    EXPECT_EQ(values("agent.script.message"), "a_b=of this");
    EXPECT_EQ(values("agent.script.owner"), "a_b=user");
    EXPECT_EQ(values("agent.script.starts"), "a_b=3");
    EXPECT_EQ(values("agent.script.snapshots"), "a_b=2");
    EXPECT_EQ(values("agent.script.incomplete"), "a_b=1");
    EXPECT_EQ(values("agent.script.lost"), "a_b=3");
    EXPECT_EQ(values("agent.script.skipped"), "a_b=630");
    EXPECT_EQ(values("agent.script.errors"), "a_b=5");
    metrics_.script("c").starts = 9;
    EXPECT_EQ(values("agent.script.starts"), "a_b=3 c=9");
    metrics_.remove("a-b");
    EXPECT_EQ(values("agent.script.starts"), "c=9");
    // A name that comes back is a new script.
    metrics_.script("a-b");
    EXPECT_EQ(values("agent.script.starts"), "a_b=0 c=9");
}

TEST_F(MetricsTest, ARemovedScriptHasNoMetrics) {
    describe("s", {global("n", "number")});
    show("s", {values_of(0, {element({1})})});
    const pmID before = id("s.n");
    metrics_.remove("s");
    EXPECT_EQ(values("s.n"), "no such name");
    EXPECT_EQ(metrics_.fetch({&before, 1}, nullptr)->vset[0]->numval, PM_ERR_PMID);
    // Archives expect the same identifier of the same name.
    describe("s", {global("n", "number")});
    EXPECT_EQ(id("s.n"), before);
    EXPECT_EQ(values("s.n"), "error " + std::to_string(PM_ERR_VALUE));
}

TEST_F(MetricsTest, FactsAreTexts) {
    EXPECT_EQ(values("agent.version"), ""); // it is not known yet
    metrics_.tell(Fact::Version, "1.2");
    metrics_.tell(Fact::Store, "no: it has no permission");
    EXPECT_EQ(values("agent.version"), "1.2");
    EXPECT_EQ(values("agent.kernel.release"), "");
    EXPECT_EQ(values("agent.store"), "no: it has no permission");
    EXPECT_EQ(id("agent.store"), metrics_.id_of(Fact::Store));
    EXPECT_EQ(values("agent.stores"), "0");
    metrics_.count(Fact::Stores);
    metrics_.count(Fact::Stores);
    metrics_.count(Fact::Refusals);
    EXPECT_EQ(values("agent.stores"), "2");
    EXPECT_EQ(values("agent.refusals"), "1");
    EXPECT_EQ(description("agent.stores").sem, PM_SEM_COUNTER);
    EXPECT_EQ(description("agent.version").sem, PM_SEM_DISCRETE);
    EXPECT_EQ(description("agent.version").type, PM_TYPE_STRING);
    metrics_.add_info({{"headers", true, "there"}, {"kprobes", false, "none"}});
    metrics_.add_info({{"headers", false, "of another source"}});
    EXPECT_EQ(values("agent.info.present"), "headers=1 kprobes=0");
    EXPECT_EQ(values("agent.info.value"), "headers=there kprobes=none");
    EXPECT_EQ(metrics_.help(id("agent.store"), true), "Whether this connection may store scripts");
}

// So many keys that came and went are forgotten: only those that are there have numbers then.
TEST_F(MetricsTest, FormerInstancesAreForgottenInTheEnd) {
    describe("s", {global("a", "number", 1)});
    const pmInDom domain = description("s.a").indom;
    const auto show_keys = [&](int first, int count) {
        std::vector<GlobalElement> elements;
        for (int i = 0; i < count; i++)
            elements.push_back(element({i}, "k" + std::to_string(first + i)));
        show("s", {values_of(0, std::move(elements))});
    };
    show_keys(0, 10'010);
    show_keys(20'000, 1);
    // 10,010 former ones are as many as one element may have.
    EXPECT_EQ(pmdaCacheOp(domain, PMDA_CACHE_SIZE_INACTIVE), 10'010);
    const auto has_number = [&](const char* name) {
        return pmdaCacheLookupName(domain, name, nullptr, nullptr) >= 0;
    };
    EXPECT_TRUE(has_number("k0"));
    show_keys(30'000, 1);
    EXPECT_EQ(pmdaCacheOp(domain, PMDA_CACHE_SIZE_INACTIVE), 0);
    EXPECT_FALSE(has_number("k0"));
    EXPECT_FALSE(has_number("k20000"));
    EXPECT_TRUE(has_number("k30000"));
    EXPECT_EQ(values("s.a"), "k30000=0");
}

} // namespace
} // namespace djstap::pmda
