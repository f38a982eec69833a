// SPDX-License-Identifier: GPL-2.0-or-later
// What each kind of output makes of what is not an event: errors, probes, counts, listings, facts.
#include "session/outputs.h"

#include "system/file.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/mman.h>
#include <unistd.h>

namespace djstap {
namespace {

// What an output wrote, and its messages.
struct Written {
    std::string out, messages;
};

template <class Use> Written written(bool json, bool verbose, const Use& use) {
    const FileDescriptor out(memfd_create("out", 0)), messages(memfd_create("messages", 0));
    {
        Writer writer(out.get(), "out"), other(messages.get(), "messages");
        const OutputStreams streams{writer, other, true, verbose};
        const auto output = json ? make_json_output(streams) : make_text_output(streams);
        use(*output);
        writer.flush();
    }
    Written all;
    read_from_start(out.get(), all.out);
    read_from_start(messages.get(), all.messages);
    return all;
}

template <class Use> std::string text_of(const Use& use, bool verbose = false) {
    return written(false, verbose, use).out;
}

template <class Use> std::string json_of(const Use& use) {
    const Written all = written(true, false, use);
    EXPECT_EQ(all.messages, "");
    return all.out;
}

std::string error_data(std::string_view place) {
    const auto object =
        nlohmann::json::parse(json_of([&](Output& output) { output.error("bad", place); }));
    EXPECT_EQ(object["type"], "runtime_error");
    return object["data"].dump();
}

} // namespace

TEST(JsonOutput, ErrorsHaveTheirPlaceInParts) {
    EXPECT_EQ(error_data("f() at a b.stp:12:345"),
              R"x({"column":345,"file":"a b.stp","line":12,"message":"bad","place":"f()"})x");
    EXPECT_EQ(error_data("x at a:1:2"),
              R"({"column":2,"file":"a","line":1,"message":"bad","place":"x"})");
}

TEST(JsonOutput, PlacesOfAnotherFormStayWhole) {
    for (const char* place : {"somewhere", "x at a", "x at a:1", "a:1:2", ":", "a: at b"})
        EXPECT_EQ(error_data(place), nlohmann::json({{"message", "bad"}, {"place", place}}).dump());
    EXPECT_EQ(error_data(""), R"({"message":"bad"})");
}

TEST(JsonOutput, ProbesAreCountedAndDescribed) {
    EXPECT_EQ(
        json_of([](Output& output) {
            output.probes({{"a", 1, "djprobe", "djprobe", "", true, 0},
                           {"b", 1, "kprobe", "djprobe", "busy", true, 0},
                           {"c", 1, "kprobe", "kprobe", "no", false, 0},
                           {"", 3, "kprobe", "", "busy", true, 0}});
        }),
        R"({"type":"attached_probes","data":{"probes":5,"list":[)"
        R"({"point":"a","mechanism":"djprobe","attached":true},)"
        R"({"point":"b","mechanism":"kprobe","attached":true,"planned":"djprobe","reason":"busy"},)"
        R"({"point":"c","mechanism":"kprobe","attached":false,"planned":"kprobe","reason":"no"},)"
        R"({"more":3,"mechanism":"kprobe","attached":true,"reason":"busy"}]}})"
        "\n");
}

TEST(JsonOutput, EachCountHasItsName) {
    EXPECT_EQ(
        json_of([](Output& output) {
            output.counts({.lost_records = 1,
                           .oversized = 2,
                           .overwritten = 3,
                           .skipped_busy = 4,
                           .skipped_locked = 5,
                           .skipped_stack = 6,
                           .skipped_kretprobe = 7,
                           .skipped_kprobe = 8,
                           .not_followed = 9,
                           .deep_hits = 10,
                           .short_stacks = 11,
                           .unread_programs = 12,
                           .errors = 13,
                           .failed_sites = 14,
                           .inside = 15,
                           .pinned = 16,
                           .missed_calls = 17});
        }),
        R"({"type":"lost_events","data":{"events":1,"oversized":2,"overwritten":3,)"
        R"("skipped_busy":4,"skipped_locked":5,"skipped_stack":6,"skipped_kretprobe":7,)"
        R"("skipped_kprobe":8,"missed_calls":17,"not_followed":9,"deep_hits":10,"short_stacks":11,)"
        R"("unread_programs":12,"errors":13,"failed_sites":14,"inside":15,"pinned":16}})"
        "\n");
}

TEST(JsonOutput, ListsPointsWithWhatIsKnownOfThem) {
    EXPECT_EQ(json_of([](Output& output) {
                  output.listed({"p", "djprobe", "fits", {"a:long"}, true, true});
                  output.listed({"q", "", "", {"not asked for"}, false, true});
                  output.listed({"r", "", "", {}, true, false});
              }),
              R"({"mechanism":"djprobe","point":"p","reason":"fits","variables":["a:long"]})"
              "\n"
              R"({"point":"q"})"
              "\n"
              R"({"point":"r","variables":[]})"
              "\n");
}

TEST(JsonOutput, FactsAreOneObject) {
    const auto facts = nlohmann::json::parse(json_of([](Output& output) {
        output.facts(
            "1.2", "djstap 1.2",
            {{"Kernel", {{"headers", false, "none", "install them"}, {"BTF", true, "yes", ""}}},
             {"Empty", {}}});
    }));
    EXPECT_EQ(facts, nlohmann::json::parse(R"({"version":"1.2","chapters":[
        {"title":"Kernel","facts":[
            {"name":"headers","present":false,"value":"none","remedy":"install them"},
            {"name":"BTF","present":true,"value":"yes"}]},
        {"title":"Empty","facts":[]}]})"));
}

