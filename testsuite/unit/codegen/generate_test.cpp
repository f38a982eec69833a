// SPDX-License-Identifier: GPL-2.0-or-later
#include "arch/arch.h"
#include "codegen/codegen.h"

#include "include/record.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <unistd.h>

namespace djstap {
namespace {

using namespace program;

// A program with one function probe, built by hand, and a plan that places it at one fentry site.
class Generate : public testing::Test {
  protected:
    Generate() : diagnostics_(sources_) {
        sources_.add("<test>", "probe kernel.function(\"f\") { n++ }\n");
        kernel_.release = "6.1.0";
        kernel_.version = "#1";
        kernel_.image.name = "kernel";
        kernel_.image.segments = {
            {"_printk", "_printk", 0xffffffff81000000, 0xffffffff81000000, 0, UINT64_MAX}};
        options_.module_name = "test";
        point_ = std::make_unique<ast::ProbePoint>();
    }

    Global* global(const std::string& name, Type type, Storage storage,
                   std::vector<Type> keys = {}) {
        auto global = std::make_unique<Global>();
        global->name = name;
        global->value = type;
        global->storage = storage;
        global->keys = std::move(keys);
        program_.globals.push_back(std::move(global));
        return program_.globals.back().get();
    }

    Probe* probe(std::vector<StatementPtr> statements) {
        auto probe = std::make_unique<Probe>();
        probe->index = static_cast<uint32_t>(program_.probes.size());
        probe->points = {point_.get()};
        probe->body = std::make_unique<Block>();
        probe->body->statements = std::move(statements);
        Variant variant;
        variant.probe = probe.get();
        variant.kind = HandlerKind::Entry;
        variant.mechanisms = 1u << static_cast<unsigned>(Mechanism::Djprobe);
        Site site;
        site.variant = static_cast<uint32_t>(plan_.variants.size());
        site.mechanism = Mechanism::Djprobe;
        site.address = 0xffffffff81001000;
        site.trampoline = static_cast<uint32_t>(plan_.trampolines.size());
        plan_.trampolines.push_back({{site.variant}, {site.address + 5}});
        plan_.variants.push_back(std::move(variant));
        plan_.sites.push_back(std::move(site));
        program_.probes.push_back(std::move(probe));
        return program_.probes.back().get();
    }

    static StatementPtr evaluate(ExpressionPtr expression) {
        auto statement = std::make_unique<Evaluate>();
        statement->expression = std::move(expression);
        return statement;
    }
    static ExpressionPtr value_of(const Global* global) {
        auto value = std::make_unique<GlobalValue>();
        value->global = global;
        value->type = global->value;
        return value;
    }
    // Reads the memory at an address in one of the address spaces.
    ExpressionPtr memory_at(Variant& variant, AddressSpace space) {
        auto value = std::make_unique<TargetValue>();
        value->type = Type::Long;
        TargetAccess access;
        access.value.base = Access::Base::Constant;
        access.value.constant = 4096;
        access.value.space = space;
        access.value.steps.push_back({AccessStep::Kind::Load, 0, nullptr, 8});
        variant.accesses[value.get()] = std::move(access);
        return value;
    }
    static ExpressionPtr number(int64_t n) {
        auto value = std::make_unique<Number>();
        value->value = n;
        return value;
    }
    static StatementPtr increment(const Global* global) {
        auto node = std::make_unique<Increment>();
        node->place = value_of(global);
        node->value_used = false;
        return evaluate(std::move(node));
    }

    static StatementPtr increment_element(const Global* array, int64_t key) {
        auto place = std::make_unique<GlobalValue>();
        place->global = array;
        place->type = Type::Long;
        place->keys.push_back(number(key));
        auto node = std::make_unique<Increment>();
        node->place = std::move(place);
        node->type = Type::Long;
        node->value_used = false;
        return evaluate(std::move(node));
    }

    std::optional<CompiledObject> generate() {
        return djstap::generate(program_, plan_, kernel_, options_, diagnostics_);
    }

