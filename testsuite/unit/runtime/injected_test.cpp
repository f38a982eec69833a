// SPDX-License-Identifier: GPL-2.0-or-later
// The runtime inside a program: what it has in place of a C library, and how it finds its sites.
#include "injected/injected.h"
#include "kernel_for_test.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <ctime>
#include <gtest/gtest.h>
#include <sched.h>
#include <string>
#include <unistd.h>

extern "C" {
void* injected_memcpy(void* to, const void* from, size_t size);
void* injected_memmove(void* to, const void* from, size_t size);
void* injected_memset(void* to, int value, size_t size);
int injected_memcmp(const void* a, const void* b, size_t size);
void* injected_memchr(const void* in, int wanted, size_t size);
size_t injected_strnlen(const char* text, size_t most);
size_t injected_strlen(const char* text);
int injected_strncmp(const char* a, const char* b, size_t most);
int injected_strcmp(const char* a, const char* b);
size_t injected_strcspn(const char* text, const char* stops);
int injected_snprintf(char* to, size_t size, const char* format, ...);
int injected_posix_memalign(void** memory, size_t alignment, size_t size);
pid_t injected_getpid(void);
pid_t injected_gettid(void);
pid_t injected_getppid(void);
pid_t injected_getpgrp(void);
uid_t injected_getuid(void);
uid_t injected_geteuid(void);
gid_t injected_getgid(void);
gid_t injected_getegid(void);
pid_t injected_getsid(pid_t pid);
int injected_sched_getcpu(void);
long injected_sysconf(int name);
int injected_clock_gettime(clockid_t clock, struct timespec* now);
ssize_t injected_getrandom(void* to, size_t size, unsigned flags);
const struct djs_site* injected_find_site(const struct djs_handler* handler, u64 return_address);
u64 djs_site_run_address(const struct djs_site* site);
extern void* test_arena;
}

namespace {

// A copy whose end is the end of what can be accessed.
class AtEnd {
  public:
    explicit AtEnd(const std::string& text)
        : room_(static_cast<char*>(guarded_allocate(1, (text.size() + 7) / 8 * 8, 0))),
          at_(room_ + (text.size() + 7) / 8 * 8 - text.size()) {
        std::memcpy(at_, text.data(), text.size());
    }
    AtEnd(const AtEnd&) = delete;
    AtEnd& operator=(const AtEnd&) = delete;
    ~AtEnd() { guarded_free(room_); }
    char* at() const { return at_; }

