// SPDX-License-Identifier: GPL-2.0-or-later
// Where a process has a file's code: the mappings of this one.
#include "injection/places.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <elf.h>
#include <filesystem>
#include <gtest/gtest.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

namespace djstap::injection {
namespace {

constexpr uint64_t page_bytes = 4096;

// A file of eight pages, of which pages are mapped as code.
class MappedFilePages : public testing::Test {
  protected:
    void SetUp() override {
        // What is mapped as code may not be in a file system that forbids that.
        path_ = std::filesystem::current_path() / "djstap-pages-XXXXXX";
        file_ = mkstemp(path_.data());
        ASSERT_GE(file_, 0);
        ASSERT_EQ(ftruncate(file_, 8 * page_bytes), 0);
        image_.path = path_;
        // As a linker lays it out: the segment begins within a page.
        image_.executable = {
            {2 * page_bytes + 0x100, 2 * page_bytes, 0x400000 + 5 * page_bytes + 0x100}};
    }
    void TearDown() override {
        for (const auto& [at, bytes] : mapped_)
            munmap(at, bytes);
        close(file_);
        unlink(path_.c_str());
    }
    uint64_t map(uint64_t offset, uint64_t bytes, int rights = PROT_READ | PROT_EXEC) {
        void* const at =
            mmap(nullptr, bytes, rights, MAP_PRIVATE, file_, static_cast<off_t>(offset));
        EXPECT_NE(at, MAP_FAILED) << strerror(errno);
        mapped_.emplace_back(at, bytes);
        return reinterpret_cast<uint64_t>(at);
    }
    std::vector<uint64_t> biases() const {
        std::vector<uint64_t> all;
        const auto map = MemoryMap::of(getpid());
        EXPECT_TRUE(map);
        for (const MappedCopy& each : image_.copies(*map))
            all.push_back(each.bias);
        return all;
    }

