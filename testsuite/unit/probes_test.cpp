// SPDX-License-Identifier: GPL-2.0-or-later
#include "arch/arch.h"
#include "probes/access.h"
#include "probes/mechanisms.h"
#include "probes/probes.h"
#include "probes/trampolines.h"

#include "surroundings.h"

#include <gtest/gtest.h>

namespace djstap {
namespace {

ast::PointComponent component(std::string name) {
    ast::PointComponent out;
    out.name = std::move(name);
    return out;
}

ast::PointComponent component(std::string name, std::string argument) {
    ast::PointComponent out = component(std::move(name));
    out.argument = ast::PointComponent::Argument::String;
    out.string = std::move(argument);
    return out;
}

ast::PointComponent component(std::string name, int64_t argument) {
    ast::PointComponent out = component(std::move(name));
    out.argument = ast::PointComponent::Argument::Number;
    out.number = argument;
    return out;
}

ast::ProbePoint point(std::vector<ast::PointComponent> components) {
    ast::ProbePoint out;
    out.components = std::move(components);
    return out;
}

// The families that need no kernel.
class Points : public testing::Test {
  protected:
    Points() : diagnostics_(sources_), images_("no-such-kernel") {}
    auto list(const ast::ProbePoint& point) {
        return list_probes(point, {true, true}, images_, diagnostics_);
    }