    // Returns the instructions of one function of the object, with their operands.
    static std::vector<std::string> listing(const std::string& object,
                                            const std::string& function) {
        char path[] = "/tmp/djstap-test-XXXXXX";
        int file = mkstemp(path);
        EXPECT_EQ(write(file, object.data(), object.size()), static_cast<ssize_t>(object.size()));
        close(file);
        std::string command =
            "objdump -d --no-show-raw-insn --disassemble=" + function + " " + path;
        std::vector<std::string> out;
        FILE* pipe = popen(command.c_str(), "r");
        char line[512];
        while (fgets(line, sizeof line, pipe)) {
            std::string text = line;
            size_t tab = text.find('\t');
            if (tab == std::string::npos)
                continue;
            text = text.substr(tab + 1);
            out.push_back(text.substr(0, text.find('\n')));
        }
        pclose(pipe);
        unlink(path);
        return out;
    }
    // Sets the offsets that records need in a handler without a context, and pid(); `tid`: also
    // that of tid().
    void know_offsets(bool tid) {
        kernel_.offset =
            [tid](std::string_view name) -> std::optional<std::pair<std::string, int64_t>> {
            if (name == "preempt_count")
                return std::pair("__preempt_count", 0);
            if (name == "current_task")
                return std::pair("current_task", 0);
            if (name == "task_struct.tgid")
                return std::pair("", 100);
            if (name == "task_struct.pid" && tid)
                return std::pair("", 104);
            if (name.starts_with("djs_cpu."))
                return std::pair("", 8);
            return std::nullopt;
        };
    }
    // Adds a probe that prints a number.
    Probe* printing_probe(const std::string& point) {
        auto print = std::make_unique<Print>();
        print->type = Type::Void;
        FormatPiece piece;
        piece.conversion = 'd';
        print->format.push_back(piece);
        print->arguments.push_back(number(7));
        std::vector<StatementPtr> body;
        body.push_back(evaluate(std::move(print)));
        Probe* added = probe(std::move(body));
        added->effects.prints = true;
        plan_.sites.back().point = point;
        return added;
    }
    // Returns the number of instructions that refer to `text`.
    static size_t uses(const std::vector<std::string>& code, const std::string& text) {
        return static_cast<size_t>(
            std::count_if(code.begin(), code.end(), [&](const std::string& instruction) {
                return instruction.find(text) != std::string::npos;
            }));
    }
    // The first two probes share one trampoline.
    void join_trampolines() {
        plan_.trampolines = {{{0, 1}, {plan_.sites[0].address + 5}}};
        plan_.sites[0].trampoline = plan_.sites[1].trampoline = 0;
        plan_.sites[0].next = 1;
    }

    static std::vector<std::string> disassemble(const std::string& object,
                                                const std::string& function) {
        std::vector<std::string> out;
        for (const std::string& instruction : listing(object, function))
            out.push_back(instruction.substr(0, instruction.find(' ')));
        return out;
    }

