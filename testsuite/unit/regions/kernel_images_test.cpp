// SPDX-License-Identifier: GPL-2.0-or-later
// What the images of the kernels of this machine have, and where jumps may be planted in them.
#include "program.h"

#include "arch/instructions.h"
#include "image/kernel_files.h"

#include <algorithm>
#include <set>

using namespace djstap;
using namespace djstap::test;
using regions::Model;

namespace {

std::optional<std::string> vmlinux(const char* release) {
    auto files = find_kernel(release);
    return files && !files->vmlinux.empty() ? std::optional(files->vmlinux) : std::nullopt;
}

// The vmlinux of one of the kernels that scripts/kernels installs.
class InstalledKernel : public testing::TestWithParam<const char*> {
  protected:
    void SetUp() override {
        const auto path = vmlinux(GetParam());
        if (!path)
            GTEST_SKIP() << "the vmlinux of " << GetParam()
                         << " is not installed (scripts/kernels)";
        auto opened = ElfFile::open(*path);
        ASSERT_TRUE(opened);
        file = std::move(*opened);
    }

    std::unique_ptr<ElfFile> file;
};

INSTANTIATE_TEST_SUITE_P(Both, InstalledKernel, testing::Values("6.1", "6.12"),
                         [](const auto& each) {
                             return std::string(each.param) == "6.1" ? "v6_1" : "v6_12";
                         });

} // namespace

// The crash that was reproduced on this kernel: the cold part jumps back to three bytes behind.
TEST(KernelTables, TheKnownUnsafePlaces) {
    const auto path = vmlinux("6.1");
    if (!path)
        GTEST_SKIP() << "the vmlinux of 6.1 is not installed (scripts/kernels)";
    const Analyzed analysis(*path);
    const auto unsafe = analysis->unsafe();
    EXPECT_TRUE(std::any_of(unsafe.begin(), unsafe.end(), [&](const auto& each) {
        return analysis->describe(each.address) == "uevent_store+0x24";
    }));
    EXPECT_GT(unsafe.size(), 200U);
    EXPECT_LT(unsafe.size(), 400U);
    EXPECT_GT(analysis->totals().percent(analysis->totals().safe), 90);
}

// The kernel has a bit for each instruction of two bytes that it copies.
TEST_P(InstalledKernel, CopiesTheInstructionsThatItsTableNames) {
    const auto decoder = arch::InstructionDecoder::create();
    std::string_view bits;
    for (const Elf64_Sym& symbol : file->symbols())
        if (file->symbol_name(symbol) == "twobyte_is_boostable")
            bits = file->bytes_at(symbol.st_value, 32);
    ASSERT_EQ(bits.size(), 32U);
    size_t known = 0;
    for (unsigned code = 0; code < 256; code++)
        for (const char operands : {'\xc0', '\0'}) {
            std::string text("\x0f", 1);
            text.append({static_cast<char>(code), operands});
            text.append(8, '\0');
            const arch::Instruction instruction = decoder->decode(text, 0);
            if (instruction.length == 0)
                continue;
            known++;
            const bool is_copied = static_cast<unsigned char>(bits[code / 8]) >> code % 8 & 1;
            EXPECT_EQ(instruction.kernel_copies, is_copied) << code;
            EXPECT_EQ(instruction.newer_kernel_copies, is_copied) << code;
        }
    EXPECT_GT(known, 350U);
}

// It copies more instructions, and no longer looks for indirect jumps.
TEST(KernelTables, ANewerKernel) {
    const auto older = vmlinux("6.1"), newer = vmlinux("6.12");
    if (!older || !newer)
        GTEST_SKIP() << "the two kernels are not installed (scripts/kernels)";
    auto share = [](const std::string& path) {
        const Analyzed analysis(path, Model::Kernel);
        const regions::Totals totals = analysis->totals();
        return totals.percent(totals.safe);
    };
    EXPECT_GT(share(*newer), share(*older) + 2);
}

// What docs/regions.md says about the kernels' interfaces. A function that is exported here makes a
// jump to code of our own possible.
TEST_P(InstalledKernel, ExportsNothingThatWritesToItsText) {
    std::set<std::string_view> names;
    for (const Elf64_Sym& symbol : file->symbols())
        names.insert(file->symbol_name(symbol));
    auto is_exported = [&](const std::string& name) { return names.contains("__ksymtab_" + name); };
    EXPECT_TRUE(is_exported("register_kprobe"));
    EXPECT_TRUE(is_exported("synchronize_rcu_tasks"));
    for (const char* name : {"text_poke_bp", "text_poke_queue", "text_poke_finish", "text_poke",
                             "text_poke_set", "text_poke_copy", "text_mutex", "set_memory_rw",
                             "set_memory_x", "kallsyms_lookup_name", "smp_text_poke_single"}) {
        EXPECT_FALSE(is_exported(name)) << name;
        EXPECT_TRUE(names.contains(name) || name == std::string_view("smp_text_poke_single"))
            << name;
    }
}
