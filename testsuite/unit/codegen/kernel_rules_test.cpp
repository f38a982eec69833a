// SPDX-License-Identifier: GPL-2.0-or-later
// The rules that the kernel's own code follows, by its compiler's options: all functions of a
// script's module do, too, and what they refer to.
#include "generate.h"
#include "kernel_handlers.h"

#include <llvm/IR/Module.h>

namespace djstap {
namespace {

// A script with a function in each way in which there are some: bodies, handlers without a context,
// functions that save registers, functions of the script, conditions, C code and its accesses of
// globals.
constexpr const char* const script_text = R"(
global a, b, c, n, t = "a text", s
function f:string(x:string, i:long) { if (i > 0) return f(x . "x", i - 1); return x }
function in_c:long(i:long) %{ /* pragma:read:n */ /* pragma:write:t */ STAP_RETVALUE = 1; %}
probe timer.s(1) { a[1]++; c++ }
probe timer.s(2) { b[execname()] = ktime_get_ns() }
probe timer.s(3) if (n > 3) { t = f(t, n); n = in_c(n) + %{ 5 %}; %{ ; %} s <<< n }
probe timer.s(4) { println(pid(), c); n = user_int(n) + target() }
probe end { foreach (k in b) println(k, b[k], a[1], @sum(s)); if (t =~ "x+") println(t) }
)";

// Calls `look` for the module of the script, before it is optimized.
void with_module(test::KernelScript& script, const std::function<void(llvm::Module&)>& look) {
    bool looked = false;
    script.options.plant = [&](llvm::Module& module) {
        looked = true;
        look(module);
    };
    script.compile(script_text);
    EXPECT_TRUE(looked);
}

// Returns how many functions are defined and declared.
std::pair<size_t, size_t> expect_rules(const llvm::Module& module) {
    size_t defined = 0, declared = 0;
    for (const llvm::Function& function : module) {
        const std::string name = function.getName().str();
        if (function.isIntrinsic() || name == "djs_resume_function") // that one is assembly
            continue;
        using llvm::Attribute;
        EXPECT_TRUE(function.hasFnAttribute(Attribute::NoUnwind)) << name;
        EXPECT_TRUE(function.hasFnAttribute(Attribute::NoRedZone)) << name;
        EXPECT_TRUE(function.hasFnAttribute(Attribute::NoImplicitFloat)) << name;
        EXPECT_TRUE(function.hasFnAttribute(Attribute::NullPointerIsValid)) << name;
        EXPECT_TRUE(function.hasFnAttribute("no-builtins")) << name;
        EXPECT_EQ(function.getFnAttribute("no-jump-tables").getValueAsString(), "true") << name;
        EXPECT_EQ(function.getFnAttribute("use-soft-float").getValueAsString(), "true") << name;
        EXPECT_TRUE(function.isDSOLocal()) << name;
        EXPECT_FALSE(function.hasFnAttribute("patchable-function-prefix")) << name;
        // No probe may be placed in what handlers run.
        EXPECT_EQ(function.getSection().str(), function.isDeclaration() ? "" : ".kprobes.text")
            << name;
        (function.isDeclaration() ? declared : defined)++;
    }
    return {defined, declared};
}

// Trampolines with two handlers each, of entries and of returns.
class RulesOfTrampolines : public Generate {
  protected:
    void make(HandlerKind kind, HandlerForms forms) {
        program_.probes.clear();
        program_.globals.clear();
        plan_ = {};
        know_offsets(false);
        kernel_.offset = [known = kernel_.offset](std::string_view name) {
            return name == "ftrace_regs.regs" ? std::optional(std::pair(std::string(), int64_t{0}))
                                              : known(name);
        };
        kernel_.reference = 0xffffffff81000000;
        Global* const n = global("n", Type::Long, Storage::PerCpu);
        for (int i = 0; i < 2; i++) {
            std::vector<StatementPtr> body;
            body.push_back(increment(n));
            probe(std::move(body));
            Variant& variant = plan_.variants.back();
            variant.kind = kind;
            plan_.sites.back().mechanism =
                kind == HandlerKind::Return ? Mechanism::ReturnDjprobe : Mechanism::Djprobe;
            variant.mechanisms = 1u << static_cast<unsigned>(plan_.sites.back().mechanism);
        }
        join_trampolines();
        options_.forms = forms;
    }
};

} // namespace

