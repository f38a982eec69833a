// SPDX-License-Identifier: GPL-2.0-or-later
// What readers make of the slots in records.
#include "session/symbols.h"

#include "fake_module.h"
#include "include/record.h"
#include "include/words.h"
#include "session/control_file.h"
#include "session/dump_file.h"
#include "session/session.h"
#include "system/process.h"
#include "system/temporary.h"

#include "../surroundings.h"

#include <cstdio>
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <vector>

using namespace djstap;

namespace {

std::string words(const std::vector<uint64_t>& all) {
    return {reinterpret_cast<const char*>(all.data()), all.size() * sizeof(uint64_t)};
}

// The argument for slots.
std::string slots(std::vector<uint64_t> all) {
    all.insert(all.begin(), all.size());
    return words(all);
}

// The argument of a handler that had to make a text itself.
std::string made(const std::string& text) {
    std::string bytes = words({DJS_SYMBOLS_ARE_TEXT | text.size()}) + text;
    bytes.resize(DJS_ALIGN8(bytes.size()));
    return bytes;
}

class SymbolTexts : public testing::Test {
  protected:
    explicit SymbolTexts(uint32_t string_bytes = 512)
        : area(djs_symbol_area_bytes(50) / sizeof(uint64_t)) {
        djs_symbol_table_init(&table, area.data(), 50, string_bytes);
    }
    uint64_t claim(uint64_t address) {
        bool fresh = false;
        return djs_symbol_claim(&table, address, &fresh);
    }
    uint64_t add(uint64_t address, const std::string& text) {
        const uint64_t slot = claim(address);
        djs_symbol_fill(&table, static_cast<uint32_t>(slot), text.data(),
                        static_cast<uint32_t>(text.size()), DJS_SYMBOL_KEPT);
        return slot;
    }
    Symbols symbols() const { return {area.data(), area.size() * sizeof(uint64_t)}; }
    // Returns the text of one argument.
    std::string text(char type, const std::string& argument) const {
        std::string out;
        if (!symbols().expand(std::string(1, type), argument, out))
            return "damaged";
        return out.substr(sizeof(uint32_t), *reinterpret_cast<const uint32_t*>(out.data()));
    }

    std::vector<uint64_t> area;
    djs_symbol_table table{};
};

class ShortTexts : public SymbolTexts {
  protected:
    ShortTexts() : SymbolTexts(24) {}
};

} // namespace

TEST_F(SymbolTexts, AreThoseOfTheLanguage) {
    const uint64_t read = add(0xffffffff81000010, "vfs_read+0x10/0x2f0 [kernel]");
    const uint64_t module = add(0xffffffffc0000004, "fat_fill+0x4/0x80 [fat]");
    const uint64_t nothing = add(0x5, "0x5");
    EXPECT_EQ(text('N', slots({read})), "vfs_read");
    EXPECT_EQ(text('D', slots({module})), "fat_fill+0x4/0x80 [fat]");
    EXPECT_EQ(text('N', slots({nothing})), "0x5");
    EXPECT_EQ(text('D', slots({nothing})), "0x5");
    EXPECT_EQ(text('B', slots({module, read, nothing})),
              "fat_fill+0x4 [fat]\nvfs_read+0x10 [kernel]\n0x5\n");
    EXPECT_EQ(text('B', slots({})), "");
    EXPECT_EQ(text('L', slots({module, read})),
              " 0xffffffffc0000004 : fat_fill+0x4/0x80 [fat]\n"
              " 0xffffffff81000010 : vfs_read+0x10/0x2f0 [kernel]\n");
    EXPECT_EQ(symbols().line(read), " 0xffffffff81000010 : vfs_read+0x10/0x2f0 [kernel]\n");
    EXPECT_EQ(text('B', made("as it was\n")), "as it was\n");
}

// A string holds 23 characters, and whole lines.
TEST_F(ShortTexts, EndLikeStrings) {
    const uint64_t one = add(0x10, "abcdef+0x1/0x2 [k]"), other = add(0x20, "g+0x1/0x2 [k]");
    EXPECT_EQ(text('D', slots({add(0x30, "abcdefghijklmnopqrstuvwxyz")})),
              "abcdefghijklmnopqrstuvw");
    EXPECT_EQ(text('B', slots({one})), "abcdef+0x1 [k]\n");
    EXPECT_EQ(text('B', slots({other, other})), "g+0x1 [k]\ng+0x1 [k]\n");
    EXPECT_EQ(text('B', slots({one, other})), "abcdef+0x1 [k]\n...\n");
    EXPECT_EQ(text('B', slots({add(0x40, "abcdefghijklmnopqrstuvwxyz"), one})), "...\n");
    EXPECT_EQ(text('L', slots({one, other})), " 0x10 : abcdef+0x1/0x2 ");
    const uint64_t small = add(0x7, "x");
    EXPECT_EQ(text('L', slots({small, small, small})), " 0x7 : x\n 0x7 : x\n");
}

