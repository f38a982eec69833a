// SPDX-License-Identifier: GPL-2.0-or-later
// The part of a script on many machines that runs where the user is: what hosts have counted is
// added to its globals, or takes their place.
#include "inprocess/merged_script.h"

#include "harness/user_object.h"
#include "include/statistic.h"
#include "unit/semantics/analysis.h"

#include <algorithm>
#include <climits>
#include <cstdint>
#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace djstap {
namespace {

constexpr const char* hit = "probe kernel.function(\"f\") ";

GlobalElement element(std::vector<int64_t> numbers, std::string keys = "") {
    GlobalElement made;
    made.keys = std::move(keys);
    made.has = static_cast<uint8_t>(numbers.size());
    std::copy(numbers.begin(), numbers.end(), made.numbers.begin());
    return made;
}
// The numbers of a statistic are its count, minimum, maximum, sum and average.
GlobalElement statistic(int64_t count, int64_t least, int64_t most, int64_t sum,
                        std::vector<int64_t> buckets = {}, std::string keys = "") {
    GlobalElement made = element({count, least, most, sum, sum / count}, std::move(keys));
    made.buckets = std::move(buckets);
    return made;
}
std::string keys_with(int64_t number, const std::string& text) {
    ElementKeys keys;
    keys.add(number);
    keys.add(text);
    return keys.bytes();
}
std::string key(int64_t number) {
    ElementKeys keys;
    keys.add(number);
    return keys.bytes();
}

// A script's part on the controller.
class Merged {
  public:
    explicit Merged(const std::string& script, const Limits& limits = {})
        : analysis_(script, on_controller()), file_(memfd_create("output", MFD_CLOEXEC)),
          writer_(std::in_place, file_, "the output") {
        if (!analysis_.program) {
            ADD_FAILURE() << analysis_.errors();
            return;
        }
        CodegenOptions options;
        options.limits = limits;
        const auto object = test::user_object(*analysis_.program, options, analysis_.diagnostics);
        if (!object) {
            ADD_FAILURE() << analysis_.errors();
            return;
        }
        auto linked = MergedScript::link(object->object, object->meta, 1 << 16,
                                         analysis_.program->globals, {}, *writer_);
        if (!linked)
            ADD_FAILURE() << linked.failure().message;
        else
            script_ = std::move(*linked);
    }
    ~Merged() { close(file_); }
    MergedScript* operator->() const { return script_.get(); }
    explicit operator bool() const { return !!script_; }
    // Runs the end probes, and returns what was printed.
    std::string printed() {
        EXPECT_EQ(script_->finish().status, 0);
        std::string text(4096, '\0');
        const ssize_t bytes = pread(file_, text.data(), text.size(), 0);
        text.resize(bytes > 0 ? static_cast<size_t>(bytes) : 0);
        return text;
    }

