// SPDX-License-Identifier: GPL-2.0-or-later
// The analysis of compiled programs, beside the relocations that the linker keeps of them (-q).
// These tell every address of code that is in data; the analyzed file has none of them.
#include "program.h"

#include "arch/arch.h"

#include <algorithm>
#include <cstring>
#include <elf.h>
#include <map>
#include <set>

using namespace djstap;
using namespace djstap::test;

namespace {

// Switches of many kinds: dense, with holes, with a range far from zero, nested, in loops.
const char* const switches = R"(
extern int printf(const char*, ...);
int sink;
#define C(n) case n: sink += (x * n) ^ sink; sink ^= 0x1234 + n; if (sink > n) sink -= y * n; break;
#define TEN(n) C(n) C(n + 1) C(n + 2) C(n + 3) C(n + 4) C(n + 5) C(n + 6) C(n + 7) C(n + 8) C(n + 9)
__attribute__((noinline)) int dense(int x, int y) {
    for (int i = 0; i < y; i++) switch (x + i) { TEN(0) TEN(10) TEN(20) TEN(30) default: sink++; }
    return sink;
}
__attribute__((noinline)) int holes(int x, int y) {
    switch (x) { C(0) C(3) C(4) C(9) C(11) C(12) C(17) C(20) C(21) default: return y; }
    return sink + x;
}
__attribute__((noinline)) int far_away(int x, int y) {
    switch (x) { TEN(100000) TEN(100010) TEN(-50) default: sink--; }
    return sink;
}
__attribute__((noinline)) int nested(int x, int y) {
    switch (y & 7) {
        case 0: switch (x) { TEN(0) default: sink = 2; } break;
        case 1: switch (x) { TEN(5) TEN(15) default: sink = 3; } break;
        case 2: while (x-- > 3) switch (x & 15) { TEN(0) C(10) C(11) default: sink = 4; } break;
        case 3: sink = x; break; case 4: sink = y; break; case 5: sink = x * y; break;
        default: return dense(x, y);
    }
    return sink;
}
__attribute__((noinline, cold)) void rare(int x) { printf("%d\n", x); }
__attribute__((noinline)) int with_cold(int x, int y) {
    if (__builtin_expect(x == 77, 0)) { rare(x); x++; }
    switch (x) { TEN(0) TEN(10) default: rare(y); sink++; }
    if (__builtin_expect(sink == 3, 0)) { rare(y); rare(x); sink = 5; }
    return sink;
}
__attribute__((noinline)) int interpret(const unsigned char* code) {
    static void* const labels[] = {&&stop, &&add, &&sub, &&mul, &&neg, &&swap, &&dup, &&jump};
    int a = 1, b = 2;
    goto *labels[*code++ & 7];
add: a += b; goto *labels[*code++ & 7];
sub: a -= b; goto *labels[*code++ & 7];
mul: a *= b; if (a > 1000) rare(a); goto *labels[*code++ & 7];
neg: a = -a; goto *labels[*code++ & 7];
swap: { int t = a; a = b; b = t; } goto *labels[*code++ & 7];
dup: b = a; sink += b; goto *labels[*code++ & 7];
jump: code += *code; goto *labels[*code++ & 7];
stop: return a + b;
}
__attribute__((noinline)) int distances(const unsigned char* code) {
    static const int offsets[] = {&&stop - &&stop, &&add - &&stop, &&sub - &&stop, &&mul - &&stop};
    int a = 1, b = 2;
    goto *(&&stop + offsets[*code++ & 3]);
add: a += b; sink++; goto *(&&stop + offsets[*code++ & 3]);
sub: a -= b; sink--; goto *(&&stop + offsets[*code++ & 3]);
mul: a *= b; sink ^= a; goto *(&&stop + offsets[*code++ & 3]);
stop: return a + b;
}
int main(int argc, char** argv) {
    const unsigned char code[] = {1, 2, 3, 4, 5, 6, 1, 0}, other[] = {1, 2, 3, 0};
    return dense(argc, 3) + holes(argc, 2) + far_away(argc, 1) + nested(argc, argc) +
           with_cold(argc, 9) + interpret(code) + distances(other);
}
)";

const char* const exceptions = R"(
#include <cstdio>
#include <stdexcept>
#include <string>
struct Guard { std::string name; ~Guard() { puts(name.c_str()); } };
__attribute__((noinline)) int risky(int x) {
    switch (x) {
        case 0: throw std::runtime_error("zero");
        case 1: throw 1;
        case 2: throw std::string("two");
        case 3: return 7; case 4: return 19; case 5: return 23; case 6: return -1;
        default: return x * 3;
    }
}
__attribute__((noinline)) int handles(int x) {
    Guard first{"first" + std::to_string(x)};
    try {
        Guard second{"second"};
        return risky(x) + risky(x + 1);
    } catch (const std::exception& e) {
        Guard third{e.what()};
        return risky(5);
    } catch (int value) {
        return value;
    }
}
int main(int argc, char**) {
    try { return handles(argc) + handles(argc + 1); } catch (...) { return 3; }
}
)";

struct Compiler {
    std::vector<std::string> command;
    std::string source, file;
};

std::string cxx_of(const std::string& compiler) {
    return compiler == "gcc" ? "g++" : "clang++-19";
}

