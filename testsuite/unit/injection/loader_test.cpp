// SPDX-License-Identifier: GPL-2.0-or-later
// Where a program is patched to hear of what its dynamic loader maps: what glibc tells debuggers
// (struct r_debug), and copies of this process whose memory is changed. Instructions are those of
// the Intel SDM; a jump takes five bytes.
#include "injection/loader.h"

#include "injection/process_facts.h"

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <elf.h>
#include <gtest/gtest.h>
#include <link.h>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace djstap::injection {
namespace {

using namespace std::string_literals;

constexpr uint64_t code_page_bytes = 4096;

template <class T> std::string_view raw_bytes(const T& value) {
    return {reinterpret_cast<const char*>(&value), sizeof value};
}

template <class T> uint64_t address_of(T* object) {
    return reinterpret_cast<uint64_t>(object);
}

// A copy of this process that waits. It has everything at the same addresses.
class LoaderOfCopy : public testing::Test {
  protected:
    void SetUp() override {
        // A page of code, before one that cannot be read.
        code_ = static_cast<char*>(mmap(nullptr, 2 * code_page_bytes, PROT_READ | PROT_EXEC,
                                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        ASSERT_NE(code_, MAP_FAILED);
        ASSERT_EQ(munmap(code_ + code_page_bytes, code_page_bytes), 0);
        for (entry_ = _DYNAMIC; entry_->d_tag != DT_DEBUG; entry_++)
            ASSERT_NE(entry_->d_tag, DT_NULL);
        debug_ = reinterpret_cast<const r_debug*>(entry_->d_un.d_ptr);
        process_ = fork();
        if (process_ == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            for (;;)
                pause();
        }
        ASSERT_GT(process_, 0);
        auto program = TracedProgram::of_running(process_);
        ASSERT_TRUE(program) << program.failure().message;
        program_.emplace(std::move(*program));
    }
    void TearDown() override {
        program_.reset();
        if (process_ > 0) {
            kill(process_, SIGKILL);
            waitpid(process_, nullptr, 0);
        }
        munmap(code_, code_page_bytes);
    }
    template <class T> void write(const T* at, const T& value) {
        ASSERT_TRUE(program_->write(address_of(at), raw_bytes(value)));
    }
    std::optional<PlacedImage> placed() {
        const auto map = MemoryMap::of(process_);
        EXPECT_TRUE(map);
        return place_in_loader(*program_, *map);
    }
    // With this code where the loader tells that it has mapped something.
    std::optional<PlacedImage> placed_with(const std::string& code) {
        EXPECT_TRUE(program_->write(debug_->r_brk, code));
        return placed();
    }
    // With other code, at the end of what is mapped there.
    std::optional<PlacedImage> placed_at_end(const std::string& code) {
        const uint64_t at = address_of(code_) + code_page_bytes - code.size();
        EXPECT_TRUE(program_->write(at, code));
        write(&debug_->r_brk, Elf64_Addr{at});
        return placed();
    }

    pid_t process_ = -1;
    std::optional<TracedProgram> program_;
    Elf64_Dyn* entry_ = nullptr; // of this program: where the loader has put the next one
    const r_debug* debug_ = nullptr;
    char* code_ = nullptr;
};

TEST_F(LoaderOfCopy, IsPatchedWhereItTellsDebuggers) {
    const auto found = placed();
    ASSERT_TRUE(found);
    ASSERT_EQ(found->places.size(), 1u);
    const PatchedPlace& place = found->places.front();
    EXPECT_TRUE(place.is_of_loader);
    EXPECT_EQ(place.refusal, "");
    EXPECT_EQ(place.site, DJS_NO_INDEX);
    const std::string_view code(reinterpret_cast<const char*>(debug_->r_brk), 9);
    const uint64_t pad = code.starts_with("\xf3\x0f\x1e\xfa") ? 4 : 0; // endbr64
    EXPECT_EQ(place.address, debug_->r_brk + pad);
    EXPECT_EQ(place.original, code.substr(pad, 5));
    ASSERT_EQ(place.moved.size(), 1u);
    EXPECT_EQ(place.moved[0].address, place.address);
    EXPECT_TRUE(place.moved[0].leaves);
    EXPECT_EQ(place.moved[0].returns, DJS_NO_INDEX);
    // Its mapping has no bias that would be added to addresses.
    EXPECT_EQ(found->bias, 0u);
    EXPECT_LE(found->code.begin, debug_->r_brk);
    EXPECT_GT(found->code.end, debug_->r_brk);
    EXPECT_TRUE(found->is_mapped());
}

TEST_F(LoaderOfCopy, OnlyReturnsBehindALandingPad) {
    const uint64_t at = debug_->r_brk;
    const struct {
        std::string code, moved;
        uint64_t behind;
    } forms[] = {
        {"\xc3\x0f\x1f\x40\0"s, "\xc3", 0},                      // ret; nopl 0(%rax)
        {"\xc3\xcc\xcc\xcc\xcc", "\xc3", 0},                     // ret; int3…
        {"\xc3\x90\x90\x90\x90\x55", "\xc3", 0},                 // ret; nop…; push %rbp
        {"\xc3\x66\x2e\x0f\x1f\x84\0\0\0\0\0"s, "\xc3", 0},      // one long nop
        {"\xc2\x08\0\xcc\xcc\x55"s, "\xc2\x08\0"s, 0},           // ret $8
        {"\xf3\x0f\x1e\xfa\xc3\x66\x90\x66\x90\x55", "\xc3", 4}, // endbr64
    };
    for (const auto& each : forms) {
        const auto found = placed_with(each.code);
        ASSERT_TRUE(found) << testing::PrintToString(each.code);
        const PatchedPlace& place = found->places.front();
        EXPECT_EQ(place.address, at + each.behind);
        EXPECT_EQ(place.original, each.code.substr(each.behind, 5));
        ASSERT_EQ(place.moved.size(), 1u);
        EXPECT_EQ(place.moved[0].bytes, each.moved);
    }
}

// What follows within the jump's five bytes belongs to another function, or may be executed.
TEST_F(LoaderOfCopy, HasNoRoomForAJumpOtherwise) {
    for (const std::string& code : {
             "\xc3\x90\x90\x90\x55\x90"s,                             // four bytes, push %rbp
             "\xc3\x55\x90\x90\x90\x90"s,                             //
             "\xc3\x90\x06\x90\x90\x90"s,                             // no instruction
             "\x90\xc3\x90\x90\x90\x90"s,                             // it does something
             "\xe9\0\0\0\0"s,                                         // a jump elsewhere
             "\x06\xc3\x90\x90\x90\x90"s,                             //
             "\xf3\x0f\x1e\xfa\xf3\x0f\x1e\xfa\xc3\x90\x90\x90\x90"s, // two landing pads
             "\xf3\x0f\x1e\xfa\xc3\x90\x90\x90\x55"s,                 //
         })
        EXPECT_FALSE(placed_with(code)) << testing::PrintToString(code);
}

TEST_F(LoaderOfCopy, MayBeAtTheEndOfWhatIsMapped) {
    const auto found = placed_at_end("\xc3\x90\x90\x90\x90");
    ASSERT_TRUE(found);
    EXPECT_EQ(found->places.front().address, address_of(code_) + code_page_bytes - 5);
    EXPECT_EQ(found->code.end, address_of(code_) + code_page_bytes);
    EXPECT_FALSE(placed_at_end("\xc3\x90\x90\x90"));
    EXPECT_FALSE(placed_at_end("\xc3"));
}

// Such a program has no loader, or one that tells nothing.
TEST_F(LoaderOfCopy, MayTellNothing) {
    write(&debug_->r_brk, Elf64_Addr{0});
    EXPECT_FALSE(placed());
    write(&debug_->r_brk, Elf64_Addr{16}); // where nothing is mapped
    EXPECT_FALSE(placed());
    static const char no_code[] = "\xc3\x90\x90\x90\x90";
    write(&debug_->r_brk, Elf64_Addr{address_of(&no_code)}); // what cannot be executed
    EXPECT_FALSE(placed());
    write(&debug_->r_brk, debug_->r_brk);
    EXPECT_TRUE(placed());
    write(&entry_->d_un.d_ptr, Elf64_Addr{0}); // before the loader has begun
    EXPECT_FALSE(placed());
    write(&entry_->d_un.d_ptr, Elf64_Addr{16});
    EXPECT_FALSE(placed());
    write(&entry_->d_un.d_ptr, Elf64_Addr{address_of(debug_)});
    EXPECT_TRUE(placed());
    write(&entry_->d_tag, Elf64_Sxword{DT_NULL});
    EXPECT_FALSE(placed());
}

// The entries are those of the segment, as long as it is.
TEST_F(LoaderOfCopy, IsNamedInTheDynamicSegment) {
    const auto headers = auxiliary(getpid(), AT_PHDR), count = auxiliary(getpid(), AT_PHNUM);
    ASSERT_TRUE(headers && count);
    auto* const first = reinterpret_cast<Elf64_Phdr*>(*headers);
    auto* const dynamic = std::find_if(
        first, first + *count, [](const Elf64_Phdr& each) { return each.p_type == PT_DYNAMIC; });
    ASSERT_NE(dynamic, first + *count);
    const Elf64_Xword before = static_cast<Elf64_Xword>(entry_ - _DYNAMIC) * sizeof(Elf64_Dyn);
    write(&dynamic->p_memsz, before);
    EXPECT_FALSE(placed());
    write(&dynamic->p_memsz, before + sizeof(Elf64_Dyn));
    EXPECT_TRUE(placed());
    write(&dynamic->p_memsz, Elf64_Xword{0});
    EXPECT_FALSE(placed());
    write(&dynamic->p_memsz, dynamic->p_memsz);
    write(&dynamic->p_type, Elf64_Word{PT_NOTE});
    EXPECT_FALSE(placed());
}

} // namespace
} // namespace djstap::injection
