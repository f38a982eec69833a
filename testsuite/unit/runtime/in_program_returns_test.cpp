// SPDX-License-Identifier: GPL-2.0-or-later
// Returns of a probed program's functions, and what their handlers need from the entries.
#include "made_up_program.h"

#include <array>
#include <iterator>
#include <utility>

namespace {

using Registers = std::array<u64, 21>;

// Places in the kernel's struct pt_regs (asm/ptrace.h).
constexpr size_t ax_at = 10, di_at = 14, ip_at = 16, sp_at = 19;
constexpr u64 first_address = 0x401000, second_address = 0x402000;

class ProgramReturns : public MadeUpProgram {
  protected:
    struct Run {
        s64 site;
        u64 kept, result;
        bool operator==(const Run&) const = default;
    };
    enum { keeps = 0, plain = 1, by_registers = 2, keeps_three = 3 };
    static constexpr u64 nothing_kept = ~u64{0};
    static constexpr u64 header_bytes = 16, calls = 8 * 4096;

    void SetUp() override {
        MadeUpProgram::SetUp();
        entries_.clear();
        runs_.clear();
        at_entry_ = at_return_ = [](djs_ctx*) {};
        handlers_[keeps].entry = [](djs_ctx* ctx) {
            EXPECT_FALSE(ctx->returned);
            ctx->saved[0] = (*reinterpret_cast<Registers*>(ctx->regs))[di_at];
            entries_.push_back(ctx->site - djs_script.sites);
            at_entry_(ctx);
        };
        handlers_[keeps_three].entry = [](djs_ctx* ctx) {
            for (u64 i = 0; i < 3; i++)
                ctx->saved[i] = (*reinterpret_cast<Registers*>(ctx->regs))[di_at] + i;
            entries_.push_back(ctx->site - djs_script.sites);
        };
        for (const u32 handler : {keeps, plain, keeps_three})
            handlers_[handler].body = [](djs_ctx* ctx) {
                EXPECT_EQ(ctx->returned, 1U);
                const u64 kept = ctx->saved ? ctx->saved[0] : nothing_kept;
                if (ctx->handler == &djs_script.handlers[keeps_three]) {
                    EXPECT_EQ(ctx->saved[1], kept + 1);
                    EXPECT_EQ(ctx->saved[2], kept + 2);
                }
                runs_.push_back({ctx->site - djs_script.sites, kept, ctx->return_value});
                at_return_(ctx);
            };
        handlers_[by_registers].by_regs = [](void* unused, struct pt_regs* registers) {
            EXPECT_EQ(unused, nullptr);
            runs_.push_back({-1, nothing_kept, (*reinterpret_cast<Registers*>(registers))[ax_at]});
            return 0;
        };
        handlers_[keeps].saved = 1;
        handlers_[keeps_three].saved = 3;
        const u32 of_sites[] = {keeps, plain, keeps_three, keeps, keeps, by_registers};
        for (size_t i = 0; i < std::size(of_sites); i++)
            sites_[i].handler = of_sites[i];
        djs_script.handlers = handlers_;
        djs_script.handler_count = 4;
        djs_script.sites = sites_;
        djs_script.site_count = 6;
        ASSERT_EQ(in_program_contexts_init(), 0);
        open_gate();
        ASSERT_TRUE(comes(first_));
    }
    // Functions whose returns are probed by so many sites each, in the order of their numbers.
    int probe(const std::vector<u32>& counts) {
        functions_.clear();
        u32 sum = 0;
        for (const u32 count : counts) {
            functions_.push_back({sum, count, functions_.empty() ? first_address : second_address});
            sum += count;
        }
        return djs_injected_returns(functions_.data(), static_cast<u32>(functions_.size()),
                                    numbers_);
    }
    static Registers registers(const u64* stack, u64 argument = 0, u64 result = 0) {
        Registers all{};
        all[sp_at] = reinterpret_cast<u64>(stack);
        all[di_at] = argument;
        all[ax_at] = result;
        return all;
    }
    static void enter(const u64* stack, u64 argument, u32 function = 0) {
        Registers all = registers(stack, argument);
        djs_injected_hit(all.data(), 2 * function);
    }
    static void leave(const u64* stack, u64 result = 0, u32 function = 0) {
        Registers all = registers(stack, 0, result);
        djs_injected_hit(all.data(), 2 * function + 1);
    }
    static std::vector<Run> taken_runs() { return std::exchange(runs_, {}); }
    // So many frames whose calls are kept at the same place.
    std::vector<const u64*> colliding(size_t count, u32 site) {
        std::vector<const u64*> frames;
        for (size_t i = 0; frames.size() < count && i < stack_.size(); i += 2)
            if (in_program_set_of(reinterpret_cast<u64>(&stack_[i]), site) ==
                in_program_set_of(reinterpret_cast<u64>(&stack_[0]), site))
                frames.push_back(&stack_[i]);
        EXPECT_EQ(frames.size(), count);
        return frames;
    }

