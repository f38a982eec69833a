// SPDX-License-Identifier: GPL-2.0-or-later
// The limits of options' values, and options that exclude each other.
#include "parsed_options.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

namespace djstap::driver {
namespace {

TEST(OptionChecks, NumbersHaveASmallestAndALargestValue) {
    EXPECT_EQ(accept({"-p1", "x"}).last_pass, 1);
    EXPECT_EQ(accept({"-p5", "x"}).last_pass, 5);
    EXPECT_EQ(accept({"x"}).last_pass, 5);
    for (const char* wrong : {"0", "6", "-1", "2.0"})
        EXPECT_EQ(complaint({"-p", wrong, "x"}), std::string("-p ") + wrong + ": no such pass");
    EXPECT_EQ(accept({"-s1", "x"}).buffer_megabytes, 1);
    EXPECT_EQ(accept({"-s1024", "x"}).buffer_megabytes, 1024);
    for (const char* wrong : {"0", "1025", "-1", "1M"})
        EXPECT_EQ(complaint({"-s", wrong, "x"}),
                  std::string("-s ") + wrong + ": a buffer size must be from 1 to 1024 megabytes");
    // The largest ID of a process is 2^22 - 1; the kernel's own limit is 2^22.
    EXPECT_EQ(accept({"-x", "4194304", "x"}).traced_pid, 4194304);
    EXPECT_EQ(complaint({"-x", "4194305", "x"}), "-x 4194305: not a process ID");
    EXPECT_EQ(accept({"--target-namespaces=1", "x"}).library_values,
              (std::vector<NameValue>{{"__target_namespaces", "1"}}));
    EXPECT_EQ(accept({"--target-namespaces=4194304", "x"}).library_values.size(), 1u);
    EXPECT_EQ(complaint({"--target-namespaces=4194305", "x"}),
              "--target-namespaces=4194305: not a process ID");
    EXPECT_EQ(accept({"-T", "1e9", "x"}).seconds, 1e9);
    for (const char* wrong : {"1.1e9", "inf", "-0.1", "5 "})
        EXPECT_EQ(complaint({"-T", wrong, "x"}),
                  std::string("-T ") + wrong + ": expected a number of seconds above 0");
    EXPECT_EQ(accept({"-p4", "--monitor=0.1", "x"}).shown_every_ms, 100);
    EXPECT_EQ(accept({"-p4", "--monitor=3600", "x"}).shown_every_ms, 3'600'000);
    for (const char* wrong : {"0.09", "3600.1"})
        EXPECT_EQ(complaint({"-p4", std::string("--monitor=") + wrong, "x"}),
                  std::string("--monitor=") + wrong +
                      ": expected a number of seconds from 0.1 to 3600");
}

// Sessions count milliseconds, and none is no limit.
TEST(OptionChecks, TheShortestTimeLimitIsAMillisecond) {
    EXPECT_EQ(accept({"-T", "0.0001", "x"}).seconds, 0.001);
    EXPECT_EQ(accept({"-T", "1e-300", "x"}).seconds, 0.001);
    EXPECT_EQ(accept({"-T", "0.002", "x"}).seconds, 0.002);
    EXPECT_EQ(accept({"x"}).seconds, 0);
}

TEST(OptionChecks, VerbosityIsThatOfEachPass) {
    const auto verbosity = [](const Words& words) {
        const Options options = accept(words);
        return std::vector<int>(options.verbosity, options.verbosity + 5);
    };
    EXPECT_EQ(verbosity({"--vp", "12345", "x"}), (std::vector<int>{1, 2, 3, 4, 5}));
    EXPECT_EQ(verbosity({"-v", "--vp=0", "x"}), (std::vector<int>{1, 1, 1, 1, 1}));
    EXPECT_EQ(verbosity({"-vvv", "--verbose", "x"}), (std::vector<int>{4, 4, 4, 4, 4}));
    EXPECT_EQ(accept({"--vp", "00090", "x"}).verbose(), 9);
    EXPECT_EQ(complaint({"--vp", "123456", "x"}),
              "--vp 123456: expected at most five digits, one for each pass");
    EXPECT_EQ(complaint({"--vp", "1-", "x"}),
              "--vp 1-: expected at most five digits, one for each pass");
}

TEST(OptionChecks, NamesAreThoseOfTheLanguage) {
    EXPECT_EQ(accept({"-D_a1=", "x"}).definitions, (std::vector<NameValue>{{"_a1", ""}}));
    EXPECT_EQ(accept({"-Ga=", "x"}).global_values, (std::vector<NameValue>{{"a", ""}}));
    for (const char* wrong : {"=1", "", "1a=1", "a-b=1", "a b=1"}) {
        EXPECT_EQ(complaint({"-D", wrong, "x"}),
                  std::string("-D ") + wrong + ": expected NAME=VALUE");
        EXPECT_EQ(complaint({"-G", wrong, "x"}),
                  std::string("-G ") + wrong + ": expected NAME=VALUE");
    }
    EXPECT_EQ(complaint({"-G", "a", "x"}), "-G a: expected NAME=VALUE");
    // The kernel's limit for the names of modules is 56 bytes with the zero byte.
    const std::string longest(55, 'm');
    EXPECT_EQ(accept({"-m", longest, "x"}).module_name, longest);
    EXPECT_EQ(accept({"-m", longest + ".ko", "x"}).module_name, longest);
    EXPECT_EQ(complaint({"-m", longest + "m", "x"}),
              "-m " + longest + "m: not a valid module name");
    EXPECT_EQ(accept({"-m", "A_9", "x"}).module_name, "A_9");
    for (const char* wrong : {".ko", "a-b", "a.ko.ko", "a b", "ä"})
        EXPECT_EQ(complaint({"-m", wrong, "x"}),
                  std::string("-m ") + wrong + ": not a valid module name");
    EXPECT_EQ(accept({"--compatible", "3.1", "x"}).language_version, "3.1");
    EXPECT_EQ(accept({"x"}).language_version, "4.8");
    for (const char* version : {"4.8", "4", "1.8.0", "4.08", "0"})
        EXPECT_EQ(accept({"--compatible", version, "x"}).language_version, version);
    for (const std::string wrong : {"4.8a", ".", "4.", ".8", "4..8", "-4", "4,8", " 4"})
        EXPECT_EQ(complaint({"--compatible=" + wrong, "x"}),
                  "--compatible=" + wrong + ": expected a version such as 4.8");
    for (const std::string later : {"4.9", "4.10", "5", "4.8.1"})
        EXPECT_EQ(complaint({"--compatible", later, "x"}),
                  "--compatible=" + later +
                      ": the language is SystemTap's, version 4.8; it can be made an earlier one");
}

TEST(OptionChecks, ColorsAndStylesOfMessages) {
    using Color = Options::Color;
    EXPECT_EQ(accept({"x"}).color, Color::Auto);
    EXPECT_EQ(accept({"--color=auto", "x"}).color, Color::Auto);
    EXPECT_EQ(accept({"--color=always", "x"}).color, Color::Always);
    EXPECT_EQ(accept({"--color=never", "x"}).color, Color::Never);
    for (const char* alone : {"--color", "--colour", "--color=", "--colour="}) {
        EXPECT_EQ(accept({alone, "x"}).color, Color::Always) << alone;
        EXPECT_EQ(accept({alone, "x"}).script_file, "x") << alone;
        // It is a word of the script here.
        EXPECT_EQ(accept({"x", "--", alone}).arguments, Words{alone}) << alone;
    }
    EXPECT_EQ(accept({"x", "--", "--guest", "--monitor"}).arguments,
              (Words{"--guest", "--monitor"}));
    EXPECT_EQ(accept({"--guest=", "x"}).guest, "");
    EXPECT_EQ(accept({"-p4", "--monitor=", "x"}).shown_every_ms, 1000);
    EXPECT_EQ(accept({"x"}).diagnostics, &text_style());
    EXPECT_EQ(accept({"--diagnostics=text", "x"}).diagnostics, &text_style());
    EXPECT_NE(accept({"--diagnostics=json", "x"}).diagnostics, &text_style());
    EXPECT_TRUE(
        complaint({"--diagnostics=xml", "x"}).starts_with("--diagnostics=xml is not one of "));
}

TEST(OptionChecks, OneScript) {
    EXPECT_EQ(complaint({"-e", "a", "-e", "b", "-e", "c"}),
              "-e is given 3 times, but takes only one script");
    EXPECT_EQ(complaint({"-l", "a", "-l", "b"}), "-l and -L list only one probe point");
    EXPECT_EQ(complaint({"-L", "a", "-L", "b"}), "-l and -L list only one probe point");
    // Without a script, the first of -E is it.
    const Options options = accept({"-E", "a", "-E", "b"});
    EXPECT_EQ(options.expression, "a");
    EXPECT_EQ(options.additional, Words{"b"});
    EXPECT_EQ(accept({"-E", "a", "x"}).additional, Words{"a"});
    EXPECT_EQ(accept({"-E", "a", "x"}).script_file, "x");
    EXPECT_EQ(accept({"-E", "a", "-e", "x"}).expression, "x");
    // Listings have no script: the words are its arguments.
    EXPECT_EQ(accept({"-l", "begin", "one"}).arguments, Words{"one"});
    EXPECT_EQ(accept({"-l", "begin", "one"}).script_file, "");
}

TEST(OptionChecks, ActionsOfOptionsThatOnlyTell) {
    EXPECT_EQ(accept({"--info"}).action, Action::Info);
    EXPECT_EQ(accept({"--dump-probe-types"}).action, Action::DumpProbeTypes);
    EXPECT_EQ(accept({"--dump-probe-aliases"}).action, Action::DumpProbeAliases);
    EXPECT_EQ(accept({"--dump-functions"}).action, Action::DumpFunctions);
    EXPECT_EQ(accept({"--examples"}).action, Action::ListExamples);
    EXPECT_EQ(accept({"--lsp"}).action, Action::ServeEditor);
    const Options completes = accept({"--complete", "probe a", "--complete", "probe b"});
    EXPECT_EQ(completes.action, Action::Complete);
    EXPECT_EQ(completes.unfinished, "probe b");
    EXPECT_EQ(accept({"x"}).action, Action::Compile);
}

TEST(OptionChecks, FlagsHaveTheirOwnMeaning) {
    const Options all =
        accept({"-g", "-u", "-w", "-W", "-k", "-t", "--explain", "--no-system", "--skip-badvars",
                "--suppress-handler-errors", "--exclude-self", "--lines", "x"});
    EXPECT_TRUE(all.guru && all.keep_unused && !all.warnings && all.warnings_are_errors &&
                all.keep_work_files && all.times_probes && all.explain && all.no_system &&
                all.skip_bad_variables && all.suppress_handler_errors && all.exclude_self &&
                all.lines);
    const auto number = [](const Options& each) {
        return int{each.guru} + int{each.keep_unused} + int{!each.warnings} +
               int{each.warnings_are_errors} + int{each.keep_work_files} + int{each.times_probes} +
               int{each.explain} + int{each.no_system} + int{each.skip_bad_variables} +
               int{each.suppress_handler_errors} + int{each.exclude_self} + int{each.lines} +
               int{each.recorder} + int{each.guest_root};
    };
    EXPECT_EQ(number(accept({"x"})), 0);
    for (const char* flag : {"-g", "--guru", "-u", "-w", "-W", "-k", "-t", "--explain",
                             "--no-system", "--skip-badvars", "--suppress-handler-errors",
                             "--exclude-self", "--lines", "-F", "--guest-root"})
        EXPECT_EQ(number(accept({flag, "x"})), 1) << flag;
    EXPECT_EQ(accept({"-I", "a", "-I", "b", "x"}).tapset_folders, (Words{"a", "b"}));
    EXPECT_EQ(accept({"-o", "out", "-r", "6.1", "-c", "a b", "x"}).output_file, "out");
    EXPECT_EQ(accept({"-r", "6.1", "x"}).release(), "6.1");
    EXPECT_EQ(accept({"-c", "a b", "x"}).command, "a b");
}

TEST(OptionChecks, AFlightRecorderHasNoEndAndNoGuest) {
    for (const Words& bounded : {Words{"-T", "1"}, Words{"-c", "true"}}) {
        Words words{"-F", "x"};
        words.insert(words.end(), bounded.begin(), bounded.end());
        EXPECT_EQ(complaint(words),
                  "-F leaves the script loaded and cannot be combined with -c or -T");
    }
    for (const char* guest : {"--guest", "--guest-root"})
        EXPECT_EQ(complaint({"-F", guest, "x"}),
                  "-F leaves the script loaded, but a guest is discarded after the run");
    EXPECT_EQ(complaint({"-F", "--monitor", "x"}),
              "--monitor shows a script while it runs, but -F leaves it loaded");
    EXPECT_EQ(complaint({"--guest", "--monitor", "x"}),
              "--monitor needs a terminal, which a guest does not have");
    EXPECT_EQ(accept({"--guest", "--monitor", "-p4", "x"}).shown_every_ms, 1000);
    EXPECT_TRUE(accept({"-F", "-s", "2", "x"}).recorder);
}

TEST(OptionChecks, WhatRunsWithoutAModuleHasNoneOfItsOptions) {
    for (const std::string runtime : {"user", "process"}) {
        const std::string option = "--runtime=" + runtime;
        const auto told_with = [&](Words words) {
            words.insert(words.end(), {option, "-x", "1", "e"});
            return complaint(words);
        };
        EXPECT_EQ(told_with({"--sign-with", "k", "c"}),
                  "--sign-with signs a module, but " + option + " makes none");
        EXPECT_EQ(told_with({"--kernel-from", "f"}),
                  "--kernel-from names a kernel, but " + option + " needs none");
        EXPECT_EQ(told_with({"-F"}),
                  "-F leaves a module in the kernel, but " + option + " makes none");
        EXPECT_EQ(told_with({"-p4"}), "-p4 makes a module, but " + option + " has none");
        EXPECT_EQ(complaint({option, "--guest", "e"}),
                  "--guest and " + option + " exclude each other");
    }
    EXPECT_EQ(complaint({"--runtime=process", "-c", "true", "-r", "6.1", "e"}),
              "-r 6.1 names a kernel, but --runtime=process has none");
    EXPECT_EQ(accept({"--runtime=user", "-r", "6.1", "e"}).kernel, "6.1");
    EXPECT_TRUE(complaint({"--runtime=process", "e"}).starts_with("--runtime=process probes the "));
    for (const char* other : {"dyninst", "bpf"})
        EXPECT_EQ(complaint({std::string("--runtime=") + other, "e"}),
                  std::string("--runtime=") + other + " is not supported");
}

TEST(OptionChecks, GuestsHaveSizesInMegabytes) {
    EXPECT_EQ(accept({"--guest-root", "--guest-memory=128", "x"}).guest_memory_mb, 128u);
    EXPECT_EQ(accept({"--guest", "--guest-disk=17m", "x"}).guest_disk_mb, 17u);
    EXPECT_EQ(accept({"--guest", "--guest-disk=3G", "x"}).guest_disk_mb, 3u * 1024);
    EXPECT_EQ(accept({"--guest", "--guest-disk=0T", "x"}).guest_disk_mb, 0u);
    for (const char* given : {"--guest-memory=1G", "--guest-disk=1G"})
        EXPECT_EQ(complaint({given, "x"}), "--guest-memory and --guest-disk require a guest");
    EXPECT_EQ(complaint({"--guest", "--guest-disk=1", "x"}),
              "--guest-disk=1: a guest's disk must be from 16M to 16T, or 0 for none");
    EXPECT_EQ(complaint({"--guest=6.1", "-r", "6.12", "x"}),
              "--guest=6.1 and -r 6.12 name different kernels");
    EXPECT_EQ(accept({"--guest=6.1", "-r", "6.1", "x"}).guest, "6.1");
    EXPECT_EQ(accept({"--guest=6.1", "x"}).release(), "6.1");
    EXPECT_EQ(complaint({"--guest", "-x", "7", "x"}),
              "-x 7: this machine's processes do not exist in a guest");
}

TEST(OptionChecks, WhatIsListedHasTheFirstFormatForListings) {
    EXPECT_EQ(accept({"-l", "begin", "--json"}).listing_kind().name, "json");
    EXPECT_EQ(accept({"-l", "begin"}).listing_kind().name, "text");
    EXPECT_EQ(accept({"--output=json:f", "--output=text", "x"}).listing_kind().name, "text");
    EXPECT_EQ(accept({"--output=csv:f", "--json", "x"}).listing_kind().name, "json");
}

TEST(OptionChecks, OptionsOfSystemTapThatAreMissingAreNamed) {
    EXPECT_EQ(complaint({"-i", "x"}), "--interactive: an interactive session is not supported yet");
    EXPECT_EQ(complaint({"--interactive", "x"}),
              "--interactive: an interactive session is not supported yet");
    EXPECT_EQ(complaint({"-b", "x"}),
              "-b: a separate output file for each CPU (bulk mode) is not supported yet");
    EXPECT_EQ(complaint({"-S", "1,2", "x"}),
              "-S: rotating the output file at a given size is not supported yet");
    const ParsedOptions remote = parse_options({"--remote", "a", "x"});
    ASSERT_TRUE(std::holds_alternative<Failure>(remote));
    EXPECT_EQ(std::get<Failure>(remote).hint, "--hosts runs it on other machines");
}

TEST(OptionChecks, HelpOfAScriptIsThatOfItsHeader) {
    const auto folder =
        std::filesystem::temp_directory_path() / ("djstap-help-" + std::to_string(getpid()));
    std::filesystem::create_directories(folder);
    const std::string script = folder / "own.stp", other = folder / "own.txt";
    std::ofstream(script) << "probe begin {}\n";
    std::ofstream(other) << "probe begin {}\n";
    const Options options = accept({script, "--help"});
    EXPECT_EQ(options.example, script);
    EXPECT_EQ(options.arguments, Words{"--help"});
    EXPECT_EQ(accept({other, "--help"}).action, Action::ShowHelp);
    EXPECT_EQ(accept({(folder / "none.stp").string(), "--help"}).action, Action::ShowHelp);
    EXPECT_EQ(accept({script, "word", "--help"}).action, Action::ShowHelp);
    const auto before = std::filesystem::current_path();
    std::filesystem::current_path(folder);
    EXPECT_EQ(accept({"own.stp", "-h"}).example, "./own.stp");
    std::filesystem::current_path(before);
    std::filesystem::remove_all(folder);
}

// A group without a name of its own is headed "Options:".
TEST(OptionChecks, HelpHasEachOptionBelowATitle) {
    const ParsedOptions parsed = parse_options({"--help"});
    ASSERT_TRUE(std::holds_alternative<Text>(parsed));
    EXPECT_EQ(std::get<Text>(parsed).text.find("\nOptions:"), std::string::npos);
}

// What is read, and what -m has written, is not written over.
TEST(OptionChecks, OutputsKnowTheFilesThatAreNeeded) {
    const auto inputs = [](Words words) { return accept(std::move(words)).outputs().inputs; };
    EXPECT_EQ(inputs({"-e", "x"}), Words());
    EXPECT_EQ(inputs({"-"}), Words());
    EXPECT_EQ(inputs({"a.stp"}), Words{"a.stp"});
    EXPECT_EQ(inputs({"-m", "own", "a.stp"}), (Words{"a.stp", "own.ko"}));
    EXPECT_EQ(inputs({"-m", "own", "-e", "x"}), Words{"own.ko"});
}

} // namespace
} // namespace djstap::driver