    SourceManager sources_;
    Diagnostics diagnostics_;
    Images images_;
};

TEST_F(Points, TimersNeedNoKernel) {
    auto listing = list(point({component("timer"), component("ms", 10)}));
    ASSERT_TRUE(listing);
    ASSERT_EQ(listing->size(), 1u);
    EXPECT_EQ(listing->front().mechanism, Mechanism::Timer);
    EXPECT_FALSE(images_.opened_kernel());
}

TEST_F(Points, TimersOfNoLengthAreRefused) {
    EXPECT_FALSE(list(point({component("timer"), component("s", int64_t{0})})));
    EXPECT_FALSE(list(point({component("timer"), component("ns", 5)})));
    EXPECT_FALSE(list(point({component("timer"), component("s", INT64_MAX)})));
    EXPECT_EQ(diagnostics_.error_count(), 3u);
}

TEST_F(Points, MisspeltComponentGetsTheNearestName) {
    EXPECT_FALSE(list(point({component("timer"), component("msc", 5)})));
    EXPECT_NE(render_all(diagnostics_).find("did you mean 'ms'"), std::string::npos)
        << render_all(diagnostics_);
}

TEST_F(Points, WrongKindOfArgumentIsToldFromAWrongName) {
    EXPECT_FALSE(list(point({component("timer"), component("s")})));
    EXPECT_NE(render_all(diagnostics_).find("write it as s(NUMBER)"), std::string::npos)
        << render_all(diagnostics_);
}

TEST_F(Points, MissingKernelIsReportedAtThePoint) {
    EXPECT_FALSE(list(point({component("kernel"), component("function", "vfs_read")})));
    EXPECT_NE(render_all(diagnostics_).find("[no-kernel]"), std::string::npos);
}

// The length of a tick is in the kernel's configuration.
TEST_F(Points, TimersOfTicksNeedTheKernel) {
    for (const ast::ProbePoint& timer :
         {point({component("timer"), component("profile")}),
          point({component("timer"), component("profile"), component("tick")}),
          point({component("timer"), component("jiffies", 1)})}) {
        Diagnostics diagnostics(sources_);
        EXPECT_FALSE(list_probes(timer, {true, true}, images_, diagnostics));
        EXPECT_NE(render_all(diagnostics).find("[no-kernel]"), std::string::npos)
            << render_all(diagnostics);
    }
}

TEST_F(Points, ModulesOfAMissingKernelAreReportedAtThePoint) {
    for (const char* name : {"ext4", "*", "no-such"}) {
        Diagnostics diagnostics(sources_);
        EXPECT_FALSE(list_probes(point({component("module", name), component("function", "f")}),
                                 {true, false}, images_, diagnostics))
            << name;
        EXPECT_NE(render_all(diagnostics).find("[no-kernel]"), std::string::npos)
            << render_all(diagnostics);
    }
    const auto kernel = images_.kernel();
    ASSERT_FALSE(kernel);
    for (const char* glob : {"*", "ext?"}) {
        const auto names = images_.modules_matching(glob);
        ASSERT_FALSE(names);
        EXPECT_EQ(names.failure().message, kernel.failure().message);
    }
    EXPECT_FALSE(images_.module("ext4"));
}

TEST(Mechanisms, NamesAreThoseOfTheOption) {
    EXPECT_EQ(mechanism_by_name("djprobe"), Mechanism::Djprobe);
    EXPECT_EQ(mechanism_by_name("kprobe-int3"), Mechanism::KprobeInt3);
    EXPECT_EQ(mechanism_by_name("jprobe"), std::nullopt);
    for (const std::string& name : mechanism_names()) {
        EXPECT_EQ(mechanism_by_name(name).has_value(), name != "auto") << name;
    }
}

// For every kernel that is installed with symbols.
class OnKernel : public testing::TestWithParam<std::string> {
  protected:
    void SetUp() override {
        auto files = find_kernel(GetParam());
        if (!files)
            GTEST_SKIP() << "no kernel " << GetParam() << " is installed";
        auto kernel = Kernel::open(std::move(*files));
        ASSERT_TRUE(kernel) << kernel.failure().message;
        kernel_ = std::move(*kernel);
        if (!kernel_->symbol("vfs_read") || kernel_->fentry_site_count() == 0)
            GTEST_SKIP() << "it has no symbols";
    }
    std::unique_ptr<Kernel> kernel_;
};

TEST_P(OnKernel, EntriesWithASiteAreDjprobes) {
    uint64_t entry = kernel_->symbol("vfs_read")->address;
    auto choice = choose_for_entry(*kernel_, entry, std::nullopt, false);
    EXPECT_EQ(choice.mechanism, Mechanism::Djprobe);
    EXPECT_EQ(choice.address, entry + (kernel_->has_ibt() ? 4 : 0));
    EXPECT_EQ(choice.fallback, choice.address + 5);
}

TEST_P(OnKernel, ForcedBreakpointLeavesTheSiteToFtrace) {
    uint64_t entry = kernel_->symbol("vfs_read")->address;
    auto choice = choose_for_entry(*kernel_, entry, Mechanism::KprobeInt3, false);
    EXPECT_EQ(choice.mechanism, Mechanism::KprobeInt3);
    EXPECT_EQ(choice.address, *kernel_->fentry_site(entry) + 5);
}

TEST_P(OnKernel, InstructionsCannotBeDjprobes) {
    uint64_t inside = kernel_->symbol("vfs_read")->address + 32;
    EXPECT_EQ(choose_for_instruction(*kernel_, inside, std::nullopt).mechanism, Mechanism::Kprobe);
    EXPECT_FALSE(choose_for_instruction(*kernel_, inside, Mechanism::Djprobe).refusal.empty());
}

TEST_P(OnKernel, InitializationCodeAndForbiddenPlacesAreRefused) {
    EXPECT_FALSE(
        choose_for_entry(*kernel_, kernel_->symbol("vfs_caches_init")->address, std::nullopt, false)
            .refusal.empty());
    EXPECT_FALSE(choose_for_return(*kernel_, kernel_->symbol("exc_int3")->address, {}, std::nullopt)
                     .refusal.empty());
}

// For each mechanism, also if forced: a triple fault ends the guest.
TEST_P(OnKernel, FunctionsThatRunWithoutAnIdtAreRefused) {
    const std::string why = "CPUs run it while they cannot take an exception";
    for (const char* name : {"start_secondary", "cpu_init_exception_handling", "native_write_cr4",
                             "native_write_msr", "machine_kexec", "restore_processor_state"}) {
        auto symbol = kernel_->symbol(name);
        ASSERT_TRUE(symbol) << name;
        uint64_t entry = symbol->address;
        EXPECT_EQ(choose_for_entry(*kernel_, entry, std::nullopt, false).refusal, why) << name;
        EXPECT_EQ(choose_for_instruction(*kernel_, entry + 1, std::nullopt).refusal, why) << name;
        EXPECT_EQ(choose_for_return(*kernel_, entry, {}, std::nullopt).refusal, why) << name;
        for (Mechanism forced : {Mechanism::Djprobe, Mechanism::Ftrace, Mechanism::Kprobe,
                                 Mechanism::KprobeInt3, Mechanism::KprobeJump})
            EXPECT_EQ(choose_for_entry(*kernel_, entry, forced, false).refusal, why) << name;
        EXPECT_EQ(choose_for_return(*kernel_, entry, {}, Mechanism::ReturnDjprobe).refusal, why);
    }
    // By its name if addresses are hidden.
    EXPECT_EQ(choose_for_entry(*kernel_, 0, std::nullopt, false, "cr4_init").mechanism,
              Mechanism::None);
    for (const char* name :
         {"native_play_dead", "cpu_startup_entry", "rcu_is_watching", "vfs_read"}) {
        auto symbol = kernel_->symbol(name);
        if (symbol && !kernel_->kprobe_forbidden(symbol->address)) {
            EXPECT_EQ(choose_for_entry(*kernel_, symbol->address, std::nullopt, false).refusal, "");
        }
    }
}

TEST(WithoutIdt, PartsAreHeldToTheirFunctions) {
    EXPECT_TRUE(arch::runs_without_exceptions("cr4_set_bits.constprop.0"));
    EXPECT_TRUE(arch::runs_without_exceptions("start_secondary.cold"));
    EXPECT_TRUE(arch::runs_without_exceptions("secondary_startup_64_no_verify"));
    EXPECT_TRUE(arch::runs_without_exceptions("__x86_indirect_thunk_rax"));
    EXPECT_TRUE(arch::runs_without_exceptions("__pi_startup_64_load_idt"));
    EXPECT_FALSE(arch::runs_without_exceptions("pi_show"));
    EXPECT_FALSE(arch::runs_without_exceptions("cpu_init_debugfs"));
    EXPECT_FALSE(arch::runs_without_exceptions("retbleed_show_state"));
    EXPECT_FALSE(arch::runs_without_exceptions(""));
}

TEST(FaultPath, PartsAreHeldToTheirFunctions) {
    EXPECT_TRUE(arch::handles_faults("fixup_exception"));
    EXPECT_TRUE(arch::handles_faults("search_module_extables.part.0"));
    EXPECT_TRUE(arch::handles_faults("page_fault_kernel"));
    EXPECT_FALSE(arch::handles_faults("vfs_read"));
    EXPECT_FALSE(arch::handles_faults(""));
}

// Judges the return of each function like that of a probe.
TEST_P(OnKernel, ReturnsAreJudgedByArgumentsAndLists) {
    auto opened = DebugInfo::open(*kernel_);
    ASSERT_TRUE(opened) << opened.failure().message;
    using Verdict = ReturnSafety::Verdict;
    auto judge = [&](const char* name) {
        auto functions = (*opened)->functions(*parse_function_pattern(name), true);
        return functions.empty() ? ReturnSafety{Verdict::Safe, "not found"}
                                 : judge_return(functions.front(), **opened);
    };
    EXPECT_EQ(judge("vfs_statx").reason, "all arguments in registers");
    EXPECT_EQ(judge("do_mmap").reason, "not all of its arguments are in registers");
    EXPECT_EQ(judge("seq_printf").reason, "it has variable arguments");
    EXPECT_EQ(judge("do_exit").reason, "it does not return");
    EXPECT_EQ(judge("sys_exit_group").reason, "it may never return");
    EXPECT_EQ(judge("schedule").verdict, Verdict::Unsafe);
    EXPECT_EQ(judge("hrtimer_nanosleep").reason, "it sleeps by design");
    EXPECT_EQ(judge("sys_read").verdict, Verdict::Waits);
    EXPECT_EQ(judge("sys_getppid").verdict, Verdict::Safe);
    // A function of newer kernels that every system call passes through, including rmmod's.
    EXPECT_EQ(judge_return_by_name("x64_sys_call").reason, "rmmod would wait for itself");
}

// A name that no longer exists in a kernel has no effect.
TEST_P(OnKernel, HasAFunctionForEachPatternOfReturns) {
    Images images(GetParam());
    auto is_in = [](const Image& kernel, const std::string& glob) {
        for (const char* prefix : {"", "__x64_sys_"})
            for (const char* suffix : {"", ".*"})
                if (!kernel.symbols_matching(prefix + glob + suffix).empty())
                    return true;
        return false;
    };
    // A module of one kernel may be built into another.
    auto has = [&](const ReturnPattern::Alternative& alternative) {
        if (is_in(*kernel_, alternative.glob))
            return true;
        if (alternative.module.empty())
            return false;
        auto module = images.module(alternative.module);
        return module && is_in((*module)->image(), alternative.glob);
    };
    ASSERT_GT(return_patterns().size(), 200u);
    for (const ReturnPattern& pattern : return_patterns())
        EXPECT_TRUE(std::any_of(pattern.alternatives.begin(), pattern.alternatives.end(), has))
            << pattern.alternatives.front().glob;
    EXPECT_FALSE(has({"", "no_such_function_*"}));
    EXPECT_FALSE(has({"no_such_module", "no_such_function_*"}));
}

TEST(ReturnPatterns, MeanSystemCallsByTheirNames) {
    EXPECT_EQ("read", return_name("__x64_sys_read"));
    EXPECT_EQ("read", return_name("__ia32_compat_sys_read"));
    EXPECT_EQ("vfs_read", return_name("vfs_read.isra.0"));
    EXPECT_EQ("it may never return", judge_return_by_name("io_wq_worker").reason);
    EXPECT_EQ("it may never return", judge_return_by_name("io_wqe_worker").reason);
    EXPECT_EQ("it sleeps by design", judge_return_by_name("kvm_vcpu_block").reason);
    EXPECT_EQ("all arguments in registers", judge_return_by_name("kvm:kvm_vcpu_block").reason);
}

TEST_P(OnKernel, ReturnsThatWaitAreKretprobesUnlessForced) {
    uint64_t entry = kernel_->symbol("hrtimer_nanosleep")->address;
    ReturnSafety waits{ReturnSafety::Verdict::Waits, "it sleeps by design"};
    auto choice = choose_for_return(*kernel_, entry, waits, std::nullopt);
    EXPECT_EQ(choice.mechanism, Mechanism::Kretprobe);
    EXPECT_EQ(choice.reason, waits.reason);
    choice = choose_for_return(*kernel_, entry, waits, Mechanism::ReturnDjprobe);
    EXPECT_EQ(choice.mechanism, Mechanism::ReturnDjprobe);
    EXPECT_EQ(choice.fallback, choice.address);
    waits.verdict = ReturnSafety::Verdict::Unsafe;
    EXPECT_EQ(choose_for_return(*kernel_, entry, waits, Mechanism::ReturnDjprobe).refusal,
              waits.reason);
}

TEST_P(OnKernel, MembersAreFollowedToAValue) {
    auto opened = DebugInfo::open(*kernel_);
    ASSERT_TRUE(opened) << opened.failure().message;
    const DebugInfo& info = **opened;
    auto pattern = parse_function_pattern("vfs_read");
    auto functions = info.functions(*pattern, true);
    ASSERT_EQ(functions.size(), 1u);
    const Variable& file = functions[0].parameters.at(0);
    AccessBuilder builder(info, nullptr);
    ASSERT_TRUE(builder.start(file.location, file.type, "file", "vfs_read", {}));
    ASSERT_TRUE(builder.member("f_inode", {}));
    ASSERT_TRUE(builder.member("i_mode", {}));
    ASSERT_TRUE(builder.finish(false, {}));
    const Access& access = builder.access();
    EXPECT_EQ(access.base, Access::Base::Register);
    EXPECT_EQ(access.reg, arch::argument_registers()[0]);
    EXPECT_EQ(access.steps.back().kind, AccessStep::Kind::Load);
    EXPECT_EQ(access.steps.back().size, 2); // umode_t
    EXPECT_FALSE(access.steps.back().is_signed);

    AccessBuilder wrong(info, nullptr);
    ASSERT_TRUE(wrong.start(file.location, file.type, "file", "vfs_read", {}));
    EXPECT_FALSE(wrong.member("f_inod", {}));
    EXPECT_EQ(wrong.error().hint, "did you mean 'f_inode'?");
}

// Names and types are the same, whether they come from DWARF or BTF.
TEST_P(OnKernel, TracepointsAreFoundWithAndWithoutDwarf) {
    for (const char* without : {"0", "1"}) {
        const test::Environment dwarf("DJSTAP_NO_DWARF", without);
        SourceManager sources;
        Diagnostics diagnostics(sources);
        Images images(GetParam());
        auto listed =
            list_probes(point({component("kernel"), component("trace", "sched:sched_s?itch")}),
                        {true, false}, images, diagnostics);
        ASSERT_TRUE(listed) << render_all(diagnostics);
        ASSERT_EQ(listed->size(), 1u);
        EXPECT_EQ(listed->front().point, "kernel.trace(\"sched:sched_switch\")");
        EXPECT_EQ(listed->front().mechanism, Mechanism::Tracepoint);
        EXPECT_EQ(
            listed->front().variables,
            (std::vector<std::string>{"$preempt:bool", "$prev:struct task_struct *",
                                      "$next:struct task_struct *", "$prev_state:unsigned int"}));
        auto elsewhere =
            list_probes(point({component("kernel"), component("trace", "irq:sched_switch")}), {},
                        images, diagnostics);
        EXPECT_FALSE(elsewhere) << "a name that is not there is an error, unlike a pattern";
    }
}

INSTANTIATE_TEST_SUITE_P(Kernels, OnKernel, testing::Values("6.1", "6.12"), [](const auto& info) {
    return info.param == "6.1" ? "Linux6_1" : "Linux6_12";
});

// Builds a plan from sites of (variant, address): trampolines are the distinct sets of handlers, in
// the order of the sites.
ProbePlan plan_of(const std::vector<std::pair<uint32_t, uint64_t>>& djprobes) {
    ProbePlan plan;
    for (auto [variant, address] : djprobes) {
        Site site;
        site.variant = variant;
        site.address = address;
        site.mechanism = Mechanism::Djprobe;
        plan.variants.resize(std::max<size_t>(plan.variants.size(), variant + 1));
        plan.sites.push_back(std::move(site));
    }
    return plan;
}

TEST(Trampolines, FunctionsWithTheSameHandlersShareOne) {
    ProbePlan plan = plan_of({{0, 0x100}, {0, 0x200}, {0, 0x300}, {1, 0x200}, {1, 0x400}});
    choose_trampolines(plan);
    ASSERT_EQ(plan.trampolines.size(), 3u);
    EXPECT_EQ(plan.trampolines[0].variants, std::vector<uint32_t>({0}));
    EXPECT_EQ(plan.trampolines[1].variants, std::vector<uint32_t>({0, 1}));
    EXPECT_EQ(plan.trampolines[2].variants, std::vector<uint32_t>({1}));
    EXPECT_EQ(plan.trampolines[0].functions, std::vector<uint64_t>({0x105, 0x305}));
    EXPECT_FALSE(plan.trampolines[1].returns(plan));
    std::vector<uint32_t> trampolines, next;
    for (const Site& site : plan.sites) {
        trampolines.push_back(site.trampoline);
        next.push_back(site.next);
    }
    EXPECT_EQ(trampolines, std::vector<uint32_t>({0, 1, 0, 1, 2}));
    EXPECT_EQ(next, std::vector<uint32_t>({no_index, 3, no_index, no_index, no_index}));
}

TEST(Trampolines, EntryAndReturnOfAFunctionShareOne) {
    ProbePlan plan = plan_of({{0, 0x100}, {1, 0x100}});
    plan.sites[1].mechanism = Mechanism::ReturnDjprobe;
    plan.variants[1].kind = HandlerKind::Return;
    choose_trampolines(plan);
    ASSERT_EQ(plan.trampolines.size(), 1u);
    EXPECT_EQ(plan.trampolines[0].variants, std::vector<uint32_t>({0, 1}));
    EXPECT_TRUE(plan.trampolines[0].returns(plan));
    EXPECT_EQ(plan.sites[0].next, 1u);
}

TEST(Trampolines, OtherMechanismsHaveNone) {
    ProbePlan plan = plan_of({{0, 0x100}, {1, 0x100}});
    plan.sites[0].mechanism = Mechanism::Kprobe;
    choose_trampolines(plan);
    ASSERT_EQ(plan.trampolines.size(), 1u);
    EXPECT_EQ(plan.sites[0].trampoline, no_index);
    EXPECT_EQ(plan.sites[1].trampoline, 0u);
    EXPECT_EQ(plan.sites[1].next, no_index);
}

} // namespace
} // namespace djstap
