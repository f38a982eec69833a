// SPDX-License-Identifier: GPL-2.0-or-later
// Assignments to target variables in a kprobe's handler, executed: registers, parts of them,
// results and memory.
#include "kernel_code.h"

#include "arch/arch.h"
#include "include/script.h"

namespace djstap {
namespace {

using Kind = AccessStep::Kind;

class Assignments : public InKernel {
  public: // for the functions of the kernel
    static inline Assignments* test_ = nullptr;
    djs_ctx ctx_ = {};
    uint64_t registers_[64] = {};
    std::string log_;

  protected:
    void SetUp() override {
        InKernel::SetUp();
        test_ = this;
        ctx_.scratch = code_.variable("scratch", 4096);
        ctx_.regs = reinterpret_cast<struct pt_regs*>(registers_);
        code_.function(
            "djs_store", +[](djs_ctx*, uint64_t at, uint32_t size, uint64_t value, uint32_t) {
                test_->stored("kernel", at, size, value);
            });
        code_.function(
            "djs_store_user", +[](djs_ctx*, uint64_t at, uint32_t size, uint64_t value, uint32_t) {
                test_->stored("user", at, size, value);
            });
        code_.function(
            "djs_load", +[](djs_ctx*, uint64_t at, uint32_t size, uint32_t) {
                test_->stored("read", at, size, 0);
                return uint64_t{0x1122334455667788};
            });
    }
    void stored(const std::string& how, uint64_t at, uint32_t size, uint64_t value) {
        char text[100];
        snprintf(text, sizeof text, " %llx,%u,%llx;", static_cast<unsigned long long>(at), size,
                 static_cast<unsigned long long>(value));
        log_ += how + text;
    }
    static Access register_of(unsigned argument, std::vector<AccessStep> steps = {}) {
        Access access;
        access.base = Access::Base::Register;
        access.reg = arch::argument_registers()[argument];
        access.steps = std::move(steps);
        return access;
    }
    uint64_t& in_register(unsigned argument) {
        return registers_[static_cast<unsigned>(arch::argument_registers()[argument])];
    }
    static AccessStep bits(uint8_t offset, uint8_t size) {
        return {Kind::BitField, 0, nullptr, 8, false, offset, size};
    }
    static AccessStep load_of(uint8_t size) { return {Kind::Load, 0, nullptr, size, false}; }

