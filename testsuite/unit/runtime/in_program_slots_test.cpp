// SPDX-License-Identifier: GPL-2.0-or-later
// The slots of a probed program's threads, and the memory that they and djstap share.
#include "made_up_program.h"

namespace {

class ProgramSlots : public MadeUpProgram {};

TEST_F(ProgramSlots, AreNumberedAndOfNobody) {
    for (u32 i = 0; i < DJS_SLOTS; i++)
        EXPECT_EQ(slot(i).number, i);
    // Where a thread without a slot looks for its owner, there is one that it never is.
    const auto& at = *reinterpret_cast<djs_thread_owner*>(slots_ + DJS_NO_SLOT);
    EXPECT_EQ(at.base, DJS_NO_THREAD);
    EXPECT_EQ(djs_slot_here(), 0U); // djstap's own
}

TEST_F(ProgramSlots, AreClaimedOneByOneAndKept) {
    const u64 before = djs_injected_unslotted();
    for (int turn = 0; turn < 3; turn++) {
        EXPECT_TRUE(comes(first_));
        EXPECT_EQ(first_.distance, area_bytes);
        EXPECT_EQ(djs_slot_here(), 1U);
        EXPECT_TRUE(comes(second_));
        EXPECT_EQ(second_.distance, 2 * area_bytes);
        EXPECT_EQ(djs_slot_here(), 2U);
    }
    EXPECT_EQ(owner(1).tid, 101);
    EXPECT_EQ(owner(1).base, first_.base);
    EXPECT_EQ(owner(2).tid, 102);
    EXPECT_EQ(owner(2).base, second_.base);
    EXPECT_EQ(owner(3).tid, 0);
    EXPECT_TRUE(questions_.empty());
    // A program may change the base of its own memory.
    first_.base = 0x7f0000003000;
    EXPECT_TRUE(comes(first_));
    EXPECT_EQ(first_.distance, area_bytes);
    EXPECT_EQ(owner(1).base, first_.base);
    EXPECT_EQ(owner(3).tid, 0);
    EXPECT_EQ(djs_injected_unslotted(), before);
}

// A new thread inherits the base of the one that created it.
TEST_F(ProgramSlots, AreNotInherited) {
    ASSERT_TRUE(comes(first_));
    second_.distance = first_.distance;
    EXPECT_TRUE(comes(second_));
    EXPECT_EQ(second_.distance, 2 * area_bytes);
    EXPECT_EQ(owner(1).tid, 101);
    EXPECT_EQ(owner(1).base, first_.base);
}

TEST_F(ProgramSlots, AreNotForChildrenAndThreadsWithoutMemory) {
    const u64 before = djs_injected_unslotted();
    first_.base = 0;
    EXPECT_FALSE(comes(first_));
    owner(0).pid = 0;
    EXPECT_FALSE(comes(second_));
    EXPECT_EQ(first_.distance, DJS_NO_SLOT);
    EXPECT_EQ(second_.distance, DJS_NO_SLOT);
    for (u32 i = 1; i < DJS_SLOTS; i++)
        EXPECT_EQ(owner(i).tid, 0);
    EXPECT_EQ(djs_injected_unslotted(), before); // neither is one that was missed
}

// The memory of a thread that is gone is used for the next one.
TEST_F(ProgramSlots, PassToTheNextThreadWithTheSameMemory) {
    ASSERT_EQ(in_program_contexts_init(), 0);
    open_gate();
    djs_handler handler{};
    djs_script.handlers = &handler;
    ASSERT_TRUE(comes(first_));
    ASSERT_TRUE(comes(second_));
    djs_ctx* const of_first = in_program_enter(&handler, nullptr);
    ASSERT_NE(of_first, nullptr);
    ASSERT_NE(in_program_enter(&handler, nullptr), nullptr);
    EXPECT_EQ(slot(2).active, 2U); // it was canceled in a handler, and in a signal's there
    fill_scratch(2);
    Thread next(103, second_.base);
    EXPECT_TRUE(comes(next));
    EXPECT_EQ(next.distance, 2 * area_bytes);
    EXPECT_EQ(owner(2).tid, 103);
    EXPECT_EQ(owner(1).tid, 101);
    EXPECT_TRUE(questions_.empty());
    EXPECT_EQ(slot(2).active, 0U);
    EXPECT_TRUE(is_scratch_filled(2));
    for (u32 level = 0; level < 4; level++)
        EXPECT_EQ(in_program_enter(&handler, nullptr), of_first + level);
    EXPECT_EQ(in_program_enter(&handler, nullptr), nullptr);
}

class ManyThreads : public ProgramSlots {
  protected:
    static constexpr u32 most = DJS_SLOTS - 1; // the first one is djstap's

