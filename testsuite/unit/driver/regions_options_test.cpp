// SPDX-License-Identifier: GPL-2.0-or-later
// The command line of djstap regions.
#include "driver/regions_options.h"

#include "parsed_options.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

namespace djstap::driver {
namespace {

RegionsOptions accept_regions(Words words) {
    ParsedRegionsOptions parsed = parse_regions_options(std::move(words));
    if (auto* failure = std::get_if<Failure>(&parsed))
        ADD_FAILURE() << failure->message;
    auto* options = std::get_if<RegionsOptions>(&parsed);
    return options ? *options : RegionsOptions();
}

std::string told_of_regions(Words words) {
    const ParsedRegionsOptions parsed = parse_regions_options(std::move(words));
    const auto* failure = std::get_if<Failure>(&parsed);
    return failure ? failure->message + "\n" + failure->hint : "no failure";
}

// What told_of_regions() yields, without the hint.
std::string complaint_of_regions(Words words) {
    const std::string all = told_of_regions(std::move(words));
    return all.substr(0, all.find('\n'));
}

TEST(RegionsOptions, EachOptionHasItsOwnMeaning) {
    const RegionsOptions plain = accept_regions({"a"});
    EXPECT_EQ(plain.file, "a");
    EXPECT_EQ(plain.kernel + plain.function + plain.text + plain.map, "");
    EXPECT_TRUE(plain.places.empty());
    EXPECT_EQ(plain.model, regions::Model::Relocate);
    EXPECT_FALSE(plain.lines || plain.unsafe || plain.json);
    EXPECT_EQ(accept_regions({"-r", "6.1"}).kernel, "6.1");
    EXPECT_EQ(accept_regions({"-r6.1"}).kernel, "6.1");
    EXPECT_EQ(accept_regions({"--function", "f", "a"}).function, "f");
    EXPECT_EQ(accept_regions({"--function=f", "a"}).function, "f");
    EXPECT_EQ(accept_regions({"--text", "t", "a"}).text, "t");
    EXPECT_EQ(accept_regions({"--svg", "m", "a"}).map, "m");
    EXPECT_TRUE(accept_regions({"--lines", "a"}).lines);
    EXPECT_TRUE(accept_regions({"--unsafe", "a"}).unsafe);
    EXPECT_TRUE(accept_regions({"a", "--json"}).json);
    EXPECT_EQ(accept_regions({"--model=kernel", "a"}).model, regions::Model::Kernel);
    EXPECT_EQ(accept_regions({"--model", "relocate", "a"}).model, regions::Model::Relocate);
    EXPECT_EQ(accept_regions({"--model=short", "a"}).model, regions::Model::Short);
    EXPECT_TRUE(std::holds_alternative<Text>(parse_regions_options({"--help"})));
    EXPECT_TRUE(std::holds_alternative<Text>(parse_regions_options({"-h", "a", "--json"})));
}

TEST(RegionsOptions, HelpNamesEachOption) {
    const ParsedRegionsOptions parsed = parse_regions_options({"-h"});
    ASSERT_TRUE(std::holds_alternative<Text>(parsed));
    EXPECT_NE(std::get<Text>(parsed).text.find("Usage: djstap regions ["), std::string::npos);
    for (const char* name :
         {"--help", "--model", "--function", "--at", "--svg", "--lines", "--unsafe", "--text",
          "--json", "-r RELEASE", "djstap regions", "kernel|relocate|short", "NAME", "PLACES",
          "FILE", "DUMP", "Examples:"})
        EXPECT_NE(std::get<Text>(parsed).text.find(name), std::string::npos) << name;
}

TEST(RegionsOptions, PlacesAreSeparatedByCommasAndSpace) {
    EXPECT_EQ(accept_regions({"--at", "f+1,0x10", "a"}).places, (Words{"f+1", "0x10"}));
    EXPECT_EQ(accept_regions({"--at=f", "--at", " g  h\n", "a"}).places, (Words{"f", "g", "h"}));
    const std::string path =
        std::filesystem::temp_directory_path() / ("djstap-places-" + std::to_string(getpid()));
    std::ofstream(path) << "f+1\n0x20,g\n";
    EXPECT_EQ(accept_regions({"--at", "@" + path, "--at=h", "a"}).places,
              (Words{"f+1", "0x20", "g", "h"}));
    std::filesystem::remove(path);
    EXPECT_NE(complaint_of_regions({"--at", "@" + path, "a"}).find("cannot open"),
              std::string::npos);
    EXPECT_EQ(complaint_of_regions({"--at", ",", "a"}), "--at: the list contains no place");
    EXPECT_EQ(complaint_of_regions({"--at", ", ,", "--at=,", "a"}),
              "--at: the list contains no place");
}

TEST(RegionsOptions, ThereIsOneFile) {
    EXPECT_EQ(accept_regions({"--", "a"}).file, "a");
    EXPECT_EQ(accept_regions({"--json", "--", "--unsafe"}).file, "--unsafe");
    EXPECT_EQ(accept_regions({"a", "--"}).file, "a");
    const std::string hint = "\nanalyze one at a time";
    EXPECT_EQ(told_of_regions({"a", "b"}), "more than one file was given: b" + hint);
    EXPECT_EQ(told_of_regions({"--", "a", "b"}), "more than one file was given: b" + hint);
    EXPECT_EQ(told_of_regions({"--", "a", "-b"}), "more than one file was given: -b" + hint);
    EXPECT_EQ(told_of_regions({"a", "--", "b"}), "more than one file was given: b" + hint);
    EXPECT_EQ(complaint_of_regions({"a", "-r", "6.1"}), "both a file and -r were given");
    EXPECT_EQ(complaint_of_regions({"-r", "6.1", "--", "a"}), "both a file and -r were given");
    EXPECT_EQ(complaint_of_regions({"a", ""}), "the name of the file is empty");
    EXPECT_EQ(complaint_of_regions({}), "no file was given");
    EXPECT_EQ(complaint_of_regions({"--"}), "no file was given");
    EXPECT_EQ(complaint_of_regions({"--json"}), "no file was given");
}

// Whoever forgets a value gives the file in its place.
TEST(RegionsOptions, AFileThatIsTheValueOfAnOptionIsNamed) {
    EXPECT_EQ(told_of_regions({"--function", "/proc/self/exe"}),
              "no file was given\n/proc/self/exe is the value of --function; name the file to "
              "analyze behind it");
    const std::string plain = "no file was given\nname a program, a library, a kernel image or a "
                              "module, or a kernel with -r";
    EXPECT_EQ(told_of_regions({"--function", "/nowhere"}), plain);
    EXPECT_EQ(told_of_regions({"--function", "/proc"}), plain);
    EXPECT_EQ(told_of_regions({"--function=/proc/self/exe"}), plain);
    EXPECT_EQ(told_of_regions({"--function", "/proc/self/exe", "--json"}), plain);
}

TEST(RegionsOptions, ValuesAreThereOnce) {
    for (const char* name : {"--model", "--function", "--svg", "--text", "-r", "--at"}) {
        EXPECT_EQ(complaint_of_regions({"a", name}), name + std::string(" has no value"));
        EXPECT_EQ(complaint_of_regions({name, "", "a"}), name + std::string(" has an empty value"));
        EXPECT_EQ(complaint_of_regions({name, "--json", "a"}),
                  name + std::string(" has no value: --json is an option"));
        EXPECT_NE(told_of_regions({"a", name}), complaint_of_regions({"a", name}) + "\n")
            << "without a hint";
    }
    for (const char* name : {"--model", "--function", "--svg", "--text"}) {
        EXPECT_EQ(complaint_of_regions({name + std::string("="), "a"}),
                  name + std::string(" has an empty value"));
        EXPECT_EQ(complaint_of_regions({name, "short", name + std::string("=short"), "a"}),
                  name + std::string(" was given more than once"));
        EXPECT_EQ(complaint_of_regions({name, "short", name, "short", "a"}),
                  name + std::string(" was given more than once"));
    }
    EXPECT_EQ(complaint_of_regions({"-r", "6.1", "-r", "6.1"}), "-r was given more than once");
    for (const char* name : {"--json", "--lines", "--unsafe", "--help"})
        EXPECT_EQ(told_of_regions({name + std::string("=1"), "a"}),
                  name + std::string(" takes no value\n"));
    // What looks like an option and is none may be a value, and behind -- nothing is an option.
    EXPECT_EQ(accept_regions({"--function", "-f", "a"}).function, "-f");
    EXPECT_EQ(accept_regions({"--function=--json", "a"}).function, "--json");
    EXPECT_EQ(accept_regions({"--", "--function"}).file, "--function");
}

TEST(RegionsOptions, WhatIsAskedIsOneThing) {
    const std::vector<Words> questions{
        {"--function", "f"}, {"--at", "f"}, {"--svg", "m"}, {"--lines"}, {"--unsafe"}};
    for (size_t i = 0; i < questions.size(); i++)
        for (size_t j = i + 1; j < questions.size(); j++) {
            Words words = questions[i];
            words.insert(words.end(), questions[j].begin(), questions[j].end());
            words.emplace_back("a");
            EXPECT_EQ(told_of_regions(words),
                      "--function, --at, --svg, --lines and --unsafe exclude each other\ngive one "
                      "of them")
                << i << " " << j;
        }
    EXPECT_EQ(complaint_of_regions({"--svg", "/proc/self/exe", "/proc/self/exe"}),
              "--svg: /proc/self/exe is the file to analyze");
    EXPECT_EQ(accept_regions({"--svg", "/proc/self/exe", "/proc/self/maps"}).map, "/proc/self/exe");
}

TEST(RegionsOptions, UnknownOptionsGetTheNearestOne) {
    EXPECT_EQ(told_of_regions({"--functon=f", "a"}),
              "unknown option --functon\ndid you mean '--function'?");
    EXPECT_EQ(told_of_regions({"--quite-another", "a"}),
              "unknown option --quite-another\ndjstap regions --help lists the options");
    EXPECT_EQ(complaint_of_regions({"-z", "a"}), "unknown option -z");
    EXPECT_EQ(complaint_of_regions({"--model=both", "a"}),
              "--model=both is not one of kernel, relocate, short");
}

} // namespace
} // namespace djstap::driver
