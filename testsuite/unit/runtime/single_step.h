// SPDX-License-Identifier: GPL-2.0-or-later
// Something happens in the middle of a function, once at each of its instructions: the processor
// traps after every instruction, and the trap's handler does it.
#pragma once
#include <csignal>
#include <gtest/gtest.h>
#include <x86intrin.h>

class SingleStep {
  public:
    void start() {
        struct sigaction action{};
        action.sa_handler = stepped;
        ASSERT_EQ(sigaction(SIGTRAP, &action, &before_), 0);
    }
    void stop() { sigaction(SIGTRAP, &before_, nullptr); }

    // Runs a function, and `happens` after so many of its instructions. Returns false if it has
    // fewer.
    template <typename Function>
    static bool interrupt_after(int instructions, void (*happens)(), Function run) {
        constexpr unsigned long long trap_flag = 0x100;
        left_ = instructions;
        happens_ = happens;
        __writeeflags(__readeflags() | trap_flag);
        run();
        __writeeflags(__readeflags() & ~trap_flag);
        return left_ <= 0;
    }

  private:
    static void stepped(int) {
        left_ = left_ - 1;
        if (!left_)
            happens_();
    }
    inline static volatile sig_atomic_t left_; // instructions
    inline static void (*happens_)();
    struct sigaction before_{};
};
