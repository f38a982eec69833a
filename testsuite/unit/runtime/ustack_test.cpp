// SPDX-License-Identifier: GPL-2.0-or-later
// What stacks need of the files that programs map, and the mappings of their address spaces.
#include "images_for_test.h"
#include "kernel_for_test.h"
#include "made_up_frames.h"
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

// A program: its code at 0x401000, its unwind information at 0x500000, and an index of that.
struct MadeUpFile {
    static constexpr u64 code = 0x401000, frames = 0x500000, index = 0x600000;
    static constexpr u64 code_offset = 0x1000, frames_offset = 0x2000, index_offset = 0x3000,
                         notes_offset = 0x4000, sections_offset = 0x6000, names_offset = 0x7000;

    MadeUpFile() {
        std::memcpy(elf.e_ident, ELFMAG, SELFMAG);
        elf.e_ident[EI_CLASS] = ELFCLASS64;
        elf.e_machine = EM_X86_64;
        elf.e_phentsize = sizeof(Elf64_Phdr);
        elf.e_shentsize = sizeof(Elf64_Shdr);
        elf.e_phoff = sizeof elf;
        elf.e_shoff = sections_offset;
        add_common();
        add_function(code, 0x100);
        // version 1; relative; u32; a table relative to here
        djstap::test::append(index_text, 0x3b031b01, 4);
        djstap::test::append(index_text, frames - (index + 4), 4);
        djstap::test::append(index_text, 1, 4);
        djstap::test::append(index_text, code - index, 4);
        djstap::test::append(index_text, frames + function_at - index, 4);
        headers = {
            {PT_LOAD, PF_R | PF_X, code_offset, code, code, 0x800, 0x800, 0x1000},
            {PT_LOAD, PF_R, frames_offset, frames, frames, frames_text.size(), 0x1000, 0x1000},
            {PT_LOAD, PF_R, index_offset, index, index, index_text.size(), 0x1000, 0x1000},
            {PT_NOTE, PF_R, notes_offset, 0, 0, 0, 0, 4},
            {PT_GNU_EH_FRAME, PF_R, index_offset, index, index, index_text.size(), 0, 4},
        };
    }
    void add_entry(const std::string& body) {
        djstap::test::append(frames_text, body.size(), 4);
        frames_text += body;
    }
    void add_common() { add_entry("\0\0\0\0\1zR\0\1\x78\x10\1\x1b\x0c\x07\x08\x90\x01"s); }
    void add_function(u64 begin, u32 bytes) {
        std::string body;
        function_at = frames_text.size();
        djstap::test::append(body, function_at + 4, 4);
        djstap::test::append(body, begin - (frames + function_at + 8), 4);
        djstap::test::append(body, bytes, 4);
        add_entry(body + '\0');
    }
    // In place of the index, a section of the frames.
    void use_sections() {
        headers.pop_back();
        sections = {
            {},
            {11, SHT_STRTAB, 0, 0, names_offset, 32, 0, 0, 1, 0},
            {1, SHT_PROGBITS, SHF_ALLOC, frames, frames_offset, frames_text.size(), 0, 0, 8, 0}};
        elf.e_shstrndx = 1;
    }
    static std::string note(u32 type, const std::string& name, const std::string& text) {
        std::string made;
        djstap::test::append(made, name.size(), 4);
        djstap::test::append(made, text.size(), 4);
        djstap::test::append(made, type, 4);
        for (const std::string& each : {name, text}) {
            made += each;
            made.resize((made.size() + 3) / 4 * 4, '\0');
        }
        return made;
    }
    void set_notes(const std::string& text) {
        notes = text;
        headers[3].p_filesz = notes.size();
    }
    const std::string& made() {
        elf.e_phnum = static_cast<Elf64_Half>(headers.size());
        elf.e_shnum = static_cast<Elf64_Half>(sections.size());
        whole.assign(0x8000, '\0');
        const auto put = [&](u64 at, const void* from, size_t bytes) {
            if (at + bytes <= whole.size())
                whole.replace(at, bytes, static_cast<const char*>(from), bytes);
        };
        put(0, &elf, sizeof elf);
        put(sizeof elf, headers.data(), headers.size() * sizeof headers[0]);
        put(frames_offset, frames_text.data(), frames_text.size());
        put(index_offset, index_text.data(), index_text.size());
        put(notes_offset, notes.data(), notes.size());
        put(sections_offset, sections.data(), sections.size() * sizeof(Elf64_Shdr));
        const std::string names = "\0.eh_frame\0.shstrtab\0.eh_frame_hdr\0"s;
        put(names_offset, names.data(), names.size());
        return whole;
    }

