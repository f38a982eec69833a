// SPDX-License-Identifier: GPL-2.0-or-later
// What stacks read of the files that programs map.
#include "kernel_for_test.h"
#include "made_up_file.h"
#include "ustack_for_test.h"

#include <cerrno>
#include <climits>
#include <cstring>
#include <elf.h>
#include <functional>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace {

using namespace std::string_literals;
using djstap::test::MadeUpFile;

class UserImages : public testing::Test {
  protected:
    void SetUp() override {
        test_read_most = ~u64{0};
        test_reads_left = LONG_MAX;
        test_read_result = 0;
    }
    void TearDown() override {
        forget();
        test_is_killed = false;
        test_allocations_left = LONG_MAX;
        test_pages_available = LONG_MAX / 2;
        // What was reserved is given back: all that a session may have is free.
        EXPECT_EQ(guarded_count(), 0U);
    }
    void forget() {
        djs_user_image_free(&image_);
        image_ = {};
    }
    bool reads(const std::string& whole) {
        forget();
        source_ = {};
        source_.file = test_image_file(whole.data(), whole.size());
        return djs_user_image_read(&image_, &source_);
    }
    bool reads(MadeUpFile& file) { return reads(file.made()); }
    bool reads_changed(const std::function<void(MadeUpFile&)>& change) {
        MadeUpFile file;
        change(file);
        return reads(file);
    }
    // The same, and whether its unwind information is used: 'n' if the file is none, 'r' if that is
    // refused, 'u' if it is used, '-' if there is none.
    char state_of(const std::function<void(MadeUpFile&)>& change) {
        if (!reads_changed(change))
            return 'n';
        EXPECT_FALSE(image_.unwind.rows && image_.is_refused);
        return image_.is_refused ? 'r' : image_.unwind.rows ? 'u' : '-';
    }
    djs_unwind_result find(u64 address) {
        djs_unwind_scratch scratch{};
        return djs_unwind_find(&image_.unwind, address, &row_, &scratch);
    }

    struct djs_user_image image_{};
    djs_user_source source_{};
    djs_unwind_row row_{};
};

TEST_F(UserImages, HaveWhatIsMappedAndItsUnwindInformation) {
    for (const u64 most : {~u64{0}, u64{7}}) {
        test_read_most = most;
        MadeUpFile file;
        ASSERT_TRUE(reads(file));
        ASSERT_EQ(image_.load_count, 1U);
        EXPECT_EQ(image_.loads[0].offset, MadeUpFile::code_offset);
        EXPECT_EQ(image_.loads[0].bytes, 0x800U);
        EXPECT_EQ(image_.loads[0].address, MadeUpFile::code);
        EXPECT_FALSE(image_.is_refused);
        EXPECT_FALSE(source_.may_succeed_later);
        EXPECT_EQ(image_.unwind.rows, 1U);
        EXPECT_EQ(image_.unwind.frames_bytes, file.frames_text.size());
        ASSERT_EQ(find(MadeUpFile::code), DJS_UNWIND_OK);
        EXPECT_EQ(row_.offset, 8);
        EXPECT_EQ(find(MadeUpFile::code + 0x100), DJS_UNWIND_UNKNOWN);
        EXPECT_EQ(image_.build_id_bytes, 0U);
    }
}

TEST_F(UserImages, OfMemoryAreReadThere) {
    MadeUpFile file;
    const std::string& whole = file.made();
    test_image_file(whole.data(), whole.size());
    source_.memory = reinterpret_cast<unsigned long>(whole.data());
    ASSERT_TRUE(djs_user_image_read(&image_, &source_));
    EXPECT_EQ(find(MadeUpFile::code), DJS_UNWIND_OK);
    forget();
    test_image_file(whole.data(), 100); // the rest cannot be read
    EXPECT_FALSE(djs_user_image_read(&image_, &source_));
    EXPECT_FALSE(source_.may_succeed_later);
}

