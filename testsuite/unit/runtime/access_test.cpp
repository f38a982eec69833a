// SPDX-License-Identifier: GPL-2.0-or-later
// Reads and writes of a process's memory, up to the last byte that is there, and their messages.
#include "include/record.h"
#include "include/script.h"
#include "userspace/userspace.h"

#include <algorithm>
#include <cstdio>
#include <gtest/gtest.h>
#include <string>
#include <sys/mman.h>
#include <vector>

extern "C" { // access/access.h, and include/functions.h, which is no C++
bool djs_read_number(u64 address, u32 size, u64* value);
bool djs_write_number(u64 address, u32 size, u64 value);
void djs_fail_text(djs_ctx* ctx, u32 place, const char* format, ...);
void djs_describe_access(char* out, const char* what, u64 address, bool user);
void djs_describe_number(char* out, const char* verb, u64 address, u32 size, bool user);
long djs_read_user_string(char* out, u64 address, size_t size);
void djs_fn_kernel_string(djs_ctx* ctx, char* out, s64 address);
void djs_fn_kernel_string_n(djs_ctx* ctx, char* out, s64 address, s64 size);
void djs_fn_user_string(djs_ctx* ctx, char* out, s64 address);
void djs_fn_user_string_n(djs_ctx* ctx, char* out, s64 address, s64 size);
void djs_fn_set_user_string_n(djs_ctx* ctx, s64 address, s64 n, const char* text);
void djs_fn_set_user_string(djs_ctx* ctx, s64 address, const char* text);
void djs_fn_set_user_char(djs_ctx* ctx, s64 address, s64 value);
void djs_fn_set_user_short(djs_ctx* ctx, s64 address, s64 value);
void djs_fn_set_user_int(djs_ctx* ctx, s64 address, s64 value);
void djs_fn_set_user_long(djs_ctx* ctx, s64 address, s64 value);
void djs_fn_set_user_pointer(djs_ctx* ctx, s64 address, s64 value);
void djs_fn_set_kernel_string_n(djs_ctx* ctx, s64 address, s64 n, const char* text);
void djs_fn_set_kernel_string(djs_ctx* ctx, s64 address, const char* text);
void djs_fn_set_kernel_char(djs_ctx* ctx, s64 address, s64 value);
void djs_fn_set_kernel_short(djs_ctx* ctx, s64 address, s64 value);
void djs_fn_set_kernel_int(djs_ctx* ctx, s64 address, s64 value);
void djs_fn_set_kernel_long(djs_ctx* ctx, s64 address, s64 value);
void djs_fn_set_kernel_pointer(djs_ctx* ctx, s64 address, s64 value);
void djs_fn___buffer_quoted(djs_ctx* ctx, char* out, s64 address, s64 size, s64 most, s64 user);
void djs_fn___string_utf(djs_ctx* ctx, char* out, s64 address, s64 bytes, s64 user);
}

namespace {

// Two pages that can be read and written, and one that cannot.
class Access : public testing::Test {
  protected:
    static constexpr u32 string_bytes = 32;
    static constexpr size_t page_bytes = 4096;
    static constexpr s64 work_bytes = 2560; // DJS_WORK_BYTES, state/state.h
    static constexpr u64 kernel_address = 0xffffffff81000000;

    void SetUp() override {
        pages_ = mmap(nullptr, 3 * page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                      -1, 0);
        ASSERT_NE(pages_, MAP_FAILED);
        end = static_cast<char*>(pages_) + 2 * page_bytes;
        ASSERT_EQ(mprotect(end, page_bytes, PROT_NONE), 0);
        script_.string_bytes = string_bytes;
        djs_user_options options{};
        options.ring_bytes = page_bytes;
        ASSERT_EQ(djs_user_init(1), 0);
        ASSERT_EQ(djs_user_load(&script_, &options), 0) << djs_user_complaint();
        context.error_text = error_text_;
        context.work = work_.data();
    }
    void TearDown() override {
        djs_user_unload();
        djs_user_exit();
        munmap(pages_, 3 * page_bytes);
    }
    static s64 address_of(const char* at) { return reinterpret_cast<s64>(at); }
    // The bytes are the last ones that can be read.
    s64 at_end(const std::string& bytes) const {
        std::copy(bytes.begin(), bytes.end(), end - bytes.size());
        return address_of(end - bytes.size());
    }
    std::string error() {
        const std::string text = context.error ? context.error : "";
        context.error = nullptr;
        return text;
    }
    // What a function writes to a string of the script, behind which nothing is changed.
    template <class Function> std::string result(Function function) {
        std::string out(string_bytes + 8, '#');
        function(&context, out.data());
        EXPECT_EQ(out.substr(string_bytes), "########");
        return out.c_str();
    }
    std::string user_string(s64 address) {
        return result([&](djs_ctx* ctx, char* out) { djs_fn_user_string(ctx, out, address); });
    }
    std::string user_string_n(s64 address, s64 size) {
        return result(
            [&](djs_ctx* ctx, char* out) { djs_fn_user_string_n(ctx, out, address, size); });
    }
    std::string quoted(s64 address, s64 size, s64 most) {
        return result([&](djs_ctx* ctx, char* out) {
            djs_fn___buffer_quoted(ctx, out, address, size, most, 1);
        });
    }
    // Of these units of `bytes` bytes, which are the last ones that can be read.
    std::string utf(s64 bytes, const std::vector<u32>& units) {
        std::string memory;
        for (const u32 unit : units)
            memory.append(reinterpret_cast<const char*>(&unit), static_cast<size_t>(bytes));
        const s64 address = at_end(memory);
        return result(
            [&](djs_ctx* ctx, char* out) { djs_fn___string_utf(ctx, out, address, bytes, 1); });
    }