template <class T> std::vector<T> table_of(std::string_view bytes) {
    std::vector<T> entries(bytes.size() / sizeof(T));
    std::memcpy(entries.data(), bytes.data(), entries.size() * sizeof(T));
    return entries;
}

// The addresses of code in data, by what the linker kept.
std::set<uint64_t> true_targets(const ElfFile& file) {
    struct Site {
        uint64_t place, value;
        bool relative;
    };
    std::vector<Site> sites;
    std::set<uint64_t> named; // addresses in data that instructions name
    const auto sections = file.sections();
    for (const ElfSection& section : sections) {
        if (section.type != SHT_RELA || (section.flags & SHF_ALLOC) ||
            section.info >= sections.size())
            continue;
        const ElfSection& changed = sections[section.info];
        if (!(changed.flags & SHF_ALLOC) || changed.name.starts_with(".eh_frame") ||
            changed.name == ".gcc_except_table")
            continue;
        const auto symbols = table_of<Elf64_Sym>(sections[section.link].bytes);
        for (const auto& relocation : table_of<Elf64_Rela>(section.bytes)) {
            const auto type = static_cast<uint32_t>(ELF64_R_TYPE(relocation.r_info));
            const uint64_t value = symbols[ELF64_R_SYM(relocation.r_info)].st_value +
                                   static_cast<uint64_t>(relocation.r_addend);
            if (changed.flags & SHF_EXECINSTR) {
                if (type == R_X86_64_PC32)
                    named.insert(value + 4);
            } else if (type == R_X86_64_PC32 || type == R_X86_64_64) {
                sites.push_back({relocation.r_offset, value, type == R_X86_64_PC32});
            }
        }
    }
    std::set<uint64_t> targets;
    for (const Site& site : sites) {
        uint64_t target = site.value;
        if (site.relative) {
            // The entry is relative to its table, the relocation to the entry.
            auto after = named.upper_bound(site.place);
            if (after == named.begin())
                continue;
            target -= site.place - *std::prev(after);
        }
        targets.insert(target);
    }
    return targets;
}

void expect_sound(const Compiler& compiler, const std::vector<std::string>& options) {
    std::vector<std::string> command = compiler.command;
    command.insert(command.end(), options.begin(), options.end());
    const Program program = Program::compiled(compiler.source, compiler.file, command);
    command.emplace_back("-Wl,-q");
    const Program kept = Program::compiled(compiler.source, compiler.file, command);
    const Analyzed analysis(program.path());
    const Analyzed with_relocations(kept.path());
    ASSERT_TRUE(analysis.ok() && with_relocations.ok());
    ASSERT_EQ(analysis.file().section(".text")->bytes,
              with_relocations.file().section(".text")->bytes);
    size_t checked = 0;
    for (uint64_t target : true_targets(with_relocations.file())) {
        const auto place = analysis->place(target);
        if (!place)
            continue; // a number, or data
        checked++;
        EXPECT_TRUE(place->leader) << analysis->describe(target);
        for (uint64_t before = target - 4; before < target; before++) {
            const auto covering = analysis->place(before);
            EXPECT_FALSE(covering && covering->safe()) << analysis->describe(before);
        }
    }
    EXPECT_GT(checked, compiler.source == switches ? 80U : 5U);
    // The compiler's own start-up code has no unwind information.
    for (const regions::UnknownJump& jump : analysis->unknown_jumps())
        EXPECT_TRUE(jump.function.ends_with("register_tm_clones")) << jump.function;
    EXPECT_GT(analysis->totals().percent(analysis->totals().safe), 80);
}

class Compiled : public testing::TestWithParam<const char*> {};

} // namespace

TEST_P(Compiled, NoTargetIsMissed) {
    if (find_program(GetParam()).empty())
        GTEST_SKIP() << GetParam() << " is not installed";
    for (const char* level : {"-O2", "-O3", "-Os"})
        for (const char* kind : {"-pie", "-no-pie"}) {
            SCOPED_TRACE(std::string(level) + " " + kind);
            const std::string code = std::string(kind) == "-pie" ? "-fPIE" : "-fno-pie";
            expect_sound({{GetParam(), "-w"}, switches, "program.c"}, {level, code, kind});
        }
}

TEST_P(Compiled, NoTargetOfAProgramWithExceptionsIsMissed) {
    if (find_program(GetParam()).empty())
        GTEST_SKIP() << GetParam() << " is not installed";
    for (const char* level : {"-O2", "-O3"}) {
        SCOPED_TRACE(level);
        expect_sound({{cxx_of(GetParam()), "-w"}, exceptions, "program.cpp"}, {level});
    }
}

TEST_P(Compiled, HandlersOfExceptionsAreEntered) {
    if (find_program(GetParam()).empty())
        GTEST_SKIP() << GetParam() << " is not installed";
    const Program program =
        Program::compiled(exceptions, "program.cpp", {cxx_of(GetParam()), "-w", "-O2"});
    const Analyzed analysis(program.path());
    ASSERT_TRUE(analysis.ok());
    size_t entered = 0;
    for (size_t i = 0; i < analysis->functions().size(); i++)
        entered +=
            analysis->functions()[i].reasons[static_cast<size_t>(regions::Reason::Exception)];
    EXPECT_GT(entered, 2U);
}

INSTANTIATE_TEST_SUITE_P(Compilers, Compiled, testing::Values("gcc", "clang-19"),
                         [](const auto& info) { return info.index ? "clang" : "gcc"; });
