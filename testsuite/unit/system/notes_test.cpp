// SPDX-License-Identifier: GPL-2.0-or-later
// What the kernel and linkers tell: notes of ELF files, the status of a process, numbers in texts.
#include "system/elf_notes.h"
#include "system/number.h"
#include "system/process_status.h"

#include <cstdint>
#include <elf.h>
#include <gtest/gtest.h>
#include <string>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

namespace djstap {
namespace {

using namespace std::string_literals;

std::string header(uint32_t owner, uint32_t content, uint32_t type) {
    const Elf64_Nhdr note{owner, content, type};
    return {reinterpret_cast<const char*>(&note), sizeof note};
}

TEST(ElfNotes, FollowOneAnotherAtMultiplesOfFour) {
    const std::string bytes = header(4, 5, 7) + "abc\0"s + "12345\0\0\0"s + header(5, 4, 8) +
                              "abcd\0\0\0\0"s + "WXYZ" + header(0, 0, 9);
    std::string_view left = bytes;
    auto note = take_note(left);
    ASSERT_TRUE(note);
    EXPECT_EQ(note->type, 7U);
    EXPECT_EQ(note->owner, "abc\0"s);
    EXPECT_EQ(note->content, "12345");
    note = take_note(left);
    ASSERT_TRUE(note);
    EXPECT_EQ(note->type, 8U);
    EXPECT_EQ(note->owner, "abcd\0"s);
    EXPECT_EQ(note->content, "WXYZ");
    note = take_note(left);
    ASSERT_TRUE(note);
    EXPECT_EQ(note->type, 9U);
    EXPECT_EQ(note->owner.size() + note->content.size(), 0U);
    EXPECT_TRUE(left.empty());
    EXPECT_FALSE(take_note(left));
}

// The last note may lack what would align the next one, and nothing else.
TEST(ElfNotes, AreNotReadBeyondTheirEnd) {
    const std::string whole = header(4, 5, NT_GNU_BUILD_ID) + "GNU\0"s + "\x01\x02\x03\x04\x05";
    EXPECT_EQ(gnu_build_id(whole), "\x01\x02\x03\x04\x05");
    for (size_t size = 0; size < whole.size(); size++)
        EXPECT_FALSE(gnu_build_id(whole.substr(0, size))) << size;
    for (const uint32_t size : {UINT32_MAX, UINT32_MAX - 3, UINT32_MAX - 2}) {
        EXPECT_FALSE(gnu_build_id(header(4, size, NT_GNU_BUILD_ID) + "GNU\0"s));
        EXPECT_FALSE(gnu_build_id(header(size, 4, NT_GNU_BUILD_ID) + "GNU\0"s));
    }
}

TEST(ElfNotes, TheBuildIdIsThatOfGnu) {
    const std::string other = header(4, 4, NT_GNU_BUILD_ID) + "XEN\0"s + "fake";
    const std::string abi = header(4, 4, NT_GNU_ABI_TAG) + "GNU\0"s + "fake";
    const std::string id = header(4, 2, NT_GNU_BUILD_ID) + "GNU\0"s + "\xab\x0c\0\0"s;
    EXPECT_EQ(hexadecimal(*gnu_build_id(other + abi + id)), "ab0c");
    EXPECT_FALSE(gnu_build_id(other + abi));
    EXPECT_EQ(hexadecimal(""), "");
}

TEST(StatusOfAProcess, HasTheFieldsOfItsFile) {
    const int64_t pid = getpid();
    EXPECT_EQ(*field_of_status(pid, "Tgid"), std::to_string(pid));
    // the parts of a field's name, and of a line, are none
    EXPECT_EQ(field_of_status(pid, "gid").failure().message,
              "/proc/" + std::to_string(pid) + "/status has no gid");
    EXPECT_FALSE(field_of_status(pid, "Tgi"));
    EXPECT_FALSE(field_of_status(0, "Tgid"));
}

TEST(StatusOfAProcess, AThreadIsNoProcess) {
    EXPECT_TRUE(check_is_process(getpid()));
    // That it does not exist is told by others.
    EXPECT_TRUE(check_is_process(0));
    std::thread([] {
        const int64_t thread = syscall(SYS_gettid);
        const std::string process = std::to_string(getpid());
        const Status status = check_is_process(thread);
        ASSERT_FALSE(status);
        EXPECT_EQ(status.failure().message,
                  std::to_string(thread) + " is a thread of process " + process);
        EXPECT_NE(status.failure().hint.find(process), std::string::npos);
    }).join();
}

TEST(Numbers, AreAllOfTheText) {
    int16_t value = 7;
    for (const char* bad : {"", " 1", "1 ", "1x", "x", "+1", "32768", "-32769"}) {
        EXPECT_FALSE(parse_number(bad, value)) << bad;
        EXPECT_EQ(value, 7);
    }
    EXPECT_TRUE(parse_number("32767", value));
    EXPECT_EQ(value, 32767);
    EXPECT_TRUE(parse_number("-32768", value));
    EXPECT_EQ(value, -32768);
    EXPECT_TRUE(parse_number("ff", value, 16));
    EXPECT_EQ(value, 255);
}

} // namespace
} // namespace djstap
