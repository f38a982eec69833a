// SPDX-License-Identifier: GPL-2.0-or-later
// What distinguishes kernels, and tables of theirs, by themselves.
#include "program.h"

#include "regions/kernel_tables.h"

namespace djstap::regions {
namespace {

using test::Program;

class KernelForms : public testing::Test {
  protected:
    void load(const std::string& text) {
        program_.emplace(Program::assembled(
            ".text\n.globl f\nf: .skip 64, 0x90\n" + text,
            {"-Ttext=0x500000", "--section-start=.data=0x600000", "--no-eh-frame-hdr"}));
        auto opened = ElfFile::open(program_->path());
        ASSERT_TRUE(opened) << opened.failure().message;
        file_ = std::move(*opened);
    }
    uint64_t address_of(const std::string& section) const {
        const ElfSection* found = file_->section(section);
        EXPECT_TRUE(found) << section;
        return found ? found->address : 0;
    }

    std::optional<Program> program_;
    std::unique_ptr<ElfFile> file_;
};

TEST_F(KernelForms, AKernelHasItsTables) {
    const std::string exceptions = ".section __ex_table, \"a\"\n.long 0, 0, 0\n",
                      sites = ".data\n.globl __start_mcount_loc\n__start_mcount_loc: .quad 0\n",
                      module = ".section .gnu.linkonce.this_module, \"aw\"\n.quad 0\n";
    const auto form = [&](const std::string& text) {
        load(text);
        return form_of(*file_);
    };
    EXPECT_EQ(form(""), ImageForm::Program);
    EXPECT_EQ(form(exceptions), ImageForm::Program);
    EXPECT_EQ(form(sites), ImageForm::Program);
    EXPECT_EQ(form(exceptions + sites), ImageForm::Kernel);
    EXPECT_EQ(form(module), ImageForm::Module);
    EXPECT_EQ(form(exceptions + sites + module), ImageForm::Module);
}

// The thunks, and the symbols that bound them as long as the kernel looks for jumps to them.
TEST_F(KernelForms, AKernelRefusesIndirectJumpsIfItLooksForThem) {
    const auto refuses = [&](const std::string& text) {
        load(text);
        return KernelRule::of(*file_).refuses_indirect_jumps;
    };
    EXPECT_TRUE(refuses(""));
    EXPECT_TRUE(refuses(".globl __x86_return_thunk\n__x86_return_thunk: ret\n"));
    const std::string thunk = ".globl __x86_indirect_thunk_rax\n__x86_indirect_thunk_rax: ret\n";
    EXPECT_FALSE(refuses(thunk));
    EXPECT_TRUE(refuses(thunk + ".globl __indirect_thunk_start\n__indirect_thunk_start: nop\n"));
}

// Its types: include/uapi/linux/btf.h. can_boost() returns an int in older kernels.
TEST_F(KernelForms, AKernelIsNewerIfItsFunctionReturnsABool) {
    const auto with = [&](const std::string& result, const std::string& name) {
        load(".section .BTF, \"a\"\n.Lb: .short 0xeb9f\n.byte 1, 0\n.long 24, 0\n"
             ".long .Ltypes_end - .Ltypes, .Ltypes_end - .Ltypes, .Lend - .Ltypes_end\n.Ltypes:\n"
             ".long 1, 0x01000000, 1, 0x04000008\n"  // 1: _Bool
             ".long 7, 0x08000000, 1\n"              // 2: bool
             ".long 12, 0x01000000, 4, 0x01000020\n" // 3: int
             ".long 0, 0x0d000000, " +
             result +
             "\n.long 16, 0x0c000000, 4\n" // 4, 5: the function
             ".Ltypes_end: .asciz \"\", \"_Bool\", \"bool\", \"int\", \"" +
             name + "\"\n.Lend:\n");
        return KernelRule::of(*file_).newer;
    };
    EXPECT_TRUE(with("2", "can_boost"));
    EXPECT_FALSE(with("3", "can_boost"));
    EXPECT_FALSE(with("1", "can_boost"));
    EXPECT_FALSE(with("2", "can_boast"));
    load("");
    EXPECT_FALSE(KernelRule::of(*file_).newer);
    load(".section .BTF, \"a\"\n.quad 0\n");
    EXPECT_FALSE(KernelRule::of(*file_).newer);
}

TEST_F(KernelForms, TablesOfPatchesAreNoTargets) {
    load(".data\n.quad 0\n.globl __start_mcount_loc, __stop_mcount_loc\n"
         "__start_mcount_loc: .quad f, f\n__stop_mcount_loc:\n"
         ".section .parainstructions, \"a\"\n.skip 32\n.section __mcount_loc, \"a\"\n.quad f\n");
    const uint64_t paravirt = address_of(".parainstructions"), sites = address_of("__mcount_loc");
    EXPECT_EQ(patch_tables(*Code::of(*file_)),
              (AddressRanges{{0x600008, 0x600018}, {sites, sites + 8}, {paravirt, paravirt + 32}}));
    load(".data\n.globl __start_mcount_loc, __stop_mcount_loc\n__start_mcount_loc:\n"
         "__stop_mcount_loc: .quad 0\n");
    EXPECT_TRUE(patch_tables(*Code::of(*file_)).empty());
    load(".data\n.globl __stop_mcount_loc, __start_mcount_loc\n__stop_mcount_loc: .quad 0\n"
         "__start_mcount_loc:\n");
    EXPECT_TRUE(patch_tables(*Code::of(*file_)).empty());
}

// struct alt_instr has had features of two, three and four bytes, and struct paravirt_patch_site
// its length behind its type.
TEST_F(KernelForms, PlacesThatArePatchedHaveTheirLengths) {
    using Places = std::vector<std::pair<uint64_t, size_t>>;
    const std::string replacements = ".section .altinstr_replacement, \"ax\"\n.skip 4, 0x90\n"
                                     ".Lnew: .skip 4, 0x90\n.Lnew_end:\n";
    const auto entry = [](const std::string& offset, const std::string& features,
                          const std::string& replacement, const std::string& lengths) {
        return ".long f + " + offset + " - ., " + replacement + " - .\n" + features + "\n.byte " +
               lengths + "\n";
    };
    const auto places = [&](const std::string& entries) {
        load(".section .altinstructions, \"a\"\n" + entries + replacements);
        return patched_places(*file_);
    };
    for (const char* features : {".short 7", ".byte 7, 0, 0", ".long 7"}) {
        SCOPED_TRACE(features);
        const std::string first = entry("3", features, ".Lnew", "5, 4");
        EXPECT_EQ(places(first), (Places{{0x500003, 5}}));
        EXPECT_EQ(places(first + entry("20", features, ".Lnew_end", "2, 0") +
                         entry("63", features, ".Lnew - 4", "200, 8")),
                  (Places{{0x500003, 5}, {0x500014, 2}, {0x50003f, 200}}));
        // One whose replacement, or code, is elsewhere: the form is another one.
        EXPECT_EQ(places(entry("3", features, ".Lnew", "5, 5")), Places{});
        EXPECT_EQ(places(entry("3", features, ".Lnew - 5", "5, 4")), Places{});
        EXPECT_EQ(places(entry("-1", features, ".Lnew", "5, 4")), Places{});
    }
    EXPECT_EQ(places(""), Places{});
    load(".section .parainstructions, \"a\"\n.quad f + 5\n.byte 1, 6\n.skip 6\n.quad f + 9\n"
         ".byte 2, 255\n.skip 6\n.quad f\n");
    EXPECT_EQ(patched_places(*file_), (Places{{0x500005, 6}, {0x500009, 255}}));
}

} // namespace
} // namespace djstap::regions