    void SetUp() override {
        ProgramSlots::SetUp();
        ASSERT_EQ(in_program_contexts_init(), 0);
        for (u32 i = 0; i < most; i++) {
            threads_.emplace_back(static_cast<s32>(1000 + i), 0x500000000000 + u64{4096} * i);
            ASSERT_TRUE(comes(threads_.back()));
            ASSERT_EQ(threads_.back().distance, (i + 1) * area_bytes);
        }
        EXPECT_TRUE(questions_.empty());
        has_thread_ = [this](s32, s32 tid) { return !gone_.count(tid); };
        // Whatever other tests have left: the first that finds one may ask for all of them.
        gone_ = {1000};
        Thread thread(2000, 0x600000000000);
        for (u32 i = 0; i < most && thread.distance == DJS_NO_SLOT; i++)
            comes(thread);
        ASSERT_EQ(thread.distance, area_bytes);
        gone_.clear();
        questions_.clear();
    }
    void TearDown() override {
        // The next test's threads are not told that there are too many.
        for (u32 i = 1; i < DJS_SLOTS; i++)
            gone_.insert(owner(i).tid);
        Thread thread(2999, 0x6fffffff0000);
        for (u32 i = 0; i < most && thread.distance == DJS_NO_SLOT; i++)
            comes(thread);
        ProgramSlots::TearDown();
    }

