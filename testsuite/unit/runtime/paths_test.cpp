// SPDX-License-Identifier: GPL-2.0-or-later
// Paths, lists, bits and ancestors, to the last step that a walk makes.
#include "paths_for_test.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace {

template <typename Type> s64 address_of(const Type* object) {
    return static_cast<s64>(reinterpret_cast<intptr_t>(object));
}

class KernelWalks : public testing::Test {
  protected:
    void SetUp() override {
        context_.work = work_;
        context_.error_text = error_;
        set_room(200);
        root_.d_parent = &root_;
        name(root_, "/");
    }
    void TearDown() override { djs_script = {}; }

    void set_room(size_t characters) {
        djs_script.string_bytes = static_cast<u32>(characters + 1);
        out_.assign(characters + 2, '\xa5');
    }
    static void name(dentry& entry, const char* text) {
        entry.d_name.name = text;
        entry.d_name.len = static_cast<u32>(strlen(text));
    }
    static void put(dentry& entry, dentry& parent, const char* text) {
        entry.d_parent = &parent;
        name(entry, text);
    }
    std::string result() const {
        EXPECT_EQ(out_.back(), '\xa5');
        return out_.data();
    }
    bool failed() {
        const bool has = context_.error != nullptr;
        context_.error = nullptr;
        return has;
    }
    std::string walk(const dentry* entry) {
        djs_fn_reverse_path_walk(&context_, out_.data(), address_of(entry));
        return result();
    }
    std::string below(const dentry* entry, const vfsmount* mount, const dentry* root,
                      const vfsmount* root_mount) {
        djs_fn___path_below(&context_, out_.data(), address_of(entry), address_of(mount),
                            address_of(root), address_of(root_mount), offsetof(test_mount, mnt),
                            offsetof(test_mount, parent), offsetof(test_mount, mountpoint));
        return result();
    }

    djs_ctx context_{};
    char work_[2560]{}, error_[256]{};
    std::vector<char> out_;
    dentry root_{};
};

TEST_F(KernelWalks, FromAFileToItsRoot) {
    dentry a{}, b{}, c{};
    put(a, root_, "a");
    put(b, a, "folder");
    put(c, b, "file");
    EXPECT_EQ(walk(&c), "a/folder/file");
    EXPECT_EQ(walk(&a), "a");
    EXPECT_EQ(walk(&root_), "/");
    for (const size_t room : {0U, 1U, 2U, 3U, 9U, 12U, 13U}) {
        set_room(room);
        EXPECT_EQ(walk(&c), std::string("a/folder/file").substr(0, room));
    }
    EXPECT_FALSE(failed());
    set_room(200);
    EXPECT_EQ(walk(nullptr), "");
    EXPECT_TRUE(failed());
    c.d_name.name = reinterpret_cast<const char*>(16);
    EXPECT_EQ(walk(&c), "");
    EXPECT_TRUE(failed());
    const std::string longest(300, 'x'); // a name is no longer than 255
    put(c, root_, longest.c_str());
    set_room(400);
    EXPECT_EQ(walk(&c), longest.substr(0, 255));
}

TEST_F(KernelWalks, WithSoManySteps) {
    std::vector<dentry> chain(2050);
    for (size_t i = 0; i < chain.size(); i++)
        put(chain[i], i ? chain[i - 1] : root_, "x");
    set_room(5000);
    std::string path = "x";
    for (int i = 1; i < 2047; i++)
        path += "/x";
    EXPECT_EQ(walk(&chain[2046]), path);
    EXPECT_EQ(walk(&chain[2047]), "<unknown>");
    test_mount mount{};
    mount.parent = &mount;
    mount.mnt.mnt_root = &root_;
    path.clear();
    for (int i = 0; i < 2048; i++)
        path += "/x";
    EXPECT_EQ(below(&chain[2047], &mount.mnt, &root_, &mount.mnt), path);
    EXPECT_EQ(below(&chain[2048], &mount.mnt, &root_, &mount.mnt), "<unknown>");
}

