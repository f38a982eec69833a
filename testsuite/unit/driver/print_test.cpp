// SPDX-License-Identifier: GPL-2.0-or-later
// What -p1 to -p4 print, and what a run tells of its passes.
#include "driver/passes.h"
#include "driver/pipeline.h"

#include "../surroundings.h"
#include "parsed_options.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <gtest/gtest.h>

namespace djstap::driver {
namespace {

using program::Function;
using program::Global;
using program::Storage;
using program::Type;

class Printed : public testing::Test {
  protected:
    std::string plan() {
        return printed([&] { print_plan(*invocation_, resolved_); });
    }
    std::string printed(const std::function<void()>& print) {
        invocation_ = std::make_unique<Invocation>(accept({"-p2", "-e", "probe begin {}"}));
        testing::internal::CaptureStdout();
        print();
        EXPECT_TRUE(invocation_->flush_output());
        return testing::internal::GetCapturedStdout();
    }
    program::Program& program() { return resolved_.script.program; }
    Global& global(const std::string& name, Type value, Storage storage,
                   std::vector<Type> keys = {}) {
        auto made = std::make_unique<Global>();
        made->name = name;
        made->value = value;
        made->storage = storage;
        made->keys = std::move(keys);
        program().globals.push_back(std::move(made));
        return *program().globals.back();
    }
    Site& site(const std::string& point, Mechanism mechanism, bool added = false) {
        auto probe = std::make_unique<program::Probe>();
        probe->synthetic = added;
        Variant variant;
        variant.probe = probe.get();
        program().probes.push_back(std::move(probe));
        Site made;
        made.variant = static_cast<uint32_t>(resolved_.plan.variants.size());
        made.point = point;
        made.mechanism = mechanism;
        resolved_.plan.variants.push_back(std::move(variant));
        resolved_.plan.sites.push_back(std::move(made));
        return resolved_.plan.sites.back();
    }

    std::unique_ptr<Invocation> invocation_;
    ResolvedScript resolved_;
};

TEST_F(Printed, GlobalsHaveTheirTypesAndStorage) {
    EXPECT_EQ(plan(), "# probes\n");
    global("n", Type::Long, Storage::PerCpu);
    global("s", Type::String, Storage::Constant);
    global("c", Type::Statistic, Storage::Locked);
    global("a", Type::Long, Storage::Locked, {Type::Long});
    global("b", Type::String, Storage::Locked, {Type::String, Type::Stack, Type::Long}).wrap = true;
    EXPECT_EQ(plan(), "# globals\n"
                      "n:long  # a copy on each CPU\n"
                      "s:string  # constant\n"
                      "c:stats  # locked\n"
                      "a[long]:long  # locked\n"
                      "b%[string, stack, long]:string  # locked\n"
                      "# probes\n");
}

TEST_F(Printed, FunctionsHaveTheirParameters) {
    const auto function = [&](const std::string& name, Type type, uint32_t parameters) {
        auto made = std::make_unique<Function>();
        made->name = name;
        made->return_type = type;
        made->parameter_count = parameters;
        made->locals = {{"x", Type::Long, {}}, {"y", Type::String, {}}, {"own", Type::Long, {}}};
        program().functions.push_back(std::move(made));
    };
    function("f", Type::Long, 2);
    function("g", Type::Void, 0);
    function("h", Type::String, 1);
    EXPECT_EQ(plan(), "# functions\n"
                      "f:long (x:long, y:string)\n"
                      "g:void ()\n"
                      "h:string (x:long)\n"
                      "# probes\n");
}

TEST_F(Printed, SitesHaveTheirMechanismsAndReasons) {
    site("begin", Mechanism::None);
    site("end", Mechanism::None, true);
    site("f", Mechanism::Djprobe);
    site("g", Mechanism::Djprobe).reason = "fentry site";
    site("h", Mechanism::Kprobe, true).reason = "no fentry site";
    Site& jump = site("i\x1b[2J", Mechanism::Kprobe);
    jump.reason = "forced";
    jump.jump = "a jump is safe";
    EXPECT_EQ(plan(), "# probes\n"
                      "begin\n"
                      "end  # added by djstap\n"
                      "f  # djprobe\n"
                      "g  # djprobe: fentry site\n"
                      "h  # kprobe: no fentry site; added by djstap\n"
                      "i?[2J  # kprobe: forced; a jump is safe\n");
}

TEST_F(Printed, ResultsOfOtherPasses) {
    EXPECT_EQ(printed([&] {
                  GeneratedScript generated;
                  generated.object.ir = "define void @f()\n";
                  print_ir(*invocation_, generated);
              }),
              "define void @f()\n");
    EXPECT_EQ(printed([&] {
                  RunnableScript runnable;
                  runnable.module_path = "/there/own.ko";
                  print_module(*invocation_, runnable);
              }),
              "/there/own.ko\n");
}

// A whole run of djstap's, without a kernel.
class WholeRuns : public testing::Test {
  protected:
    int run_with(Words words) {
        testing::internal::CaptureStdout();
        testing::internal::CaptureStderr();
        const int status = run(accept(std::move(words)));
        told = testing::internal::GetCapturedStderr();
        printed = testing::internal::GetCapturedStdout();
        return status;
    }
    size_t told_times(const std::string& wanted) const {
        size_t found = 0;
        for (size_t at = told.find(wanted); at != told.npos; at = told.find(wanted, at + 1))
            found++;
        return found;
    }
    // The files of the run that were kept.
    std::vector<std::string> kept() const {
        std::vector<std::string> names;
        const std::string before = "djstap: the temporary files were kept in ";
        const size_t at = told.find(before);
        if (at == told.npos)
            return names;
        const size_t begin = at + before.size();
        for (const auto& entry : std::filesystem::directory_iterator(
                 told.substr(begin, told.find('\n', begin) - begin)))
            names.push_back(entry.path().filename());
        std::sort(names.begin(), names.end());
        return names;
    }