    std::vector<Thread> threads_;
    std::set<s32> gone_;
};

TEST_F(ManyThreads, TakeTheSlotsOfThoseThatAreGone) {
    const u64 before = djs_injected_unslotted();
    Thread more(2001, 0x600000001000);
    EXPECT_FALSE(comes(more));
    EXPECT_EQ(more.distance, DJS_NO_SLOT);
    EXPECT_EQ(djs_injected_unslotted(), before + 1);
    // Each was asked for, once.
    EXPECT_EQ(questions_.size(), most);
    EXPECT_EQ(std::set<s32>(questions_.begin(), questions_.end()).size(), most);
    // From then on one each time, in turn.
    questions_.clear();
    for (u32 i = 1; i <= most; i++) {
        EXPECT_FALSE(comes(more));
        EXPECT_EQ(questions_.size(), i);
    }
    EXPECT_EQ(std::set<s32>(questions_.begin(), questions_.end()).size(), most);
    EXPECT_EQ(djs_injected_unslotted(), before + 1 + most);

    gone_ = {1010}; // in a handler
    slot(11).active = 1;
    in_program_contexts(11)[0].busy = DJS_BUSY_UNLOCKED;
    u32 hits = 1;
    while (!comes(more) && hits < 2 * most)
        hits++;
    EXPECT_LE(hits, most);
    EXPECT_EQ(more.distance, 11 * area_bytes);
    EXPECT_EQ(owner(11).tid, 2001);
    EXPECT_EQ(owner(11).base, more.base);
    EXPECT_EQ(slot(11).active, 0U);
    EXPECT_EQ(in_program_contexts(11)[0].busy, 0U);
    EXPECT_EQ(djs_injected_unslotted(), before + most + hits);

    // Now that one was gone, the next hit looks for more than one again.
    questions_.clear();
    Thread another(2002, 0x600000002000);
    EXPECT_FALSE(comes(another));
    EXPECT_EQ(questions_.size(), most);
}

TEST_F(ManyThreads, DoNotTakeASlotTwice) {
    gone_ = {1020};
    has_thread_ = [this](s32, s32 tid) {
        if (tid == 1020)
            owner(21).tid = 2003; // another thread is faster
        return !gone_.count(tid);
    };
    Thread late(2001, 0x600000001000);
    EXPECT_FALSE(comes(late));
    EXPECT_EQ(owner(21).tid, 2003);
    EXPECT_EQ(late.distance, DJS_NO_SLOT);
    has_thread_ = [this](s32, s32 tid) { return !gone_.count(tid); };
}

TEST_F(ProgramSlots, TellWhoIsInAHandler) {
    ASSERT_TRUE(comes(first_));
    EXPECT_EQ(djs_slots_active(), 0U);
    slot(1).active = 1;
    EXPECT_FALSE(djs_slot_nested());
    slot(1).active = 2;
    EXPECT_TRUE(djs_slot_nested()); // a signal's handler
    ASSERT_TRUE(comes(second_));
    EXPECT_FALSE(djs_slot_nested());
    EXPECT_EQ(djs_slots_active(), 1U);
    slot(0).active = slot(DJS_SLOTS - 1).active = 1;
    EXPECT_EQ(djs_slots_active(), 3U);

    // The program has ended: all but djstap itself have left their handlers, and their locks.
    alignas(DJS_LOCK_BYTES) s32 locks[3 * DJS_LOCK_BYTES / sizeof(s32)]{};
    const auto holders = [&](u32 lock) -> s32& {
        return locks[lock * DJS_LOCK_BYTES / sizeof(s32)];
    };
    djs_script.locks = reinterpret_cast<djs_lock*>(locks);
    djs_script.lock_count = 2;
    holders(0) = -1;
    holders(1) = 3;
    holders(2) = -1; // of nobody here
    djs_injected_gone();
    EXPECT_EQ(holders(0), 0);
    EXPECT_EQ(holders(1), 0);
    EXPECT_EQ(holders(2), -1);
    EXPECT_EQ(slot(1).active, 0U);
    EXPECT_EQ(slot(DJS_SLOTS - 1).active, 0U);
    EXPECT_EQ(slot(0).active, 1U);
    open_gate();
    EXPECT_EQ(djs_injected_settle(), 1U);
    EXPECT_EQ(djs_gate, DJS_HANDLER_IRQS_OFF | DJS_HANDLER_CHECKS_STATE);
}

TEST_F(ProgramSlots, HaveMemoryOfTheirOwnBehindTheCounters) {
    char* const begin = slots_ + DJS_SLOT_HEADER_BYTES + DJS_USER_COUNTERS * sizeof(s64);
    EXPECT_EQ(in_program_percpu_alloc(1), begin);
    EXPECT_EQ(in_program_percpu_alloc(64), begin + 64);
    EXPECT_EQ(in_program_percpu_alloc(65), begin + 128);
    char* const next = begin + 256;
    const u64 left = static_cast<u64>(slots_ + area_bytes - next);
    EXPECT_EQ(in_program_percpu_alloc(left + 1), nullptr);
    EXPECT_EQ(in_program_percpu_alloc(left), next);
    EXPECT_EQ(in_program_percpu_alloc(1), nullptr);
}

TEST_F(ProgramSlots, ShareAnArena) {
    start(256);
    char* const begin = heap_ + heap_bytes - 256;
    EXPECT_EQ(in_program_arena_allocate(1), begin);
    EXPECT_EQ(in_program_arena_allocate(64), begin + 64);
    EXPECT_EQ(in_program_arena_allocate(129), nullptr);
    EXPECT_EQ(in_program_arena_allocate(128), begin + 128);
    EXPECT_EQ(in_program_arena_allocate(1), nullptr);
}

} // namespace
