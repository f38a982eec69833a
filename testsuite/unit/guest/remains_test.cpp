// SPDX-License-Identifier: GPL-2.0-or-later
// What the guest's agent finds in the kernel's files after a script, and what it finds there
// anyway.
#include "remains_for_test.h"
#include "support.h"

#include <sstream>

namespace djstap {
namespace {

class Remains : public testing::Test {
  protected:
    void SetUp() override { test_remains_begin(folder_.path.c_str()); }
    void TearDown() override {
        EXPECT_EQ(test_remains_open, 0);
        test_remains_end();
    }
    std::string place(const std::string& path) const { return folder_.path + path; }
    void file(const std::string& path, const std::string& text) const {
        std::filesystem::create_directories(std::filesystem::path(place(path)).parent_path());
        std::ofstream(place(path), std::ios::binary) << text;
    }
    std::string text_of(const std::string& path) const {
        std::ostringstream text;
        text << std::ifstream(place(path)).rdbuf();
        return text.str();
    }
    // The lines of the kernel's log after a script.
    std::string told() const {
        file("/dev/kmsg", "");
        file("/proc/sys/kernel/printk_devkmsg", "ratelimit\n");
        remains_tell();
        const std::string log = text_of("/dev/kmsg");
        EXPECT_EQ(text_of("/proc/sys/kernel/printk_devkmsg"), log.empty() ? "ratelimit\n" : "on");
        return log;
    }
    // What is told if this is what the file contains after the script, and that is before.
    std::string told_of(const std::string& path, const std::string& now,
                        const std::string& at_first = "") const {
        file(path, at_first);
        test_remains_end();
        remains_note();
        file(path, now);
        return told();
    }

    static inline const std::string areas = "/proc/vmallocinfo", modules = "/proc/modules",
                                    kprobes = "/sys/kernel/debug/kprobes/list",
                                    functions = "/sys/kernel/tracing/enabled_functions",
                                    states = "/sys/devices/system/cpu/hotplug/states",
                                    slabs = "/sys/kernel/debug/slab/",
                                    left = "<4>left behind by a module, ";
    // Memory that nobody has any more; addresses of modules begin at 0xffffffffa0000000.
    static inline const std::string area =
        "0xffffc90000100000-0xffffc90000102000    8192 0xffffffffc0201234 pages=1 vmalloc N0=1";