  private:
    char *room_, *at_;
};

std::string letters(size_t count) {
    std::string text(count, '\0');
    for (size_t i = 0; i < count; i++)
        text[i] = static_cast<char>('A' + i % 57);
    return text;
}

TEST(Injected, CopiesAndFills) {
    for (size_t size = 0; size < 40; size++) {
        const AtEnd from(letters(size)), to(std::string(size, '#'));
        EXPECT_EQ(injected_memcpy(to.at(), from.at(), size), to.at());
        EXPECT_EQ(std::string(to.at(), size), letters(size));
        EXPECT_EQ(injected_memset(to.at(), 0x17f, size), to.at());
        EXPECT_EQ(std::string(to.at(), size), std::string(size, '\x7f'));
        for (size_t begin = 0; begin < 20; begin++)
            for (size_t end = 0; end < 20; end++) {
                std::string moved = letters(60), expected = moved;
                std::memmove(expected.data() + end, expected.data() + begin, size);
                EXPECT_EQ(injected_memmove(moved.data() + end, moved.data() + begin, size),
                          moved.data() + end);
                ASSERT_EQ(moved, expected) << begin << " " << end << " " << size;
            }
    }
}

TEST(Injected, ComparesAndSearches) {
    const AtEnd text(std::string("abc\xff\0", 5)), same(std::string("abc\xff\0", 5));
    EXPECT_EQ(injected_memcmp(text.at(), same.at(), 5), 0);
    EXPECT_EQ(injected_memcmp(text.at(), "xyz", 0), 0);
    EXPECT_GT(injected_memcmp(text.at(), "abc\x01", 4), 0);
    EXPECT_LT(injected_memcmp("abc\x01", text.at(), 4), 0);
    EXPECT_EQ(injected_memcmp(text.at(), "abcd", 3), 0);
    EXPECT_EQ(injected_memchr(text.at(), 'c', 5), text.at() + 2);
    EXPECT_EQ(injected_memchr(text.at(), 0xff, 5), text.at() + 3);
    EXPECT_EQ(injected_memchr(text.at(), 'c', 2), nullptr);
    EXPECT_EQ(injected_memchr(text.at(), 'x', 5), nullptr);
    EXPECT_EQ(injected_strlen(text.at()), 4U);
    EXPECT_EQ(injected_strlen(""), 0U);
    for (size_t most = 0; most < 7; most++)
        EXPECT_EQ(injected_strnlen(text.at(), most), std::min(most, size_t{4}));
    const AtEnd unended("abc");
    EXPECT_EQ(injected_strnlen(unended.at(), 3), 3U);
    EXPECT_EQ(injected_strcmp(text.at(), same.at()), 0);
    EXPECT_EQ(injected_strcmp("", ""), 0);
    EXPECT_GT(injected_strcmp(text.at(), "abc"), 0);
    EXPECT_LT(injected_strcmp("abc", text.at()), 0);
    EXPECT_LT(injected_strcmp("abb\xff", "abc"), 0);
    EXPECT_EQ(injected_strncmp("abx", "aby", 2), 0);
    EXPECT_LT(injected_strncmp("abx", "aby", 3), 0);
    EXPECT_EQ(injected_strncmp(unended.at(), "abcd", 3), 0);
    EXPECT_EQ(injected_strncmp("", "x", 0), 0);
    EXPECT_EQ(injected_strcspn("name\n", "\n"), 4U);
    EXPECT_EQ(injected_strcspn("name", "\n"), 4U);
    EXPECT_EQ(injected_strcspn("name", "yxm"), 2U);
    EXPECT_EQ(injected_strcspn("name", ""), 4U);
}

template <typename... Arguments> std::string formatted(const char* format, Arguments... arguments) {
    char text[64];
    const int length = injected_snprintf(text, sizeof text, format, arguments...);
    EXPECT_EQ(static_cast<size_t>(length), std::strlen(text));
    return text;
}

TEST(Injected, FormatsWhatTheRuntimeSays) {
    EXPECT_EQ(formatted("nothing"), "nothing");
    EXPECT_EQ(formatted("%s and %s.", "one", ""), "one and .");
    EXPECT_EQ(formatted("[%.*s]", 2, "abc"), "[ab]");
    EXPECT_EQ(formatted("[%.*s]", 4, "abc"), "[abc]");
    EXPECT_EQ(formatted("[%.*s]", 0, "abc"), "[]");
    EXPECT_EQ(formatted("%d %d %i", 0, -1, INT_MAX), "0 -1 2147483647");
    EXPECT_EQ(formatted("%d", INT_MIN), "-2147483648");
    EXPECT_EQ(formatted("%ld %lld", -5L, LLONG_MIN), "-5 -9223372036854775808");
    EXPECT_EQ(formatted("%u %u", 10U, UINT_MAX), "10 4294967295");
    EXPECT_EQ(formatted("%lu %zu", ULONG_MAX, size_t{19}), "18446744073709551615 19");
    EXPECT_EQ(formatted("%x %#x %#x", 255, 16, 0), "ff 0x10 0x0");
    EXPECT_EQ(formatted("%x %lx", -1, -1L), "ffffffff ffffffffffffffff");
    EXPECT_EQ(formatted("0x%llx", 0xdead0000beefULL), "0xdead0000beef");
    EXPECT_EQ(formatted("%c%c", 'a', 'b'), "ab");
    EXPECT_EQ(formatted("100%%"), "100%");
}

TEST(Injected, FormatsIntoTheRoomThatThereIs) {
    for (size_t size = 0; size < 9; size++) {
        std::string text(12, '#');
        EXPECT_EQ(injected_snprintf(text.data(), size, "ab%d", 1234), 6);
        std::string expected(12, '#');
        if (size)
            expected.replace(0, std::min(size, size_t{7}),
                             std::string("ab1234").substr(0, size - 1) + '\0');
        EXPECT_EQ(text, expected) << size;
    }
}

TEST(Injected, AsksTheKernel) {
    EXPECT_EQ(injected_getpid(), getpid());
    EXPECT_EQ(injected_gettid(), gettid());
    EXPECT_EQ(injected_getppid(), getppid());
    EXPECT_EQ(injected_getpgrp(), getpgrp());
    EXPECT_EQ(injected_getsid(0), getsid(0));
    EXPECT_EQ(injected_getuid(), getuid());
    EXPECT_EQ(injected_geteuid(), geteuid());
    EXPECT_EQ(injected_getgid(), getgid());
    EXPECT_EQ(injected_getegid(), getegid());
    cpu_set_t before, one;
    ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &before))
            continue;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
        EXPECT_EQ(injected_sched_getcpu(), cpu);
    }
    ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
    timespec first{}, now{}, last{};
    clock_gettime(CLOCK_MONOTONIC, &first);
    EXPECT_EQ(injected_clock_gettime(CLOCK_MONOTONIC, &now), 0);
    clock_gettime(CLOCK_MONOTONIC, &last);
    const auto is_before = [](const timespec& a, const timespec& b) {
        return a.tv_sec != b.tv_sec ? a.tv_sec < b.tv_sec : a.tv_nsec <= b.tv_nsec;
    };
    EXPECT_TRUE(is_before(first, now) && is_before(now, last));
    char random[64]{};
    EXPECT_EQ(injected_getrandom(random, sizeof random, 0), ssize_t{sizeof random});
    EXPECT_NE(std::count(random, random + sizeof random, '\0'), ssize_t{sizeof random});
}

