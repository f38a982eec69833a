// SPDX-License-Identifier: GPL-2.0-or-later
// What handlers find of the current task without a call, executed: its numbers, its name and the
// memory of its process, also as the keys of arrays, which are those of the runtime (runtime/map).
#include "loaded_script.h"

#include "include/map.h"
#include "include/record.h"
#include "include/script.h"
#include "include/text.h"

#include <algorithm>
#include <cstring>
#include <x86intrin.h>

namespace djstap {
namespace {

class OfTask : public LoadedScript {
  public: // for the functions of the kernel
    static inline OfTask* test_ = nullptr;
    unsigned inserts_ = 0;
    std::string log_;
    djs_loaded loaded_ = {};
    std::string words_; // of the text that the runtime finds

  protected:
    static constexpr uint32_t string_bytes = 512;

    void SetUp() override {
        test_ = this;
        LoadedScript::SetUp();
        if (HasFatalFailure())
            return;
        for (const char* const name :
             {"current_task", "cpu_number", "djs_loaded_mm", "djs_traced_pid", "djs_reader_pid",
              "loaded mm", "task", "cred"})
            code_.variable(name, 256);
        code_.as<uint32_t>("__preempt_count") = 0x80000000; // nothing is due
        code_.as<char*>("current_task") = code_.at("task");
        code_.as<char*>("djs_loaded_mm") = code_.at("loaded mm");
        of_task<uint64_t>("mm") = code_.as<uint64_t>("loaded mm") = 0xffff888000001000;
        of_task<char*>("cred") = code_.at("cred");
        code_.function("djs_lacks_stack", +[](uint32_t) { return uint32_t{0}; });
        // Several locks are the runtime's.
        code_.function("djs_lock_enter", +[](const void*) { return uint64_t{77}; });
        code_.function("djs_lock_leave", +[](const void*, uint64_t) {});
        code_.function(
            "djs_map_insert", +[](djs_map* map, const djs_value* keys) {
                test_->inserts_++;
                return djs_map_insert(map, keys);
            });
        code_.function(
            "djs_load_alone", +[](uint64_t address, uint32_t size) {
                test_->log_ += " load " + std::to_string(address) + "," + std::to_string(size);
                return test_->loaded_;
            });
        code_.function(
            "djs_load_words_alone", +[](uint64_t address, char* words, uint32_t size) {
                test_->log_ += " words " + std::to_string(address) + "," + std::to_string(size);
                std::memset(words, 0, (size + 8) / 8 * 8);
                std::memcpy(words, test_->words_.data(), test_->words_.size());
                return test_->loaded_;
            });
        code_.function(
            "djs_fail_read_alone", +[](uint64_t address, uint32_t size, uint32_t) {
                test_->log_ += " unread " + std::to_string(address) + "," + std::to_string(size);
            });
    }
    template <class Type> Type& of_task(const std::string& field) {
        return *reinterpret_cast<Type*>(code_.at("task") +
                                        script_.offsets.at("task_struct." + field).second);
    }
    uint32_t& of_cred(const std::string& field) {
        return *reinterpret_cast<uint32_t*>(code_.at("cred") +
                                            script_.offsets.at("cred." + field).second);
    }