    void begin_probe() {
        probe({});
        plan_.trampolines.clear();
        plan_.sites.back().trampoline = no_index;
        plan_.sites.back().mechanism = Mechanism::Kprobe;
        plan_.variants.back().mechanisms = 1u << static_cast<unsigned>(Mechanism::Kprobe);
    }
    void assign(TargetAccess target, int64_t value) {
        auto place = std::make_unique<TargetValue>();
        place->type = Type::Long;
        plan_.variants.back().accesses[place.get()] = std::move(target);
        auto made = std::make_unique<Assignment>();
        made->type = Type::Long;
        made->place = std::move(place);
        made->value = number(value);
        made->value->type = Type::Long;
        made->value_used = false;
        program_.probes.back()->body->statements.push_back(evaluate(std::move(made)));
    }
    void assign(Access access, int64_t value) {
        TargetAccess target;
        target.value = std::move(access);
        assign(std::move(target), value);
    }
    void run() {
        load();
        using Body = void(djs_ctx*);
        reinterpret_cast<Body*>(code_.at("djs_body_0"))(&ctx_);
        EXPECT_EQ(ctx_.error, nullptr);
    }
    // Whether an assignment to this alone is refused.
    bool is_refused(TargetAccess target) {
        program_.probes.clear();
        plan_ = {};
        begin_probe();
        assign(std::move(target), 1);
        Diagnostics diagnostics(sources_);
        const bool made =
            djstap::generate(program_, plan_, kernel_, options_, diagnostics).has_value();
        EXPECT_EQ(diagnostics.error_count(), made ? 0u : 1u) << render_all(diagnostics);
        return !made && diagnostics.all().front().kind == DiagnosticKind::TargetNotWritable;
    }
};

} // namespace

TEST_F(Assignments, ChangeRegistersAndResults) {
    begin_probe();
    Access result;
    result.base = Access::Base::ReturnValue;
    assign(register_of(0), 77);
    assign(register_of(1, {{Kind::Extend, 0, nullptr, 4, true}}), -5);
    assign(register_of(2, {bits(8, 16)}), 0x7abcd);
    assign(register_of(3, {bits(0, 64)}), -1);
    assign(register_of(4, {bits(63, 1), {Kind::Extend, 0, nullptr, 1, false}}), 2);
    assign(result, 99);
    for (unsigned i = 0; i < 5; i++)
        in_register(i) = 0x9122334455667788;
    run();
    EXPECT_EQ(in_register(0), 77u);
    EXPECT_EQ(in_register(1), static_cast<uint64_t>(-5));
    EXPECT_EQ(in_register(2), 0x9122334455abcd88u);
    EXPECT_EQ(in_register(3), UINT64_MAX);
    EXPECT_EQ(in_register(4), 0x1122334455667788u);
    EXPECT_EQ(ctx_.return_value, 99u);
    EXPECT_EQ(log_, "");
}

// The kernel's memory and a process's are written by the runtime, which may find that there is
// none.
TEST_F(Assignments, ChangeMemory) {
    begin_probe();
    Access user = register_of(1, {{Kind::Add, 16}, load_of(2)});
    user.space = AddressSpace::User;
    assign(register_of(0, {{Kind::Add, 8}, load_of(4)}), -1);
    assign(user, 5);
    assign(register_of(0, {load_of(8)}), 6);
    assign(register_of(0, {{Kind::Add, 24}, load_of(8), bits(4, 12)}), 0xfabc);
    in_register(0) = 0x1000;
    in_register(1) = 0x2000;
    run();
    EXPECT_EQ(log_, "kernel 1008,4,ffffffffffffffff;user 2010,2,5;kernel 1000,8,6;"
                    "read 1018,8,0;kernel 1018,8,112233445566abc8;");
    EXPECT_EQ(in_register(0), 0x1000u);
}

// What follows a write that failed is not executed.
TEST_F(Assignments, WritesThatFailEndTheHandler) {
    for (const AddressSpace space : {AddressSpace::Kernel, AddressSpace::User}) {
        program_.probes.clear();
        plan_ = {};
        begin_probe();
        Access memory = register_of(0, {load_of(4)});
        memory.space = space;
        assign(memory, 5);
        assign(register_of(1), 77);
        const bool user = space == AddressSpace::User;
        code_.function(
            user ? "djs_store_user" : "djs_store",
            +[](djs_ctx* ctx, uint64_t, uint32_t, uint64_t, uint32_t) {
                test_->log_ += "failed ";
                ctx->error = "write fault";
            });
        load();
        in_register(1) = 3;
        log_.clear();
        ctx_.error = nullptr;
        using Body = void(djs_ctx*);
        reinterpret_cast<Body*>(code_.at("djs_body_0"))(&ctx_);
        EXPECT_EQ(log_, "failed ") << user;
        EXPECT_STREQ(ctx_.error, "write fault");
        EXPECT_EQ(in_register(1), 3u) << user;
    }
}

// What semantics never makes is told, not compiled to anything.
TEST_F(Assignments, WhatCannotBeIsAnError) {
    Global* const counter = global("counter", Type::Long, Storage::PerCpu);
    const auto set = [](ExpressionPtr place) {
        auto made = std::make_unique<Assignment>();
        made->type = Type::Long;
        made->place = std::move(place);
        made->value = number(1);
        made->value_used = false;
        return made;
    };
    const auto number_of_type = [](Type type) {
        ExpressionPtr made = number(1);
        made->type = type;
        return made;
    };
    std::vector<std::pair<ExpressionPtr, const char*>> cases;
    cases.emplace_back(set(number(2)), "an assignment to no place");
    cases.emplace_back(set(value_of(counter)), "an assignment to what is no variable");
    cases.emplace_back(number_of_type(Type::String), "a text that is none");
    cases.emplace_back(number_of_type(Type::Stack), "a stack that is none");
    options_.forms = HandlerForms::Context;
    for (auto& [expression, message] : cases) {
        program_.probes.clear();
        plan_ = {};
        begin_probe();
        program_.probes.back()->body->statements.push_back(evaluate(std::move(expression)));
        Diagnostics diagnostics(sources_);
        EXPECT_FALSE(djstap::generate(program_, plan_, kernel_, options_, diagnostics)) << message;
        EXPECT_NE(render_all(diagnostics).find(message), std::string::npos)
            << render_all(diagnostics);
    }
}

TEST_F(Assignments, AreRefusedWhereNothingIsKept) {
    const auto target = [](Access access, bool is_text = false) {
        TargetAccess made;
        made.value = std::move(access);
        made.is_text = is_text;
        return made;
    };
    Access constant;
    constant.base = Access::Base::Constant;
    EXPECT_TRUE(is_refused(target(constant)));
    constant.steps = {{Kind::Add, 8}};
    EXPECT_TRUE(is_refused(target(constant))) << "an address";
    constant.steps.push_back(load_of(8));
    EXPECT_FALSE(is_refused(target(constant)));
    EXPECT_TRUE(is_refused(target(register_of(0, {{Kind::Add, 1}}))));
    EXPECT_FALSE(is_refused(target(register_of(0))));
    EXPECT_TRUE(is_refused(target(register_of(0), true))) << "a text of several values";
    // What a kprobe finds on the stack is no copy.
    Access on_stack;
    on_stack.base = Access::Base::Register;
    on_stack.reg = arch::stack_pointer();
    on_stack.steps = {{Kind::Add, 8}, load_of(8)};
    EXPECT_FALSE(is_refused(target(on_stack)));
}

} // namespace djstap