    Elf64_Ehdr elf{};
    std::vector<Elf64_Phdr> headers;
    std::vector<Elf64_Shdr> sections;
    std::string frames_text, index_text, notes, whole;
    size_t function_at = 0;
};

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

// ---- the files that are mapped ------------------------------------------------------------------

class MappedFiles : public testing::Test {
  protected:
    void SetUp() override {
        test_read_most = ~u64{0};
        test_reads_left = LONG_MAX;
        whole_ = file_.made();
        test_image_file(whole_.data(), whole_.size());
        ASSERT_EQ(test_images_init(), 0);
        refused_ = djs_user_images_refused();
    }
    void TearDown() override {
        test_images_exit();
        test_allocations_left = LONG_MAX;
        test_is_killed = false;
        EXPECT_EQ(guarded_count(), 0U);
    }
    // Maps the file, and says how often it was looked at.
    test_image map(u32* looks = nullptr) {
        const u32 before = test_paths_made;
        const test_image image = test_map(&mapped_);
        if (looks)
            *looks = test_paths_made - before;
        return image;
    }
    void becomes(const std::string& text) {
        whole_ = text;
        test_image_file(whole_.data(), whole_.size());
    }
    u64 refused() const { return djs_user_images_refused() - refused_; }

    test_mapped mapped_{{3, 17, 100, 5, 6, 7, 8}, "/bin/one", true, true, true};
    MadeUpFile file_;

  private:
    std::string whole_;
    u64 refused_ = 0;
};

TEST_F(MappedFiles, AreReadOnce) {
    u32 looks = 0;
    test_image image = map(&looks);
    EXPECT_STREQ(image.path, "/bin/one");
    EXPECT_EQ(image.number, 0U);
    EXPECT_EQ(image.rows, 1U);
    EXPECT_EQ(looks, 1U);
    mapped_.path = "/bin/link"; // the same file
    EXPECT_STREQ(map(&looks).path, "/bin/one");
    EXPECT_EQ(looks, 0U);
    EXPECT_STREQ(test_image_of(0).path, "/bin/one");
    EXPECT_EQ(refused(), 0U);
}

TEST_F(MappedFiles, AreOthersIfAnythingIsDifferent) {
    EXPECT_EQ(map().number, 0U);
    u32 number = 1;
    for (u64 test_identity::* each :
         {&test_identity::device, &test_identity::inode, &test_identity::size}) {
        mapped_.identity.*each += 1;
        EXPECT_EQ(map().number, number++);
    }
    mapped_.identity.modified++;
    EXPECT_EQ(map().number, number++);
    mapped_.identity.modified_ns++;
    EXPECT_EQ(map().number, number++);
    mapped_.identity.changed++;
    EXPECT_EQ(map().number, number++);
    mapped_.identity.changed_ns++;
    EXPECT_EQ(map().number, number);
    EXPECT_EQ(map().number, number);
    EXPECT_STREQ(test_image_of(number).path, "/bin/one");
}

TEST_F(MappedFiles, AreFilesThatCanBeRead) {
    for (bool test_mapped::* each :
         {&test_mapped::is_regular, &test_mapped::is_readable, &test_mapped::is_known}) {
        mapped_.*each = false;
        EXPECT_EQ(map().path, nullptr);
        mapped_.*each = true;
    }
    EXPECT_EQ(map().number, 0U);
}