    // Runs the handler of a timer.
    void run(unsigned handler = 0) {
        const PrivilegedInstructions executed;
        uint64_t registers[32] = {};
        using Handler = int(void*, void*);
        const auto name = "djs_by_regs_" + std::to_string(handler);
        EXPECT_EQ(reinterpret_cast<Handler*>(code_.at(name))(nullptr, registers), 0);
        EXPECT_TRUE(PrivilegedInstructions::interrupts_are_on);
        EXPECT_EQ(of_task<uint32_t>("pagefault_disabled"), 0u);
        EXPECT_EQ(code_.as<uint32_t>("__preempt_count"), 0x80000000);
    }
    // Gives a script's array of numbers by strings, and numbers in front of these, a map.
    djs_map* make_map(const std::string& array, unsigned numbers = 0) {
        djs_map_shape shape = {};
        shape.key_count = static_cast<uint8_t>(numbers + 1);
        shape.value_type = DJS_LONG;
        std::fill_n(shape.key_types, numbers, DJS_LONG);
        shape.key_types[numbers] = DJS_STRING;
        shape.capacity = 16;
        shape.string_bytes = string_bytes;
        const std::string name = "map of " + array;
        const uint64_t bytes = djs_map_bytes(&shape);
        if (!code_.has(name))
            code_.variable(name, bytes);
        std::memset(code_.at(name), 0, bytes);
        djs_map* const map = djs_map_init(code_.at(name), &shape, 0x123456789abcdef1);
        code_.as<djs_map*>("djs_global_" + array) = map;
        return map;
    }
    static int64_t value_of(djs_map* map, const std::string& text) {
        djs_value key = {};
        key.text = text.c_str();
        const void* const found = djs_map_find(map, &key);
        return found ? *static_cast<const int64_t*>(found) : -1;
    }
};

} // namespace

TEST_F(OfTask, Numbers) {
    load("global a, b, c, d, e, f, g, h, i, j, k\n"
         "probe timer.s(1) { a = pid(); b = tid(); c = uid(); d = euid(); e = gid(); f = egid()\n"
         "g = cpu(); h = task_current(); i = target(); j = stp_pid(); k = get_cycles() }\n"
         "probe end { println(a, b, c, d, e, f, g, h, i, j, k) }");
    of_task<uint32_t>("tgid") = 4711;
    of_task<uint32_t>("pid") = 4712;
    of_cred("uid") = 0xfffffffe; // as a user that a namespace does not have may be
    of_cred("euid") = 1001;
    of_cred("gid") = 100;
    of_cred("egid") = 65534;
    code_.as<uint32_t>("cpu_number") = 3;
    code_.as<uint32_t>("djs_traced_pid") = 77;
    code_.as<uint32_t>("djs_reader_pid") = 78;
    const uint64_t before = __rdtsc();
    run();
    EXPECT_EQ(number("a"), 4711);
    EXPECT_EQ(number("b"), 4712);
    EXPECT_EQ(number("c"), 0xfffffffe);
    EXPECT_EQ(number("d"), 1001);
    EXPECT_EQ(number("e"), 100);
    EXPECT_EQ(number("f"), 65534);
    EXPECT_EQ(number("g"), 3);
    EXPECT_EQ(number("h"), reinterpret_cast<int64_t>(code_.at("task")));
    EXPECT_EQ(number("i"), 77);
    EXPECT_EQ(number("j"), 78);
    EXPECT_GE(static_cast<uint64_t>(number("k")), before);
    EXPECT_LE(static_cast<uint64_t>(number("k")), __rdtsc());
}

// A record of a handler with a context: the fields of the event precede the arguments, which are
// padded to words.
TEST_F(OfTask, RecordsHaveItsFields) {
    struct Recorded {
        uint32_t id, size, committed;
        alignas(8) char bytes[128];
    };
    static Recorded recorded;
    code_.function(
        "djs_reserve", +[](djs_ctx*, uint32_t id, uint32_t size) -> void* {
            recorded = {id, size, 0, {}};
            return recorded.bytes;
        });
    code_.function(
        "djs_commit", +[](djs_ctx*, void* record, uint32_t size) {
            EXPECT_EQ(record, static_cast<void*>(recorded.bytes));
            recorded.committed = size;
        });
    code_.function(
        "memcpy",
        +[](void* to, const void* from, size_t bytes) { return std::memcpy(to, from, bytes); });
    code_.function("djs_text_length", djs_text_length);
    code_.function("djs_text_copy", djs_text_copy);
    script_.options.event_fields = DJS_EVENT_PID | DJS_EVENT_TID | DJS_EVENT_PROBE;
    load("global n, t\nprobe timer.s(1) { printf(\"%s %d\\n\", t, 100 / n) }\n"
         "probe timer.s(2) { n = get_cycles(); t = sprintf(\"%d\", n) }");
    of_task<uint32_t>("tgid") = 4711;
    of_task<uint32_t>("pid") = 4712;
    djs_ctx ctx = {};
    ctx.scratch = code_.variable("scratch", 65536);
    number("n") = 5;
    for (const std::string text : {"", "abc", "abcd", "abcde", "123456789012"}) {
        std::memcpy(code_.at("djs_global_t"), text.c_str(), text.size() + 1);
        using Body = void(djs_ctx*);
        reinterpret_cast<Body*>(code_.at("djs_body_0"))(&ctx);
        const auto at = [](size_t offset) {
            uint64_t word;
            std::memcpy(&word, recorded.bytes + offset, sizeof word);
            return word;
        };
        const size_t padded = (4 + text.size() + 7) / 8 * 8;
        EXPECT_EQ(recorded.size, 16 + 8 + 8 + padded + 8) << text;
        EXPECT_EQ(recorded.committed, recorded.size);
        EXPECT_EQ(at(16), 4711 + (uint64_t{4712} << 32));
        EXPECT_EQ(at(24), 0u); // the first site
        EXPECT_EQ(static_cast<uint32_t>(at(32)), text.size());
        EXPECT_EQ(std::string(recorded.bytes + 36, text.size()), text);
        EXPECT_EQ(at(32 + padded), 20u);
    }
}

// A name is the record's last 16 bytes, and nothing is written behind them.
TEST_F(OfTask, NamesEndRecords) {
    constexpr size_t ring_bytes = 4096, size = sizeof(djs_record) + 16;
    load("probe timer.s(1) { println(execname()) }");
    char* const ring = code_.variable("ring", ring_bytes);
    std::memset(ring, 0x55, ring_bytes);
    const auto of_cpu = [this](const std::string& field) -> int64_t& {
        return *reinterpret_cast<int64_t*>(code_.at("djs_cpu") +
                                           script_.offsets.at("djs_cpu." + field).second);
    };
    of_cpu("data") = reinterpret_cast<int64_t>(ring);
    of_cpu("mask") = ring_bytes - 1;
    of_cpu("limit") = ring_bytes;
    std::memcpy(&of_task<char>("comm"), "123456789012345", 16);
    run();
    EXPECT_EQ(of_cpu("head"), static_cast<int64_t>(size));
    EXPECT_EQ(std::string(ring + sizeof(djs_record), 16), std::string("123456789012345", 16));
    EXPECT_EQ(std::string(ring + size, ring_bytes - size), std::string(ring_bytes - size, '\x55'));
}

// An idle task's parent may be gone: what is no address of the kernel is not read.
TEST_F(OfTask, AParentThatIsGoneIsNone) {
    load("global a = 5\nprobe timer.s(1) { a = ppid() }\nprobe end { println(a) }");
    of_task<char*>("real_parent") = code_.at("task");
    of_task<uint32_t>("tgid") = 4711;
    run();
    EXPECT_EQ(number("a"), 0);
}

// The kernel does not clear what follows a name's end. A name that is known is found in its bucket
// without a call.
TEST_F(OfTask, NamesAreKeys) {
    load("global b, n\nprobe timer.s(1) { b[execname()]++; n = n + b[execname()] }\n"
         "probe end { foreach (k in b) println(k, b[k], n) }");
    for (const std::string name : {"", "a", "init", "kthread", "kthreadd", "swapper/0",
                                   "fourteen chars", "fifteen letters"}) {
        djs_map* const map = make_map("b");
        number("n") = 0;
        inserts_ = 0;
        for (const char junk : {'x', '\0', '\xff'}) {
            char* const at = &of_task<char>("comm");
            std::memset(at, junk, 16);
            std::memcpy(at, name.c_str(), std::min<size_t>(name.size() + 1, 15));
            run();
        }
        EXPECT_EQ(value_of(map, name), 3) << name;
        EXPECT_EQ(djs_map_count(map), 1u) << name;
        EXPECT_EQ(inserts_, 1u) << name;
        EXPECT_EQ(number("n"), 1 + 2 + 3) << name;
    }
}

TEST_F(OfTask, NamesFollowNumbers) {
    load("global b\nprobe timer.s(1) { b[7, execname()] += 5 }\n"
         "probe end { foreach ([i, k] in b) println(i, k, b[i, k]) }");
    djs_map* const map = make_map("b", 1);
    std::memcpy(&of_task<char>("comm"), "swapper/0", 10);
    for (int i = 0; i < 3; i++)
        run();
    EXPECT_EQ(inserts_, 1u);
    djs_value keys[2] = {};
    keys[0].number = 7;
    keys[1].text = "swapper/0";
    const void* const found = djs_map_find(map, keys);
    ASSERT_TRUE(found);
    EXPECT_EQ(*static_cast<const int64_t*>(found), 15);
}

// Words behind a text's end are read, but are not part of it.
TEST_F(OfTask, ShortTextsOfTheProcessAreKeys) {
    const std::vector<unsigned> sizes{1, 7, 8, 9, 15, 16, 17, 24, 31, 32};
    std::string text, end = "global p = 1";
    for (size_t i = 0; i < sizes.size(); i++) {
        const std::string array = "b" + std::to_string(i);
        text += "probe timer.s(1) { " + array + "[user_string_n(p, " + std::to_string(sizes[i]) +
                ")]++ }\n";
        end += ", " + array;
    }
    end += "\nprobe timer.s(2) { p = get_cycles() }\nprobe end { ";
    for (size_t i = 0; i < sizes.size(); i++)
        end += "println(b" + std::to_string(i) + "[\"x\"]); ";
    load(text + end + "}");
    char* const process = code_.variable("memory of the process", 64);
    for (const unsigned at : {0u, 3u}) {
        number("p") = reinterpret_cast<int64_t>(process + at);
        for (size_t i = 0; i < sizes.size(); i++)
            for (unsigned length = 0; length <= sizes[i] + 2; length++) {
                djs_map* const map = make_map("b" + std::to_string(i));
                inserts_ = 0;
                std::string whole;
                for (unsigned n = 0; n < length; n++)
                    whole += static_cast<char>('A' + n);
                for (const char junk : {'x', '\0'}) {
                    std::memset(process, junk, 64);
                    std::memcpy(process + at, whole.c_str(), length + 1);
                    run(static_cast<unsigned>(i));
                }
                EXPECT_EQ(value_of(map, whole.substr(0, sizes[i])), 2) << length << " " << sizes[i];
                EXPECT_EQ(inserts_, 1u) << length << " " << sizes[i];
            }
    }
    EXPECT_EQ(log_, "");
}

// Where the processor sees other memory than that of the task, the runtime reads, or refuses.
TEST_F(OfTask, TextsOfOtherMemoryAreReadByTheRuntime) {
    load("global b, p = 1\nprobe timer.s(1) { b[user_string_n(p, 9)]++ }\n"
         "probe timer.s(2) { p = get_cycles() }\nprobe end { foreach (k in b) println(k, b[k]) }");
    djs_map* const map = make_map("b");
    number("p") = 4096;
    of_task<uint64_t>("mm") = 0;
    words_ = "from there";
    words_.resize(9);
    run();
    EXPECT_EQ(log_, " words 4096,9");
    EXPECT_EQ(value_of(map, "from ther"), 1);
    log_.clear();
    loaded_.status = 1; // the hit is skipped
    run();
    EXPECT_EQ(log_, " words 4096,9");
    log_.clear();
    loaded_.status = -1;
    run();
    EXPECT_EQ(log_,
              " words 4096,9 unread 4096," + std::to_string(DJS_READ_TEXT | DJS_READ_PROCESS));
    EXPECT_EQ(value_of(map, "from ther"), 1);
    EXPECT_EQ(djs_map_count(map), 1u);
}

TEST_F(OfTask, NumbersOfTheProcess) {
    load("global p = 1, a, b, c, d, e, f, g\nprobe timer.s(1) {\n"
         "a = @uderef(1, p); b = @uderef(2, p); c = @uderef(4, p); d = @uderef(8, p)\n"
         "e = user_char(p); f = user_int(p); g = user_uint32(p) }\n"
         "probe timer.s(2) { p = get_cycles() }\nprobe end { println(a, b, c, d, e, f, g) }");
    const uint64_t value = 0x8182838485868788;
    code_.variable("memory of the process", 64);
    code_.as<uint64_t>("memory of the process") = value;
    number("p") = reinterpret_cast<int64_t>(code_.at("memory of the process"));
    run();
    EXPECT_EQ(number("a"), 0x88);
    EXPECT_EQ(number("b"), 0x8788);
    EXPECT_EQ(number("c"), 0x85868788);
    EXPECT_EQ(number("d"), static_cast<int64_t>(value));
    EXPECT_EQ(number("e"), static_cast<int8_t>(value));
    EXPECT_EQ(number("f"), static_cast<int32_t>(value));
    EXPECT_EQ(number("g"), 0x85868788);
    EXPECT_EQ(log_, "");
}

// An error ends the handler, a function that catches it yields its other number.
TEST_F(OfTask, NumbersOfOtherMemoryAreReadByTheRuntime) {
    load(
        "global p = 1, a, b\n"
        "function at(where) { try { return @uderef(2, where) / 2 } catch { return 7 } }\n"
        "probe timer.s(1) { a = at(p) }\nprobe timer.s(2) { b = 1; b = @uderef(4, p); b = b + 1 }\n"
        "probe timer.s(3) { p = get_cycles() }\nprobe end { println(a, b) }");
    number("p") = 4096;
    of_task<uint64_t>("mm") = 0;
    loaded_ = {0xffffffffffff8000, 0}; // the upper bytes say nothing
    run(0);
    EXPECT_EQ(number("a"), 0x4000);
    run(1);
    EXPECT_EQ(number("b"), 0xffff8001);
    const std::string two = " load 4096," + std::to_string(2 | DJS_READ_PROCESS),
                      four = " load 4096," + std::to_string(4 | DJS_READ_PROCESS);
    EXPECT_EQ(log_, two + four);
    log_.clear();
    loaded_.status = -1;
    run(0);
    EXPECT_EQ(number("a"), 7);
    run(1);
    EXPECT_EQ(number("b"), 1);
    EXPECT_EQ(log_, two + four + " unread 4096," + std::to_string(4 | DJS_READ_PROCESS));
    log_.clear();
    loaded_.status = 1;
    number("a") = 3;
    run(0);
    EXPECT_EQ(number("a"), 3);
    run(1);
    EXPECT_EQ(number("b"), 1);
    EXPECT_EQ(log_, two + four);
}

} // namespace djstap