TEST_F(SymbolTexts, ReplaceTheirArgumentsAlone) {
    const uint64_t read = add(0xffffffff81000010, "vfs_read+0x10/0x2f0 [kernel]");
    const std::string before =
        words({7}) + FakeModule::text("between") + slots({1, 2}) + std::string(DJS_NAME_BYTES, 'n');
    std::string out;
    ASSERT_TRUE(symbols().expand(
        "lsknNs", before + slots({read}) + FakeModule::text("end").substr(0, 7), out));
    EXPECT_EQ(out, before + FakeModule::text("vfs_read") + FakeModule::text("end"));
    EXPECT_EQ(Symbols::expanded("lsknNBDLh"), "lsknssssh");
}

// A table from a damaged dump, and records that mean another one.
TEST_F(SymbolTexts, BelieveNothing) {
    const uint64_t read = add(0xffffffff81000010, "vfs_read+0x10/0x2f0 [kernel]");
    EXPECT_EQ(text('N', slots({1'000'000})), "0x0");
    EXPECT_EQ(text('N', slots({~uint64_t{0}})), "0x0");
    for (const char type : {'N', 'D', 'B', 'L'}) {
        EXPECT_EQ(text(type, ""), "damaged");
        EXPECT_EQ(text(type, words({2, read})), "damaged");
        EXPECT_EQ(text(type, words({1000, read})), "damaged");
        EXPECT_EQ(text(type, words({~uint64_t{0}})), "damaged");
        EXPECT_EQ(text(type, made("text").substr(0, 9)), "damaged");
    }
    std::string out;
    for (const char* types : {"lN", "sN", "nN", "kN", "hN"})
        EXPECT_FALSE(symbols().expand(types, "short", out)) << types;
    auto& symbol = table.symbols[read];
    symbol.at = table.area->text_bytes - 3;
    EXPECT_EQ(text('D', slots({read})), "0xffffffff81000010");
    symbol.at = ~0u;
    EXPECT_EQ(text('D', slots({read})), "0xffffffff81000010");
    symbol.at = 0;
    symbol.length = 60'000;
    EXPECT_EQ(text('D', slots({read})), "0xffffffff81000010");
    symbol.length = 8;
    EXPECT_EQ(text('D', slots({read})), "vfs_read");
    for (const uint32_t count : {0u, ~0u, 1u << 30}) {
        const djs_symbol_area before = *table.area;
        table.area->slots = count;
        EXPECT_EQ(text('D', slots({read})), "0x0") << count;
        *table.area = before;
        table.area->text_bytes = count ? count : ~0u - 7;
        EXPECT_EQ(text('D', slots({read})), "0x0") << count;
        *table.area = before;
    }
    EXPECT_EQ(Symbols(area.data(), 8).line(read), " 0x0 : 0x0\n");
    EXPECT_EQ(Symbols().line(read), " 0x0 : 0x0\n");
}

// Whoever owns a program chooses its path and its names: they neither end a line nor control the
// terminal on which it is shown.
TEST_F(SymbolTexts, OfProgramsAreOneLineEach) {
    const uint64_t slot =
        add(djs_word(0x401000, 1, false), std::string("0x401000 [/tmp/a\n 0x1 : b\x1b[2J\xc2\x9b"
                                                      "c+0x401000]\0abcde",
                                                      48));
    const std::string shown = R"(0x401000 [/tmp/a\012 0x1 : b\033[2J\302\233c+0x401000])";
    EXPECT_EQ(text('D', slots({slot})), shown);
    EXPECT_EQ(symbols().line(slot), " 0x401000 : " + shown + "\n");
    EXPECT_EQ(text('B', slots({slot})), shown + "\n");
    // A path that consists of such characters has the end of its line, too.
    const uint64_t other =
        add(djs_word(0x402000, 1, false),
            "0x402000 [/" + std::string(500, '\x1b') + "+0x402000]" + std::string("\0ab", 3));
    const std::string line = symbols().line(other);
    std::string path = "0x402000 [/";
    while (path.size() < DJS_SYMBOL_MAX)
        path += R"(\033)";
    EXPECT_EQ(line, " 0x402000 : " + path.substr(0, DJS_SYMBOL_MAX - 1) + "\n");
}

