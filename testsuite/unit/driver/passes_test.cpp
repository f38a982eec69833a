// SPDX-License-Identifier: GPL-2.0-or-later
// The first passes of a run: what options and texts become, without a kernel.
#include "driver/passes.h"

#include "../surroundings.h"
#include "parsed_options.h"

#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <optional>
#include <set>

namespace djstap::driver {
namespace {

// What the first pass, or the first two, make of a command line.
class Passes : public testing::Test {
  protected:
    std::optional<ParsedScript> parsed(Words words, const std::string& script = "probe begin {}") {
        words.insert(words.end(), {"-p2", "-e", script});
        invocation_ = std::make_unique<Invocation>(accept(std::move(words)));
        return parse(*invocation_, Nothing());
    }
    Limits limits(Words words, const std::string& script = "probe begin {}") {
        const auto script_of = parsed(std::move(words), script);
        EXPECT_TRUE(script_of) << told();
        return script_of ? script_of->settings.limits : Limits();
    }
    Limits limits_of_program(Words words, const std::string& script) {
        auto script_of = parsed(std::move(words), script);
        if (!script_of)
            return {};
        const auto analyzed = analyze(*invocation_, std::move(*script_of));
        EXPECT_TRUE(analyzed) << told();
        return analyzed ? analyzed->settings.limits : Limits();
    }
    // The message and the hint of each diagnostic of the last script.
    std::string told() const {
        std::string text;
        for (const Diagnostic& each : invocation_->diagnostics.all())
            text +=
                each.message + "\n" + (each.hint_text.empty() ? "" : "? " + each.hint_text + "\n");
        return text;
    }

    std::unique_ptr<Invocation> invocation_;

