// SPDX-License-Identifier: GPL-2.0-or-later
// By what a place of a kernel is probed, where exactly, and why.
#include "unit/probes/whole_kernel.h"

#include "include/contract.h"
#include "include/mechanisms.h"
#include "probes/mechanisms.h"

namespace djstap::whole {
namespace {

class Choices : public testing::Test {
  protected:
    void SetUp() override {
        auto opened = images.kernel();
        ASSERT_TRUE(opened) << opened.failure().message;
        kernel = *opened;
        auto view = images.module("extra");
        ASSERT_TRUE(view) << view.failure().message;
        module = &(*view)->image();
    }
    uint64_t at(const char* name) const { return kernel->symbol(name)->address; }
    // "djprobe 0 5 fentry site": the distances of the address and the fallback from the entry; "!":
    // a refusal, "!!": by all mechanisms.
    static std::string told(const MechanismChoice& choice, uint64_t entry) {
        if (!choice.refusal.empty())
            return (choice.never ? "!!" : "!") + choice.refusal;
        return std::string(mechanism_name(choice.mechanism)) + " " +
               std::to_string(choice.address - entry) + " " +
               (choice.fallback ? std::to_string(choice.fallback - entry) : "-") + " " +
               choice.reason;
    }
    std::string entry(const char* name, std::optional<Mechanism> forced = {},
                      bool all_registers = false) const {
        return told(choose_for_entry(*kernel, at(name), forced, all_registers, name), at(name));
    }
    std::string exit(const char* name, const ReturnSafety& safety,
                     std::optional<Mechanism> forced = {}) const {
        return told(choose_for_return(*kernel, at(name), safety, forced, name), at(name));
    }
    std::string inside(const char* name, std::optional<Mechanism> forced = {}) const {
        return told(choose_for_instruction(*kernel, at(name) + 1, forced), at(name) + 1);
    }

