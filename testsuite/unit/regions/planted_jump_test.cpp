// SPDX-License-Identifier: GPL-2.0-or-later
// Jumps that are planted in a function of this process, at each place that is called safe: it
// computes the same, and a hit costs what docs/regions.md says.
#include "arch/instructions.h"
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

// Every instruction of two bytes is followed by a target, and all but jumps can be copied.
const std::string crowded_source = R"(
asm(".globl f\n .type f, @function\n"
    "f: xor %eax, %eax\n jmp 3f\n"
    "1: add $0x12345, %eax\n xor $0x777, %esi\n lea 5(%rax,%rsi), %eax\n"
    "2: add %esi, %eax\n"
    "3: sub %edi, %eax\n"
    "4: lea -1(%rdi), %edi\n lea 0x1111(%rax), %eax\n xor $0x55, %esi\n"
    "cmp $-3, %edi\n je 2b\n"
    "cmp $-1, %edi\n je 4b\n jg 1b\n cmp $-2, %edi\n je 3b\n"
    "xor %esi, %eax\n"
    "5: add %edi, %eax\n cmp $0x100, %eax\n ja 6f\n sub $0x100, %eax\n ja 5b\n"
    "6: ret\n .size f, .-f\n");
)";

using Function = int (*)(int, int);
constexpr size_t page_bytes = 4096;

volatile sig_atomic_t steps; // NOLINT

void count_step(int) {
    steps = steps + 1;
}

// Sets or clears the flag that makes the processor trap behind each instruction. Below the stack
// pointer are variables of this function, which calls nothing (the red zone).
__attribute__((noinline)) void step(bool on) {
    uint64_t flags = 0;
    asm volatile("leaq -128(%%rsp), %%rsp; pushfq; popq %0; leaq 128(%%rsp), %%rsp" : "=r"(flags));
    flags = on ? flags | 0x100 : flags & ~uint64_t{0x100};
    asm volatile("leaq -128(%%rsp), %%rsp; pushq %0; popfq; leaq 128(%%rsp), %%rsp" ::"r"(flags)
                 : "cc");
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
    // `region`: the bytes of the instructions that are displaced.
    void plant(uint8_t* place, size_t region) const {
        uint8_t* const begin = counting_code(place, region);
        std::fill(place, place + region, 0xcc); // entered by nobody
        write_jump(place, begin);
    }
    // By a short jump to one behind the jump at `room`, whose instructions are displaced, too.
    void plant(uint8_t* place, size_t region, uint8_t* room, size_t room_bytes) const {
        uint8_t* const begin = counting_code(place, region);
        uint8_t* const moved = static_cast<uint8_t*>(code_) + page_bytes / 2;
        write_jump(std::copy(room, room + room_bytes, moved), room + room_bytes);
        std::fill(room, room + room_bytes, 0xcc);
        write_jump(write_jump(room, moved), begin);
        std::fill(place, place + region, 0xcc);
        place[0] = 0xeb;
        place[1] = static_cast<uint8_t>(room + jump_bytes - (place + 2));
    }

  private:
    static constexpr size_t jump_bytes = 5;
    // Counts, executes the instructions, and continues behind them.
    uint8_t* counting_code(const uint8_t* place, size_t region) const {
        uint8_t* const begin = static_cast<uint8_t*>(code_) + sizeof(uint64_t);
        uint8_t* at = begin;
        *at++ = 0x9c;                                // pushfq
        const uint8_t increment[] = {0x48, 0xff, 5}; // incq count(%rip)
        at = std::copy(std::begin(increment), std::end(increment), at);
        at = relative(at, reinterpret_cast<uint8_t*>(&count()));
        *at++ = 0x9d; // popfq
        write_jump(std::copy(place, place + region, at), place + region);
        return begin;
    }
    static uint8_t* write_jump(uint8_t* at, const uint8_t* target) {
        *at = 0xe9;
        return relative(at + 1, target);
    }
    static uint8_t* relative(uint8_t* at, const uint8_t* target) {
        const auto distance = static_cast<int32_t>(target - (at + sizeof(int32_t)));
        std::memcpy(at, &distance, sizeof distance);
        return at + sizeof distance;
    }
    void* code_ = MAP_FAILED;
};

