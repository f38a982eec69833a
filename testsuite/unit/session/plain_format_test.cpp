// SPDX-License-Identifier: GPL-2.0-or-later
// Prepared formats produce the same bytes as djs_format().
#include "session/plain_format.h"

#include "include/record.h"
#include "include/text.h"
#include "session/output.h"

#include <array>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <sys/mman.h>
#include <unistd.h>

using namespace djstap;

namespace {

std::string printed(PlainFormat& plain, std::string_view arguments, bool* whole = nullptr) {
    const int fd = memfd_create("output", 0);
    Writer writer(fd, "the output");
    const bool done = plain.print(writer, arguments);
    if (whole)
        *whole = done;
    writer.flush();
    std::string text(static_cast<size_t>(lseek(fd, 0, SEEK_END)), '\0');
    EXPECT_EQ(pread(fd, text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
    close(fd);
    return text;
}

std::string expected(const ModuleMeta::Format& format, std::string_view arguments) {
    std::string text(65536, '\0');
    text.resize(djs_format(text.data(), text.size(), format.text.c_str(), format.types.c_str(),
                           arguments.data(), arguments.size()));
    return text;
}

void append(std::string& arguments, uint64_t value) {
    arguments.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

void append(std::string& arguments, const std::string& text) {
    const auto length = static_cast<uint32_t>(text.size());
    arguments.append(reinterpret_cast<const char*>(&length), sizeof(length)).append(text);
    arguments.resize(DJS_ALIGN8(arguments.size()));
}

// In the place for a name that is not longer.
std::string name_of(const std::string& text) {
    std::string name = text;
    name.resize(DJS_NAME_BYTES);
    return name;
}

TEST(PlainFormat, NamesOfEveryLength) {
    const ModuleMeta::Format format{"<%s>%d", "nl"};
    auto plain = PlainFormat::of(format);
    ASSERT_TRUE(plain);
    for (size_t length = 0; length <= DJS_NAME_BYTES; length++) {
        const std::string text(length, 'n');
        std::string arguments = name_of(text);
        append(arguments, uint64_t{7});
        EXPECT_EQ(printed(*plain, arguments), "<" + text + ">7");
        EXPECT_EQ(expected(format, arguments), "<" + text + ">7");
    }
    bool done = true;
    EXPECT_EQ(printed(*plain, std::string(DJS_NAME_BYTES - 1, 'n'), &done), "");
    EXPECT_FALSE(done);
}

// A number that is the same as before is copied.
TEST(PlainFormat, NumbersThatStayAndChange) {
    const ModuleMeta::Format format{"first %d, then a text of many more bytes %x%u\n", "lll"};
    auto plain = PlainFormat::of(format);
    ASSERT_TRUE(plain);
    const std::array<uint64_t, 6> values{0, 0, 7, 7, std::numeric_limits<uint64_t>::max(), 0};
    for (uint64_t first : values)
        for (uint64_t second : values)
            for (uint64_t third : values) {
                std::string arguments;
                append(arguments, first);
                append(arguments, second);
                append(arguments, third);
                EXPECT_EQ(printed(*plain, arguments), expected(format, arguments));
            }
}

TEST(PlainFormat, NumbersOfEveryLength) {
    std::vector<uint64_t> values{0, std::numeric_limits<uint64_t>::max()};
    for (uint64_t power = 1; power != 0; power <<= 1)
        values.insert(values.end(), {power - 1, power, power + 1, 0 - power});
    for (uint64_t power = 10; power < 10000000000000000000u; power *= 10)
        values.insert(values.end(), {power - 1, power, 10 * power - 1, 10 * power, 0 - power});
    const ModuleMeta::Format format{"%d|%i %u,%x;%p:%c%%\n", "llllll"};
    auto plain = PlainFormat::of(format);
    ASSERT_TRUE(plain);
    for (uint64_t value : values) {
        std::string arguments;
        for (int i = 0; i < 6; i++)
            append(arguments, value);
        EXPECT_EQ(printed(*plain, arguments), expected(format, arguments)) << value;
    }
}

TEST(PlainFormat, RandomFormats) {
    std::mt19937_64 random(1); // NOLINT(cert-msc51-cpp): the same cases every time
    const std::vector<std::string> pieces{"%d",
                                          "%x",
                                          "%u",
                                          "%p",
                                          "%s",
                                          "%c",
                                          "%i",
                                          "%%",
                                          " ",
                                          "a",
                                          "a text that is longer than sixteen bytes"};
    for (int round = 0; round < 2000; round++) {
        ModuleMeta::Format format;
        std::string arguments;
        for (size_t count = random() % 12; count > 0; count--) {
            const std::string& piece = pieces[random() % pieces.size()];
            format.text += piece;
            if (piece == "%s" && random() % 2) {
                format.types += 'n';
                arguments += name_of(std::string(random() % 17, 'n'));
            } else if (piece == "%s") {
                format.types += 's';
                append(arguments,
                       std::string(random() % 40, static_cast<char>('a' + random() % 26)));
            } else if (piece[0] == '%' && piece != "%%") {
                format.types += 'l';
                append(arguments, random() >> random() % 64);
            }
        }
        auto plain = PlainFormat::of(format);
        ASSERT_TRUE(plain) << format.text;
        EXPECT_EQ(printed(*plain, arguments), expected(format, arguments)) << format.text;
    }
}

// The room for them is that of their record.
TEST(PlainFormat, LongTexts) {
    const std::string much(1'000'000, 'm');
    auto plain = PlainFormat::of({"<%s|%d>", "sl"});
    ASSERT_TRUE(plain);
    std::string arguments;
    append(arguments, much);
    append(arguments, uint64_t{5});
    EXPECT_GE(plain->room_for(arguments), much.size() + 5);
    EXPECT_TRUE(printed(*plain, arguments) == "<" + much + "|5>");
}

TEST(PlainFormat, LeavesOthersToTheFormatter) {
    for (const char* text : {"%5d", "%-d", "%.3s", "%#x", "%X", "%o", "%b", "%m", "%ld", "%H", "%"})
        EXPECT_FALSE(PlainFormat::of({text, "l"})) << text;
    EXPECT_FALSE(PlainFormat::of({"%d", ""}));
    EXPECT_FALSE(PlainFormat::of({"%d", "s"}));
    EXPECT_FALSE(PlainFormat::of({"%s", "l"}));
    EXPECT_FALSE(PlainFormat::of({"%d", "n"}));
    EXPECT_FALSE(PlainFormat::of({"%s", ""}));
    EXPECT_FALSE(PlainFormat::of({"%d%s", "l"}));
    EXPECT_FALSE(PlainFormat::of({"%s", "k"}));
}

TEST(PlainFormat, RefusesDamagedArguments) {
    auto plain = PlainFormat::of({"%s %d %s", "sls"});
    ASSERT_TRUE(plain);
    std::string whole;
    append(whole, std::string("first"));
    append(whole, 7);
    append(whole, std::string("last"));
    bool done = false;
    EXPECT_EQ(printed(*plain, whole, &done), "first 7 last");
    EXPECT_TRUE(done);
    auto numbers = PlainFormat::of({"%d,%x", "ll"});
    ASSERT_TRUE(numbers);
    EXPECT_EQ(printed(*numbers, std::string(16, '\1'), &done), "72340172838076673,101010101010101");
    for (size_t size = 0; size < 16; size++) {
        EXPECT_EQ(printed(*numbers, std::string(size, '\1'), &done), "") << size;
        EXPECT_FALSE(done) << size;
    }
    for (size_t size = 0; size + 4 < whole.size(); size++) { // the last four bytes are padding
        EXPECT_EQ(printed(*plain, std::string_view(whole).substr(0, size), &done), "");
        EXPECT_FALSE(done) << size;
    }
}

} // namespace