    djs_ctx context{};
    char* end = nullptr; // of what can be read

  private:
    void* pages_ = nullptr;
    struct djs_script script_{};
    char error_text_[256];
    std::vector<char> work_ = std::vector<char>(size_t{work_bytes});
};

} // namespace

TEST_F(Access, NumbersOfEachSize) {
    const u64 address = static_cast<u64>(at_end("\x88\x77\x66\x55\x44\x33\x22\x11"));
    u64 value = ~u64{0};
    for (const auto& [size, expected] :
         {std::pair<u32, u64>{1, 0x88}, {2, 0x7788}, {4, 0x55667788}, {8, 0x1122334455667788}}) {
        ASSERT_TRUE(djs_read_number(address, size, &value)) << size;
        EXPECT_EQ(value, expected);
        EXPECT_EQ(djs_load(&context, address, size, 3), expected);
        EXPECT_EQ(djs_load_user(&context, address, size, 3), expected);
    }
    EXPECT_EQ(error(), "");
    EXPECT_FALSE(djs_read_number(address + 1, 8, &value));
    EXPECT_FALSE(djs_read_number(kernel_address, 8, &value));
    EXPECT_EQ(value, 0u);
    EXPECT_EQ(djs_load(&context, address + 8, 1, 3), 0u);
    EXPECT_EQ(context.error_place, 3u);
    EXPECT_EQ(error().substr(0, 36), "cannot read 1 byte of user memory at");
    EXPECT_EQ(djs_load_user(&context, kernel_address, 2, 4), 0u);
    EXPECT_EQ(context.error_place, 4u);
    EXPECT_EQ(error(),
              "cannot read 2 bytes of user memory at 0xffffffff81000000, which is a kernel "
              "address");
}

TEST_F(Access, NumbersAreWrittenInTheirSizeOnly) {
    const u64 address = static_cast<u64>(at_end("--------"));
    const std::string written("\x01\x02\x03\x04\x05\x06\x07\x08", 8);
    for (const u32 size : {1u, 2u, 4u, 8u}) {
        at_end("--------");
        EXPECT_TRUE(djs_write_number(address, size, 0x0807060504030201));
        EXPECT_EQ(std::string(end - 8, 8), written.substr(0, size) + std::string(8 - size, '-'));
    }
    at_end("--------");
    for (const u32 size : {0u, 3u, 5u, 6u, 7u, 9u, 16u})
        EXPECT_FALSE(djs_write_number(address - 16, size, 0)) << size;
    EXPECT_FALSE(djs_write_number(address + 8, 1, 0));
    EXPECT_FALSE(djs_write_number(kernel_address, 8, 0));
    EXPECT_EQ(std::string(end - 8, 8), "--------");
    djs_store(&context, address, 2, 0x4241, 5);
    djs_store_user(&context, address + 2, 2, 0x4443, 5);
    EXPECT_EQ(std::string(end - 8, 8), "ABCD----");
    EXPECT_EQ(error(), "");
    djs_store(&context, kernel_address, 4, 1, 5);
    EXPECT_EQ(context.error_place, 5u);
    EXPECT_EQ(error(), "cannot write 4 bytes of kernel memory at 0xffffffff81000000");
    djs_store_user(&context, kernel_address, 1, 1, 6);
    EXPECT_EQ(context.error_place, 6u);
    EXPECT_EQ(error(),
              "cannot write 1 byte of user memory at 0xffffffff81000000, which is a kernel "
              "address");
}

