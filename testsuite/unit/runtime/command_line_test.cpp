// SPDX-License-Identifier: GPL-2.0-or-later
// The strings of a command line, wherever pieces, pages and the output end.
#include "include/script.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

extern "C" {
void djs_fn___user_strings(djs_ctx* ctx, char* out, s64 address, s64 end, s64 first, s64 last,
                           const char* delimiter);
void djs_fn___user_variable(djs_ctx* ctx, char* out, s64 address, s64 end, const char* name);
}

namespace {

constexpr size_t most = 128 << 10; // bytes that are searched

// Behind these pages is one that cannot be read.
class CommandLine : public testing::Test {
  protected:
    void SetUp() override {
        page_ = static_cast<size_t>(sysconf(_SC_PAGESIZE));
        bytes_ = most + 2 * page_;
        void* memory = mmap(nullptr, bytes_ + page_, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        ASSERT_NE(memory, MAP_FAILED);
        memory_ = static_cast<char*>(memory);
        ASSERT_EQ(mprotect(memory_ + bytes_, page_, PROT_NONE), 0);
        context_.work = work_;
        set_room(511);
    }
    void TearDown() override {
        munmap(memory_, bytes_ + page_);
        djs_script = {};
    }

    void set_room(size_t characters) {
        djs_script.string_bytes = static_cast<u32>(characters + 1);
        // What stands behind the result is not written to.
        out_.assign(characters + 2, '\xa5');
    }
    std::string result() const {
        EXPECT_EQ(out_.back(), '\xa5');
        return out_.data();
    }
    // The text begins `at` bytes behind the first page's start; `more` bytes behind it belong to
    // it, too.
    std::string strings(const std::string& text, s64 first, s64 last, const char* delimiter = " ",
                        size_t at = 0, size_t more = 0) {
        const s64 address = put(text, at);
        djs_fn___user_strings(&context_, out_.data(), address,
                              address + static_cast<s64>(text.size() + more), first, last,
                              delimiter);
        return result();
    }
    std::string variable(const std::string& text, const char* name, size_t at = 0,
                         size_t more = 0) {
        const s64 address = put(text, at);
        djs_fn___user_variable(&context_, out_.data(), address,
                               address + static_cast<s64>(text.size() + more), name);
        return result();
    }
    // So that the text ends where nothing can be read any more.
    size_t at_end(const std::string& text) const { return bytes_ - text.size(); }

    size_t page_ = 0, bytes_ = 0;

  private:
    s64 put(const std::string& text, size_t at) const {
        memcpy(memory_ + at, text.data(), text.size());
        return static_cast<s64>(reinterpret_cast<intptr_t>(memory_ + at));
    }

    djs_ctx context_{};
    char work_[2560]{};
    char* memory_ = nullptr;
    std::vector<char> out_;
};

std::vector<std::string> split(const std::string& text) {
    std::vector<std::string> parts;
    for (size_t at = 0; at < text.size();) {
        const size_t nul = std::min(text.find('\0', at), text.size());
        parts.push_back(text.substr(at, nul - at));
        at = nul + 1;
    }
    return parts;
}

std::string joined(const std::string& text, s64 first, s64 last, const std::string& delimiter,
                   size_t room) {
    const std::vector<std::string> parts = split(text);
    const size_t begin = first < 0 ? 0 : static_cast<size_t>(first);
    std::string all;
    for (size_t i = begin; i < parts.size() && (last < 0 || i <= static_cast<size_t>(last)); i++) {
        if (i > begin)
            all += delimiter;
        all += parts[i].empty() && i > begin ? "\"\"" : parts[i];
    }
    return all.substr(0, room);
}

std::string value_in(const std::string& text, const std::string& name, size_t room) {
    for (const std::string& each : split(text))
        if (each.compare(0, name.size() + 1, name + "=") == 0)
            return each.substr(name.size() + 1, room);
    return "";
}

using namespace std::string_literals;

TEST_F(CommandLine, IsJoinedFromOneStringToAnother) {
    const std::string text = "ls\0-l\0\0/tmp\0"s;
    EXPECT_EQ(strings(text, 0, -1), "ls -l \"\" /tmp");
    EXPECT_EQ(strings(text, -5, -1), "ls -l \"\" /tmp");
    EXPECT_EQ(strings(text, 1, 1), "-l");
    EXPECT_EQ(strings(text, 1, 2), "-l \"\"");
    EXPECT_EQ(strings(text, 2, 2), "");
    EXPECT_EQ(strings(text, 2, -1), " /tmp");
    EXPECT_EQ(strings(text, 3, 9), "/tmp");
    EXPECT_EQ(strings(text, 4, -1), "");
    EXPECT_EQ(strings(text, 2, 1), "");
    EXPECT_EQ(strings(text, 1, 0), "");
    EXPECT_EQ(strings(text, 0, 0), "ls");
    EXPECT_EQ(strings(text, 0, 1, ", "), "ls, -l");
    EXPECT_EQ(strings("", 0, -1), "");
    EXPECT_EQ(strings("unfinished", 0, -1), "unfinished");
}

TEST_F(CommandLine, MeansTheSameWhereverItsPiecesEnd) {
    std::mt19937 random(1); // NOLINT: the same in every run
    for (int i = 0; i < 3000; i++) {
        std::string text(random() % 1200, '\0');
        for (char& each : text)
            each = random() % (i % 2 ? 300 : 5) ? static_cast<char>('a' + random() % 3) : '\0';
        const size_t room = i % 3 ? 2000 : random() % 600, at = page_ - random() % 700;
        const s64 first = static_cast<s64>(random() % 6) - 1,
                  last = static_cast<s64>(random() % 9) - 1;
        set_room(room);
        ASSERT_EQ(strings(text, first, last, "::", at), joined(text, first, last, "::", room)) << i;
        ASSERT_EQ(variable(text, "a", at), value_in(text, "a", room)) << i;
    }
}

TEST_F(CommandLine, HasAVariableOfThisNameAlone) {
    const std::string text = "PATHS=1\0PAT=2\0XPATH=3\0\0PATH=/bin:=\0PATH=second\0LAST="s;
    EXPECT_EQ(variable(text, "PATH"), "/bin:=");
    EXPECT_EQ(variable(text, "PATHS"), "1");
    EXPECT_EQ(variable(text, "PAT"), "2");
    EXPECT_EQ(variable(text, "LAST"), "");
    EXPECT_EQ(variable(text, "NONE"), "");
    EXPECT_EQ(variable("A=unfinished", "A"), "unfinished");
    std::mt19937 random(2); // NOLINT: the same in every run
    for (int i = 0; i < 3000; i++) {
        std::string environment(random() % 900, '\0');
        for (char& each : environment)
            each = "a=\0b"[random() % 4];
        const size_t room = i % 2 ? 900 : random() % 20, at = page_ - random() % 700;
        set_room(room);
        for (const char* name : {"ab", "b", "abab", ""})
            ASSERT_EQ(variable(environment, name, at), value_in(environment, name, room)) << i;
    }
}

// What is not complete because the rest cannot be read is left out; what is cut by the output is
// not.
TEST_F(CommandLine, EndsWithTheLastStringThatCanBeRead) {
    const std::string text = "one\0two\0thr"s;
    EXPECT_EQ(strings(text, 0, -1, " ", at_end(text), 1), "one two");
    EXPECT_EQ(strings(text, 0, -1, " ", at_end(text), 0), "one two thr");
    EXPECT_EQ(strings(text, 2, -1, " ", at_end(text), 100), "");
    EXPECT_EQ(strings(text, 1, 1, " ", at_end(text), 100), "two");
    const std::string variables = "A=one\0B=tw"s;
    EXPECT_EQ(variable(variables, "A", at_end(variables), 100), "one");
    EXPECT_EQ(variable(variables, "B", at_end(variables), 100), "");
    EXPECT_EQ(variable(variables, "B", at_end(variables), 0), "tw");
    set_room(6);
    EXPECT_EQ(strings(text, 0, -1, " ", at_end(text), 1), "one tw");
    set_room(2);
    EXPECT_EQ(strings(text, 2, -1, " ", at_end(text), 1), "th");
    EXPECT_EQ(variable(variables, "B", at_end(variables), 100), "tw");
    set_room(1);
    EXPECT_EQ(variable(variables, "B", at_end(variables), 100), "t");
    set_room(3);
    EXPECT_EQ(variable(variables, "B", at_end(variables), 100), "");
}

TEST_F(CommandLine, IsNotSearchedBeyondSoManyBytes) {
    set_room(2 * most);
    const std::string text = "A=b\0C="s + std::string(most - 6, 'c');
    EXPECT_EQ(strings(text, 0, -1), "A=b " + text.substr(4));
    EXPECT_EQ(variable(text, "C"), text.substr(6));
    EXPECT_EQ(strings(text + "c", 0, -1), "A=b");
    EXPECT_EQ(variable(text + "c", "C"), "");
    EXPECT_EQ(variable(text + "c", "A"), "b");
}

} // namespace