TEST_F(MappedFiles, KeepTheEndsOfTheirPaths) {
    const std::string longest(511, 'x'), longer = "y" + longest;
    mapped_.path = longest.c_str();
    EXPECT_EQ(map().path, longest);
    mapped_.identity.inode++;
    mapped_.path = longer.c_str();
    EXPECT_EQ(map().path, longest);
    mapped_.identity.inode++;
    mapped_.path = nullptr;
    EXPECT_STREQ(map().path, "?");
}

// A thousand files that are no programs are remembered as such.
TEST_F(MappedFiles, ThatAreNoImagesAreRemembered) {
    becomes("#!/bin/sh");
    u32 looks = 0;
    for (int i = 0; i < 1025; i++) {
        mapped_.identity.inode++;
        EXPECT_EQ(map(&looks).path, nullptr);
        EXPECT_EQ(looks, 1U);
        map(&looks);
        ASSERT_EQ(looks, i < 1024 ? 0U : 1U) << i;
    }
    EXPECT_EQ(refused(), 0U);
    becomes(file_.made());
    mapped_.identity.inode++;
    EXPECT_EQ(map().number, 0U);
}

TEST_F(MappedFiles, ThatWereNotReadWhollyAreReadAgain) {
    u32 looks = 0;
    test_reads_left = 2; // the headers
    test_read_result = -5;
    EXPECT_TRUE(map(&looks).is_refused);
    EXPECT_EQ(refused(), 1U);
    test_reads_left = 2;
    EXPECT_TRUE(map(&looks).is_refused); // again
    EXPECT_EQ(looks, 1U);
    EXPECT_EQ(map(&looks).number, 0U);
    EXPECT_EQ(refused(), 1U);
    test_reads_left = LONG_MAX;
    const test_image whole = map(&looks);
    EXPECT_EQ(looks, 1U);
    EXPECT_EQ(whole.number, 1U);
    EXPECT_EQ(whole.rows, 1U);
    EXPECT_EQ(map(&looks).number, 1U);
    EXPECT_EQ(looks, 0U);
    EXPECT_EQ(refused(), 1U);
    EXPECT_TRUE(test_image_of(0).is_refused); // stacks may refer to it
    // Of what cannot be read at all nothing is known, and nobody needs what a killed task has read.
    mapped_.identity.inode++;
    test_reads_left = 0;
    EXPECT_EQ(map().path, nullptr);
    test_reads_left = 2;
    test_is_killed = true;
    EXPECT_EQ(map().path, nullptr);
    EXPECT_EQ(refused(), 1U);
    test_is_killed = false;
    test_reads_left = LONG_MAX;
    EXPECT_EQ(map().number, 2U);
}

TEST_F(MappedFiles, WithDamagedInformationAreCountedOnce) {
    file_.index_text[0] = 2;
    becomes(file_.made());
    u32 looks = 0;
    EXPECT_TRUE(map().is_refused);
    EXPECT_TRUE(map(&looks).is_refused);
    EXPECT_EQ(looks, 0U);
    EXPECT_EQ(refused(), 1U);
}

TEST_F(MappedFiles, NeedMemory) {
    // For the path, the path that is kept, and what is known of the file.
    for (const long allocations : {0L, 1L, 2L}) {
        test_allocations_left = allocations;
        EXPECT_EQ(map().path, nullptr);
        EXPECT_EQ(guarded_count(), 1U) << allocations;
    }
    EXPECT_EQ(refused(), 3U);
    test_images_exit();
    test_allocations_left = 0;
    EXPECT_EQ(test_images_init(), -ENOMEM);
    test_allocations_left = LONG_MAX;
    ASSERT_EQ(test_images_init(), 0);
}