// The file, the line and both of them, as usymfile(), usymline() and usymfileline() ask for it.
TEST_F(SymbolTexts, OfProgramsHavePlacesInTheSource) {
    const test::TestFolder folder;
    folder.write("a.c", "int three(void) {\n    return 3; }\nint main(void) { return three(); }\n");
    const std::string program = folder.file("a");
    const auto compiled = run_program({"env", "-C", folder.path, "gcc", "-g", "-O0", "-no-pie",
                                       "-Wl,--build-id=none", "-o", program, "a.c"});
    ASSERT_TRUE(compiled && compiled->status == 0) << (compiled ? compiled->output : "no gcc");
    const auto listed = run_program({"nm", program});
    ASSERT_TRUE(listed && listed->status == 0);
    const size_t name = listed->output.find(" T main\n");
    ASSERT_TRUE(name != std::string::npos && name >= 16);
    const uint64_t address = std::stoull(listed->output.substr(name - 16, 16), nullptr, 16);
    char place[32];
    snprintf(place, sizeof place, "0x%llx", static_cast<unsigned long long>(address));
    const std::string known = std::string(place) + " [" + program + "+" + place + "]";
    const uint64_t slot = add(djs_word(address, 1, false), known + '\0');
    EXPECT_EQ(text(DJS_SYMBOLS_FILE, slots({slot})), folder.file("a.c"));
    EXPECT_EQ(text(DJS_SYMBOLS_SOURCELINE, slots({slot})), "3");
    EXPECT_EQ(text(DJS_SYMBOLS_PLACE, slots({slot})), folder.file("a.c:3"));
    // What is not there has its address for a place.
    const uint64_t other = add(djs_word(16, 1, false), "0x10 [/nothing+0x10]" + std::string(1, 0));
    for (const char type : {DJS_SYMBOLS_FILE, DJS_SYMBOLS_SOURCELINE, DJS_SYMBOLS_PLACE})
        EXPECT_EQ(text(type, slots({other})), "0x10") << type;
}

TEST_F(SymbolTexts, AreAskedForOnce) {
    const uint64_t slot = claim(0xffffffff81000010);
    EXPECT_EQ(text('D', slots({slot})), "0xffffffff81000010") << "nobody looks it up";
    int asked = 0;
    const Symbols live(area.data(), area.size() * sizeof(uint64_t), [&] {
        asked++;
        djs_symbol_fill(&table, static_cast<uint32_t>(slot), "f+0x0/0x1 [m]", 13, DJS_SYMBOL_KEPT);
    });
    EXPECT_EQ(live.line(slot), " 0xffffffff81000010 : f+0x0/0x1 [m]\n");
    EXPECT_EQ(live.line(slot), " 0xffffffff81000010 : f+0x0/0x1 [m]\n");
    EXPECT_EQ(asked, 1);
}

// From the module's table to what is printed, as text and as JSON.
TEST(SymbolsOfAModule, ArePrinted) {
    const auto folder = TemporaryFolder::create(testing::TempDir());
    ASSERT_TRUE(folder);
    for (const OutputKind& kind : output_kinds().first(2)) {
        FakeModule module;
        module.files["/proc/djstap-demo"] =
            R"({"version":1,"name":"demo","formats":[{"text":"%d %-9s|\n","types":"lN"}]})";
        djs_symbol_table table{};
        djs_symbol_table_init(&table, module.symbols(), 50, 512);
        ASSERT_LE(djs_symbol_area_bytes(50), uint64_t{FakeModule::symbol_pages} * DJS_PAGE);
        module.page().symbol_pages = FakeModule::symbol_pages;
        bool fresh = false;
        const uint64_t slot = djs_symbol_claim(&table, 0xffffffff81000010, &fresh);
        module.on_symbols = [&] {
            djs_symbol_fill(&table, static_cast<uint32_t>(slot), "f+0x0/0x1 [m]", 13,
                            DJS_SYMBOL_KEPT);
        };
        module.write(0, 1, FakeModule::number(3) + slots({slot}));
        module.write(DJS_RECORD_STACK, 2, slots({slot, slot}));
        module.write(DJS_RECORD_STACK, 3, words({9, slot}));
        module.write(0, 4, FakeModule::number(4) + words({9}));
        module.page().state = DJS_STATE_STOPPED;
        SessionOptions options;
        options.module = "demo";
        options.attach = true;
        options.outputs.requests = {{&kind, ""}};
        options.outputs.file = folder->file("symbols-" + std::string(kind.name));
        const auto outcome = run_session(options);
        ASSERT_TRUE(outcome) << outcome.failure().message;
        EXPECT_EQ(outcome->status, 1) << "two records are damaged";
        std::ifstream file(options.outputs.file);
        const std::string printed{std::istreambuf_iterator<char>(file), {}};
        const std::string expected =
            kind.name == "text"
                ? "3 f        |\n 0xffffffff81000010 : f+0x0/0x1 [m]\n"
                  " 0xffffffff81000010 : f+0x0/0x1 [m]\n"
                : R"({"type":"printf","data":"3 f        |\n"})"
                  "\n"
                  R"({"type":"printf","data":" 0xffffffff81000010 : f+0x0/0x1 [m]\n"})"
                  "\n"
                  R"({"type":"printf","data":" 0xffffffff81000010 : f+0x0/0x1 [m]\n"})"
                  "\n";
        EXPECT_NE(printed.find(expected), std::string::npos) << printed;
    }
}

TEST(SymbolsOfAModule, OfImpossibleSizeAreRefused) {
    FakeModule module;
    module.page().symbol_pages = ~0u;
    const auto control = ControlFile::open("demo");
    ASSERT_FALSE(control);
    EXPECT_EQ(control.failure().message,
              "/proc/djstap-demo: the module's table of symbols has an invalid size");
}
