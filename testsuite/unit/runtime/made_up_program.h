/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A program with the runtime inside, and its threads, which the test makes up. */
#ifndef DJSTAP_MADE_UP_PROGRAM_H
#define DJSTAP_MADE_UP_PROGRAM_H

#include "in_program_for_test.h"

#include <cerrno>
#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <set>
#include <string>
#include <sys/mman.h>
#include <vector>

extern "C" {
extern u32 djs_gate;
extern struct djs_control_page* djs_control;
extern struct djs_ctx djs_session_ctx;
}

class MadeUpProgram : public testing::Test {
  protected:
    static constexpr u64 page_bytes = 4096, heap_bytes = u64{8} << 20, ring_bytes = 4096;
    static constexpr u64 ring_stride = page_bytes + 2 * ring_bytes;
    static constexpr u64 area_bytes = DJS_USER_PERCPU_BYTES;
    static constexpr s32 process = 4242;

    struct Thread : in_program_thread {
        Thread(s32 number, u64 memory) : in_program_thread{memory, DJS_NO_SLOT, number} {}
    };

    void SetUp() override {
        slots_ = mapped(DJS_SLOTS * area_bytes);
        heap_ = mapped(heap_bytes + page_bytes);
        rings_ = mapped(DJS_SLOTS * ring_stride);
        // What is behind the end cannot be accessed.
        ASSERT_EQ(mprotect(heap_ + heap_bytes, page_bytes, PROT_NONE), 0);
        in_program_current = &djstap_;
        yields_ = waits_ = interrupted_ = [] {};
        has_thread_ = [](s32, s32) { return true; };
        questions_.clear();
        errors_.clear();
        reports_ = [](djs_ctx*) {};
        in_program_yields = [] {
            yield_count_++;
            yields_();
        };
        yield_count_ = 0;
        in_program_waits = [] { waits_(); };
        in_program_interrupted = [] { interrupted_(); };
        in_program_has_thread = [](s32 pid, s32 tid) -> long {
            questions_.push_back(tid);
            EXPECT_EQ(pid, process);
            return has_thread_(pid, tid) ? 0 : -ESRCH;
        };
        in_program_reports = [](djs_ctx* ctx) {
            errors_.emplace_back(ctx->error);
            reports_(ctx);
        };
        in_program_be_patient();
        in_program_forget_skips();
        in_program_forget_calls();
        control_ = {};
        djs_control = &control_;
        djs_script = {};
        djs_script.string_bytes = 128;
        djs_script.max_trylock = 1;
        start(heap_bytes);
    }
    void TearDown() override {
        EXPECT_EQ(in_program_open_files, 0);
        munmap(slots_, DJS_SLOTS * area_bytes);
        munmap(heap_, heap_bytes + page_bytes);
        munmap(rings_, DJS_SLOTS * ring_stride);
        djs_injected_returns(nullptr, 0, nullptr);
        djs_user_settings = {};
        djs_session_ctx = {};
        djs_control = nullptr;
        djs_gate = DJS_HANDLER_IRQS_OFF | DJS_HANDLER_CHECKS_STATE;
        djs_script = {};
    }

    // The last bytes of the heap are all that there is.
    void start(u64 bytes) {
        djs_arena arena{};
        arena.heap = heap_ + heap_bytes - bytes;
        arena.heap_bytes = bytes;
        arena.slots = slots_;
        arena.rings = rings_;
        arena.seconds_west = -5400;
        std::strcpy(arena.zone, "XYZ");
        djs_injected_init(&arena);
        owner(0).pid = process;
    }
    static void open_gate() { djs_gate = DJS_HANDLER_IRQS_OFF; }

    djs_thread_owner& owner(u32 number) const {
        return *reinterpret_cast<djs_thread_owner*>(slots_ + number * area_bytes);
    }
    djs_thread_slot& slot(u32 number) const {
        return *reinterpret_cast<djs_thread_slot*>(slots_ + number * area_bytes +
                                                   DJS_SLOT_SHARED_AT);
    }
    // Behind a slot's contexts is what handlers write: it looks as if one were there.
    static void fill_scratch(u32 number) {
        djs_ctx& first = in_program_contexts(number)[0];
        std::memset(first.scratch, 1, static_cast<size_t>(first.error_text - first.scratch));
    }
    static bool is_scratch_filled(u32 number) {
        const djs_ctx& first = in_program_contexts(number)[0];
        for (const char* at = first.scratch; at < first.error_text; at++)
            if (*at != 1)
                return false;
        return true;
    }
    // A hit by a thread, as a site's stub begins. Returns whether it has a slot.
    bool comes(Thread& thread) const {
        in_program_current = &thread;
        const auto& at = *reinterpret_cast<djs_thread_owner*>(slots_ + thread.distance);
        return at.base == thread.base || djs_slot_claim();
    }

    static inline std::function<void()> yields_, waits_, interrupted_;
    static inline std::function<bool(s32, s32)> has_thread_;
    static inline std::function<void(djs_ctx*)> reports_;
    static inline std::vector<s32> questions_; // which threads the kernel was asked for
    static inline std::vector<std::string> errors_;
    static inline u32 yield_count_;
    char *slots_ = nullptr, *heap_ = nullptr, *rings_ = nullptr;
    Thread djstap_{1, 0}, first_{101, 0x7f0000001000}, second_{102, 0x7f0000002000};
    djs_control_page control_{};

    MadeUpProgram() { djstap_.distance = 0; }

  private:
    static char* mapped(u64 bytes) {
        void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        EXPECT_NE(memory, MAP_FAILED);
        return static_cast<char*>(memory);
    }
};

#endif
