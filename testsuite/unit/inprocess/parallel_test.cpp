// SPDX-License-Identifier: GPL-2.0-or-later
// Runs one handler on several CPUs at the same time, which are threads here: tests the kernel
// runtime's locks, and the code of handlers with and without a context.
#include "harness/user_object.h"
#include "include/control.h"
#include "include/record.h"
#include "inprocess/linked_script.h"
#include "userspace/userspace.h"

#include <atomic>
#include <climits>
#include <cstring>
#include <gtest/gtest.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace djstap {
namespace {

constexpr unsigned cpus = 4;
// For each CPU: more than a thread executes between two scheduler ticks, so that handlers run
// concurrently even if they share a processor.
constexpr unsigned hits = 200'000;
const std::string all = std::to_string(cpus * hits), half = std::to_string(cpus * hits / 2),
                  twice = std::to_string(2 * cpus * hits);

// Returns the messages of the run-time errors on this CPU.
std::vector<std::string> errors_on(uint32_t cpu) {
    u64 *tail, bytes;
    char* data;
    djs_user_ring(cpu, &tail, &data, &bytes);
    std::vector<std::string> found;
    for (u64 at = 0; at + sizeof(djs_record) < bytes;) {
        const auto* record = reinterpret_cast<const djs_record*>(data + at);
        if (!record->size)
            break;
        u32 length;
        memcpy(&length, record + 1, sizeof length);
        if (record->id == DJS_RECORD_ERROR)
            found.emplace_back(reinterpret_cast<const char*>(record + 1) + sizeof length, length);
        at += record->size;
    }
    return found;
}

// Runs the script's first handlers, each on its share of the CPUs and repeatedly on each, and
// returns its errors: an end probe checks the results.
std::vector<std::string> run_in_parallel(const std::string& text, uint32_t handlers = 1) {
    CodegenOptions codegen;
    codegen.limits.MAXTRYLOCK = INT_MAX; // a waiter gets the lock, however busy the machine is
    std::string problem;
    const auto object = test::user_object(text, codegen, problem);
    if (!object)
        return {problem};
    EXPECT_EQ(djs_user_init(cpus), 0);
    auto linked = LinkedScript::link(object->object);
    if (!linked)
        return {linked.failure().message};
    djs_user_options options{};
    options.ring_bytes = 65536;
    if (djs_user_load(&linked->script(), &options) || djs_session_start())
        return {djs_user_complaint()};
    alarm(600); // an array that two CPUs changed at once may have an endless chain
    std::atomic<unsigned> ready = 0;
    std::vector<std::thread> threads;
    for (unsigned cpu = 0; cpu < cpus; cpu++)
        threads.emplace_back([&ready, cpu, handlers] {
            djs_user_be_cpu(cpu);
            for (ready++; ready < cpus;)
                std::this_thread::yield();
            for (unsigned i = 0; i < hits; i++)
                djs_user_run_handler(cpu % handlers);
        });
    for (std::thread& thread : threads)
        thread.join();
    alarm(0);
    djs_session_stop();
    djs_counts counts;
    djs_user_counts(&counts);
    std::vector<std::string> errors;
    for (unsigned cpu = 0; cpu < cpus; cpu++)
        for (std::string& error : errors_on(cpu))
            errors.push_back(std::move(error));
    if (counts.skipped_locked)
        errors.push_back(std::to_string(counts.skipped_locked) + " hits were skipped");
    djs_user_unload();
    djs_user_exit();
    return errors;
}

const std::vector<std::string> none;

} // namespace

TEST(Parallel, HandlersThatChangeTheSameNumbersTakeTurns) {
    EXPECT_EQ(run_in_parallel(R"(
        global a, b, wrong
        probe timer.s(100000) {
            if (a != b) wrong++
            a = a + 1 # by ++ alone they were counters of each CPU, which have no lock
            for (i = 0; i < 20; i++) x += i
            b = a
        }
        probe end { if (wrong || a != )" +
                              all + R"( || b != a) error(sprintf("%d %d %d", wrong, a, b)) })"),
              none);
}

TEST(Parallel, HandlersThatChangeTheSameArraysTakeTurns) {
    EXPECT_EQ(
        run_in_parallel(
            R"(
        global a, b, wrong, keys, text, both
        probe timer.s(100000) {
            if (a != b) wrong++
            a = a + 1
            for (i = 0; i < 20; i++) keys[i]++
            text = sprintf("%d", a)
            both[text] = a
            if (both[text] != b + 1) wrong++
            delete both[text]
            b = a
        }
        probe end {
            foreach (i in keys) if (keys[i] != a) wrong++
            if (wrong || a != )" +
            all +
            R"( || b != a || text != sprintf("%d", a)) error(sprintf("%d %d %d %s", wrong, a, b, text))
        })"),
        none);
}

TEST(Parallel, NumbersOfArraysWithoutAContext) {
    EXPECT_EQ(run_in_parallel(R"(
        global keys, twice, n
        probe timer.s(100000) { keys[1]++; keys[2] += 3; twice[keys[1] % 7] += 2; n++ }
        probe end {
            foreach (i in twice) sum += twice[i]
            if (n != )" + all +
                              R"( || keys[1] != n || keys[2] != 3 * n || sum != 2 * n)
                error(sprintf("%d %d %d %d", keys[1], keys[2], sum, n))
        })"),
              none);
}

TEST(Parallel, StatisticsOfAllCpusAreAddedUp) {
    EXPECT_EQ(run_in_parallel(R"(
        global plain, spread, of
        probe timer.s(100000) { plain <<< 7; plain <<< -2; spread <<< 5; of["all"] <<< 1 }
        probe end {
            if (@count(plain) != )" +
                              twice + R"( || @sum(plain) != 5 * )" + all +
                              R"( || @min(plain) != -2 || @max(plain) != 7)
                error(sprintf("plain %d %d", @count(plain), @sum(plain)))
            if (@count(spread) != )" +
                              all + R"( || @sum(spread) != 5 * @count(spread) || @variance(spread))
                error(sprintf("spread %d", @count(spread)))
            if (@count(of["all"]) != @count(spread) || @sum(of["all"]) != @count(spread)) error(sprintf("of %d", @count(of["all"])))
        })"),
              none);
}

TEST(Parallel, ReadersSeeNoWriterHalfDone) {
    EXPECT_EQ(run_in_parallel(R"(
        global a, b, torn, looked
        probe timer.s(100000) { a[1]++; for (i = 0; i < 50; i++) x += i; b[1]++ }
        probe timer.s(100000) { if (a[1] != b[1]) torn++; looked++ }
        probe end {
            if (torn || looked != )" +
                                  half + R"( || a[1] != looked || b[1] != looked)
                error(sprintf("%d %d %d %d", torn, looked, a[1], b[1]))
        })",
                              2),
              none);
}

} // namespace djstap