TEST_F(KernelWalks, ThroughMounts) {
    dentry mnt{}, inner{}, x{}, y{};
    put(mnt, root_, "mnt");
    inner.d_parent = &inner;
    name(inner, "/");
    put(x, inner, "x");
    put(y, x, "y");
    test_mount outer{}, other{};
    outer.parent = &outer;
    outer.mnt.mnt_root = &root_;
    other.parent = &outer;
    other.mountpoint = &mnt;
    other.mnt.mnt_root = &inner;
    EXPECT_EQ(below(&y, &other.mnt, &root_, &outer.mnt), "/mnt/x/y");
    EXPECT_EQ(below(&y, &other.mnt, &inner, &other.mnt), "/x/y");
    EXPECT_EQ(below(&y, &other.mnt, &x, &other.mnt), "/y");
    EXPECT_EQ(below(&y, &other.mnt, &y, &other.mnt), "");
    EXPECT_EQ(below(&mnt, &outer.mnt, &root_, &outer.mnt), "/mnt");
    // Not below that root: the walk ends at the uppermost mount.
    EXPECT_EQ(below(&mnt, &outer.mnt, &x, &other.mnt), "/mnt");
    // The root of a file system that is not where it is mounted from.
    other.mnt.mnt_root = &x;
    EXPECT_EQ(below(&inner, &other.mnt, &root_, &outer.mnt), "<unknown>");
    EXPECT_FALSE(failed());
    EXPECT_EQ(below(nullptr, &other.mnt, &root_, &outer.mnt), "");
    EXPECT_TRUE(failed());
    EXPECT_EQ(below(&y, nullptr, &root_, &outer.mnt), "");
    EXPECT_TRUE(failed());
    // Mounts on top of each other, without an end.
    other.mnt.mnt_root = &inner;
    other.mountpoint = &inner;
    test_mount third{};
    third.parent = &other;
    third.mountpoint = &inner;
    third.mnt.mnt_root = &inner;
    other.parent = &third;
    EXPECT_EQ(below(&y, &other.mnt, &root_, &outer.mnt), "<unknown>");
    EXPECT_FALSE(failed());
}

struct Link {
    Link* next;
    u64 value;
};

TEST_F(KernelWalks, ThroughAList) {
    std::vector<Link> list(5000);
    for (size_t i = 0; i < list.size(); i++)
        list[i] = {i + 1 < list.size() ? &list[i + 1] : nullptr, i};
    const auto find = [&](const Link* first, u64 value, const Link* end = nullptr) {
        return djs_fn___find_linked(&context_, address_of(first), offsetof(Link, next),
                                    address_of(end), offsetof(Link, value),
                                    static_cast<s64>(value));
    };
    for (const u64 number : {0U, 1U, 4095U})
        EXPECT_EQ(find(list.data(), number), address_of(&list[number]));
    EXPECT_EQ(find(list.data(), 4096), 0); // as many as are looked at
    EXPECT_EQ(find(&list[4000], 4999), address_of(&list[4999]));
    EXPECT_EQ(find(&list[4000], 3999), 0);
    EXPECT_EQ(find(list.data(), 5, &list[5]), 0);
    EXPECT_EQ(find(list.data(), 5, &list[6]), address_of(&list[5]));
    EXPECT_EQ(find(nullptr, 0), 0);
    EXPECT_FALSE(failed());
    list[3].next = reinterpret_cast<Link*>(16);
    EXPECT_EQ(find(list.data(), 5), 0);
    EXPECT_TRUE(failed());
}

