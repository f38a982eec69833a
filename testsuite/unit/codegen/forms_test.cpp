// SPDX-License-Identifier: GPL-2.0-or-later
// The forms that the code of handlers has, which decide how fast they are: what is called directly
// and what through functions that save the registers, what is read by the handler itself, and which
// handlers are too large to do without a context.
#include "generate.h"
#include "kernel_handlers.h"

#include "arch/arch.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Module.h>
#include <map>
#include <sstream>
#include <tuple>

namespace djstap {
namespace {

using test::KernelScript;

// Returns how many calls of the function the code has; `how` may be more of an instruction.
unsigned calls_in(const std::string& ir, const std::string& function,
                  const std::string& how = "call ") {
    std::istringstream lines(ir);
    std::string line;
    unsigned found = 0;
    while (std::getline(lines, line))
        found += line.find(how) != std::string::npos &&
                 line.find("@" + function + "(") != std::string::npos;
    return found;
}

std::string code_of(const std::string& statement, KernelScript script = {},
                    const std::string& more = "") {
    script.options.dump_ir = true;
    const auto object = script.compile(
        "global a, b, c, n\nprobe timer.s(1) { " + statement + " }\n" +
        "probe end { foreach (k in a) println(a[k], k); println(b[\"x\"], c, n) }\n"
        "probe begin { a[1] = 2; b[\"y\"] = 3; n = 3; delete a[1]; delete b; c++ }\n" +
        more);
    return object ? object->ir : "";
}

} // namespace

// A handler that calls in most runs anyway saves the registers once.
TEST(FormsOfHandlers, WhatIsRareIsCalledByFunctionsThatSaveRegisters) {
    struct Case {
        const char *statement, *slow;
    };
    const std::string erases_a = "probe timer.s(2) { delete a[3] }";
    for (const auto& [statement, slow] :
         {Case{"c += a[1]", "djs_slow_find"}, Case{"a[1]++", "djs_slow_insert"},
          Case{"c += b[\"x\"]", "djs_slow_find_keys"},
          Case{"b[\"x\"]++", "djs_slow_insert_keys"}}) {
        EXPECT_EQ(calls_in(code_of(statement), slow), 1u) << statement;
        const std::string with_clock = std::string(statement) + "; n = local_clock_ns()";
        EXPECT_EQ(calls_in(code_of(with_clock), slow), 0u) << with_clock;
        const std::string in_condition =
            "if (local_clock_us() > 3) n = 1; " + std::string(statement);
        EXPECT_EQ(calls_in(code_of(in_condition), slow), 0u) << in_condition;
        const std::string with_delete = std::string(statement) + "; delete a[2]";
        EXPECT_EQ(calls_in(code_of(with_delete), slow), 0u) << with_delete;
    }
    // New elements of an array from which others are erased are common.
    EXPECT_EQ(calls_in(code_of("a[1]++", {}, erases_a), "djs_slow_insert"), 0u);
    EXPECT_EQ(calls_in(code_of("a[1] = 5", {}, erases_a), "djs_slow_insert"), 0u);
    EXPECT_EQ(calls_in(code_of("c += a[1]", {}, erases_a), "djs_slow_find"), 1u);
    EXPECT_EQ(calls_in(code_of("b[\"x\"]++", {}, erases_a), "djs_slow_insert_keys"), 1u);
}

// Two of the kernel's clocks are read as the kernel does it, if it is known where.
TEST(FormsOfHandlers, ClocksAreReadWhereTheyAreKnown) {
    KernelScript knowing;
    knowing.offsets["tk_read_base.clock"] = {"", 0};
    for (const char* const field :
         {"mask", "cycle_last", "mult", "shift", "xtime_nsec", "base", "base_real"})
        knowing.offsets[std::string("tk_read_base.") + field] = {"", 8};
    knowing.kernel.fast_clock = 0xffffffff81001000;
    for (const std::string clock : {"ktime_get_ns", "gettimeofday_ns"}) {
        const std::string read = "n = " + clock + "()";
        const std::string slow = "djs_slow_" + clock, direct = "djs_fn_" + clock;
        const std::string by_itself = code_of(read, knowing);
        EXPECT_NE(by_itself.find("@djs_kernel_clock"), std::string::npos);
        EXPECT_EQ(calls_in(by_itself, slow), 1u) << "where it cannot tell";
        // A handler that reads one calls nothing on the way.
        EXPECT_EQ(calls_in(code_of(read + "; c += a[1]", knowing), "djs_slow_find"), 1u);
        KernelScript other = knowing;
        other.kernel.fast_clock = 0;
        EXPECT_EQ(code_of(read, other).find("@djs_kernel_clock"), std::string::npos);
        EXPECT_EQ(calls_in(code_of(read, other), direct), 2u) << "also with a context";
        EXPECT_EQ(calls_in(code_of(read, other), slow), 0u);
        EXPECT_EQ(calls_in(code_of(read + "; c += a[1]", other), "djs_slow_find"), 0u);
        other = knowing;
        other.offsets.erase("tk_read_base.clock");
        EXPECT_EQ(code_of(read, other).find("@djs_kernel_clock"), std::string::npos);
        other = knowing;
        other.kernel.sanitizer = Sanitizer::Thread;
        EXPECT_EQ(code_of(read, other).find("@djs_kernel_clock"), std::string::npos);
        other.kernel.sanitizer = Sanitizer::Address;
        EXPECT_NE(code_of(read, other).find("@djs_kernel_clock"), std::string::npos);
    }
    const std::string local = code_of("n = local_clock_ns()", knowing);
    EXPECT_EQ(local.find("@djs_kernel_clock"), std::string::npos);
    EXPECT_EQ(calls_in(local, "djs_fn_local_clock_ns"), 2u);
    EXPECT_EQ(calls_in(local, "djs_slow_local_clock_ns"), 0u);
}

// With more than sixty handlers, each read of memory is a call: their code would take long to make.
TEST(FormsOfHandlers, ManyReadMemoryByCalls) {
    const auto reads = [](unsigned handlers) {
        std::string text = "global t, c, k = 4096\n";
        for (unsigned i = 0; i < handlers; i++)
            text += i ? "probe timer.s(1) { c++ }\n"
                      : "probe timer.s(1) { t = sprintf(\"%d\", @kderef(4, k)) }\n";
        KernelScript script;
        script.options.dump_ir = true;
        script.options.optimization = 1;
        const auto object = script.compile(text + "probe end { println(t, c) }");
        // The end is a handler, too.
        return object ? object->ir.find(" callbr ") != std::string::npos : false;
    };
    EXPECT_TRUE(reads(59));
    EXPECT_FALSE(reads(60));
}

// A fault takes stack: who may cause one asks how much is left.
TEST(FormsOfHandlers, ReadersAskForStack) {
    const auto asks = [](const std::string& statement) {
        return code_of(statement).find("djs_lacks_stack") != std::string::npos;
    };
    EXPECT_TRUE(asks("n = @kderef(4, 4096)"));
    EXPECT_TRUE(asks("n = user_int(4096)"));
    EXPECT_TRUE(asks("if (@kderef(4, 4096)) n = 5"));
    EXPECT_FALSE(asks("n = pid()"));
    EXPECT_FALSE(asks("a[1]++"));
}

// Many are not optimized as far as others, because that would take long.
TEST(FormsOfHandlers, ManyAreOptimizedLess) {
    const auto object = [](HandlerForms forms, int optimization) {
        KernelScript script;
        script.options.forms = forms;
        script.options.optimization = optimization;
        const auto made = script.compile(
            "global n, a\nfunction f(x) { for (i = 0; i < x; i++) y += i * x; return y }\n"
            "probe timer.s(1) { n = f(n) + f(3); for (j = 0; j < 9; j++) a[j] += n * j }\n"
            "probe end { println(n, a[1]) }");
        return made ? made->object : "";
    };
    EXPECT_EQ(object(HandlerForms::Called, 2), object(HandlerForms::Called, 1));
    EXPECT_NE(object(HandlerForms::Called, 1), object(HandlerForms::Called, 0));
    EXPECT_NE(object(HandlerForms::Chosen, 2), object(HandlerForms::Called, 2));
    EXPECT_NE(object(HandlerForms::Chosen, 2), object(HandlerForms::Chosen, 0));
}

namespace {

// Scripts whose handlers need a context, and read memory.
class FormsOfTrampolines : public Generate {
  protected:
    // Whether the handlers of one trampoline, so many, read memory themselves.
    bool read_themselves(unsigned handlers, HandlerForms forms) {
        program_.probes.clear();
        plan_ = {};
        for (unsigned i = 0; i < handlers; i++) {
            probe({});
            program_.probes.back()->body->statements.push_back(
                evaluate(memory_at(plan_.variants.back(), AddressSpace::Kernel)));
        }
        const uint64_t continued = plan_.sites[0].address + 5;
        plan_.trampolines = {{{}, {continued}}};
        for (unsigned i = 0; i < handlers; i++) {
            plan_.trampolines[0].variants.push_back(i);
            plan_.sites[i].trampoline = 0;
            plan_.sites[i].next = i + 1 < handlers ? i + 1 : no_index;
        }
        options_.forms = forms;
        options_.dump_ir = true;
        const auto object = generate();
        EXPECT_TRUE(object) << render_all(diagnostics_);
        return object && object->ir.find(" callbr ") != std::string::npos;
    }

