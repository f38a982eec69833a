// SPDX-License-Identifier: GPL-2.0-or-later
// Scripts with a header: how they are found and listed, and what their options request.
#include "driver/examples.h"

#include "own_library.h"
#include "parsed_options.h"

#include <algorithm>

namespace djstap::driver {
namespace {

class Examples : public OwnLibrary {
  protected:
    void SetUp() override {
        OwnLibrary::SetUp();
        example("first", "CPU: where time goes",
                "// @option pause milliseconds: a duration\n// @option svg output: a flame graph\n"
                "// @option perfetto output: a trace\n// @argument PATH: a file\n",
                "global pause = 5, svg = 0, perfetto = 0\n"
                "probe begin { println(@1, pause, svg, perfetto) }\n");
        example("second", "files: who Opens them", "", "probe begin { println(1) }\n");
        std::ofstream(folder + "/README.md") << "no script";
    }
    void example(const std::string& name, const std::string& title, const std::string& header,
                 const std::string& script) const {
        std::ofstream(folder + "/" + name + ".stp") << "// @tool " << title << "\n"
                                                    << header << script;
    }
    // Takes an example; what was printed is in `printed`.
    ExampleStep take(Words words) {
        invocation = std::make_unique<Invocation>(accept(std::move(words)));
        invocation->places.examples = folder;
        testing::internal::CaptureStdout();
        const ExampleStep step = take_example(*invocation);
        invocation->flush_output();
        printed = testing::internal::GetCapturedStdout();
        return step;
    }
    std::string listed(Words words) {
        words.insert(words.begin(), "--examples");
        invocation = std::make_unique<Invocation>(accept(std::move(words)));
        invocation->places.examples = folder;
        testing::internal::CaptureStdout();
        const bool done = list_examples(*invocation);
        invocation->flush_output();
        return testing::internal::GetCapturedStdout() + (done ? "" : "failed\n") + told();
    }
    std::string told() const {
        std::string text;
        for (const Diagnostic& each : invocation->diagnostics.all())
            text +=
                each.message + "\n" + (each.hint_text.empty() ? "" : "? " + each.hint_text + "\n");
        return text;
    }

    const test::TestFolder own_folder;
    const std::string folder = own_folder.path;
    std::string printed;
    std::unique_ptr<Invocation> invocation;
};

TEST_F(Examples, BecomeTheScriptOfARun) {
    for (const std::string& name :
         {std::string("first"), std::string("first.stp"), folder + "/first.stp"}) {
        ASSERT_EQ(take({"--example", name, "--", "--pause", "2s", "/tmp"}), ExampleStep::Run)
            << told();
        const Options& options = invocation->options;
        EXPECT_EQ(options.script_file, folder + "/first.stp");
        EXPECT_EQ(options.arguments, Words{"/tmp"});
        EXPECT_EQ(options.global_values, (std::vector<NameValue>{{"pause", "2000"}}));
        EXPECT_TRUE(options.output_requests.empty());
        EXPECT_EQ(options.event_fields, 0u);
        EXPECT_EQ(printed, "");
    }
    // -G has the last word.
    ASSERT_EQ(take({"-Gpause=7", "--example", "first", "--", "--pause", "2s", "/tmp"}),
              ExampleStep::Run);
    EXPECT_EQ(invocation->options.global_values,
              (std::vector<NameValue>{{"pause", "2000"}, {"pause", "7"}}));
}

// An option may request an output, with the fields of events that it shows.
TEST_F(Examples, MayWriteFilesOfTheirOwn) {
    ASSERT_EQ(take({"--example", "first", "--", "--svg", "a.svg", "/tmp"}), ExampleStep::Run)
        << told();
    ASSERT_EQ(invocation->options.output_requests.size(), 1u);
    EXPECT_EQ(invocation->options.output_requests[0].file, "a.svg");
    EXPECT_EQ(invocation->options.output_requests[0].kind->name, "svg");
    EXPECT_EQ(invocation->options.event_fields, 0u);
    ASSERT_EQ(take({"--example", "first", "--", "--perfetto", "trace", "/tmp"}), ExampleStep::Run);
    EXPECT_EQ(invocation->options.event_fields,
              accept({"--output=perfetto:trace", "x"}).event_fields);
    EXPECT_NE(invocation->options.event_fields, 0u);
    EXPECT_EQ(take({"-F", "--example", "first", "--", "--svg", "a.svg", "/tmp"}),
              ExampleStep::Failed);
    EXPECT_EQ(told(),
              "-F leaves the example loaded, but what it writes at the end is wanted\n? omit "
              "-F\n");
    EXPECT_EQ(take({"-F", "--example", "first", "--", "/tmp"}), ExampleStep::Run);
    EXPECT_EQ(take({"--output=text", "--example", "first", "--", "--svg", "a", "--perfetto", "a",
                    "/tmp"}),
              ExampleStep::Failed);
}

TEST_F(Examples, DescribeThemselves) {
    ASSERT_EQ(take({"--example", "first", "--", "--help"}), ExampleStep::Described) << told();
    for (const char* text :
         {"djstap --example first", "where time goes", "--pause", "5ms", "--svg", "PATH"})
        EXPECT_NE(printed.find(text), std::string::npos) << text << "\n" << printed;
    EXPECT_EQ(invocation->options.script_file, "");
}

TEST_F(Examples, ThatAreNotThereGetAHint) {
    EXPECT_EQ(take({"--example", "frist"}), ExampleStep::Failed);
    EXPECT_TRUE(told().ends_with("? did you mean 'first'?\n")) << told();
    EXPECT_EQ(take({"--example", "quite-another"}), ExampleStep::Failed);
    EXPECT_TRUE(told().ends_with("? djstap --examples lists them\n")) << told();
    EXPECT_EQ(take({"--example", "README"}), ExampleStep::Failed) << "it is none";
    EXPECT_EQ(take({"--example", "./none.stp"}), ExampleStep::Failed);
    EXPECT_NE(told().find("none.stp"), std::string::npos);
    const auto before = std::filesystem::current_path();
    std::filesystem::current_path(folder);
    std::ofstream("mine.stp") << "probe begin {}";
    std::filesystem::rename("mine.stp", "../djstap-mine-of-test.stp");
    std::filesystem::current_path("..");
    EXPECT_EQ(take({"--example", "djstap-mine-of-test"}), ExampleStep::Failed);
    EXPECT_TRUE(told().ends_with("? a script of your own is named by a path: --example "
                                 "./djstap-mine-of-test.stp\n"))
        << told();
    std::filesystem::remove("djstap-mine-of-test.stp");
    std::filesystem::current_path(before);
}

// All words must be in an example's name, subject or summary, whatever their case.
TEST_F(Examples, AreListedByTheirWords) {
    const std::string all = listed({});
    EXPECT_NE(all.find("first"), std::string::npos) << all;
    EXPECT_NE(all.find("second"), std::string::npos);
    EXPECT_LT(all.find("first"), all.find("second"));
    EXPECT_EQ(all.find("README"), std::string::npos);
    for (const Words& words :
         {Words{"SECOND"}, Words{"opens"}, Words{"files"}, Words{"Files", "who"}}) {
        const std::string some = listed(words);
        EXPECT_EQ(some.find("first"), std::string::npos) << some;
        EXPECT_NE(some.find("who Opens them"), std::string::npos) << some;
    }
    for (const Words& words : {Words{"files", "time"}, Words{"none"}})
        EXPECT_NE(listed(words).find("failed\n"), std::string::npos);
    EXPECT_NE(listed({"two", "words"}).find("two words"), std::string::npos);
}

} // namespace
} // namespace djstap::driver