  private:
    TestFolder folder_;
};

TEST_F(Remains, AreNoneWhereNothingIsLeft) {
    remains_note(); // nothing can be read
    EXPECT_EQ(told(), "");
    file(areas, "0xffffc90000000000-0xffffc90000002000    8192 init_percpu+0x9/0xf0 pages=1\n");
    file(modules, "ext4 1000 1 - Live 0xffffffffc0100000\n");
    EXPECT_EQ(told(), "");
    EXPECT_EQ(test_remains_sleeps, 0);
}

// The kernel frees some of it later: eight seconds are what there is time for.
TEST_F(Remains, AreToldIfTheyStay) {
    EXPECT_EQ(told_of(areas, area + "\n"), left + "memory: " + area + "\n");
    EXPECT_EQ(test_remains_sleeps, 80);
    test_remains_sleeps = 0;
    static std::string freed;
    freed = place(areas);
    test_remains_asleep = [] {
        if (test_remains_sleeps == 79)
            std::filesystem::remove(freed);
    };
    EXPECT_EQ(told(), "");
    EXPECT_EQ(test_remains_sleeps, 79);
}

TEST_F(Remains, AreNotToldWithoutALog) {
    file(areas, area);
    std::filesystem::create_directories(place("/dev/kmsg"));
    remains_tell();
    EXPECT_EQ(test_remains_sleeps, 80);
}

TEST_F(Remains, AreMemoryThatCodeWithoutASymbolMapped) {
    const auto mapped = [&](const std::string& caller, const std::string& others = "") {
        const std::string line =
            "0xffffc90000100000-0xffffc90000102000    8192 " + caller + " pages=1 vmalloc";
        const std::string log = told_of(areas, others + line + "\n" + others);
        EXPECT_TRUE(log.empty() || log == left + "memory: " + line + "\n") << log;
        return !log.empty();
    };
    EXPECT_TRUE(mapped("0xffffffffa0000000"));
    EXPECT_TRUE(mapped("0xffffffffff000000"));
    EXPECT_FALSE(mapped("0xffffffff9fffffff")); // the kernel's own code
    EXPECT_FALSE(mapped("0xfffffffea0000000"));
    EXPECT_FALSE(mapped("load_module+0x1/0x2"));
    EXPECT_FALSE(mapped("0xffffffffg0000000"));
    EXPECT_FALSE(mapped("")); // "pages=1"
    // What is as large as the stacks of threads, which the kernel keeps.
    const std::string stack = "0xffffc90000200000-0xffffc90000205000   ";
    EXPECT_FALSE(mapped("0xffffffffa0000000", stack + "8192 kernel_clone+0x9d/0x3e0 pages=4\n"));
    EXPECT_TRUE(mapped("0xffffffffa0000000", stack + "20480 kernel_clone+0x9d/0x3e0 pages=4\n"));
    EXPECT_TRUE(mapped("0xffffffffa0000000", stack + "18192 kernel_clone+0x9d/0x3e0 pages=4\n"));
    EXPECT_TRUE(mapped("0xffffffffa0000000", stack + "8192 my_kernel_clone+0x9d pages=4\n"));
    const std::string as_large = stack + "20480 0xffffffffa0000000 pages=4\n";
    EXPECT_EQ(told_of(areas, stack + "20480 kernel_clone+0x9d/0x3e0 pages=4\n" + as_large), "");
}

// What the kernel tells of memory of kmalloc, by the function that asked for it.
TEST_F(Remains, AreMemoryThatCodeWithoutASymbolAllocated) {
    const std::string traces = slabs + "kmalloc-64/alloc_traces";
    const auto allocated = [&](const std::string& text) { return told_of(traces, text); };
    const std::string code = "0xffffffffc0201234", head = "      3 " + code + " age=5/6/7 pid=1";
    const std::string kept = left + "kmalloc-64: ";
    EXPECT_EQ(allocated(head + "\n"), kept + head + "\n");
    EXPECT_EQ(allocated("      3 ext4_init+0x1/0x2 age=5\n        " + code + "\n"), "");
    EXPECT_EQ(allocated("  " + code + "\n"), ""); // a stack without an allocation
    EXPECT_EQ(allocated("      3 0xffffffff81234567 age=5\n"), "");
    // The function that asked for it stands behind the kernel's, which allocate for others.
    for (const char* allocator :
         {"kmalloc_trace", "__kmalloc", "kvmalloc_node", "kstrdup", "kmem_cache_alloc_trace",
          "kmemdup", "krealloc", "__kmem_cache_alloc_node"}) {
        const std::string of_kernel = std::string("      2 ") + allocator + "+0x1/0x2 age=9 pid=1";
        EXPECT_EQ(allocated(of_kernel + "\n        " + code + "\n        do_init+0x1/0x2\n"),
                  kept + of_kernel + "\n");
        EXPECT_EQ(allocated(of_kernel + "\n        do_init+0x1/0x2\n        " + code + "\n"), "");
    }
    // Each that counts is told, and only of these slabs.
    EXPECT_EQ(allocated(head + "\n      1 a+0x1/0x2 age=2\n" + head + "1\n"),
              kept + head + "\n" + kept + head + "1\n");
    file(traces, "");
    EXPECT_EQ(told_of(slabs + "dentry/alloc_traces", head + "\n"), "");
    EXPECT_EQ(told_of(slabs + "kmalloc-8/alloc_traces", head + "\n"),
              left + "kmalloc-8: " + head + "\n");
}

// That of a module which came with the kernel, and whose code that initialized it is gone.
TEST_F(Remains, AreNotWhatWasThereAtFirst) {
    const std::string traces = slabs + "kmalloc-64/alloc_traces",
                      first = "      3 0xffffffffc0201234 age=5 pid=1\n",
                      second = "      3 0xffffffffc0201235 age=5 pid=1\n";
    EXPECT_EQ(told_of(traces, first, first), "");
    EXPECT_EQ(told_of(traces, first + second, first), left + "kmalloc-64: " + second);
    EXPECT_EQ(told_of(traces, first + second, second + first), "");
}

// KASAN holds objects back until it is asked for them.
TEST_F(Remains, AreWithoutWhatIsHeldBack) {
    file(slabs + "kmalloc-64/alloc_traces", "");
    file(slabs + "dentry/alloc_traces", "");
    file("/sys/kernel/slab/kmalloc-64/shrink", "");
    file("/sys/kernel/slab/dentry/shrink", "");
    EXPECT_EQ(told(), "");
    EXPECT_EQ(text_of("/sys/kernel/slab/kmalloc-64/shrink"), "1");
    EXPECT_EQ(text_of("/sys/kernel/slab/dentry/shrink"), "");
}

TEST_F(Remains, AreProbesAndPatchedFunctions) {
    EXPECT_EQ(told_of(kprobes, "one\nthree\ntwo\n", "one\ntwo\n"), left + "kprobe: three\n");
    EXPECT_EQ(told_of(kprobes, "two\n\none\n", "one\ntwo\n"), "");
    // A line counts as a whole.
    EXPECT_EQ(told_of(kprobes, "one", "one more\n"), left + "kprobe: one\n");
    EXPECT_EQ(told_of(kprobes, "one", "no one\n"), left + "kprobe: one\n");
    EXPECT_EQ(told_of(kprobes, "one", "no one\none more\none"), "");
    EXPECT_EQ(told_of(kprobes, "one\ntwo\n"), left + "kprobe: one\n" + left + "kprobe: two\n");
    file(kprobes, "");
    EXPECT_EQ(told_of(functions, "one (1)\ntwo (1)\n", "one (1)\n"), left + "function: two (1)\n");
    // Unless tracefs itself has some.
    const std::string events = "/sys/kernel/tracing/kprobe_events",
                      tracer = "/sys/kernel/tracing/current_tracer";
    file(tracer, "nop\n");
    EXPECT_EQ(told_of(functions, "one"), left + "function: one\n");
    file(tracer, "function\n");
    EXPECT_EQ(told_of(functions, "one"), "");
    file(tracer, "");
    EXPECT_EQ(told_of(functions, "one"), left + "function: one\n");
    file(events, "p:probe vfs_read\n");
    EXPECT_EQ(told_of(functions, "one"), "");
    EXPECT_EQ(told_of(areas, area), left + "memory: " + area + "\n");
}

TEST_F(Remains, AreNamesInProcAndOfProcessors) {
    const auto named = [&](const std::string& name) {
        file("/proc/" + name, "");
        const std::string log = told();
        std::filesystem::remove(place("/proc/" + name));
        EXPECT_TRUE(log.empty() || log == left + "file in /proc: " + name + "\n") << log;
        return !log.empty();
    };
    EXPECT_TRUE(named("djstap"));
    EXPECT_TRUE(named("djstap_1234"));
    EXPECT_TRUE(named("systemtap"));
    EXPECT_FALSE(named("djsta"));
    EXPECT_FALSE(named("systemtap2"));
    EXPECT_EQ(told_of(states, "  0: offline\n195: djstap/overload:online\n199: online\n"),
              left + "state of processors: 195: djstap/overload:online\n");
}

// Its files and probes are there as long as it is, but no memory of one that is not.
TEST_F(Remains, AreNotThoseOfAModuleThatIsLoaded) {
    file("/proc/djstap_1234", "");
    file(modules, "djstap_1234 16384 0 - Live 0xffffffffc0300000 (OE)\n");
    EXPECT_EQ(told(), "");
    EXPECT_EQ(told_of(areas, area), left + "memory: " + area + "\n");
    file(areas, "");
    file(modules,
         "ext4 16384 0 - Live 0xffffffffc0300000 (E)\nxfs 1 0 - Live 0xffffffffc0400000\n");
    EXPECT_EQ(told(), left + "file in /proc: djstap_1234\n");
    file(modules,
         "other 16384 0 - Live 0xffffffffc0300000 (O)\nxfs 1 0 - Live 0xffffffffc0400000\n");
    EXPECT_EQ(told(), "");
}

// Files of more than a piece of 64 KiB.
TEST_F(Remains, AreFoundAtTheEndOfLongFiles) {
    const std::string line = "0xffffc90000000000-0xffffc90000002000    8192 init+0x9/0xf0 " +
                             std::string(2000, '.') + "\n";
    for (const size_t bytes : {size_t{65535}, size_t{65536}, size_t{65537}, size_t{300000}}) {
        std::string text;
        while (text.size() + line.size() + area.size() < bytes)
            text += line;
        text.append(bytes - area.size() - text.size() - 1, '.');
        text += '\n';
        EXPECT_EQ(told_of(areas, text + area), left + "memory: " + area + "\n") << bytes;
    }
}

} // namespace
} // namespace djstap
