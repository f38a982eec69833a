// SPDX-License-Identifier: GPL-2.0-or-later
// Limits: what docs/language.md says of them, and what of them a script's object tells the runtime.
#include "generate.h"

#include "include/script.h"

#include <cstddef>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <llvm/Object/ObjectFile.h>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace djstap {

namespace {

struct DocumentedLimit {
    std::string standard, range;
};

std::string language_document() {
    std::ostringstream text;
    text << std::ifstream(DJSTAP_SOURCE_DIR "/docs/language.md").rdbuf();
    return text.str();
}

// Returns the rows of the table below "## Limits": | `NAME` | default | range | meaning |
std::map<std::string, DocumentedLimit> documented_limits() {
    std::map<std::string, DocumentedLimit> limits;
    const std::string document = language_document();
    std::istringstream lines(document.substr(document.find("\n## Limits\n") + 1));
    std::string line;
    std::getline(lines, line); // the heading
    while (std::getline(lines, line) && !line.starts_with("## ")) {
        if (!line.starts_with("| `"))
            continue;
        std::vector<std::string> cells;
        for (size_t at = 2, end; (end = line.find(" | ", at)) != std::string::npos; at = end + 3)
            cells.push_back(line.substr(at, end - at));
        if (cells.size() != 3) {
            ADD_FAILURE() << "not a row of a limit: " << line;
            continue;
        }
        limits[cells[0].substr(1, cells[0].size() - 2)] = {cells[1], cells[2]};
    }
    return limits;
}

std::map<std::string, int64_t> standard_limits() {
    const Limits limits;
#define LIMIT(name) {#name, limits.name}
    return {LIMIT(MAXACTION),
            LIMIT(MAXACTION_INTERRUPTIBLE),
            LIMIT(MAXMAPENTRIES),
            LIMIT(MAXSTRINGLEN),
            LIMIT(MAXERRORS),
            LIMIT(MAXSKIPPED),
            LIMIT(MAXTRYLOCK),
            LIMIT(MAXNESTING),
            LIMIT(MAXBACKTRACE),
            LIMIT(MAXSYMBOLS),
            LIMIT(MINSTACKSPACE),
            LIMIT(KRETACTIVE),
            LIMIT(MAXKPROBES),
            LIMIT(MAXPERFTHREADS),
            LIMIT(STAP_CALLEE_MATCHALL),
            LIMIT(MAXSPECULATIONS),
            LIMIT(RING_KB),
            LIMIT(STP_OVERLOAD_INTERVAL),
            LIMIT(STP_OVERLOAD_THRESHOLD),
            LIMIT(STP_NO_OVERLOAD)};
#undef LIMIT
}

TEST(Limits, AreThoseOfTheDocument) {
    const auto documented = documented_limits();
    // What the runtime or the compiler chooses while the limit is 0, and what other defaults make.
    const std::map<std::string, std::pair<std::string, int64_t>> in_words{
        {"MAXACTION_INTERRUPTIBLE", {"10 × MAXACTION", 10 * Limits().MAXACTION}},
        {"MAXNESTING", {"the depth of the script's calls, plus 10 for recursive functions", 0}},
        {"MAXBACKTRACE", {"20; 64 with `--output=folded`, `svg` and `pprof`", 20}},
        {"KRETACTIVE", {"16 for each CPU, at least 64", 0}}};
    std::set<std::string> elsewhere; // that the table does not have
    for (const auto& [name, value] : standard_limits()) {
        const auto row = documented.find(name);
        if (row == documented.end()) {
            elsewhere.insert(name);
            continue;
        }
        const auto words = in_words.find(name);
        EXPECT_EQ(row->second.standard,
                  words == in_words.end() ? std::to_string(value) : words->second.first)
            << name;
        EXPECT_EQ(value, words == in_words.end() ? value : words->second.second) << name;
        EXPECT_EQ(row->second.range, Limits::range(name)) << name;
    }
    EXPECT_EQ(elsewhere, (std::set<std::string>{"STP_NO_OVERLOAD", "STP_OVERLOAD_INTERVAL",
                                                "STP_OVERLOAD_THRESHOLD"}));
    EXPECT_EQ(documented.size() + elsewhere.size(), Limits::names().size());
    const std::string overload = std::to_string(Limits().STP_OVERLOAD_THRESHOLD) + " of " +
                                 std::to_string(Limits().STP_OVERLOAD_INTERVAL);
    EXPECT_NE(language_document().find("by default " + overload), std::string::npos) << overload;
    EXPECT_EQ(Limits().STP_NO_OVERLOAD, 0);
}

TEST(Limits, AcceptTheirRangesAlone) {
    for (const auto& [name, row] : documented_limits()) {
        long lowest = 0, highest = 0;
        ASSERT_EQ(sscanf(row.range.c_str(), "%ld to %ld", &lowest, &highest), 2) << name;
        Limits limits;
        EXPECT_FALSE(limits.set(name, lowest - 1)) << name;
        EXPECT_TRUE(limits.set(name, lowest)) << name;
        EXPECT_TRUE(limits.set(name, highest)) << name;
        EXPECT_FALSE(limits.set(name, highest + 1)) << name;
    }
    EXPECT_FALSE(Limits().set("MAXNOTHING", 1));
}

// Handlers with and without a context need as much for faults and the runtime's functions.
TEST(Limits, LeaveStackForFaults) {
    EXPECT_GE(Limits().MINSTACKSPACE, DJS_FAULT_STACK);
    EXPECT_FALSE(Limits().set("MINSTACKSPACE", DJS_FAULT_STACK - 1));
    EXPECT_TRUE(Limits().set("MINSTACKSPACE", DJS_FAULT_STACK));
}

class ScriptLimits : public Generate {
  protected:
    // What the runtime reads of a number in an object's djs_script.
    static uint32_t word_of_script(const std::string& object, size_t offset) {
        auto file =
            llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef(object, "object"));
        if (!file) {
            ADD_FAILURE() << llvm::toString(file.takeError());
            return 0;
        }
        for (const llvm::object::SymbolRef& symbol : (*file)->symbols()) {
            if (llvm::cantFail(symbol.getName()) != "djs_script")
                continue;
            const auto section = llvm::cantFail(symbol.getSection());
            const llvm::StringRef contents = llvm::cantFail(section->getContents());
            uint32_t value = 0;
            std::memcpy(&value, contents.data() + llvm::cantFail(symbol.getValue()) + offset,
                        sizeof value);
            return value;
        }
        ADD_FAILURE() << "no djs_script";
        return 0;
    }
    struct Overload {
        uint32_t ms, percent;
        bool operator==(const Overload&) const = default;
    };
    Overload overload() {
        const auto object = generate();
        if (!object) {
            ADD_FAILURE() << "no object";
            return {};
        }
        return {word_of_script(object->object, offsetof(struct djs_script, overload_ms)),
                word_of_script(object->object, offsetof(struct djs_script, overload_percent))};
    }
    void SetUp() override { printing_probe("kernel.function(\"f\")"); }
};

TEST_F(ScriptLimits, TellTheRuntimeWhatAnOverloadIs) {
    EXPECT_EQ(overload(), (Overload{1000, 90}));
    options_.limits.STP_OVERLOAD_INTERVAL = 500'000'000;
    options_.limits.STP_OVERLOAD_THRESHOLD = 200'000'000;
    EXPECT_EQ(overload(), (Overload{500, 40}));
    options_.limits.STP_OVERLOAD_THRESHOLD = 1; // at least a percent
    EXPECT_EQ(overload(), (Overload{500, 1}));
    options_.limits.STP_OVERLOAD_THRESHOLD = 600'000'000; // at most what a CPU has
    EXPECT_EQ(overload(), (Overload{500, 100}));
    options_.limits.STP_NO_OVERLOAD = 1;
    EXPECT_EQ(overload(), (Overload{500, 0}));
}

} // namespace

} // namespace djstap