TEST_F(UserImages, AreOfThisKernelsPrograms) {
    const auto is_one = [&](const std::function<void(MadeUpFile&)>& change) {
        return reads_changed(change);
    };
    EXPECT_TRUE(is_one([](auto&) {}));
    EXPECT_FALSE(is_one([](auto& file) { file.elf.e_ident[0] = 'E'; }));
    EXPECT_FALSE(is_one([](auto& file) { file.elf.e_ident[EI_CLASS] = ELFCLASS32; }));
    EXPECT_FALSE(is_one([](auto& file) { file.elf.e_machine = EM_386; }));
    EXPECT_FALSE(is_one([](auto& file) { file.elf.e_phentsize++; }));
    EXPECT_FALSE(is_one([](auto& file) { file.headers.clear(); }));
    EXPECT_TRUE(is_one([](auto& file) { file.headers.resize(64); }));
    EXPECT_FALSE(is_one([](auto& file) { file.headers.resize(65); }));
    EXPECT_FALSE(is_one([](auto& file) { file.elf.e_phoff = 0x8000 - 5; }));
    EXPECT_FALSE(is_one([](auto& file) { file.elf.e_phoff = ~u64{0}; }));
    EXPECT_FALSE(is_one([](auto& file) { file.headers[0].p_flags = PF_R; })); // no code
    EXPECT_FALSE(reads(""));
    EXPECT_FALSE(source_.may_succeed_later);
    MadeUpFile file;
    EXPECT_FALSE(reads(file.made().substr(0, sizeof(Elf64_Ehdr) - 1)));
}

TEST_F(UserImages, HaveAtMost8Loads) {
    for (const size_t count : {8U, 9U}) {
        MadeUpFile file;
        for (size_t i = 1; i < count; i++) {
            file.headers.push_back(file.headers[0]);
            file.headers.back().p_vaddr += 0x10000 * i;
        }
        ASSERT_TRUE(reads(file));
        ASSERT_EQ(image_.load_count, 8U);
        for (u64 i = 0; i < 8; i++)
            EXPECT_EQ(image_.loads[i].address, MadeUpFile::code + 0x10000 * i);
    }
}

TEST_F(UserImages, RefuseUnwindInformationThatIsNotWhereItSays) {
    EXPECT_EQ(state_of([](auto&) {}), 'u');
    EXPECT_EQ(state_of([](auto& file) { file.headers[4].p_filesz = 0; }), 'r');
    EXPECT_EQ(state_of([](auto& file) { file.headers[4].p_filesz = (128U << 20) + 1; }), 'r');
    EXPECT_FALSE(source_.may_succeed_later);
    EXPECT_EQ(state_of([](auto& file) { file.headers[4].p_filesz = 8; }), 'r');
    EXPECT_EQ(state_of([](auto& file) { file.headers[4].p_offset = 0x8000 - 4; }), 'r');
    EXPECT_EQ(state_of([](auto& file) { file.index_text[0] = 2; }), 'r');
    // The frames are not in the file, or not all of them, or begin before it.
    EXPECT_EQ(state_of([](auto& file) { file.headers[1].p_type = PT_NULL; }), 'r');
    EXPECT_EQ(state_of([](auto& file) { file.headers[1].p_filesz--; }), 'r');
    EXPECT_EQ(state_of([](auto& file) { file.headers[1].p_filesz = file.function_at + 3; }), 'r');
    EXPECT_EQ(state_of([](auto& file) {
                  file.headers[1].p_vaddr++;
                  file.headers[1].p_offset++;
              }),
              'r');
    EXPECT_EQ(state_of([](auto& file) { file.headers[1].p_offset = 0x7fff; }), 'r');
    EXPECT_EQ(state_of([](auto& file) { // its length is one of 64 bits
                  file.frames_text.replace(file.function_at, 4, "\xff\xff\xff\xff");
              }),
              'r');
    // Of two headers the first one counts.
    EXPECT_EQ(state_of([](auto& file) {
                  file.headers.push_back(file.headers.back());
                  file.headers.back().p_filesz = 0;
              }),
              'u');
}

