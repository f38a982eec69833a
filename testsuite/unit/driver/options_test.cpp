// SPDX-License-Identifier: GPL-2.0-or-later
#include "include/record.h"
#include "parsed_options.h"

#include <gtest/gtest.h>
#include <string>
#include <unistd.h>

namespace djstap::driver {
namespace {

TEST(Options, ScriptFileThenArguments) {
    Options options = accept({"script.stp", "one", "-5", "--", "-v"});
    EXPECT_EQ(options.script_file, "script.stp");
    EXPECT_EQ(options.arguments, (std::vector<std::string>{"one", "-5", "-v"}));
    EXPECT_EQ(options.verbose(), 0);
}

TEST(Options, ExpressionLeavesAllWordsToTheScript) {
    Options options = accept({"-e", "probe begin {}", "one", "two"});
    EXPECT_EQ(options.expression, "probe begin {}");
    EXPECT_EQ(options.arguments, (std::vector<std::string>{"one", "two"}));
    EXPECT_EQ(options.script_name(), "<input>");
}

TEST(Options, AnExpressionMayLookLikeAnOption) {
    EXPECT_EQ(accept({"-e", "-x"}).expression, "-x");
    EXPECT_EQ(accept({"-e", ""}).expression, "");
}

TEST(Options, StandardInput) {
    Options options = accept({"-", "one"});
    EXPECT_EQ(options.script_file, "-");
    EXPECT_EQ(options.script_name(), "<stdin>");
    EXPECT_EQ(options.arguments, std::vector<std::string>{"one"});
}

TEST(Options, PassNumberTogetherAndApart) {
    EXPECT_EQ(accept({"-p4", "x"}).last_pass, 4);
    EXPECT_EQ(accept({"-p", "2", "x"}).last_pass, 2);
    EXPECT_EQ(accept({"-kp3", "x"}).last_pass, 3);
    EXPECT_EQ(reject({"-p9", "x"}).message, "-p 9: no such pass");
    reject({"-p4x", "x"});
}

TEST(Options, AKeyAndItsCertificate) {
    const Options options = accept({"--sign-with", "key.pem", "cert.der", "script.stp", "word"});
    EXPECT_EQ(options.signing_key, "key.pem");
    EXPECT_EQ(options.signing_certificate, "cert.der");
    EXPECT_EQ(options.script_file, "script.stp");
    EXPECT_EQ(options.arguments, std::vector<std::string>{"word"});
    reject({"--sign-with", "key.pem"});
    reject({"--sign-with", "key.pem", "cert.der"});
    EXPECT_EQ(reject({"--runtime=user", "--sign-with", "k", "c", "x"}).message,
              "--sign-with signs a module, but --runtime=user makes none");
    const Options enrolls = accept({"--enroll-key", "cert.der"});
    EXPECT_EQ(enrolls.action, Action::EnrollKey);
    EXPECT_EQ(enrolls.signing_certificate, "cert.der");
}

TEST(Options, TheFactsOfAHost) {
    EXPECT_EQ(accept({"--kernel-from", "facts.json", "-p4", "x"}).host_facts, "facts.json");
    EXPECT_EQ(reject({"--kernel-from", "facts.json", "--runtime=user", "x"}).message,
              "--kernel-from names a kernel, but --runtime=user needs none");
}

TEST(Options, Verbosity) {
    Options options = accept({"-vv", "--vp", "0012", "x"});
    EXPECT_EQ(std::vector<int>(options.verbosity, options.verbosity + 5),
              (std::vector<int>{2, 2, 3, 4, 2}));
    reject({"--vp", "123456", "x"});
    reject({"--vp", "1a", "x"});
}

TEST(Options, DefinitionsAndGlobals) {
    Options options = accept({"-DMAXACTION=5", "-D", "FLAG", "-Gname=a=b", "x"});
    EXPECT_EQ(options.definitions, (std::vector<NameValue>{{"MAXACTION", "5"}, {"FLAG", "1"}}));
    EXPECT_EQ(options.global_values, (std::vector<NameValue>{{"name", "a=b"}}));
    EXPECT_EQ(reject({"-G", "5", "x"}).message, "-G 5: expected NAME=VALUE");
    reject({"-D", "5x=1", "x"});
}

TEST(Options, GuestTakesItsReleaseOnlyAfterAnEqualSign) {
    Options options = accept({"--guest", "script.stp"});
    EXPECT_EQ(options.guest, "");
    EXPECT_EQ(options.script_file, "script.stp");
    EXPECT_EQ(accept({"--guest=6.1", "x"}).guest, "6.1");
    EXPECT_EQ(accept({"--guest", "-r", "6.12", "x"}).guest, "6.12");
    EXPECT_EQ(accept({"--guest-root", "x"}).guest, "");
    EXPECT_FALSE(accept({"x"}).guest);
    EXPECT_EQ(accept({"--guest", "--guest-memory=1G", "x"}).guest_memory_mb, 1024u);
    EXPECT_EQ(accept({"--guest", "--guest-memory", "300", "x"}).guest_memory_mb, 300u);
    EXPECT_EQ(accept({"--guest", "x"}).guest_memory_mb, 0u);
    EXPECT_EQ(accept({"--guest", "--guest-disk=2t", "x"}).guest_disk_mb, 2u << 20);
    EXPECT_EQ(accept({"--guest", "--guest-disk=0", "x"}).guest_disk_mb, 0u);
    EXPECT_FALSE(accept({"--guest", "x"}).guest_disk_mb);
    // The smallest and largest values for a guest.
    EXPECT_EQ(accept({"--guest", "--guest-memory=128M", "x"}).guest_memory_mb, 128u);
    EXPECT_EQ(accept({"--guest", "--guest-disk=16M", "x"}).guest_disk_mb, 16u);
    EXPECT_EQ(accept({"--guest", "--guest-disk=16T", "x"}).guest_disk_mb, 16u << 20);
    const auto all = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) / 256;
    EXPECT_EQ(
        accept({"--guest", "--guest-memory=" + std::to_string(all) + "M", "x"}).guest_memory_mb,
        all);
    reject({"--guest", "--guest-memory=" + std::to_string(all + 1) + "M", "x"});
    // The largest number that is taken for a size, although no machine has so much.
    EXPECT_NE(complaint({"--guest", "--guest-memory=2147483647", "x"}).find("must be from 128M to"),
              std::string::npos);
    EXPECT_EQ(complaint({"--guest", "--guest-memory=2147483648", "x"}),
              "--guest-memory=2147483648: not a valid size");
    for (const char* size :
         {"much", "1GB", "-1", "", "M", "1.5G", "127M", "99999999T", "9223372036854775807G"})
        reject({"--guest", "--guest-memory=" + std::string(size), "x"});
    for (const char* size : {"large", "15M", "16777217M", "17T", "2147483648", "0x10"})
        reject({"--guest", "--guest-disk=" + std::string(size), "x"});
    reject({"--guest-disk=1G", "x"});
    reject({"--guest-memory=1G", "x"});
    reject({"--guest=6.1", "-r", "6.12", "x"});
    reject({"--guest", "-x", "1", "e"});
}

TEST(Options, Listing) {
    Options options = accept({"-L", "kernel.function(\"*\")"});
    EXPECT_EQ(options.action, Action::List);
    EXPECT_TRUE(options.list_variables);
    EXPECT_EQ(options.list_pattern, "kernel.function(\"*\")");
    EXPECT_FALSE(accept({"-l", "begin"}).list_variables);
    reject({"-l", "begin", "-L", "end"});
}

TEST(Options, ModuleName) {
    EXPECT_EQ(accept({"-m", "name.ko", "x"}).module_name, "name");
    reject({"-m", "no good", "x"});
    reject({"-m", ".ko", "x"});
    reject({"-m", std::string(56, 'a'), "x"});
}

TEST(Options, NumbersAreChecked) {
    EXPECT_DOUBLE_EQ(accept({"-T", "0.5", "x"}).seconds, 0.5);
    for (const char* wrong : {"0", "-1", "x", "1s", "nan", ""})
        reject({"-T", wrong, "x"});
    EXPECT_EQ(reject({"-T", "0", "x"}).message, "-T 0: expected a number of seconds above 0");
    EXPECT_EQ(accept({"-x", "1", "e"}).traced_pid, 1);
    for (const char* wrong : {"0", "-1", "x", "99999999999"})
        reject({"-x", wrong, "e"});
    const Options observed = accept({"--target-namespaces=77", "e"});
    ASSERT_EQ(observed.library_values.size(), 1U);
    EXPECT_EQ(observed.library_values[0].second, "77");
    for (const char* wrong : {"0", "-1", "x", "99999999999"})
        reject({std::string("--target-namespaces=") + wrong, "e"});
    EXPECT_EQ(accept({"-s", "16", "e"}).buffer_megabytes, 16);
    reject({"-s", "0", "e"});
}

TEST(Options, MisspeltOptionsGetTheNearestOne) {
    Failure failure = reject({"--mechansm=kprobe", "x"});
    EXPECT_EQ(failure.message, "unknown option --mechansm");
    EXPECT_EQ(failure.hint, "did you mean '--mechanism'?");
    EXPECT_EQ(reject({"--gust", "x"}).hint, "did you mean '--guest'?");
    EXPECT_EQ(reject({"-z", "x"}).message, "unknown option -z");
}

TEST(Options, MisspeltValuesGetTheNearestOne) {
    EXPECT_EQ(reject({"--mechanism=kprob", "x"}).hint, "did you mean 'kprobe'?");
    EXPECT_EQ(accept({"--mechanism=auto", "x"}).mechanism, "");
    EXPECT_EQ(accept({"--mechanism=kprobe-int3", "x"}).mechanism, "kprobe-int3");
    reject({"--runtime=bpf", "x"});
    reject({"--runtime=user", "--guest", "x"});
    reject({"--runtime=user", "-F", "x"});
    reject({"--runtime=user", "-p4", "x"});
    reject({"--runtime=process", "x"});
    EXPECT_TRUE(accept({"--runtime=process", "-x", "1", "x"}).in_process);
    reject({"--runtime=process", "-c", "true", "--guest", "x"});
    EXPECT_TRUE(accept({"--runtime=user", "x"}).user_space);
    EXPECT_FALSE(accept({"--runtime=user", "x"}).in_process);
    EXPECT_TRUE(accept({"--runtime=process", "-c", "true", "x"}).in_process);
    EXPECT_TRUE(accept({"--runtime=process", "-p2", "x"}).in_process);
    EXPECT_TRUE(
        accept({"--runtime=process", "-l", "process(\"true\").function(\"*\")"}).in_process);
    EXPECT_FALSE(accept({"--runtime=kernel", "x"}).user_space);
    reject({"--color=pink", "x"});
}

TEST(Options, FieldsOfEvents) {
    EXPECT_EQ(accept({"--json", "x"}).event_fields, 0u);
    EXPECT_EQ(accept({"--json", "--event-fields=tid", "x"}).event_fields, DJS_EVENT_TID);
    EXPECT_EQ(accept({"--event-fields", "pid,probe", "--json", "x"}).event_fields,
              DJS_EVENT_PID | DJS_EVENT_PROBE);
    // What reads the records has an output of its own.
    EXPECT_EQ(accept({"--event-fields=pid", "-p4", "x"}).event_fields, DJS_EVENT_PID);
    EXPECT_EQ(accept({"--event-fields=pid", "-F", "x"}).event_fields, DJS_EVENT_PID);
    Failure failure = reject({"--event-fields=pid", "x"});
    EXPECT_EQ(failure.message, "--event-fields: text output does not show these fields");
    EXPECT_EQ(failure.hint, "use --output=json, --output=perfetto, --output=ctf");
    failure = reject({"--json", "--event-fields=pid,prob", "x"});
    EXPECT_EQ(failure.message,
              "--event-fields=pid,prob: 'prob' is not one of probe, pid, tid, cpu, time");
    EXPECT_EQ(failure.hint, "did you mean 'probe'?");
    failure = reject({"--json", "--event-fields=execname", "x"});
    EXPECT_EQ(failure.message,
              "--event-fields=execname: 'execname' is not one of probe, pid, tid, cpu, time");
    EXPECT_EQ(failure.hint, "");
    for (const char* wrong : {"", ",", "pid,", "pid,,tid", "PID"})
        reject({"--json", "--event-fields=" + std::string(wrong), "x"});
}

TEST(Options, OutputsAreRequested) {
    EXPECT_TRUE(accept({"x"}).output_requests.empty());
    const Options options =
        accept({"--output=json:a:b", "--output", "text", "--output=perfetto:t", "x"});
    ASSERT_EQ(options.output_requests.size(), 3u);
    EXPECT_EQ(options.output_requests[0].kind->name, "json");
    EXPECT_EQ(options.output_requests[0].file, "a:b");
    EXPECT_EQ(options.output_requests[1].kind->name, "text");
    EXPECT_EQ(options.output_requests[1].file, "");
    EXPECT_EQ(options.event_fields, uint32_t{DJS_EVENT_PROBE | DJS_EVENT_PID | DJS_EVENT_TID});
    EXPECT_EQ(accept({"--json", "x"}).output_requests.at(0).kind->name, "json");
    EXPECT_EQ(accept({"--output=svg:x", "y"}).event_fields, 0u);
    // Only the fields matter to a module that other programs read.
    for (const char* elsewhere : {"-p4", "-F"})
        EXPECT_NE(accept({elsewhere, "--output=ctf", "x"}).event_fields, 0u) << elsewhere;
    EXPECT_EQ(accept({"--output=json", "-l", "begin"}).listing_kind().name, "json");
    EXPECT_EQ(accept({"--output=json:f", "x"}).listing_kind().name, "text");
}

TEST(Options, OutputsThatCannotBeAreRefused) {
    const auto told = [](std::vector<std::string> words) {
        const Failure failure = reject(std::move(words));
        return failure.message + "\n" + failure.hint;
    };
    EXPECT_EQ(told({"--output=perfeto:x", "s"}),
              "--output=perfeto:x: 'perfeto' is not one of text, json, csv, folded, svg, pprof, "
              "perfetto, ctf, snapshots, monitor\ndid you mean 'perfetto'?");
    EXPECT_EQ(
        told({"--output=x.svg", "s"}),
        "--output=x.svg: 'x.svg' is not one of text, json, csv, folded, svg, pprof, perfetto, "
        "ctf, snapshots, monitor\nthe format comes first: --output=FORMAT:FILE");
    EXPECT_EQ(told({"--output=csv:", "s"}),
              "--output=csv:: the name of the file is missing\n--output=csv:FILE, or without the "
              "colon for standard output");
    EXPECT_EQ(told({"--output=csv:x", "--output=json:x", "s"}),
              "--output=json:x: another output writes to x, too\neach output needs a file of its "
              "own: --output=json:FILE");
    EXPECT_EQ(told({"--output=csv:x", "--json", "-o", "x", "s"}),
              "--output=json: another output writes to x, too\neach output needs a file of its "
              "own: --output=json:FILE");
    EXPECT_EQ(told({"--output=csv", "--json", "s"}),
              "--output=json: another output writes to standard output, too\neach output needs a "
              "file of its own: --output=json:FILE");
    EXPECT_EQ(told({"--output=json:x", "-o", "y", "s"}),
              "-o y: each output has a file of its own\nomit -o, or add --output=text, which is "
              "written there");
    EXPECT_EQ(accept({"--output=json:x", "--output=text", "-o", "y", "s"}).output_file, "y");
    EXPECT_EQ(told({"--output=ctf", "s"}),
              "--output=ctf: CTF output is a folder, whose name is missing\nname one: "
              "--output=ctf:FOLDER");
    EXPECT_EQ(told({"--output=svg", "-l", "begin"}),
              "--output=svg: what only lists or informs is printed as text or JSON\nuse "
              "--output=json without a file, or none");
    EXPECT_EQ(
        told({"--output=svg:x", "-F", "s"}),
        "--output=svg:x: -F leaves the script loaded and prints only its name\ndjrun --attach "
        "NAME --output=svg:x reads what it has recorded; here the format alone has the fields "
        "recorded that it shows");
}

TEST(Options, TheMonitorNeedsItsValues) {
    const Options options = accept({"-p4", "--monitor=2.5", "-t", "x"});
    EXPECT_TRUE(options.times_probes);
    EXPECT_EQ(options.shown_every_ms, 2500);
    EXPECT_EQ(options.output_requests.at(0).kind->name, "monitor");
    EXPECT_EQ(accept({"-p4", "--output=monitor", "x"}).shown_every_ms, 1000);
    EXPECT_EQ(accept({"-p4", "--monitor", "x"}).script_file, "x");
    EXPECT_EQ(accept({"x"}).shown_every_ms, 0);
    EXPECT_TRUE(options.shown_probes);
    EXPECT_FALSE(options.shown_whole);
    for (const char* wrong : {"--monitor=0", "--monitor=x", "--monitor=-1", "--monitor=1s",
                              "--monitor=nan", "--monitor=1e9"})
        EXPECT_NE(reject({"-p4", wrong, "x"}).message.find("seconds"), std::string::npos) << wrong;
}

TEST(Options, SnapshotsNeedAllValues) {
    const Options options = accept({"-p4", "--output=snapshots", "x"});
    EXPECT_EQ(options.shown_every_ms, 1000);
    EXPECT_TRUE(options.shown_whole);
    EXPECT_FALSE(options.shown_probes);
    EXPECT_EQ(reject({"-F", "--output=snapshots", "x"}).message,
              "--output=snapshots shows a script while it runs, but -F leaves it loaded");
}

TEST(Options, ConflictsAreNamed) {
    reject({"-c", "true", "-x", "1", "e"});
    reject({"-e", "a", "-e", "b"});
    EXPECT_NE(reject({}).message.find("no script"), std::string::npos);
    reject({"-x"});
}

TEST(Options, WhatIsNotSupportedYetIsSaid) {
    EXPECT_NE(reject({"-i", "x"}).message.find("not supported yet"), std::string::npos);
    const Options options = accept({"-d", "kernel", "-d", "ext4", "--ldd", "--all-modules", "x"});
    EXPECT_EQ(options.script_file, "x");
}

// SystemTap's common options. Options that are not implemented are reported as such, with a reason.
TEST(Options, EveryOptionThatPeopleUseIsKnown) {
    const std::vector<std::vector<std::string>> lines{
        {"-e", "x"},
        {"-v", "x"},
        {"-p", "2", "x"},
        {"-l", "begin"},
        {"-L", "begin"},
        {"-c", "true", "x"},
        {"-x", "1", "x"},
        {"-T", "1", "x"},
        {"-o", "out", "x"},
        {"-g", "x"},
        {"-D", "A=1", "x"},
        {"-I", ".", "x"},
        {"-h"},
        {"-V"},
        {"-"},
        {"--", "x", "1"},
        {"-w", "x"},
        {"-W", "x"},
        {"-G", "a=1", "x"},
        {"-m", "name", "x"},
        {"-d", "kernel", "x"},
        {"--ldd", "x"},
        {"--all-modules", "x"},
        {"-r", "6.1", "x"},
        {"-k", "x"},
        {"-t", "x"},
        {"-s", "4", "x"},
        {"-b", "x"},
        {"-E", "probe end {}", "x"},
        {"-S", "1,2", "x"},
        {"-F", "x"},
        {"-u", "x"},
        {"--vp", "00001", "x"},
        {"--skip-badvars", "x"},
        {"--no-system", "x"},
        {"--suppress-handler-errors", "x"},
        {"--compatible", "4.8", "x"},
        {"--dump-probe-types"},
        {"--dump-probe-aliases"},
        {"--dump-functions"},
        {"--complete", "probe beg"},
        {"--lsp"},
        {"--color", "x"},
        {"--color=always", "x"},
        {"-i"},
        {"-p4", "--monitor", "x"},
        {"--example", "x"},
        {"--examples"},
    };
    for (const auto& line : lines) {
        const ParsedOptions parsed = parse_options(line);
        const auto* failure = std::get_if<Failure>(&parsed);
        if (failure) {
            EXPECT_NE(failure->message.find("not supported yet"), std::string::npos)
                << line.front() << ": " << failure->message;
        }
    }
}

TEST(Options, WordsBehindAnExampleAreItsOwn) {
    Options options = accept({"--example", "latency", "vfs_read", "-T5", "--", "--rows", "3"});
    EXPECT_EQ(options.example, "latency");
    EXPECT_EQ(options.seconds, 5);
    EXPECT_EQ(options.script_file, "");
    EXPECT_EQ(options.arguments, (std::vector<std::string>{"vfs_read", "--rows", "3"}));
    EXPECT_EQ(accept({"--example", "top", "--help"}).arguments, std::vector<std::string>{"--help"});
    EXPECT_EQ(accept({"--examples", "tcp"}).arguments, std::vector<std::string>{"tcp"});
    EXPECT_EQ(reject({"--example", "top", "--rows=3"}).hint,
              "options of the example follow --: djstap --example top -- --rows=3");
    EXPECT_EQ(reject({"--example", "top", "-e", "probe begin {}"}).hint,
              "-E appends to its script");
    EXPECT_EQ(reject({"--example", "top", "--info"}).hint, "-E appends to its script");
}

TEST(Options, HelpNamesEveryLongOptionAndHasExamples) {
    ParsedOptions parsed = parse_options({"--help"});
    ASSERT_TRUE(std::holds_alternative<Text>(parsed));
    const std::string& text = std::get<Text>(parsed).text;
    EXPECT_GT(long_options().size(), 15u);
    for (const std::string& name : long_options())
        EXPECT_NE(text.find(name), std::string::npos) << name;
    EXPECT_NE(text.find("Examples:"), std::string::npos);
}

TEST(Options, HelpWithNamesTellsWhatTheyMean) {
    const Options options = accept({"--json", "--help", "errno_str()", "vfs.*", "-I", "own"});
    EXPECT_EQ(options.action, Action::ShowHelp);
    EXPECT_EQ(options.arguments, (std::vector<std::string>{"errno_str()", "vfs.*"}));
    EXPECT_EQ(options.tapset_folders, std::vector<std::string>{"own"});
    EXPECT_EQ(accept({"-h", "printf"}).action, Action::ShowHelp);
    EXPECT_EQ(reject({"--help", "printf", "--no-such-option"}).message,
              "unknown option --no-such-option");
}

TEST(Options, HelpAndVersionNeedNoScript) {
    EXPECT_TRUE(std::holds_alternative<Text>(parse_options({"-h"})));
    EXPECT_TRUE(std::holds_alternative<Text>(parse_options({"-V"})));
}

} // namespace
} // namespace djstap::driver