TEST(KernelRules, AllFunctionsFollow) {
    test::KernelScript script;
    with_module(script, [](llvm::Module& module) {
        const auto [defined, declared] = expect_rules(module);
        EXPECT_GT(defined, 12u);
        EXPECT_GT(declared, 12u);
    });
}

// Large handlers are functions apart from their trampoline.
TEST_F(RulesOfTrampolines, AllPartsFollow) {
    for (const HandlerKind kind : {HandlerKind::Entry, HandlerKind::Return})
        for (const HandlerForms forms : {HandlerForms::Chosen, HandlerForms::Called,
                                         HandlerForms::Context, HandlerForms::Separate}) {
            make(kind, forms);
            bool has_parts = false, has_callbacks = false;
            options_.plant = [&](llvm::Module& module) {
                expect_rules(module);
                for (const llvm::Function& function : module) {
                    has_parts |= function.getName().starts_with("djs_part_");
                    has_callbacks |= function.getName().starts_with("djs_by_ftrace_");
                }
            };
            EXPECT_TRUE(generate()) << render_all(diagnostics_);
            EXPECT_EQ(has_parts, forms == HandlerForms::Separate);
            EXPECT_EQ(has_callbacks, kind == HandlerKind::Entry && (forms == HandlerForms::Chosen ||
                                                                    forms == HandlerForms::Called));
        }
}

// CONFIG_FUNCTION_PADDING_BYTES: no-ops in front of each function, for the kernel to put code
// there.
TEST(KernelRules, FunctionsArePadded) {
    test::KernelScript script;
    script.kernel.call_padding = 11;
    with_module(script, [](llvm::Module& module) {
        for (const llvm::Function& function : module) {
            const std::string name = function.getName().str();
            if (function.isDeclaration()) {
                EXPECT_FALSE(function.hasFnAttribute("patchable-function-prefix")) << name;
                continue;
            }
            EXPECT_EQ(function.getFnAttribute("patchable-function-prefix").getValueAsString(), "11")
                << name;
            EXPECT_EQ(function.getFnAttribute("patchable-function-entry").getValueAsString(), "0")
                << name;
            EXPECT_EQ(function.getAlign().valueOrOne().value(), 16u) << name;
        }
    });
}

// Strings are copied and compared in words of eight bytes, two locks share no cache line, and what
// each CPU has of its own is where the kernel's linker expects it.
TEST(KernelRules, DataIsWhereItShouldBe) {
    test::KernelScript script;
    script.options.limits.MAXSTRINGLEN = 100;
    size_t texts = 0;
    with_module(script, [&](llvm::Module& module) {
        for (const llvm::GlobalVariable& variable : module.globals()) {
            const std::string name = variable.getName().str();
            EXPECT_TRUE(variable.isDSOLocal()) << name;
            const uint64_t bytes =
                module.getDataLayout().getTypeAllocSize(variable.getValueType()).getFixedValue();
            const uint64_t alignment = variable.getAlign().valueOrOne().value();
            if (name.starts_with("djs_text")) {
                texts++;
                EXPECT_EQ(bytes % 8, 0u) << name;
                EXPECT_GE(alignment, 8u) << name;
                EXPECT_TRUE(variable.isConstant()) << name;
            } else if (name == "djs_global_t") {
                EXPECT_EQ(bytes, 100u);
                EXPECT_GE(alignment, 8u);
                EXPECT_FALSE(variable.isConstant());
            } else if (name == "djs_locks") {
                EXPECT_EQ(alignment, 64u);
                EXPECT_EQ(bytes % 64, 0u);
                EXPECT_FALSE(variable.isConstant());
            } else if (name == "djs_counters") {
                EXPECT_EQ(variable.getSection(), ".data..percpu");
                EXPECT_EQ(alignment, 8u);
                EXPECT_EQ(bytes, 8u); // one
            } else {
                EXPECT_NE(variable.getSection(), ".data..percpu") << name;
            }
        }
        EXPECT_TRUE(module.getNamedGlobal("djs_global_t"));
        EXPECT_TRUE(module.getNamedGlobal("djs_locks"));
        EXPECT_TRUE(module.getNamedGlobal("djs_counters"));
        EXPECT_TRUE(module.getNamedGlobal("djs_traced_pid")); // another module's
    });
    EXPECT_GT(texts, 3u);
}

} // namespace djstap