TEST_F(UserImages, ThatCouldNotBeReadMaySucceedLater) {
    MadeUpFile file;
    // The header, those of what is mapped, the index, the last entry's length, the frames.
    for (const long reads_left : {0L, 1L, 2L, 3L, 4L}) {
        for (const long result : {0L, -5L}) {
            test_reads_left = reads_left;
            test_read_result = result;
            EXPECT_EQ(reads(file), reads_left >= 2) << reads_left;
            EXPECT_EQ(source_.may_succeed_later, result < 0) << reads_left;
            EXPECT_EQ(image_.is_refused, reads_left >= 2) << reads_left;
            EXPECT_EQ(image_.unwind.rows, 0U);
        }
    }
    test_reads_left = LONG_MAX;
    // Memory for the headers, the notes, the index, the frames.
    for (const long allocations : {0L, 1L, 2L, 3L}) {
        test_allocations_left = allocations;
        EXPECT_EQ(reads(file), allocations > 0);
        EXPECT_TRUE(source_.may_succeed_later) << allocations;
        EXPECT_EQ(image_.is_refused, allocations > 0);
    }
    test_allocations_left = LONG_MAX;
    // What a large section would take is more than there is.
    file.headers[4].p_filesz = 0x10000;
    test_pages_available = 16;
    EXPECT_TRUE(reads(file));
    EXPECT_TRUE(image_.is_refused && source_.may_succeed_later);
}

// All files together may take 512 MB: as often as they are given back.
TEST_F(UserImages, AreGivenBack) {
    MadeUpFile file;
    file.headers[4].p_filesz = 128U << 20; // refused when there is nothing more to read
    for (int i = 0; i < 5; i++) {
        test_pages_available = 0;
        EXPECT_TRUE(reads(file));
        EXPECT_TRUE(image_.is_refused);
        test_pages_available = LONG_MAX / 2;
        EXPECT_TRUE(reads(file));
        EXPECT_TRUE(image_.is_refused);
    }
    MadeUpFile good;
    EXPECT_TRUE(reads(good));
    EXPECT_FALSE(image_.is_refused);
    const u64 refused = djs_user_images_refused();
    djs_user_image_refuse();
    EXPECT_EQ(djs_user_images_refused(), refused + 1);
}

TEST_F(UserImages, HaveTheirBuildIds) {
    const auto id_of = [&](const std::string& notes) {
        MadeUpFile file;
        file.set_notes(notes);
        EXPECT_TRUE(reads(file));
        return std::string(reinterpret_cast<const char*>(image_.build_id), image_.build_id_bytes);
    };
    const std::string gnu = "GNU\0"s, id = "0123456789abcdefghij", most(32, 'x');
    EXPECT_EQ(id_of(MadeUpFile::note(3, gnu, id)), id);
    EXPECT_EQ(id_of(MadeUpFile::note(3, gnu, most)), most);
    EXPECT_EQ(id_of(MadeUpFile::note(3, gnu, most + "x")), "");
    EXPECT_EQ(id_of(MadeUpFile::note(1, gnu, id)), "");
    EXPECT_EQ(id_of(MadeUpFile::note(3, "GNV\0"s, id)), "");
    EXPECT_EQ(id_of(MadeUpFile::note(3, "GNU\0\0"s, id)), "");
    EXPECT_EQ(id_of(MadeUpFile::note(1, gnu, "abcde") + MadeUpFile::note(5, "G", "12345678") +
                    MadeUpFile::note(3, gnu, id) + MadeUpFile::note(3, gnu, "another")),
              id);
    const std::string whole = MadeUpFile::note(3, gnu, id);
    EXPECT_EQ(id_of(whole.substr(0, whole.size() - 1)), "");
    EXPECT_EQ(id_of(whole.substr(0, 12)), "");
    EXPECT_EQ(id_of(""), "");
    // Of the first 4 KB.
    const std::string large = MadeUpFile::note(1, gnu, std::string(4096 - 2 * 16 - 20, 'y'));
    EXPECT_EQ(id_of(large + whole + large), id);
    EXPECT_EQ(id_of("\0\0\0\0\4\0\0\0\1\0\0\0\0\0\0\0"s + large + whole), "");
    // The first of several segments of notes that has one.
    MadeUpFile file;
    file.set_notes(MadeUpFile::note(1, gnu, id) + MadeUpFile::note(3, gnu, id) +
                   MadeUpFile::note(3, gnu, "another"));
    const u64 first = MadeUpFile::note(1, gnu, id).size(), second = whole.size();
    file.headers[3].p_filesz = first;
    for (const u64 at : {first, first + second}) {
        file.headers.push_back(file.headers[3]);
        file.headers.back().p_offset += at;
        file.headers.back().p_filesz = second;
    }
    ASSERT_TRUE(reads(file));
    EXPECT_EQ(image_.build_id_bytes, id.size());
    EXPECT_EQ(std::memcmp(image_.build_id, id.data(), id.size()), 0);
    // Without memory for the notes, there is none.
    test_allocations_left = 1;
    EXPECT_TRUE(reads(file));
    EXPECT_EQ(image_.build_id_bytes, 0U);
    EXPECT_TRUE(source_.may_succeed_later);
}

