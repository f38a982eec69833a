// SPDX-License-Identifier: GPL-2.0-or-later
// Accesses of per-CPU memory, executed.
#include "emitted.h"

#include <array>
#include <climits>

namespace djstap::arch {
namespace {

constexpr size_t word_count = 16;
using Words = std::array<int64_t, word_count>;

// A place, and the word of an array that it denotes if base is the array's address and index is 3.
struct NamedPlace {
    const char* name;
    const char* symbol;
    int64_t offset;
    bool has_base, has_index;
    size_t word;
};
// djs_offset is 16, as an address.
constexpr NamedPlace places[] = {
    {"base", "", 0, true, false, 0},
    {"offset", "", 8, true, false, 1},
    {"index", "", 0, true, true, 3},
    {"all", "", 16, true, true, 5},
    {"symbol", "djs_offset", 8, true, false, 3},
    {"sum", "djs_offset", 8, true, true, 6},
};
constexpr size_t index = 3;

class Percpu : public Emitted {
  protected:
    Percpu() {
        module_.setModuleInlineAsm(".set djs_offset, 16\n"
                                   ".data\n.balign 8\n.globl djs_words\n.protected djs_words\n"
                                   "djs_words: .fill 16, 8, 0\n.text\n");
    }
    static PercpuPlace at(const NamedPlace& place, const Values& values) {
        return {place.symbol, place.offset, place.has_base ? values[0] : nullptr,
                place.has_index ? values[1] : nullptr};
    }
    // Adds an access for each place: a function of base, index and `more` numbers.
    void add_each(const std::string& name, size_t more,
                  const std::function<llvm::Value*(const PercpuPlace&, const Values&)>& access) {
        for (const NamedPlace& place : places)
            add(name + "_" + place.name, 2 + more, [&](const Values& values) {
                return access(at(place, values), {values.begin() + 2, values.end()});
            });
    }
    // Calls it for each place. `check` is given the word of the place and the result; the other
    // words must stay.
    template <class... Numbers>
    void call_each(const std::string& name, int64_t before,
                   const std::function<void(int64_t word, uint64_t result)>& check,
                   Numbers... numbers) {
        for (const NamedPlace& place : places) {
            SCOPED_TRACE(name + "_" + place.name);
            Words words;
            for (size_t i = 0; i < words.size(); i++)
                words[i] = 1000 + static_cast<int64_t>(i);
            words[place.word] = before;
            Words expected = words;
            const uint64_t result = call(name + "_" + place.name, words.data(), index, numbers...);
            check(words[place.word], result);
            expected[place.word] = words[place.word];
            EXPECT_EQ(words, expected);
        }
    }
    template <class Result = uint64_t, class... Numbers>
    Result call(const std::string& name, const int64_t* words, size_t index, Numbers... numbers) {
        return Emitted::call<Result>(name, reinterpret_cast<uint64_t>(words), index, numbers...);
    }
};

TEST_F(Percpu, IsReadAndAddedTo) {
    add_each("load", 0,
             [&](const PercpuPlace& place, const Values&) { return load_percpu(builder_, place); });
    add_each("load_whole", 0, [&](const PercpuPlace& place, const Values&) {
        return load_percpu_constant(builder_, builder_.getInt64Ty(), place);
    });
    add_each("load_half", 0, [&](const PercpuPlace& place, const Values&) {
        return load_percpu_constant(builder_, builder_.getInt32Ty(), place);
    });
    constexpr int64_t deltas[] = {
        1, -1, 2, -2, 0, INT32_MAX, INT32_MIN, int64_t{INT32_MAX} + 1, int64_t{INT32_MIN} - 1};
    for (size_t i = 0; i < std::size(deltas); i++)
        add_each("add" + std::to_string(i), 0, [&](const PercpuPlace& place, const Values&) {
            add_percpu(builder_, place, number(deltas[i]), i % 2);
            return number(0);
        });
    add_each("add_any", 1, [&](const PercpuPlace& place, const Values& values) {
        add_percpu(builder_, place, values[0], false);
        return number(0);
    });
    load();
    constexpr int64_t before = 0x123456789abcdef0;
    const auto returns = [before](uint64_t wanted) {
        return [before, wanted](int64_t word, uint64_t result) {
            EXPECT_EQ(result, wanted);
            EXPECT_EQ(word, before);
        };
    };
    call_each("load", before, returns(before));
    call_each("load_whole", before, returns(before));
    call_each("load_half", before, returns(0x9abcdef0));
    for (size_t i = 0; i < std::size(deltas); i++)
        call_each("add" + std::to_string(i), before,
                  [&](int64_t word, uint64_t) { EXPECT_EQ(word, before + deltas[i]); });
    for (const int64_t delta : deltas)
        call_each(
            "add_any", before, [&](int64_t word, uint64_t) { EXPECT_EQ(word, before + delta); },
            delta);
}

TEST_F(Percpu, IsComparedWith) {
    using Predicate = llvm::CmpInst::Predicate;
    const auto add_comparison = [&](const char* name, Predicate predicate) {
        add_each(name, 1, [&](const PercpuPlace& place, const Values& values) {
            return compare_percpu(builder_, predicate, values[0], place);
        });
        if (predicate != llvm::CmpInst::ICMP_UGT)
            add_each(std::string("replace_") + name, 1,
                     [&](const PercpuPlace& place, const Values& values) {
                         replace_percpu_extreme(builder_, predicate, values[0], place);
                         return number(0);
                     });
    };
    add_comparison("less", llvm::CmpInst::ICMP_SLT);
    add_comparison("greater", llvm::CmpInst::ICMP_SGT);
    add_comparison("above", llvm::CmpInst::ICMP_UGT);
    add_each("bits", 0, [&](const PercpuPlace& place, const Values&) {
        return has_percpu_bits(builder_, 0x80000001, place);
    });
    load();
    constexpr int64_t numbers[] = {INT64_MIN, -5, -1, 0, 1, 5, INT64_MAX};
    for (const int64_t word : numbers)
        for (const int64_t value : numbers) {
            const auto returns = [&](bool wanted) {
                return [&, wanted](int64_t now, uint64_t result) {
                    EXPECT_EQ(result, wanted) << value << ", " << word;
                    EXPECT_EQ(now, word);
                };
            };
            call_each("less", word, returns(value < word), value);
            call_each("greater", word, returns(value > word), value);
            call_each("above", word,
                      returns(static_cast<uint64_t>(value) > static_cast<uint64_t>(word)), value);
            call_each(
                "replace_less", word,
                [&](int64_t now, uint64_t) { EXPECT_EQ(now, std::min(word, value)); }, value);
            call_each(
                "replace_greater", word,
                [&](int64_t now, uint64_t) { EXPECT_EQ(now, std::max(word, value)); }, value);
        }
    for (const auto& [word, wanted] :
         {std::pair{int64_t{1}, true}, {0x80000000, true}, {2, false}, {0x100000000, false}})
        call_each("bits", word, [&](int64_t, uint64_t result) { EXPECT_EQ(result, wanted); });
}

TEST_F(Percpu, IsExchanged) {
    add_each("exchange", 2, [&](const PercpuPlace& place, const Values& values) {
        return exchange_percpu(builder_, place, values[0], values[1]).done;
    });
    add_each("old", 2, [&](const PercpuPlace& place, const Values& values) {
        return exchange_percpu(builder_, place, values[0], values[1]).old;
    });
    load();
    for (const int64_t expected : {7, 8}) {
        const int64_t word = 7, next = 0x7fffffffffff;
        const auto check = [&](uint64_t wanted) {
            return [&, wanted](int64_t now, uint64_t result) {
                EXPECT_EQ(result, wanted);
                EXPECT_EQ(now, expected == word ? next : word);
            };
        };
        call_each("exchange", word, check(expected == word), expected, next);
        call_each("old", word, check(static_cast<uint64_t>(word)), expected, next);
    }
}

// (position & mask) + data, whose places are addressed in the same ways.
TEST_F(Percpu, HoldsAMaskAndAnAddress) {
    for (const NamedPlace& mask : places)
        for (const NamedPlace& data : places)
            add(std::string(mask.name) + "_" + data.name, 3, [&](const Values& values) {
                return wrap_percpu(builder_, values[2], at(mask, values), at(data, values));
            });
    load();
    for (const NamedPlace& mask : places)
        for (const NamedPlace& data : places) {
            Words words;
            for (size_t i = 0; i < words.size(); i++)
                words[i] = 0x10 << i;
            words[mask.word] |= 0xff00;
            EXPECT_EQ(call<int64_t>(std::string(mask.name) + "_" + data.name, words.data(), index,
                                    0x123456),
                      (0x123456 & words[mask.word]) + words[data.word])
                << mask.name << ", " << data.name;
        }
}

TEST_F(Percpu, CountsWhatForbidsPreemption) {
    for (const unsigned bytes : {4U, 8U}) {
        add_each("disable" + std::to_string(bytes), 0,
                 [&](const PercpuPlace& place, const Values&) {
                     disable_preemption(builder_, place, bytes);
                     return number(0);
                 });
        add_each("enable" + std::to_string(bytes), 0, [&](const PercpuPlace& place, const Values&) {
            return enable_preemption(builder_, place, bytes);
        });
    }
    load();
    // A count of four bytes does not touch the other four.
    const auto becomes = [](int64_t wanted) {
        return [wanted](int64_t word, uint64_t) { EXPECT_EQ(word, wanted); };
    };
    call_each("disable4", 0xffffffff, becomes(0));
    call_each("disable8", 0xffffffff, becomes(0x100000000));
    for (const auto& [bytes, before, after, due] : {std::tuple{"4", int64_t{1}, int64_t{0}, true},
                                                    {"4", 2, 1, false},
                                                    {"4", 0x500000001, 0x500000000, true},
                                                    {"8", 1, 0, true},
                                                    {"8", 0x100000001, 0x100000000, false},
                                                    {"8", 0x100000000, 0xffffffff, false}})
        call_each(std::string("enable") + bytes, before, [&](int64_t word, uint64_t result) {
            EXPECT_EQ(word, after);
            EXPECT_EQ(result, due);
        });
}

// What is read before and behind an ordered access is read twice: another access may be the same
// place.
TEST_F(Percpu, IsOrderedWithOtherMemory) {
    add("difference", 1, [&](const Values& values) {
        llvm::Value* const place = builder_.CreateIntToPtr(values[0], builder_.getPtrTy());
        llvm::Value* const before = builder_.CreateLoad(builder_.getInt64Ty(), place);
        add_percpu(builder_, {"", 0, values[0]}, number(7), true);
        llvm::Value* const behind = builder_.CreateLoad(builder_.getInt64Ty(), place);
        return builder_.CreateSub(behind, before);
    });
    load();
    int64_t word = 100;
    EXPECT_EQ(Emitted::call("difference", reinterpret_cast<uint64_t>(&word)), 7U);
}

// Without a base, a variable is found relative to the instruction.
TEST_F(Percpu, HasVariables) {
    const PercpuPlace place{"djs_words", 24};
    add("load", 0, [&](const Values&) { return load_percpu(builder_, place); });
    add("add", 1, [&](const Values& values) {
        add_percpu(builder_, place, values[0], true);
        return number(0);
    });
    add("mixed", 2, [&](const Values& values) {
        return wrap_percpu(builder_, values[1], place, {"", 8, values[0]});
    });
    load();
    auto* const words = static_cast<int64_t*>(symbol("djs_words"));
    words[3] = 0xff;
    words[1] = 0x1000;
    EXPECT_EQ(Emitted::call("load"), 0xffU);
    Emitted::call("add", 0xf00);
    EXPECT_EQ(words[3], 0xfff);
    EXPECT_EQ(Emitted::call("mixed", reinterpret_cast<uint64_t>(words), 0x12345), 0x1345U);
}

} // namespace
} // namespace djstap::arch
