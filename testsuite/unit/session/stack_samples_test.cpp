// SPDX-License-Identifier: GPL-2.0-or-later
// How call stacks are counted if their memory is limited, and what is told of them.
#include "session/stack_samples.h"

#include "formats.h"
#include "system/file.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <vector>

namespace djstap {
namespace {

class Counted : public testing::Test {
  protected:
    // Keeps what is written, in parts or at once.
    class Kept : public StackOutput {
      public:
        Kept(const OutputStreams& streams, size_t most_bytes, bool in_parts)
            : StackOutput(streams, most_bytes), in_parts_(in_parts) {}
        std::vector<std::pair<std::map<std::string, int64_t>, bool>> parts;
        uint64_t first() const { return first_ns(); }
        uint64_t last() const { return last_ns(); }

      protected:
        void write(const Samples& samples, bool last) override {
            parts.push_back({{samples.begin(), samples.end()}, last});
        }
        bool writes_in_parts() const override { return in_parts_; }

      private:
        bool in_parts_;
    };
    using Part = std::pair<std::map<std::string, int64_t>, bool>;

    void open(size_t most_bytes, bool in_parts, bool same_boot = false) {
        OutputStreams streams{writer_, messages_};
        streams.same_boot = same_boot;
        output_ = std::make_unique<Kept>(streams, most_bytes, in_parts);
    }
    // A stack that djrun names, innermost first.
    void stack_of(const std::vector<std::string>& lines, uint64_t time = 1000) {
        output_->print_stack(Event{0, time, clock_, Event::as_it_is, {}}, lines);
    }
    void print(const ModuleMeta::Format& format, const std::string& arguments,
               uint64_t time = 1000) {
        output_->print(Event{0, time, clock_, format, arguments});
    }
    // Returns what is told at the end, without the name of the output.
    std::string told() {
        output_->end();
        messages_.flush();
        std::string all;
        read_from_start(file_.get(), all);
        for (size_t at; (at = all.find("WARNING: out: ")) != std::string::npos;)
            all.erase(at, 14);
        return all;
    }

