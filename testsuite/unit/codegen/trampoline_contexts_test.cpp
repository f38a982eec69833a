// SPDX-License-Identifier: GPL-2.0-or-later
// What a handler in a trampoline finds in the context that it takes, executed in each form in which
// its code may be made: in the trampoline, in a function beside it, or in the one for all
// mechanisms.
#include "kernel_code.h"

#include "arch/arch.h"
#include "include/script.h"

#include <set>

namespace djstap {
namespace {

class TrampolineContexts : public InKernel {
  public: // for the functions of the kernel
    using InKernel::code_;
    using InKernel::counter;

    // What a function of the runtime finds that the handler calls.
    struct Found {
        bool has_registers = false;
        std::vector<uint64_t> registers;
        int64_t counted = 0;
    };
    Found found_;
    djs_ctx ctx_ = {};
    bool refuses_ = false;
    std::string log_, fails_with_;
    const void *handler_ = nullptr, *site_ = nullptr;
    uint64_t searched_ = 0, pointer_ = 0, frame_ = 0;
    static inline TrampolineContexts* test_ = nullptr;

  protected:
    TrampolineContexts() {
        n_ = global("n", Type::Long, Storage::PerCpu);
        m_ = global("m", Type::Long, Storage::PerCpu);
    }
    void SetUp() override {
        InKernel::SetUp();
        test_ = this;
        ctx_.scratch = code_.variable("scratch", 4096);
        code_.function(
            "djs_enter", +[](const void* handler, const void* site) -> djs_ctx* {
                test_->log_ += "(";
                test_->handler_ = handler;
                test_->site_ = site;
                return test_->refuses_ ? nullptr : &test_->ctx_;
            });
        code_.function(
            "djs_leave", +[](djs_ctx* ctx) {
                EXPECT_EQ(ctx, &test_->ctx_);
                EXPECT_EQ(ctx->regs, nullptr);
                test_->log_ += ")";
            });
        code_.function(
            "djs_find_site", +[](const void* handler, uint64_t address) -> const void* {
                EXPECT_EQ(handler, test_->code_.at("djs_script_handlers"));
                test_->searched_ = address;
                return test_->code_.at("djs_script_sites") + sizeof(djs_site);
            });
        code_.function("djs_lacks_stack", +[](uint32_t) { return uint32_t{0}; });
        code_.function(
            "djs_fn_own", +[](djs_ctx* ctx) {
                test_->log_ += "f";
                test_->found_ = {};
                test_->found_.counted = test_->counter(0);
                if (ctx->regs) {
                    const auto* words = reinterpret_cast<const uint64_t*>(ctx->regs);
                    test_->found_.has_registers = true;
                    test_->found_.registers.assign(words, words + arch::saved_register_count());
                }
                return int64_t{1000};
            });
        code_.function(
            "djs_load", +[](djs_ctx* ctx, uint64_t, uint32_t, uint32_t) -> uint64_t {
                if (test_->fails_with_.empty())
                    return 8;
                ctx->error = test_->fails_with_.c_str();
                return 0;
            });
        code_.function("djs_take_stack", +[](djs_ctx*, uint64_t*) { test_->log_ += "t"; });
        code_.function(
            "djs_take_stack_at_entry", +[](djs_ctx*, uint64_t*, uint64_t pointer, uint64_t frame) {
                test_->log_ += "e";
                test_->pointer_ = pointer;
                test_->frame_ = frame;
            });
        code_.function("djs_print_stack", +[](djs_ctx*, uint64_t*) { test_->log_ += "p"; });
    }
    Function* function(const std::string& intrinsic) {
        auto made = std::make_unique<Function>();
        made->name = made->intrinsic = intrinsic;
        made->return_type = Type::Long;
        program_.functions.push_back(std::move(made));
        return program_.functions.back().get();
    }
    static ExpressionPtr call_of(const Function* function) {
        auto made = std::make_unique<Call>();
        made->function = function;
        made->type = function->return_type;
        return made;
    }
    static Access at(Access::Base base, unsigned argument = 0) {
        Access access;
        access.base = base;
        access.reg = arch::argument_registers()[argument];
        return access;
    }
    // $return = value
    StatementPtr change_result(int64_t value) {
        auto place = found_by(at(Access::Base::ReturnValue));
        program::as<TargetValue>(*place).name = "$return";
        auto made = std::make_unique<Assignment>();
        made->place = std::move(place);
        made->value = number(value);
        made->value_used = false;
        return evaluate(std::move(made));
    }
    // Runs this for each form, with a script that `script` makes.
    void in_each_form(const std::function<void()>& script, const std::function<void()>& check) {
        for (const HandlerForms form : {HandlerForms::Chosen, HandlerForms::Context,
                                        HandlerForms::Separate, HandlerForms::Called}) {
            SCOPED_TRACE(static_cast<int>(form));
            options_.forms = form;
            program_.probes.clear();
            program_.functions.clear();
            plan_ = {};
            more_ = 0;
            log_.clear();
            ctx_.error = nullptr;
            refuses_ = false;
            script();
            load();
            check();
        }
    }