// People read it, too.
TEST(JsonOutput, FactsAreIndentedByTwoSpaces) {
    EXPECT_EQ(
        json_of([](Output& output) { output.facts("1.2", "djstap 1.2", {{"None", {}}}); }),
        "{\n  \"chapters\": [\n    {\n      \"facts\": [],\n      \"title\": \"None\"\n    }\n"
        "  ],\n  \"version\": \"1.2\"\n}\n");
}

const std::vector<ListedTool> some_tools = {
    {"long-name", "disk", "how slow", {{"rows", "integer", "20", "the \"most\""}}},
    {"b", "disk", "what", {}},
    {"c", "files", "which", {}}};

TEST(JsonOutput, EachToolIsAnObject) {
    EXPECT_EQ(json_of([](Output& output) { output.tools(some_tools); }),
              R"({"name":"long-name","subject":"disk","summary":"how slow","options":)"
              R"([{"name":"rows","type":"integer","default":"20","text":"the \"most\""}]})"
              "\n"
              R"({"name":"b","subject":"disk","summary":"what","options":[]})"
              "\n"
              R"({"name":"c","subject":"files","summary":"which","options":[]})"
              "\n");
}

TEST(TextOutput, ToolsAreGroupedBySubject) {
    EXPECT_EQ(written(false, false, [](Output& output) { output.tools(some_tools); }).out,
              "disk\n  long-name  how slow\n  b          what\n\nfiles\n  c          which\n");
}

TEST(JsonOutput, TellsOfAllProbesAndMechanisms) {
    const Written ignored = written(true, false, [](Output& output) {
        EXPECT_TRUE(output.wants_all_probes());
        EXPECT_TRUE(output.lists_mechanisms());
        EXPECT_FALSE(output.prints_text());
    });
    EXPECT_EQ(ignored.out, "");
}

TEST(TextOutput, TellsOfAllProbesWhenItIsAskedFor) {
    for (bool verbose : {false, true})
        written(false, verbose, [&](Output& output) {
            EXPECT_EQ(output.wants_all_probes(), verbose);
            EXPECT_FALSE(output.lists_mechanisms());
            EXPECT_TRUE(output.prints_text());
        });
}

TEST(TextOutput, ProbesThatAreNotListedAreANumber) {
    EXPECT_EQ(written(false, true,
                      [](Output& output) {
                          output.probes({{"begin", 1, "session", "session", "", true, 0},
                                         {"end", 1, "session", "session", "no", false, 0},
                                         {"", 3, "kprobe", "", "busy", true, 0},
                                         {"", 2, "kprobe", "", "", true, 0}});
                      })
                  .messages,
              "end: not attached: no\n3 more: kprobe: busy\n2 more: kprobe\n");
}