TEST_F(Access, MessagesSayWhoseMemoryItIs) {
    const auto described = [](const char* what, u64 address, bool user) {
        char out[128];
        djs_describe_access(out, what, address, user);
        return std::string(out);
    };
    EXPECT_EQ(described("read it", 0, false), "cannot read it at NULL");
    EXPECT_EQ(described("read it", 1, true), "cannot read it at NULL + 0x1");
    EXPECT_EQ(described("read it", 65535, false), "cannot read it at NULL + 0xffff");
    EXPECT_EQ(described("read it", 65536, true), "cannot read it of user memory at 0x10000");
    EXPECT_EQ(described("read it", 65536, false),
              "cannot read it of kernel memory at 0x10000, which is a user-space address");
    EXPECT_EQ(described("read it", kernel_address, false),
              "cannot read it of kernel memory at 0xffffffff81000000");
    char out[128];
    djs_describe_number(out, "read", 65536, 1, true);
    EXPECT_STREQ(out, "cannot read 1 byte of user memory at 0x10000");
    djs_describe_number(out, "read", 65536, 2, true);
    EXPECT_STREQ(out, "cannot read 2 bytes of user memory at 0x10000");
}

TEST_F(Access, TheFirstErrorStays) {
    djs_fail_text(&context, 1, "the %s", "first");
    djs_fail_text(&context, 2, "the %s", "second");
    EXPECT_EQ(context.error_place, 1u);
    EXPECT_EQ(error(), "the first");
}

TEST_F(Access, MemoryIsCopiedUpToWhatCannotBeRead) {
    const std::string bytes = "0123456789abc";
    for (size_t size = 0; size <= bytes.size(); size++) {
        std::string out(size + 1, '#');
        djs_copy_memory(&context, out.data(), static_cast<u64>(at_end(bytes)), size,
                        static_cast<u32>(size % 2), 5);
        EXPECT_EQ(out, bytes.substr(0, size) + "#");
        EXPECT_EQ(error(), "");
    }
    std::string out(16, '#');
    djs_copy_memory(&context, out.data(), static_cast<u64>(at_end(bytes)), 15, 1, 5);
    EXPECT_EQ(out, bytes + "###");
    EXPECT_EQ(error().substr(0, 36), "cannot read 1 byte of user memory at");
    out.assign(8, '#');
    djs_copy_memory(&context, out.data(), static_cast<u64>(address_of(end)), 8, 0, 5);
    EXPECT_EQ(out, "########");
    EXPECT_EQ(error().substr(0, 37), "cannot read 8 bytes of user memory at");
    djs_copy_memory(&context, out.data(), kernel_address, 8, 1, 5);
    EXPECT_EQ(error().substr(0, 37), "cannot read 8 bytes of user memory at");
}

// A string may end with the last byte of memory, at any distance from the beginning of its page.
TEST_F(Access, StringsEndWhereMemoryDoes) {
    for (size_t length = 0; length < 200; length++) {
        const std::string text(length, 'x');
        const u64 address = static_cast<u64>(at_end(text + '\0'));
        std::string out(length + 20, '#');
        ASSERT_EQ(djs_read_user_string(out.data(), address, out.size()), static_cast<long>(length));
        ASSERT_EQ(out.c_str(), text);
        // Without its NUL it has an end only if no more is wanted.
        at_end(text + 'x');
        ASSERT_EQ(djs_read_user_string(out.data(), address, length + 2),
                  static_cast<long>(length) + 1);
        ASSERT_LT(djs_read_user_string(out.data(), address, length + 3), 0) << length;
        ASSERT_EQ(out[0], '\0');
    }
    char out = '#';
    EXPECT_EQ(djs_read_user_string(&out, 8, 0), 0);
    EXPECT_EQ(out, '#');
    EXPECT_EQ(djs_read_user_string(&out, 8, 1), 0);
    EXPECT_EQ(out, '\0');
}

TEST_F(Access, StringsFillTheirRoom) {
    const std::string longest(string_bytes - 1, 'x');
    const s64 address = at_end(longest + "yz");
    EXPECT_EQ(user_string(address), longest);
    EXPECT_EQ(user_string_n(address, string_bytes - 2), longest.substr(1));
    EXPECT_EQ(user_string_n(address, string_bytes - 1), longest);
    EXPECT_EQ(user_string_n(address, string_bytes), longest);
    EXPECT_EQ(user_string_n(address, 1), "x");
    EXPECT_EQ(user_string_n(address, 0), "");
    EXPECT_EQ(user_string_n(address, INT64_MIN), "");
    EXPECT_EQ(user_string(at_end(std::string(1, '\0'))), "");
    EXPECT_EQ(error(), "");
    EXPECT_EQ(user_string(address_of(end)), "");
    EXPECT_EQ(error().substr(0, 38), "cannot read a string of user memory at");
}