    std::string path_;
    int file_ = -1;
    PlacedImage image_;
    std::vector<std::pair<void*, size_t>> mapped_;
};

// The page at offset 2 is at link-time address 0x405000.
TEST_F(MappedFilePages, ACopyIsWhereItsSegmentIs) {
    EXPECT_EQ(biases(), std::vector<uint64_t>());
    const uint64_t at = map(2 * page_bytes, 3 * page_bytes);
    EXPECT_EQ(biases(), std::vector<uint64_t>{at - 0x405000});
    const auto now = MemoryMap::of(getpid());
    ASSERT_TRUE(now);
    const FileIdentity file = now->at(at)->file;
    EXPECT_TRUE(image_.is_mapped_at(at - 0x405000, file, *now));
    EXPECT_FALSE(image_.is_mapped_at(at - 0x404000, file, *now));
    EXPECT_FALSE(image_.is_mapped_at(at - 0x405000, {file.device, file.inode + 1}, *now));
    // Its name does not matter there: the file may have been renamed.
    image_.path += "-before";
    EXPECT_EQ(biases(), std::vector<uint64_t>());
    EXPECT_TRUE(image_.is_mapped_at(at - 0x405000, file, *now));
}

TEST_F(MappedFilePages, APartOfTheSegmentIsACopyToo) {
    const uint64_t at = map(4 * page_bytes, page_bytes); // its last 0x100 bytes
    EXPECT_EQ(biases(), std::vector<uint64_t>{at - 0x407000});
}

TEST_F(MappedFilePages, WhatIsBesideTheSegmentIsNone) {
    map(page_bytes, page_bytes); // ends where the segment's page begins
    map(5 * page_bytes, page_bytes);
    map(2 * page_bytes, 3 * page_bytes, PROT_READ);
    map(2 * page_bytes, 3 * page_bytes, PROT_READ | PROT_WRITE);
    EXPECT_EQ(biases(), std::vector<uint64_t>());
    // A segment that ends at the end of a page has nothing in the next one.
    image_.executable = {{2 * page_bytes, 3 * page_bytes, 0x405000}};
    EXPECT_EQ(biases(), std::vector<uint64_t>());
}

// What has other rights in its middle is three mappings.
TEST_F(MappedFilePages, EachCopyIsToldOnce) {
    const uint64_t first = map(2 * page_bytes, 3 * page_bytes);
    ASSERT_EQ(
        mprotect(reinterpret_cast<void*>(first + page_bytes), page_bytes, PROT_READ | PROT_WRITE),
        0);
    EXPECT_EQ(biases(), std::vector<uint64_t>{first - 0x405000});
    const uint64_t second = map(2 * page_bytes, 3 * page_bytes);
    std::vector<uint64_t> all = {first - 0x405000, second - 0x405000};
    std::sort(all.begin(), all.end());
    EXPECT_EQ(biases(), all); // in the order of addresses
}

TEST(PlacedImage, IsWhereACopyWasTaken) {
    PlacedImage image;
    image.extent = {0x1000, 0x5000};
    EXPECT_FALSE(image.is_mapped());
    image.take({0x7000000, {3, 4}});
    EXPECT_TRUE(image.is_mapped());
    EXPECT_EQ(image.bias, 0x7000000u);
    EXPECT_EQ(image.code.begin, 0x7001000u);
    EXPECT_EQ(image.code.end, 0x7005000u);
    EXPECT_EQ(image.file, (FileIdentity{3, 4}));
}

// What the dynamic loader tells of this program, and what its file does.
TEST(PlacedImage, DescribesTheProgramAsTheLoaderDoes) {
    struct Told {
        uint64_t bias = 0, begin = UINT64_MAX, end = 0, headers = 0;
    } told;
    dl_iterate_phdr(
        [](dl_phdr_info* info, size_t, void* data) {
            Told& out = *static_cast<Told*>(data);
            out.bias = info->dlpi_addr;
            for (int i = 0; i < info->dlpi_phnum; i++) {
                const auto& header = info->dlpi_phdr[i];
                if (header.p_type != PT_LOAD)
                    continue;
                out.begin = std::min<uint64_t>(out.begin, header.p_vaddr / page_bytes * page_bytes);
                out.end =
                    std::max<uint64_t>(out.end, (header.p_vaddr + header.p_memsz + page_bytes - 1) /
                                                    page_bytes * page_bytes);
                if (header.p_offset == 0)
                    out.headers = header.p_vaddr;
            }
            return 1; // the first one is the program
        },
        &told);
    const std::string path = std::filesystem::read_symlink("/proc/self/exe");
    const auto file = ElfFile::open(path);
    ASSERT_TRUE(file);
    PlacedImage image;
    image.path = path;
    image.describe(**file);
    EXPECT_EQ(image.extent.begin, told.begin);
    EXPECT_EQ(image.extent.end, told.end);
    EXPECT_EQ(image.headers_at, told.headers);
    EXPECT_TRUE(image.headers.starts_with(std::string_view(ELFMAG, SELFMAG)));
    EXPECT_LE(image.headers.size(), page_bytes);
    EXPECT_EQ(memcmp(image.headers.data(), reinterpret_cast<void*>(told.bias + told.headers),
                     image.headers.size()),
              0);
    const auto map = MemoryMap::of(getpid());
    ASSERT_TRUE(map);
    const std::vector<MappedCopy> copies = image.copies(*map);
    ASSERT_EQ(copies.size(), 1u);
    EXPECT_EQ(copies[0].bias, told.bias);
}

// Segments of a made-up file: one that is only read, code, data that begins within a page.
TEST(PlacedImage, TakesCodeAndHeadersFromTheRightSegments) {
    struct File {
        Elf64_Ehdr header;
        Elf64_Phdr segments[5];
        Elf64_Shdr section; // the first one, which is none
    } bytes = {};
    memcpy(bytes.header.e_ident, ELFMAG, SELFMAG);
    bytes.header.e_ident[EI_CLASS] = ELFCLASS64;
    bytes.header.e_ident[EI_DATA] = ELFDATA2LSB;
    bytes.header.e_ident[EI_VERSION] = EV_CURRENT;
    bytes.header.e_type = ET_DYN;
    bytes.header.e_machine = EM_X86_64;
    bytes.header.e_version = EV_CURRENT;
    bytes.header.e_ehsize = sizeof bytes.header;
    bytes.header.e_phoff = sizeof bytes.header;
    bytes.header.e_phentsize = sizeof bytes.segments[0];
    bytes.header.e_phnum = 5;
    bytes.header.e_shoff = offsetof(File, section);
    bytes.header.e_shentsize = sizeof bytes.section;
    bytes.header.e_shnum = 1;
    bytes.segments[0] = {PT_NOTE, PF_R, 0, 0x100, 0x100, 0x40000, 0x40000, 8}; // it is not loaded
    bytes.segments[1] = {PT_LOAD, PF_R, 0, 0x10200, 0x10200, 0x120, 0x120, page_bytes};
    bytes.segments[2] = {PT_LOAD, PF_R | PF_X, 0x1080, 0x12080, 0x12080, 0x900, 0x900, page_bytes};
    // It begins at the file's beginning, too, but what the program writes tells nothing.
    bytes.segments[3] = {PT_LOAD, PF_R | PF_W, 0, 0x14000, 0x14000, 0x200, 0x1f81, page_bytes};
    bytes.segments[4] = {PT_LOAD, PF_R | PF_W, 0x1000, 0x13000, 0x13000, 0, 0x10, page_bytes};
    const std::string content(reinterpret_cast<const char*>(&bytes), sizeof bytes);
    const auto file = ElfFile::hold(content + std::string(0x2000, 'x'), "made up");
    ASSERT_TRUE(file) << file.failure().message;
    PlacedImage image;
    image.describe(**file);
    EXPECT_EQ(image.extent.begin, 0x10000u);
    EXPECT_EQ(image.extent.end, 0x16000u); // 0x15f81, in whole pages
    EXPECT_EQ(image.headers_at, 0x10200u);
    EXPECT_EQ(image.headers.size(), 0x120u);
    ASSERT_EQ(image.executable.size(), 1u);
    EXPECT_EQ(image.executable[0].offset, 0x1080u);
    EXPECT_EQ(image.executable[0].bytes, 0x900u);
    EXPECT_EQ(image.executable[0].address, 0x12080u);
}

// A file that nobody has mapped: one that is a program is not going to be, a library may.
TEST(Places, AreInWhatTheProgramMaps) {
    const std::string path = std::filesystem::canonical("/bin/true");
    djs_image images[1] = {};
    images[0].name = path.c_str();
    djs_segment segments[1] = {};
    djs_site sites[1] = {};
    sites[0].next = DJS_NO_INDEX;
    struct ::djs_script script{};
    script.images = images;
    script.segments = segments;
    script.sites = sites;
    script.site_count = 1;
    const auto map = MemoryMap::of(getpid());
    ASSERT_TRUE(map);
    for (const bool later : {false, true}) {
        const auto placed = place_sites(script, *map, later);
        ASSERT_FALSE(placed);
        EXPECT_EQ(placed.failure().message,
                  "the program does not map '" + path + "' when it is probed");
    }
    // A site without a trampoline is no entry, and one that another leads to is not its first.
    sites[0].trampoline = DJS_NO_INDEX;
    const auto none = place_sites(script, *map, false);
    ASSERT_TRUE(none);
    EXPECT_TRUE(none->empty());
    images[0].name = "/none/such";
    sites[0].trampoline = 0;
    EXPECT_FALSE(place_sites(script, *map, true));
}

} // namespace
} // namespace djstap::injection