TEST(TextOutput, ListsPointsAsSystemTapDoes) {
    EXPECT_EQ(text_of([](Output& output) {
                  output.listed({"p", "djprobe", "fits", {"a:long", "b:long"}, true, false});
                  output.listed({"q", "djprobe", "", {}, false, true});
                  output.listed({"r", "kprobe", "why", {"c:long"}, true, true});
                  output.listed({"s", "", "why", {}, true, true});
              }),
              "p a:long b:long\nq  # djprobe\nr c:long  # kprobe: why\ns\n");
}

TEST(TextOutput, FactsAreALineEach) {
    EXPECT_EQ(
        text_of([](Output& output) {
            output.facts(
                "1.2", "djstap 1.2",
                {{"Kernel", {{"headers", false, "none", "install them"}, {"BTF", true, "yes", ""}}},
                 {"Disk", {}}});
        }),
        "djstap 1.2\nKernel\n  - headers: none\n      install them\n  + BTF: yes\n\nDisk\n");
}

// The output in front of a message comes before it, and both at once: scripts run for long.
TEST(TextOutput, MessagesDoNotWait) {
    const FileDescriptor out(memfd_create("out", 0)), messages(memfd_create("messages", 0));
    Writer writer(out.get(), "out"), other(messages.get(), "messages");
    const auto output = make_text_output({writer, other, true, false});
    writer.append("one\n");
    output->warning("two");
    std::string before, message;
    read_from_start(out.get(), before);
    read_from_start(messages.get(), message);
    EXPECT_EQ(before, "one\n");
    EXPECT_EQ(message, "WARNING: two\n");
}

// What each count says, of one and of many.
TEST(Counts, EachHasItsOwnLines) {
    const auto lines = [](uint64_t djs_counts::* count, uint64_t value) {
        djs_counts counts{};
        counts.*count = value;
        const auto all = describe_counts(counts);
        return all.size() == 1 ? all.front() : std::to_string(all.size()) + " lines";
    };
    EXPECT_EQ(lines(&djs_counts::lost_records, 1),
              "1 record was lost because a buffer was full: try a larger one with -s");
    EXPECT_EQ(lines(&djs_counts::oversized, 1), "1 record was lost because it exceeded its buffer, "
                                                "or the 16 KB limit of a flight recorder");
    EXPECT_EQ(lines(&djs_counts::oversized, 2), "2 records were lost because they exceeded their "
                                                "buffer, or the 16 KB limit of a flight recorder");
    EXPECT_EQ(lines(&djs_counts::skipped_busy, 1),
              "1 hit was skipped because another handler was active on its CPU");
    EXPECT_EQ(lines(&djs_counts::skipped_locked, 3),
              "3 hits were skipped because a global variable stayed locked: try a larger "
              "MAXTRYLOCK (an NMI never waits)");
    EXPECT_EQ(lines(&djs_counts::skipped_stack, 4),
              "4 hits were skipped because too little kernel stack was left (MINSTACKSPACE)");
    EXPECT_EQ(lines(&djs_counts::skipped_kretprobe, 5),
              "5 returns were missed because all instances were in use: try .maxactive(N)");
    EXPECT_EQ(lines(&djs_counts::skipped_kprobe, 6), "6 hits were missed inside another kprobe");
    EXPECT_EQ(lines(&djs_counts::missed_calls, 7),
              "7 returns of programs were missed: there were too many calls at a time to keep the "
              "values of their entries");
    EXPECT_EQ(lines(&djs_counts::not_followed, 1),
              "1 thread or process of a program was not followed: there were too many at a time "
              "(for perf events, try a larger MAXPERFTHREADS)");
    EXPECT_EQ(lines(&djs_counts::not_followed, 2),
              "2 threads or processes of a program were not followed: there were too many at a "
              "time (for perf events, try a larger MAXPERFTHREADS)");
    EXPECT_EQ(lines(&djs_counts::deep_hits, 1),
              "1 hit was not handled: the process of -c or -x was not found among the 256 nearest "
              "ancestors of its process, which has more");
    EXPECT_EQ(
        lines(&djs_counts::deep_hits, 2),
        "2 hits were not handled: the process of -c or -x was not found among the 256 nearest "
        "ancestors of their processes, which have more");
    EXPECT_EQ(lines(&djs_counts::short_stacks, 1),
              "1 stack of a program is incomplete: its outer callers could not be found");
    EXPECT_EQ(lines(&djs_counts::short_stacks, 2),
              "2 stacks of programs are incomplete: their outer callers could not be found");
    EXPECT_EQ(
        lines(&djs_counts::unread_programs, 1),
        "1 file of a program has no usable unwind information, or there was no memory for it");
    EXPECT_EQ(lines(&djs_counts::unread_programs, 2),
              "2 files of programs have no usable unwind information, or there was no memory for "
              "it");
    EXPECT_EQ(lines(&djs_counts::failed_sites, 1), "1 probe could not be attached");
    for (auto said_elsewhere :
         {&djs_counts::overwritten, &djs_counts::errors, &djs_counts::inside, &djs_counts::pinned})
        EXPECT_EQ(lines(said_elsewhere, 1), "0 lines");
}