TEST_F(MappedFiles, HaveTheKernelsLibraryAmongThem) {
    const std::string& whole = file_.made();
    const u64 address = reinterpret_cast<u64>(whole.data());
    test_image_file(whole.data(), whole.size());
    EXPECT_EQ(test_map_kernel(address, false).path, nullptr); // no program loads it
    EXPECT_EQ(test_map_kernel(0, true).path, nullptr);
    test_image_file(whole.data(), 100); // it cannot be read
    EXPECT_EQ(test_map_kernel(address, true).path, nullptr);
    EXPECT_EQ(guarded_count(), 1U);
    test_image_file(whole.data(), whole.size());
    const test_image image = test_map_kernel(address, true);
    EXPECT_STREQ(image.path, "vdso");
    EXPECT_EQ(image.number, 0U);
    EXPECT_EQ(image.rows, 1U);
    EXPECT_EQ(map().number, 1U);
}

// ---- address spaces -----------------------------------------------------------------------------

class UserSpaces : public testing::Test {
  protected:
    void SetUp() override {
        ASSERT_EQ(djs_user_places_init(), 0);
        for (u32 i = 0; i < TEST_SPACES; i++) {
            test_set_users(i, 1);
            references_[i] = test_space_references(i);
        }
    }
    void TearDown() override {
        djs_user_spaces_exit();
        test_readers_are_gone();
        EXPECT_FALSE(test_is_queued());
        djs_user_places_exit();
        for (u32 i = 0; i < TEST_SPACES; i++)
            EXPECT_EQ(test_space_references(i), references_[i]);
        EXPECT_EQ(guarded_count(), 0U);
    }
    static u64 order_of(u32 space) {
        const djs_user_map* map = djs_user_map_of(test_space(space));
        return map ? map->order : 0;
    }

  private:
    int references_[TEST_SPACES]{};
};

TEST_F(UserSpaces, FindTheMappingOfAnAddress) {
    for (u32 count = 0; count < 6; count++) {
        djs_user_map* const map = test_make_map(count, 1);
        // A gap before each, of the size that it has.
        for (u32 i = 0; i < count; i++) {
            map->mappings[i].begin = 0x1000 + 0x2000 * u64{i};
            map->mappings[i].end = 0x2000 + 0x2000 * u64{i};
        }
        for (u64 address = 0; address < 0x2000 * u64{count} + 0x1000; address += 0x800) {
            const bool inside = address / 0x1000 % 2;
            EXPECT_EQ(djs_user_mapping_at(map, address),
                      inside ? &map->mappings[address / 0x2000] : nullptr)
                << count << " " << address;
        }
        for (u32 i = 0; i < count; i++) {
            EXPECT_EQ(djs_user_mapping_at(map, map->mappings[i].end - 1), &map->mappings[i]);
            EXPECT_EQ(djs_user_mapping_at(map, map->mappings[i].begin - 1), nullptr);
        }
        test_free_map(map);
    }
}

TEST_F(UserSpaces, AreKeptByWhatWasSeenLast) {
    EXPECT_EQ(order_of(0), 0U);
    EXPECT_EQ(djs_user_space_set(test_space(0), test_make_map(1, 5)), 0);
    EXPECT_EQ(djs_user_space_set(test_space(1), test_make_map(1, 6)), 0);
    EXPECT_EQ(order_of(0), 5U);
    EXPECT_EQ(order_of(1), 6U);
    EXPECT_EQ(order_of(2), 0U);
    djs_user_map_of(test_space(0))->places = 9;
    EXPECT_EQ(djs_user_space_set(test_space(0), test_make_map(2, 4)), 0); // an older one
    EXPECT_EQ(order_of(0), 5U);
    test_readers_are_gone();
    const djs_user_map* const old = djs_user_map_of(test_space(0));
    const u32 count = guarded_count();
    EXPECT_EQ(djs_user_space_set(test_space(0), test_make_map(2, 7)), 0);
    EXPECT_EQ(order_of(0), 7U);
    ASSERT_EQ(guarded_count(), count + 1);
    EXPECT_EQ(old->order, 5U); // a handler may still be reading it
    test_readers_are_gone();
    EXPECT_EQ(guarded_count(), count);
    EXPECT_EQ(djs_user_map_of(test_space(0))->places, 9U);
    EXPECT_EQ(test_space_references(0), test_space_references(1));
    test_allocations_left = 1;
    EXPECT_EQ(djs_user_space_set(test_space(2), test_make_map(1, 8)), -ENOMEM);
    test_allocations_left = LONG_MAX;
    EXPECT_EQ(order_of(2), 0U);
}

