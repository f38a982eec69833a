// SPDX-License-Identifier: GPL-2.0-or-later
// Measures what handlers cost, in user space: generated code is compared with the same code in C,
// and the runtime's arrays with std::unordered_map. scripts/bench handlers runs it.
//
//   bench_handlers --instructions BENCHMARK OPERATIONS
//       runs only one case this many times: for callgrind
#include "harness/user_object.h"
#include "include/control.h"
#include "inprocess/linked_script.h"
#include "userspace/userspace.h"

#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <tuple>
#include <unordered_map>

using namespace djstap;

namespace {

constexpr int64_t turns = 10'000; // iterations of a handler's own loop

// ---- a script that is linked into this process ----

class Script {
  public:
    explicit Script(const std::string& text) {
        djs_user_init(4);
        auto linked = LinkedScript::link(compile(text));
        if (!linked) {
            fprintf(stderr, "%s\n", linked.failure().message.c_str());
            exit(1);
        }
        linked_ = std::make_unique<LinkedScript>(std::move(*linked));
        djs_user_options options{};
        options.ring_bytes = 65536;
        if (djs_user_load(&linked_->script(), &options) || djs_session_start()) {
            fprintf(stderr, "%s\n", djs_user_complaint());
            exit(1);
        }
    }
    ~Script() {
        djs_session_stop();
        djs_user_unload();
        linked_.reset();
        djs_user_exit();
    }
    Script(const Script&) = delete;
    Script& operator=(const Script&) = delete;

    void run(uint32_t handler) const { djs_user_run_handler(handler); }

  private:
    static std::string compile(const std::string& text) {
        CodegenOptions options;
        options.limits.MAXACTION = INT32_MAX;
        options.limits.MAXSKIPPED = INT32_MAX;
        std::string problem;
        auto object = test::user_object(text, options, problem);
        if (!object) {
            fprintf(stderr, "%s", problem.c_str());
            exit(1);
        }
        return object->object;
    }

