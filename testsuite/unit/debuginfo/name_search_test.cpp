// SPDX-License-Identifier: GPL-2.0-or-later
// In which units of debug information a name stands, which is written by hand here.
#include "debuginfo/dwarf_scan.h"
#include "debuginfo/name_search.h"
#include "system/file.h"
#include "system/process.h"
#include "system/temporary.h"

#include <algorithm>
#include <dwarf.h>
#include <filesystem>
#include <gtest/gtest.h>

namespace djstap {
namespace {

// A unit: the names of its variables. Those that begin with '=' stand in the entry itself, the
// others in .debug_str.
using Names = std::vector<std::string>;

struct Abbreviations {
    unsigned tag = DW_TAG_compile_unit;
    unsigned form = DW_FORM_strp; // of a name
    std::string more;             // further ones
};

class NamedUnits {
  public:
    explicit NamedUnits(const std::vector<Names>& units, const Abbreviations& with = {},
                        const std::string& more = "")
        : folder_(std::move(*TemporaryFolder::create(temporary_directory()))) {
        std::string text = ".section .debug_abbrev, \"\", @progbits\n.Labbrev:\n"
                           ".uleb128 1, " +
                           std::to_string(with.tag) +
                           ", 1, 0, 0\n"
                           ".uleb128 2, 0x34, 0, 0x03, " +
                           std::to_string(with.form) +
                           ", 0, 0\n"
                           ".uleb128 3, 0x34, 0, 0x03, 0x08, 0, 0\n" +
                           with.more +
                           ".uleb128 0\n"
                           // Places that look like nothing else in the entries.
                           ".section .debug_str, \"MS\", @progbits, 1\n.fill 0x12345, 1, 'x\n"
                           ".byte 0\n";
        std::string info = ".section .debug_info, \"\", @progbits\n";
        int number = 0;
        for (const Names& names : units) {
            const std::string unit = std::to_string(number++);
            info += ".long .Lend" + unit + " - .Lversion" + unit + "\n.Lversion" + unit +
                    ":\n.short 4\n.long .Labbrev\n.byte 8\n.uleb128 1\n";
            for (const std::string& name : names) {
                const std::string label = ".Lname" + std::to_string(number++);
                if (name.starts_with('=')) {
                    info += ".uleb128 3\n.asciz \"" + name.substr(1) + "\"\n";
                    continue;
                }
                info += ".uleb128 2\n.long " + label + "\n";
                text += label + ": .asciz \"" + name + "\"\n";
            }
            info += ".byte 0\n.Lend" + unit + ":\n";
        }
        EXPECT_TRUE(write_file(file("a.s"), text + info + more));
        run({"as", "-o", file("a.o"), file("a.s")});
        run({"ld", "-e", "0", "-o", path(), file("a.o")});
    }
    std::string file(const std::string& name) const { return folder_.file(name); }
    std::string path() const { return file("a"); }
    static void run(const std::vector<std::string>& words) {
        const auto ran = run_program(words);
        EXPECT_TRUE(ran && ran->status == 0) << (ran ? ran->output : ran.failure().message);
    }
    // "N N": the numbers of the units; "many": too many.
    std::string units_with(const std::string& name) const {
        const auto file = DwarfFile::open(path());
        EXPECT_TRUE(file);
        const std::vector<Dwarf_Off> offsets = unit_offsets((*file)->get());
        const auto search = NameSearch::open(path());
        EXPECT_TRUE(search);
        const auto found = search ? search->units_with(name) : std::nullopt;
        if (!found)
            return "many";
        std::string text;
        for (const uint64_t each : *found)
            text +=
                (text.empty() ? "" : " ") +
                std::to_string(std::find(offsets.begin(), offsets.end(), each) - offsets.begin());
        return text;
    }