TEST_F(UserSpaces, AreForgottenWhenNobodyUsesThem) {
    EXPECT_FALSE(test_is_queued());
    for (const u32 space : {0U, 1U, 2U})
        EXPECT_EQ(djs_user_space_set(test_space(space), test_make_map(1, space + 1)), 0);
    test_set_users(1, 0);
    const unsigned waits = test_rcu_waits;
    const u32 count = guarded_count();
    EXPECT_TRUE(test_run_queued());
    EXPECT_EQ(test_rcu_waits, waits + 1); // for handlers that look at it
    EXPECT_EQ(test_count_at_wait, count);
    EXPECT_EQ(guarded_count(), count - 2); // the space and its map
    EXPECT_EQ(order_of(0), 1U);
    EXPECT_EQ(order_of(1), 0U);
    EXPECT_EQ(order_of(2), 3U);
    EXPECT_TRUE(test_run_queued()); // again, as some are left
    EXPECT_EQ(test_rcu_waits, waits + 1);
    test_set_users(0, 0);
    test_set_users(2, 0);
    EXPECT_TRUE(test_run_queued());
    EXPECT_FALSE(test_is_queued());
    EXPECT_EQ(guarded_count(), 1U); // the places
    EXPECT_EQ(djs_user_space_set(test_space(2), test_make_map(1, 9)), 0);
    EXPECT_TRUE(test_is_queued());
}

// A number of a place is taken once for each mapping, and only so many by one address space.
TEST_F(UserSpaces, TakeNumbersOfPlaces) {
    djs_user_map* const map = test_make_map(2, 1);
    djs_user_mapping* const mapping = &map->mappings[0];
    EXPECT_EQ(djs_user_word_in(map, nullptr, 0x1234, true), djs_word(0x1234, 0, false));
    EXPECT_EQ(djs_user_word_in(map, mapping, 0x1234, true), djs_word(0x1234, 0, false));
    EXPECT_EQ(map->places, 0U); // it is of no image
    mapping->image = 3;
    mapping->bias = 0x1000;
    const u64 word = djs_user_word_in(map, mapping, 0x1234, true);
    EXPECT_EQ(map->places, 1U);
    ASSERT_NE(mapping->place, 0U);
    EXPECT_EQ(word, djs_word(0x1234, mapping->place, true));
    EXPECT_EQ(djs_user_word_in(map, mapping, 0x1235, false),
              djs_word(0x1235, mapping->place, false));
    EXPECT_EQ(map->places, 1U);
    // Another mapping at the same place has the same number.
    map->mappings[1] = *mapping;
    map->mappings[1].place = 0;
    EXPECT_EQ(djs_user_word_in(map, &map->mappings[1], 0x1234, true), word);
    EXPECT_EQ(map->places, 1U);
    map->places = 4095;
    mapping->place = 0;
    mapping->bias = 0x2000;
    EXPECT_NE(djs_word_place(djs_user_word_in(map, mapping, 0x1234, true)), 0U);
    EXPECT_EQ(map->places, 4096U);
    mapping->place = 0;
    mapping->bias = 0x3000;
    EXPECT_EQ(djs_user_word_in(map, mapping, 0x1234, true), djs_word(0x1234, 0, false));
    EXPECT_EQ(map->places, 4096U);
    test_free_map(map);
}

} // namespace