    Global *n_, *m_;
};

TEST_F(TrampolineContexts, HandlersRunBetweenEnteringAndLeaving) {
    in_each_form(
        [&] {
            probe_of(HandlerKind::Entry, 0, add(n_, call_of(function("own"))));
            add_found(m_, at(Access::Base::Register, 1));
        },
        [&] {
            EXPECT_EQ(call(0, 30, 12), 42u);
            EXPECT_EQ(log_, "(f)");
            EXPECT_EQ(counter(0), 1000);
            EXPECT_EQ(counter(1), 12);
            EXPECT_EQ(handler_, code_.at("djs_script_handlers"));
            EXPECT_EQ(site_, code_.at("djs_script_sites"));
            refuses_ = true;
            EXPECT_EQ(call(0, 30, 12), 42u);
            EXPECT_EQ(log_, "(f)(") << "the hit is skipped";
            EXPECT_EQ(counter(0), 1000);
        });
}

TEST_F(TrampolineContexts, ReturnHandlersRunAfterTheFunction) {
    in_each_form(
        [&] {
            probe_of(HandlerKind::Return, 0, add(n_, call_of(function("own"))));
            add_found(m_, at(Access::Base::ReturnValue));
        },
        [&] {
            EXPECT_EQ(call(0, 30, 12), 42u);
            EXPECT_EQ(log_, "(f)");
            EXPECT_EQ(counter(0), 1000);
            EXPECT_EQ(counter(1), 42);
            EXPECT_EQ(ctx_.return_value, 42u);
            EXPECT_EQ(of_cpu("inside"), 0);
        });
}

// What one handler makes of the result, the next one and the caller get.
TEST_F(TrampolineContexts, ResultsAreChanged) {
    in_each_form(
        [&] {
            probe_of(HandlerKind::Return, 0);
            program_.probes[0]->body->statements.push_back(change_result(5));
            add_found(n_, at(Access::Base::ReturnValue));
            probe_of(HandlerKind::Return, 0);
            add_found(m_, at(Access::Base::ReturnValue));
            plan_.trampolines = {{{0, 1}, {site_of(0) + 5}}};
            plan_.sites[1].trampoline = plan_.sites[0].trampoline = 0;
            plan_.sites[0].next = 1;
        },
        [&] {
            EXPECT_EQ(call(0, 30, 12), 5u);
            EXPECT_EQ(counter(0), 5);
            EXPECT_EQ(counter(1), 5);
            refuses_ = true;
            EXPECT_EQ(call(0, 30, 12), 42u);
            EXPECT_EQ(counter(0), 5);
        });
}

// long_arg() reads registers by number.
TEST_F(TrampolineContexts, RegistersAreThereForThoseWhoAsk) {
    for (const bool ask : {false, true})
        in_each_form(
            [&] {
                Function* const own = function("own");
                own->arguments = ask;
                probe_of(HandlerKind::Entry, 0, add(n_, call_of(own)));
            },
            [&] {
                char* const stack = code_.variable("stack", 65536) + 32768;
                std::memset(stack - 32768, 0x5a, 32768); // of those who were there before
                EXPECT_EQ(call_on(stack, 0, 30, 12), 42u);
                EXPECT_EQ(log_, "(f)");
                EXPECT_EQ(found_.has_registers, ask || options_.forms == HandlerForms::Called);
                if (!found_.has_registers)
                    return;
                const auto of = [&](PtReg reg) {
                    return found_.registers.at(static_cast<size_t>(reg));
                };
                EXPECT_EQ(of(arch::argument_registers()[0]), 30u);
                EXPECT_EQ(of(arch::argument_registers()[1]), 12u);
                EXPECT_EQ(of(arch::argument_registers()[2]), reinterpret_cast<uint64_t>(stack));
                EXPECT_EQ(of(arch::argument_registers()[3]), frame);
                EXPECT_EQ(of(arch::stack_pointer()), reinterpret_cast<uint64_t>(stack - 8));
                EXPECT_EQ(of(arch::instruction_pointer()),
                          reinterpret_cast<uint64_t>(in_memory(site_of(0) + 5)));
                if (options_.forms == HandlerForms::Called)
                    return; // the context's own memory
                std::set<size_t> known{static_cast<size_t>(arch::stack_pointer()),
                                       static_cast<size_t>(arch::instruction_pointer())};
                for (const PtReg argument : arch::argument_registers())
                    known.insert(static_cast<size_t>(argument));
                for (size_t i = 0; i < found_.registers.size(); i++)
                    if (!known.count(i)) {
                        EXPECT_EQ(found_.registers[i], 0u) << i;
                    }
            });
}

// @kregister. A direct call leaves no registers in memory: the trampoline has those that it sees.
TEST_F(TrampolineContexts, RegistersByNumberAreThoseOfTheEntry) {
    // DWARF's number of a register.
    const auto number_of = [](PtReg reg) {
        int64_t number = 0;
        while (number < 100 && arch::register_of_dwarf(static_cast<uint64_t>(number)) != reg)
            number++;
        return number;
    };
    // A body that several trampolines call finds them in the context.
    code_.function(
        "djs_kernel_register", +[](djs_ctx* ctx, uint32_t reg, uint32_t) {
            if (ctx->regs)
                return reinterpret_cast<const uint64_t*>(ctx->regs)[reg];
            ctx->error = "no registers";
            return uint64_t{0};
        });
    char* const stack = code_.variable("stack", 65536) + 32768;
    const auto read = [&](PtReg reg) {
        auto made = std::make_unique<Register>();
        made->type = Type::Long;
        made->number = number_of(reg);
        return made;
    };
    enum class With { Nothing, Return, EntryValue };
    for (const With with : {With::Nothing, With::Return, With::EntryValue})
        for (const auto& [reg, value] :
             {std::pair(arch::argument_registers()[0], uint64_t{30}),
              std::pair(arch::argument_registers()[1], uint64_t{12}),
              std::pair(arch::argument_registers()[3], frame),
              std::pair(arch::stack_pointer(), reinterpret_cast<uint64_t>(stack - 8))})
            in_each_form(
                [&, reg = reg] {
                    if (with == With::EntryValue) { // saved at the entry, and read at the return
                        Probe* const made = probe_of(HandlerKind::Return, 0);
                        made->effects.can_fail = true;
                        made->entry_values.push_back(read(reg));
                        made->body->statements.push_back(add(n_, std::make_unique<EntryValue>()));
                        add_found(m_, at(Access::Base::ReturnValue));
                        return;
                    }
                    probe_of(HandlerKind::Entry, 0, add(n_, read(reg)));
                    if (with == With::Nothing)
                        return;
                    probe_of(HandlerKind::Return, 0);
                    add_found(m_, at(Access::Base::ReturnValue));
                    plan_.trampolines = {{{0, 1}, {site_of(0) + 5}}};
                    plan_.sites[1].trampoline = plan_.sites[0].trampoline = 0;
                    plan_.sites[0].next = 1;
                },
                [&, reg = reg, value = value] {
                    SCOPED_TRACE(static_cast<int>(reg));
                    EXPECT_EQ(call_on(stack, 0, 30, 12), 42u);
                    EXPECT_EQ(static_cast<uint64_t>(counter(0)), value);
                    EXPECT_EQ(counter(1), with == With::Nothing ? 0 : 42);
                    EXPECT_EQ(ctx_.error, nullptr);
                });
}

// Which of several functions was hit is found by the return address, if somebody needs it.
TEST_F(TrampolineContexts, SitesAreSearchedForIfTheyAreNeeded) {
    for (const bool needed : {false, true})
        in_each_form(
            [&] {
                Function* const own = function("own");
                own->site = needed;
                probe_of(HandlerKind::Entry, 0, add(n_, call_of(own)));
                plan_.trampolines[0].functions.push_back(site_of(1) + 5);
                Site again = plan_.sites[0];
                again.address = site_of(1);
                plan_.sites.push_back(again);
                searched_ = 0;
            },
            [&] {
                EXPECT_EQ(call(1, 30, 12), 43u);
                EXPECT_EQ(log_, "(f)");
                EXPECT_EQ(searched_,
                          needed ? reinterpret_cast<uint64_t>(in_memory(site_of(1) + 5)) : 0u);
                EXPECT_EQ(site_,
                          needed ? code_.at("djs_script_sites") + sizeof(djs_site) : nullptr);
            });
}

// A stack begins where the function was called from: the trampoline knows the stack and the frame
// pointer there.
TEST_F(TrampolineContexts, StacksBeginAtTheEntry) {
    for (const HandlerKind kind : {HandlerKind::Entry, HandlerKind::Return})
        in_each_form(
            [&] {
                Function* const print = function("print_backtrace");
                print->return_type = Type::Void;
                probe_of(kind, 0, evaluate(call_of(print)))->effects.prints = true;
            },
            [&] {
                char* const stack = code_.variable("stack", 65536) + 32768;
                EXPECT_EQ(call_on(stack, 0, 30, 12), 42u);
                if (kind == HandlerKind::Return) {
                    EXPECT_EQ(log_, "(tp)");
                    return;
                }
                EXPECT_EQ(log_, "(ep)");
                EXPECT_EQ(pointer_, reinterpret_cast<uint64_t>(stack - 8));
                EXPECT_EQ(frame_, frame);
            });
}

// A read at the entry that fails leaves no values for the return.
TEST_F(TrampolineContexts, EntryValuesThatAreMissingSkipTheHandler) {
    for (const bool in_context : {false, true})
        for (const bool fails : {false, true})
            in_each_form(
                [&] {
                    Probe* const made = probe_of(HandlerKind::Return, 0);
                    made->effects.can_fail = true;
                    Access memory = at(Access::Base::Register, 0);
                    memory.steps = {{AccessStep::Kind::Load, 0, nullptr, 8}};
                    made->entry_values.push_back(found_by(memory));
                    auto value = std::make_unique<EntryValue>();
                    made->body->statements.push_back(add(n_, std::move(value)));
                    if (in_context)
                        made->body->statements.push_back(add(m_, call_of(function("own"))));
                    fails_with_ = fails ? "read fault" : "";
                },
                [&] {
                    EXPECT_EQ(call(0, 30, 12), 42u);
                    EXPECT_EQ(counter(0), fails ? 0 : 8);
                    if (in_context && !fails) {
                        EXPECT_EQ(log_, "()(f)");
                    }
                    if (fails) {
                        EXPECT_EQ(log_, "()");
                    }
                    EXPECT_EQ(of_cpu("inside"), 0);
                    const int64_t before = counter(0);
                    log_.clear();
                    refuses_ = true;
                    EXPECT_EQ(call(0, 30, 12), 42u);
                    EXPECT_EQ(log_, "(");
                    EXPECT_EQ(counter(0), before);
                });
}

} // namespace
} // namespace djstap
