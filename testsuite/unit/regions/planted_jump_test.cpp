// SPDX-License-Identifier: GPL-2.0-or-later
// Jumps that are planted in a function of this process, at each place that is called safe: it
// computes the same, and a hit costs what docs/regions.md says.
#include "program.h"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>

using namespace djstap;
using namespace djstap::test;

namespace {

// Loops, a switch and calls, without operands that are relative to the instruction. Like the
// kernel, it has no red zone.
const std::string source = R"(
__attribute__((noinline)) static int twice(int n) { asm volatile(""); return n + n; }
int f(int n, int m) {
    int sum = m * 3 + 7;
    for (int i = 0; i < n; i++) {
        switch ((i ^ m) & 7) {
        case 0: sum += i << 3; break;
        case 1: sum ^= twice(i) + 0x1234567; break;
        case 2: sum -= m - 0x7654321; break;
        case 3: if (sum & 4) sum = twice(sum ^ m); break;
        case 4: sum += 0x101010 * i; break;
        case 5: sum = (sum >> 5) | (sum << 27); break;
        default: sum += twice(m) - i;
        }
    }
    return sum;
}
)";

using Function = int (*)(int, int);
constexpr size_t page_bytes = 4096;

volatile sig_atomic_t steps; // NOLINT

void count_step(int) {
    steps = steps + 1;
}

// Sets or clears the flag that makes the processor trap behind each instruction.
__attribute__((noinline)) void step(bool on) {
    uint64_t flags = 0;
    asm volatile("pushfq; popq %0" : "=r"(flags));
    flags = on ? flags | 0x100 : flags & ~uint64_t{0x100};
    asm volatile("pushq %0; popfq" ::"r"(flags) : "cc");
}

__attribute__((noinline)) int run_steps(Function function, int n, int m) {
    steps = 0;
    step(true);
    function(n, m);
    step(false);
    return steps;
}

std::vector<int> results(Function function) {
    std::vector<int> values;
    for (int n = 0; n < 20; n++)
        for (int m = -3; m < 9; m++)
            values.push_back(function(n, m));
    return values;
}

// Code beside a library: counts, executes what the jump displaced, jumps back.
class Detour {
  public:
    explicit Detour(uint8_t* near) {
        // Within reach of a jump; sanitizers have much of the address space.
        for (ptrdiff_t pages = 16; pages < 0x40000 && !ok(); pages += 61)
            for (const ptrdiff_t distance : {pages, -pages})
                if (!ok())
                    code_ = mmap(near + distance * static_cast<ptrdiff_t>(page_bytes), page_bytes,
                                 PROT_READ | PROT_WRITE | PROT_EXEC,
                                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    }
    ~Detour() {
        if (ok())
            munmap(code_, page_bytes);
    }
    Detour(const Detour&) = delete;
    Detour& operator=(const Detour&) = delete;

    static constexpr int instructions = 5; // with the jump to it
    bool ok() const { return code_ != MAP_FAILED; }
    uint64_t& count() const { return *static_cast<uint64_t*>(code_); }
    void plant(uint8_t* place, size_t region) const {
        uint8_t* const begin = static_cast<uint8_t*>(code_) + sizeof(uint64_t);
        uint8_t* at = begin;
        *at++ = 0x9c;                                // pushfq
        const uint8_t increment[] = {0x48, 0xff, 5}; // incq count(%rip)
        at = std::copy(std::begin(increment), std::end(increment), at);
        at = relative(at, reinterpret_cast<uint8_t*>(&count()));
        *at++ = 0x9d; // popfq
        at = std::copy(place, place + region, at);
        *at++ = 0xe9;
        relative(at, place + region);
        place[0] = 0xe9;
        relative(place + 1, begin);
        std::fill(place + 5, place + region, 0xcc); // entered by nobody
    }

  private:
    static uint8_t* relative(uint8_t* at, const uint8_t* target) {
        const auto distance = static_cast<int32_t>(target - (at + sizeof(int32_t)));
        std::memcpy(at, &distance, sizeof distance);
        return at + sizeof distance;
    }
    void* code_ = MAP_FAILED;
};

} // namespace

TEST(PlantedJump, EachSafePlaceOfAFunction) {
    const Program program = Program::compiled(
        source, "f.c", {"gcc", "-O2", "-shared", "-fPIC", "-mno-red-zone", "-fno-jump-tables"});
    const Analyzed analysis(program.path(), regions::Model::Kernel);
    ASSERT_TRUE(analysis.ok());
    void* library = dlopen(program.path().c_str(), RTLD_NOW);
    ASSERT_TRUE(library) << dlerror();
    auto* function = reinterpret_cast<Function>(dlsym(library, "f"));
    link_map* map = nullptr;
    ASSERT_EQ(dlinfo(library, RTLD_DI_LINKMAP, &map), 0);
    auto* base = reinterpret_cast<uint8_t*>(map->l_addr);
    const auto number = analysis->function("f");
    ASSERT_TRUE(number);
    const regions::FunctionResult& of = analysis->functions()[*number];
    uint8_t* const first = base + of.address / page_bytes * page_bytes;
    const size_t bytes = base + of.address + of.size - first;
    ASSERT_EQ(mprotect(first, bytes, PROT_READ | PROT_WRITE | PROT_EXEC), 0);
    struct sigaction handler = {}, before = {};
    handler.sa_handler = count_step;
    sigaction(SIGTRAP, &handler, &before);

    const std::vector<int> expected = results(function);
    const int unpatched = run_steps(function, 9, 3);
    const Detour detour(base);
    ASSERT_TRUE(detour.ok());
    int planted = 0, hit = 0;
    for (const regions::Place& place : analysis->places(*number)) {
        if (!place.safe())
            continue;
        uint8_t* const at = base + place.address;
        const std::vector<uint8_t> original(at, at + place.region);
        detour.plant(at, place.region);
        const std::string name = analysis->describe(place.address);
        EXPECT_EQ(results(function), expected) << name;
        detour.count() = 0;
        const int patched = run_steps(function, 9, 3);
        const int hits = static_cast<int>(detour.count());
        EXPECT_LE(patched - unpatched, Detour::instructions * hits) << name;
        // A displaced return needs no jump back.
        EXPECT_GE(patched - unpatched, (Detour::instructions - 1) * hits) << name;
        planted++;
        hit += detour.count() > 0;
        std::copy(original.begin(), original.end(), at);
    }
    EXPECT_GT(planted, 10);
    EXPECT_GT(hit, 5);
    sigaction(SIGTRAP, &before, nullptr);
    dlclose(library);
}