  private:
    static SemanticsOptions on_controller() {
        SemanticsOptions options;
        options.side = SemanticsOptions::Side::Controller;
        return options;
    }
    test::Analysis analysis_;
    int file_;
    std::optional<Writer> writer_;
    std::unique_ptr<MergedScript> script_;
};

std::string failure_of(const Status& status) {
    return status ? "" : status.failure().message;
}

TEST(MergedScripts, AddNumbers) {
    Merged merged(std::string("global n = 7 ") + hit + "{ n++ } probe end { println(n) }");
    ASSERT_TRUE(merged);
    merged->begin();
    EXPECT_FALSE(merged->exit_requested());
    EXPECT_FALSE(merged->is_due());
    EXPECT_EQ(failure_of(merged->add("n", {element({5})})), "");
    EXPECT_EQ(failure_of(merged->add("n", {element({3}), element({2})})), "");
    EXPECT_EQ(failure_of(merged->add("n", {})), "");
    // What hosts have and this part does not is of no interest.
    EXPECT_EQ(failure_of(merged->add("other", {element({3})})), "");
    EXPECT_EQ(failure_of(merged->replace("other", {element({3})})), "");
    EXPECT_EQ(merged.printed(), "17\n");
}

// The sum begins with the initial value on hosts, too: it is counted once.
TEST(MergedScripts, ReplaceNumbers) {
    const std::string script =
        std::string("global n = 7 ") + hit + "{ n++ } probe end { println(n) }";
    for (const bool any : {true, false}) {
        Merged merged(script);
        ASSERT_TRUE(merged);
        merged->begin();
        EXPECT_EQ(failure_of(merged->add("n", {element({5})})), "");
        EXPECT_EQ(failure_of(merged->replace("n", any ? std::vector{element({9})}
                                                      : std::vector<GlobalElement>())),
                  "");
        EXPECT_EQ(merged.printed(), any ? "9\n" : "7\n");
    }
}

TEST(MergedScripts, SumsGoRoundAsThoseOfHandlersDo) {
    Merged merged(std::string("global n ") + hit + "{ n++ } probe end { println(n) }");
    ASSERT_TRUE(merged);
    merged->begin();
    EXPECT_EQ(failure_of(merged->add("n", {element({INT64_MAX}), element({2})})), "");
    EXPECT_EQ(merged.printed(), "-9223372036854775807\n");
}

const std::string of_array = std::string("global a ") + hit +
                             "{ a[pid(), execname()] += 2 } probe end { foreach ([p+, e] in a) "
                             "printf(\"%d %s %d\\n\", p, e, a[p, e]) }";

TEST(MergedScripts, AddElements) {
    Merged merged(of_array);
    ASSERT_TRUE(merged);
    merged->begin();
    EXPECT_EQ(failure_of(merged->add("a", {element({1}, keys_with(4, "sh")),
                                           element({10}, keys_with(4, "sed")),
                                           element({100}, keys_with(-3, "sh"))})),
              "");
    EXPECT_EQ(failure_of(merged->add("a", {element({5}, keys_with(-3, "sh"))})), "");
    EXPECT_EQ(merged.printed(), "-3 sh 105\n4 sh 1\n4 sed 10\n");
}

TEST(MergedScripts, ReplaceElements) {
    Merged merged(of_array);
    ASSERT_TRUE(merged);
    merged->begin();
    EXPECT_EQ(failure_of(merged->add(
                  "a", {element({1}, keys_with(4, "sh")), element({1}, keys_with(5, "sh"))})),
              "");
    EXPECT_EQ(failure_of(merged->replace("a", {element({2}, keys_with(5, "sh"))})), "");
    EXPECT_EQ(merged.printed(), "5 sh 2\n");
}

// A host may say anything; what fits is counted nevertheless.
TEST(MergedScripts, RefuseElementsWithOtherKeys) {
    Limits limits;
    limits.MAXSTRINGLEN = 16;
    Merged merged(of_array, limits);
    ASSERT_TRUE(merged);
    merged->begin();
    const std::string others = "an element of 'a' has other keys";
    ElementKeys swapped, three;
    swapped.add("sh");
    swapped.add(int64_t{4});
    three.add(int64_t{4});
    three.add("sh");
    three.add(int64_t{4});
    for (const std::string& keys : {key(4), swapped.bytes(), three.bytes(), std::string(),
                                    std::string("?"), keys_with(4, "sh") + "?"})
        EXPECT_EQ(failure_of(merged->add("a", {element({1}, keys)})), others)
            << testing::PrintToString(keys);
    // A string has 15 bytes and its end.
    EXPECT_EQ(failure_of(merged->add("a", {element({1}, keys_with(4, std::string(16, 'x')))})),
              "a key of 'a' is longer than MAXSTRINGLEN");
    EXPECT_EQ(failure_of(merged->add("a", {element({1}, key(4)),
                                           element({1}, keys_with(4, std::string(16, 'x'))),
                                           element({2}, keys_with(4, std::string(15, 'x')))})),
              others); // the first one
    EXPECT_EQ(merged.printed(), "4 xxxxxxxxxxxxxxx 2\n");
}

TEST(MergedScripts, RefuseElementsThatHaveNoRoom) {
    Limits limits;
    limits.MAXMAPENTRIES = 2;
    Merged merged(of_array, limits);
    ASSERT_TRUE(merged);
    merged->begin();
    const Status added =
        merged->add("a", {element({1}, keys_with(1, "a")), element({1}, keys_with(2, "b")),
                          element({1}, keys_with(3, "c")), element({4}, keys_with(1, "a"))});
    ASSERT_FALSE(added);
    EXPECT_EQ(added.failure().message, "'a' has no room for the elements of all hosts");
    EXPECT_EQ(added.failure().hint, "-D MAXMAPENTRIES makes room");
    EXPECT_EQ(merged.printed(), "1 a 5\n2 b 1\n");
}

const std::string of_statistics =
    std::string("global s, t ") + hit +
    "{ s <<< 3; t[cpu()] <<< 4 } probe end { println(@count(s), \" \", @sum(s), \" \", "
    "@min(s), \" \", @max(s)); foreach (c+ in t) println(c, \" \", @count(t[c]), \" \", "
    "@max(t[c])) }";

TEST(MergedScripts, MergeStatistics) {
    Merged merged(of_statistics);
    ASSERT_TRUE(merged);
    merged->begin();
    EXPECT_EQ(failure_of(merged->add("s", {statistic(2, 3, 9, 12)})), "");
    EXPECT_EQ(failure_of(merged->add("s", {statistic(3, -1, 4, 6)})), "");
    EXPECT_EQ(failure_of(merged->add("t", {statistic(1, 5, 5, 5, {}, key(0)),
                                           statistic(1, 6, 6, 6, {}, key(2)),
                                           statistic(1, 7, 7, 7, {}, key(0))})),
              "");
    EXPECT_EQ(merged.printed(), "5 18 -1 9\n0 2 7\n2 1 6\n");
}

// Buckets below 0, from 0, 5 and 10 on, and above 14; and those of powers of two.
TEST(MergedScripts, MergeHistograms) {
    Merged merged(std::string("global s, l ") + hit +
                  "{ s <<< 3; l <<< 3 } probe end { foreach (b in @hist_linear(s, 0, 10, 5)) "
                  "print(@hist_linear(s, 0, 10, 5)[b], \" \"); println(@hist_log(l)[0], \" \", "
                  "@hist_log(l)[127]) }");
    ASSERT_TRUE(merged);
    merged->begin();
    EXPECT_EQ(failure_of(merged->add("s", {statistic(3, 1, 12, 18, {0, 1, 1, 1, 0})})), "");
    EXPECT_EQ(failure_of(merged->add("s", {statistic(2, -1, 20, 19, {1, 0, 0, 0, 1})})), "");
    // A host that tells other numbers of them.
    EXPECT_EQ(failure_of(merged->add("s", {statistic(1, 1, 1, 1, {10, 10})})), "");
    EXPECT_EQ(failure_of(merged->add("s", {statistic(1, 1, 1, 1, {0, 0, 0, 0, 100, 7, 7, 7})})),
              "");
    std::vector<int64_t> logs(DJS_LOG_BUCKETS, 0);
    logs.front() = 2;
    logs.back() = 3;
    EXPECT_EQ(failure_of(merged->add("l", {statistic(5, 1, 1, 5, logs)})), "");
    EXPECT_EQ(merged.printed(), "11 11 1 1 101 2 3\n");
}

TEST(MergedScripts, AreNoneWithoutTheirObject) {
    Writer writer(STDERR_FILENO, "the messages");
    EXPECT_FALSE(MergedScript::link("", "no description", 4096, {}, {}, writer));
    EXPECT_FALSE(
        MergedScript::link("no object", R"({"version":1,"name":"x"})", 4096, {}, {}, writer));
}

} // namespace
} // namespace djstap
