// SPDX-License-Identifier: GPL-2.0-or-later
// What djstap regions answers, and what it says of what it cannot answer.
#include "driver/regions_command.h"

#include "../regions/program.h"
#include "../surroundings.h"

#include <filesystem>
#include <gtest/gtest.h>
#include <string>

namespace djstap::driver {
namespace {

class RegionsCommands : public testing::Test {
  protected:
    RegionsCommands() { options.file = program_.path(); }
    // Returns what is printed; what is told is in `told`.
    std::string answer(int expected) {
        testing::internal::CaptureStdout();
        testing::internal::CaptureStderr();
        const int status = run_regions(options);
        told = testing::internal::GetCapturedStderr();
        EXPECT_EQ(status, expected) << told;
        return testing::internal::GetCapturedStdout();
    }
    std::string refusal() {
        EXPECT_EQ(answer(1), "");
        return told;
    }
    static bool has(const std::string& text, const std::string& part) {
        return text.find(part) != std::string::npos;
    }

    const test::TestFolder folder;
    RegionsOptions options;
    std::string told;

  private:
    const test::Program program_ = test::Program::assembled(
        ".text\n.globl f\n.type f, @function\nf: mov %rdi, %rax\nret\n.size f, .-f\n",
        {"-Ttext=0x401000"});
    const test::Environment report_{"DJSTAP_REPORT"}, kernels_{"DJSTAP_KERNELS", folder.path};
};

// Addresses and offsets are hexadecimal, with 0x or without.
TEST_F(RegionsCommands, PlacesAreAddressesOrNamesWithOffsets) {
    for (const char* same : {"f", "f+0", "0x401000", "401000", "0X401000"}) {
        options.places = {same};
        EXPECT_TRUE(answer(0).starts_with("0x401000  f: ")) << same;
    }
    for (const char* third : {"f+3", "f+0x3", "f+0X3", "401003", "0x401003"}) {
        options.places = {third};
        EXPECT_TRUE(answer(0).starts_with("0x401003  f+0x3: ")) << third;
    }
    options.places = {"f+1", "f"};
    EXPECT_TRUE(has(answer(0), "f+0x1: no instruction of a function begins here\n0x401000  f: "));
    options.json = true;
    EXPECT_TRUE(answer(0).starts_with("{\"places\":[{\"address\":\"0x401001\""));
    options.places = {"f+x"};
    EXPECT_TRUE(has(refusal(), "the offset of 'f+x' is not a hexadecimal number"));
    EXPECT_TRUE(has(told, "offsets are written as in f+0x1f"));
    for (const char* none : {"0xg", "nothing_like_it", "g+3"}) {
        options.places = {none};
        EXPECT_TRUE(has(refusal(), "there is no function '")) << none;
    }
}

TEST_F(RegionsCommands, EachQuestionHasAnAnswerOfTwoForms) {
    EXPECT_TRUE(has(answer(0), "1 function, of which "));
    options.function = "f";
    EXPECT_TRUE(answer(0).starts_with("f at 0x401000, 2 instructions, "));
    options.json = true;
    EXPECT_TRUE(answer(0).starts_with("{\"name\":\"f\",\"address\":\"0x401000\""));
    options.function = "g";
    EXPECT_TRUE(has(refusal(), "there is no function 'g'"));
    options.function.clear();
    EXPECT_TRUE(answer(0).starts_with("{\"functions\":[{\"name\":\"f\""));
    options.unsafe = true;
    EXPECT_EQ(answer(0), "{\"unsafe\":[]}\n");
    options.json = false;
    EXPECT_EQ(answer(0), "0 places\n");
    options.unsafe = false;
    options.lines = true;
    EXPECT_TRUE(has(refusal(), options.file + ": has no line program"));
    options.lines = false;
    options.map = folder.file("map.svg");
    EXPECT_TRUE(answer(0).starts_with("1 function, of which "));
    EXPECT_TRUE(has(*read_file(options.map), "<svg"));
    options.json = true;
    EXPECT_TRUE(answer(0).starts_with("{\"totals\":{\"functions\":1,"));
    options.map = folder.file("none/map.svg");
    EXPECT_TRUE(has(refusal(), "--svg takes the file to write"));
}

TEST_F(RegionsCommands, FilesThatCannotBeReadAreTold) {
    options.text = folder.file("none");
    EXPECT_TRUE(has(refusal(), options.text + ": cannot open: No such file or directory"));
    options.text = folder.write("empty", "");
    EXPECT_TRUE(has(refusal(), options.text + ": the text from memory is empty"));
    options.text.clear();
    options.file = folder.file("none");
    EXPECT_TRUE(has(refusal(), options.file + ": cannot open: No such file or directory"));
}

// What a kernel has loaded has other addresses, but what else it has written counts.
TEST_F(RegionsCommands, TheTextOfAModuleIsThatOfItsSection) {
    const std::string source = folder.write(
        "module.s", ".text\n.globl f\n.type f, @function\nf: call __fentry__\nmov %rdi, %rax\n"
                    "jmp __x86_return_thunk\n.size f, .-f\n"
                    ".section .gnu.linkonce.this_module, \"aw\"\n.skip 64\n");
    options.file = folder.file("module.ko");
    ASSERT_TRUE(test::run_tool({"as", "-o", options.file, source}));
    options.function = "f";
    const std::string without = answer(0);
    EXPECT_TRUE(has(without, "callq")) << without;
    const auto text = [&](std::string_view bytes) {
        return folder.write("text", std::string(bytes));
    };
    options.text = text({"\xe8\1\2\3\4\x48\x89\xf8\xe9\5\6\7\x8", 13});
    EXPECT_EQ(answer(0), without) << "the addresses are those of the file";
    options.text = text({"\x0f\x1f\x44\0\0\x48\x89\xf8\xc3\xcc\xcc\xcc\xcc", 13});
    const std::string patched = answer(0);
    EXPECT_TRUE(has(patched, "0f 1f 44 00 00 ")) << patched;
    EXPECT_TRUE(has(patched, "retq")) << patched;
    EXPECT_FALSE(has(patched, "callq")) << patched;
    options.text = text("abc");
    EXPECT_TRUE(has(refusal(), "the text from memory has 3 bytes, the module's section .text 13"));
}

TEST_F(RegionsCommands, AKernelIsThatOfItsDebugSymbols) {
    options.file.clear();
    options.kernel = "9.9.9-none";
    EXPECT_TRUE(has(refusal(), "kernel '9.9.9-none' is not installed"));
    std::filesystem::create_directory(folder.file("9.9.1-own"));
    options.kernel = "9.9";
    EXPECT_TRUE(has(refusal(), "kernel 9.9.1-own has no vmlinux"));
    EXPECT_TRUE(has(told, "install its debug symbols, or name the file"));
}

} // namespace
} // namespace djstap::driver
