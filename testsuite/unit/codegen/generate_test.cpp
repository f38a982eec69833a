// SPDX-License-Identifier: GPL-2.0-or-later
#include "generate.h"

#include "arch/arch.h"
#include "include/record.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <unistd.h>

namespace djstap {
namespace {

TEST_F(Generate, PlainCounterIsOneInstructionAndAReturn) {
    Global* n = global("n", Type::Long, Storage::PerCpu);
    std::vector<StatementPtr> body;
    body.push_back(increment(n));
    probe(std::move(body));
    auto object = generate();
    ASSERT_TRUE(object) << render_all(diagnostics_);
    auto code = disassemble(object->object, "djs_direct_0");
    ASSERT_EQ(code.size(), 2u);
    EXPECT_EQ(code[0], "incq");
    EXPECT_TRUE(code[1] == "jmp" || code[1] == "cs") << code[1]; // to the return thunk
}

// Two probes on one function: one trampoline does the work of both, and returns once.
TEST_F(Generate, HandlersOfOneTrampolineFollowEachOther) {
    for (const char* name : {"n", "m"}) {
        std::vector<StatementPtr> body;
        body.push_back(increment(global(name, Type::Long, Storage::PerCpu)));
        probe(std::move(body));
    }
    join_trampolines();
    auto object = generate();
    ASSERT_TRUE(object) << render_all(diagnostics_);
    auto code = disassemble(object->object, "djs_direct_0");
    ASSERT_EQ(code.size(), 3u);
    EXPECT_EQ(code[0], "incq");
    EXPECT_EQ(code[1], "incq");
    EXPECT_TRUE(code[2] == "jmp" || code[2] == "cs") << code[2];
}

TEST_F(Generate, IbtKernelsGetEndbr) {
    kernel_.mitigations.landing_pads = true;
    kernel_.call_padding = 16;
    Global* n = global("n", Type::Long, Storage::PerCpu);
    std::vector<StatementPtr> body;
    body.push_back(increment(n));
    probe(std::move(body));
    auto object = generate();
    ASSERT_TRUE(object) << render_all(diagnostics_);
    auto code = disassemble(object->object, "djs_direct_0");
    ASSERT_GE(code.size(), 2u);
    EXPECT_EQ(code[0], "endbr64");
}

TEST_F(Generate, TracepointsCallThePlainHandlerThemselves) {
    kernel_.mitigations.landing_pads = true;
    Global* n = global("n", Type::Long, Storage::PerCpu);
    std::vector<StatementPtr> body;
    body.push_back(increment(n));
    probe(std::move(body));
    plan_.trampolines.clear();
    plan_.variants[0].mechanisms = 1u << static_cast<unsigned>(Mechanism::Tracepoint);
    plan_.sites[0].mechanism = Mechanism::Tracepoint;
    auto object = generate();
    ASSERT_TRUE(object) << render_all(diagnostics_);
    auto code = disassemble(object->object, "djs_tracepoint_0");
    ASSERT_EQ(code.size(), 3u);
    EXPECT_EQ(code[0], "endbr64"); // the kernel's iterator calls it through a pointer
    EXPECT_EQ(code[1], "incq");
    EXPECT_TRUE(disassemble(object->object, "djs_direct_0").empty());
}

TEST_F(Generate, KprobesCallThePlainHandlerThemselves) {
    Global* n = global("n", Type::Long, Storage::PerCpu);
    std::vector<StatementPtr> body;
    body.push_back(increment(n));
    probe(std::move(body));
    auto object = generate(); // a djprobe that may have to become a kprobe
    ASSERT_TRUE(object) << render_all(diagnostics_);
    auto code = disassemble(object->object, "djs_by_regs_0");
    ASSERT_EQ(code.size(), 3u);
    EXPECT_EQ(code[0], "incq");
    EXPECT_EQ(code[1], "xor"); // returns 0: the kernel continues as if nothing had happened
    // If the location of an ftrace_ops' registers is unknown, there is no form for it.
    EXPECT_TRUE(disassemble(object->object, "djs_by_ftrace_0").empty());
}

// Overload protection does not monitor handlers without a context: their length is limited,
// including the return. A longer one uses a context.
TEST_F(Generate, LeanHandlersAreBounded) {
    Global* n = global("n", Type::Long, Storage::PerCpu);
    options_.explain = true;
    size_t longest = 0;
    for (size_t increments = max_lean_instructions - 4; increments <= max_lean_instructions;
         increments++) {
        program_.probes.clear();
        plan_ = {};
        std::vector<StatementPtr> body;
        for (size_t i = 0; i < increments; i++)
            body.push_back(increment(n));
        probe(std::move(body));
        auto object = generate();
        ASSERT_TRUE(object) << render_all(diagnostics_);
        const auto& lines = object->explanation;
        const bool takes_context =
            std::find(lines.begin(), lines.end(),
                      "    could do without, but has more than 512 instructions") != lines.end();
        const std::string symbol = std::string("djs_enter") + '\0';
        EXPECT_EQ(object->object.find(symbol) != std::string::npos, takes_context);
        const size_t length = disassemble(object->object, "djs_by_regs_0").size();
        EXPECT_EQ(length == 0, takes_context) << increments;
        EXPECT_LE(length, max_lean_instructions);
        longest = std::max(longest, length);
        EXPECT_TRUE(takes_context || increments < max_lean_instructions);
    }
    EXPECT_GE(longest, max_lean_instructions - 2);
}

TEST_F(Generate, LeanHandlersThatRecordAreBounded) {
    know_offsets(false);
    options_.explain = true;
    for (const size_t prints : {1, 64}) {
        program_.probes.clear();
        plan_ = {};
        Probe* p = printing_probe("");
        while (p->body->statements.size() < prints)
            p->body->statements.push_back(print_number());
        const auto object = generate();
        ASSERT_TRUE(object) << render_all(diagnostics_);
        const auto& lines = object->explanation;
        const auto found = std::find(lines.begin(), lines.end(),
                                     "    could do without, but has more than 512 instructions");
        EXPECT_EQ(found != lines.end(), prints > 1) << prints;
    }
}

// In a shared trampoline, each of them may have the full length.
TEST_F(Generate, LeanHandlersOfOneTrampolineAreBoundedEach) {
    for (size_t increments : {max_lean_instructions - 4, max_lean_instructions}) {
        std::vector<StatementPtr> body;
        Global* n = global("n" + std::to_string(increments), Type::Long, Storage::PerCpu);
        for (size_t i = 0; i < increments; i++)
            body.push_back(increment(n));
        probe(std::move(body));
    }
    join_trampolines();
    auto object = generate();
    ASSERT_TRUE(object) << render_all(diagnostics_);
    EXPECT_FALSE(disassemble(object->object, "djs_by_regs_0").empty());
    EXPECT_TRUE(disassemble(object->object, "djs_by_regs_1").empty());
}

TEST_F(Generate, ArraysOfNumbersNeedTheirLockAndNoContext) {
    Global* a = global("a", Type::Long, Storage::Locked, {Type::Long});
    element_probe(a);
    auto object = generate();
    ASSERT_TRUE(object) << render_all(diagnostics_);
    auto has = [&](const std::string& symbol) {
        return object->object.find('\0' + symbol + '\0') != std::string::npos;
    };
    EXPECT_TRUE(has(std::string("djs_lock_enter")));
    EXPECT_TRUE(has("djs_fail_alone")); // for an array that is full, after the lock is released
    EXPECT_FALSE(has("djs_enter"));
}

// Interrupts are disabled from the exchange to the store that releases the lock; what is rare is
// called by functions that save the registers, behind the end.
TEST_F(Generate, OnlyLockIsTakenByTheHandlerItself) {
    Global* a = global("a", Type::Long, Storage::Locked, {Type::Long});
    Global* b = global("b", Type::Long, Storage::Locked, {Type::Long});
    Probe* p = element_probe(a);
    auto one = generate();
    ASSERT_TRUE(one) << render_all(diagnostics_);
    const auto code = listing(one->object, "djs_direct_0");
    auto first = [&](const std::string& what) {
        return std::find_if(code.begin(), code.end(),
                            [&](const std::string& line) { return line.starts_with(what); }) -
               code.begin();
    };
    EXPECT_LT(first("testl"), first("pushf")); // the gate
    EXPECT_LT(first("pushf"), first("cli"));
    EXPECT_LT(first("cli"), first("lock cmpxchg"));
    EXPECT_LT(first("lock cmpxchg"), first("movl   $0x0"));
    EXPECT_LT(first("movl   $0x0"), first("sti"));
    EXPECT_LT(first("sti"), first("call"));
    EXPECT_LT(first("call"), static_cast<ptrdiff_t>(code.size()));
    EXPECT_EQ(uses(code, "cli"), 1u);
    EXPECT_EQ(uses(code, "sti"), 1u);

    p->body->statements.push_back(increment_element(b, 7));
    p->effects.writes = {a, b};
    auto both = generate();
    ASSERT_TRUE(both) << render_all(diagnostics_);
    EXPECT_EQ(uses(listing(both->object, "djs_direct_0"), "cli"), 0u);
}

TEST_F(Generate, DivisionByZeroIsChecked) {
    Global* n = global("n", Type::Long, Storage::Locked);
    auto division = std::make_unique<Arithmetic>();
    division->op = ast::BinaryOp::Divide;
    division->left = number(1);
    division->right = value_of(n);
    auto assignment = std::make_unique<Assignment>();
    assignment->place = value_of(n);
    assignment->value = std::move(division);
    std::vector<StatementPtr> body;
    body.push_back(evaluate(std::move(assignment)));
    Probe* probe_of = probe(std::move(body));
    probe_of->effects.writes = {n};
    probe_of->effects.can_fail = true;
    options_.dump_ir = true;
    auto object = generate();
    ASSERT_TRUE(object) << render_all(diagnostics_);
    EXPECT_NE(object->ir.find("division by 0"), std::string::npos);
    EXPECT_NE(object->ir.find("call ptr @djs_enter"), std::string::npos);
    // Two locks never share a cache line.
    EXPECT_NE(object->ir.find("@djs_locks = private global [64 x i8] zeroinitializer, align 64"),
              std::string::npos);
}

// A handler without a context has no place for an error, so a divisor that is no 0 must not need
// one.
TEST_F(Generate, DivisionByANumberNeedsNoContext) {
    Global* n = global("n", Type::Long, Storage::PerCpu);
    auto division = std::make_unique<Arithmetic>();
    division->op = ast::BinaryOp::Divide;
    division->left = number(16);
    division->right = number(8);
    auto addition = std::make_unique<Assignment>();
    addition->op = ast::BinaryOp::Add;
    addition->place = value_of(n);
    addition->value = std::move(division);
    std::vector<StatementPtr> body;
    body.push_back(evaluate(std::move(addition)));
    probe(std::move(body))->effects.writes = {n};
    auto object = generate();
    ASSERT_TRUE(object) << render_all(diagnostics_);
    auto code = disassemble(object->object, "djs_direct_0");
    ASSERT_EQ(code.size(), 2u);
    EXPECT_EQ(code[0], "addq");
}

// `for (x = 27; x - 1; ) x = x & 1 ? x * 3 : x >> 1`: the next iteration would wait for both values
// of a conditional move, but not for a branch, which the processor predicts.
TEST_F(Generate, AChoiceForTheNextIterationIsABranch) {
    const auto local = [] {
        auto value = std::make_unique<LocalValue>();
        value->type = Type::Long;
        return value;
    };
    const auto calculate = [&](ast::BinaryOp op, int64_t by) {
        auto made = std::make_unique<Arithmetic>();
        made->op = op;
        made->type = Type::Long;
        made->left = local();
        made->right = number(by);
        return made;
    };
    const auto assign = [&](ExpressionPtr place, ExpressionPtr value) {
        auto made = std::make_unique<Assignment>();
        made->type = Type::Long;
        made->place = std::move(place);
        made->value = std::move(value);
        made->value_used = false;
        return made;
    };
    auto choice = std::make_unique<Conditional>();
    choice->type = Type::Long;
    choice->condition = calculate(ast::BinaryOp::And, 1);
    choice->then_value = calculate(ast::BinaryOp::Multiply, 3);
    choice->else_value = calculate(ast::BinaryOp::ShiftRight, 1);
    auto loop = std::make_unique<Loop>();
    loop->init = assign(local(), number(27));
    loop->condition = calculate(ast::BinaryOp::Subtract, 1);
    loop->body = evaluate(assign(local(), std::move(choice)));
    Global* n = global("n", Type::Long, Storage::PerCpu);
    std::vector<StatementPtr> body;
    body.push_back(std::move(loop));
    auto sum = assign(value_of(n), local());
    sum->op = ast::BinaryOp::Add;
    body.push_back(evaluate(std::move(sum)));
    Probe* probe_of = probe(std::move(body));
    probe_of->locals.push_back({"x", Type::Long, {}});
    probe_of->effects.writes = {n};
    probe_of->effects.loops = true;
    probe_of->effects.can_fail = true;
    auto object = generate();
    ASSERT_TRUE(object) << render_all(diagnostics_);
    std::string instructions;
    for (const std::string& each : listing(object->object, "djs_direct_0"))
        instructions += each + "\n";
    EXPECT_NE(instructions.find("$0x1b"), std::string::npos) << instructions; // 27
    EXPECT_EQ(instructions.find("cmov"), std::string::npos) << instructions;
}

// `.return { n++ }`: checks the remaining stack, counts the call in, continues in the function,
// counts the hit, counts the call out, and returns past the direct call. No register is saved.
TEST_F(Generate, ReturnHandlerGoesOnInTheFunction) {
    know_offsets(false);
    kernel_.reference = 0xffffffff81000000;
    std::vector<StatementPtr> body;
    body.push_back(increment(global("n", Type::Long, Storage::PerCpu)));
    probe(std::move(body));
    plan_.variants[0].kind = HandlerKind::Return;
    plan_.sites[0].mechanism = Mechanism::ReturnDjprobe;
    auto object = generate();
    ASSERT_TRUE(object) << render_all(diagnostics_);
    auto code = disassemble(object->object, "djs_direct_0");
    // The code after the jump to the return thunk is for stacks in little supply, and for calls
    // that return elsewhere.
    ASSERT_GE(code.size(), 14u);
    code.resize(14);
    EXPECT_EQ(code, std::vector<std::string>({"mov", "test", "je", "testl", "jne", "incq", "mov",
                                              "cmp", "jne", "call", "incq", "decq", "movq", "cs"}));
    EXPECT_NE(object->object.find("djs_lacks_stack"), std::string::npos);

    // With a second function the trampoline checks where it was called from.
    plan_.trampolines[0].functions.push_back(0xffffffff81002005);
    Diagnostics again(sources_);
    object = djstap::generate(program_, plan_, kernel_, options_, again);
    ASSERT_TRUE(object) << render_all(again);
    code = disassemble(object->object, "djs_dispatch_0");
    EXPECT_EQ(code,
              std::vector<std::string>({"cmp", "jae", "cmp", "jne", "jmp", "cmp", "jne", "jmp"}));
}

// The record of a printf of numbers is written by the handler itself: there is no call on the way.
TEST_F(Generate, RecordOfNumbersNeedsNoCall) {
    know_offsets(false);
    auto pid = std::make_unique<Function>();
    pid->name = pid->intrinsic = "pid";
    pid->return_type = Type::Long;
    auto call = std::make_unique<Call>();
    call->function = pid.get();
    program_.functions.push_back(std::move(pid));
    auto print = std::make_unique<Print>();
    print->type = Type::Void;
    for (int i = 0; i < 2; i++) {
        FormatPiece piece;
        piece.conversion = 'd';
        print->format.push_back(piece);
    }
    print->arguments.push_back(std::move(call));
    print->arguments.push_back(number(7));
    std::vector<StatementPtr> body;
    body.push_back(evaluate(std::move(print)));
    Probe* probe_of = probe(std::move(body));
    probe_of->effects.prints = true;
    auto object = generate();
    ASSERT_TRUE(object) << render_all(diagnostics_);
    auto code = disassemble(object->object, "djs_direct_0");
    EXPECT_LE(code.size(), 48u); // including those for a full ring and a due reschedule
    EXPECT_EQ(std::count(code.begin(), code.end(), "cmpxchg"), 1);
    EXPECT_EQ(std::count(code.begin(), code.end(), "call"), 2); // only these two rare ones

    // The head is read before the time: an interrupt in between moves the head, and the cmpxchg
    // fails. In the reverse order a record could have the later time and the earlier place.
    const auto whole = listing(object->object, "djs_direct_0");
    const auto time = std::find(code.begin(), code.end(), "rdtsc") - code.begin();
    const auto change = std::find(code.begin(), code.end(), "cmpxchg") - code.begin();
    ASSERT_LT(time, change);
    for (auto at = time; at < change; at++)
        EXPECT_FALSE(whole[at].starts_with("mov ") && whole[at].find("%gs:") != std::string::npos)
            << whole[at];

    // The kernel's preemption count has 4 bytes, or 8: its sign is that of all of them.
    const auto uses = [](const std::vector<std::string>& lines, const std::string& mnemonic) {
        return std::count_if(lines.begin(), lines.end(), [&](const std::string& line) {
            return line.starts_with(mnemonic + " ") && line.find("%gs:") != std::string::npos;
        });
    };
    EXPECT_GE(uses(whole, "incl"), 1);
    EXPECT_GE(uses(whole, "decl"), 1);
    know_offsets(false, 8);
    object = generate();
    ASSERT_TRUE(object) << render_all(diagnostics_);
    const auto wide = listing(object->object, "djs_direct_0");
    EXPECT_EQ(uses(wide, "incl") + uses(wide, "decl"), 0);
    EXPECT_EQ(uses(wide, "incq"), uses(whole, "incl"));
    EXPECT_EQ(uses(wide, "decq"), uses(whole, "decl"));
}

// Returns the sanitizers' functions that the object calls.
std::string sanitizer_calls(const std::string& object) {
    std::string calls;
    for (const char* name : {"__asan_", "__tsan_"})
        for (size_t at = object.find(name); at != std::string::npos; at = object.find(name, at + 1))
            calls += object.substr(at, object.find('\0', at) - at) + "\n";
    return calls;
}

TEST_F(Generate, KernelsSanitizerIsAskedForEachAccess) {
    Global* a = global("a", Type::Long, Storage::Locked, {Type::Long});
    std::vector<StatementPtr> body;
    body.push_back(increment_element(a, 7));
    probe(std::move(body))->effects.writes = {a};
    auto plain = generate();
    ASSERT_TRUE(plain) << render_all(diagnostics_);
    EXPECT_EQ(sanitizer_calls(plain->object), "");

    kernel_.sanitizer = Sanitizer::Address;
    auto unasked = generate();
    ASSERT_TRUE(unasked) << render_all(diagnostics_);
    EXPECT_EQ(sanitizer_calls(unasked->object), "");

    options_.sanitize = true;
    for (int optimization : {0, 2}) {
        options_.optimization = optimization;
        kernel_.sanitizer = Sanitizer::Address;
        auto address = generate();
        ASSERT_TRUE(address) << render_all(diagnostics_);
        EXPECT_NE(sanitizer_calls(address->object).find("__asan_load8_noabort\n"),
                  std::string::npos);
        EXPECT_EQ(address->object.find("asan.module_ctor"), std::string::npos);

        kernel_.sanitizer = Sanitizer::Thread;
        auto thread = generate();
        ASSERT_TRUE(thread) << render_all(diagnostics_);
        EXPECT_NE(sanitizer_calls(thread->object).find("__tsan_read_write8\n"), std::string::npos);
        EXPECT_EQ(thread->object.find("__tsan_func_entry"), std::string::npos);
    }
}

TEST(LimitsTest, KnowsItsNamesAndRanges) {
    Limits limits;
    EXPECT_TRUE(limits.set("MAXSTRINGLEN", 512));
    EXPECT_EQ(limits.MAXSTRINGLEN, 512);
    EXPECT_FALSE(limits.set("MAXSTRINGLEN", 1));
    EXPECT_FALSE(limits.set("MAXSTRNGLEN", 512));
    EXPECT_GE(Limits::names().size(), 10u);
}

} // namespace

TEST_F(Generate, ValueIsReadInTheAddressSpaceThatItWasMadeIn) {
    for (const AddressSpace space : {AddressSpace::Kernel, AddressSpace::User}) {
        program_.probes.clear();
        plan_ = {};
        probe({});
        program_.probes[0]->body->statements.push_back(
            evaluate(memory_at(plan_.variants[0], space)));
        const auto object = generate();
        ASSERT_TRUE(object);
        const bool user = space == AddressSpace::User;
        EXPECT_EQ(object->object.find("djs_load_user") != std::string::npos, user);
        EXPECT_EQ(object->object.find(std::string("djs_load\0", 9)) != std::string::npos, !user);
    }
}

// `n += $a->b; n++`: checks the session, the stack and the address, reads, adds. No context, no
// saved register.
TEST_F(Generate, KernelMemoryIsReadByTheHandlerItself) {
    know_offsets(false);
    Global* n = global("n", Type::Long, Storage::PerCpu);
    Probe* p = probe({});
    p->effects.can_fail = true;
    Access& access = add_memory(p, n);
    access.base = Access::Base::Register;
    access.reg = arch::argument_registers()[0];
    access.steps = {{AccessStep::Kind::Add, 8}, {AccessStep::Kind::Load, 0, nullptr, 4, true}};
    p->body->statements.push_back(increment(n));
    const auto object = generate();
    ASSERT_TRUE(object) << render_all(diagnostics_);
    auto code = listing(object->object, "djs_direct_0");
    ASSERT_GE(code.size(), 11u);
    code.resize(11);
    EXPECT_EQ(disassemble(object->object, "djs_direct_0").front(), "testl");
    const auto loads = [](const std::string& line) { return line.starts_with("movslq 0x8(%rdi)"); };
    EXPECT_EQ(std::count_if(code.begin(), code.end(), loads), 1) << code[8];
    EXPECT_EQ(uses(code, "$0x2000,%esp"), 1u);
    EXPECT_EQ(uses(code, "testl  $0xff0100,%gs:"), 1u);
    // What follows the load is a fault's code: it names the address that was read.
    EXPECT_NE(object->object.find("djs_fail_read_alone"), std::string::npos);
    EXPECT_NE(object->object.find("__ex_table"), std::string::npos);
}

} // namespace djstap
