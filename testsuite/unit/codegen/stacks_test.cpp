// SPDX-License-Identifier: GPL-2.0-or-later
// Call stacks and what is printed of their symbols, executed: what a handler asks of the runtime
// and puts into records.
#include "kernel_code.h"

#include "codegen/stacks.h"
#include "include/record.h"
#include "include/script.h"
#include "include/symbols.h"

namespace djstap {
namespace {

std::unique_ptr<Call> call_of(const Function* function, ExpressionPtr argument = nullptr) {
    auto made = std::make_unique<Call>();
    made->function = function;
    made->type = function->return_type;
    if (argument)
        made->arguments.push_back(std::move(argument));
    return made;
}

TEST(SymbolsOfCalls, AreToldByTheirFunctions) {
    Function function;
    const auto of = [&](const std::string& intrinsic, Type argument = Type::Long) {
        function.intrinsic = intrinsic;
        auto value = std::make_unique<Number>();
        value->type = argument;
        return codegen::symbols_of(*call_of(&function, std::move(value)));
    };
    for (const char* const lines :
         {"sprint_syms", "sprint_stack", "sprint_usyms", "sprint_ustack"}) {
        EXPECT_EQ(of(lines, Type::Stack), DJS_SYMBOLS_LINES) << lines;
        EXPECT_EQ(of(lines, Type::String), 0) << lines;
    }
    for (const char* const prefix : {"", "u"}) {
        const std::string u = prefix;
        EXPECT_EQ(of("sprint_" + u + "backtrace"), DJS_SYMBOLS_BACKTRACE);
        EXPECT_EQ(of(u + "symname"), DJS_SYMBOLS_NAME);
        EXPECT_EQ(of(u + "symdata"), DJS_SYMBOLS_DATA);
    }
    EXPECT_EQ(of("usymfileline"), DJS_SYMBOLS_PLACE);
    EXPECT_EQ(of("usymfile"), DJS_SYMBOLS_FILE);
    EXPECT_EQ(of("usymline"), DJS_SYMBOLS_SOURCELINE);
    EXPECT_EQ(of("backtrace"), 0);
    EXPECT_EQ(codegen::symbols_of(Number()), 0);
    for (const char* const walks : {"backtrace", "print_backtrace", "sprint_backtrace"})
        EXPECT_TRUE(codegen::walks_stack(walks)) << walks;
    EXPECT_FALSE(codegen::walks_stack("ubacktrace"));
}

// C code may ask for them, too.
TEST(SymbolsOfCalls, AreToldByCCode) {
    const auto needs = [](const std::string& code) {
        Program program;
        auto function = std::make_unique<Function>();
        function->embedded = code;
        program.functions.push_back(std::move(function));
        return std::pair{codegen::uses_symbols(program), codegen::uses_programs(program)};
    };
    EXPECT_EQ(needs("return 1;"), std::pair(false, false));
    EXPECT_EQ(needs("_stp_stack_kernel_print(CONTEXT);"), std::pair(true, false));
    EXPECT_EQ(needs("_stp_stack_user_print(CONTEXT);"), std::pair(true, true));
    EXPECT_EQ(needs("_stp_snprint_addr(a, b, c);"), std::pair(true, true));
}

class Stacks : public InKernel {
  public: // for the functions of the kernel
    djs_ctx ctx_ = {};
    std::string log_;
    std::vector<uint64_t> words_, record_;
    uint32_t type_ = 0;
    static inline Stacks* test_ = nullptr;

  protected:
    static constexpr uint64_t taken = 0xffff800000001111, of_program = 0x2222;

