// SPDX-License-Identifier: GPL-2.0-or-later
// What all passes of a run use: its folder, its diagnostics, what scripts ask of it, and how it
// begins again.
#include "driver/invocation.h"

#include "../surroundings.h"
#include "driver/developer_switches.h"
#include "driver/fallback.h"
#include "driver/host_kernel.h"
#include "parsed_options.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

namespace djstap::driver {
namespace {

namespace fs = std::filesystem;

class Runs : public testing::Test {
  protected:
    size_t entries() const {
        return static_cast<size_t>(
            std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
    }

    const test::TestFolder own_folder;
    const std::string folder = own_folder.path;
    const test::Environment temporary{"TMPDIR", folder};
};

TEST_F(Runs, WithNohupOutliveTheTerminal) {
    for (const bool nohup : {true, false}) {
        const pid_t child = fork();
        if (child == 0) {
            signal(SIGHUP, nohup ? SIG_IGN : SIG_DFL);
            WorkFolder work;
            if (!work.path())
                _exit(9);
            raise(SIGHUP);
            _exit(0);
        }
        int status = -1;
        waitpid(child, &status, 0);
        EXPECT_EQ(nohup, WIFEXITED(status));
        EXPECT_EQ(nohup ? 0 : SIGHUP, nohup ? WEXITSTATUS(status) : WTERMSIG(status));
    }
}

TEST_F(Runs, HaveAFolderThatEndsWithThem) {
    {
        WorkFolder work;
        EXPECT_EQ(work.made(), "");
        EXPECT_EQ(entries(), 0u);
        const auto path = work.path();
        ASSERT_TRUE(path);
        EXPECT_EQ(fs::path(*path).parent_path(), folder);
        EXPECT_EQ(work.made(), *path);
        EXPECT_EQ(*work.path(), *path) << "it is made once";
        std::ofstream(*path + "/file") << "text";
        EXPECT_EQ(entries(), 1u);
    }
    EXPECT_EQ(entries(), 0u);
    {
        WorkFolder work;
        work.keep();
        ASSERT_TRUE(work.path());
    }
    EXPECT_EQ(entries(), 1u);
}

TEST_F(Runs, HaveNoFolderWhereNoneCanBeMade) {
    fs::remove_all(folder);
    temporary.set(folder + "/none");
    WorkFolder work;
    const auto path = work.path();
    if (path) // $TMPDIR is not used if it is not there
        EXPECT_FALSE(path->starts_with(folder));
    else
        EXPECT_EQ(path.failure().hint, "$TMPDIR selects another location");
}

// Creates a file in a work folder, and is ended by the signal.
[[noreturn]] void hold_until(int signal, bool keep) {
    WorkFolder work;
    if (keep)
        work.keep();
    const auto path = work.path();
    if (!path)
        _exit(1);
    work.will_hold(*path + "/module.ko");
    std::ofstream(*path + "/module.ko") << "text";
    raise(signal);
    _exit(2);
}

TEST_F(Runs, LeaveNothingWhenASignalEndsThem) {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
        const pid_t child = fork();
        ASSERT_GE(child, 0);
        if (child == 0)
            hold_until(signal, false);
        int status = 0;
        ASSERT_EQ(waitpid(child, &status, 0), child);
        EXPECT_TRUE(WIFSIGNALED(status)) << status;
        EXPECT_EQ(WTERMSIG(status), signal);
        EXPECT_EQ(entries(), 0u);
    }
    // What is kept is also kept then.
    const pid_t child = fork();
    if (child == 0)
        hold_until(SIGTERM, true);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(entries(), 1u);
}

TEST_F(Runs, EndWithErrorsAndWithWarningsThatAreOnes) {
    {
        Invocation invocation(accept({"-e", "x"}));
        EXPECT_FALSE(invocation.failed());
        invocation.diagnostics.report(DiagnosticKind::UnusedGlobal, {}, {"g"});
        EXPECT_FALSE(invocation.failed()) << "a warning";
        invocation.fail(DiagnosticKind::CannotReadScript, {"cannot", "try"});
        EXPECT_TRUE(invocation.failed());
        EXPECT_EQ(invocation.diagnostics.all().back().message, "cannot");
        EXPECT_EQ(invocation.diagnostics.all().back().hint_text, "try");
    }
    Invocation invocation(accept({"-W", "-e", "x"}));
    EXPECT_FALSE(invocation.failed());
    // What is wrong with a library is not the script's.
    invocation.diagnostics.report(DiagnosticKind::LibraryFileSkipped, {}, {"a", "b"});
    invocation.diagnostics.report(DiagnosticKind::LibraryFileUnreadable, {}, {"a", "b"});
    const uint32_t library = invocation.sources.add("library.stp", "global g", true);
    invocation.diagnostics.report(DiagnosticKind::UnusedGlobal, {library, 0, 6}, {"g"});
    EXPECT_FALSE(invocation.failed());
    const uint32_t script = invocation.sources.add("script.stp", "global g");
    invocation.diagnostics.report(DiagnosticKind::UnusedGlobal, {script, 0, 6}, {"g"});
    EXPECT_TRUE(invocation.failed());
    EXPECT_TRUE(invocation.failed());
    EXPECT_EQ(invocation.diagnostics.error_count(), 1u);
    EXPECT_EQ(invocation.diagnostics.all().back().kind, DiagnosticKind::WarningsAreErrors);
}

TEST_F(Runs, AnswerTheConditionsOfScripts) {
    struct utsname name = {};
    ASSERT_EQ(uname(&name), 0);
    Invocation plain(accept({"-g", "--compatible=3.1", "-e", "x", "one", "two"}));
    const PreprocessorContext context = plain.preprocessor();
    EXPECT_EQ(context.kernel_release(), name.release);
    EXPECT_EQ(context.language_version, "3.1");
    EXPECT_TRUE(context.guru);
    EXPECT_EQ(context.arguments, (Words{"one", "two"}));
    EXPECT_EQ(context.runtime, PreprocessorContext().runtime);
    Invocation user(accept({"--runtime=user", "-e", "x"}));
    EXPECT_EQ(user.preprocessor().runtime, "user");
    EXPECT_FALSE(user.preprocessor().guru);
    Invocation process(accept({"--runtime=process", "-c", "/bin/true", "-e", "x"}));
    EXPECT_EQ(process.preprocessor().runtime, "process");
}

// Of a kernel that is not here, every answer is empty.
TEST_F(Runs, AnswerWhatAKernelIsConfiguredFor) {
    Invocation invocation(accept({"-p4", "-r", folder + "/none", "-e", "x"}));
    const PreprocessorContext context = invocation.preprocessor();
    EXPECT_EQ(context.kernel_release(), "");
    EXPECT_EQ(context.kernel_config("CONFIG_SMP"), "");
}

TEST_F(Runs, KeepTheirFolderOnRequest) {
    {
        EXPECT_TRUE(Invocation(accept({"-e", "x"})).work.path());
    }
    EXPECT_EQ(entries(), 0u);
    {
        EXPECT_TRUE(Invocation(accept({"-k", "-e", "x"})).work.path());
    }
    EXPECT_EQ(entries(), 1u);
}

// /dev/full refuses what is written to it.
TEST_F(Runs, KnowWhetherTheirOutputWasWritten) {
    const int saved = dup(STDOUT_FILENO), full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    ASSERT_GE(full, 0);
    fflush(stdout);
    dup2(full, STDOUT_FILENO);
    Invocation silent(accept({"-e", "x"})), refused(accept({"-e", "x"}));
    const bool nothing = silent.flush_output();
    refused.output().line("text");
    const bool something = refused.flush_output();
    dup2(saved, STDOUT_FILENO);
    close(saved);
    close(full);
    EXPECT_TRUE(nothing);
    EXPECT_FALSE(something);
}

TEST_F(Runs, BeginAgainAsAModuleAndSayWhy) {
    Invocation first(accept({"--runtime=process", "-c", "/bin/true", "-"}));
    EXPECT_FALSE(first.next);
    const uint32_t source = first.sources.add("<stdin>", "probe begin {}");
    fall_back(first, source, {"a", "b", "c", "d", "e"}, "try");
    ASSERT_TRUE(first.next);
    EXPECT_FALSE(first.next->in_process || first.next->user_space);
    ASSERT_TRUE(first.next->fallback);
    EXPECT_EQ(first.next->fallback->script, "probe begin {}");
    EXPECT_EQ(first.next->command, "/bin/true");

    const auto told = [](Options options) {
        Invocation again(std::move(options));
        tell_of_fallback(again);
        return again.diagnostics.all().empty() ? "nothing"
                                               : again.diagnostics.all().back().message + " / " +
                                                     again.diagnostics.all().back().hint_text;
    };
    const std::string begin = "the script runs as a kernel module, by uprobes: ";
    EXPECT_EQ(told(*first.next), begin + "a; b; c; and 2 more reasons (-v) / try");
    Options options = *first.next;
    options.verbosity[2] = 1;
    EXPECT_EQ(told(options), begin + "a; b; c; d; e / try");
    options.verbosity[2] = 0;
    options.fallback->reasons.resize(3);
    EXPECT_EQ(told(options), begin + "a; b; c / try");
    options.fallback->reasons.resize(1);
    EXPECT_EQ(told(options), begin + "a / try");
    options.fallback.reset();
    EXPECT_EQ(told(options), "nothing");

    // Only standard input cannot be read once more.
    Invocation expression(accept({"--runtime=process", "-c", "/bin/true", "-e", "probe begin {}"}));
    fall_back(expression, expression.sources.add("<input>", "probe begin {}"), {"a"}, "");
    EXPECT_FALSE(expression.next->fallback->script);
    Invocation of_file(accept({"--runtime=process", "-c", "/bin/true", "file.stp"}));
    fall_back(of_file, of_file.sources.add("file.stp", "probe begin {}"), {"a"}, "");
    EXPECT_FALSE(of_file.next->fallback->script);
}

TEST_F(Runs, DoNotBeginAgainWithoutARuntimeThatPatches) {
    EXPECT_FALSE(can_fall_back(Invocation(accept({"-e", "x"}))));
    EXPECT_FALSE(can_fall_back(Invocation(accept({"--runtime=user", "-e", "x"}))));
}

HostFacts facts_of(const std::string& machine, const std::string& release) {
    HostFacts facts;
    facts.host = "web";
    facts.machine = machine;
    facts.distribution = "debian";
    facts.release = release;
    facts.version = "#1 SMP Debian 6.1.1-1 (2026-01-01)";
    return facts;
}

TEST_F(Runs, TakeTheKernelOfAHostFromItsFacts) {
    struct utsname name = {};
    ASSERT_EQ(uname(&name), 0);
    const auto settled = [&](const HostFacts& facts, Options& options) {
        options.host_facts = folder + "/facts";
        std::ofstream(options.host_facts) << to_json(facts);
        const auto host = settle_host(options);
        return !host   ? "nothing"
               : *host ? (*host)->release
                       : host->failure().message + "\n" + host->failure().hint;
    };
    Options options;
    EXPECT_FALSE(settle_host(options));
    EXPECT_EQ(settled(facts_of("riscv64", "6.1.1"), options),
              "web has the architecture riscv64, but this djstap compiles for " +
                  std::string(name.machine) + "\n");
    const std::string install = "\ninstall linux-headers-9.9.9-none=6.1.1-1 "
                                "linux-image-9.9.9-none-dbg=6.1.1-1, or unpack them and name the "
                                "folder by -r";
    EXPECT_EQ(settled(facts_of(name.machine, "9.9.9-none"), options),
              "kernel 9.9.9-none, which web runs, is not on this machine" + install);
    HostFacts nameless = facts_of(name.machine, "9.9.9-none");
    nameless.host = nameless.distribution = "";
    EXPECT_EQ(settled(nameless, options),
              "kernel 9.9.9-none, which the host runs, is not on this machine\ninstall the "
              "packages of this kernel, or unpack them and name the folder by -r");
    EXPECT_EQ(options.kernel, "");
    // With -r, this kernel stands for it.
    options.kernel = "6.1";
    EXPECT_EQ(settled(facts_of(name.machine, "9.9.9-none"), options), "9.9.9-none");
    EXPECT_EQ(options.kernel, "6.1");
    options.host_facts = folder + "/none";
    const auto missing = settle_host(options);
    ASSERT_TRUE(missing && !*missing);
    EXPECT_EQ(missing->failure().hint, "djrun --facts > FILE writes them there");
    std::ofstream(options.host_facts) << "{}";
    const auto damaged = settle_host(options);
    ASSERT_TRUE(damaged && !*damaged);
    EXPECT_TRUE(damaged->failure().message.starts_with(options.host_facts + ": "));
}

TEST(DeveloperSwitches, AreReadFromTheEnvironment) {
    const auto applied = [](const char* name, const char* value, const CodegenKernel& kernel,
                            CodegenOptions& options) {
        const test::Environment set(name, value);
        const auto failure = apply_switches(options, kernel);
        return failure ? failure->message : "";
    };
    CodegenKernel kernel;
    kernel.release = "6.1";
    CodegenOptions options;
    EXPECT_FALSE(apply_switches(options, kernel));
    EXPECT_FALSE(options.sanitize);
    EXPECT_EQ(options.forms, HandlerForms::Chosen);
    const std::pair<const char*, HandlerForms> forms[] = {{"called", HandlerForms::Called},
                                                          {"context", HandlerForms::Context},
                                                          {"separate", HandlerForms::Separate},
                                                          {"", HandlerForms::Chosen}};
    for (const auto& [name, form] : forms) {
        EXPECT_EQ(applied("DJSTAP_HANDLER_FORMS", name, kernel, options), "");
        EXPECT_EQ(options.forms, form) << name;
    }
    EXPECT_EQ(applied("DJSTAP_HANDLER_FORMS", "other", kernel, options),
              "handlers have no form other");
    EXPECT_EQ(applied("DJSTAP_SANITIZE", "1", kernel, options), "the kernel 6.1 has no sanitizer");
    EXPECT_EQ(applied("DJSTAP_SANITIZE", "0", kernel, options), "");
    EXPECT_FALSE(options.sanitize);
    kernel.sanitizer = Sanitizer::Address;
    EXPECT_EQ(applied("DJSTAP_SANITIZE", "1", kernel, options), "");
    EXPECT_TRUE(options.sanitize);
    EXPECT_EQ(applied("DJSTAP_SANITIZE", "0", kernel, options), "");
    EXPECT_FALSE(options.sanitize);
    kernel.sanitizer = Sanitizer::None;
    kernel.user_space = true;
    EXPECT_EQ(applied("DJSTAP_SANITIZE", "1", kernel, options), "");
    EXPECT_FALSE(options.sanitize) << "it is the kernel's";
}

} // namespace
} // namespace djstap::driver