    const test::TestFolder folder_;
    std::string told, printed;

  private:
    const test::Environment cache_{"DJSTAP_CACHE", folder_.file("cache")},
        temporary_{"TMPDIR", folder_.path};
};

TEST_F(WholeRuns, EndWithThePassThatIsAskedFor) {
    EXPECT_EQ(run_with({"-p1", "-e", "probe begin { println(1) }"}), 0);
    EXPECT_NE(printed.find("probe begin"), std::string::npos) << printed;
    EXPECT_EQ(printed.find("# probes"), std::string::npos) << printed;
    EXPECT_EQ(told, "");
    const Words user{"--runtime=user", "-e", "probe begin { println(1) exit() }"};
    const auto with = [&](Words words) {
        words.insert(words.end(), user.begin(), user.end());
        return words;
    };
    EXPECT_EQ(run_with(with({"-p2"})), 0);
    EXPECT_TRUE(printed.ends_with("# probes\nbegin\n")) << printed;
    EXPECT_EQ(run_with(with({"-p3"})), 0);
    EXPECT_NE(printed.find("@djs_script"), std::string::npos);
    EXPECT_EQ(printed.find("# probes"), std::string::npos);
    EXPECT_EQ(told, "");
    EXPECT_EQ(run_with(with({})), 0);
    EXPECT_EQ(printed, "1\n");
    EXPECT_EQ(told, "");
}

// Each pass has its own verbosity; two of them have two steps.
TEST_F(WholeRuns, TellOfTheirPasses) {
    const auto run_verbosely = [&](const std::string& verbosity) {
        EXPECT_EQ(run_with({"--vp", verbosity, "-p3", "--runtime=user", "-e",
                            "probe begin { println(1) }"}),
                  0);
    };
    run_verbosely("00000");
    EXPECT_EQ(told, "");
    run_verbosely("10000");
    EXPECT_EQ(told_times("pass "), 1u) << told;
    EXPECT_EQ(told_times("pass 1, parse: "), 1u) << told;
    run_verbosely("01000");
    EXPECT_EQ(told_times("pass "), 2u) << told;
    EXPECT_EQ(told_times("pass 2, analyze: "), 1u) << told;
    EXPECT_EQ(told_times("pass 2, resolve: "), 1u) << told;
    run_verbosely("00100");
    EXPECT_EQ(told_times("pass "), 1u) << told;
    EXPECT_EQ(told_times("pass 3, generate: "), 1u) << told;
    run_verbosely("00011");
    EXPECT_EQ(told, "") << "these are not run";
}

TEST_F(WholeRuns, ErrorsAreTheStatus) {
    EXPECT_EQ(run_with({"-p1", "-e", "probe begin { = }"}), 1);
    EXPECT_EQ(told_times("error: "), 1u) << told;
    EXPECT_EQ(printed, "");
    EXPECT_EQ(run_with({"-p2", "--runtime=user", "-e", "probe begin { nobody() }"}), 1);
    EXPECT_EQ(told_times("error: "), 1u) << told;
    EXPECT_EQ(run_with({"-p2", "--runtime=user", "-e", "probe kernel.function(\"f\") {}"}), 1);
    EXPECT_EQ(run_with({"--runtime=user", "-e", "probe begin { error(\"own\") }"}), 1);
}

TEST_F(WholeRuns, DoNotBeginWithoutTheirOutput) {
    const std::string output = folder_.file("none/output");
    EXPECT_EQ(run_with({"--runtime=user", "-o", output, "-e", "probe begin { println(1) exit() }"}),
              1);
    EXPECT_EQ(told_times(output + ": No such file or directory"), 1u) << told;
    EXPECT_EQ(told_times("error: "), 1u) << told;
    EXPECT_EQ(printed, "");
}

TEST_F(WholeRuns, KeepTheirFilesOnRequest) {
    const Words words{"-p3", "--runtime=user", "-e", "probe begin { println(1) }"};
    EXPECT_EQ(run_with(words), 0);
    EXPECT_EQ(told, "");
    Words keeping = words;
    keeping.insert(keeping.begin(), "-k");
    EXPECT_EQ(run_with(keeping), 0);
    EXPECT_EQ(kept(), (Words{"meta.json", "script.ll", "script.o", "script.stp"}));
}

TEST_F(WholeRuns, RefusalsAreOneMessageAndAStatus) {
    testing::internal::CaptureStderr();
    EXPECT_EQ(refuse({"no such thing", "look elsewhere"}, DiagnosticKind::WorkFiles), 1);
    told = testing::internal::GetCapturedStderr();
    EXPECT_EQ(told_times("no such thing"), 1u) << told;
    EXPECT_EQ(told_times("look elsewhere"), 1u) << told;
}

} // namespace
} // namespace djstap::driver
