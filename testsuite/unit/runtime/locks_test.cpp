// SPDX-License-Identifier: GPL-2.0-or-later
// The locks of a script's globals, without a second CPU: a holder excludes the others.
#include "globals_for_test.h"
#include "userspace/userspace.h"

#include <gtest/gtest.h>
#include <vector>

namespace {

class Locks : public testing::Test {
  protected:
    void SetUp() override {
        script_.lock_count = 3;
        script_.locks = reinterpret_cast<djs_lock*>(locks_);
        script_.max_trylock = 10;
        djs_user_options options{};
        options.ring_bytes = 65536;
        ASSERT_EQ(djs_user_init(1), 0);
        ASSERT_EQ(djs_user_load(&script_, &options), 0) << djs_user_complaint();
    }
    void TearDown() override {
        djs_user_unload();
        djs_user_exit();
    }

    struct Handler {
        explicit Handler(std::vector<djs_lock_use> uses) : uses_(std::move(uses)) {
            handler_.locks = uses_.data();
            handler_.lock_count = static_cast<u32>(uses_.size());
        }
        Handler(const Handler&) = delete;
        Handler& operator=(const Handler&) = delete;
        bool take(bool nmi = false) const { return test_locks_take(&handler_, nmi); }
        void release() const { test_locks_release(&handler_); }
        // Returns whether it could run now.
        bool may() const {
            const bool has = take(), has_in_nmi = has;
            if (has)
                release();
            const bool nmi = take(true);
            if (nmi)
                release();
            EXPECT_EQ(nmi, has_in_nmi);
            return has;
        }

      private:
        std::vector<djs_lock_use> uses_;
        djs_handler handler_{};
    };

    struct djs_script script_{};
    alignas(DJS_LOCK_BYTES) char locks_[3 * DJS_LOCK_BYTES]{};
    const Handler reads0_{{{0, 0}}}, writes0_{{{0, 1}}}, writes1_{{{1, 1}}};
    const Handler reads01_{{{0, 0}, {1, 0}}}, writes01_{{{0, 1}, {1, 1}}}, mixed_{{{0, 1}, {2, 0}}};
};

} // namespace

TEST_F(Locks, AWriterKeepsAllOthersOut) {
    for (const Handler* writer : {&writes0_, &writes01_, &mixed_}) {
        ASSERT_TRUE(writer->take());
        for (const Handler* other : {&reads0_, &writes0_, &reads01_, &writes01_, &mixed_})
            EXPECT_FALSE(other->may());
        writer->release();
        for (const Handler* other : {&reads0_, &writes0_, &reads01_, &writes01_, &mixed_})
            EXPECT_TRUE(other->may());
    }
}

TEST_F(Locks, ReadersKeepWritersOutUntilTheLastOneHasGone) {
    ASSERT_TRUE(reads0_.take());
    ASSERT_TRUE(reads01_.take());
    EXPECT_TRUE(reads0_.may());
    EXPECT_FALSE(writes0_.may());
    EXPECT_FALSE(writes1_.may());
    reads01_.release();
    EXPECT_TRUE(writes1_.may());
    EXPECT_FALSE(writes0_.may());
    EXPECT_FALSE(writes01_.may());
    reads0_.release();
    EXPECT_TRUE(writes01_.may());
}

TEST_F(Locks, WhoDoesNotGetAllHasNone) {
    ASSERT_TRUE(writes1_.take());
    EXPECT_FALSE(writes01_.may());
    EXPECT_FALSE(reads01_.may());
    EXPECT_TRUE(writes0_.may());
    EXPECT_TRUE(mixed_.may());
    writes1_.release();
    EXPECT_TRUE(writes01_.may());
}
