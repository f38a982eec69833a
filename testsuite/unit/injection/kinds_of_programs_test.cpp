// SPDX-License-Identifier: GPL-2.0-or-later
// Programs in which a script is placed: one that has a dynamic loader, and one that djstap starts.
#include "made_program.h"

namespace djstap::injection {
namespace {

// A program with a dynamic loader, which cannot unmap itself.
class DynamicProgram : public MadeProgram {
  protected:
    DynamicProgram()
        : MadeProgram({"-pie", "-e", "_start", "--dynamic-linker", "/lib64/ld-linux-x86-64.so.2"}) {
    }
};

TEST_F(DynamicProgram, IsNotWatchedIfOnlyItsOwnCodeIsProbed) {
    const Status prepared = prepare();
    ASSERT_TRUE(prepared) << prepared.failure().message;
    ASSERT_EQ(injection_->images().size(), 1u);
    const PlacedImage& image = injection_->images().front();
    EXPECT_EQ(image.bias, program().entry() - at("_start"));
    EXPECT_EQ(told.biases[0], image.bias);
    EXPECT_EQ(told.biases[1], 0u);
    EXPECT_EQ(told.functions[0].address, image.bias + at("h"));
    EXPECT_EQ(injection_->answer_loader(), std::vector<std::string>());
    injection_->end_answer();
    const Status released = injection_->release();
    ASSERT_TRUE(released) << released.failure().message;
    EXPECT_EQ(memory_of(program(), image.bias + at("f"), 1), "\xe9");
    EXPECT_TRUE(injection_->withdraw());
    EXPECT_EQ(mappings_of_process(process_), before_);
}

// As the program of -c: it is stopped at its entry, and inherits the memory.
class StartedProgram : public MadeProgram {
  protected:
    void SetUp() override {
        if (is_confined(getpid()))
            GTEST_SKIP() << "a filter confines this process, and so all that it starts";
        auto prepared = Command::prepare({file_.path()}, TracedProgram::options(arena_->file()));
        ASSERT_TRUE(prepared);
        command_.emplace(std::move(*prepared));
        auto program = TracedProgram::run_to_entry(*command_);
        ASSERT_TRUE(program) << program.failure().message;
        const pid_t process = program->pid();
        const auto map = MemoryMap::of(process);
        injection_ = arena_.inject(std::move(*program), map->at(at("f"))->range, script_);
        ASSERT_NE(injection_, nullptr);
        process_id_ = process;
    }
    void TearDown() override {
        MadeProgram::TearDown();
        if (process_id_ > 0) {
            kill(process_id_, SIGKILL);
            EXPECT_TRUE(becomes([&] { return command_->ended().has_value(); }));
        }
    }
    std::optional<Command> command_;
    pid_t process_id_ = -1; // whose parent is the command
};

TEST_F(StartedProgram, IsPlacedAtItsEntryAndRuns) {
    EXPECT_TRUE(arena_->is_open(process_id_, arena_->file()));
    const auto map = MemoryMap::of(process_id_);
    ASSERT_TRUE(map);
    ASSERT_TRUE(injection_->prepare(*map));
    const Status released = injection_->release();
    ASSERT_TRUE(released) << released.failure().message;
    EXPECT_TRUE(is_jump("f"));
    EXPECT_TRUE(has_arena(process_id_));
    EXPECT_FALSE(arena_->is_open(process_id_, arena_->file()));
    const auto after = MemoryMap::of(process_id_);
    size_t others = 0;
    for (const Mapping& each : after->all())
        others += each.range.begin < arena_->whole().begin ||
                  each.range.end > arena_->whole().begin + arena_->whole().bytes;
    EXPECT_EQ(others, map->all().size() + 1); // the stubs
    // It is not traced any more, and runs.
    auto again = TracedProgram::of_running(process_id_);
    ASSERT_TRUE(again);
    const Status stopped = again->stop();
    EXPECT_TRUE(stopped) << stopped.failure().message;
    again->resume();
    EXPECT_TRUE(injection_->withdraw());
    EXPECT_EQ(bytes_at("f"), bytes_in_file("f"));
    EXPECT_FALSE(has_arena(process_id_));
}

} // namespace
} // namespace djstap::injection