    std::unique_ptr<LinkedScript> linked_;
};

std::string in_loop(const std::string& globals, const std::string& before, const std::string& body,
                    const std::string& after) {
    return globals + " probe timer.s(100000) { " + before + " for (i = 0; i < " +
           std::to_string(turns) + "; i++) { " + body + " } " + after + " }";
}

void run_script(benchmark::State& state, const std::string& text) {
    const Script script(text);
    script.run(0);
    for (auto _ : state)
        script.run(0);
    state.SetItemsProcessed(state.iterations() * turns);
}

// ---- loops that a compiler can neither fold nor vectorize ----

// The language counts statements and stops after MAXACTION of them.
struct Actions {
    int32_t left;
    const char* error;
};

__attribute__((noinline)) int64_t xorshift_in_c(Actions& actions, int64_t x) {
    for (int64_t i = 0;; i++, actions.left -= 4) {
        if (actions.left < 0) {
            actions.error = "MAXACTION exceeded";
            return 0;
        }
        if (i >= turns)
            return x;
        auto u = static_cast<uint64_t>(x);
        u ^= u << 13;
        u ^= u >> 7;
        u ^= u << 17;
        x = static_cast<int64_t>(u);
    }
}

void XorshiftScript(benchmark::State& state) {
    run_script(state, in_loop("global out", "x = 88172645463325252",
                              "x ^= x << 13; x ^= x >>> 7; x ^= x << 17", "out = x"));
}
void XorshiftC(benchmark::State& state) {
    for (auto _ : state) {
        Actions actions{INT32_MAX, nullptr};
        benchmark::DoNotOptimize(actions);
        benchmark::DoNotOptimize(xorshift_in_c(actions, 88172645463325252));
    }
    state.SetItemsProcessed(state.iterations() * turns);
}
BENCHMARK(XorshiftScript);
BENCHMARK(XorshiftC);

__attribute__((noinline)) int64_t collatz_in_c(Actions& actions) {
    int64_t steps = 0;
    for (int64_t i = 1;; i++, actions.left -= 2) {
        if (actions.left < 0) {
            actions.error = "MAXACTION exceeded";
            return 0;
        }
        if (i > 1000)
            return steps;
        for (int64_t n = i;; actions.left -= 3) {
            if (actions.left < 0) {
                actions.error = "MAXACTION exceeded";
                return 0;
            }
            if (n == 1)
                break;
            n = n & 1 ? 3 * n + 1 : n / 2;
            steps++;
        }
    }
}

void CollatzScript(benchmark::State& state) {
    const Script script("global out probe timer.s(100000) { for (i = 1; i <= 1000; i++) { n = i; "
                        "while (n != 1) { n = (n & 1) ? 3 * n + 1 : n / 2; steps++ } } "
                        "out = steps }");
    for (auto _ : state)
        script.run(0);
}
void CollatzC(benchmark::State& state) {
    for (auto _ : state) {
        Actions actions{INT32_MAX, nullptr};
        benchmark::DoNotOptimize(actions);
        benchmark::DoNotOptimize(collatz_in_c(actions));
    }
}
BENCHMARK(CollatzScript);
BENCHMARK(CollatzC);

// ---- arrays ----

// The same keys for all: the upper bits of a linear congruential generator.
constexpr const char* next_in_script = "l = l * 6364136223846793005 + 1442695040888963407; ";
// The size is a constant for both: dividing by a variable would dominate the cost of a look-up.
template <int64_t size> int64_t next_key(uint64_t& k) {
    k = k * 6364136223846793005u + 1442695040888963407u;
    return static_cast<int64_t>(k >> 33) % size;
}

// The script reads the array once: an array that is only written is sorted and printed at the end.
std::string array_script(int64_t size, const std::string& use) {
    const std::string of = std::to_string(size);
    return "global a[" + of + "], k = 1, out probe timer.s(100000) { for (i = 0; i < " + of +
           "; i++) a[i] = 1; out = a[0] } " +
           in_loop("", "l = k", next_in_script + std::string("j = (l >>> 33) % ") + of + "; " + use,
                   "out = s; k = l");
}
std::string mixed_script(int64_t size, const std::string& use) {
    const std::string of = std::to_string(size);
    return "global a[" + of + "], k = 1, out probe timer.s(100000) { for (i = 0; i < " + of +
           "; i++) a[i, (i & 1) ? \"read\" : \"write\", i & 7] = 1; out = a[0, \"read\", 0] } " +
           in_loop("", "l = k",
                   next_in_script + std::string("j = (l >>> 33) % ") + of +
                       "; w = (j & 1) ? \"read\" : \"write\"; " + use,
                   "out = s; k = l");
}

// The first handler fills the array, the second one is measured.
void run_array(benchmark::State& state, const std::string& text) {
    const Script script(text);
    script.run(0);
    script.run(1);
    for (auto _ : state)
        script.run(1);
    state.SetItemsProcessed(state.iterations() * turns);
}

constexpr const char* update = "a[j] += i; s++";
constexpr const char* look_up = "s += a[j]";
constexpr const char* mixed_update = "a[j, w, j & 7] += i; s++";
constexpr const char* mixed_look_up = "s += a[j, w, j & 7]";

template <int64_t size> void UpdateScript(benchmark::State& state) {
    run_array(state, array_script(size, update));
}
template <int64_t size> void LookupScript(benchmark::State& state) {
    run_array(state, array_script(size, look_up));
}
template <int64_t size> void MixedUpdateScript(benchmark::State& state) {
    run_array(state, mixed_script(size, mixed_update));
}
template <int64_t size> void MixedLookupScript(benchmark::State& state) {
    run_array(state, mixed_script(size, mixed_look_up));
}

using Map = std::unordered_map<int64_t, int64_t>;
using Mixed = std::tuple<int64_t, std::string, int64_t>;
struct HashMixed {
    size_t operator()(const Mixed& key) const {
        size_t hash = std::hash<int64_t>()(std::get<0>(key));
        hash = hash * 0x9e3779b97f4a7c15u + std::hash<std::string>()(std::get<1>(key));
        return hash * 0x9e3779b97f4a7c15u + std::hash<int64_t>()(std::get<2>(key));
    }
};
using MixedMap = std::unordered_map<Mixed, int64_t, HashMixed>;

Map make_map(int64_t size) {
    Map map;
    map.reserve(static_cast<size_t>(size));
    for (int64_t i = 0; i < size; i++)
        map[i] = 1;
    return map;
}
Mixed mixed_key(int64_t j) {
    return {j, j & 1 ? "read" : "write", j & 7};
}
MixedMap make_mixed(int64_t size) {
    MixedMap map;
    map.reserve(static_cast<size_t>(size));
    for (int64_t i = 0; i < size; i++)
        map[mixed_key(i)] = 1;
    return map;
}

// One run of the handler's loop.
template <int64_t size, class Container, class Use>
void use_container(Container& map, uint64_t& k, Use use) {
    int64_t s = 0;
    for (int64_t i = 0; i < turns; i++)
        use(map, next_key<size>(k), i, s);
    benchmark::DoNotOptimize(s);
}
template <int64_t size, class Container, class Use>
void run_container(benchmark::State& state, Container map, Use use) {
    uint64_t k = 1;
    use_container<size>(map, k, use);
    for (auto _ : state)
        use_container<size>(map, k, use);
    state.SetItemsProcessed(state.iterations() * turns);
}
constexpr auto update_map = [](Map& map, int64_t j, int64_t i, int64_t& s) {
    map[j] += i;
    s++;
};
constexpr auto look_up_map = [](Map& map, int64_t j, int64_t, int64_t& s) {
    auto found = map.find(j);
    s += found == map.end() ? 0 : found->second;
};
constexpr auto update_mixed = [](MixedMap& map, int64_t j, int64_t i, int64_t& s) {
    map[mixed_key(j)] += i;
    s++;
};
constexpr auto look_up_mixed = [](MixedMap& map, int64_t j, int64_t, int64_t& s) {
    auto found = map.find(mixed_key(j));
    s += found == map.end() ? 0 : found->second;
};

template <int64_t size> void UpdateUnordered(benchmark::State& state) {
    run_container<size>(state, make_map(size), update_map);
}
template <int64_t size> void LookupUnordered(benchmark::State& state) {
    run_container<size>(state, make_map(size), look_up_map);
}
template <int64_t size> void MixedUpdateUnordered(benchmark::State& state) {
    run_container<size>(state, make_mixed(size), update_mixed);
}
template <int64_t size> void MixedLookupUnordered(benchmark::State& state) {
    run_container<size>(state, make_mixed(size), look_up_mixed);
}
BENCHMARK(UpdateScript<1000>);
BENCHMARK(UpdateScript<1000000>);
BENCHMARK(UpdateUnordered<1000>);
BENCHMARK(UpdateUnordered<1000000>);
BENCHMARK(LookupScript<1000>);
BENCHMARK(LookupScript<1000000>);
BENCHMARK(LookupUnordered<1000>);
BENCHMARK(LookupUnordered<1000000>);
BENCHMARK(MixedUpdateScript<1000>);
BENCHMARK(MixedUpdateUnordered<1000>);
BENCHMARK(MixedLookupScript<1000>);
BENCHMARK(MixedLookupUnordered<1000>);

// ---- two threads ----

// Each thread is a CPU of its own.
void run_on_cpus(benchmark::State& state, const std::string& text) {
    static std::unique_ptr<Script> script;
    if (state.thread_index() == 0)
        script = std::make_unique<Script>(text);
    for (auto _ : state) {
        if (djs_user_this_cpu() != static_cast<uint32_t>(state.thread_index()))
            djs_user_be_cpu(static_cast<uint32_t>(state.thread_index()));
        script->run(1); // the end probe is the first handler
    }
    // All threads have left their loops here. A run that did not get its lock in time did no work.
    int64_t done = state.iterations();
    if (state.thread_index() == 0) {
        djs_counts counts{};
        djs_user_counts(&counts);
        done -= static_cast<int64_t>(counts.skipped_locked);
        state.counters["skipped"] = static_cast<double>(counts.skipped_locked);
    }
    state.SetItemsProcessed(done * turns);
    djs_user_be_cpu(0);
    if (state.thread_index() == 0)
        script.reset();
}
void CounterOnCpus(benchmark::State& state) {
    run_on_cpus(state, in_loop("global n probe end { println(n) }", "", "n++", ""));
}
void StatisticOnCpus(benchmark::State& state) {
    run_on_cpus(state, in_loop("global t probe end { println(@sum(t)) }", "", "t <<< i", ""));
}
// Under the array's lock: the CPUs wait for each other.
void ArrayOnCpus(benchmark::State& state) {
    run_on_cpus(state, in_loop("global a probe end { println(a[1]) }", "", "a[i & 63]++", ""));
}
BENCHMARK(CounterOnCpus)->Threads(1)->Threads(2)->UseRealTime();
BENCHMARK(StatisticOnCpus)->Threads(1)->Threads(2)->UseRealTime();
BENCHMARK(ArrayOnCpus)->Threads(1)->Threads(2)->UseRealTime();

// ---- for callgrind ----

void run_scripts(const std::string& text, int64_t operations) {
    const Script script(text);
    script.run(0);
    for (int64_t done = 0; done < operations; done += turns)
        script.run(1);
}
template <int64_t size, class Container, class Use>
void run_containers(Container map, Use use, int64_t operations) {
    uint64_t k = 1;
    for (int64_t done = 0; done < operations; done += turns)
        use_container<size>(map, k, use);
}

struct Counted {
    const char* name;
    void (*run)(int64_t operations);
};
template <int64_t size>
constexpr Counted counted[] = {
    {"UpdateScript", [](int64_t n) { run_scripts(array_script(size, update), n); }},
    {"LookupScript", [](int64_t n) { run_scripts(array_script(size, look_up), n); }},
    {"MixedUpdateScript", [](int64_t n) { run_scripts(mixed_script(size, mixed_update), n); }},
    {"MixedLookupScript", [](int64_t n) { run_scripts(mixed_script(size, mixed_look_up), n); }},
    {"UpdateUnordered", [](int64_t n) { run_containers<size>(make_map(size), update_map, n); }},
    {"LookupUnordered", [](int64_t n) { run_containers<size>(make_map(size), look_up_map, n); }},
    {"MixedUpdateUnordered",
     [](int64_t n) { run_containers<size>(make_mixed(size), update_mixed, n); }},
    {"MixedLookupUnordered",
     [](int64_t n) { run_containers<size>(make_mixed(size), look_up_mixed, n); }},
};

int run_for_callgrind(const std::string& name, int64_t operations) {
    for (const Counted& each : counted<1000>)
        if (name == std::string(each.name) + "<1000>")
            return each.run(operations), 0;
    for (const Counted& each : counted<1000000>)
        if (name == std::string(each.name) + "<1000000>")
            return each.run(operations), 0;
    fprintf(stderr, "there is no case %s\n", name.c_str());
    return 1;
}

} // namespace

int main(int argc, char** argv) {
    if (argc == 4 && std::string(argv[1]) == "--instructions")
        return run_for_callgrind(argv[2], strtoll(argv[3], nullptr, 10));
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv))
        return 1;
    benchmark::RunSpecifiedBenchmarks();
    return 0;
}