TEST_F(KernelWalks, OverBits) {
    std::vector<u64> words(20000);
    const auto count = [&](s64 bits) {
        return djs_fn___bits_set(&context_, address_of(words.data()), bits);
    };
    u64 state = 1;
    s64 expected = 0;
    for (size_t i = 0; i < 1000; i++) {
        EXPECT_EQ(count(static_cast<s64>(i) * 64), expected) << i;
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        words[i] = i % 4 ? state : i % 8 ? ~u64{0} : u64{1} << (i / 8 % 64);
        expected += __builtin_popcountll(words[i]);
    }
    EXPECT_EQ(count(-1), 0);
    EXPECT_EQ(count(63), 0);
    EXPECT_EQ(count(64), __builtin_popcountll(words[0]));
    // The kernel has no more.
    std::fill(words.begin(), words.end(), ~u64{0});
    EXPECT_EQ(count(1 << 20), 1 << 20);
    EXPECT_EQ(count((1 << 20) + 64), 1 << 20);
    EXPECT_FALSE(failed());
    EXPECT_EQ(djs_fn___bits_set(&context_, 16, 64), 0);
    EXPECT_TRUE(failed());
}

void set_task(task_struct& task, task_struct& parent, int number, const char* name) {
    task.real_parent = &parent;
    task.tgid = number;
    snprintf(task.comm, sizeof task.comm, "%s", name);
}

TEST_F(KernelWalks, ToAncestors) {
    task_struct idle{}, init{}, shell{}, sleeper{};
    set_task(idle, idle, 0, "swapper/0");
    set_task(init, idle, 1, "init");
    set_task(shell, init, 20, "sh");
    set_task(sleeper, shell, 300, "a sleeper");
    shell.start_boottime = 2UL * 60 * 1000000000 + 59'000'000'007;
    const auto pstrace = [&](const task_struct& task) {
        djs_fn_pstrace(&context_, out_.data(), address_of(&task));
        return result();
    };
    const auto ancestry = [&](const task_struct& task, s64 with_time = 0) {
        djs_fn_task_ancestry(&context_, out_.data(), address_of(&task), with_time);
        return result();
    };
    EXPECT_EQ(pstrace(sleeper), " a sleeper(300) sh(20)");
    EXPECT_EQ(pstrace(init), "");
    EXPECT_EQ(ancestry(sleeper), "swapper/0=>init=>sh=>a sleeper");
    EXPECT_EQ(ancestry(idle), "swapper/0");
    EXPECT_EQ(ancestry(shell, 1),
              "swapper/0(0m0.000000000s)=>init(0m0.000000000s)=>sh(2m59.000000007s)");
    for (const size_t room : {0U, 1U, 5U, 15U, 16U, 20U, 22U}) {
        set_room(room);
        EXPECT_EQ(pstrace(sleeper), std::string(" a sleeper(300) sh(20)").substr(0, room));
        EXPECT_EQ(ancestry(sleeper), std::string("swapper/0=>init=>sh=>a sleeper").substr(0, room));
    }
    EXPECT_FALSE(failed());
    set_room(200);
    sleeper.real_parent = nullptr;
    EXPECT_EQ(ancestry(sleeper), "a sleeper");
    EXPECT_FALSE(failed());
    EXPECT_EQ(pstrace(sleeper), "");
    EXPECT_TRUE(failed());
    sleeper.real_parent = reinterpret_cast<task_struct*>(16);
    EXPECT_EQ(ancestry(sleeper), "");
    EXPECT_TRUE(failed());
}

TEST_F(KernelWalks, ToSoManyAncestors) {
    std::vector<task_struct> tasks(1030);
    for (size_t i = 0; i < tasks.size(); i++)
        set_task(tasks[i], tasks[std::min(i + 1, tasks.size() - 1)], 2, "t");
    set_room(20000);
    djs_fn_pstrace(&context_, out_.data(), address_of(tasks.data()));
    std::string expected;
    for (int i = 0; i < 1024; i++)
        expected += " t(2)";
    EXPECT_EQ(result(), expected);
    const auto ancestry = [&](size_t first) {
        djs_fn_task_ancestry(&context_, out_.data(), address_of(&tasks[first]), 0);
        return result();
    };
    expected = "t";
    for (int i = 1; i < 1024; i++)
        expected += "=>t";
    EXPECT_EQ(ancestry(6), expected);
    EXPECT_EQ(ancestry(5), "...=>" + expected);
}

} // namespace