    void SetUp() override {
        InKernel::SetUp();
        test_ = this;
        ctx_.scratch = code_.variable("scratch", 65536);
        code_.function("djs_enter", +[](const void*, const void*) { return &test_->ctx_; });
        code_.function("djs_leave", +[](djs_ctx*) {});
        code_.function(
            "djs_take_stack_at_entry", +[](djs_ctx* ctx, uint64_t* stack, uint64_t, uint64_t) {
                EXPECT_EQ(ctx, &test_->ctx_);
                test_->log_ += "take ";
                stack[0] = 1;
                stack[1] = taken;
            });
        code_.function(
            "djs_take_user_stack", +[](djs_ctx* ctx, uint64_t* stack) {
                EXPECT_EQ(ctx, &test_->ctx_);
                test_->log_ += "utake ";
                stack[0] = 2;
                stack[1] = of_program;
                stack[2] = of_program + 1;
            });
        code_.function(
            "djs_copy_stack", +[](uint64_t* to, const uint64_t* from) {
                test_->log_ += "copy ";
                std::memmove(to, from, (from[0] + 1) * sizeof *to);
            });
        code_.function(
            "djs_stack_text", +[](char* out, const uint64_t* stack) {
                snprintf(out, 32, "%llu:%llx", static_cast<unsigned long long>(stack[0]),
                         static_cast<unsigned long long>(stack[0] ? stack[1] : 0));
            });
        code_.function(
            "djs_print_stack", +[](djs_ctx* ctx, const uint64_t* stack) {
                EXPECT_EQ(ctx, &test_->ctx_);
                test_->log_ += "print";
                test_->words_.assign(stack, stack + 2);
            });
        code_.function(
            "djs_symbols_argument", +[](djs_ctx* ctx, uint64_t* words, uint32_t type) {
                EXPECT_EQ(ctx, &test_->ctx_);
                test_->log_ += "symbols ";
                test_->words_.assign(words, words + 2);
                test_->type_ = type;
                return uint64_t{16};
            });
        code_.function(
            "djs_user_word", +[](djs_ctx* ctx, uint64_t address, uint32_t returns) {
                EXPECT_EQ(ctx, &test_->ctx_);
                EXPECT_EQ(returns, 0u);
                test_->log_ += "word ";
                return address + (uint64_t{5} << 47);
            });
        code_.function(
            "djs_reserve", +[](djs_ctx*, uint32_t, uint32_t size) {
                test_->record_.assign(size / sizeof(uint64_t), 0);
                return test_->record_.data();
            });
        code_.function(
            "djs_commit", +[](djs_ctx*, void* record, uint32_t size) {
                EXPECT_EQ(record, test_->record_.data());
                EXPECT_EQ(size, test_->record_.size() * sizeof(uint64_t));
            });
        code_.function(
            "djs_text_copy", +[](char* to, const char* from, uint64_t size) {
                snprintf(to, size, "%s", from);
                return uint64_t{0};
            });
        code_.function(
            "memcpy",
            +[](void* to, const void* from, size_t size) { return std::memcpy(to, from, size); });
    }
    Function* function(const std::string& intrinsic, Type type) {
        auto made = std::make_unique<Function>();
        made->name = made->intrinsic = intrinsic;
        made->return_type = type;
        program_.functions.push_back(std::move(made));
        return program_.functions.back().get();
    }
    static ExpressionPtr local(uint32_t number) {
        auto made = std::make_unique<LocalValue>();
        made->type = Type::Stack;
        made->local = number;
        return made;
    }
    static StatementPtr assign(ExpressionPtr place, ExpressionPtr value) {
        auto made = std::make_unique<Assignment>();
        made->type = place->type;
        made->place = std::move(place);
        made->value = std::move(value);
        made->value_used = false;
        return evaluate(std::move(made));
    }
    static StatementPtr print(ExpressionPtr value, char conversion) {
        auto made = std::make_unique<Print>();
        made->type = Type::Void;
        FormatPiece piece;
        piece.conversion = conversion;
        made->format.push_back(piece);
        made->arguments.push_back(std::move(value));
        return evaluate(std::move(made));
    }
    // Runs a script of one probe anew.
    void run(Probe* made) {
        made->effects.prints = made->effects.strings = true;
        more_ = 0;
        load();
        log_.clear();
        EXPECT_EQ(call(0, 30, 12), 42u);
    }
    void forget() {
        program_ = {};
        plan_ = {};
    }
};

TEST_F(Stacks, ArePrinted) {
    struct Printed {
        const char *intrinsic, *log;
        std::vector<uint64_t> words;
    };
    for (const Printed& each :
         {Printed{"print_backtrace", "take print", {1, taken}},
          {"print_ubacktrace", "utake print", {2, of_program}},
          {"print_ubacktrace_fileline", "utake print", {2 | DJS_STACK_FILELINE, of_program}}}) {
        forget();
        run(probe_of(HandlerKind::Entry, 0,
                     evaluate(call_of(function(each.intrinsic, Type::Void)))));
        EXPECT_EQ(log_, each.log) << each.intrinsic;
        EXPECT_EQ(words_, each.words) << each.intrinsic;
    }
}

// A record has the number of addresses and these.
TEST_F(Stacks, AreRecordedAsTheyAre) {
    for (const bool is_user : {false, true}) {
        forget();
        run(probe_of(
            HandlerKind::Entry, 0,
            print(call_of(function(is_user ? "ubacktrace" : "backtrace", Type::Stack)), 's')));
        EXPECT_EQ(log_, is_user ? "utake " : "take ");
        record_.erase(record_.begin(), record_.begin() + sizeof(djs_record) / sizeof(uint64_t));
        EXPECT_EQ(record_, is_user ? (std::vector<uint64_t>{2, of_program, of_program + 1})
                                   : (std::vector<uint64_t>{1, taken}));
    }
}

TEST_F(Stacks, AreKeptInVariables) {
    Function* const backtrace = function("backtrace", Type::Stack);
    Function* const ubacktrace = function("ubacktrace", Type::Stack);
    Global* const text = global("text", Type::String, Storage::Locked);
    const auto choice = [&](bool first) {
        auto made = std::make_unique<Conditional>();
        made->type = Type::Stack;
        made->condition = number(first);
        made->then_value = call_of(ubacktrace);
        made->else_value = local(1);
        return made;
    };
    for (const bool first : {false, true}) {
        program_.probes.clear();
        plan_ = {};
        auto shown = std::make_unique<StackText>();
        shown->type = Type::String;
        shown->stack = local(0);
        Probe* const made =
            probe_of(HandlerKind::Entry, 0, assign(local(1), call_of(backtrace)),
                     assign(local(0), local(1)), assign(local(1), choice(first)),
                     assign(local(0), local(1)), assign(value_of(text), std::move(shown)));
        made->locals = {{"x", Type::Stack, {}}, {"y", Type::Stack, {}}};
        made->effects.writes = {text};
        run(made);
        EXPECT_STREQ(code_.at("djs_global_text"), first ? "2:2222" : "1:ffff800000001111");
    }
}

// One that was never set is empty, whatever the memory was used for before.
TEST_F(Stacks, AreEmptyAtFirst) {
    Global* const text = global("text", Type::String, Storage::Locked);
    auto shown = std::make_unique<StackText>();
    shown->type = Type::String;
    shown->stack = local(0);
    Probe* const made = probe_of(HandlerKind::Entry, 0, assign(value_of(text), std::move(shown)));
    made->locals = {{"x", Type::Stack, {}}};
    made->effects.writes = {text};
    std::memset(code_.at("scratch"), 2, 65536);
    run(made);
    EXPECT_STREQ(code_.at("djs_global_text"), "0:0");
}

TEST_F(Stacks, SymbolsAreOneAddress) {
    struct Symbol {
        const char* intrinsic;
        int64_t address;
        const char* log;
        uint64_t word;
        int type;
    };
    constexpr int64_t lowest = int64_t{1} << 47;
    for (const Symbol& each : {
             Symbol{"symname", 4096, "symbols ", 4096, DJS_SYMBOLS_NAME},
             {"symdata", 4096, "symbols ", 4096, DJS_SYMBOLS_DATA},
             {"usymname", 4096, "word symbols ", 4096 + (5ull << 47), DJS_SYMBOLS_NAME},
             {"usymdata", 4096, "word symbols ", 4096 + (5ull << 47), DJS_SYMBOLS_DATA},
             {"usymfileline", 4096, "word symbols ", 4096 + (5ull << 47), DJS_SYMBOLS_PLACE},
             {"usymfile", 4096, "word symbols ", 4096 + (5ull << 47), DJS_SYMBOLS_FILE},
             {"usymname", lowest - 1, "word symbols ", lowest - 1 + (5ull << 47), DJS_SYMBOLS_NAME},
             // No address of a program has 48 bits: it is a number.
             {"usymname", lowest, "word symbols ", lowest, 0},
             // One of the kernel's.
             {"usymname", -4096, "word symbols ", (5ull << 47) - 4096, DJS_SYMBOLS_NAME},
         }) {
        forget();
        run(probe_of(
            HandlerKind::Entry, 0,
            print(call_of(function(each.intrinsic, Type::String), number(each.address)), 's')));
        EXPECT_EQ(log_, each.log) << each.intrinsic;
        EXPECT_EQ(words_, (std::vector<uint64_t>{1, each.word})) << each.intrinsic;
        EXPECT_EQ(type_, static_cast<uint32_t>(each.type)) << each.intrinsic;
        EXPECT_EQ(record_.size(), sizeof(djs_record) / sizeof(uint64_t) + 2);
    }
}

TEST_F(Stacks, SymbolsAreWholeStacks) {
    run(probe_of(HandlerKind::Entry, 0,
                 print(call_of(function("sprint_backtrace", Type::String)), 's')));
    EXPECT_EQ(log_, "take symbols ");
    EXPECT_EQ(words_, (std::vector<uint64_t>{1, taken}));
    EXPECT_EQ(type_, static_cast<uint32_t>(DJS_SYMBOLS_BACKTRACE));
    forget();
    run(probe_of(HandlerKind::Entry, 0,
                 print(call_of(function("sprint_ubacktrace", Type::String)), 's')));
    EXPECT_EQ(log_, "utake symbols ");
    EXPECT_EQ(words_, (std::vector<uint64_t>{2, of_program}));
    forget();
    Function* const backtrace = function("backtrace", Type::Stack);
    run(probe_of(HandlerKind::Entry, 0,
                 print(call_of(function("sprint_syms", Type::String), call_of(backtrace)), 's')));
    EXPECT_EQ(log_, "take symbols ");
    EXPECT_EQ(type_, static_cast<uint32_t>(DJS_SYMBOLS_LINES));
}

} // namespace
} // namespace djstap