// A function that is loaded into this process and may be written to.
class Loaded {
  public:
    Loaded(const std::string& text, regions::Model model)
        : program_(Program::compiled(
              text, "f.c",
              {"gcc", "-O2", "-shared", "-fPIC", "-mno-red-zone", "-fno-jump-tables"})),
          analysis_(program_.path(), model) {
        library_ = dlopen(program_.path().c_str(), RTLD_NOW);
        link_map* map = nullptr;
        const auto number = analysis_.ok() ? analysis_->function("f") : std::nullopt;
        if (!library_ || dlinfo(library_, RTLD_DI_LINKMAP, &map) != 0 || !number) {
            ADD_FAILURE() << "the library is not loaded";
            return;
        }
        base_ = reinterpret_cast<uint8_t*>(map->l_addr);
        number_ = *number;
        const regions::FunctionResult& of = analysis_->functions()[number_];
        uint8_t* const first = base_ + of.address / page_bytes * page_bytes;
        const size_t bytes = base_ + of.address + of.size - first;
        ok_ = mprotect(first, bytes, PROT_READ | PROT_WRITE | PROT_EXEC) == 0;
        EXPECT_TRUE(ok_);
    }
    ~Loaded() {
        if (library_)
            dlclose(library_);
    }
    Loaded(const Loaded&) = delete;
    Loaded& operator=(const Loaded&) = delete;

    bool ok() const { return ok_; }
    Function function() const { return reinterpret_cast<Function>(dlsym(library_, "f")); }
    uint8_t* base() const { return base_; }
    uint8_t* at(uint64_t address) const { return base_ + address; }
    const Analyzed& analysis() const { return analysis_; }
    std::vector<regions::Place> places() const { return analysis_->places(number_); }

  private:
    const Program program_;
    const Analyzed analysis_;
    void* library_ = nullptr;
    uint8_t* base_ = nullptr;
    size_t number_ = 0;
    bool ok_ = false;
};

// Returns how many bytes the instructions from `first` on have that take at least `needed`; 0 if
// one of them cannot be copied byte by byte.
size_t copied_bytes(const Loaded& loaded, const std::vector<regions::Place>& places, uint64_t first,
                    size_t needed) {
    const auto decoder = arch::InstructionDecoder::create();
    size_t bytes = 0;
    for (const regions::Place& each : places) {
        if (each.address < first || bytes >= needed)
            continue;
        if (!decoder->decode(loaded.analysis()->bytes(each), each.address).kernel_copies)
            return 0;
        bytes += each.length;
    }
    return bytes;
}

} // namespace

TEST(PlantedJump, EachSafePlaceOfAFunction) {
    const Loaded loaded(source, regions::Model::Kernel);
    ASSERT_TRUE(loaded.ok());
    const Function function = loaded.function();
    struct sigaction handler = {}, before = {};
    handler.sa_handler = count_step;
    sigaction(SIGTRAP, &handler, &before);

    const std::vector<int> expected = results(function);
    const int unpatched = run_steps(function, 9, 3);
    const Detour detour(loaded.base());
    ASSERT_TRUE(detour.ok());
    int planted = 0, hit = 0;
    for (const regions::Place& place : loaded.places()) {
        if (!place.safe())
            continue;
        uint8_t* const at = loaded.at(place.address);
        const std::vector<uint8_t> original(at, at + place.region);
        detour.plant(at, place.region);
        const std::string name = loaded.analysis()->describe(place.address);
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
}

TEST(PlantedJump, EachShortOneByARoom) {
    const Loaded loaded(crowded_source, regions::Model::Short);
    ASSERT_TRUE(loaded.ok());
    const Function function = loaded.function();
    const std::vector<int> expected = results(function);
    const Detour detour(loaded.base());
    ASSERT_TRUE(detour.ok());
    const std::vector<regions::Place> places = loaded.places();
    const uint64_t low = places.front().address, end = places.back().address + places.back().length;
    const std::vector<uint8_t> original(loaded.at(low), loaded.at(end));
    int planted = 0, hit = 0;
    for (const regions::Place& place : places) {
        if (!place.room)
            continue;
        const size_t region = copied_bytes(loaded, places, place.address, 2);
        const size_t moved = copied_bytes(loaded, places, place.room, 10);
        if (!region || !moved)
            continue;
        const std::string name = loaded.analysis()->describe(place.address);
        EXPECT_EQ(place.region, region) << name;
        EXPECT_EQ(place.space, place.room + 5) << name;
        detour.count() = 0;
        detour.plant(loaded.at(place.address), region, loaded.at(place.room), moved);
        EXPECT_EQ(results(function), expected) << name;
        planted++;
        hit += detour.count() > 0;
        std::copy(original.begin(), original.end(), loaded.at(low));
    }
    EXPECT_GE(planted, 3);
    EXPECT_EQ(hit, planted);
}
