// SPDX-License-Identifier: GPL-2.0-or-later
// Which of a script's sites may be patched, in programs that are assembled and mapped as a text
// says.
#include "injection/places.h"

#include "arch/injection.h"
#include "made_program.h"

namespace djstap::injection {
namespace {

// A file with these functions and their entries and returns as sites.
const std::string judged_text = R"(
    .text
    .globl _start, padded, entered, last
    .type _start, @function
_start:
    .cfi_startproc
    .fill 48, 1, 0x90
    ret
    .cfi_endproc
    .size _start, .-_start
    .type padded, @function
padded:
    .cfi_startproc
    endbr64                 # 4 bytes, at which indirect calls land
    xor %ecx, %ecx
    mov $1, %eax
    ret
    .cfi_endproc
    .size padded, .-padded
    .type entered, @function
entered:
    .cfi_startproc
    xor %ecx, %ecx
1:  xor %edx, %edx
    mov $1, %eax
    cmp %ecx, %edi
    je 1b
    ret
    .cfi_endproc
    .size entered, .-entered
    .type last, @function
last:
    .cfi_startproc
    mov $3, %ecx
    mov $4, %eax
    ret
    .cfi_endproc
    .size last, .-last
    .p2align 4
    .data
    .quad 1
)";

class JudgedSites {
  public:
    // Returns the number of the file.
    u32 add_file(const MadeFile& file) {
        names_.push_back(std::make_unique<std::string>(file.path()));
        djs_image image{};
        image.name = names_.back()->c_str();
        images_.push_back(image);
        djs_segment segment{};
        segment.image = static_cast<u32>(images_.size() - 1);
        segments_.push_back(segment);
        return segment.image;
    }
    void add(u32 file, uint64_t address, bool is_return = false) {
        djs_site site{};
        site.address = address;
        site.segment = file;
        site.next = DJS_NO_INDEX;
        if (is_return)
            site.mechanism = DJS_MECHANISM_RETURN_JUMPS;
        sites_.push_back(site);
    }
    djs_site& site(size_t number) { return sites_[number]; }
    Result<std::vector<PlacedImage>> place(const std::string& map, bool later = false) {
        struct ::djs_script script{};
        script.images = images_.data();
        script.segments = segments_.data();
        script.sites = sites_.data();
        script.site_count = static_cast<u32>(sites_.size());
        script.handlers = &handler_;
        const auto parsed = MemoryMap::parse(map, "maps");
        EXPECT_TRUE(parsed);
        return place_sites(script, *parsed, later);
    }

