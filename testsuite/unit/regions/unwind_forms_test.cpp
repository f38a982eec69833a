// SPDX-License-Identifier: GPL-2.0-or-later
// Tables of exception handlers, and unwind information in the debug information, in all their
// forms.
#include "program.h"

#include "regions/frames.h"

namespace djstap::regions {
namespace {

using test::Program;

// Where the exceptions of f continue, from its beginning, by a table (LSDA) in these words.
std::string handlers_in(const std::string& table) {
    const Program program = Program::assembled(
        ".text\n.globl f, g\n.skip 16, 0x90\ng: .skip 16, 0x90\n"
        "f: .cfi_startproc\n.cfi_personality 0x1b, g\n.cfi_lsda 0x1b, lsda\n.skip 64, 0x90\n"
        ".cfi_endproc\n.section .gcc_except_table, \"a\"\nlsda:\n" +
            table,
        {"-Ttext=0x500000", "--no-eh-frame-hdr"});
    const auto file = ElfFile::open(program.path());
    EXPECT_TRUE(file);
    std::string found;
    for (const uint64_t each : Frames::of(**file).handlers(**file))
        found += std::to_string(static_cast<int64_t>(each - 0x500020)) + " ";
    return found;
}

// Three call sites: one without a handler.
std::string sites(const std::string& number = ".uleb128") {
    std::string text;
    for (const char* handler : {"6", "0", "40"})
        text += number + " 1\n" + number + " 2\n" + number + " " + handler + "\n.uleb128 200\n";
    return text;
}

std::string sized(const std::string& sites, const std::string& less = "0") {
    return ".uleb128 .Lend - .Lsites - " + less + "\n.Lsites:\n" + sites + ".Lend:\n.byte 1, 1\n";
}

TEST(Handlers, AreThoseOfEachCallSite) {
    EXPECT_EQ(handlers_in(".byte 0xff, 0xff, 1\n" + sized(sites())), "6 40 ");
    // In each encoding of their numbers: DW_EH_PE_*.
    for (const auto& [encoding, number] : {std::pair("0", ".quad"),
                                           {"2", ".short"},
                                           {"3", ".long"},
                                           {"4", ".quad"},
                                           {"9", ".sleb128"},
                                           {"10", ".short"},
                                           {"11", ".long"},
                                           {"12", ".quad"}})
        EXPECT_EQ(
            handlers_in(".byte 0xff, 0xff, " + std::string(encoding) + "\n" + sized(sites(number))),
            "6 40 ")
            << encoding;
    EXPECT_EQ(handlers_in(".byte 0xff, 0xff, 5\n" + sized(sites(".long"))), "") << "unknown";
}

TEST(Handlers, AreFromTheBeginningThatTheTableNames) {
    const std::string rest = ".byte 0xff, 1\n" + sized(sites());
    EXPECT_EQ(handlers_in(".byte 0x00\n.quad g\n" + rest), "-10 24 ");
    EXPECT_EQ(handlers_in(".byte 0x03\n.long g\n" + rest), "-10 24 ");
    EXPECT_EQ(handlers_in(".byte 0x1b\n.long g - .\n" + rest), "-10 24 ");
    EXPECT_EQ(handlers_in(".byte 0x1c\n.quad g - .\n" + rest), "-10 24 ");
    EXPECT_EQ(handlers_in(".byte 0x4b\n.long g - f\n" + rest), "-10 24 ") << "from the function";
    EXPECT_EQ(handlers_in(".byte 0x4a\n.short g - f\n" + rest), "-10 24 ") << "with its sign";
}

// A table of types is behind the call sites.
TEST(Handlers, AreBehindThePlaceOfTheTypes) {
    EXPECT_EQ(handlers_in(".byte 0xff, 0x9b\n.uleb128 5\n.byte 1\n" + sized(sites())), "6 40 ");
    EXPECT_EQ(handlers_in(".byte 0xff, 0x9b\n.uleb128 500\n.byte 1\n" + sized(sites())), "6 40 ");
}

TEST(Handlers, EndWithTheTable) {
    EXPECT_EQ(handlers_in(".byte 0xff, 0xff, 1\n.uleb128 0\n.byte 1, 2, 6, 0\n"), "");
    EXPECT_EQ(handlers_in(".byte 0xff, 0xff, 1\n" + sized(sites(), "1")), "6 ")
        << "its last number is not whole";
    EXPECT_EQ(handlers_in(".byte 0xff, 0xff, 1\n.uleb128 100\n.byte 1, 2, 6, 0\n"), "")
        << "it would be longer than its section";
}

struct Version {
    std::string version = "1", more, address_bytes = ".quad", id = "0xffffffff";
    std::string before; // other entries
    std::string options;
};

// The stack at f + `offset` by .debug_frame, where it is 8 above the stack pointer up to f + 10.
Frames::Stack by_debug_frame(const Version& wanted, uint64_t offset = 0,
                             const std::string& eh_frame = "") {
    const Program program = Program::assembled(
        ".text\n.globl f\nf: .skip 300, 0x90\n.section .debug_frame\n" + wanted.before +
            ".Lcommon: .long .Lcommon_end - . - 4, " + wanted.id + "\n.byte " + wanted.version +
            "\n.asciz \"\"\n" + wanted.more +
            ".uleb128 1\n.sleb128 -8\n.byte 16\n.byte 0x0c, 7, 8\n.balign 8\n.Lcommon_end:\n"
            ".long .Lend - . - 4, .Lcommon - .debug_frame\n" +
            wanted.address_bytes + " f\n" + wanted.address_bytes +
            " 300\n.byte 0x4a, 0x0e, 16\n.balign 8\n.Lend:\n" + eh_frame,
        {"-Ttext=0x500000", "--no-eh-frame-hdr"});
    if (!wanted.options.empty())
        test::run_tool({"objcopy", wanted.options, program.path()});
    const auto file = ElfFile::open(program.path());
    EXPECT_TRUE(file);
    return Frames::of(**file).stack_at(0x500000 + offset);
}

TEST(DebugFrames, HaveVersions) {
    for (const auto& [version, more] : {std::pair("1", ""), {"3", ""}, {"4", ".byte 8, 0\n"}}) {
        SCOPED_TRACE(version);
        Version wanted;
        wanted.version = version;
        wanted.more = more;
        EXPECT_EQ(by_debug_frame(wanted), Frames::Stack::Empty);
        EXPECT_EQ(by_debug_frame(wanted, 9), Frames::Stack::Empty);
        EXPECT_EQ(by_debug_frame(wanted, 10), Frames::Stack::Used);
        EXPECT_EQ(by_debug_frame(wanted, 299), Frames::Stack::Used);
        EXPECT_EQ(by_debug_frame(wanted, 300), Frames::Stack::Unknown);
    }
    Version small; // of another machine
    small.version = "4";
    small.more = ".byte 4, 0\n";
    EXPECT_EQ(by_debug_frame(small), Frames::Stack::Unknown);
}

TEST(DebugFrames, NameWhatTheyHaveInCommon) {
    Version second;
    second.before = ".long 12, 0xffffffff, 1, 0\n";
    EXPECT_EQ(by_debug_frame(second), Frames::Stack::Empty);
    Version none; // 0 stands for it in .eh_frame only
    none.id = "0";
    EXPECT_EQ(by_debug_frame(none), Frames::Stack::Unknown);
}

TEST(DebugFrames, AreReadIfThereAreNoOthers) {
    const std::string eh_frame = ".section .eh_frame, \"a\"\n.long 0\n";
    EXPECT_EQ(by_debug_frame({}), Frames::Stack::Empty);
    EXPECT_EQ(by_debug_frame({}, 0, eh_frame), Frames::Stack::Unknown);
    Version compressed;
    compressed.before = ".rept 200\n.long 12, 0xffffffff, 1, 0\n.endr\n";
    EXPECT_EQ(by_debug_frame(compressed), Frames::Stack::Empty);
    compressed.options = "--compress-debug-sections=zlib";
    EXPECT_EQ(by_debug_frame(compressed), Frames::Stack::Unknown);
}

} // namespace
} // namespace djstap::regions