    FileDescriptor file_{memfd_create("messages", MFD_CLOEXEC)};
    Writer writer_{-1, "out"}, messages_{file_.get(), "messages"};
    RecordClock clock_{djs_clock{1000, 1'000'000, 1'700'000'000'000'000'000, 1'000'000, 0}};
    std::unique_ptr<Kept> output_;
};

TEST(StackOutput, KeepsAsMuchAsItsPageSays) {
    EXPECT_EQ(StackOutput::usual_most_bytes, size_t{64 * 1024 * 1024});
}

// A stack takes its characters and 96 bytes more.
TEST_F(Counted, WhatIsTooMuchIsWrittenInParts) {
    open(2 * 97, true);
    for (const char* name : {"a", "b", "a", "c", "a"})
        stack_of({name});
    EXPECT_EQ(told(), "");
    EXPECT_EQ(output_->parts,
              (std::vector<Part>{{{{"a", 2}, {"b", 1}}, false}, {{{"a", 1}, {"c", 1}}, true}}));
    open(2 * 97 - 1, true);
    for (const char* name : {"a", "b"})
        stack_of({name});
    told();
    EXPECT_EQ(output_->parts, (std::vector<Part>{{{{"a", 1}}, false}, {{{"b", 1}}, true}}));
    // There is always room for one.
    open(0, true);
    stack_of({"a"});
    stack_of({"a"});
    told();
    EXPECT_EQ(output_->parts, (std::vector<Part>{{{{"a", 2}}, true}}));
}

TEST_F(Counted, WhatIsTooMuchIsOneStackIfItIsWrittenAtOnce) {
    open(2 * 97, false);
    for (const char* name : {"a", "b", "a", "c", "d", "a", "c"})
        stack_of({name});
    EXPECT_EQ(told(), "3 samples are counted as one stack [other stacks]: the others exceed the "
                      "memory for stacks\n");
    EXPECT_EQ(output_->parts,
              (std::vector<Part>{{{{"a", 3}, {"b", 1}, {"[other stacks]", 3}}, true}}));
}

TEST_F(Counted, CountsEndAtTheLargestNumber) {
    open(1 << 20, true);
    const ModuleMeta::Format counted{"%s %d\n", "kl"};
    print(counted, stack({0x10}) + number(INT64_MAX - 1));
    print(counted, stack({0x10}) + number(1));
    print(counted, stack({0x20}) + number(INT64_MAX));
    print(counted, stack({0x20}) + number(1));
    told();
    EXPECT_EQ(output_->parts,
              (std::vector<Part>{{{{"0x10", INT64_MAX}, {"0x20", INT64_MAX}}, true}}));
}

TEST_F(Counted, CountsThatAreNotPositiveAreLeftOut) {
    open(1 << 20, true);
    const ModuleMeta::Format counted{"%s %d\n", "kl"};
    print(counted, stack({0x10}) + number(1));
    print(counted, stack({0x20}) + number(0));
    const std::string addresses =
        "functions are shown as addresses: a crash dump has no symbols for "
        "the keys of arrays; sprint_syms(backtrace()) records them\n";
    EXPECT_EQ(told(), "1 stack was omitted: its count is not positive\n" + addresses);
    print(counted, stack({0x20}) + number(-1));
    const std::string again = told();
    EXPECT_TRUE(
        again.ends_with("2 stacks were omitted: their counts are not positive\n" + addresses))
        << again;
}

// A stack without a frame is none, and neither is a text.
TEST_F(Counted, WithoutStacksThatIsTold) {
    open(1 << 20, true);
    print(Event::as_it_is, text("a"));
    print({"%d\n", "l"}, number(5));
    print({"%s\n", "s"}, text("a"));
    EXPECT_EQ(told(),
              "no call stack was printed: an array with backtrace() as a key, "
              "print_backtrace() and a print of backtrace() have some, and so have those of "
              "ubacktrace()\n");
    EXPECT_EQ(output_->parts, (std::vector<Part>{{{}, true}}));
}

// Texts and numbers before a stack are frames around it; of an array, so are all of its keys. The
// last number behind the stack is the count.
TEST_F(Counted, FramesAreWhatIsPrintedBefore) {
    open(1 << 20, true);
    const auto of = [&](const ModuleMeta::Format& format, const std::string& arguments) {
        output_->parts.clear();
        open(1 << 20, true);
        print(format, arguments);
        output_->end();
        const auto& samples = output_->parts.at(0).first;
        return samples.empty()
                   ? std::string("none")
                   : samples.begin()->first + " " + std::to_string(samples.begin()->second);
    };
    const std::string at = stack({0x20, 0x10});
    EXPECT_EQ(of({"%s %d %s\n", "slk"}, text("a") + number(5) + at), "a;5;0x10;0x20 1");
    EXPECT_EQ(of({"%s %d %s\n", "ksl"}, at + text("a") + number(5)), "0x10;0x20 5");
    EXPECT_EQ(of({"%s %d %d\n", "kll"}, at + number(4) + number(6)), "0x10;0x20 6");
    EXPECT_EQ(of({"%s %s\n", "kk"}, at + stack({0x30})), "0x10;0x20;0x30 1");
    const auto array = [](const std::string& types, uint64_t keys) {
        return ModuleMeta::Format{"", types, "array", keys};
    };
    EXPECT_EQ(of(array("ksl", 2), at + text("a") + number(5)), "0x10;0x20;a 5");
    EXPECT_EQ(of(array("kll", 2), at + number(4) + number(6)), "0x10;0x20;4 6");
    EXPECT_EQ(of(array("kl", 1), at + number(6)), "0x10;0x20 6");
    // Of a statistic the sum: count, least, most, sum, average.
    const std::string statistic = number(2) + number(1) + number(9) + number(10) + number(5);
    EXPECT_EQ(of(array("klllll", 1), at + statistic), "0x10;0x20 10");
    EXPECT_EQ(of({"%s %d %d %d %d %d\n", "klllll"}, at + statistic), "0x10;0x20 5");
    EXPECT_EQ(of(array("kllll", 1), at + number(2) + number(1) + number(9) + number(10)),
              "0x10;0x20 10");
    // Damaged arguments.
    EXPECT_EQ(of({"%s %d\n", "kl"}, at), "none");
}

TEST_F(Counted, NamesHaveNoSeparators) {
    open(1 << 20, true);
    stack_of({" 0x1 : in;ner+0x1/0x2", "mid\rdle", "out\ner"});
    told();
    EXPECT_EQ(output_->parts.at(0).first,
              (std::map<std::string, int64_t>{{"out;mid dle;in:ner", 1}}));
}

// The caller of a function is where the call is, not where it returns to, which may be another
// function's first instruction.
TEST_F(Counted, AddressesToReturnToAreThoseOfCalls) {
    const KernelSymbols kernel = KernelSymbols::of_running_kernel();
    // The first function that begins where another one ends.
    const auto text = read_file("/proc/kallsyms");
    uint64_t border = 0;
    std::string before, behind;
    if (text)
        for (size_t at = 0; at < text->size() && !border; at = text->find('\n', at) + 1) {
            const uint64_t address = strtoull(text->c_str() + at, nullptr, 16);
            const std::string first(kernel.name_of(address)), last(kernel.name_of(address - 1));
            if (address && !first.empty() && !last.empty() && first != last) {
                border = address;
                before = last;
                behind = first;
            }
            if (text->find('\n', at) == std::string::npos)
                break;
        }
    if (!border)
        GTEST_SKIP() << "the kernel's symbols cannot be read";
    open(1 << 20, true, true);
    print({"%s\n", "k"}, stack({border, border}));
    EXPECT_EQ(told(), "");
    EXPECT_EQ(output_->parts.at(0).first,
              (std::map<std::string, int64_t>{{before + ";" + behind, 1}}));
}

TEST_F(Counted, TimesAreThoseOfTheFirstAndTheLastEvent) {
    open(1 << 20, true);
    EXPECT_EQ(output_->first(), 0u);
    stack_of({"a"}, 1300);
    EXPECT_EQ(output_->first(), 1'700'000'000'000'000'300u);
    EXPECT_EQ(output_->last(), 1'700'000'000'000'000'300u);
    stack_of({"a"}, 1500);
    print(Event::as_it_is, text("x"), 1400); // of speculate(): it was kept
    EXPECT_EQ(output_->first(), 1'700'000'000'000'000'300u);
    EXPECT_EQ(output_->last(), 1'700'000'000'000'000'500u);
    print(Event::as_it_is, text("x"), 1900);
    EXPECT_EQ(output_->last(), 1'700'000'000'000'000'900u);
}

} // namespace
} // namespace djstap
