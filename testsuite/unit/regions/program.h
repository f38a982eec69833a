// SPDX-License-Identifier: GPL-2.0-or-later
// Programs that tests assemble, and what the analysis says about them.
#pragma once
#include "regions/regions.h"
#include "system/file.h"
#include "system/process.h"
#include "system/temporary.h"

#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <string>
#include <sys/wait.h>
#include <vector>

namespace djstap::test {

// Runs a tool, which must succeed.
inline bool run_tool(const std::vector<std::string>& words) {
    auto process = Process::start(words);
    if (!process) {
        ADD_FAILURE() << process.failure().message;
        return false;
    }
    const int status = process->wait();
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << words[0] << " failed";
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// A program in a folder of its own.
class Program {
  public:
    // Assembles and links; `options` are the linker's.
    static Program assembled(const std::string& text,
                             const std::vector<std::string>& options = {}) {
        Program program;
        const std::string source = program.folder_.file("program.s");
        const std::string object = program.folder_.file("program.o");
        EXPECT_TRUE(write_file(source, text));
        std::vector<std::string> link{"ld", "-o", program.path(), object, "-e", "f"};
        link.insert(link.end(), options.begin(), options.end());
        run_tool({"as", "-o", object, source}) && run_tool(link);
        return program;
    }
    // Compiles and links with one of the compilers.
    static Program compiled(const std::string& text, const std::string& name,
                            const std::vector<std::string>& command) {
        Program program;
        const std::string source = program.folder_.file(name);
        EXPECT_TRUE(write_file(source, text));
        std::vector<std::string> words = command;
        words.insert(words.end(), {"-o", program.path(), source});
        run_tool(words);
        return program;
    }

    std::string path() const { return folder_.file("program"); }
    void strip() const { run_tool({"strip", "-o", path() + ".stripped", path()}); }

  private:
    Program() : folder_(std::move(*TemporaryFolder::create(temporary_directory()))) {}
    TemporaryFolder folder_;
};

// The analysis of a file, which must succeed.
class Analyzed {
  public:
    explicit Analyzed(const std::string& path, regions::Model model = regions::Model::Relocate) {
        auto file = ElfFile::open(path);
        if (!file) {
            ADD_FAILURE() << file.failure().message;
            return;
        }
        file_ = std::move(*file);
        auto analysis = regions::Analysis::of(*file_, {model, 2});
        if (!analysis) {
            ADD_FAILURE() << analysis.failure().message;
            return;
        }
        analysis_.emplace(std::move(*analysis));
    }

    bool ok() const { return analysis_.has_value(); }
    const regions::Analysis& operator*() const { return *analysis_; }
    const regions::Analysis* operator->() const { return &*analysis_; }
    const ElfFile& file() const { return *file_; }

    regions::Place place(const std::string& symbol) const {
        const auto address = ok() ? analysis_->address_of(symbol) : std::nullopt;
        const auto place = address ? analysis_->place(*address) : std::nullopt;
        EXPECT_TRUE(place) << "no instruction at " << symbol;
        return place.value_or(regions::Place{});
    }
    // Returns the tag of the reason at a symbol; "" if a jump may be planted.
    std::string reason(const std::string& symbol) const {
        return std::string(regions::reason_tag(place(symbol).reason));
    }

  private:
    std::unique_ptr<ElfFile> file_;
    std::optional<regions::Analysis> analysis_;
};

// The reason at `p` of an assembled program.
inline std::string reason_at_p(const std::string& text,
                               const std::vector<std::string>& options = {},
                               regions::Model model = regions::Model::Relocate) {
    const Program program = Program::assembled(text, options);
    return Analyzed(program.path(), model).reason("p");
}

// A function f with a place p, and in the region of p a place .Lt, to which `before` may refer.
inline std::string entered_region(const std::string& before, const std::string& after = "",
                                  const std::string& at_target = "mov %rsi, %rbx") {
    return R"(
    .text
    .globl f, p
    .type f, @function
f:  )" + before +
           R"(
    xor %ecx, %ecx
p:  mov %rdi, %rax
.Lt: )" + at_target +
           R"(
    mov %rcx, %rdx
    ret
    .size f, .-f
)" + after +
           "\n";
}

} // namespace djstap::test