  private:
    TemporaryFolder folder_;
};

// More bytes than are compared at once, with names at each distance from the beginning of a word.
TEST(NameSearch, FindsEachUnit) {
    std::vector<Names> units;
    for (int i = 0; i < 60; i++) {
        Names names(static_cast<size_t>(i % 7), "filler_of_units");
        names.push_back("name_" + std::to_string(i) + "_");
        names.insert(names.end(), 25, "another_filler");
        names.push_back("last_" + std::to_string(i) + "_");
        units.push_back(names);
    }
    const NamedUnits made(units);
    for (int i = 0; i < 60; i++) {
        const std::string number = std::to_string(i);
        EXPECT_EQ(made.units_with("name_" + number + "_"), number);
        EXPECT_EQ(made.units_with("last_" + number + "_"), number);
    }
    EXPECT_EQ(made.units_with("none_of_them"), "");
    EXPECT_EQ(made.units_with("name_1"), ""); // only a part of a name
    EXPECT_EQ(made.units_with("another_filler"), "many");
}

// An eighth of sixteen units is two, and of seven it is still one.
TEST(NameSearch, TellsOnlyFewUnits) {
    std::vector<Names> units(16, {"others_"});
    units[3] = units[9] = {"twice_"};
    units[3].push_back("thrice_");
    units[5].push_back("thrice_");
    units[15].push_back("thrice_");
    units[15].push_back("once_");
    units[15].push_back("once_");
    const NamedUnits made(units);
    EXPECT_EQ(made.units_with("twice_"), "3 9");
    EXPECT_EQ(made.units_with("thrice_"), "many");
    EXPECT_EQ(made.units_with("once_"), "15");
    units.resize(7);
    const NamedUnits fewer(units);
    EXPECT_EQ(fewer.units_with("twice_"), "3");
    EXPECT_EQ(fewer.units_with("thrice_"), "many");
}

TEST(NameSearch, FindsNamesInTheEntries) {
    const NamedUnits made({{"=inside_"}, {"other_", "=inside_too"}, {"in_a_table"}});
    EXPECT_EQ(made.units_with("inside_"), "0");
    EXPECT_EQ(made.units_with("inside_too"), "1");
    EXPECT_EQ(made.units_with("in_a_table"), "2");
    EXPECT_EQ(made.units_with("inside"), "");
}

// Shorter names are as numbers in many places. The linker lets strings share their ends: one may be
// the end of up to four others.
TEST(NameSearch, SomeNamesAreInTooManyPlaces) {
    const NamedUnits made({{"abc"},
                           {"abcd"},
                           {"a_tail", "b_tail", "c_tail"},
                           {"d_tail", "_tail"},
                           {"a_end_", "b_end_", "c_end_", "d_end_", "e_end_", "_end_"}});
    EXPECT_EQ(made.units_with("abc"), "many");
    EXPECT_EQ(made.units_with("abcd"), "1");
    EXPECT_EQ(made.units_with("_tail"), "3");
    EXPECT_EQ(made.units_with("_end_"), "many");
    EXPECT_EQ(made.units_with("e_end_"), "4");
}

// The first string is the filler. Its place, 0, is as a number in the header of each unit.
TEST(NameSearch, TheFirstStringIsOneOfThem) {
    const NamedUnits made({{"name_1"}, {"name_2"}, {"name_3"}});
    EXPECT_EQ(made.units_with(std::string(0x12345, 'x')), "many");
    EXPECT_EQ(made.units_with(std::string(0x12346, 'x')), "");
}

TEST(NameSearch, NeedsWholeUnitsInOneFile) {
    const std::vector<Names> units{{"name_1", "name_2"}, {"name_3"}};
    EXPECT_TRUE(NameSearch::open(NamedUnits(units).path()));
    for (const unsigned tag : {DW_TAG_partial_unit, DW_TAG_skeleton_unit, DW_TAG_type_unit})
        EXPECT_FALSE(NameSearch::open(NamedUnits(units, {tag, DW_FORM_strp, ""}).path())) << tag;
    const auto opens_with = [&](const std::string& more) {
        return NameSearch::open(NamedUnits(units, {DW_TAG_compile_unit, DW_FORM_strp, more}).path())
            .has_value();
    };
    EXPECT_TRUE(opens_with(".uleb128 4, 0x34, 0, 0x03, 0x0e, 0, 0\n"));
    EXPECT_FALSE(opens_with(".uleb128 4, 0x3d, 0, 0x18, 0x13, 0, 0\n")); // DW_TAG_imported_unit
    // An implicit constant is in the abbreviation, here one that looks like its end.
    EXPECT_TRUE(opens_with(".uleb128 4, 0x34, 0, 0x3a, 0x21, 0, 0x3b, 0x0b, 0, 0\n"));
    // References to other units or files, and names that are found by an index.
    for (const unsigned form :
         {DW_FORM_ref_addr, DW_FORM_strp_sup, DW_FORM_strx, DW_FORM_strx1, DW_FORM_ref_sig8,
          DW_FORM_GNU_strp_alt, DW_FORM_GNU_ref_alt, DW_FORM_addrx, DW_FORM_indirect})
        EXPECT_FALSE(opens_with(".uleb128 4, 0x34, 0, 0x49, " + std::to_string(form) + ", 0, 0\n"))
            << form;
    // In the second table, behind the end of the first.
    EXPECT_FALSE(opens_with(".uleb128 0\n.uleb128 4, 0x3c, 0, 0, 0\n"));
}

TEST(NameSearch, NeedsItsSections) {
    const std::vector<Names> units{{"name_1"}};
    const NamedUnits made(units);
    EXPECT_FALSE(NameSearch::open(made.file("a.o"))); // strings are known by relocations only
    EXPECT_FALSE(NameSearch::open(made.file("none")));
    EXPECT_FALSE(NameSearch::open(made.file("a.s")));
    for (const char* section : {".debug_str", ".debug_abbrev", ".debug_info"}) {
        NamedUnits::run({"objcopy", "--remove-section", section, made.path(), made.file("b")});
        EXPECT_FALSE(NameSearch::open(made.file("b"))) << section;
    }
    for (const char* section : {".gnu_debugaltlink", ".debug_types"}) {
        NamedUnits::run({"objcopy", "--add-section", std::string(section) + "=" + made.file("a.s"),
                         made.path(), made.file("b")});
        EXPECT_FALSE(NameSearch::open(made.file("b"))) << section;
    }
    NamedUnits::run(
        {"objcopy", "--add-section", ".other=" + made.file("a.s"), made.path(), made.file("b")});
    EXPECT_TRUE(NameSearch::open(made.file("b")));
    // What is compressed is either not searched, or found.
    const NamedUnits large({{"name_1"}, {"name_2"}});
    NamedUnits::run({"objcopy", "--compress-debug-sections", large.path(), large.file("b")});
    std::filesystem::rename(large.file("b"), large.path());
    if (NameSearch::open(large.path())) {
        EXPECT_EQ(large.units_with("name_2"), "1");
    }
}

} // namespace
} // namespace djstap
