// SPDX-License-Identifier: GPL-2.0-or-later
// What --hosts writes, as text and as JSON (docs/json.md).
#include "driver/hosts_output.h"

#include "session/output_request.h"

#include <functional>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/mman.h>
#include <unistd.h>

namespace djstap::driver {
namespace {

using Json = nlohmann::json;

std::string written(const char* kind, const std::function<void(HostsOutput&)>& write) {
    const int file = memfd_create("output", MFD_CLOEXEC);
    {
        Writer writer(file, "the output");
        write(*make_hosts_output(*parse_output(kind)->kind, writer));
        writer.flush();
    }
    std::string text(static_cast<size_t>(lseek(file, 0, SEEK_END)), '\0');
    EXPECT_EQ(pread(file, text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
    close(file);
    return text;
}

Json object(const std::function<void(HostsOutput&)>& write) {
    const std::string text = written("json", write);
    EXPECT_TRUE(text.ends_with('\n'));
    return Json::parse(text);
}

TEST(HostsOutput, TextHasTheHostBeforeWhatItPrints) {
    EXPECT_EQ(written("text",
                      [](HostsOutput& output) {
                          output.printed("a", 5, "one\n");
                          output.printed("b", 6, "two");
                          output.message("a", true, "is told on the terminal", "");
                          output.missing({"b", "is told there, too"});
                      }),
              "a: one\nb: two\n");
}

// A host cannot speak for another one, nor control the terminal.
TEST(HostsOutput, TextHasTheHostBeforeEachLine) {
    EXPECT_EQ(written("text",
                      [](HostsOutput& output) {
                          output.printed("a", 5, "one\nb: two\n\n\x1b[2Jthree\n");
                          output.printed("a", 6, "");
                      }),
              "a: one\na: b: two\na: \na: ?[2Jthree\na: \n");
}

TEST(HostsOutput, JsonHasTimeAndHost) {
    EXPECT_EQ(object([](HostsOutput& output) { output.printed("a", 5, "one\n"); }),
              Json({{"type", "printf"}, {"host", "a"}, {"time", 5}, {"data", "one\n"}}));
    EXPECT_EQ(
        object([](HostsOutput& output) { output.missing({"b", "it is gone"}); }),
        Json({{"type", "host_missing"}, {"host", "b"}, {"data", {{"message", "it is gone"}}}}));
}

TEST(HostsOutput, JsonHasThePartsOfAnErrorsPlace) {
    const auto error = [](const std::string& place) {
        return object([&](HostsOutput& output) { output.message("a", true, "wrong", place); });
    };
    EXPECT_EQ(error("operator '/' at x.stp:3:14"), Json({{"type", "runtime_error"},
                                                         {"host", "a"},
                                                         {"data",
                                                          {{"message", "wrong"},
                                                           {"place", "operator '/'"},
                                                           {"file", "x.stp"},
                                                           {"line", 3},
                                                           {"column", 14}}}}));
    EXPECT_EQ(error("somewhere")["data"], Json({{"message", "wrong"}, {"place", "somewhere"}}));
    EXPECT_EQ(error("")["data"], Json({{"message", "wrong"}}));
    EXPECT_EQ(object([](HostsOutput& output) {
                  output.message("a", false, "strange", "f at x.stp:1:2");
              }),
              Json({{"type", "warning"}, {"host", "a"}, {"data", {{"message", "strange"}}}}));
}

fleet::MergedGlobal global(const char* value, uint64_t keys, std::vector<GlobalElement> elements) {
    fleet::MergedGlobal global;
    global.description.name = "last";
    global.description.value = value;
    global.description.keys = keys;
    global.by_host.push_back({"a", std::move(elements)});
    return global;
}

GlobalElement element(const std::string& keys, int64_t number, const std::string& text) {
    GlobalElement element;
    element.keys = keys;
    element.numbers[0] = number;
    element.text = text;
    return element;
}

TEST(HostsOutput, JsonHasTheValuesOfEachHost) {
    const auto values = [](const fleet::MergedGlobal& global) {
        const Json json = object([&](HostsOutput& output) { output.values({global}); });
        EXPECT_EQ(json["type"], "map");
        EXPECT_EQ(json["host"], "a");
        return json["data"]["last"];
    };
    EXPECT_EQ(values(global("number", 0, {element("", 7, "")})), Json(7));
    EXPECT_EQ(values(global("text", 0, {element("", 0, "seven")})), Json("seven"));
    EXPECT_EQ(values(global("number", 0, {})), Json());
    EXPECT_EQ(values(global("number", 1, {})), Json::object());
    ElementKeys one, two;
    one.add(int64_t{-5});
    two.add("name");
    two.add(int64_t{6});
    two.add("x");
    EXPECT_EQ(values(global("number", 1, {element(one.bytes(), 3, "")})), Json({{"-5", 3}}));
    EXPECT_EQ(values(global("text", 3, {element(two.bytes(), 0, "value")})),
              Json({{"name,6,x", "value"}}));
}

// Another version of djstap may write keys that this one does not know.
TEST(HostsOutput, KeysThatCannotBeReadAreEmpty) {
    const Json json = object(
        [](HostsOutput& output) { output.values({global("number", 1, {element("x", 3, "")})}); });
    EXPECT_EQ(json["data"]["last"], Json({{"", 3}}));
}

TEST(HostsOutput, WhatIsNoUtf8IsReplacedInJson) {
    EXPECT_EQ(object([](HostsOutput& output) { output.printed("a", 0, "\xff"); })["data"],
              "\xef\xbf\xbd");
}

} // namespace
} // namespace djstap::driver