TEST_F(Access, TextsAreWrittenWithTheirNulIfThereIsRoom) {
    const auto written = [&](s64 n, const char* text) {
        const s64 address = at_end("--------");
        djs_fn_set_user_string_n(&context, address, n, text);
        return std::string(end - 8, 8);
    };
    EXPECT_EQ(written(0, "ab"), "--------");
    EXPECT_EQ(written(1, "ab"), "a-------");
    EXPECT_EQ(written(2, "ab"), "ab------");
    EXPECT_EQ(written(3, "ab"), std::string("ab\0-----", 8));
    EXPECT_EQ(written(8, "ab"), std::string("ab\0-----", 8));
    EXPECT_EQ(written(8, "abcdefghi"), "abcdefgh");
    EXPECT_EQ(error(), "");
    EXPECT_EQ(written(9, "abcdefghi"), "abcdefgh");
    EXPECT_EQ(error().substr(0, 37), "cannot write 1 byte of user memory at");
}

// A process reads its own memory as if it were the kernel's, but has nothing at a kernel's address.
TEST_F(Access, StringsOfTheKernelHaveMessagesOfTheirOwn) {
    const auto kernel_string = [&](s64 address) {
        return result([&](djs_ctx* ctx, char* out) { djs_fn_kernel_string(ctx, out, address); });
    };
    const auto kernel_string_n = [&](s64 address, s64 size) {
        return result(
            [&](djs_ctx* ctx, char* out) { djs_fn_kernel_string_n(ctx, out, address, size); });
    };
    const std::string longest(string_bytes - 1, 'x');
    const s64 address = at_end(longest + "yz");
    EXPECT_EQ(kernel_string(address), longest);
    EXPECT_EQ(kernel_string_n(address, 2), "xx");
    EXPECT_EQ(kernel_string_n(address, -1), "");
    EXPECT_EQ(kernel_string(at_end(std::string(1, '\0'))), "");
    EXPECT_EQ(error(), "");
    const s64 of_kernel = static_cast<s64>(kernel_address);
    EXPECT_EQ(kernel_string(of_kernel), "");
    EXPECT_EQ(error(), "cannot read a string of kernel memory at 0xffffffff81000000");
    EXPECT_EQ(kernel_string_n(of_kernel, 1), "");
    EXPECT_EQ(error(), "cannot read a string of kernel memory at 0xffffffff81000000");
    EXPECT_EQ(user_string(of_kernel), "");
    EXPECT_EQ(error(), "cannot read a string of user memory at 0xffffffff81000000, which is a "
                       "kernel address");
}

TEST_F(Access, FunctionsWriteOnlyWhereTheirNamesSay) {
    const std::string bytes("\x01\x02\x03\x04\x05\x06\x07\x08", 8);
    struct Writer {
        void (*to_user)(djs_ctx*, s64, s64);
        void (*to_kernel)(djs_ctx*, s64, s64);
        size_t size; // of the type in C
    };
    for (const auto& [to_user, to_kernel, size] :
         {Writer{djs_fn_set_user_char, djs_fn_set_kernel_char, sizeof(char)},
          Writer{djs_fn_set_user_short, djs_fn_set_kernel_short, sizeof(short)},
          Writer{djs_fn_set_user_int, djs_fn_set_kernel_int, sizeof(int)},
          Writer{djs_fn_set_user_long, djs_fn_set_kernel_long, sizeof(long)},
          Writer{djs_fn_set_user_pointer, djs_fn_set_kernel_pointer, sizeof(void*)}}) {
        const s64 address = at_end("--------");
        to_user(&context, address, 0x0807060504030201);
        EXPECT_EQ(error(), "");
        EXPECT_EQ(std::string(end - 8, 8), bytes.substr(0, size) + std::string(8 - size, '-'));
        at_end("--------");
        const std::string what = "cannot write " + std::to_string(size) + " byte" +
                                 (size == 1 ? "" : "s") + " of kernel memory at ";
        to_kernel(&context, address, 0);
        EXPECT_EQ(error().substr(0, what.size()), what); // which is a user-space address
        to_kernel(&context, static_cast<s64>(kernel_address), 0);
        EXPECT_EQ(error(), what + "0xffffffff81000000");
        EXPECT_EQ(std::string(end - 8, 8), "--------");
    }
    const s64 address = at_end("--------");
    djs_fn_set_user_string(&context, address, "abc");
    EXPECT_EQ(std::string(end - 8, 8), std::string("abc\0----", 8));
    EXPECT_EQ(error(), "");
    // The first byte that cannot be written ends it.
    for (const bool has_limit : {false, true}) {
        const s64 kernel = static_cast<s64>(kernel_address);
        if (has_limit)
            djs_fn_set_kernel_string_n(&context, kernel, 3, "abc");
        else
            djs_fn_set_kernel_string(&context, kernel, "abc");
        EXPECT_EQ(error(), "cannot write 1 byte of kernel memory at 0xffffffff81000000");
    }
}