// Static programs have no index: it is made, sorted.
TEST_F(UserImages, WithoutAnIndexGetOne) {
    MadeUpFile file;
    file.add_function(0x401300, 0x10);
    file.add_function(0x401200, 0x10);
    file.headers[1].p_filesz = file.frames_text.size();
    file.use_sections();
    ASSERT_TRUE(reads(file));
    EXPECT_FALSE(image_.is_refused || source_.may_succeed_later);
    ASSERT_EQ(image_.unwind.rows, 3U);
    for (const u64 begin : {0x401000, 0x401200, 0x401300}) {
        EXPECT_EQ(find(begin), DJS_UNWIND_OK) << begin;
        EXPECT_EQ(find(begin - 1), DJS_UNWIND_UNKNOWN) << begin;
    }
    // Functions that begin at the same address, too.
    file = {};
    file.add_function(0x401000, 0x10);
    file.use_sections();
    ASSERT_TRUE(reads(file));
    EXPECT_EQ(image_.unwind.rows, 2U);
    EXPECT_EQ(find(0x401000), DJS_UNWIND_OK);
}

TEST_F(UserImages, FindTheSectionOfTheirFrames) {
    const auto with = [&](const std::function<void(MadeUpFile&)>& change) {
        return state_of([&](MadeUpFile& file) {
            file.use_sections();
            change(file);
        });
    };
    EXPECT_EQ(with([](auto&) {}), 'u');
    EXPECT_EQ(with([](auto& file) { file.sections[2].sh_flags = 0; }), '-');
    EXPECT_EQ(with([](auto& file) { file.sections[2].sh_type = SHT_NOBITS; }), '-');
    EXPECT_EQ(with([](auto& file) { file.sections[2].sh_size = 0; }), '-');
    EXPECT_EQ(with([](auto& file) { file.sections[2].sh_size = (8U << 20) + 1; }), '-');
    EXPECT_EQ(with([](auto& file) { file.sections[2].sh_size = 8U << 20; }), 'r'); // too short
    EXPECT_EQ(with([](auto& file) { file.sections[2].sh_name = 21; }), '-');       // …_hdr
    EXPECT_EQ(with([](auto& file) { file.sections[2].sh_name = 2; }), '-');
    EXPECT_EQ(with([](auto& file) { file.sections[2].sh_size = 15; }), 'r'); // no entry
    EXPECT_EQ(with([](auto& file) { file.sections[2].sh_size = file.function_at; }), 'r');
    EXPECT_EQ(with([](auto& file) { file.elf.e_shentsize++; }), '-');
    EXPECT_EQ(with([](auto& file) { file.sections.clear(); }), '-');
    EXPECT_EQ(with([](auto& file) { file.elf.e_shstrndx = 3; }), '-');
    EXPECT_EQ(with([](auto& file) { file.elf.e_shoff = 0x7fff; }), '-');
    EXPECT_EQ(with([](auto& file) { // the first one counts, and the names may be the last section
                  file.sections.push_back(file.sections[1]);
                  file.elf.e_shstrndx = 3;
                  file.sections[1] = file.sections[2];
                  file.sections[2].sh_size = 15;
              }),
              'u');
    // A task that is killed does not finish it, and others may.
    test_is_killed = true;
    EXPECT_EQ(with([](auto&) {}), 'r');
    EXPECT_TRUE(source_.may_succeed_later);
    test_is_killed = false;
    // Memory for the program's headers, those of the sections, the frames, the rows.
    for (const long allocations : {1L, 2L, 3L}) {
        MadeUpFile file;
        file.headers.erase(file.headers.begin() + 3); // its notes need some, too
        file.use_sections();
        test_allocations_left = allocations;
        EXPECT_TRUE(reads(file));
        EXPECT_TRUE(source_.may_succeed_later) << allocations;
        EXPECT_EQ(image_.is_refused, allocations > 1) << allocations;
        EXPECT_EQ(image_.unwind.rows, 0U);
    }
}

} // namespace
