// SPDX-License-Identifier: GPL-2.0-or-later
// Notes of marks (<sys/sdt.h>) that are written by hand, and the syntax of their arguments.
#include "image/sdt_notes.h"

#include "image/no_kernel.h"
#include "image/program.h"
#include "made.h"

namespace djstap {
namespace {

using test::Folder;

struct Note {
    std::string place = "place", base = "_base", semaphore = "0";
    std::string provider = "mine", name = "own", arguments = "8@%rdi";
    std::string type = "3", owner = "stapsdt";
    std::string end = "0"; // so many bytes of the content are missing
};

std::string text_of(const Note& note) {
    return ".balign 4\n.long 2f - 1f, 4f - 3f - " + note.end + ", " + note.type + "\n1: .asciz \"" +
           note.owner + "\"\n2: .balign 4\n3: .quad " + note.place + ", " + note.base + ", " +
           note.semaphore + "\n.asciz \"" + note.provider + "\"\n.asciz \"" + note.name +
           "\"\n.asciz \"" + note.arguments + "\"\n4: .balign 4\n";
}

class SdtNotes : public testing::Test {
  protected:
    void load(const std::string& notes, const std::string& base = ".section .stapsdt.base, \"a\"\n"
                                                                  "_base: .byte 0\n") {
        folder_.write("p.s",
                      ".text\n.globl f, place, counter\nf: nop\nplace: nop\nret\n.data\n"
                      ".balign 8\ncounter: .quad 0\n.globl uses\nuses: .short 0\nodd: .byte 0\n" +
                          base + ".section .note.stapsdt, \"\", @note\n" + notes);
        folder_.shell("as -o p.o p.s && ld -e f -o p p.o");
        program_ = std::move(*open_program(no_kernel(), folder_.file("p")));
    }
    std::vector<SdtMark> marks(const Note& note) {
        load(text_of(note));
        return sdt_marks(*program_);
    }
    uint64_t address_of(const char* symbol) const { return program_->symbol(symbol)->address; }

    const Folder folder_;
    std::unique_ptr<Image> program_;
};

TEST_F(SdtNotes, AreMarks) {
    Note second;
    second.name = "other";
    second.place = "f";
    second.arguments = "";
    second.semaphore = "uses";
    load(text_of({}) + text_of(second));
    const std::vector<SdtMark> found = sdt_marks(*program_);
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[0].provider, "mine");
    EXPECT_EQ(found[0].name, "own");
    EXPECT_EQ(found[0].address, address_of("place"));
    EXPECT_EQ(found[0].semaphore, 0U);
    EXPECT_EQ(found[0].arguments.size(), 1U);
    EXPECT_EQ(found[1].name, "other");
    EXPECT_EQ(found[1].address, address_of("f"));
    EXPECT_TRUE(found[1].arguments.empty());
    // Its place in the file.
    uint64_t distance = 0;
    for (const Segment& segment : program_->segments())
        if (segment.contains(address_of("uses")))
            distance = segment.file_distance;
    EXPECT_EQ(found[1].semaphore, address_of("uses") - distance);
}

// A program that was moved after it was linked has notes with the addresses of before.
TEST_F(SdtNotes, AreMovedWithTheirBase) {
    Note moved;
    moved.place = "place + 0x100000";
    moved.base = "_base + 0x100000";
    moved.semaphore = "uses + 0x100000";
    auto found = marks(moved);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].address, address_of("place"));
    EXPECT_NE(found[0].semaphore, 0U);
    // Without that section nothing tells.
    Note plain;
    plain.base = "0x100000";
    load(text_of(plain), "");
    found = sdt_marks(*program_);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].address, address_of("place"));
}

TEST_F(SdtNotes, OfAnotherFormAreNone) {
    const auto count = [&](const auto& change) {
        Note note;
        change(note);
        return marks(note).size();
    };
    EXPECT_EQ(count([](Note&) {}), 1U);
    EXPECT_EQ(count([](Note& note) { note.provider = ""; }), 1U);
    EXPECT_EQ(count([](Note& note) { note.type = "2"; }), 0U);
    EXPECT_EQ(count([](Note& note) { note.type = "4"; }), 0U);
    EXPECT_EQ(count([](Note& note) { note.owner = "stapsdt2"; }), 0U);
    EXPECT_EQ(count([](Note& note) { note.owner = "GNU"; }), 0U);
    EXPECT_EQ(count([](Note& note) { note.name = ""; }), 0U);
    EXPECT_EQ(count([](Note& note) { note.end = "1"; }), 0U) << "its last text has no end";
    EXPECT_EQ(count([](Note& note) { note.end = "(4f - 3f - 24)"; }), 0U);
    EXPECT_EQ(count([](Note& note) { note.end = "(4f - 3f - 23)"; }), 0U);
    // The code, and the counter in the data.
    EXPECT_EQ(count([](Note& note) { note.place = "counter"; }), 0U);
    EXPECT_EQ(count([](Note& note) { note.semaphore = "uses"; }), 1U);
    EXPECT_EQ(count([](Note& note) { note.semaphore = "odd + 1"; }), 0U) << "not aligned";
    EXPECT_EQ(count([](Note& note) { note.semaphore = "f"; }), 0U);
    EXPECT_EQ(count([](Note& note) { note.semaphore = "0x10"; }), 0U);
    // Others behind it are read.
    Note other;
    other.type = "7";
    load(text_of(other) + text_of({}));
    EXPECT_EQ(sdt_marks(*program_).size(), 1U);
}

TEST_F(SdtNotes, ArgumentsHaveSizesAndOperands) {
    load("");
    const auto arguments = [&](const std::string& text) {
        std::string found;
        for (const SdtArgument& each : sdt_arguments(text, *program_)) {
            found += found.empty() ? "" : " ";
            found += (each.is_signed ? "-" : "") + std::to_string(each.size) + ":" +
                     (each.location.kind == LocationKind::None       ? each.location.why
                      : each.location.kind == LocationKind::Register ? "register"
                      : each.location.kind == LocationKind::Constant ? "constant"
                      : each.location.kind == LocationKind::Address  ? "address"
                      : each.location.kind == LocationKind::Memory   ? "memory"
                                                                     : "another");
        }
        return found;
    };
    EXPECT_EQ(arguments(""), "");
    EXPECT_EQ(arguments("8@%rax -4@$5 2@counter -1@8(%rbp)"),
              "8:register -4:constant 2:address -1:memory");
    EXPECT_EQ(arguments("  8@%rax   4@%ecx "), "8:register 4:register");
    const SdtArgument unsized = sdt_arguments("%rax", *program_).at(0);
    EXPECT_EQ(unsized.size, SdtArgument().size);
    EXPECT_EQ(unsized.location.kind, LocationKind::Register);
    for (const char* size : {"", "3", "16", "8f", "-", "--4", "+4", "0"})
        EXPECT_TRUE(arguments(std::string(size) + "@%rax").ends_with(":it is not an integer"))
            << size;
    // As <sys/sdt.h> has them: twelve.
    std::string many;
    for (int i = 0; i < 14; i++)
        many += "8@%rax ";
    EXPECT_EQ(sdt_arguments(many, *program_).size(), 12U);
}

} // namespace
} // namespace djstap