  private:
    std::vector<std::unique_ptr<std::string>> names_;
    std::vector<djs_image> images_;
    std::vector<djs_segment> segments_;
    std::vector<djs_site> sites_;
    djs_handler handler_{};
};

// The code of a file, as if it were mapped with this bias.
std::string mapping_of(const MadeFile& file, uint64_t bias = 0) {
    std::string text;
    for (const Elf64_Phdr& each : file.elf().program_headers())
        if (each.p_type == PT_LOAD && (each.p_flags & PF_X)) {
            char line[96];
            snprintf(line, sizeof line, "%lx-%lx r-xp %lx 00:01 7 ", bias + each.p_vaddr,
                     bias + each.p_vaddr + 4096, each.p_offset);
            text += line + file.path() + "\n";
        }
    return text;
}

class Judged : public testing::Test {
  protected:
    MadeFile file_{judged_text, {"-e", "_start"}};
    MadeFile library_{judged_text, {"-shared"}};
    JudgedSites sites_;
};

TEST_F(Judged, EachPlaceHasItsOwnReason) {
    const u32 file = sites_.add_file(file_);
    sites_.add(file, file_.address("last"));
    sites_.add(file, file_.address("padded"));
    sites_.add(file, file_.address("entered"));
    sites_.add(file, file_.address("_start"));
    sites_.add(file, 0x123456);
    const auto images = sites_.place(mapping_of(file_));
    ASSERT_TRUE(images) << images.failure().message;
    ASSERT_EQ(images->size(), 1u);
    const PlacedImage& image = images->front();
    EXPECT_EQ(image.path, file_.path());
    EXPECT_TRUE(image.is_mapped());
    EXPECT_EQ(image.bias, 0u);
    ASSERT_EQ(image.places.size(), 5u);
    for (u32 i = 0; i < 5; i++)
        EXPECT_EQ(image.places[i].site, i);
    EXPECT_EQ(image.places[0].refusal, "");
    EXPECT_EQ(image.places[0].address, file_.address("last"));
    EXPECT_EQ(image.places[0].original,
              std::string(file_.elf().bytes_at(file_.address("last"), 5)));
    ASSERT_EQ(image.places[0].moved.size(), 1u);
    EXPECT_EQ(image.places[0].moved[0].bytes.size(), 5u);
    EXPECT_EQ(image.places[1].refusal, "");
    EXPECT_EQ(image.places[1].address, file_.address("padded") + 4);
    EXPECT_EQ(image.places[1].moved.size(), 2u);
    const auto entered = test::Analyzed(file_.path())->entry(file_.address("entered"));
    ASSERT_TRUE(entered && !entered->safe());
    EXPECT_EQ(image.places[2].refusal, regions::reason_text(entered->reason));
    EXPECT_TRUE(image.places[2].moved.empty());
    EXPECT_EQ(image.places[3].refusal, arch::in_way_of_visits);
    EXPECT_EQ(image.places[4].refusal, "no instruction of a function is known there");
    EXPECT_EQ(image.places[4].address, 0x123456u);
    EXPECT_EQ(image.places[4].original, "");
}

// Others follow the first one at a place; those without a trampoline are no entries.
TEST_F(Judged, APlaceIsThatOfItsFirstSite) {
    const u32 file = sites_.add_file(file_);
    for (int i = 0; i < 4; i++)
        sites_.add(file, file_.address("last"));
    sites_.site(0).next = 2;
    sites_.site(2).next = 3;
    sites_.site(1).trampoline = DJS_NO_INDEX;
    const auto images = sites_.place(mapping_of(file_));
    ASSERT_TRUE(images);
    ASSERT_EQ(images->size(), 1u);
    ASSERT_EQ(images->front().places.size(), 1u);
    EXPECT_EQ(images->front().places[0].site, 0u);
}

// Libraries may be mapped later, but not programs, of whatever kind.
TEST_F(Judged, OnlyLibrariesAreMappedLater) {
    const MadeFile position_independent(
        judged_text, {"-pie", "-e", "_start", "--dynamic-linker", "/lib64/ld-linux-x86-64.so.2"});
    const MadeFile flagged(judged_text, {"-shared", "-z", "now"}); // DT_FLAGS_1 without DF_1_PIE
    const auto is_accepted = [](const MadeFile& file, bool later) {
        JudgedSites sites;
        sites.add(sites.add_file(file), file.address("last"));
        const auto images = sites.place("", later);
        if (images) {
            EXPECT_FALSE(images->front().is_mapped());
            EXPECT_EQ(images->front().places[0].refusal, "");
        } else {
            EXPECT_EQ(images.failure().message,
                      "the program does not map '" + file.path() + "' when it is probed");
        }
        return images.operator bool();
    };
    for (const MadeFile* file : {static_cast<const MadeFile*>(&library_), &flagged}) {
        EXPECT_TRUE(is_accepted(*file, true));
        EXPECT_FALSE(is_accepted(*file, false));
    }
    for (const MadeFile* file : {static_cast<const MadeFile*>(&file_), &position_independent})
        for (const bool later : {false, true})
            EXPECT_FALSE(is_accepted(*file, later));
}

// The functions whose returns are probed have numbers of their own in all files.
TEST_F(Judged, FunctionsAreNumberedInAllFiles) {
    const MadeFile other(judged_text, {"-shared"});
    const u32 first = sites_.add_file(library_), second = sites_.add_file(other);
    for (const u32 file : {first, second}) {
        sites_.add(file, library_.address("padded"), true);
        sites_.add(file, library_.address("last"), true);
        sites_.add(file, library_.address("last"), true);
    }
    constexpr uint64_t bias = 0x7000000, other_bias = 0x9000000;
    const auto images = sites_.place(mapping_of(library_, bias) + mapping_of(other, other_bias));
    ASSERT_TRUE(images) << images.failure().message;
    ASSERT_EQ(images->size(), 2u);
    uint32_t number = 0;
    for (const PlacedImage& image : *images) {
        EXPECT_EQ(image.bias, image.path == library_.path() ? bias : other_bias);
        EXPECT_EQ(image.code.begin, image.bias);
        ASSERT_EQ(image.returning.size(), 2u);
        const u32 site = image.path == library_.path() ? 0 : 3;
        EXPECT_EQ(image.returning[0].address, library_.address("padded"));
        EXPECT_EQ(image.returning[0].sites, std::vector<uint32_t>{site});
        EXPECT_EQ(image.returning[0].number, number++);
        EXPECT_EQ(image.returning[1].address, library_.address("last"));
        EXPECT_EQ(image.returning[1].sites, (std::vector<uint32_t>{site + 1, site + 2}));
        EXPECT_EQ(image.returning[1].number, number++);
        for (const ReturningFunction& each : image.returning)
            EXPECT_EQ(each.refusal, "");
        for (const PatchedPlace& each : image.places) {
            EXPECT_EQ(each.site, DJS_NO_INDEX);
            EXPECT_EQ(each.original.size(), 5u);
        }
    }
}

} // namespace
} // namespace djstap::injection