    test::Folder cache;
    Images images{files().path()};
    const Kernel* kernel = nullptr;
    const Image* module = nullptr;
};

TEST_F(Choices, EntriesAreProbedAtTheirFentrySites) {
    EXPECT_EQ(entry("with_site"), "djprobe 0 5 fentry site");
    EXPECT_EQ(entry("with_site", {}, true), "ftrace 0 5 its handler uses all registers");
    EXPECT_EQ(entry("without_site"), "kprobe 0 - no fentry site");
    EXPECT_EQ(entry("without_site", {}, true), "kprobe 0 - no fentry site");
    // A direct call is none of the kernel's kprobes.
    EXPECT_EQ(entry("forbidden_with_site"), "djprobe 0 5 fentry site");
    EXPECT_EQ(entry("forbidden"), "!the kernel forbids kprobes there");
}

TEST_F(Choices, ForcedOnesOfEntriesHaveTheirPlaces) {
    EXPECT_EQ(entry("with_site", Mechanism::Djprobe), "djprobe 0 5 forced");
    EXPECT_EQ(entry("with_site", Mechanism::Djprobe, true),
              "!its handler uses registers that a direct call does not preserve");
    EXPECT_EQ(entry("with_site", Mechanism::Ftrace), "ftrace 0 5 forced");
    EXPECT_EQ(entry("with_site", Mechanism::Ftrace, true), "ftrace 0 5 forced");
    EXPECT_EQ(entry("with_site", Mechanism::Kprobe), "kprobe 0 - forced");
    EXPECT_EQ(entry("with_site", Mechanism::KprobeFtrace), "kprobe-ftrace 0 - forced");
    // The site is ftrace's: behind it, the registers are the same.
    EXPECT_EQ(entry("with_site", Mechanism::KprobeInt3), "kprobe-int3 5 - forced");
    EXPECT_EQ(entry("with_site", Mechanism::KprobeJump), "kprobe-jump 5 - forced");
    for (const Mechanism none : {Mechanism::Djprobe, Mechanism::Ftrace, Mechanism::KprobeFtrace})
        EXPECT_EQ(entry("without_site", none), "!it has no fentry site");
    EXPECT_EQ(entry("without_site", Mechanism::Kprobe), "kprobe 0 - forced");
    EXPECT_EQ(entry("without_site", Mechanism::KprobeInt3), "kprobe-int3 0 - forced");
    EXPECT_EQ(entry("without_site", Mechanism::KprobeJump), "kprobe-jump 0 - forced");
    for (const Mechanism kind : {Mechanism::Kprobe, Mechanism::KprobeInt3, Mechanism::KprobeFtrace})
        EXPECT_EQ(entry("forbidden_with_site", kind), "!the kernel forbids kprobes there");
    EXPECT_EQ(entry("with_site", Mechanism::Kretprobe), "!its entry cannot be probed by kretprobe");
    EXPECT_EQ(entry("with_site", Mechanism::ReturnDjprobe),
              "!its entry cannot be probed by return-djprobe");
    EXPECT_EQ(entry("with_site", Mechanism::Tracepoint),
              "!its entry cannot be probed by tracepoint");
}

TEST_F(Choices, ReturnsAreProbedByTheirSafety) {
    using Verdict = ReturnSafety::Verdict;
    const ReturnSafety safe{Verdict::Safe, "good"}, waits{Verdict::Waits, "it waits"},
        bad{Verdict::Unsafe, "bad"};
    EXPECT_EQ(exit("with_site", safe), "return-djprobe 0 0 good");
    EXPECT_EQ(exit("with_site", waits), "kretprobe 0 - it waits");
    EXPECT_EQ(exit("with_site", bad), "kretprobe 0 - bad");
    EXPECT_EQ(exit("without_site", safe), "kretprobe 0 - no fentry site");
    EXPECT_EQ(exit("without_site", bad), "kretprobe 0 - no fentry site");
    EXPECT_EQ(exit("with_site", safe, Mechanism::ReturnDjprobe), "return-djprobe 0 0 forced");
    EXPECT_EQ(exit("with_site", waits, Mechanism::ReturnDjprobe), "return-djprobe 0 0 forced");
    EXPECT_EQ(exit("with_site", bad, Mechanism::ReturnDjprobe), "!bad");
    EXPECT_EQ(exit("without_site", safe, Mechanism::ReturnDjprobe), "!it has no fentry site");
    EXPECT_EQ(exit("with_site", safe, Mechanism::Kretprobe), "kretprobe 0 - forced");
    EXPECT_EQ(exit("with_site", safe, Mechanism::KprobeInt3), "kretprobe 0 - forced");
    EXPECT_EQ(exit("with_site", safe, Mechanism::Djprobe),
              "!returns are probed by return-djprobe or kretprobe, not by djprobe");
    // Without a kprobe nothing can take the place of a return djprobe.
    EXPECT_EQ(exit("forbidden_with_site", safe), "return-djprobe 0 - good");
    EXPECT_EQ(exit("forbidden_with_site", waits), "!the kernel forbids kprobes there");
    EXPECT_EQ(exit("forbidden", safe), "!the kernel forbids kprobes there");
}

TEST_F(Choices, InstructionsAreProbedByKprobes) {
    EXPECT_EQ(inside("with_site"), "kprobe 0 - not at a function's entry");
    EXPECT_EQ(inside("with_site", Mechanism::Kprobe), "kprobe 0 - forced");
    EXPECT_EQ(inside("with_site", Mechanism::KprobeInt3), "kprobe-int3 0 - forced");
    EXPECT_EQ(inside("with_site", Mechanism::KprobeJump), "kprobe-jump 0 - forced");
    EXPECT_EQ(inside("with_site", Mechanism::KprobeFtrace), "!it is not an fentry site");
    EXPECT_EQ(inside("with_site", Mechanism::Djprobe),
              "!it is not at a function's entry, which djprobe requires");
    EXPECT_EQ(inside("with_site", Mechanism::Kretprobe),
              "!it is not at a function's entry, which kretprobe requires");
    EXPECT_EQ(inside("forbidden"), "!the kernel forbids kprobes there");
}

TEST_F(Choices, SomeCodeIsNeverProbed) {
    const ReturnSafety safe;
    const std::string no_exceptions = "!!CPUs run it while they cannot take an exception",
                      at_boot = "!!it is initialization code, which the kernel frees after boot";
    for (const auto& [name, why] :
         {std::pair("native_write_cr4", no_exceptions), std::pair("at_boot", at_boot)}) {
        EXPECT_EQ(entry(name), why);
        EXPECT_EQ(exit(name, safe), why);
        EXPECT_EQ(inside(name), why);
        for (const Mechanism each :
             {Mechanism::Djprobe, Mechanism::Kprobe, Mechanism::Kretprobe, Mechanism::Ftrace}) {
            EXPECT_EQ(entry(name, each), why);
            EXPECT_EQ(exit(name, safe, each), why);
            EXPECT_EQ(inside(name, each), why);
        }
    }
    // By the name that is given, where the address is that of another function.
    EXPECT_EQ(told(choose_for_entry(*kernel, at("with_site"), {}, false, "native_write_msr"), 0),
              no_exceptions);
    EXPECT_EQ(told(choose_for_return(*kernel, at("with_site"), safe, {}, "native_write_msr"), 0),
              no_exceptions);
}

// What the kernel takes although it must not.
TEST_F(Choices, ReturnsAreOfFunctionsThatAreCalled) {
    const ReturnSafety safe;
    EXPECT_EQ(exit("with_site.cold", safe),
              "!!it is a part of 'with_site' that the compiler split off: nothing calls it");
    EXPECT_EQ(exit("__switch_to_asm", safe), "!!it returns in another task than it was called in");
    EXPECT_EQ(told(choose_for_return(*kernel, at("with_site"), safe, {}, "swsusp_save"), 0),
              "!!it may be left without returning, by a task that goes on");
    EXPECT_EQ(exit("a_label", safe),
              "!!it is not a function, but assembler code that is not only called");
    EXPECT_EQ(exit("loops", safe), "kretprobe 0 - no fentry site");
    for (const char* name : {"with_site.cold", "__switch_to_asm", "a_label"})
        EXPECT_EQ(entry(name), "kprobe 0 - no fentry site");
    // By their names where a dump takes all text for functions, but not if there is an fentry site.
    EXPECT_EQ(told(choose_for_return(*kernel, at("loops"), safe, {}, "xen_entry_SYSCALL_64"), 0),
              "!!it is not a function, but assembler code that is not only called");
    EXPECT_EQ(told(choose_for_return(*kernel, at("with_site"), safe, {}, "ret_from_fork"),
                   at("with_site")),
              "return-djprobe 0 0 ");
}

TEST_F(Choices, CodeThatTheKernelPatchesOrCopiesHasNoKprobe) {
    const std::string tracers = "!the kernel's function tracers run it, and would hit the "
                                "breakpoint again and again";
    EXPECT_EQ(entry("ftrace_caller"), tracers);
    EXPECT_EQ(entry("ftrace_call"), tracers);
    EXPECT_EQ(inside("ftrace_caller"), tracers);
    EXPECT_EQ(exit("ftrace_caller", {}), tracers);
    EXPECT_EQ(entry("__SCT__made"), "!the kernel forbids kprobes there");
    EXPECT_EQ(inside("__SCT__made"), "!the kernel forbids kprobes there");
    EXPECT_EQ(entry("after_static_calls"), "kprobe 0 - no fentry site");
    const uint64_t trampoline = module->symbol("__SCT__extra")->address;
    EXPECT_EQ(told(choose_for_entry(*module, trampoline, {}, false), trampoline),
              "!the kernel forbids kprobes there");
}

TEST_F(Choices, FunctionsOfModulesHaveFentrySites) {
    const uint64_t sends = module->symbol("extra_send")->address,
                   more = module->symbol("extra_more")->address;
    EXPECT_EQ(told(choose_for_entry(*module, sends, {}, false), sends), "djprobe 0 5 fentry site");
    EXPECT_EQ(told(choose_for_entry(*module, more, {}, false), more), "kprobe 0 - no fentry site");
    EXPECT_EQ(told(choose_for_entry(*module, module->symbol("extra_begin")->address, {}, false), 0),
              "!!it is initialization code, which the kernel frees after boot");
}

// What a script's points get, from the options and from what their handlers do.
TEST(ChosenMechanisms, ReturnsOfSeveralKinds) {
    const auto how = [](const std::string& suffix, const std::string& body = "println(1)") {
        SemanticsOptions guru;
        guru.guru = true;
        const Planned planned("probe kernel.function(\"with_site\").return" + suffix + " { " +
                                  body + " }",
                              {}, "", guru);
        EXPECT_TRUE(planned.plan) << planned.errors();
        return planned.plan ? planned.site().reason : "";
    };
    const std::string saved = " are saved at the entry";
    EXPECT_EQ(how(""), "all arguments in registers");
    EXPECT_EQ(how(".maxactive(3)"), ".maxactive requires it");
    const auto values = [&](int count) {
        std::string body;
        for (int i = 0; i < count; i++)
            body += "println(@entry($a + " + std::to_string(i) + ")) ";
        return how("", body);
    };
    EXPECT_EQ(values(8), "all arguments in registers");
    EXPECT_EQ(values(9), "more than 8 values" + saved);
    EXPECT_EQ(how("", "println(@entry(execname()))"), "a string is saved at the entry");
    // Argument registers are available at the entry; at the return, no registers are.
    EXPECT_EQ(how("", "println(@entry(@kregister(5)))"), "all arguments in registers");
    for (const char* body : {"println(register(\"rbx\"))", "println(@kregister(5))"})
        EXPECT_EQ(how("", body),
                  "its handler uses registers that a return djprobe does not preserve")
            << body;
}

// The runtime is told, because others may be writing to the text that it could read.
TEST(ChosenMechanisms, TellWhetherTheyAreAtFentrySites) {
    const auto fentry = [](const std::string& point) {
        const Planned planned("probe " + point + " { println(1) }");
        EXPECT_TRUE(planned.plan) << planned.errors();
        return planned.plan ? planned.site().fentry : -1;
    };
    EXPECT_EQ(fentry("kernel.function(\"with_site\").call"), DJS_FENTRY_YES);
    EXPECT_EQ(fentry("kernel.function(\"with_site\").return.maxactive(3)"), DJS_FENTRY_YES);
    EXPECT_EQ(fentry("kernel.function(\"without_site\").call"), DJS_FENTRY_NO);
    EXPECT_EQ(fentry("kprobe.function(\"without_site\").return"), DJS_FENTRY_NO);
    EXPECT_EQ(fentry("module(\"extra\").function(\"extra_more\")"), DJS_FENTRY_NO);
    EXPECT_EQ(fentry("timer.s(1)"), DJS_FENTRY_UNKNOWN);
}

TEST(ChosenMechanisms, OfHandlersAreThoseOfTheirSites) {
    const Planned planned(
        "probe kernel.function(\"{with_site,without_site}\").call { println(1) }");
    ASSERT_TRUE(planned.plan) << planned.errors();
    ASSERT_EQ(planned.plan->variants.size(), 1U);
    const Variant& variant = planned.plan->variants[0];
    EXPECT_TRUE(variant.has(Mechanism::Djprobe));
    EXPECT_TRUE(variant.has(Mechanism::Kprobe));
    EXPECT_FALSE(variant.has(Mechanism::Ftrace));
    EXPECT_TRUE(variant.has_any(DJS_IS_DIRECT));
    EXPECT_TRUE(variant.has_any(DJS_IS_KPROBE));
    EXPECT_FALSE(variant.has_any(DJS_IN_PROGRAM));
    EXPECT_FALSE(variant.has_only(DJS_IS_DIRECT));
    EXPECT_TRUE(variant.has_only(DJS_IS_DIRECT | DJS_IS_KPROBE));
}

TEST(ChosenMechanisms, HandlersThatUseAllRegisters) {
    EXPECT_EQ(places_of("kernel.function(\"with_site\").call"),
              "kernel.function(\"" + declared("with_site") + "\").call djprobe\n");
    // A statement may be the entry.
    for (const std::string point :
         {"kernel.function(\"with_site\").call", "kernel.statement(\"with_site\")",
          "kprobe.function(\"with_site\")"})
        for (const bool all : {false, true}) {
            const Planned planned("probe " + point + " { println(" +
                                  (all ? "register(\"rbx\")" : "1") + ") }");
            ASSERT_TRUE(planned.plan) << planned.errors();
            EXPECT_EQ(planned.site().mechanism, all ? Mechanism::Ftrace : Mechanism::Djprobe)
                << point;
            EXPECT_FALSE(planned.site().forced);
        }
    const Planned by("probe kernel.function(\"with_site\") { println(1) }",
                     forced(Mechanism::Kprobe));
    ASSERT_TRUE(by.plan) << by.errors();
    EXPECT_TRUE(by.site().forced);
    EXPECT_EQ(by.site().mechanism, Mechanism::Kprobe);
}

} // namespace
} // namespace djstap::whole