TEST(DescribeMissed, NamesThePointsWhereHitsWereMissed) {
    const auto probe = [](const char* point, uint64_t missed,
                          const char* mechanism = "kprobe-jump") {
        AttachedProbe made;
        made.point = point;
        made.mechanism = mechanism;
        made.missed = missed;
        return made;
    };
    EXPECT_EQ(describe_missed({}), std::nullopt);
    EXPECT_EQ(describe_missed({probe("a", 5)}), std::nullopt) << "there is no other";
    EXPECT_EQ(describe_missed({probe("a", 5), probe("a", 6)}), std::nullopt) << "it is one point";
    EXPECT_EQ(describe_missed({probe("a", 5), probe("end", 0, "session")}), std::nullopt);
    EXPECT_EQ(describe_missed({probe("a", 5), probe("b", 0, "kretprobe")}), "missed at a: 5");
    EXPECT_EQ(describe_missed({probe("a", 0), probe("b", 0)}), std::nullopt);
    EXPECT_EQ(describe_missed({probe("a", 2), probe("b", 3), probe("a", 4)}),
              "missed at a: 6, b: 3");
    EXPECT_EQ(describe_missed({probe("a", 0), probe("b", 5)}), "missed at b: 5");
    EXPECT_EQ(describe_missed({probe("a", 1), probe("b", 5), probe("c", 1)}),
              "missed at b: 5, a: 1, c: 1");
    EXPECT_EQ(describe_missed({probe("a", 1), probe("b", 2), probe("c", 3), probe("d", 4)}),
              "missed at d: 4, c: 3, b: 2, and at 1 more point");
    EXPECT_EQ(describe_missed(
                  {probe("a", 1), probe("b", 2), probe("c", 3), probe("d", 4), probe("e", 5)}),
              "missed at e: 5, d: 4, c: 3, and at 2 more points");
}

// How a writer collects what is written.

TEST(Writer, WritesWhenItHasCollectedEnough) {
    const FileDescriptor file(memfd_create("out", 0));
    Writer writer(file.get(), "out");
    const auto size = [&] { return lseek(file.get(), 0, SEEK_END); };
    constexpr size_t flush_at = 256 * 1024;
    writer.append(std::string(flush_at - 1, 'x'));
    EXPECT_EQ(size(), 0);
    writer.append("x");
    EXPECT_EQ(size(), off_t{flush_at});
    writer.append("y");
    EXPECT_EQ(size(), off_t{flush_at});
    writer.flush();
    EXPECT_EQ(size(), off_t{flush_at} + 1);
    writer.flush();
    EXPECT_EQ(size(), off_t{flush_at} + 1);
}

TEST(Writer, HasRoomForWhatIsLargerThanItsBuffer) {
    const FileDescriptor file(memfd_create("out", 0));
    Writer writer(file.get(), "out");
    writer.append("a");
    const std::string large(3 * 1024 * 1024, 'b');
    writer.append(large);
    writer.flush();
    std::string all;
    read_from_start(file.get(), all);
    EXPECT_EQ(all.size(), large.size() + 1);
    EXPECT_TRUE(all == "a" + large);
}

TEST(OpenOutput, EmptiesTheFile) {
    const std::string path = testing::TempDir() + "djstap-output-" + std::to_string(getpid());
    ASSERT_TRUE(write_file(path, "before"));
    const auto file = open_output(path);
    ASSERT_TRUE(file);
    EXPECT_TRUE(*file);
    EXPECT_EQ(*read_file(path), "");
    unlink(path.c_str());
    const auto none = open_output("");
    ASSERT_TRUE(none);
    EXPECT_FALSE(*none);
}

} // namespace djstap