    SourceManager sources_;
    Diagnostics diagnostics_;
    Program program_;
    ProbePlan plan_;
    CodegenKernel kernel_;
    CodegenOptions options_;
    std::unique_ptr<ast::ProbePoint> point_;
};

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
    std::vector<StatementPtr> body;
    body.push_back(increment_element(a, 7));
    Probe* p = probe(std::move(body));
    p->effects.writes = {a};
    p->effects.can_fail = true;
    auto object = generate();
    ASSERT_TRUE(object) << render_all(diagnostics_);
    auto has = [&](const std::string& symbol) {
        return object->object.find('\0' + symbol + '\0') != std::string::npos;
    };
    EXPECT_TRUE(has(std::string("djs_lock_enter")));
    EXPECT_TRUE(has("djs_fail_alone")); // for an array that is full, after the lock is released
    EXPECT_FALSE(has("djs_enter"));
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
    EXPECT_NE(object->ir.find("djs_locks"), std::string::npos);
}

// `.return { n++ }`: checks the remaining stack, counts the call in, continues in the function,
// counts the hit, counts the call out, and returns past the direct call. No register is saved.
TEST_F(Generate, ReturnHandlerGoesOnInTheFunction) {
    kernel_.offset = [](std::string_view name) -> std::optional<std::pair<std::string, int64_t>> {
        return name == "djs_cpu.inside" ? std::optional(std::pair(std::string(), 64))
                                        : std::nullopt;
    };
    kernel_.reference = 0xffffffff81000000;
    std::vector<StatementPtr> body;
    body.push_back(increment(global("n", Type::Long, Storage::PerCpu)));
    probe(std::move(body));
    plan_.variants[0].kind = HandlerKind::Return;
    plan_.sites[0].mechanism = Mechanism::ReturnDjprobe;
    auto object = generate();
    ASSERT_TRUE(object) << render_all(diagnostics_);
    auto code = disassemble(object->object, "djs_direct_0");
    // The code after the jump to the return thunk is for calls that return elsewhere.
    EXPECT_EQ(code, std::vector<std::string>({"mov", "test", "jne", "call", "test", "jne", "incq",
                                              "mov", "cmp", "jne", "call", "incq", "decq", "movq",
                                              "cs", "mov", "call", "jmp"}));

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
}

// The fields of an event cost only what reads and stores them, and nothing where none is requested.
TEST_F(Generate, FieldsOfEventsAreRecordedInline) {
    know_offsets(true);
    printing_probe("kernel.function(\"f\")");
    const auto code_with = [&](uint32_t fields) {
        options_.event_fields = fields;
        auto object = generate();
        EXPECT_TRUE(object) << render_all(diagnostics_);
        return object ? listing(object->object, "djs_direct_0") : std::vector<std::string>();
    };
    const auto none = code_with(0), pid = code_with(DJS_EVENT_PID),
               probe = code_with(DJS_EVENT_PROBE),
               all = code_with(DJS_EVENT_PROBE | DJS_EVENT_PID | DJS_EVENT_TID);
    EXPECT_EQ(none.size() + 3, pid.size());   // the task, its number, the record's
    EXPECT_EQ(none.size() + 1, probe.size()); // the number of the only site
    EXPECT_EQ(none.size() + 7, all.size());
    EXPECT_EQ(uses(none, "current_task"), uses(none, "0x64("));
    EXPECT_EQ(uses(all, "0x64("), 1u); // tgid
    EXPECT_EQ(uses(all, "0x68("), 1u); // pid
    EXPECT_EQ(uses(all, "call"), uses(none, "call"));
}

TEST_F(Generate, TheDescriptionNamesTheFieldsOfEvents) {
    know_offsets(true);
    printing_probe("kernel.function(\"f\")");
    std::vector<StatementPtr> body;
    body.push_back(increment(global("n", Type::Long, Storage::PerCpu)));
    probe(std::move(body));
    plan_.sites.back().point = "kernel.function(\"silent\")";
    const auto meta_with = [&](uint32_t fields) {
        options_.event_fields = fields;
        auto object = generate();
        EXPECT_TRUE(object) << render_all(diagnostics_);
        return nlohmann::json::parse(object ? object->meta : "{}");
    };
    const auto none = meta_with(0), tid = meta_with(DJS_EVENT_TID),
               all = meta_with(DJS_EVENT_PROBE | DJS_EVENT_PID | DJS_EVENT_TID);
    EXPECT_EQ(none["version"], 1);
    EXPECT_FALSE(none.contains("fields") || none.contains("points"));
    EXPECT_EQ(tid["version"], 2);
    EXPECT_EQ(tid["fields"], nlohmann::json({"tid"}));
    EXPECT_FALSE(tid.contains("points"));
    EXPECT_EQ(all["fields"], nlohmann::json({"probe", "pid", "tid"}));
    EXPECT_EQ(all["points"], nlohmann::json({"kernel.function(\"f\")", ""}));
}

// Only a handler that knows the site can record it: the trampoline finds it by the address of the
// function, and the mechanisms that have a context pass it.
TEST_F(Generate, OneOfSeveralSitesIsFoundByItsAddress) {
    know_offsets(true);
    printing_probe("kernel.function(\"f\")");
    Site second = plan_.sites[0];
    second.address += 0x100;
    plan_.sites.push_back(second);
    const auto symbols = [&](uint32_t fields) {
        options_.event_fields = fields;
        auto object = generate();
        EXPECT_TRUE(object) << render_all(diagnostics_);
        return object ? object->object : "";
    };
    const auto has = [](const std::string& object, const std::string& symbol) {
        return object.find('\0' + symbol + '\0') != std::string::npos;
    };
    const std::string without = symbols(DJS_EVENT_PID), with = symbols(DJS_EVENT_PROBE);
    EXPECT_FALSE(has(without, "djs_find_site"));
    EXPECT_TRUE(has(without, "djs_by_regs_0"));
    EXPECT_TRUE(has(with, "djs_find_site"));
    EXPECT_FALSE(has(with, "djs_by_regs_0"));
    EXPECT_EQ(uses(listing(with, "djs_direct_0"), "djs_slow_site"), 1u);
    EXPECT_FALSE(has(with, "djs_enter"));
}

// Where the handler cannot read the task itself, it gets a context, and calls what tid() calls.
TEST_F(Generate, FieldsThatRequireACallRequireAContext) {
    know_offsets(false);
    printing_probe("kernel.function(\"f\")");
    options_.dump_ir = true;
    for (const uint32_t field : {DJS_EVENT_PID, DJS_EVENT_TID}) {
        options_.event_fields = field | DJS_EVENT_PROBE;
        auto object = generate();
        ASSERT_TRUE(object) << render_all(diagnostics_);
        const bool calls = field == DJS_EVENT_TID;
        EXPECT_EQ(object->ir.find("call ptr @djs_enter") != std::string::npos, calls);
        EXPECT_EQ(object->ir.find("call i64 @djs_fn_tid") != std::string::npos, calls);
        EXPECT_EQ(object->ir.find("@djs_find_site"), std::string::npos);
    }
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

// `n += $a->b; n++`: checks the session and the address, reads, adds. No context, no saved
// register.
TEST_F(Generate, KernelMemoryIsReadByTheHandlerItself) {
    Global* n = global("n", Type::Long, Storage::PerCpu);
    Probe* p = probe({});
    p->effects.can_fail = true;
    auto sum = std::make_unique<Assignment>();
    sum->op = ast::BinaryOp::Add;
    sum->place = value_of(n);
    sum->value = memory_at(plan_.variants[0], AddressSpace::Kernel);
    sum->value_used = false;
    Access& access = plan_.variants[0].accesses[sum->value.get()].value;
    access.base = Access::Base::Register;
    access.reg = arch::argument_registers()[0];
    access.steps = {{AccessStep::Kind::Add, 8}, {AccessStep::Kind::Load, 0, nullptr, 4, true}};
    p->body->statements.push_back(evaluate(std::move(sum)));
    p->body->statements.push_back(increment(n));
    const auto object = generate();
    ASSERT_TRUE(object) << render_all(diagnostics_);
    auto code = listing(object->object, "djs_direct_0");
    ASSERT_GE(code.size(), 7u);
    code.resize(7);
    EXPECT_EQ(disassemble(object->object, "djs_direct_0").front(), "testl");
    const auto loads = [](const std::string& line) { return line.starts_with("movslq 0x8(%rdi)"); };
    EXPECT_EQ(std::count_if(code.begin(), code.end(), loads), 1) << code[4];
    // What follows the load is a fault's code: it names the address that was read.
    EXPECT_NE(object->object.find("djs_fail_read_alone"), std::string::npos);
    EXPECT_NE(object->object.find("__ex_table"), std::string::npos);
}

} // namespace djstap