  private:
    const test::TestFolder folder_;
    const test::Environment cache_{"DJSTAP_CACHE", folder_.path};
};

TEST_F(Passes, LimitsComeFromOptions) {
    const Limits usual = limits({});
    EXPECT_EQ(told(), "");
    EXPECT_EQ(usual.MAXACTION, 1000);
    EXPECT_EQ(usual.MAXACTION_INTERRUPTIBLE, 10'000);
    EXPECT_EQ(usual.MAXBACKTRACE, 20);
    EXPECT_EQ(usual.RING_KB, 1024);
    EXPECT_EQ(usual.MAXSKIPPED, 100);
    EXPECT_EQ(limits({"-DMAXMAPENTRIES=7"}).MAXMAPENTRIES, 7);
    EXPECT_EQ(limits({"-s", "3"}).RING_KB, 3072);
    EXPECT_EQ(limits({"--suppress-handler-errors"}).MAXSKIPPED, 2'147'483'647);
    // Ten times the others, unless it is set.
    EXPECT_EQ(limits({"-DMAXACTION=7"}).MAXACTION_INTERRUPTIBLE, 70);
    EXPECT_EQ(limits({"-DMAXACTION=214748364"}).MAXACTION_INTERRUPTIBLE, 2'147'483'640);
    EXPECT_EQ(limits({"-DMAXACTION=214748365"}).MAXACTION_INTERRUPTIBLE, 2'147'483'647);
    EXPECT_EQ(limits({"-DMAXACTION=7", "-DMAXACTION_INTERRUPTIBLE=8"}).MAXACTION_INTERRUPTIBLE, 8);
    EXPECT_EQ(limits({"-DMAXACTION_INTERRUPTIBLE=10000", "-DMAXACTION=7"}).MAXACTION_INTERRUPTIBLE,
              10'000);
}

// Outputs of stacks draw those of 64 functions.
TEST_F(Passes, StacksAreDeepEnoughForTheOutputs) {
    for (const char* output :
         {"--output=svg:file", "--output=folded:file", "--output=pprof:file"}) {
        EXPECT_EQ(limits({output}).MAXBACKTRACE, 64) << output;
        EXPECT_EQ(limits({output, "-DMAXBACKTRACE=5"}).MAXBACKTRACE, 5) << output;
        EXPECT_EQ(limits({output, "--output=text"}).MAXBACKTRACE, 64) << output;
    }
    EXPECT_EQ(limits({"--output=json:file"}).MAXBACKTRACE, 20);
}

TEST_F(Passes, LimitsThatAreWrongAreErrors) {
    EXPECT_FALSE(parsed({"-DMAXACTION=0"}));
    EXPECT_EQ(told(),
              "-D MAXACTION=0: invalid value for this limit\n? it must be a number from 1 to "
              "2147483647\n");
    EXPECT_FALSE(parsed({"-DMAXACTION=2147483648"}));
    EXPECT_FALSE(parsed({"-DMAXACTION=5x"}));
    EXPECT_FALSE(parsed({"-DMAXACTION="}));
    EXPECT_TRUE(parsed({"-DMAXACTION=1"}));
    EXPECT_TRUE(parsed({"-DMAXACTIN=1"}));
    EXPECT_EQ(told(), "-D MAXACTIN: djstap has no such limit or macro\n? did you mean "
                      "'MAXACTION'?\n");
    EXPECT_TRUE(parsed({"-Dmaxmapentries=1"}));
    EXPECT_EQ(told(), "-D maxmapentries: djstap has no such limit or macro\n? did you mean "
                      "'MAXMAPENTRIES'?\n");
    EXPECT_TRUE(parsed({"-DXYZW=1"}));
    EXPECT_EQ(told(), "-D XYZW: djstap has no such limit or macro\n? docs/language.md lists the "
                      "limits\n");
}

TEST_F(Passes, BuffersAreAPowerOfTwo) {
    const auto bytes = [](int64_t kilobytes) {
        Limits limits;
        limits.RING_KB = kilobytes;
        return buffer_bytes(limits);
    };
    EXPECT_EQ(bytes(1), 1024u);
    EXPECT_EQ(bytes(1024), 1'048'576u);
    EXPECT_EQ(bytes(1025), 2'097'152u);
    EXPECT_EQ(bytes(3072), 4'194'304u);
    EXPECT_EQ(bytes(4096), 4'194'304u);
}

TEST_F(Passes, ArgumentsThatNobodyUsesAreTold) {
    const auto unused = [&](const std::string& script, Words arguments) {
        Words words{"-p2", "-e", script};
        words.insert(words.end(), arguments.begin(), arguments.end());
        invocation_ = std::make_unique<Invocation>(accept(std::move(words)));
        EXPECT_TRUE(parse(*invocation_, Nothing())) << told();
        return told();
    };
    const auto warning = [](const std::string& argument, const std::string& number) {
        return "the script argument '" + argument +
               "' is not used: the script does not refer to $" + number + " or @" + number + "\n";
    };
    EXPECT_EQ(unused("probe begin { println($1, @2) }", {"5", "x"}), "");
    EXPECT_EQ(unused("probe begin { println($1) }", {"5", "x"}), warning("x", "2"));
    EXPECT_EQ(unused("probe begin { println(@2) }", {"5", "x"}), warning("5", "1"));
    EXPECT_EQ(unused("probe begin {}", {"5", "x"}), warning("5", "1") + warning("x", "2"));
    EXPECT_EQ(unused("probe begin { %( 1 == 2 %? println($1) %) }", {"5"}), "");
    EXPECT_EQ(unused("probe begin { println(\"$1\") }", {"5"}), warning("5", "1"));
    EXPECT_EQ(
        unused("probe begin { println($10) }", {"1", "2", "3", "4", "5", "6", "7", "8", "9", "10"})
            .find("'10'"),
        std::string::npos);
}

TEST_F(Passes, AScriptHasProbes) {
    const std::string smallest = "\n? the smallest script is: probe begin { println(\"hello\") }\n";
    parsed({}, "");
    EXPECT_TRUE(invocation_->diagnostics.has_errors());
    EXPECT_TRUE(told().ends_with(smallest)) << told();
    const std::string empty = told();
    for (const char* script : {"global x", "function f() { return 1 }", "probe a = begin {}"}) {
        parsed({}, script);
        EXPECT_TRUE(told().ends_with(smallest)) << told();
        EXPECT_NE(told(), empty) << "it is not empty";
    }
    // What is only printed need not run.
    for (const char* script : {"global x", "function f() { return 1 }", "probe a = begin {}"}) {
        invocation_ = std::make_unique<Invocation>(accept({"-p1", "-e", script}));
        EXPECT_TRUE(parse(*invocation_, Nothing()));
        EXPECT_EQ(told(), "");
    }
    parsed({"-E", "probe end {}"}, "global x");
    EXPECT_EQ(told(), "") << "the other text has one";
}

TEST_F(Passes, TextsBecomeOneScript) {
    auto script = parsed({"-E", "probe end {} function g() { return 1 }", "-E",
                          "global y probe error {} probe a = begin {}"},
                         "global x probe begin {} function f() { return 1 }");
    ASSERT_TRUE(script) << told();
    EXPECT_EQ(script->file.probes.size(), 3u);
    EXPECT_EQ(script->file.functions.size(), 2u);
    EXPECT_EQ(script->file.globals.size(), 2u);
    EXPECT_EQ(script->file.aliases.size(), 1u);
    auto guru = parsed({"-g", "-E", "%{ int a; %}"}, "%{ int b; %} probe begin {}");
    ASSERT_TRUE(guru) << told();
    EXPECT_EQ(guru->file.embedded.size(), 2u);
    // Errors of all texts are told at once.
    EXPECT_FALSE(parsed({"-E", "probe end { x = }"}, "probe begin { y = }"));
    EXPECT_EQ(invocation_->diagnostics.error_count(), 2u);
}

// A stack as a string: an address is written with 18 characters and a space.
TEST_F(Passes, StringsHaveRoomForStacks) {
    const std::string stack = "probe begin { s = backtrace() println(s) }",
                      none = "probe begin { println(1) }";
    EXPECT_EQ(limits_of_program({"-DMAXBACKTRACE=40"}, stack).MAXSTRINGLEN, 40 * 19 + 1);
    EXPECT_EQ(told(), "");
    EXPECT_EQ(limits_of_program({"-DMAXBACKTRACE=40"}, none).MAXSTRINGLEN, 512);
    EXPECT_EQ(limits_of_program({"-DMAXBACKTRACE=26"}, stack).MAXSTRINGLEN, 512);
    EXPECT_EQ(limits_of_program({"-DMAXBACKTRACE=27"}, stack).MAXSTRINGLEN, 514);
    EXPECT_EQ(limits_of_program({"-DMAXSTRINGLEN=381"}, stack).MAXSTRINGLEN, 381);
    EXPECT_EQ(told(), "");
    EXPECT_EQ(limits_of_program({"-DMAXSTRINGLEN=380"}, stack).MAXSTRINGLEN, 381);
    EXPECT_EQ(told(),
              "-D MAXSTRINGLEN=380 has no effect: backtrace() needs strings of 381 bytes for "
              "MAXBACKTRACE=20\n");
    EXPECT_EQ(limits_of_program({"-DMAXSTRINGLEN=380"}, none).MAXSTRINGLEN, 380);
    EXPECT_EQ(told(), "");
    EXPECT_EQ(limits_of_program({"-DMAXSTRINGLEN=100", "-DMAXACTION=5"},
                                "probe begin { s = ubacktrace() println(s) }")
                  .MAXSTRINGLEN,
              381);
}

// Whoever opens the runtime meanwhile waits for what the script calls.
TEST_F(Passes, TheRuntimeIsToldWhatTheScriptCalls) {
    const auto needed = [&](const std::string& text) {
        auto script = parsed({"--runtime=user"}, text);
        EXPECT_TRUE(script) << told();
        auto analyzed = script ? analyze(*invocation_, std::move(*script)) : std::nullopt;
        EXPECT_TRUE(analyzed && resolve(*invocation_, std::move(*analyzed))) << told();
        const auto symbols = invocation_->needs.wait();
        EXPECT_TRUE(symbols);
        return symbols.value_or(std::set<std::string>());
    };
    EXPECT_TRUE(needed("probe begin { println(pid()) }").contains("djs_fn_pid"));
    const auto others = needed("probe begin { if (\"a\" =~ \"b\") println(1) }");
    EXPECT_TRUE(others.contains("djs_regex_search"));
    EXPECT_FALSE(others.contains("djs_fn_pid"));
}

// Whoever asks for the files of a run gets all of them, or is told why not.
TEST_F(Passes, FilesThatCannotBeKeptEndTheRun) {
    {
        const test::Environment nowhere("TMPDIR", "/proc/none");
        auto script = parsed({"-k", "--runtime=user"});
        ASSERT_TRUE(script) << told();
        EXPECT_FALSE(analyze(*invocation_, std::move(*script)));
        EXPECT_TRUE(told().starts_with("cannot create a temporary folder such as /proc/none/"))
            << told();
    }
    const test::TestFolder place;
    const test::Environment temporary("TMPDIR", place.path);
    auto script = parsed({"-k", "--runtime=user"});
    ASSERT_TRUE(script) << told();
    auto analyzed = analyze(*invocation_, std::move(*script));
    ASSERT_TRUE(analyzed) << told();
    auto resolved = resolve(*invocation_, std::move(*analyzed));
    ASSERT_TRUE(resolved) << told();
    const auto folder = invocation_->work.path();
    ASSERT_TRUE(folder);
    EXPECT_TRUE(std::filesystem::exists(*folder + "/script.stp"));
    std::filesystem::create_directory(*folder + "/script.ll");
    EXPECT_FALSE(generate(*invocation_, std::move(*resolved)));
    EXPECT_EQ(invocation_->diagnostics.error_count(), 1u);
    EXPECT_NE(told().find(*folder + "/script.ll"), std::string::npos) << told();
}

TEST_F(Passes, CodeForAKernelNeedsIt) {
    ASSERT_TRUE(parsed({}));
    invocation_->images.refuse({"there is no kernel", ""});
    EXPECT_FALSE(generate(*invocation_, {}));
    EXPECT_EQ(told(), "there is no kernel\n");
    EXPECT_EQ(invocation_->diagnostics.all().back().kind, DiagnosticKind::KernelUnusable);
}

// SystemTap 1.8 moved the arguments of C functions.
TEST_F(Passes, TheProgramKnowsItsLanguage) {
    auto script = parsed({"--compatible=3.1"}, "probe begin {}");
    ASSERT_TRUE(script);
    const auto analyzed = analyze(*invocation_, std::move(*script));
    ASSERT_TRUE(analyzed);
    EXPECT_EQ(analyzed->program.language_version, "3.1");
    EXPECT_FALSE(analyzed->exclusion);
    auto excluding = parsed({"--exclude-self"}, "probe begin {}");
    ASSERT_TRUE(excluding);
    const auto excluded = analyze(*invocation_, std::move(*excluding));
    ASSERT_TRUE(excluded);
    EXPECT_TRUE(excluded->exclusion);
}

} // namespace
} // namespace djstap::driver