    static inline std::vector<s64> entries_;
    static inline std::vector<Run> runs_;
    static inline std::function<void(djs_ctx*)> at_entry_, at_return_;
    djs_handler handlers_[4]{};
    djs_site sites_[6]{};
    std::vector<djs_returning> functions_;
    const u32 numbers_[6]{0, 1, 2, 3, 4, 5};
    std::vector<u64> stack_ = std::vector<u64>(100'000, 0x403123); // return addresses
};

TEST_F(ProgramReturns, HaveWhatTheirEntryHasKept) {
    ASSERT_EQ(probe({2}), 0);
    Registers all = registers(stack_.data(), 77);
    djs_injected_hit(all.data(), 0);
    EXPECT_EQ(all[ip_at], first_address);
    EXPECT_EQ(all[sp_at], reinterpret_cast<u64>(stack_.data()));
    EXPECT_EQ(entries_, std::vector<s64>{0}); // the other one needs nothing from there
    EXPECT_TRUE(runs_.empty());
    EXPECT_EQ(slot(1).active, 0U);

    all = registers(stack_.data(), 78, 5);
    at_return_ = [&](djs_ctx* ctx) {
        EXPECT_EQ(ctx->regs, reinterpret_cast<struct pt_regs*>(all.data()));
        // The state behind the return instruction.
        EXPECT_EQ(all[ip_at], 0x403123U);
        EXPECT_EQ(all[sp_at], reinterpret_cast<u64>(&stack_[1]));
        ctx->return_value++;
    };
    djs_injected_hit(all.data(), 1);
    // The second one sees the result that the first one has left.
    EXPECT_EQ(taken_runs(), (std::vector<Run>{{0, 77, 5}, {1, nothing_kept, 6}}));
    EXPECT_EQ(all[ax_at], 7U);
    EXPECT_EQ(entries_.size(), 1U);
    EXPECT_EQ(slot(1).active, 0U);
    const djs_ctx& ctx = *in_program_contexts(1);
    EXPECT_EQ(ctx.returned, 0U);
    EXPECT_EQ(ctx.regs, nullptr);

    // What was kept is used once.
    at_return_ = [](djs_ctx*) {};
    leave(stack_.data(), 5);
    EXPECT_EQ(taken_runs(), (std::vector<Run>{{1, nothing_kept, 5}}));
    EXPECT_EQ(djs_injected_unmatched(), 0U); // a call that began before the probes
}

TEST_F(ProgramReturns, OfEachFunctionAndEachSiteAreToldApart) {
    sites_[1].handler = keeps;
    ASSERT_EQ(probe({2, 1}), 0);
    enter(stack_.data(), 10);
    enter(stack_.data(), 20, 1); // a tail call has the same stack pointer
    EXPECT_EQ(entries_, (std::vector<s64>{0, 1, 2}));
    leave(stack_.data(), 1, 1);
    EXPECT_EQ(taken_runs(), (std::vector<Run>{{2, 20, 1}}));
    at_entry_ = [](djs_ctx* ctx) { ctx->saved[0] += static_cast<u64>(ctx->site->address); };
    sites_[1].address = 1;
    enter(stack_.data(), 10);
    leave(stack_.data(), 2);
    EXPECT_EQ(taken_runs(), (std::vector<Run>{{0, 10, 2}, {1, 11, 2}}));
}

TEST_F(ProgramReturns, OfARecursionAreToldApart) {
    ASSERT_EQ(probe({1}), 0);
    for (u64 depth = 0; depth < 100; depth++)
        enter(&stack_[300 - depth], depth); // as near as they can be
    for (u64 depth = 100; depth-- > 0;) {
        leave(&stack_[300 - depth]);
        EXPECT_EQ(taken_runs(), (std::vector<Run>{{0, depth, 0}}));
    }
    leave(&stack_[300]);
    EXPECT_TRUE(runs_.empty());
}

TEST_F(ProgramReturns, OfAFrameThatALongjmpLeftAreNotMissed) {
    ASSERT_EQ(probe({1}), 0);
    enter(stack_.data(), 1);
    enter(stack_.data(), 2); // another frame at the same place
    leave(stack_.data());
    EXPECT_EQ(taken_runs(), (std::vector<Run>{{0, 2, 0}}));
    leave(stack_.data());
    EXPECT_TRUE(runs_.empty());
}

TEST_F(ProgramReturns, AreLeftOutAfterAnErrorAtTheEntry) {
    ASSERT_EQ(probe({1}), 0);
    at_entry_ = [](djs_ctx* ctx) { ctx->error = "no"; };
    enter(stack_.data(), 1);
    EXPECT_EQ(errors_, std::vector<std::string>{"no"});
    leave(stack_.data());
    EXPECT_TRUE(runs_.empty());
    // The next call has none, in whose place there is the former one's failure.
    at_entry_ = [](djs_ctx*) {};
    enter(stack_.data(), 2);
    at_entry_ = [](djs_ctx* ctx) { ctx->error = "no"; };
    enter(stack_.data(), 3);
    leave(stack_.data());
    EXPECT_TRUE(runs_.empty());
    EXPECT_EQ(djs_injected_unmatched(), 0U);
}

TEST_F(ProgramReturns, AreLeftOutWhereNoHandlerMayRun) {
    ASSERT_EQ(probe({2}), 0);
    handlers_[keeps].flags = handlers_[plain].flags = DJS_HANDLER_CHECKS_STATE;
    djs_gate |= DJS_HANDLER_CHECKS_STATE;
    enter(stack_.data(), 1);
    EXPECT_TRUE(entries_.empty());
    open_gate();
    leave(stack_.data());
    EXPECT_EQ(taken_runs(), (std::vector<Run>{{1, nothing_kept, 0}}));
    enter(stack_.data(), 1);
    djs_gate |= DJS_HANDLER_CHECKS_STATE;
    Registers all = registers(stack_.data(), 0, 9);
    djs_injected_hit(all.data(), 1);
    EXPECT_TRUE(runs_.empty());
    EXPECT_EQ(all[ax_at], 9U);
    EXPECT_EQ(all[sp_at], reinterpret_cast<u64>(&stack_[1]));
}

TEST_F(ProgramReturns, PassTheRegistersToHandlersWithoutAContext) {
    sites_[0].handler = by_registers;
    ASSERT_EQ(probe({1}), 0);
    enter(stack_.data(), 1);
    leave(stack_.data(), 4);
    EXPECT_EQ(taken_runs(), (std::vector<Run>{{-1, nothing_kept, 4}}));
}

TEST_F(ProgramReturns, AreKeptEightOfAPlace) {
    ASSERT_EQ(probe({1, 1, 1}), 0); // the last one's handler keeps the most
    const auto frames = colliding(9, 2);
    for (size_t i = 0; i < 8; i++)
        enter(frames[i], 10 * i, 2);
    for (size_t i = 8; i-- > 0;) {
        leave(frames[i], i, 2);
        EXPECT_EQ(taken_runs(), (std::vector<Run>{{2, 10 * i, i}}));
    }
    // A ninth one takes the place of some other.
    for (size_t i = 0; i < 9; i++)
        enter(frames[i], 10 * i, 2);
    leave(frames[8], 8, 2);
    EXPECT_EQ(taken_runs(), (std::vector<Run>{{2, 80, 8}}));
    size_t found = 0;
    for (size_t i = 0; i < 8; i++) {
        leave(frames[i], i, 2);
        for (const Run& run : taken_runs()) {
            EXPECT_EQ(run, (Run{2, 10 * i, i}));
            found++;
        }
    }
    EXPECT_EQ(found, 7U);
    EXPECT_EQ(djs_injected_unmatched(), 1U);
}

// More calls than can be kept: those that are lost are counted, and no return has another's values.
TEST_F(ProgramReturns, HaveNoOtherFramesValues) {
    // The last byte that is kept is the last one of the memory.
    char* const at = static_cast<char*>(in_program_arena_allocate(64));
    const u64 bytes = (header_bytes + 8) * calls;
    ASSERT_NE(in_program_arena_allocate(static_cast<u64>(heap_ + heap_bytes - at - 64) - bytes),
              nullptr);
    ASSERT_EQ(probe({1}), 0);
    EXPECT_EQ(in_program_arena_allocate(1), nullptr);
    for (u64 i = 0; i <= calls; i++)
        enter(&stack_[2 * i], i);
    u64 missing = 0;
    for (u64 i = 0; i <= calls; i++) {
        leave(&stack_[2 * i]);
        const auto runs = taken_runs();
        missing += runs.empty();
        ASSERT_EQ(runs, runs.empty() ? std::vector<Run>{} : (std::vector<Run>{{0, i, 0}}));
    }
    EXPECT_GE(missing, 1U);
    EXPECT_LT(missing, calls / 3); // most find a place
    EXPECT_EQ(djs_injected_unmatched(), missing);
    leave(stack_.data());
    leave(stack_.data());
    EXPECT_EQ(djs_injected_unmatched(), missing); // these are not known to have had one
}

TEST_F(ProgramReturns, NeedMemoryIfTheirEntriesKeepSomething) {
    const auto left = [&] {
        char* const at = static_cast<char*>(in_program_arena_allocate(64));
        return static_cast<u64>(heap_ + heap_bytes - at - 64);
    };
    sites_[0].handler = by_registers;
    const u64 before = left();
    EXPECT_EQ(probe({}), 0);
    EXPECT_EQ(probe({2}), 0); // they need nothing
    EXPECT_EQ(left(), before - 64);
    EXPECT_EQ(probe({2, 1}), 0);
    EXPECT_EQ(left(), before - 128 - (header_bytes + 3 * 8) * calls);
    const u64 needed = (header_bytes + 8) * calls;
    sites_[2].handler = keeps;
    const u64 most = left();
    ASSERT_NE(in_program_arena_allocate(most - needed + 64), nullptr);
    EXPECT_EQ(probe({2, 1}), -ENOMEM);
}

// Entries of signals' handlers, in two threads, until all that a place has are being written.
TEST_F(ProgramReturns, AreNotKeptWhileAllOfAPlaceAreBeingWritten) {
    ASSERT_EQ(probe({1}), 0);
    const auto frames = colliding(9, 0);
    size_t depth = 0;
    at_entry_ = [&](djs_ctx* ctx) {
        in_program_thread* const thread = in_program_current;
        // Nobody else has what is written here.
        const u64 own = ctx->saved[0];
        if (++depth == 4) {
            EXPECT_TRUE(comes(second_));
        }
        enter(frames[depth], depth);
        in_program_current = thread;
        EXPECT_EQ(ctx->saved[0], own);
    };
    enter(frames[0], 0);
    EXPECT_EQ(depth, 8U); // the ninth one's handler did not run
    EXPECT_EQ(in_program_counts_of(1).busy, 0U);
    EXPECT_EQ(in_program_counts_of(2).busy, 0U);
    at_entry_ = [](djs_ctx*) {};
    for (size_t i = 0; i < 8; i++) {
        leave(frames[i]);
        EXPECT_EQ(taken_runs(), (std::vector<Run>{{0, i, 0}}));
    }
    EXPECT_EQ(djs_injected_unmatched(), 0U);
    leave(frames[8]);
    EXPECT_TRUE(runs_.empty());
    EXPECT_EQ(djs_injected_unmatched(), 1U);
}

} // namespace