TEST_F(Access, BuffersAreQuotedUpToTheirEnd) {
    const s64 address = at_end(std::string("a\0b", 3));
    EXPECT_EQ(quoted(address, 3, 20), R"("a\000b")");
    EXPECT_EQ(quoted(address, 1, 20), R"("a")");
    EXPECT_EQ(quoted(address, 0, 20), R"("")");
    EXPECT_EQ(quoted(address, -5, 20), R"("")");
    EXPECT_EQ(error(), "");
    EXPECT_EQ(quoted(address, 4, 20), "");
    EXPECT_EQ(error().substr(0, 38), "cannot read a buffer of user memory at");
    EXPECT_EQ(quoted(address, 3, 0), "");
    EXPECT_EQ(error().substr(0, 38), "cannot read a buffer of user memory at");
    quoted(address, 3, 1);
    EXPECT_EQ(error(), "");
    // As much as there is room for: of the string, and of the memory in between.
    const std::string shown = "\"" + std::string(string_bytes - 6, 'x') + "\"...";
    const s64 longest = at_end(std::string(size_t{work_bytes}, 'x'));
    EXPECT_EQ(quoted(longest, work_bytes, 1000), shown);
    EXPECT_EQ(quoted(longest, 5000, 1000), shown);
    EXPECT_EQ(error(), "");
}

TEST_F(Access, CharactersOfUtf32AreThoseOfUtf8) {
    EXPECT_EQ(utf(4, {1, 0x7f, 0x80, 0x7ff, 0}), "\x01\x7f\xc2\x80\xdf\xbf");
    EXPECT_EQ(utf(4, {0x800, 0xd7ff, 0xe000, 0xffff, 0}),
              "\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf");
    EXPECT_EQ(utf(4, {0x10000, 0x10ffff, 0}), "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf");
    EXPECT_EQ(error(), "");
    for (const u32 none : {0xd800u, 0xdfffu, 0x110000u, 0xffffffffu}) {
        EXPECT_EQ(utf(4, {'a', none, 0}), "");
        char message[64];
        std::snprintf(message, sizeof(message), "there is no character 0x%x in UTF-32", none);
        EXPECT_EQ(error(), message);
    }
    EXPECT_EQ(utf(4, {'a', 'b'}), "");
    EXPECT_EQ(error().substr(0, 38), "cannot read a string of user memory at");
}

TEST_F(Access, PairsOfUtf16AreOneCharacter) {
    EXPECT_EQ(utf(2, {0x7ff, 0xd800, 0xdc00, 'x', 0}), "\xdf\xbf\xf0\x90\x80\x80x");
    EXPECT_EQ(utf(2, {0xdbff, 0xdfff, 0xd834, 0xdd1e, 0}), "\xf4\x8f\xbf\xbf\xf0\x9d\x84\x9e");
    EXPECT_EQ(error(), "");
    for (const std::vector<u32>& units : std::vector<std::vector<u32>>{
             {0xd834, 0}, {0xd834, 'a', 0}, {0xd834, 0xdbff, 0}, {0xd834, 0xe000, 0}, {0xd834}}) {
        EXPECT_EQ(utf(2, units), "");
        EXPECT_EQ(error(), "there is no character 0xd834 in UTF-16");
    }
    EXPECT_EQ(utf(2, {0xdc00, 0}), "");
    EXPECT_EQ(error(), "there is no character 0xdc00 in UTF-16");
}

TEST_F(Access, WholeCharactersFillTheRoom) {
    std::vector<u32> units(string_bytes - 1, 'x');
    const std::string all(string_bytes - 1, 'x');
    units.push_back(0);
    EXPECT_EQ(utf(2, units), all);
    units.insert(units.begin(), 'x');
    EXPECT_EQ(utf(2, units), all);
    units[string_bytes - 2] = 0xe9;
    EXPECT_EQ(utf(4, units), all.substr(1));
    units[string_bytes - 3] = 0xe9;
    units[string_bytes - 2] = 'x';
    EXPECT_EQ(utf(4, units), all.substr(2) + "\xc3\xa9");
    EXPECT_EQ(error(), "");
}