    // Adds as many bytes to the frame of a function.
    static void enlarge_in(llvm::Module& module, const std::string& function, uint64_t bytes) {
        llvm::Function* const found = module.getFunction(function);
        if (!found || found->isDeclaration())
            return; // in the next attempt the handler has another form
        llvm::BasicBlock& entry = found->getEntryBlock();
        llvm::IRBuilder<> builder(&entry, entry.begin());
        auto* type = llvm::ArrayType::get(builder.getInt8Ty(), bytes);
        auto* call = llvm::FunctionType::get(builder.getVoidTy(), {builder.getPtrTy()}, false);
        builder.CreateCall(llvm::InlineAsm::get(call, "", "r,~{memory}", true),
                           {builder.CreateAlloca(type)}); // all of it may be used
    }
    void enlarge(const std::string& function, uint64_t bytes) {
        options_.plant = [function, bytes](llvm::Module& module) {
            enlarge_in(module, function, bytes);
        };
    }
    // The stack that the handler uses where these functions are larger by so many bytes.
    uint64_t used_with(const std::map<std::string, uint64_t>& larger) {
        options_.plant = [&larger](llvm::Module& module) {
            for (const auto& [function, bytes] : larger)
                enlarge_in(module, function, bytes);
        };
        const uint64_t used = explained().second;
        options_.plant = nullptr;
        EXPECT_EQ(diagnostics_.error_count(), 0u) << render_all(diagnostics_);
        return used;
    }
    // A handler that calls a function of the script.
    void call_function(HandlerKind kind, Mechanism mechanism) {
        program_.probes.clear();
        program_.functions.clear();
        plan_ = {};
        auto function = std::make_unique<Function>();
        function->name = "f";
        function->return_type = Type::Long;
        function->body = std::make_unique<Block>();
        auto call = std::make_unique<Call>();
        call->function = function.get();
        call->type = Type::Long;
        program_.functions.push_back(std::move(function));
        std::vector<StatementPtr> body;
        body.push_back(evaluate(std::move(call)));
        probe(std::move(body));
        Variant& variant = plan_.variants.back();
        variant.kind = kind;
        variant.mechanisms = 1u << static_cast<unsigned>(mechanism);
        Site& site = plan_.sites.back();
        site.mechanism = mechanism;
        if (mechanism == Mechanism::Djprobe || mechanism == Mechanism::ReturnDjprobe)
            return;
        site.trampoline = no_index;
        plan_.trampolines.clear();
    }
    // What the first handler needs, and how much stack it uses.
    std::pair<std::string, uint64_t> explained() {
        options_.explain = true;
        const std::string needs = "    needs ", uses = "    uses at most ";
        std::pair<std::string, uint64_t> found;
        if (const auto object = generate())
            for (const std::string& line : object->explanation) {
                if (line.starts_with(needs))
                    found.first = line.substr(needs.size());
                if (line.starts_with(uses))
                    found.second = std::strtoull(line.c_str() + uses.size(), nullptr, 10);
            }
        return found;
    }
    // The most stack that the handler, whose function gets larger and larger, has without a
    // context.
    uint64_t most_without_context(const std::string& function, uint64_t least) {
        uint64_t most = 0;
        for (uint64_t bytes = least; bytes < 640; bytes += 8) {
            enlarge(function, bytes);
            const auto [needs, stack] = explained();
            if (!needs.starts_with("nothing"))
                return most;
            EXPECT_GE(stack, most);
            most = stack;
        }
        return 0;
    }
};

} // namespace

TEST_F(FormsOfTrampolines, CodeThatIsNoneIsAnError) {
    probe({});
    bool planted = false;
    options_.plant = [&planted](llvm::Module& module) {
        llvm::Function* const body = module.getFunction("djs_body_0");
        ASSERT_TRUE(body);
        llvm::BasicBlock::Create(module.getContext(), "without an end", body);
        planted = true;
    };
    EXPECT_FALSE(generate());
    EXPECT_TRUE(planted);
    EXPECT_EQ(diagnostics_.error_count(), 1u);
}

// Those of a trampoline that has many are made once each, and called.
TEST_F(FormsOfTrampolines, UpToEightHandlersAreReadAsOne) {
    EXPECT_FALSE(read_themselves(8, HandlerForms::Called));
    EXPECT_TRUE(read_themselves(9, HandlerForms::Called));
    EXPECT_TRUE(read_themselves(8, HandlerForms::Chosen));
}

// What is used before anyone asks how much is left is bounded, and more so where it stays while the
// function runs.
TEST_F(FormsOfTrampolines, LargeFramesNeedAContext) {
    know_offsets(false);
    kernel_.reference = 0xffffffff81000000;
    std::vector<StatementPtr> body;
    body.push_back(increment(global("n", Type::Long, Storage::PerCpu)));
    probe(std::move(body));
    EXPECT_EQ(most_without_context("djs_direct_0", 464), 512u);
    plan_.variants[0].kind = HandlerKind::Return;
    plan_.sites[0].mechanism = Mechanism::ReturnDjprobe;
    EXPECT_EQ(most_without_context("djs_direct_0", 208), 256u);
    plan_.variants[0].kind = HandlerKind::Entry;
    plan_.sites[0].mechanism = Mechanism::Kprobe;
    plan_.sites[0].trampoline = no_index;
    plan_.trampolines.clear();
    plan_.variants[0].mechanisms = 1u << static_cast<unsigned>(Mechanism::Kprobe);
    enlarge("djs_by_regs_0", 480);
    EXPECT_TRUE(explained().first.starts_with("nothing"));
    enlarge("djs_by_regs_0", 520);
    EXPECT_TRUE(explained().first.starts_with("its CPU's context"));
}

TEST_F(FormsOfTrampolines, MoreStackThanAKernelCanSpareIsAnError) {
    probe({});
    program_.probes.back()->body->statements.push_back(
        evaluate(memory_at(plan_.variants.back(), AddressSpace::Kernel)));
    uint64_t most = 0;
    for (uint64_t bytes = 3936; bytes < 4200 && !diagnostics_.error_count(); bytes += 8) {
        enlarge("djs_body_0", bytes);
        const uint64_t used = explained().second;
        most = std::max(most, used);
    }
    EXPECT_GT(diagnostics_.error_count(), 0u);
    EXPECT_LE(most, 4096u);
    EXPECT_GT(most, 4096u - 16);
}

// What all callees use at the same time counts, in each function that a handler may be.
TEST_F(FormsOfTrampolines, StackIsThatOfAllThatIsCalled) {
    options_.optimization = 0; // what is inlined is no callee
    for (const auto& [kind, mechanism, own] :
         {std::tuple{HandlerKind::Timer, Mechanism::Timer, "djs_body_0"},
          {HandlerKind::Entry, Mechanism::Tracepoint, "djs_tracepoint_0"},
          {HandlerKind::Entry, Mechanism::Djprobe, "djs_direct_0"}}) {
        call_function(kind, mechanism);
        EXPECT_EQ(used_with({{"djs_script_f", 1072}}) - used_with({{"djs_script_f", 64}}), 1008u)
            << own;
        // Together, not the larger of both.
        const uint64_t both = used_with({{own, 208}, {"djs_script_f", 1072}});
        EXPECT_GE(both, 208u + 1072u) << own;
        EXPECT_LT(both, 208u + 1072u + 1024u) << own;
    }
    // Handlers beside their trampoline, and those that it calls in their usual form.
    for (const auto& [form, part] : {std::pair{HandlerForms::Separate, "djs_part_0_0_e"},
                                     {HandlerForms::Called, "djs_body_0"}}) {
        options_.forms = form;
        call_function(HandlerKind::Entry, Mechanism::Djprobe);
        const uint64_t all =
            used_with({{"djs_direct_0", 320}, {part, 1072}, {"djs_script_f", 1072}});
        EXPECT_GE(all, 320u + 2 * 1072u) << part;
        EXPECT_LT(all, 320u + 2 * 1072u + 1024u) << part;
    }
}

// A trampoline of returns counts who is inside.
TEST_F(FormsOfTrampolines, WhatCannotCountIsAnError) {
    std::vector<StatementPtr> body;
    body.push_back(increment(global("n", Type::Long, Storage::PerCpu)));
    probe(std::move(body));
    plan_.variants[0].kind = HandlerKind::Return;
    plan_.variants[0].mechanisms = 1u << static_cast<unsigned>(Mechanism::ReturnDjprobe);
    plan_.sites[0].mechanism = Mechanism::ReturnDjprobe;
    kernel_.reference = 0xffffffff81000000;
    EXPECT_FALSE(generate()) << "nothing is known of this kernel";
    EXPECT_NE(render_all(diagnostics_).find("the runtime does not tell where djs_cpu.inside is"),
              std::string::npos)
        << render_all(diagnostics_);
}

// The quick passes still compute what is known, also from one block to the next.
TEST_F(FormsOfTrampolines, ManyAreSimplified) {
    KernelScript script;
    script.options.forms = HandlerForms::Called;
    script.options.optimization = 1;
    const auto object =
        script.compile("global n, c\nprobe timer.s(1) { x = n + 1000; if (x > 5) c = x + 234 }\n"
                       "probe timer.s(2) { n = get_cycles() }\nprobe end { println(n, c) }");
    ASSERT_TRUE(object);
    const auto code = listing(object->object, "djs_body_0");
    EXPECT_GE(uses(code, "0x4d2"), 1u); // 1234
    // Local variables are in registers, also those of loops.
    const auto loop =
        script.compile("global n, c\nprobe timer.s(1) { while (i < n) { i++; x += i * i } c = x }\n"
                       "probe timer.s(2) { n = get_cycles() }\nprobe end { println(n, c) }");
    ASSERT_TRUE(loop);
    const auto instructions = listing(loop->object, "djs_body_0");
    EXPECT_GE(uses(instructions, "imul"), 1u);
    EXPECT_EQ(uses(instructions, "(%rsp)"), 0u);
}

// A tracepoint's handler may be large: whoever asks whether it has room for its frame has none.
TEST_F(FormsOfTrampolines, TracepointsAskBeforeTheyTakeStack) {
    call_function(HandlerKind::Entry, Mechanism::Tracepoint);
    options_.forms = HandlerForms::Separate;
    enlarge("djs_tracepoint_body_0", 2048);
    const auto object = generate();
    ASSERT_TRUE(object) << render_all(diagnostics_);
    const auto largest_frame = [&](const std::string& function) {
        uint64_t most = 0;
        for (const std::string& instruction : listing(object->object, function)) {
            const size_t number = instruction.find('$');
            if (instruction.starts_with("sub ") && instruction.ends_with(",%rsp") &&
                number != std::string::npos)
                most = std::max<uint64_t>(
                    most, std::strtoull(instruction.c_str() + number + 1, nullptr, 0));
        }
        return most;
    };
    EXPECT_GE(largest_frame("djs_tracepoint_body_0"), 2048u);
    EXPECT_LT(largest_frame("djs_tracepoint_0"), 512u);
}

// Handlers follow each other: what one keeps in the trampoline's frame, the next one may overwrite.
TEST_F(FormsOfTrampolines, HandlersShareTheMemoryOfRegisters) {
    const auto used = [&](unsigned handlers) {
        program_.probes.clear();
        program_.functions.clear();
        plan_ = {};
        auto function = std::make_unique<Function>();
        function->name = function->intrinsic = "own";
        function->return_type = Type::Long;
        function->arguments = true;
        for (unsigned i = 0; i < handlers; i++) {
            auto call = std::make_unique<Call>();
            call->function = function.get();
            std::vector<StatementPtr> body;
            body.push_back(evaluate(std::move(call)));
            probe(std::move(body));
        }
        program_.functions.push_back(std::move(function));
        if (handlers == 2)
            join_trampolines();
        return explained().second;
    };
    const uint64_t registers = arch::saved_register_count() * sizeof(uint64_t);
    const uint64_t one = used(1), two = used(2);
    EXPECT_GE(one, registers);
    EXPECT_LT(two, one + registers);
}

// Equal regular expressions of a script have one automaton.
TEST(FormsOfHandlers, EqualPatternsShareTheirTables) {
    const auto tables = [](const std::string& more) {
        KernelScript script;
        size_t found = 0;
        script.options.plant = [&found](llvm::Module& module) {
            for (const llvm::GlobalVariable& variable : module.globals())
                found += variable.getName().starts_with("djs_regex");
        };
        script.compile("global c, t\nprobe timer.s(1) { if (t =~ \"a+b\") c++\n" + more +
                       " }\nprobe timer.s(2) { t = sprintf(\"%d\", c) }");
        return found;
    };
    const size_t one = tables("");
    EXPECT_GE(one, 1u);
    EXPECT_EQ(tables("if (t =~ \"a+b\") c += 2"), one);
    EXPECT_EQ(tables("if (t =~ \"a+c\") c += 2"), 2 * one);
}

// A sanitizer alone is no reason to optimize.
TEST_F(FormsOfTrampolines, SanitizersLeaveFunctions) {
    for (const bool optimized : {false, true}) {
        KernelScript script;
        script.kernel.sanitizer = Sanitizer::Address;
        script.options.sanitize = true;
        script.options.optimization = optimized ? 2 : 0;
        const auto object =
            script.compile("global n\nfunction f(x) { n = n + x; return n * 3 }\n"
                           "probe timer.s(1) { n = f(n) }\nprobe end { println(n) }");
        ASSERT_TRUE(object);
        EXPECT_EQ(listing(object->object, "djs_script_f").empty(), optimized) << "it is inlined";
    }
}

} // namespace djstap