TEST(Injected, AllocatesFromTheArena) {
    char room[64];
    void* memory = nullptr;
    test_arena = room;
    EXPECT_EQ(injected_posix_memalign(&memory, 64, 10), 0);
    EXPECT_EQ(memory, room);
    EXPECT_EQ(injected_posix_memalign(&memory, 64, 10), ENOMEM); // there is no more
}

TEST(Injected, FindsSitesByReturnAddresses) {
    const djs_place first[] = {{0x1005, 0}, {0x1010, 1}, {0x1fff, 3}, {0x2000, 3}};
    const djs_place second[] = {{0x3000, 4}};
    const djs_places files[] = {
        {0x1000, 0x2000, first, 4}, {0x2800, 0x2900, nullptr, 0}, {0x3000, 0x4000, second, 1}};
    djs_handler handlers[3]{};
    djs_site sites[5]{};
    for (djs_site& site : sites)
        site.next = DJS_NO_INDEX;
    sites[1].next = 2; // of another handler, at the same place
    sites[2].handler = 1;
    for (u64 i = 0; i < 5; i++) {
        sites[i].segment = static_cast<u32>(i % 2);
        sites[i].address = 0x100 * i;
    }
    unsigned long biases[] = {0x10000, 0x20000};
    djs_script.handlers = handlers;
    djs_script.sites = sites;
    djs_injected_places(files, 3, biases);
    const auto found = [&](u64 address, u32 handler = 0) {
        const djs_site* site = injected_find_site(&handlers[handler], address);
        return site ? site - sites : -1;
    };
    EXPECT_EQ(found(0x1005), 0);
    EXPECT_EQ(found(0x1010), 1);
    EXPECT_EQ(found(0x1010, 1), 2);
    EXPECT_EQ(found(0x1010, 2), -1);
    EXPECT_EQ(found(0x1005, 1), -1);
    EXPECT_EQ(found(0x1fff), 3);
    EXPECT_EQ(found(0x3000), 4);
    for (const u64 none : {0x1000, 0x1004, 0x1006, 0x1011, 0x2000, 0x2800, 0x2fff, 0x3001, 0x4000})
        EXPECT_EQ(found(none), -1) << none;
    djs_injected_places(files, 2, biases); // the last one has been unmapped
    EXPECT_EQ(found(0x3000), -1);
    EXPECT_EQ(found(0x1010), 1);
    EXPECT_EQ(djs_site_run_address(&sites[2]), 0x10200U);
    EXPECT_EQ(djs_site_run_address(&sites[3]), 0x20300U);
    sites[3].segment = DJS_NO_INDEX;
    EXPECT_EQ(djs_site_run_address(&sites[3]), 0U);
    djs_injected_places(nullptr, 0, nullptr);
    djs_script = {};
}

TEST(Injected, KnowsTheProcessorsOfTheMachine) {
    EXPECT_EQ(injected_sysconf(_SC_NPROCESSORS_CONF), 5);
    EXPECT_GT(injected_sysconf(_SC_AVPHYS_PAGES), 5);
}

} // namespace
